#!/usr/bin/env python3
"""File tools move no repository to where its settings lead to something else, nor anything to where the settings of one lead."""

import shlex

import lib
import ran
from git_links import Workplace
from lib import check

# Settings of a repository at m/p, and the file of an agent's that they lead to in n/p.
OUTWARD = (
    ("core.hooksPath", "git config core.hooksPath ../shared/hooks; mkdir -p ../shared/hooks", "{hook} >shared/hooks/pre-commit"),
    ("core.hooksPath that is missing", "git config core.hooksPath ../shared/hooks", "{hook} >shared/hooks/pre-commit"),
    ("core.hooksPath by a link", "ln -s ../shared l; git config core.hooksPath l/hooks", "{hook} >shared/hooks/pre-commit"),
    ("core.hooksPath around the work tree", "git config core.hooksPath ..", "{hook} >pre-commit"),
    ("core.hooksPath through the git directory", "git config core.hooksPath .git/../../shared/hooks", "{hook} >shared/hooks/pre-commit"),
    ("include.path", "git config include.path ../../x.cfg; touch ../x.cfg", "{evil} >x.cfg"),
    ("include.path that is missing", "git config include.path ../../x.cfg", "{evil} >x.cfg"),
    ("an include in an include", "git config include.path ../y.cfg; git config -f y.cfg include.path ../x.cfg", "{evil} >x.cfg"),
    ("includeIf", "git config includeIf.gitdir:/.path ../../x.cfg", "{evil} >x.cfg"),
    ("core.fsmonitor", "mkdir ../tools; touch ../tools/w; git config core.fsmonitor ../tools/w", "{hook} >tools/w"),
    ("a linked configuration", "mv .git/config ../x.cfg; ln -s ../../x.cfg .git/config", "{evil} >x.cfg"),
    ("linked hooks", "rm -rf .git/hooks; ln -s ../../shared/hooks .git/hooks", "{hook} >shared/hooks/pre-commit"),
    ("one linked hook", "ln -s ../../../shared/hooks/w .git/hooks/pre-commit", "{hook} >shared/hooks/w"),
    ("a common directory", "mkdir ../cc; mv .git/objects .git/refs .git/config ../cc/; echo ../../cc >.git/commondir", "{evil} >cc/config"),
    ("a git file", "mv .git ../gd; echo 'gitdir: ../gd' >.git", "cp -r ../m/gd gd 2>/dev/null; {evil} >gd/config"),
    ("alternates", "echo ../../../alt >.git/objects/info/alternates", "mkdir alt"),
    ("a folder in the repository", "git init -q sub; git -C sub config core.hooksPath ../../shared/hooks", "{hook} >shared/hooks/pre-commit"),
    ("a bare repository", "git init -q --bare x; git -C x config core.hooksPath ../../shared/hooks", "{hook} >shared/hooks/pre-commit"),
)
# Settings of a repository at m/p that lead nowhere else after a move to n/p.
ALONG = (
    ("nothing", "true"),
    ("hooks in the work tree", "git config core.hooksPath .husky; mkdir .husky"),
    ("hooks in the work tree, by a link", "mkdir h; ln -s h l; git config core.hooksPath l"),
    ("hooks elsewhere, absolute", 'mkdir ../../hooks; git config core.hooksPath "$(realpath ../../hooks)"'),
    ("hooks of the machine", "git config core.hooksPath /usr/share/hooks"),
    ("an include in the git directory", "git config include.path x.cfg"),
    ("a linked work tree", "git commit -qm x --allow-empty; git worktree add -q w; rm -rf w/.git; echo 'gitdir: ../.git/worktrees/w' >w/.git"),
)


def workplace(form, name, prepare):
    return Workplace(form, name, f"mkdir -p m n; git init -q m/p; cd m/p; {prepare}")


def put_agents(place, line):
    folder = place.workspace / "n"
    line = line.format(evil=place.evil, hook=place.hook)
    place.shell(f"cd {shlex.quote(str(folder))}; mkdir -p shared/hooks tools cc; {line}; chmod -R u+x shared tools pre-commit")


def refused(gate, source, to, what, **more):
    answer = gate.call("move", **{"from": source, "to": to}, **more)
    there = not answer["ok"] and answer["error"]["details"].get("reason") == "protected"
    check(there, f"{what}: {source} -> {to}: {lib.short(answer)}")
    return answer["error"]["message"]


def repositories(form):
    """no repository is moved, by itself or in a folder, to where its settings lead to something else"""
    for number, (what, prepare, line) in enumerate(OUTWARD):
        place = workplace(form, f"out{number}", prepare)
        put_agents(place, line)
        for scanned in (False, True):
            with place.gate() as gate:
                if scanned:
                    gate.ok("run_command", command="true")
                said = refused(gate, "m/p", "n/p", what)
                check(scanned or "lead to" in said, said)
                refused(gate, "m/p", "o/d/p", what)
                # Back at its old path with the agent's files beside it.
                moved = gate.call("move", **{"from": "m", "to": "o"})
                gate.ok("move", **{"from": "n", "to": "s"})
                if moved["ok"]:
                    gate.ok("move", **{"from": "o", "to": "m"})
                gate.ok("move", **{"from": "s", "to": "n"})
        place.check_held(what, "m/p")


# Settings of a repository at m/p, and moves after which they would lead to what an agent made in m/evil or to m/l2.
TARGETS = (
    ("a folder", "git config core.hooksPath ../shared/hooks; mkdir -p ../shared/hooks", (("m/shared/hooks", "m/x"), ("m/evil/hooks", "m/shared/hooks"))),
    ("a folder above", "git config core.hooksPath ../shared/hooks; mkdir -p ../shared/hooks", (("m/shared", "m/x"), ("m/evil", "m/shared"))),
    ("what is missing", "git config core.hooksPath ../shared/hooks", (("m/evil", "m/shared"),)),
    ("a file", "touch ../x.cfg; git config include.path ../../x.cfg", (("m/evil/x.cfg", "m/x.cfg"),)),
    ("a link on the way", "mkdir -p ../d/hooks; ln -s d ../l; git config core.hooksPath ../l/hooks", (("m/l", "m/x"), ("m/evil", "m/l"))),
    ("a link on the way, replaced", "mkdir -p ../d/hooks; ln -s d ../l; git config core.hooksPath ../l/hooks", (("m/l2", "m/l"),)),
    ("a link on the way in the work tree", "mkdir -p d/hooks; ln -s d l; git config core.hooksPath l/hooks", (("m/l2", "m/p/l"),)),
    ("a link to a link", "mkdir -p ../d/hooks; ln -s d ../k; ln -s k ../l; git config core.hooksPath ../l/hooks", (("m/l2", "m/k"),)),
    ("a linked hook's way", "mkdir -p ../d; ln -s d ../l; ln -s ../../../l/hooks .git/hooks/pre-commit; touch ../d/hooks", (("m/l2", "m/l"),)),
    ("a folder above the repository", "git config core.hooksPath ../shared/hooks; mkdir -p ../shared/hooks", (("m", "x"), ("n", "m"))),
)


def targets(form):
    """what a scan found such settings to lead to stays, by all names on the way"""
    for number, (what, prepare, ways) in enumerate(TARGETS):
        place = workplace(form, f"target{number}", prepare)
        place.shell("mkdir -p m/evil/hooks; ln -s evil m/l2; ln -s ../m/evil m/p/l2; cp -r m n; rm -rf n/shared; mv n/evil n/shared")
        hook = place.hook + ">m/evil/hooks/pre-commit; chmod u+x m/evil/hooks/pre-commit"
        place.shell(f"{hook}; {place.evil} >m/evil/x.cfg")
        with place.gate() as gate:
            gate.ok("run_command", command="true")
            answers = [gate.call("move", **{"from": source, "to": to}, overwrite=True) for source, to in ways]
            refusals = [a for a in answers if not a["ok"] and a["error"]["details"].get("reason") == "protected"]
            check(refusals, f"{what}: {[lib.short(a) for a in answers]}")
        place.check_held(what, "m/p")


def along(form):
    """one whose settings lead to the same or are moved along is moved, and renamed in its folder"""
    for number, (what, prepare) in enumerate(ALONG):
        place = workplace(form, f"along{number}", prepare)
        with place.gate() as gate:
            for source, to in (("m/p", "n/p"), ("n/p", "n/q"), ("n", "o/n")):
                answer = gate.call("move", **{"from": source, "to": to})
                check(answer["ok"], f"{what}: {source} -> {to}: {lib.short(answer)}")
    for number, setting in enumerate(("core.hooksPath ../shared", "include.path ../../x.cfg")):
        place = workplace(form, f"beside{number}", f"git config {setting}; mkdir ../shared; touch ../x.cfg")
        with place.gate() as gate:
            gate.ok("move", **{"from": "m/p", "to": "m/q"})
            gate.ok("move", **{"from": "m", "to": "o"})


def names(form):
    """nor is it moved away from, or to, a path that its settings name"""
    for number, (setting, to) in enumerate((("$PWD/hk", "m/q"), ("../p/hk", "m/q"), ("../q/hk", "m/q"), ("../../../$(basename $(realpath ../..))/m/p/hk", "m/q"))):
        place = workplace(form, f"name{number}", f'mkdir hk; git config core.hooksPath "{setting}"')
        with place.gate() as gate:
            refused(gate, "m/p", to, setting)


def asked(form):
    """nobody is asked about such a move"""
    place = workplace(form, "asked", "git config core.hooksPath ../shared/hooks")
    place.options = ["--config", form.write(form.base / "ask.json", '{"approval": {"rules": [{"toolName": "move", "action": "prompt"}]}}')]
    place.options[1].chmod(0o600)
    with place.gate() as gate:
        refused(gate, "m/p", "n/p", "asked")


if __name__ == "__main__":
    ran.main(repositories, targets, along, names, asked)
