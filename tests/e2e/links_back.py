#!/usr/bin/env python3
"""Links of the user's that lead out of the workspace and come back to it, and links in folders that are guarded as a whole:
what they lead to is guarded as if they led there directly.
"""

import lib
import ran
from git_links import Workplace, told
from lib import check

# Ways from a link to a path in the workspace: {up} is `../` for each folder that the link lies in.
WAYS = {
    "by its parent": "{up}../{name}/{path}",
    "by another name": "{alias}/{path}",
    "by a link elsewhere": "{up}../elsewhere/{path}",
    "by a text that is not plain": "{top}/./{name}//{path}",
}

# What the user has, how deep the link lies, where it leads, what a command does, and whether it must not be read.
LINKS = (
    ("a hook", "mkdir t; printf '#!/bin/sh\\n' >t/h; chmod +x t/h; ln -s {to} .git/hooks/pre-commit", 2, "t/h", "{hook} >t/h", False),
    ("hooks", "rm -rf .git/hooks; mkdir t; ln -s {to} .git/hooks", 1, "t", "{hook} >t/pre-commit; chmod +x t/pre-commit", False),
    ("config", "mkdir t; mv .git/config t/c; ln -s {to} .git/config", 1, "t/c", "{evil} >t/c", False),
    ("commondir", "mkdir -p t/cc; cp -r .git/objects .git/refs .git/config t/cc/; echo {to} >.git/commondir", 1, "t/cc", "{evil} >t/cc/config", False),
    ("core.hooksPath", "mkdir t; git config core.hooksPath {to}", 0, "t", "{hook} >t/pre-commit; chmod +x t/pre-commit", False),
    ("a secret link", "mkdir t d; echo hidden >t/real; ln -s {to} d/.env", 1, "t/real", "cat t/real", True),
    ("a protected link", "mkdir t; echo x >t/rc; ln -s {to} .envrc", 0, "t/rc", "echo changed >t/rc", False),
)

# Links in folders that the rules guard with all that is in them.
INSIDE = (
    ("a protected folder", "mkdir .husky s; echo x >s/h; ln -s ../s/h .husky/pre-commit", "echo changed >s/h", False),
    ("a folder in it", "mkdir -p .claude cmds; echo x >cmds/a; ln -s ../cmds .claude/commands", "echo changed >cmds/a", False),
    ("a link behind a link", "mkdir -p cmds/z .claude; echo x >k; ln -s ../../k cmds/z/a; ln -s ../cmds .claude/commands", "echo changed >k", False),
    ("a secret folder", "mkdir -p t .config/gcloud; echo hidden >t/c; ln -s ../../t/c .config/gcloud/cred", "cat t/c", True),
    ("folders that lead to each other", "mkdir -p .husky p q; ln -s ../p .husky/p; ln -s ../q p/q; ln -s ../p q/p; echo x >q/f", "echo changed >q/f", False),
)


def check_kept(place, answer, what, secret):
    result = answer["result"]
    word = "Permission denied" if secret else "Read-only file system"
    check(word in result["stderr"] and "hidden" not in result["stdout"], f"{what}: {lib.short(answer)}")
    check(not told(answer), f"{what}: {lib.short(answer)}")
    place.check_held(what)


def back(form):
    """a link that leaves the workspace and comes back guards what it leads to"""
    for number, (what, prepare, depth, path, command, secret) in enumerate(LINKS):
        for kind, (way, text) in enumerate(WAYS.items()):
            place = Workplace(form, f"b{number}-{kind}", "true")
            top = place.workspace.parent
            alias = top / f"alias-{number}-{kind}"
            with form.acting():
                alias.symlink_to(place.workspace)
                elsewhere = top / "elsewhere"
                elsewhere.unlink(missing_ok=True)
                elsewhere.symlink_to(place.workspace.name)
            to = text.format(up="../" * depth, name=place.workspace.name, path=path, alias=alias, top=top)
            place.shell(prepare.format(to=to))
            with place.gate() as gate:
                answer = gate.call("run_command", command=command.format(evil=place.evil, hook=place.hook))
            check_kept(place, answer, f"{what} {way}", secret)


def inside(form):
    """links in folders that are guarded as a whole guard what they lead to"""
    for number, (what, prepare, command, secret) in enumerate(INSIDE):
        place = Workplace(form, f"i{number}", prepare)
        with place.gate() as gate:
            answer = gate.call("run_command", command=command)
        check_kept(place, answer, what, secret)


# What of the user's leads through the folder `t`, and the file in the place of `t` that it then leads to.
THROUGH = (
    ("core.hooksPath", "mkdir -p t/h; touch t/h/k; git config core.hooksPath t/h", "h/pre-commit"),
    ("core.fsmonitor", "mkdir t; touch t/w; chmod +x t/w; git config core.fsmonitor t/w", "w"),
    ("a protected link", "mkdir t; echo x >t/rc; ln -s t/rc .envrc", "rc"),
    ("a protected folder", "mkdir -p t/h; echo x >t/h/pre-commit; ln -s t/h .husky; git config core.hooksPath .husky", "h/pre-commit"),
)


def turned(form):
    """a command puts a link that leaves the workspace and comes back on the way of what is guarded: it does not stay"""
    for number, (what, prepare, path) in enumerate(THROUGH):
        for kind, to in enumerate(("../{name}/z", "/proc/self/cwd/z", "{top}/../{parent}/{name}/z")):
            place = Workplace(form, f"t{number}-{kind}", prepare)
            top = place.workspace.parent
            to = to.format(name=place.workspace.name, top=top, parent=top.name)
            make = f"mkdir -p z/h; {place.hook} >z/{path}; chmod +x z/{path}; mkdir q; ln -s {to} q/t"
            with place.gate() as gate:
                gate.ok("run_command", command=make)
                answer = gate.call("run_command", command="mv t t.old; mv q/t t")
            check("quarantined:t" in told(answer), f"{what} to {to}: {lib.short(answer)}")
            check(not (place.workspace / "t").is_symlink(), f"{what} to {to}: the link is still there")
            place.check_held(f"{what} to {to}")


def by_name(form):
    """file tools know what a setting names that leaves the workspace and comes back, before any command has run"""
    for number, (what, setting, path) in enumerate((
        ("core.hooksPath", "core.hooksPath ../{name}/hk", "hk/pre-commit"),
        ("core.fsmonitor", "core.fsmonitor ../{name}/w.sh", "w.sh"),
        ("include.path", "include.path ../../{name}/inc", "inc"),
    )):
        place = Workplace(form, f"n{number}", "mkdir hk; touch w.sh; chmod +x w.sh")
        place.shell("git config " + setting.format(name=place.workspace.name))
        with place.gate() as gate:
            lib.expect_error(gate.call("write_file", path=path, content="x"), "PERMISSION_DENIED")
            gate.ok("write_file", path="other", content="x")


def outside(form):
    """a link that leads elsewhere for good guards nothing here, and commands run"""
    place = Workplace(form, "outside", "ln -s ../../../nowhere/h .git/hooks/pre-commit; ln -s /etc/hostname .env; mkdir nowhere; ln -s . dot")
    with place.gate() as gate:
        for _ in range(2):
            answer = gate.call("run_command", command="echo a >nowhere/h && echo b >x && cat x")
            check(answer["result"]["stdout"] == "b\n" and not told(answer), lib.short(answer))


def too_many(form):
    """with too many links that lead out no command starts, until some of them are removed"""
    place = Workplace(form, "many", "mkdir d")
    with form.acting():
        for i in range(2100):
            (place.workspace / f"d/.env.{i}").symlink_to("../../../nowhere")
    with place.gate() as gate:
        for _ in range(2):
            answer = gate.call("run_command", command="echo ran")
            check(not answer["ok"] and answer["error"]["code"] == "TOO_LARGE", lib.short(answer))
            check("2100 links" in answer["error"]["message"] and "lead out of" in answer["error"]["message"], lib.short(answer))
        gate.ok("list_files", path=".")
        place.shell("find d -name '.env.1?*' -delete")
        check(gate.ok("run_command", command="echo ran")["stdout"] == "ran\n", "a command does not run")


def long_ways(form):
    """links that lead out by very long ways are not followed for long: no command starts until they are removed"""
    place = Workplace(form, "long", "mkdir t; echo hidden >t/real")
    with form.acting():
        for i in range(10):
            to = f"c{i + 1}" if i < 9 else f"../{place.workspace.name}/t/real"
            (place.workspace / f"c{i}").symlink_to("./" * 1900 + to)
        for i in range(4):
            (place.workspace / f".env.{i}").symlink_to("c0")
    with place.gate() as gate:
        for _ in range(2):
            answer = gate.call("run_command", command="cat t/real")
            check(not answer["ok"] and answer["error"]["code"] == "TOO_LARGE", lib.short(answer))
            check("4 links" in answer["error"]["message"] and "names on their way" in answer["error"]["message"], lib.short(answer))
        place.shell("rm .env.[123]")
        check_kept(place, gate.call("run_command", command="cat t/real"), "one long way", True)


if __name__ == "__main__":
    ran.main(back, inside, turned, by_name, outside, too_many, long_ways)
