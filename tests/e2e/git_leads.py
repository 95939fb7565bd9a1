#!/usr/bin/env python3
"""What a git directory of the user's leads to by links, texts and its configuration: file tools neither change it nor make it
where it is missing, and commands do not change what its configuration names.
"""

import shlex

import lib
import ran
from git_links import Workplace, told
from lib import check

# Lines that a shell takes for a program of the work tree, and its file.
FORMS = (
    ('"$(git rev-parse --show-toplevel)"/tools/w', "tools/w"),
    ("$PWD/tools/w", "tools/w"),
    ('"tools/"w', "tools/w"),
    ("tools\\/w", "tools/w"),
    ("cd tools && ./w", "tools/w"),
    ("cd tools && sh w", "tools/w"),
    ("sh -c 'cd tools; ./w'", "tools/w"),
    ("tools/?", "tools/w"),
    ("sh t*/[vw]", "tools/w"),
    ("python3 -m tools.w", "tools/w.py"),
    ("make -Ctools -fw", "tools/w"),
    ("make -fw --directory=tools", "tools/w"),
)
# What the user has, and a path that tools must not write, whether it is there or not.
TARGETS = (
    ("config", "mkdir dot; mv .git/config dot/c; ln -s ../dot/c .git/config", "dot/c"),
    ("config that is missing", "rm .git/config; ln -s ../dot/c .git/config", "dot/c"),
    ("config by an absolute link", 'rm .git/config; ln -s "$PWD/dot/c" .git/config', "dot/c"),
    ("config.worktree that is missing", "git config extensions.worktreeConfig true; ln -s ../dot/c .git/config.worktree", "dot/c"),
    ("hooks", "rm -rf .git/hooks; mkdir s; ln -s ../s .git/hooks", "s/pre-commit"),
    ("hooks that are missing", "rm -rf .git/hooks; ln -s ../s/t .git/hooks", "s/t/pre-commit"),
    ("one hook", "ln -s ../../s/h .git/hooks/pre-commit", "s/h"),
    ("a link on the way", "mkdir d; rm .git/config; ln -s d l; ln -s ../l/c .git/config", "d/c"),
    ("a way with dots through what is missing", "rm .git/config; ln -s ../x/../dot/c .git/config", "dot/c"),
    ("a common directory that is missing", "echo ../s/cc >.git/commondir", "s/cc/config"),
    ("alternates that are missing", 'echo "$PWD/alt" >.git/objects/info/alternates', "alt/pack/x"),
    ("a git file", "mkdir w; echo 'gitdir: ../gd' >w/.git", "gd/config"),
    ("a link to a git directory", "mkdir w; ln -s ../gd w/.git", "gd/config"),
    ("core.hooksPath", "git config core.hooksPath .hk; mkdir .hk", ".hk/pre-commit"),
    ("core.hooksPath that is missing", "git config core.hooksPath .hk", ".hk/pre-commit"),
    ("core.hooksPath, absolute", 'git config core.hooksPath "$PWD/gh"', "gh/pre-commit"),
    ("core.hooksPath at the top", "git config core.hooksPath .", "pre-commit"),
    ("core.hooksPath around the top", 'git config core.hooksPath "../$(basename "$PWD")"', "pre-commit"),
    ("core.hooksPath by a link to the top", "ln -s . l; git config core.hooksPath l", "pre-commit"),
    ("init.templateDir at the top", "git config init.templateDir .", "hooks/pre-commit"),
    ("a program as an address", "git config remote.o.url 'ext::tools/w %S'", "tools/w"),
    ("a program as a base of addresses", "git config url.'ext::./w '.insteadOf x:", "w"),
    ("include.path", "git config include.path ../team.conf; touch team.conf", "team.conf"),
    ("include.path that is missing", "git config include.path ../team.conf", "team.conf"),
    ("includeIf", "git config includeIf.gitdir:/.path ../team.conf", "team.conf"),
    ("an include in an include", "git config include.path ../a.conf; git config -f a.conf include.path inner/b.conf", "inner/b.conf"),
    ("core.fsmonitor", "mkdir tools; touch tools/watch; git config core.fsmonitor ./tools/watch", "tools/watch"),
    ("core.fsmonitor that is missing", "git config core.fsmonitor ./tools/watch", "tools/watch"),
    ("a program with arguments", "git config filter.x.clean 'python3 conv.py --in %f'", "conv.py"),
    ("a program in quotes", "git config diff.x.textconv '\"./my conv/x\" -a'; git config core.pager '\"./p/q\"'", "p/q"),
    ("an alias", "git config alias.up '!cd sub; ./bin/up.sh'", "bin/up.sh"),
    ("core.attributesFile", "git config core.attributesFile attrs", "attrs"),
    *((f"a program written {value}", f"mkdir tools; touch tools/w tools/w.py; git config core.fsmonitor {shlex.quote(value)}", path)
      for value, path in FORMS),
)


def tools(form):
    """file tools refuse to write, make, move or delete what a git directory leads to, and name the rule"""
    for number, (what, prepare, path) in enumerate(TARGETS):
        place = Workplace(form, f"l{number}", prepare)
        place.shell("echo evil >src; mkdir folder")
        there = (place.workspace / path).exists()
        with place.gate() as gate:
            # What folders beside the path lead to is found by a scan.
            if (place.workspace / "w").exists():
                gate.ok("run_command", command="true")
            calls = [("write_file", {"path": path, "content": "evil"}), ("move", {"from": "src", "to": path, "overwrite": True})]
            if not there:
                calls.append(("make_directory", {"path": path}))
            if there:
                calls.append(("delete", {"path": path}))
            for tool, args in calls:
                answer = gate.call(tool, **args)
                refused = not answer["ok"] and answer["error"]["code"] == "PERMISSION_DENIED"
                check(refused and ".git" in answer["error"]["message"], f"{what}: {tool} {args}: {lib.short(answer)}")
            gate.ok("write_file", path="ordinary/file", content="x")
        check((place.workspace / path).exists() == there, f"{what}: {path} was made or removed")


def folders(form):
    """no folder is moved to where such a path would begin to exist"""
    place = Workplace(form, "folders", "rm -rf .git/hooks; ln -s ../s/t .git/hooks; mkdir -p x/t; echo evil >x/t/pre-commit")
    with place.gate() as gate:
        answer = gate.call("move", **{"from": "x", "to": "s"})
        check(not answer["ok"] and answer["error"]["code"] == "PERMISSION_DENIED", lib.short(answer))
        gate.ok("move", **{"from": "x", "to": "y"})


SETTINGS = (
    ("core.hooksPath at the top", "git config core.hooksPath ./; echo >pre-commit; chmod +x pre-commit", "{hook} >pre-commit"),
    ("a program as an address", "mkdir tools; touch tools/w; git config remote.o.pushUrl 'ext::sh tools/w'", "{hook} >tools/w"),
    ("core.hooksPath", "git config core.hooksPath .hk; mkdir .hk", "{hook} >.hk/pre-commit; chmod +x .hk/pre-commit"),
    ("include.path", "git config include.path ../team.conf; touch team.conf", "{evil} >team.conf"),
    ("core.fsmonitor", "mkdir tools; echo '#!/bin/sh' >tools/w; chmod +x tools/w; git config core.fsmonitor ./tools/w", "{hook} >tools/w"),
    ("a program with arguments", "touch conv.sh; git config filter.x.clean 'sh conv.sh'; echo '* filter=x' >.gitattributes", "{hook} >conv.sh"),
    *((f"a program written {value}", f"mkdir tools; touch tools/w tools/w.py; chmod +x tools/w; git config core.fsmonitor {shlex.quote(value)}",
       "{hook} >" + path) for value, path in FORMS),
    (
        "an include in an include",
        "git config include.path ../a.conf; git config -f a.conf include.path b.conf; touch b.conf",
        "{evil} >b.conf",
    ),
    (
        "a linked work tree",
        "git worktree add -q wt side; git config core.hooksPath gh; mkdir wt/gh",
        "{hook} >wt/gh/pre-commit; chmod +x wt/gh/pre-commit",
    ),
)
MISSING = (
    ("core.hooksPath at the top", "git config core.hooksPath .", "{hook} >pre-commit; chmod +x pre-commit", "pre-commit"),
    ("core.hooksPath at the top, which is full", "git config core.hooksPath $PWD", "{hook} >post-index-change; chmod +x post-*", "post-index-change"),
    ("core.hooksPath", "git config core.hooksPath .hk", "mkdir .hk; {hook} >.hk/pre-commit; chmod +x .hk/*", ".hk"),
    (
        "core.hooksPath, and .git is a link",
        "mv .git gd; ln -s gd .git; git config core.hooksPath .hk",
        "mkdir .hk; {hook} >.hk/pre-commit; chmod +x .hk/*",
        ".hk",
    ),
    (
        "core.hooksPath around where .git leads",
        "mkdir s; mv .git s/gd; ln -s s/gd .git; git config core.hooksPath .git/../hk",
        "mkdir s/hk; {hook} >s/hk/pre-commit; chmod +x s/hk/*",
        "s/hk",
    ),
    ("core.fsmonitor, and .git is a link", "mv .git gd; ln -s gd .git; git config core.fsmonitor ./w", "{hook} >w; chmod +x w", "w"),
    ("include.path", "git config include.path ../team.conf", "{evil} >team.conf", "team.conf"),
    ("core.fsmonitor", "git config core.fsmonitor ./tools/w", "mkdir tools; {hook} >tools/w; chmod +x tools/w", "tools/w"),
)


def commands(form):
    """what the configuration names is read-only for commands"""
    for number, (what, prepare, command) in enumerate(SETTINGS):
        place = Workplace(form, f"s{number}", prepare)
        with place.gate() as gate:
            answer = gate.call("run_command", command=command.format(evil=place.evil, hook=place.hook))
        check("Read-only file system" in answer["result"]["stderr"], f"{what}: {lib.short(answer)}")
        place.check_held(what)
        if (place.workspace / "wt").exists():
            place.check_held(what, "wt")


def made(form):
    """what a command makes where the configuration leads goes to quarantine"""
    for number, (what, prepare, command, path) in enumerate(MISSING):
        place = Workplace(form, f"m{number}", prepare)
        with place.gate() as gate:
            answer = gate.call("run_command", command=command.format(evil=place.evil, hook=place.hook))
        check(f"quarantined:{path}" in told(answer), f"{what}: {lib.short(answer)}")
        place.check_held(what)


def unread(form):
    """a program that cannot be told from its setting is told of once; one in an ordinary line is not"""
    for number, (value, told_of) in enumerate((("$TOOL", True), ("cd $DIR && ./w", True), ("eval \"$X\"", True), ("less -R \"$@\"", False), ("$HOME/bin/w", False))):
        place = Workplace(form, f"u{number}", f"git config core.fsmonitor {shlex.quote(value)}")
        with place.gate() as gate:
            first, second = (told(gate.call("run_command", command="true")) for _ in range(2))
        check(("git:unread:core.fsmonitor" in first) == told_of and not second, f"{value}: {first} {second}")


def ordinary(form):
    """words of a configuration that are no paths guard nothing, and folders that they name stay writable"""
    prepare = "mkdir src; touch src/a; git config alias.st 'status src'; git config core.pager less; git config user.name src; " \
              "git config remote.origin.url ./src; git config core.hooksPath ~/none"
    place = Workplace(form, "ordinary", prepare)
    with place.gate() as gate:
        answer = gate.call("run_command", command="echo x >src/a && echo y >status && echo z >less")
        check(answer["result"]["exit_code"] == 0 and not told(answer), lib.short(answer))
        for path in ("src/a", "status", "less", "src/b"):
            gate.ok("write_file", path=path, content="x")


if __name__ == "__main__":
    ran.main(tools, folders, commands, made, unread, ordinary)
