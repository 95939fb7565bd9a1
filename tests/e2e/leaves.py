#!/usr/bin/env python3
"""A command that is approved for programs that start no others can start nothing else. Prints TAP."""

import json
import subprocess

import lib
from lib import Gate, check

UNSET = {"SANDGATE_APPROVAL_DEFAULT": None}
LEAVES = ["ls", "cat", "grep", "wc", "sort", "head", "which", "cd", "test", "echo", "printf", "date", "git status", "git log",
          "git diff", "git show", "git branch", "git blame", "git ls-files", "git rev-parse"]
EVIL = "#!/bin/sh\necho > /workspace/ran\n"

# Settings of a repository that name a program, and a command that reads the repository and starts it.
SETTINGS = {
    "a monitor": ("git status", {"core.fsmonitor": "/workspace/evil"}),
    "a monitor by a shell": ("git status", {"core.fsmonitor": "echo > /workspace/ran; #"}),
    "a filter of diffs": ("git diff", {"diff.x.textconv": "/workspace/evil"}),
    "a filter of shown files": ("git show", {"diff.x.textconv": "/workspace/evil"}),
    "another diff": ("git diff", {"diff.external": "/workspace/evil"}),
    "a filter of files": ("git diff", {"filter.x.clean": "/workspace/evil"}),
    "a check of signatures": ("git log --show-signature", {"gpg.program": "/workspace/evil"}),
    "a filter of files, by status": ("git status", {"filter.x.clean": "/workspace/evil", "filter.x.required": "true"}),
}


class Place:
    def __init__(self, form, name, rule):
        self.form = form
        self.workspace = form.folder(f"{name}/ws")
        self.home = form.folder(f"{name}/home", 0o700)
        rules = [{"toolName": "run_command", "action": "approve", **rule}]
        self.config = form.write(form.base / name / "config.json", json.dumps({"approval": {"default": "deny", "rules": rules}}))

    def gate(self):
        return Gate(self.form, "--config", self.config, workspace=self.workspace, state=self.home, env=UNSET)

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=self.workspace, check=True,
                       stdout=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin", "HOME": str(self.home)}, **self.form.identity())

    def repository(self):
        self.git("init", "-q")
        for name, text in (("f", "one\n"), (".gitattributes", "f diff=x filter=x\n")):
            self.form.write(self.workspace / name, text)
        self.git("add", "f", ".gitattributes")
        self.git("commit", "-qm", "first")
        self.form.write(self.workspace / "f", "two\n")
        self.form.write(self.workspace / "evil", EVIL).chmod(0o755)


def limited(form, name):
    return Place(form, name, {"condition": {"command": {"program": LEAVES}}})


def started_by(place, settings, command):
    """Whether what the settings name was started."""
    for key, value in settings.items():
        place.git("config", key, value)
    with place.gate() as gate:
        gate.ok("run_command", command=command)
    for key in settings:
        place.git("config", "--unset", key)
    ran = place.workspace / "ran"
    found = ran.exists()
    ran.unlink(missing_ok=True)
    return found


def settings_of_a_repository(form):
    """what a repository's settings name is not started by git's reading subcommands"""
    free = Place(form, "free", {})
    place = limited(form, "limited")
    free.repository()
    place.repository()
    works = [name for name, (command, settings) in SETTINGS.items() if started_by(free, settings, command)]
    check(len(works) >= 5, f"without limits only these start something: {works}")
    for name in works:
        command, settings = SETTINGS[name]
        check(not started_by(place, settings, command), f"{name}: it was started by {command}")


def ordinary(form):
    """ordinary commands work"""
    place = limited(form, "ordinary")
    place.repository()
    with place.gate() as gate:
        for command, expected in (("ls | grep -c f", "1\n"), ("cat f && echo x | wc -l", "two\n1\n"), ("git branch", "* master\n"),
                                  ("cd . && git ls-files | sort | head -1", ".gitattributes\n"), ("which ls", "/usr/bin/ls\n"),
                                  ("git log --oneline | wc -l", "1\n"), ("printf '%s' a | sort", "a\n"), ("test -e f && echo y", "y\n")):
            result = gate.ok("run_command", command=command)
            check(result["stdout"].replace("* main", "* master") == expected and result["exit_code"] == 0, f"{command}: {result}")
        for command in ("git status", "git diff", "git show", "git blame f", "git rev-parse HEAD", "date"):
            result = gate.ok("run_command", command=command)
            check(result["exit_code"] == 0 and result["stdout"], f"{command}: {result}")
        result = gate.ok("run_command", argv=["ls", "f"])
        check(result["stdout"] == "f\n", result)
        gate.refused("POLICY_DENIED", "run_command", command="ls; rm f")


def not_limited(form):
    """one that starts others is not limited"""
    place = Place(form, "others", {"condition": {"command": {"program": ["ls", "make", "env", "rm"]}}})
    form.write(place.workspace / "Makefile", "all:\n\t@touch made; ls made\n")
    with place.gate() as gate:
        result = gate.ok("run_command", command="ls && make")
        check(result["stdout"].endswith("made\n"), result)
        gate.ok("run_command", command="rm made")
        check(not (place.workspace / "made").exists(), "rm is no leaf here, and runs")


def home_of_others(form):
    """settings that a command left in the session's home do not count for one that a rule approves"""
    place = Place(form, "settings", {"condition": {"command": {"program": ["git", "ls", "printenv"]}}})
    rules = json.loads(place.config.read_text())
    rules["approval"]["default"] = "approve"
    place.config.write_text(json.dumps(rules))
    place.repository()
    form.write(place.workspace / "evil", EVIL).chmod(0o755)
    with place.gate() as gate:
        # No rule is about these two, so that they have the home that commands share.
        gate.ok("run_command", command="cat > ~/.gitconfig", stdin="[filter \"x\"]\n\tclean = /workspace/evil\n")
        check("evil" in gate.ok("run_command", command="cat ~/.gitconfig")["stdout"], "it is there for the next one")
        check(".gitconfig" not in gate.ok("run_command", command="ls -A ~")["stdout"], "but not for one that is approved")
        gate.ok("run_command", command="git hash-object f")
        check(not (place.workspace / "ran").exists(), "what the settings name was started")
        gate.ok("run_command", command="env -u X git hash-object f")
        check((place.workspace / "ran").exists(), "it is started where no rule approves the command")


CASES = [settings_of_a_repository, ordinary, not_limited, home_of_others]

if __name__ == "__main__":
    lib.run_cases([(case.__doc__, case) for case in CASES])
