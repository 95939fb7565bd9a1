#!/usr/bin/python3
"""`sandgate session commit`: what a session with an overlay changed is taken over into the project."""
import contextlib
import hashlib
import json
import os
import random
import stat
import subprocess
import time

import lib
from lib import AM_ROOT, Gate, check
from overlay_place import Place, tree
from terminals import Terminal


def look(folder):
    """What is in a folder, without what a copy changes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        st = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[os.fsencode(path.relative_to(folder))] = (stat.filemode(st.st_mode), content)
    return found


def everything(place):
    place.write("run.sh", "#!/bin/sh\n")
    place.write("gone/x/y", "y\n")
    place.write("turns", "into a link\n")
    place.write("file", "into a folder\n")
    place.write("renewed/old", "old\n")
    place.write("renewed/kept", "kept\n")
    place.form.link(place.project / "link", "a.txt")
    session = place.create("--overlay")
    place.sh(session, "echo more >> a.txt; chmod 640 run.sh; rm -r gone; ln -sfn a.txt turns; rm file; mkdir -p file/in; "
                      "echo f > file/in/f; ln -sfn run.sh link; rm -r renewed; mkdir -p renewed empty new/deep; "
                      "echo kept > renewed/kept; echo n > new/deep/n; ln -s n new/deep/l; rm -r sub; echo f > sub; "
                      "chmod 750 new; printf x > \"$(printf 'od\\377d\\n name')\"; touch -d @1000000000 new/deep/n; "
                      "chmod 2755 empty; echo s > suid; chmod 4644 suid")
    made = place.sh(session, "find . -type f -exec sha256sum {} + | sort; find . -type l -printf '%p %l\\n' | sort")["stdout"]
    before = place.changes(session)
    done = place.commit(session)
    check(done["committed"] and done["empty"] and done["left"] == [], done)
    check(len(done["taken"]) == len(before), done)
    have = subprocess.run(["bash", "-c", "find . -type f -exec sha256sum {} + | sort; find . -type l -printf '%p %l\\n' | sort"],
                          cwd=place.project, capture_output=True, check=True).stdout.decode("utf-8", "replace")
    check(have == made, f"{made}\n{have}")
    modes = {name: (place.project / name).lstat() for name in ("run.sh", "new", "suid", "empty", "new/deep/n", "a.txt")}
    check(stat.S_IMODE(modes["run.sh"].st_mode) == 0o640 and stat.S_IMODE(modes["new"].st_mode) == 0o750, modes)
    check(not modes["suid"].st_mode & 0o6000, "setuid and setgid are never taken over")
    check(modes["new/deep/n"].st_mtime == 1000000000, "times are kept")
    check(modes["a.txt"].st_uid == place.project.stat().st_uid, "the owner stays")
    check(place.changes(session) == {} and not any((place.folder(session) / "layer/upper").iterdir()), "nothing is left")
    check(not [p for p in place.project.rglob(".sgt-*")], "temporary files are left")
    # The session goes on.
    place.sh(session, "echo again >> a.txt; rm new/deep/n")
    done = place.commit(session)
    check(done["committed"] and len(done["taken"]) == 2 and (place.project / "a.txt").read_text().endswith("again\n"), done)


def attributes(place):
    session = place.create("--overlay")
    place.sh(session, "python3 -c 'import os; open(\"x\",\"w\").write(\"x\"); os.setxattr(\"x\", \"user.mine\", b\"1\"); "
                      "os.setxattr(\"a.txt\", \"user.mine\", b\"2\")'; echo x >> a.txt")
    place.commit(session)
    for name, value in (("x", b"1"), ("a.txt", b"2")):
        at = place.project / name
        check(os.getxattr(at, "user.mine") == value and os.listxattr(at) == ["user.mine"], os.listxattr(at))


def some(place):
    place.write("gone/x", "x\n")
    session = place.create("--overlay")
    place.sh(session, "echo 1 >> a.txt; echo 2 >> sub/b.txt; mkdir -p n/m; echo 3 > n/m/c.txt; echo 4 > n/d.md; rm -r gone; "
                      "rm -r sub; mkdir sub; echo new > sub/b.txt; echo other > sub/c.txt")
    done = place.commit(session, "n/m")
    check(sorted(one["change"]["path"] for one in done["taken"]) == ["n", "n/m", "n/m/c.txt"], done)
    check((place.project / "n/m/c.txt").read_text() == "3\n" and not (place.project / "n/d.md").exists(), "only what was named")
    check((place.project / "a.txt").read_text() == "alpha\n", "the rest is not touched")
    left = place.changes(session)
    check(set(left) == {"a.txt", "sub/b.txt", "sub/c.txt", "n/d.md", "gone", "gone/x"}, left)
    done = place.commit(session, "**/*.md", "sub/c.txt", "gone")
    check(len(done["taken"]) == 4 and not (place.project / "gone").exists(), done)
    check((place.project / "sub/b.txt").read_text() == "beta\n", "of a folder that was made anew the rest stays")
    check(set(place.changes(session)) == {"a.txt", "sub/b.txt"}, place.changes(session))
    # What is in the project already is changed again: that is no conflict.
    place.sh(session, "echo 5 >> n/m/c.txt; echo 6 > n/new; rm n/d.md; cat sub/b.txt sub/c.txt")
    done = place.commit(session)
    check(done["empty"] and (place.project / "n/m/c.txt").read_text() == "3\n5\n", done)
    said, _ = place.refused(session, "no/such/*")
    check("no change" in said, said)


def conflicts(place):
    for name in ("mine", "yours", "same", "theirs/x", "removed", "deleted"):
        place.write(name, "old\n")
    session = place.create("--overlay")
    place.sh(session, "for i in mine yours same theirs/x removed; do echo session >> $i; done; rm deleted; echo new > added")
    place.write("yours", "edited\n")
    place.write("same", "old\nsession\n")
    place.write("deleted", "edited\n")
    place.write("added", "by hand\n")
    with place.form.acting():
        (place.project / "removed").unlink()
    before = tree(place.project)
    said, answer = place.refused(session)
    check("CONFLICT" in said or "were changed in the project" in said, said)
    found = {one["change"]["path"] for one in answer["left"] if one["why"] == "conflict"}
    check(found == {"yours", "deleted", "added"} and not answer["taken"], answer)
    check(tree(place.project) == before, "a refused commit changed something")
    check(set(place.changes(session)) == found | {"mine", "theirs/x", "removed"}, "equal contents are no change")
    done = place.commit(session, "mine", "theirs")
    check(len(done["taken"]) == 2, done)
    done = place.commit(session, "--ours", "yours", "--theirs", "{added,deleted}")
    check(done["given_up"] == 2 and done["empty"], done)
    texts = {name: (place.project / name).read_text() for name in ("yours", "removed", "added", "deleted")}
    check(texts == {"yours": "old\nsession\n", "removed": "old\nsession\n", "added": "by hand\n", "deleted": "edited\n"}, texts)
    check(place.changes(session) == {}, "what was given up is gone")


def two_sessions(place):
    """Of two sessions that change one file the second is in conflict, and not with itself."""
    first, second = place.create("--overlay"), place.create("--overlay")
    for session in (first, second):
        place.sh(session, f"echo {session} >> a.txt; echo {session} > {session}")
    place.commit(first)
    said, answer = place.refused(second)
    check([one["change"]["path"] for one in answer["left"] if one["why"] == "conflict"] == ["a.txt"], answer)
    check(place.commit(second, second)["committed"], "what nobody else changed")
    place.commit(second, "--ours", "a.txt")
    check((place.project / "a.txt").read_text() == f"alpha\n{second}\n", "decided")


def runs_code(place):
    place.write("script", "x\n")
    # What the project's own link and setting lead to is obeyed, too.
    place.write("conf/launch.json", "{}\n")
    place.write("tools/x", "x\n")
    place.form.link(place.project / ".idea", "conf")
    subprocess.run(["git", "init", "-q"], cwd=place.project, check=True, **place.form.identity())
    subprocess.run(["git", "config", "core.hooksPath", "tools"], cwd=place.project, check=True, **place.form.identity())
    session = place.create("--overlay")
    place.sh(session, "echo more >> conf/launch.json; echo x > tools/post-commit; mkdir linked; ln -s linked .husky; "
                      "mkdir -p .vscode .github/workflows build; echo {} > .vscode/tasks.json; echo x > .github/workflows/x.yml; "
                      "echo x > build/made; chmod +x build/made script; echo x > .git/hooks/pre-push; echo t > .envrc; "
                      "mkdir bare; cd bare; mkdir objects refs; echo 'ref: refs/heads/x' > HEAD; echo x > config; cd ..; "
                      "echo free > free; ln -s hooks .git/x; echo x > CLAUDE.md")
    before = tree(place.project)
    said, answer = place.refused(session)
    why = {one["change"]["path"]: one["why"] for one in answer["left"]}
    check("--allow-code" in said and tree(place.project) == before, said)
    for path in (".vscode/tasks.json", "script", "conf/launch.json", "tools/post-commit", ".husky"):
        check(why.get(path) == "code", f"{path}: {why}")
    for path in (".git/hooks/pre-push", "bare/HEAD", "bare/config"):
        check(why.get(path) == "git", f"{path}: {why}")
    done = place.commit(session, "--leave-code")
    taken = {one["change"]["path"] for one in done["taken"]}
    check({"free", "build", "build/made", "linked"} <= taken and not {".vscode/tasks.json", "script", "bare/HEAD"} & taken, taken)
    check(not (place.project / ".vscode").exists() and not (place.project / ".git/hooks/pre-push").exists(), "left")
    check(not os.access(place.project / "script", os.X_OK), "left")
    done = place.commit(session, "--allow-code")
    check((place.project / ".vscode/tasks.json").exists() and os.access(place.project / "script", os.X_OK), done)
    check(not (place.project / ".git/hooks/pre-push").exists(), "a git directory is not taken over so")


def code_by_links(place):
    """What the project's links and settings name, and what a new link in the way of a name makes of other files."""
    def git(*argv):
        subprocess.run(["git", *argv], cwd=place.project, check=True, **place.form.identity())
    link = place.form.link
    git("init", "-q")
    git("config", "core.hooksPath", "scripts/hooks")  # which is not there
    git("config", "core.fsmonitor", "tools/watch")
    git("init", "-q", "--bare", "bare")
    for path in ("tools/watch", "ed/real.json", "one/x.toml", "two/x.toml", "scripts/a", "conf/x"):
        (place.write(path, "x\n")).chmod(0o755)
    link(place.project / ".mcp.json", "ed/real.json")
    link(place.project / ".mise.toml", "way/x.toml")
    link(place.project / "way", "one")
    link(place.project / ".env", "conf/x")
    session = place.create("--overlay")
    place.ok(session, "delete", path="conf/x")
    place.sh(session, "echo evil > tools/watch; echo evil > ed/real.json; ln -sfn two way; rm bare/HEAD; echo x >> bare/config; "
                      "for name in .cargo .hg .github .config; do ln -s made $name; done; mkdir -p made/workflows build/hooks; "
                      "echo x > made/config.toml; echo x > build/hooks/pre-commit; chmod +x build/hooks/pre-commit; "
                      "rm -r scripts; ln -s build scripts; echo free > free; ln -s made plain")
    before = tree(place.project)
    said, answer = place.refused(session)
    check("--allow-code" in said and tree(place.project) == before, said)
    why = {one["change"]["path"]: one["why"] for one in answer["left"]}
    for path in ("tools/watch", "ed/real.json", "way", ".cargo", ".hg", ".github", ".config", "scripts"):
        check(why.get(path) == "code", f"{path}: {why}")
    check(why.get("conf/x") == "secret", "what a secret link leads to, which commands do not see")
    check(why.get("bare/HEAD") == "git" and why.get("bare/config") == "git", "without HEAD it is one still, in part")
    check(not {"free", "plain", "made"} & {path for path in why if why[path] == "code"}, why)
    place.commit(session, "--leave-code")
    check((place.project / "free").exists() and not (place.project / ".cargo").is_symlink(), "left")
    # The program lies in the folder that the setting names.
    place.sh(session, "rm scripts; mkdir -p scripts/hooks; echo x > scripts/hooks/pre-commit")
    said, answer = place.refused(session, "scripts")
    check({one["change"]["path"]: one["why"] for one in answer["left"]}.get("scripts/hooks/pre-commit") == "code", answer)


def shown(place):
    """What is in a change does not draw on the terminal of whoever looks at it."""
    session = place.create("--overlay")
    place.sh(session, "printf 'a\\033[2J\\033[H\\033[8mb\\n' > x; ln -s \"$(printf 'c\\033[2Jd')\" y")
    check(b"\x1b[2J\x1b[H" in place.diff(session), "elsewhere a patch has the very bytes")
    argv = [place.form.binary, "session", "diff", session]
    with Terminal(place.form, place.home, argv) as terminal:
        check(terminal.end() == 0, terminal.shown)
        check(b"\\e[2J\\e[H\\e[8mb" in terminal.shown and b"\x1b[2J" not in terminal.shown, terminal.shown)


def moved_in(place):
    """A folder in the place of one that the session removed: what is in it is older than the session."""
    place.write("data/old", "old\n")
    place.write("other/sub/mine", "mine\n")
    session = place.create("--overlay")
    place.sh(session, "rm -r data")
    with place.form.acting():
        (place.project / "data").rename(place.project / "kept")
        (place.project / "other").rename(place.project / "data")
    said, answer = place.refused(session)
    check({one["change"]["path"]: one["why"] for one in answer["left"]}.get("data") == "conflict", answer)
    place.commit(session, "--theirs", "data")
    check((place.project / "data/sub/mine").read_text() == "mine\n" and place.changes(session) == {}, "the project's stays")
    session = place.create("--overlay")
    place.sh(session, "rm -r kept; mkdir kept; echo new > kept/new")
    with place.form.acting():
        (place.project / "kept").rename(place.project / "away")
        (place.project / "data").rename(place.project / "kept")
    said, answer = place.refused(session)
    check({one["change"]["path"]: one["why"] for one in answer["left"]}.get("kept/sub") == "conflict", answer)
    check((place.project / "kept/sub/mine").exists(), "it was deleted")


def renamed(place):
    """What is renamed stays where it was, while where it is stays in the session."""
    session = place.create("--overlay")
    place.sh(session, "mkdir .vscode; mv a.txt .vscode/tasks.json")
    done = place.commit(session, "--leave-code")
    check((place.project / "a.txt").exists() and done["taken"] == [], done)
    check(set(place.changes(session)) == {".vscode", ".vscode/tasks.json"}, "the session keeps it")
    place.refused(session, "a.txt")


def secrets(place):
    place.write("conf/.env", "KEY=1\n")
    place.write("conf/x", "x\n")
    session = place.create("--overlay")
    place.sh(session, "rm -rf conf; mv conf other; echo KEY=2 > .env; echo y > y; true")
    done = place.commit(session)
    check((place.project / "conf/.env").read_text() == "KEY=1\n", "a hidden file was deleted")
    check(not (place.project / ".env").exists() and (place.project / "y").exists(), done)
    why = {one["change"]["path"]: one["why"] for one in done["left"]}
    check(why.get(".env") == "secret", why)


def busy(place):
    session = place.create("--overlay")
    with Gate(place.form, "--session", session, state=place.home) as gate:
        gate.ok("write_file", path="new", content="x")
        said, _ = place.refused(session)
        check("in use" in said and not (place.project / "new").exists(), said)
    check(place.commit(session)["committed"] and (place.project / "new").exists(), "afterwards")
    host = place.create()
    said, _ = place.refused(host)
    check("host mode" in said, said)


def special(place):
    session = place.create("--overlay")
    place.sh(session, "mkfifo pipe; echo z > shut; chmod 000 shut; echo g > good; mkdir d; mkfifo d/pipe; echo f > d/f")
    done = place.commit(session)
    check({one["change"]["path"]: one["why"] for one in done["left"]} ==
          {"pipe": "special", "d/pipe": "special", "shut": "special"}, done)
    check((place.project / "good").exists() and (place.project / "d/f").exists(), done)
    check(not (place.project / "pipe").exists() and not (place.project / "d/pipe").exists(), "never")


def swapped(place):
    """A folder of the project becomes a link to elsewhere: nothing is written there."""
    outside = place.form.folder("outside")
    place.form.write(outside / "b.txt", "outside\n")
    session = place.create("--overlay")
    place.sh(session, "echo x >> sub/b.txt; echo n > sub/new")
    with place.form.acting():
        (place.project / "sub").rename(place.project / "was")
    place.form.link(place.project / "sub", outside)
    before = tree(outside)
    for options in ((), ("--ours", "**")):
        place.run("session", "commit", session, *options)
        check(tree(outside) == before, f"it was led out of the project: {options}")


def read_only(place):
    session = place.create("--overlay")
    place.sh(session, "echo x >> sub/b.txt; echo n > n")
    with place.form.acting():
        (place.project / "sub").chmod(0o555)
    before = look(place.project)
    if not place.form.is_root:
        said, _ = place.refused(session)
        check("permission" in said, said)
        check(look(place.project) == before, "nothing was done")
    with place.form.acting():
        (place.project / "sub").chmod(0o755)
    check(place.commit(session)["committed"], "afterwards")


def full(place):
    with place.form.acting():
        (place.project / "disk").mkdir()
    with lib.tmpfs(place.form, place.project / "disk", "1m"):
        small = Place.__new__(Place)
        small.form, small.home, small.project = place.form, place.home, place.project / "disk"
        small.write("a", "old\n")
        session = small.create("--overlay")
        small.sh(session, "echo new > a; head -c 3000000 /dev/zero > large; echo b > b")
        before = tree(small.project)
        said, _ = small.refused(session)
        check("bytes" in said and tree(small.project) == before, said)
        # What takes the room while it is written.
        small.sh(session, "head -c 700000 /dev/zero > large")
        small.write("taken", b"x" * 600000)
        said, _ = small.refused(session)
        check(tree(small.project).keys() == before.keys() | {"taken"}, said)
        with small.form.acting():
            (small.project / "taken").unlink()
        check(small.commit(session)["committed"] and (small.project / "large").stat().st_size == 700000, "afterwards")


def recorded(place):
    session = place.create("--overlay")
    place.sh(session, "echo x > tool; chmod +x tool; echo y > y")
    place.refused(session)
    place.commit(session, "--allow-code")
    shown = place.run("audit", "show", "--json", "--kind", "session.*").stdout
    found = [json.loads(line) for line in shown.splitlines()]
    check([one["kind"] for one in found] == ["session.commit", "session.committed"], found)
    check(found[0]["session"] == session and found[0]["changes"] == 2 and found[0]["runsCode"] == 1, found)
    check(found[1]["ok"] and found[1]["taken"] == 2 and found[1]["left"] == 0, found)


def edited_meanwhile(place):
    """Somebody saves a file while a commit takes it over: no save that is not in the list is lost."""
    rng = random.Random(lib.seed())
    taken = 0
    for turn in range(12):
        place.write("a.txt", f"start {turn}\n")
        session = place.create("--overlay")
        place.sh(session, f"echo session {turn} > a.txt")
        versions = [f"start {turn}\n"]
        argv = [str(a) for a in (place.form.binary, "session", "commit", session, "--json", "--ours", "a.txt")]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/",
                                   env=lib.environment(place.home, {}), **place.form.identity())
        while process.poll() is None:
            time.sleep(rng.uniform(0, 0.03))
            text = f"by hand {turn} {len(versions)}\n"
            place.write(".saved", text).rename(place.project / "a.txt")
            versions.append(text)
        answer = json.loads(process.stdout.read() or b"{}")
        now = (place.project / "a.txt").read_text()
        if answer.get("taken"):
            taken += 1
            before = answer["taken"][0]["change"]["before"]["sha256"]
            known = [hashlib.sha256(v.encode()).hexdigest() for v in versions].index(before)
            check(now == (versions[-1] if known < len(versions) - 1 else f"session {turn}\n"), (now, known, versions))
        else:
            check(now == versions[-1], (now, versions, answer))
            check(place.changes(session)["a.txt"]["change"] == "modified", "what was not taken over is still there")
        check(not [p for p in place.project.rglob(".sgt-*")], "temporary files are left")
        place.run("session", "discard", session, "--yes")
    print(f"# {taken} of 12 taken over")


@contextlib.contextmanager
def overlaid(place, at):
    """The project lies on an overlay, as in a container."""
    parts = [place.form.folder(f"fs-{name}") for name in ("lower", "upper", "work")]
    done = subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                           f"lowerdir={parts[0]},upperdir={parts[1]},workdir={parts[2]}", at], check=False, capture_output=True)
    check(done.returncode == 0, done.stderr)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", at], check=True)


def other_file_systems(place):
    for name in ("tmpfs", "overlay"):
        with place.form.acting():
            (place.project / name).mkdir()
        small = Place.__new__(Place)
        small.form, small.home, small.project = place.form, place.home, place.project / name
        with lib.tmpfs(place.form, small.project, "16m") if name == "tmpfs" else overlaid(place, small.project):
            for path in ("a", "gone/x", "turns", "folds/y"):
                small.write(path, "old\n")
            session = small.create("--overlay")
            small.sh(session, "echo new > a; rm -r gone; rm turns; mkdir turns; echo t > turns/t; rm -r folds; echo f > folds; "
                              "mkdir n; echo n > n/n; ln -s a l")
            done = small.commit(session)
            check(done["empty"] and done["left"] == [], f"{name}: {done}")
            found = {str(p.relative_to(small.project)): p.is_dir() or p.read_text() for p in small.project.rglob("*")}
            check(found == {"a": "new\n", "turns": True, "turns/t": "t\n", "folds": "f\n", "n": True, "n/n": "n\n", "l": "new\n"},
                  f"{name}: {found}")


def asked(place):
    def commit(session, *options):
        return Terminal(place.form, place.home, [place.form.binary, "session", "commit", session, *options])

    session = place.create("--overlay")
    place.sh(session, "echo n > new; echo x > tool; chmod +x tool")
    with commit(session) as terminal:
        terminal.until("would run code")
        terminal.type("n\n")
        terminal.until("Take 1 changes over")
        terminal.type("n\n")
        check(terminal.end() != 0 and not (place.project / "new").exists(), "no")
    with commit(session) as terminal:
        terminal.until("would run code")
        terminal.type("n\n")
        terminal.until("Take 1 changes over")
        terminal.type("y\n")
        check(terminal.end() == 0 and (place.project / "new").exists(), "yes")
    check(not (place.project / "tool").exists(), "said no to that")
    with commit(session) as terminal:
        terminal.until("would run code")
        terminal.type("y\n")
        terminal.until("Take 1 changes over")
        terminal.type("y\n")
        check(terminal.end() == 0 and os.access(place.project / "tool", os.X_OK), "yes to both")


CASES = [
    ("all kinds of changes", everything),
    ("attributes", attributes),
    ("paths and globs", some),
    ("what was changed in the project", conflicts),
    ("two sessions, one file", two_sessions),
    ("what would run code", runs_code),
    ("what would run code by a link or a setting", code_by_links),
    ("a rename, half of which stays", renamed),
    ("a folder moved to where one was removed", moved_in),
    ("a patch on a terminal", shown),
    ("secret files", secrets),
    ("a session that works", busy),
    ("devices and what cannot be read", special),
    ("a folder swapped for a link", swapped),
    ("a folder that cannot be written", read_only),
    ("a full disk", full),
    ("recorded", recorded),
    ("edited meanwhile", edited_meanwhile),
    ("a project on tmpfs, or on an overlay", other_file_systems),
    ("asked on a terminal", asked),
]


def main():
    if AM_ROOT:
        lib.own_mounts()
    tap = lib.Tap()
    for form in lib.forms():
        for name, case in CASES:
            # Files of others than the cell's user could not be changed in an overlay over an overlay.
            if (case is full and not AM_ROOT) or (case is other_file_systems and (not AM_ROOT or form.is_root)):
                continue
            with tap.case(f"{form.name}: {name}"):
                case(Place(form, case.__name__))
    tap.done()


main()
