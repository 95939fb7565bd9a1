#!/usr/bin/env python3
"""Commands that may write to git directories: the grant and who gives it, ordinary work with git, what happens when
others work in the repository at the same time, and when the gate is killed.
"""
# timeout: 600

import json
import os
import signal
import subprocess
import threading

import lib
import ran
from lib import check, short
from ran import bash
from repository import GRANTED, SEEN, WHO, Repository, seen_inside

# Each begins with a fresh repository, runs in one command, and ends with the given status.
WORKFLOWS = {
    "add and commit": "echo four >> a; git add a; git commit -qm four",
    "commit of new folders": "mkdir -p x/y; echo 1 > x/y/z; git add x; git commit -qm deep; git rm -q a; git commit -qm gone",
    "branch and checkout": "git checkout -q -b work; git branch other side; git branch -m other renamed; git checkout -q side",
    "branch deleted": "git branch -D side",
    "branch in the place of a folder": "git branch dir/one; git branch -D dir/one; git branch dir",
    "merge": "git merge -q side -m merged",
    "fast-forward": "git checkout -q -b ff main~1; git merge -q --ff-only main",
    "merge with conflict": "git checkout -q -b c main~1; echo other >> a; git commit -qam other; ! git merge main; "
    "echo both > a; git add a; git commit -qm both",
    "merge stopped at a conflict": "git checkout -q -b c main~1; echo other >> a; git commit -qam other; ! git merge main",
    "rebase": "git checkout -q side; git rebase -q main",
    "rebase interactively": "GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i main~2",
    "rebase stopped": "git checkout -q -b c main~1; echo other >> a; git commit -qam other; ! git rebase main",
    "cherry-pick": "git cherry-pick side",
    "cherry-pick stopped": "git checkout -q -b c main~1; echo other >> a; git commit -qam other; ! git cherry-pick main",
    "revert": "git revert --no-edit HEAD",
    "stash push": "echo x >> a; git stash push -q -m kept",
    "stash push and pop": "echo x >> a; git stash push -q; git stash pop -q",
    "stash twice, one dropped": "echo x >> a; git stash -q; echo y >> a; git stash -q; git stash drop -q stash@{1}",
    "reset --hard": "echo x >> a; git reset -q --hard HEAD~1",
    "tag": "git tag light; git tag -a -m text heavy; git tag -d light",
    "clean and restore": "echo x > junk; echo x >> a; git clean -fq; git restore a; echo y >> a; git add a; "
    "git restore --staged a; git checkout -q -- a",
    "bisect under way": "git bisect start -q; git bisect bad HEAD; git bisect good HEAD~2",
    "bisect to its end": "git bisect start HEAD HEAD~2; git bisect run sh -c '! grep -q two a'; git bisect reset",
    "amend": "echo x >> a; git commit -q -a --amend -m amended",
    "gc": "git gc -q; git repack -adq",
    "pack-refs": "git pack-refs --all; git branch after; git branch -D side",
    "notes": "git notes add -m text HEAD",
    "intent to add": "echo n > n; git add -N n",
    "index version 4": "git update-index --index-version 4; echo x > x1; echo y > x2; git add x1 x2",
    "detached": "git checkout -q --detach side",
    "am": "git format-patch -q -1 side --stdout > /tmp/p; git am -q /tmp/p",
    "sparse status bits": "git update-index --assume-unchanged a; git update-index --skip-worktree a",
}


# What a collection writes that git can make again, and that it removes objects, which stay.
AGAIN = {"git:kept", *(f"git:dropped:.git/{name}" for name in ("info/refs", "objects/info/packs", "objects/info/commit-graph"))}


def workflows(form):
    """ordinary work ends as git inside saw it"""
    for number, (name, line) in enumerate(WORKFLOWS.items()):
        place = Repository(form, f"flow{number}")
        config = (place.workspace / ".git/config").read_bytes()
        with place.gate(env={**WHO, "GIT_EDITOR": "true"}) as gate:
            value = bash(gate, f"set -e; ({line}) >&2; {SEEN}", env=WHO)
        told = {v["call"] for v in value["violations"]}
        check(told <= AGAIN if name == "gc" else not told, f"{name}: {short(value)}")
        outside, inside = place.seen(), seen_inside(value["stdout"])
        for key in outside:
            check(outside[key] == inside[key], f"{name}: {key}: {outside[key]!r} outside, {inside[key]!r} inside")
        check((place.workspace / ".git/config").read_bytes() == config, f"{name}: the configuration")
        place.check_sound(name)


def continued(form):
    """work that stopped is finished outside, and work that stopped outside is finished by a command"""
    for name in ("merge", "rebase", "cherry-pick"):
        for first in ("inside", "outside"):
            place = Repository(form, f"stop-{name}-{first}")
            start = ["git checkout -q -b c main~1; echo other >> a; git commit -qam other; ! git NAME main"]
            start = start[0].replace("NAME", name)
            end = f"echo both > a; git add a; GIT_EDITOR=true git {name} --continue"
            with place.gate() as gate:
                for line, inside in ((start, first == "inside"), (end, first != "inside")):
                    if inside:
                        value = bash(gate, f"set -e; {line}", env=WHO)
                        check(value["violations"] == [], short(value))
                    else:
                        subprocess.run(
                            ["bash", "-ec", line], cwd=place.workspace, check=True, capture_output=True,
                            env={**lib.environment(place.home), **WHO}, **form.identity(),
                        )
            check(place.git("status", "--porcelain") == "", f"{name} {first}: {place.git('status')}")
            left = [n for n in ("MERGE_HEAD", "rebase-merge", "CHERRY_PICK_HEAD", "sequencer") if (place.workspace / ".git" / n).exists()]
            check(not left, f"{name} {first}: {left}")
            place.check_sound(name)


def remotes(form):
    """fetch, pull and push to a repository in the workspace; a submodule is updated"""
    place = Repository(form, "remote")
    other = place.workspace / "other"
    place.git("clone", "-q", "--no-hardlinks", str(place.workspace), str(other))
    place.git("remote", "add", "near", "/workspace/other")
    place.form.write(other / "new", "new\n")
    place.git("add", "new", cwd=other)
    place.git("commit", "-qm", "new", cwd=other, env=WHO)
    place.git("tag", "v1", cwd=other)
    place.put(".git/info/exclude", "other\n")
    with place.gate() as gate:
        value = bash(gate, f"set -e; git fetch -q --tags near; git pull -q --no-rebase near main; {SEEN}", env=WHO)
        check(value["violations"] == [], short(value))
        check(seen_inside(value["stdout"]) == place.seen(), short(value))
    check(place.git("log", "-1", "--format=%s") == "new\n", place.git("log"))
    check(place.git("rev-parse", "v1") == place.git("rev-parse", "HEAD"), "the tag")
    place.check_sound()


def shallow(form):
    """a clone without all of its history gets more of it, and where history ends by then is told"""
    for number, way in enumerate(("sha1", "sha256")):
        place = Repository(form, f"shallow{number}")
        if way == "sha256":
            place.git("init", "-q", "--object-format=sha256", "whole")
            for word in ("one", "two", "three"):
                place.git("commit", "-q", "--allow-empty", "-m", word, cwd=place.workspace / "whole")
        source, inside = (place.workspace / "whole", "/workspace/whole") if number else (place.workspace, "/workspace")
        other = place.workspace / "other"
        place.git("clone", "-q", "--depth", "1", f"file://{source}", str(other))
        place.git("-C", "other", "remote", "set-url", "origin", f"file://{inside}")
        for line, left, count in (("git fetch -q --deepen=1", True, 2), ("git gc -q; git repack -adq; git fetch -q --depth=2", True, 2),
                                  ("git rev-parse HEAD >.git/shallow", True, 1), ("git fetch -q --unshallow", False, 3)):
            with place.gate() as gate:
                value = bash(gate, f"cd other && {line}", env=WHO)
            told = [v["call"] for v in value["violations"] if not v["call"].startswith("git:dropped:other/.git/objects/info") and "info/refs" not in v["call"] and v["call"] != "git:kept"]
            check(told == ([] if "gc" in line else ["git:changed:shallow"]), f"{way} {line}: {short(value)}")
            check((other / ".git/shallow").exists() == left, f"{way} {line}: {place.git('-C', 'other', 'status')}")
            check(place.git("-C", "other", "rev-list", "--count", "HEAD") == f"{count}\n", f"{way} {line}")
        place.git("-C", "other", "fsck", "--strict")


def brought(form):
    """what git brings that is protected, and secrets that it cannot open: the answer says what to do"""
    place = Repository(form, "brought")
    place.git("checkout", "-q", "-b", "tools")
    place.form.folder("brought-ws/.vscode")
    place.put(".vscode/settings.json", "{}\n")
    place.git("add", ".vscode")
    place.git("commit", "-qm", "tools")
    place.git("checkout", "-q", "main")
    with place.gate() as gate:
        value = bash(gate, "git checkout -q tools", env=WHO)
        check(any(v["call"].startswith("quarantined:.vscode") for v in value["violations"]), short(value))
        check("git restore" in value["hint"] and "git commit -a" in value["hint"], short(value))
    place.git("restore", ".vscode")
    check(place.git("status", "--porcelain") == "", "it is back")
    place.git("checkout", "-q", "main")
    done = place.run("--git", "--", "git", "checkout", "-q", "tools")
    check(b"git restore PATH" in done.stderr, done)
    place.git("restore", ".")
    place.put(".env", "KEY=1\n")
    with place.gate() as gate:
        value = gate.call("run_command", command="git add -A")["result"]
        check(value["exit_code"] != 0 and "git add PATH" in value["hint"], short(value))
        value = gate.call("run_command", command="git add a")["result"]
        check(value["exit_code"] == 0 and "hint" not in value, short(value))


def submodules(form):
    """a submodule that is there is worked in and updated; none is added"""
    place = Repository(form, "sub")
    source = Repository(form, "sub-source")
    allow = ("-c", "protocol.file.allow=always")
    place.git(*allow, "submodule", "add", "-q", str(source.workspace), "lib")
    place.git("commit", "-qm", "lib")
    with place.gate() as gate:
        value = bash(gate, "set -e; cd lib; git checkout -q -b work; echo x >> a; git commit -qam x; cd ..; "
                     "git add lib; git commit -qm moved; git -C lib log -1 --format=%H", env=WHO)
        check(value["violations"] == [], short(value))
        check(place.git("-C", "lib", "rev-parse", "HEAD") == value["stdout"], "the submodule's commit")
        place.git("-C", "lib", "checkout", "-q", "HEAD~1")
        value = bash(gate, "git submodule update -q && git status --porcelain", env=WHO)
        check(value["violations"] == [] and value["stdout"] == "", short(value))
        check(place.git("status", "--porcelain") == "", place.git("status"))
        place.git("fsck", "--strict")
        place.git("-C", "lib", "fsck", "--strict")
        head = place.git("rev-parse", "HEAD")
        value = bash(gate, f"git clone -q lib new && git add new && git commit -qm new; mv new /tmp", env=WHO)
        check({"call": "git:dropped:.git/index", "count": 1} in value["violations"], short(value))
        check("hint" in value and place.git("rev-parse", "HEAD") == head, short(value))


def worktrees(form):
    """a worktree that is there is worked in; none is added"""
    place = Repository(form, "trees")
    place.git("worktree", "add", "-q", "-b", "tree", "tree")
    # By a path that holds in the sandbox, too.
    place.put("tree/.git", "gitdir: ../.git/worktrees/tree\n")
    with place.gate() as gate:
        value = bash(gate, "set -e; cd tree; echo x > t; git add t; git commit -qm t; git checkout -q --detach; git log -1 --format=%H", env=WHO)
        check(value["violations"] == [], short(value))
        check(place.git("rev-parse", "tree") == value["stdout"] == place.git("-C", "tree", "rev-parse", "HEAD"), short(value))
        check(place.git("-C", "tree", "status", "--porcelain") == "", place.git("-C", "tree", "status"))
        value = bash(gate, "git worktree add -q /tmp/new", env=WHO)
        told = [v["call"] for v in value["violations"]]
        check(any(t.startswith("git:dropped:.git/worktrees/new/") for t in told), short(value))
    check(not (place.workspace / ".git/worktrees/new").exists(), "it was added")
    place.check_sound()


def reading(form):
    """without the grant git is read and not written"""
    place = Repository(form, "reading", {"approval": {"default": "approve"}})
    before = place.tree()
    with place.gate() as gate:
        for line in ("status", "diff HEAD~1", "log --stat", "blame a", "describe --always --dirty", "ls-files", "show", "grep two", "shortlog HEAD", "branch -a", "tag",
                     "reflog", "rev-list --all", "show-ref", "cat-file -p HEAD", "ls-tree -r HEAD", "diff --stat main side", "format-patch -1 --stdout",
                     "archive HEAD", "bundle create - HEAD", "stash list", "submodule status", "worktree list", "fsck", "count-objects -v"):
            bash(gate, f"git {line} > /dev/null")
        for line in ("add a", "commit --allow-empty -m x", "checkout side", "stash", "tag x", "branch x", "fetch .",
                     "gc", "config x.y z", "update-ref refs/heads/x HEAD"):
            value = gate.call("run_command", command=f"echo x >> a; git {line}", env=WHO)["result"]
            check(value["exit_code"] != 0, f"{line}: {short(value)}")
            check(place.tree() == before, f"{line} changed the git directory")


# --- who grants it


def events(gate, kind):
    return [event for event in gate.events if event["event"] == kind]


def asked(gate, call):
    gate.pump(until=lambda: any(e["id"] == call for e in events(gate, "approval")))
    return next(e for e in events(gate, "approval") if e["id"] == call)


COMMIT = "git commit -q --allow-empty -m x"


def approved(form):
    """a call that asks for it is asked about, and the yes is for just this call"""
    place = Repository(form, "approved", {"approval": {"default": "approve"}})
    with ran.Gate(form, *place.options, "--approver", workspace=place.workspace, state=place.home) as gate:
        call = gate.send("run_command", command=COMMIT, git=True, env=WHO)
        event = asked(gate, call)
        check("may write to the repository's git directory" in event["summary"], short(event))
        gate.send_raw(json.dumps({"deny": event["requestId"]}).encode() + b"\n")
        lib.expect_error(gate.wait(call), "APPROVAL_DENIED")
        check(place.git("log", "-1", "--format=%s") == "three\n", "it was denied")
        call = gate.send("run_command", command=COMMIT, git=True, env=WHO)
        gate.send_raw(json.dumps({"approve": asked(gate, call)["requestId"]}).encode() + b"\n")
        ran.ended(gate.wait(call))
        check(place.git("log", "-1", "--format=%s") == "x\n", "it was approved")
        value = gate.call("run_command", command=COMMIT, env=WHO)["result"]
        check(value["exit_code"] != 0, "granted without being asked for")
        # For the session: the very same, and not what is like it.
        plain = COMMIT.replace("-m x", "-m y --author 'a <a@b>'")
        call = gate.send("run_command", command=plain, git=True)
        event = asked(gate, call)
        check(event["proposal"], short(event))
        gate.send_raw(json.dumps({"approve": event["requestId"], "scope": "session"}).encode() + b"\n")
        ran.ended(gate.wait(call))
        count = len(events(gate, "approval"))
        ran.ended(gate.call("run_command", command=plain, git=True))
        check(len(events(gate, "approval")) == count, "asked again about the same")
        other = gate.send("run_command", command=plain.replace("-m y", "-m z"), git=True)
        gate.send_raw(json.dumps({"deny": asked(gate, other)["requestId"]}).encode() + b"\n")
        lib.expect_error(gate.wait(other), "APPROVAL_DENIED")


def rules(form):
    """a rule grants it only where it says so, and never a workspace's own"""
    rule = {"toolName": "run_command", "action": "approve"}
    granting = {**rule, "grants": ["git"], "condition": {"command": {"program": "git commit"}}}
    place = Repository(form, "rules", {"approval": {"rules": [granting, rule], "timeoutMs": 1}})
    with place.gate() as gate:
        bash(gate, COMMIT)
        value = gate.call("run_command", command="git tag x")["result"]
        check(value["exit_code"] != 0, f"a rule without grants granted: {short(value)}")
        gate.refused("APPROVAL_TIMEOUT", "run_command", command="git tag x", git=True)
    for action in ("deny", "prompt", "budget"):
        bad = Repository(form, f"rules-{action}", {"approval": {"rules": [{**granting, "action": action, "budgetLimit": 5}]}})
        done = bad.run("--", "true")
        check(done.returncode == 2 and b"grants" in done.stderr, f"{action}: {done}")
    own = Repository(form, "rules-own", {"approval": {"default": "approve"}})
    own.put("sandgate.json", json.dumps({"approval": {"rules": [{"toolName": "*", "action": "approve", "grants": ["git"]}]}}))
    with own.gate() as gate:
        check(gate.call("run_command", command=COMMIT, env=WHO)["result"]["exit_code"] != 0, "the workspace granted it")


def by_hand(form):
    """`run --git` grants it, `run` does not; explain and the audit log say so"""
    place = Repository(form, "hand", {})
    done = place.run("--", *COMMIT.split())
    check(done.returncode != 0 and b"Read-only" in done.stderr, f"{done}")
    done = place.run("--git", "--", *COMMIT.split())
    check(done.returncode == 0 and place.git("log", "-1", "--format=%s") == "x\n", f"{done}")
    records = [json.loads(line) for p in (place.home / "sandgate/audit").glob("*.jsonl") for line in p.read_text().splitlines()]
    intents = [r for r in records if r.get("kind") == "call.intent"]
    check([r.get("grants") for r in intents] == [None, ["git"]], short(intents))
    done = place.run("--git", "--", "sh", "-c", "echo x > .git/hooks/x")
    check(done.returncode == 0 and b"not taken over into the git directory: .git/hooks/x" in done.stderr, f"{done}")
    records = [json.loads(line) for p in (place.home / "sandgate/audit").glob("*.jsonl") for line in p.read_text().splitlines()]
    check(["git:dropped:.git/hooks/x"] in [r.get("violations") for r in records], short(records[-2:]))
    granted = Repository(form, "hand-rule")
    done = form.run(granted.home, "policy", "explain", "run_command", '{"command":"git tag x"}', *granted.options,
                    "--workspace", granted.workspace)
    check(b"git directories" in done.stdout and b"grants git" in done.stdout, f"{done}")
    done = form.run(place.home, "policy", "explain", "run_command", '{"command":"true","git":true}', "--json",
                    "--workspace", place.workspace)
    answer = json.loads(done.stdout)
    check(answer["verdict"] == "ask" and "grants" not in answer, short(answer))


# --- others at the same time


def conflict(form):
    """what the user changed meanwhile is not overwritten, and nothing is taken over"""
    place = Repository(form, "conflict")
    lines = {
        "HEAD": ("git checkout -q side", lambda: place.git("checkout", "-q", "-b", "mine")),
        "ref": (COMMIT, lambda: place.git("commit", "-q", "--allow-empty", "-m", "mine")),
        "index": ("echo x > x; git add x", lambda: (place.put("m", "m"), place.git("add", "m"))),
        "packed ref": ("git tag -f t-ref HEAD~1", lambda: (place.git("tag", "-f", "t-ref", "HEAD~2"), place.git("pack-refs", "--all"))),
        "packed-refs": ("git pack-refs --all", lambda: (place.git("tag", "-f", "late"), place.git("pack-refs", "--all"))),
    }
    with place.gate() as gate:
        for name, (line, mine) in lines.items():
            place.git("checkout", "-q", "-f", "-B", "main", "side")
            place.git("tag", "-f", f"t-{name}".replace(" ", "-"))
            place.git("tag", "-f", "t-ref")
            place.git("pack-refs", "--all")
            go = place.workspace / "go"
            call = gate.send("run_command", command=f"{line}; touch ready; while [ ! -e go ]; do sleep 0.01; done", env=WHO)
            lib.wait_until((place.workspace / "ready").exists, "the command")
            mine()
            before = place.tree()
            place.put("go", "")
            error = lib.expect_error(gate.wait(call), "CONFLICT")
            check(".git/" in error["message"], short(error))
            now = {n: c for n, c in place.tree().items() if not n.startswith("objects/")}
            check(now == {n: c for n, c in before.items() if not n.startswith("objects/")}, f"{name}: something was taken over")
            for path in (go, place.workspace / "ready"):
                path.unlink()
            place.check_sound(name)


def replaced(form):
    """a git directory that took the place of the one the command began with gets nothing of what the command wrote"""
    place = Repository(form, "replaced")
    git, old = place.workspace / ".git", place.workspace.parent / "replaced-old"
    ways = {
        "copied": lambda: (subprocess.run(["cp", "-a", git, old], check=True), subprocess.run(["rm", "-rf", git], check=True), old.rename(git)),
        "exchanged": lambda: (subprocess.run(["cp", "-a", git, f"{git}.new"], check=True), git.rename(old), (place.workspace / ".git.new").rename(git)),
        "begun anew": lambda: (git.rename(old), place.git("init", "-q", "-b", "main")),
        "removed": lambda: git.rename(old),
        "a file": lambda: (git.rename(old), place.put(".git", f"gitdir: {old}\n")),
        "a link": lambda: (git.rename(old), form.link(git, old)),
    }
    saved = place.workspace.parent / "replaced-saved"
    subprocess.run(["cp", "-a", git, saved], check=True)
    for name, replace in ways.items():
        with place.gate() as gate:
            call = gate.send("run_command", command="git tag new; touch ready; while [ ! -e go ]; do sleep 0.01; done", env=WHO)
            lib.wait_until((place.workspace / "ready").exists, "the command")
            replace()
            before = place.tree() if git.is_dir() else {}
            place.put("go", "")
            error = lib.expect_error(gate.wait(call), "CONFLICT")
        check("`.git`" in error["message"] and error["details"]["reason"] == "git_replaced", f"{name}: {short(error)}")
        # A link that appears meanwhile may be the command's, and does not stay.
        check((place.tree() if git.is_dir() else {}) == ({} if name == "a link" else before), f"{name}: something was taken over")
        if old.exists():
            check(not (old / "refs/tags/new").exists(), f"{name}: the old one was written to")
        subprocess.run(["rm", "-rf", git, old, place.workspace / "go", place.workspace / "ready"], check=True)
        subprocess.run(["cp", "-a", saved, git], check=True)
    records = [json.loads(line) for p in (place.home / "sandgate/audit").glob("*.jsonl") for line in p.read_text().splitlines()]
    check(sum("git:replaced" in r.get("violations", []) for r in records) == len(ways), short(records[-2:]))
    left = list((place.home / "sandgate/workspaces").glob("*/git/*"))
    check(not left, f"left behind: {left}")


def locked(form):
    """while the user's git holds a lock the import is refused as something to try again"""
    place = Repository(form, "locked")
    with place.gate() as gate:
        for lock in ("index.lock", "HEAD.lock", "refs/heads/new.lock"):
            place.git("branch", "-D", "new", codes=(0, 1))
            line = f"git checkout -q -b new; echo {lock} > f; git add f; touch ready; while [ ! -e go ]; do sleep 0.01; done"
            place.git("checkout", "-q", "-f", "main")
            call = gate.send("run_command", command=line)
            lib.wait_until((place.workspace / "ready").exists, "the command")
            place.put(f".git/{lock}", "")
            place.put("go", "")
            error = lib.expect_error(gate.wait(call), "SESSION_BUSY")
            check(lock in error["message"], short(error))
            check(place.git("symbolic-ref", "HEAD") == "refs/heads/main\n", f"{lock}: taken over")
            for name in (f".git/{lock}", "go", "ready"):
                (place.workspace / name).unlink()
            place.check_sound(lock)


def in_turns(form):
    """commands of one session take turns, all of them count; a second gate is told to try again"""
    place = Repository(form, "turns")
    with place.gate() as gate:
        calls = [gate.send("run_command", command=f"echo {i} > f{i}; git add f{i}; git commit -qm c{i}", env=WHO) for i in range(8)]
        waiting = gate.send("run_command", command="touch ready; while [ ! -e go ]; do sleep 0.01; done")
        queued = gate.send("run_command", command="touch queued", timeout_ms=300)
        for call in calls:
            ran.ended(gate.wait(call, 60))
        lib.wait_until((place.workspace / "ready").exists, "the command")
        with place.gate() as other:
            other.refused("SESSION_BUSY", "run_command", command="true")
        lib.expect_error(gate.wait(queued), "TIMEOUT")
        place.put("go", "")
        ran.ended(gate.wait(waiting))
        bash(gate, "git tag after")
    check(place.git("rev-list", "--count", "HEAD") == "11\n", place.git("log", "--oneline"))
    check(not (place.workspace / "queued").exists(), "it ran")
    place.check_sound()


def come_and_go(form):
    """git directories that are made and removed between commands"""
    place = Repository(form, "come")
    with place.gate() as gate:
        for number in range(4):
            place.git("init", "-q", f"r{number}")
            bash(gate, f"git tag a{number}")
            subprocess.run(["rm", "-rf", place.workspace / f"r{number}"], check=True)
            bash(gate, f"git tag b{number}")
    check(len(place.git("tag").split()) == 8, place.git("tag"))
    place.check_sound()


def stopped(form):
    """of a command that ran out of time what it did is taken over; of one that is cancelled or cut off it is not"""
    place = Repository(form, "stopped")
    wait = "touch ready; sleep 600"
    with place.gate() as gate:
        bash(gate, f"git tag timed; {wait}", by="timeout", code="SIGTERM", timeout_ms=700)
        (place.workspace / "ready").unlink()
        call = gate.send("run_command", command=f"git tag cancelled; {wait}")
        lib.wait_until((place.workspace / "ready").exists, "the command")
        gate.send_raw(json.dumps({"cancel": call}).encode() + b"\n")
        lib.expect_error(gate.wait(call), "CANCELLED")
        (place.workspace / "ready").unlink()
        call = gate.send("run_command", command=f"git tag interrupted; {wait}")
        queued = gate.send("run_command", command="git tag queued")
        lib.wait_until((place.workspace / "ready").exists, "the command")
        os.kill(gate.worker(), signal.SIGKILL)
        lib.expect_error(gate.wait(call), "INTERRUPTED")
        ran.ended(gate.wait(queued))
        bash(gate, "git tag after")
        left = list((place.home / "sandgate/workspaces").glob("*/git/*"))
        check(not left, f"left behind: {left}")
    check(place.git("tag").split() == ["after", "queued", "timed"], place.git("tag"))
    place.check_sound()


def too_much(form):
    """of a command that is ended for writing too much nothing is taken over, and that is told"""
    place = Repository(form, "much", {**GRANTED, "commands": {"diskWrites": "8M"}})
    with place.gate() as gate:
        value = gate.call("run_command", command="git tag lost; cat /dev/zero > big; sleep 600")["result"]
        check(value["ended_by"] == "disk_limit", short(value))
        check({"call": "git:dropped", "count": 1} in value["violations"], short(value))
        value = gate.call("run_command", command="cat /dev/zero > big; sleep 600")["result"]
        check(value["violations"] == [], f"nothing was written to the git directory: {short(value)}")
    check(place.git("tag") == "", "it was taken over")
    place.check_sound()


# --- kills


def killed(form):
    """a gate that is killed at any moment leaves the repository whole, and the next one cleans up"""
    place = Repository(form, "killed")
    line = "git gc -q; for i in 1 2 3; do echo $i >> a; git commit -qam k$i; git branch -f b$i; done"
    count = 120 if lib.SOAK else 14
    for number in range(count):
        process = subprocess.Popen(
            place.popen_arguments("--git", "--", "bash", "-c", line), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd="/", env=lib.environment(place.home), **form.identity(),
        )
        timer = threading.Timer(0.02 + 0.015 * (number % 28), process.send_signal, (signal.SIGKILL,))
        timer.start()
        process.wait()
        timer.cancel()
        lib.wait_until(lambda: not lib.running(form.binary), "its cell is gone")
        place.git("fsck", "--strict", "--no-dangling")
        place.git("log", "--all")
        place.git("status")
    done = place.run("--git", "--", "git", "status")
    check(done.returncode == 0, f"{done}")
    place.check_sound()
    store = place.home / "sandgate/workspaces"
    left = [str(p) for p in store.glob("*/git/*")]
    check(not left, f"left behind: {left} {subprocess.run(['find', str(store), '-ls'], capture_output=True, check=False).stdout.decode()[:1500]}")


ran.main(workflows, continued, remotes, shallow, brought, submodules, worktrees, reading, approved, rules, by_hand, conflict, replaced, locked, in_turns, come_and_go, stopped, too_much, killed)
