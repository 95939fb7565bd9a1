#!/usr/bin/env python3
"""Refs with the names of secrets: git is read and written as ever, while what is really secret in a git directory stays
covered.
"""

import subprocess

import ran
from lib import check, short
from ran import bash
from repository import WHO, Repository

NAMES = ("id_rsa", "app.key", "keys/id_ed25519", "release.pfx/one", "server-key.pem", "deep/app.key/x")
READ = (
    "git status --porcelain --branch || true; git for-each-ref; git log --all --format='%H %d %s'; git branch -a; git tag; git stash list || true; "
    "git reflog --all --format='%H %gs'; git fsck --no-dangling; for n in {names}; do git log -1 --format=%H $n; git reflog show $n; "
    "git diff --stat $n HEAD; git show $n:a; git blame $n -- a; git grep one $n; done"
)


def host(place, line, cwd):
    return subprocess.run(["bash", "-ec", line], cwd=cwd, capture_output=True, text=True, check=True, **place.form.identity()).stdout


def reading(form):
    """without the grant each is read as on the host: branches, their logs, tags, in submodules, worktrees and bare ones"""
    place = Repository(form, "names", {"approval": {"default": "approve"}})
    for name in NAMES:
        place.git("branch", name)
        place.git("tag", f"t/{name}")
    place.git("checkout", "-q", "id_rsa")
    place.git("commit", "-q", "--allow-empty", "-m", "on it")
    place.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(place.workspace), "lib")
    place.git("-C", "lib", "branch", "id_rsa", codes=(0, 128))
    place.git("clone", "-q", "--bare", str(place.workspace), "bare")
    for name in NAMES:
        place.git("-C", "bare", "update-ref", "--create-reflog", f"refs/heads/{name}", "HEAD~1")
    place.git("worktree", "add", "-q", "-b", "wt.key", "tree")
    line = READ.format(names=" ".join(NAMES))
    with place.gate() as gate:
        for folder in (".", "bare"):
            inside = bash(gate, f"set -e; {line}", cwd=folder)
            check(inside["stdout"] == host(place, line, place.workspace / folder), f"{folder}: {short(inside)}")
        inside = bash(gate, "git -C lib log --all --format=%H; git -C lib reflog show --format=%H id_rsa")
        check(inside["stderr"] == "" and inside["stdout"] != "", short(inside))
        inside = bash(gate, "cat .git/refs/heads/wt.key .git/logs/refs/heads/wt.key")
        check(inside["stderr"] == "", short(inside))


def writing(form):
    """with the grant they are made, moved on and deleted"""
    place = Repository(form, "written")
    with place.gate() as gate:
        for name in NAMES:
            value = bash(gate, f"git checkout -q -b {name} && git commit -q --allow-empty -m x && git log -1 --format=%s {name}", env=WHO)
            check(value["stdout"] == "x\n" and value["violations"] == [], f"{name}: {short(value)}")
            value = bash(gate, f"git commit -q --allow-empty -m y && git reflog show {name}", env=WHO)
            check(value["stdout"].count("\n") == 3, f"{name}: {short(value)}")
        value = bash(gate, "git checkout -q main; git branch -D id_rsa app.key")
        check(value["violations"] == [], short(value))
    check("app.key" not in place.git("branch", "--format=%(refname:short)").split(), place.git("branch"))
    place.check_sound()


def secrets(form):
    """what is no ref is covered, wherever it lies in a git directory; so is what only looks like one outside"""
    place = Repository(form, "hidden", {"approval": {"default": "approve"}})
    commit = place.git("rev-parse", "HEAD")
    paths = [".git/.env", ".git/.git-credentials", ".git/refs/heads/prod.key", ".git/logs/prod.key", ".git/objects/prod.key",
             ".git/x/.netrc", "refs/prod.key", "logs/prod.key"]
    for path in paths:
        with form.acting():
            (place.workspace / path).parent.mkdir(parents=True, exist_ok=True)
        place.put(path, "SECRET=1\n")
    # By its content it could be one.
    place.put("refs/token.key", commit)
    with place.gate() as gate:
        for path in paths:
            value = gate.call("run_command", command=f"cat {path}; cp {path} /tmp/x; cat /tmp/x")["result"]
            check("SECRET" not in value["stdout"], f"{path}: {short(value)}")
        value = gate.call("run_command", command="cat refs/token.key")["result"]
        check(commit not in value["stdout"], short(value))
        # A folder of a command's making turns no secret into a ref.
        for line in ("mkdir objects; echo 'ref: refs/heads/main' > HEAD", "mkdir -p g/.git; mv refs g/.git/refs", "mv logs g/.git/logs"):
            gate.call("run_command", command=line)
            value = gate.call("run_command", command="find . -name '*.key' -exec cat {} +")["result"]
            check("SECRET" not in value["stdout"] and commit not in value["stdout"], f"{line}: {short(value)}")
        value = gate.call("run_command", command="mkdir objects; echo 'ref: refs/heads/main' > HEAD; touch refs/new; while ! cat refs/token.key && "
                          "[ $((n = n + 1)) -lt 40 ]; do sleep 0.01; done")["result"]
        check(commit not in value["stdout"], short(value))


ran.main(reading, writing, secrets)
