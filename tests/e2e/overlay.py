#!/usr/bin/python3
"""Sessions with an overlay: what tools and commands do reaches the project only when it is taken over."""
import json
import os
import subprocess

import lib
from lib import AM_ROOT, Gate, check, wait_until
from overlay_place import Place, tree
from terminals import Terminal


def stays(place):
    place.write("run.sh", "#!/bin/sh\necho old\n")
    session = place.create("--overlay")
    before = tree(place.project)
    place.ok(session, "write_file", path="new/deep/c.txt", content="gamma\n")
    place.ok(session, "edit_file", path="a.txt", edits=[{"old_text": "alpha", "new_text": "ALPHA"}])
    answer = place.call(session, "move", {"from": "sub", "to": "other"})
    check(answer["error"]["code"] == "INVALID_ARGUMENTS" and "overlay" in answer["error"]["message"], answer)
    made = place.sh(session, "mv sub other && cat other/b.txt && mv other sub")
    check(made["exit_code"] == 0 and made["stdout"] == "beta\n", made)
    place.ok(session, "delete", path="sub", recursive=True)
    made = place.sh(session, "cat a.txt new/deep/c.txt; ls; echo more >> a.txt; chmod 755 run.sh; mkdir sub; "
                             "ln -s a.txt link; ./run.sh")
    check(made["stdout"] == "ALPHA\ngamma\na.txt\nnew\nrun.sh\nold\n", made)
    check(place.ok(session, "read_file", path="a.txt")["content"] == "ALPHA\nmore\n", "tools see it in the next gate")
    check(place.ok(session, "list_files", path="sub")["entries"] == [], "the folder was made anew")
    check(tree(place.project) == before, f"the project changed: {tree(place.project)}")
    shown = json.loads(place.run("session", "show", session).stdout)
    check(shown["mode"] == "overlay", shown)
    beside = place.create()
    check(json.loads(place.run("session", "show", beside).stdout)["mode"] == "host", "not asked for, not made")
    check(place.ok(beside, "read_file", path="a.txt")["content"] == "alpha\n", "a session in host mode sees the project")


def from_settings(place):
    overlay = {"WORKSPACE_FS_MODE": "overlay"}
    session = place.create(env=overlay)
    check(json.loads(place.run("session", "show", session).stdout)["mode"] == "overlay", "the setting counts")
    done = place.run("call", "read_file", '{"path":"a.txt"}', "--workspace", place.project, env=overlay)
    check(done.returncode == 2 and b"sandgate session create" in done.stderr and not done.stdout, done)
    check(place.call(session, "read_file", {"path": "a.txt"}, env=overlay)["ok"], "by its name it is served")
    done = place.run("session", "create", "--workspace", place.project, env={"WORKSPACE_FS_MODE": "agentfs"})
    check(done.returncode != 0 and b"host or overlay" in done.stderr, done)


def unasked(place):
    """Nobody is asked about what stays in the layer; rules hold as ever."""
    unset = {"SANDGATE_APPROVAL_DEFAULT": None}
    session = place.create("--overlay")
    for tool, arguments in (("write_file", {"path": "x", "content": "x"}), ("run_command", {"command": "echo y >> x", "git": True})):
        check(place.call(session, tool, arguments, env=unset)["ok"], f"{tool} was not let through")
    explain = ["policy", "explain", "run_command", '{"command":"ls"}', "--json"]
    said = json.loads(place.run(*explain, "--session", session, env=unset).stdout)
    check((said["verdict"], said["rule"]) == ("allow", "approval.inOverlay"), said)
    said = json.loads(place.run(*explain, "--workspace", place.project, env=unset).stdout)
    check((said["verdict"], said["rule"]) == ("ask", "approval.default"), said)
    rules = [{"toolName": "run_command", "action": "deny", "condition": {"command": {"program": "rm"}}}]
    config = place.form.write(place.home / "config.json", json.dumps({"approval": {"rules": rules}}))
    answer = place.call(session, "run_command", {"command": "rm x"}, "--config", config, env=unset)
    check(answer["error"]["code"] == "POLICY_DENIED" and "approval.rules[0]" in answer["error"]["message"], answer)
    place.write("sandgate.json", '{"approval":{"inOverlay":"deny"}}')
    answer = place.call(session, "write_file", {"path": "x", "content": "z"}, env=unset)
    check(answer["error"]["code"] == "POLICY_DENIED" and "approval.inOverlay" in answer["error"]["message"], answer)


def git(place):
    for args in (["init", "-q", "-b", "main"], ["add", "a.txt"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *args], cwd=place.project, check=True,
                       env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}, **place.form.identity())
    before = tree(place.project)
    session = place.create("--overlay")
    made = place.sh(session, "git checkout -q -b topic && echo x > hook && cp hook .git/hooks/pre-push && git add a.txt "
                             "&& git -c user.name=n -c user.email=e@x commit -q --allow-empty -m two && git log --oneline "
                             "| wc -l && mkdir .vscode && echo {} > .vscode/tasks.json")
    check(made["exit_code"] == 0 and made["stdout"] == "2\n", made)
    check(made["violations"] == [], made)
    place.ok(session, "write_file", path=".vscode/tasks.json", content="[]")
    check(place.sh(session, "cat .vscode/tasks.json; ls .git/hooks/pre-push")["stdout"] == "[].git/hooks/pre-push\n", "kept")
    check(tree(place.project) == before, "the project changed")


def secrets(place):
    place.write(".env", "KEY=1\n")
    place.write("conf/.env", "KEY=2\n")
    session = place.create("--overlay")
    made = place.sh(session, "cat .env conf/.env; rm -rf conf; mv .env moved; cp -r conf copy; chmod 600 .env; ls copy")
    check("KEY" not in made["stdout"] + made["stderr"], made)
    answer = place.call(session, "read_file", {"path": "conf/.env"})
    check(answer["error"]["code"] == "PERMISSION_DENIED", answer)
    answer = place.call(session, "delete", {"path": "conf", "recursive": True})
    check(answer["error"]["code"] == "PERMISSION_DENIED", answer)
    with Gate(place.form, "--session", session, state=place.home) as gate:
        gate.ok("run_command", command="mkdir -p new; touch new/x sub/y")
        # A folder that lies in the upper layer as well shows what its user adds below.
        place.write("sub/.env", "KEY=3\n")
        made = gate.ok("run_command", command="cat sub/.env; cat .env conf/.env; ls -a sub")
        check("KEY" not in json.dumps(made), made)
    left = [p for p in (place.folder(session) / "layer/upper").rglob("*") if p.name in (".env", "moved")]
    check(not left, f"a secret, or a mark that deletes it, lies in the layer: {left}")


def settings_stay(place):
    place.write("sandgate.json", '{"files":{"secret":["*.hidden"]}}')
    session = place.create("--overlay")
    place.sh(session, "rm -f sandgate.json; mv sandgate.json x; echo '{}' > sandgate.json; true")
    answer = place.call(session, "write_file", {"path": "sandgate.json", "content": "{}", "overwrite": True})
    check(not answer["ok"] and answer["error"]["code"] in ("PERMISSION_DENIED", "INVALID_ARGUMENTS"), answer)
    seen = place.ok(session, "read_file", path="sandgate.json")["content"]
    check("hidden" in seen, f"what tightens the session was changed in it: {seen}")


def shown_elsewhere(place):
    """The project lies in a folder that commands are shown: they see the session's files there, or nothing."""
    place.write("conf/.env", "KEY=2\n")
    config = place.form.write(place.home / "config.json", json.dumps({"commands": {"show": [str(place.form.base)]}}))
    session = place.create("--overlay")
    made = place.sh(session, f"cat {place.project}/conf/.env; echo new > a.txt; cat {place.project}/a.txt; true",
                    "--config", config)
    check("KEY" not in made["stdout"] and "alpha" not in made["stdout"], made)


def killed(place):
    """A gate is killed while its command writes: the next one has the layer for itself."""
    session = place.create("--overlay")
    upper = place.folder(session) / "layer/upper"
    with Gate(place.form, "--session", session, state=place.home) as gate:
        gate.send("run_command", command="while :; do echo x >> running; done")
        wait_until(lambda: (upper / "running").exists(), "the command writes")
        gate.kill()
        gate.wait_exit()
    size = place.ok(session, "stat", path="running")["size"]
    made = place.sh(session, "wc -c < running; echo end >> running; tail -n 1 running")
    check(made["stdout"].split() == [str(size), "end"], f"{size}: {made}")
    check(not (place.project / "running").exists(), "it reached the project")


def mounts_inside(place):
    with place.form.acting():
        (place.project / "mnt").mkdir()
    place.write("mnt/beneath", "beneath\n")
    session = place.create("--overlay")
    with lib.tmpfs(place.form, place.project / "mnt", "1m"):
        answer = place.call(session, "read_file", {"path": "mnt/beneath"})
        check(answer["error"]["code"] == "SANDBOX_UNAVAILABLE" and "mnt" in answer["error"]["message"], answer)
    check(place.ok(session, "read_file", path="mnt/beneath")["content"] == "beneath\n", "without the mount it works")


def discarded(place):
    session = place.create("--overlay")
    deep = "/".join(["d"] * 300)
    place.sh(session, f"mkdir -p {deep} && touch {deep}/file && mkdir -p shut/in && touch shut/in/f && chmod 000 shut/in shut")
    with Gate(place.form, "--session", session, state=place.home) as gate:
        gate.ok("read_file", path="a.txt")
        done = place.run("session", "discard", session)
        check(done.returncode == 1 and b"in use" in done.stderr, done)
    done = place.run("session", "discard", session)
    check(done.returncode == 0 and not place.folder(session).exists(), done)
    check(sorted(p.name for p in place.project.iterdir()) == ["a.txt", "sub"], "the project stays")


def asked(place):
    """Whoever sits at a terminal is asked before changes are lost."""
    def discard(session, *options):
        return Terminal(place.form, place.home, [place.form.binary, "session", "discard", session, *options])

    session = place.create("--overlay")
    with discard(session) as terminal:
        check(terminal.end() == 0 and not place.folder(session).exists(), "nothing to lose, nothing asked")
    session = place.create("--overlay")
    place.ok(session, "write_file", path="new", content="x")
    for word, left in (("n", True), ("y", False)):
        with discard(session) as terminal:
            terminal.until("1 changes")
            terminal.type(word + "\n")
            check((terminal.end() == 0) != left and place.folder(session).exists() == left, word)
    session = place.create("--overlay")
    place.ok(session, "write_file", path="new", content="x")
    with discard(session, "--yes") as terminal:
        check(terminal.end() == 0 and not place.folder(session).exists(), "--yes")


def unknown_mode(place):
    session = place.create("--overlay")
    record = place.folder(session) / "session.json"
    record.write_text(record.read_text().replace('"overlay"', '"other"'))
    answer = place.call(session, "write_file", {"path": "x", "content": "x"})
    check(answer["error"]["code"] == "INTERNAL" and "damaged" in answer["error"]["message"], answer)
    check(not (place.project / "x").exists(), "it was taken for a session in host mode")


def listed_folders(place):
    """The dialect `system` works in folders that are configured, which have no layer."""
    session = place.create("--overlay")
    done = place.run("call", "filesystem", '{"operation":"list","path":"/"}', "--session", session, "--dialect", "system")
    check(done.returncode == 2 and b"overlay" in done.stderr, done)


def differences(place):
    place.write("same.txt", "same\n")
    place.write("moved.txt", "a content of its own\n")
    place.write("mode.sh", "#!/bin/sh\n")
    place.write("bin", b"\0one")
    place.write("gone/x/y", "y\n")
    place.write("turns", "into a link\n")
    place.write("renewed/old", "old\n")
    place.write("renewed/kept", "kept\n")
    place.form.link(place.project / "link", "a.txt")
    session = place.create("--overlay")
    check(place.changes(session) == {} and place.diff(session) == b"", "nothing was done")
    place.sh(session, "echo more >> a.txt; touch same.txt; echo x >> same.txt; printf 'same\\n' > same.txt; mv moved.txt "
                      "new.txt; chmod 755 mode.sh; printf '\\0two!' > bin; rm -r gone; ln -sfn same.txt turns; ln -sfn bin link;"
                      "rm -r renewed; mkdir -p renewed empty; echo kept > renewed/kept; mkfifo pipe; rm -r sub; echo f > sub")
    found = {path: one["change"] for path, one in place.changes(session).items()}
    check(found == {"a.txt": "modified", "new.txt": "renamed", "mode.sh": "mode", "bin": "modified", "gone": "deleted",
                    "gone/x": "deleted", "gone/x/y": "deleted", "turns": "type", "link": "modified",
                    "renewed/old": "deleted", "empty": "added", "pipe": "added", "sub": "type", "sub/b.txt": "deleted"},
          found)
    one = place.changes(session)
    check(one["new.txt"]["from"] == "moved.txt" and one["mode.sh"]["after"]["mode"] == "0755", one)
    check(one["bin"]["before"]["size"] == 4 and one["bin"]["after"]["size"] == 5, one["bin"])
    check(one["bin"]["before"]["sha256"] != one["bin"]["after"]["sha256"], one["bin"])
    check(one["turns"]["after"] == {"type": "symlink", "target": "same.txt"}, one["turns"])
    lines = place.diff(session, "--stat").decode().splitlines()
    check(lines[-1] == "14 changes" and any("moved.txt -> new.txt" in line for line in lines), lines)
    check(place.diff(session, "gone/x", "--stat").decode().splitlines()[-1] == "2 changes", "only what was named")
    shown = json.loads(place.run("session", "show", session).stdout)
    check(shown["changes"] == 14 and shown["disk_bytes"] > 0, shown)
    # A second gate has the layer mounted meanwhile.
    with Gate(place.form, "--session", session, state=place.home) as gate:
        gate.ok("write_file", path="while.txt", content="x")
        check(place.changes(session)["while.txt"]["change"] == "added", "beside its owner")


def patched(place):
    """The patch makes the same of another copy."""
    odd = 'new\nline "quoted" \\ tab\t'
    place.write("no end", "without a line end")
    place.write("b.sh", "#!/bin/sh\n")
    place.write("no-more", "one line\n")
    place.write("moved", "".join(f"{i}\n" for i in range(50)))
    place.form.link(place.project / "link", "a.txt")
    copy = place.form.base / "copy"
    subprocess.run(["cp", "-a", place.project, copy], check=True)
    session = place.create("--overlay")
    place.ok(session, "write_file", path=odd, content="odd\n")
    place.sh(session, "echo x >> 'no end'; chmod 755 b.sh; mkdir deep; mv moved deep/moved; ln -sfn b.sh link; rm -r sub; "
                      "printf 'é' > 'ünï cödé'; : > empty; ln -s 'a b' 'new link'; rm a.txt; ln -s z a.txt; rm no-more")
    patch = place.diff(session)
    done = subprocess.run(["git", "apply", "-"], input=patch, capture_output=True, cwd=copy, check=False,
                          env={**os.environ, "GIT_CEILING_DIRECTORIES": str(copy.parent)})
    check(done.returncode == 0, f"{done.stderr.decode()}\n{patch.decode(errors='replace')}")
    want = place.sh(session, "find . -type f -exec sha256sum {} + | sort; find . -type l -printf '%p %l\\n' | sort; "
                             "find . -type f -perm -100 | sort")["stdout"]
    have = subprocess.run(["bash", "-c", "find . -type f -exec sha256sum {} + | sort; find . -type l -printf '%p %l\\n' | sort; "
                           "find . -type f -perm -100 | sort"], cwd=copy, capture_output=True, check=True).stdout.decode()
    check(want == have, f"{want}\n{have}\n{patch.decode(errors='replace')}")


def told_to_agents(place):
    """The tool says what `session diff` says, while its session goes on."""
    place.write("moved.txt", "a content of its own\n")
    session = place.create("--overlay")
    with Gate(place.form, "--session", session, state=place.home) as gate:
        check(gate.ok("session_diff")["count"] == 0, "nothing was done")
        gate.ok("run_command", command="echo more >> a.txt; mv moved.txt new.txt; mkdir d; echo x > d/y; echo KEY > d/.env; "
                                       "printf '\\0b' > bin; rm -r sub")
        found = gate.ok("session_diff")
        listed = {one["path"]: one["change"] for one in found["changes"]}
        check(listed == {path: one["change"] for path, one in place.changes(session).items()}, listed)
        check(found["count"] == len(listed) and found["left_out"] == 2, found)
        check(next(one for one in found["changes"] if one["path"] == "new.txt")["renamed_from"] == "moved.txt", found)
        check("KEY" not in found["patch"] and "+more" in found["patch"] and "rename to new.txt" in found["patch"], found["patch"])
        part = gate.ok("session_diff", path="d")
        check({one["path"] for one in part["changes"]} == {"d", "d/y", "d/.env"} and "+more" not in part["patch"], part)
        bounded = gate.ok("session_diff", max_bytes=0)
        check(bounded["patch"] == "" and bounded["count"] == found["count"], bounded)
        several = [gate.send("session_diff", path="a.txt") for _ in range(5)]
        check(all(gate.wait(one)["result"]["count"] == 1 for one in several), "one after the other")
        gate.ok("write_file", path="a.txt", content="alpha\n")
        check(gate.ok("session_diff", path="a.txt")["count"] == 0, "it is as it was")
    config = place.form.write(place.home / "config.json", json.dumps(
        {"policy": {"capabilities": {"filesystem": {"read": ["d"]}}}}))
    answer = place.call(session, "session_diff", {}, "--config", config)
    check(answer["error"]["code"] == "CAPABILITY_DENIED", answer)
    check(place.ok(session, "session_diff", "--config", config, path="d")["count"] == 3, "as far as it may read")


def not_told(place):
    """A secret's content is in no diff, and what cannot be looked into is told."""
    place.write("conf/x.key", "KEY=1\n")
    session = place.create("--overlay")
    place.sh(session, "echo KEY=2 > .env; echo z > shut; chmod 000 shut; mkdir half; echo e > half/evil; "
             "chmod 444 half; mkdir -p " + "/".join(["d"] * 200))
    said = place.diff(session) + place.diff(session, "--json") + place.diff(session, "--stat")
    check(b"KEY" not in said, said.decode())
    found = place.changes(session)
    check(found[".env"]["secret"] and "sha256" not in found[".env"]["after"], found[".env"])
    # A scan beside the command may have opened the folder.
    half = found["half"].get("unread") or found["half"]["after"]["mode"] == "0744"
    check(found["shut"].get("unread") and half, [found.get(name) for name in ("shut", "half")])
    check(any(one.get("unread") for path, one in found.items() if path.startswith("d/")), "deeper than is looked")
    place.sh(session, "mkdir long; cd long; n=$(printf %0250d 0); for i in $(seq 17); do mkdir $n && cd -P $n; done; touch $n")
    found = place.changes(session)
    check(any(one.get("unread") for path, one in found.items() if path.startswith("long/0")), "longer than a path may be")
    host = place.create()
    done = place.run("session", "diff", host)
    check(done.returncode == 2 and b"host mode" in done.stderr, done)


CASES = [
    ("what tools and commands do stays in the layer", stays),
    ("the setting workspace.mode", from_settings),
    ("nobody is asked about what stays in the layer", unasked),
    ("git and protected files are written in the layer", git),
    ("secret files are hidden and stay", secrets),
    ("the settings of the workspace stay", settings_stay),
    ("no other way leads to the project", shown_elsewhere),
    ("a killed gate's cell ends before the next begins", killed),
    ("mounts inside the project are refused", mounts_inside),
    ("discarded with all that is in the layer", discarded),
    ("asked before changes are lost", asked),
    ("what was changed", differences),
    ("the changes as a patch", patched),
    ("the changes as agents see them", told_to_agents),
    ("what is not told of changes", not_told),
    ("a mode that is not known", unknown_mode),
    ("folders of the configuration are refused", listed_folders),
]


def main():
    if AM_ROOT:
        lib.own_mounts()
    tap = lib.Tap()
    for form in lib.forms():
        for name, case in CASES:
            if case is mounts_inside and not AM_ROOT:
                continue
            with tap.case(f"{form.name}: {name}"):
                case(Place(form, case.__name__))
    tap.done()


if __name__ == "__main__":
    main()
