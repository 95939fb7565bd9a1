#!/usr/bin/env python3
"""What a git directory of the user's leads to by links and texts in it is part of it: commands cannot change that, and
what they put in its place is taken out before the user's git reads it.
"""

import json
import shlex
import subprocess

import lib
import ran
import repository
from lib import check

APPROVE = {"approval": {"default": "approve"}}


class Workplace(repository.Repository):
    """A repository that is prepared by a line of shell, and a file that shows that git ran a program."""

    def __init__(self, form, name, prepare):
        super().__init__(form, name, APPROVE)
        self.canary = self.form.base / f"{name}-canary"
        self.shell(prepare)
        setting = f'[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch {self.canary}; false"\n'
        self.evil = f"printf %s {shlex.quote(setting)}"
        self.hook = f"printf '#!/bin/sh\\ntouch {self.canary}\\n'"

    def shell(self, text):
        """On the host, as the user."""
        subprocess.run(
            ["bash", "-c", text],
            cwd=self.workspace,
            env={**lib.environment(self.home), **repository.WHO},
            capture_output=True,
            check=False,
            **self.form.identity(),
        )

    def host_git(self, folder="."):
        self.shell(f"cd {folder} && git status; git diff; git commit -qm x --allow-empty")

    def check_held(self, what, folder="."):
        self.host_git(folder)
        check(not self.canary.exists(), f"{what}: the user's git ran a program of the command's")


def told(answer):
    return [violation["call"] for violation in answer["result"].get("violations", [])]


# What the user has, what a command writes as {evil} or {hook}, and where the user then runs git. What is refused is
# read-only; what could only be seen afterwards is in quarantine.
REFUSED = (
    ("config", "mkdir dot; mv .git/config dot/c; ln -s ../dot/c .git/config", "{evil} >dot/c", "."),
    ("config by an absolute link", 'mkdir dot; mv .git/config dot/c; ln -s "$PWD/dot/c" .git/config', "{evil} >dot/c", "."),
    ("config.worktree", "git config extensions.worktreeConfig true; mkdir dot; touch dot/c; ln -s ../dot/c .git/config.worktree", "{evil} >dot/c", "."),
    ("one hook", "mkdir s; echo '#!/bin/sh' >s/h; chmod +x s/h; ln -s ../../s/h .git/hooks/pre-commit", "{hook} >s/h", "."),
    ("all hooks", "rm -rf .git/hooks; mkdir s; ln -s ../s .git/hooks", "{hook} >s/pre-commit; chmod +x s/pre-commit", "."),
    (
        "a hook in linked hooks",
        "rm -rf .git/hooks; mkdir s t; echo '#!/bin/sh' >t/h; chmod +x t/h; ln -s ../t/h s/pre-commit; ln -s ../s .git/hooks",
        "{hook} >t/h",
        ".",
    ),
    ("a common directory without HEAD", "mkdir cc; cp -r .git/objects .git/refs .git/config cc/; echo ../cc >.git/commondir", "{evil} >cc/config", "."),
    (
        "a git directory of links",
        "mkdir -p po/x.git pr proj; git init -q --bare q; mv q/* po/x.git/; mkdir pr/x.git; cd pr/x.git; "
        "for f in config hooks info objects refs; do ln -s ../../po/x.git/$f $f; done; mv ../../po/x.git/HEAD .; "
        "cd ../../proj; ln -s ../pr/x.git .git; git config core.bare false",
        "{evil} >po/x.git/config",
        "proj",
    ),
)
TAKEN = (
    ("config, its folder replaced", "mkdir dot; mv .git/config dot/c; ln -s ../dot/c .git/config", "mv dot d2; mkdir dot; {evil} >dot/c", ".", "dot/c"),
    ("config that was not there", "rm .git/config; ln -s ../dot/c .git/config", "mkdir dot; {evil} >dot/c", ".", "dot/c"),
    ("a hook that was not there", "ln -s ../../s/h .git/hooks/pre-commit", "mkdir s; {hook} >s/h; chmod +x s/h", ".", "s/h"),
    ("hooks that were not there", "rm -rf .git/hooks; ln -s ../s .git/hooks", "mkdir s; {hook} >s/pre-commit; chmod +x s/pre-commit", ".", "s"),
    (
        "a link on the way",
        "mkdir d; mv .git/config d/c; ln -s d l; ln -s ../l/c .git/config",
        "rm l; mkdir l; {evil} >l/c",
        ".",
        "l/c",
    ),
    (
        "a common directory that was replaced",
        "mkdir -p s/cc; cp -r .git/objects .git/refs .git/config s/cc/; echo ../s/cc >.git/commondir",
        "mv s s2; cp -r s2 s; {evil} >s/cc/config",
        ".",
        "s/cc",
    ),
    (
        "a common directory that was not there",
        "echo ../s/cc >.git/commondir",
        "mkdir -p s/cc/objects s/cc/refs; {evil} >s/cc/config",
        ".",
        "s/cc",
    ),
)


def refused(form):
    """what links and commondir of a git directory lead to is read-only"""
    for number, (what, prepare, command, folder) in enumerate(REFUSED):
        place = Workplace(form, f"r{number}", prepare)
        place.host_git(folder)
        with place.gate() as gate:
            answer = gate.call("run_command", command=command.format(evil=place.evil, hook=place.hook))
        check("Read-only file system" in answer["result"]["stderr"], f"{what}: {lib.short(answer)}")
        place.check_held(what, folder)


def taken(form):
    """what a command puts where a link of a git directory leads goes to quarantine"""
    for number, (what, prepare, command, folder, path) in enumerate(TAKEN):
        place = Workplace(form, f"t{number}", prepare)
        with place.gate() as gate:
            answer = gate.call("run_command", command=command.format(evil=place.evil, hook=place.hook))
        check(f"quarantined:{path}" in told(answer), f"{what}: {lib.short(answer)}")
        check(not (place.workspace / path).exists(), f"{what}: {path} is there")
        place.check_held(what, folder)


def later(form):
    """a later gate knows the target of a link whose folder was moved"""
    place = Workplace(form, "later", "mkdir dot; mv .git/config dot/c; ln -s ../dot/c .git/config")
    with place.gate() as gate:
        gate.call("run_command", command="mv dot d2")
    with place.gate() as gate:
        answer = gate.call("run_command", command=f"{place.evil} >d2/c")
        check("Read-only file system" in answer["result"]["stderr"], lib.short(answer))
        answer = gate.call("run_command", command=f"mkdir dot; {place.evil} >dot/c")
        check("quarantined:dot/c" in told(answer), lib.short(answer))
    place.check_held("a later gate")


def open_files(form):
    """files beside what a link leads to stay writable, and so do links elsewhere"""
    place = Workplace(form, "open", "mkdir dot hooks; mv .git/config dot/c; ln -s ../dot/c .git/config; touch dot/d x; ln -s ../x hooks/y; mkdir hooks/refs")
    with place.gate() as gate:
        answer = gate.call("run_command", command="echo a >dot/d && echo b >hooks/y && cat dot/d x && git status --porcelain | wc -l")
        check(answer["result"]["exit_code"] == 0 and answer["result"]["stdout"].startswith("a\nb\n"), lib.short(answer))
        check(not told(answer), lib.short(answer))


def through_links(form):
    """with the grant, a file of the git directory that is a link is not written through, and the answer says so"""
    place = Workplace(form, "through", "git pack-refs --all; mkdir st; mv .git/packed-refs st/p; ln -s ../st/p .git/packed-refs")
    place.options[1].write_text(json.dumps(repository.GRANTED))
    before = place.git("rev-parse", "HEAD")
    with place.gate() as gate:
        answer = gate.call("run_command", command="echo printed; echo x >> a; git commit -qam more", git=True)
    lib.expect_error(answer, "PERMISSION_DENIED")
    check("`.git/packed-refs` is a link" in answer["error"]["message"], lib.short(answer))
    details = answer["error"]["details"]
    check(details["stdout"] == "printed\n" and details["exit_code"] == 0, "what the command printed is not told")
    check(place.git("rev-parse", "HEAD") == before, "HEAD moved")


if __name__ == "__main__":
    ran.main(through_links, refused, taken, later, open_files)
