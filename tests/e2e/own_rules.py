#!/usr/bin/env python3
"""What is protected though no list names it: the program of the gate, where that lies in the workspace, and what the user's
own git configuration names there.
"""

import os
import shutil

import lib
import ran
from git_links import Workplace, told
from lib import Gate, check
from ran import Place

PROGRAM = "build/bin [1]/sandgate"


def refused(answer):
    return not answer["ok"] and answer["error"]["code"] == "PERMISSION_DENIED" and "files.protected" in answer["error"]["message"]


def program(form):
    """neither a tool nor a command replaces the program of the gate"""
    place = Place(form, "program", {"approval": {"default": "approve"}})
    place.put(PROGRAM)
    place.put("build/other")
    binary = place.workspace / PROGRAM
    shutil.copyfile(lib.BINARY, binary)
    binary.chmod(0o755)
    content = binary.read_bytes()
    with Gate(form, *place.options, workspace=place.workspace, state=place.home, binary=binary) as gate:
        for tool, args in (
            ("write_file", {"path": PROGRAM, "content": "evil"}),
            ("move", {"from": "build/other", "to": PROGRAM, "overwrite": True}),
            ("move", {"from": PROGRAM, "to": "moved"}),
            ("move", {"from": "build", "to": "moved"}),
            ("delete", {"path": PROGRAM}),
            ("delete", {"path": "build", "recursive": True}),
        ):
            answer = gate.call(tool, **args)
            check(refused(answer), f"{tool} {args}: {lib.short(answer)}")
        for line in (
            f"echo evil >'{PROGRAM}'",
            f"rm -f '{PROGRAM}'",
            f"mv -T build/other '{PROGRAM}'",
            "mv build b2",
            "rm -rf build",
        ):
            value = gate.ok("run_command", command=line)
            check(value["exit_code"] != 0, f"{line}: {lib.short(value)}")
            check(binary.read_bytes() == content, f"{line}: the program is another one")
        gate.ok("write_file", path="build/new", content="x")


def user_settings(form):
    """what the user's own git configuration names in the workspace is not changed"""
    place = Workplace(form, "settings", "mkdir .hk; touch team.conf; mkdir sub; git init -q sub/repo; mkdir sub/repo/.hk hooks src src/tools")
    inner = form.write(place.home / "more", "[core]\n\tfsmonitor = ./tools/watch\n")
    form.write(place.home / ".gitconfig",
               f"[core]\n\thooksPath = .hk\n[include]\n\tpath = {place.workspace}/team.conf\n\tpath = {inner.name}\n"
               "[pager]\n\tlog = less\n[alias]\n\tst = status\n")
    with place.gate() as gate:
        for path in (".hk/pre-commit", "sub/repo/.hk/pre-commit", "team.conf", "tools/watch"):
            answer = gate.call("write_file", path=path, content="evil")
            check(refused(answer), f"{path}: {lib.short(answer)}")
        answer = gate.call("run_command", command=f"{place.hook} >.hk/pre-commit; chmod +x .hk/pre-commit; {place.evil} >team.conf")
        check("Read-only file system" in answer["result"]["stderr"], lib.short(answer))
        answer = gate.call("run_command", command=f"mkdir tools; {place.hook} >tools/watch; chmod +x tools/watch")
        check("quarantined:tools/watch" in told(answer), lib.short(answer))
        for path in ("hooks/a", "src/tools/b", "status", "less"):
            gate.ok("write_file", path=path, content="x")
    place.check_held("the user's own configuration")


def hooks_in_the_work_tree(form):
    """where hooks lie beside the sources, each of their names is protected, and nothing else"""
    for number, path in enumerate((".", "./", "{}")):
        place = Workplace(form, f"tree{number}", "touch f")
        form.write(place.home / ".gitconfig", f"[core]\n\thooksPath = {path.format(place.workspace)}\n")
        with place.gate() as gate:
            answer = gate.call("write_file", path="pre-commit", content="evil")
            check(refused(answer), f"{path}: {lib.short(answer)}")
            answer = gate.call("run_command", command=f"{place.hook} >post-index-change; chmod +x post-index-change; echo y >f")
            check("quarantined:post-index-change" in told(answer), f"{path}: {lib.short(answer)}")
            gate.ok("write_file", path="f", content="x")
        place.check_held(path)


def bare_words(form):
    """a file in the work tree that a command line of git's configuration names is not changed, however it is named"""
    lines = {
        "a bare word": "git config core.fsmonitor 'sh watch'",
        "a hidden file": "git config core.fsmonitor 'sh .watch'",
        "far behind": "git config core.fsmonitor \"$(printf '%05000d' 0) ./watch\"",
        "behind a long comment": "(seq 60000 | sed 's/^/#/'; echo '[core]'; echo 'fsmonitor = ./watch') >>.git/config",
        "of the user's": "printf '[core]\\n\\tfsmonitor = sh watch\\n' >{home}/.gitconfig",
    }
    for number, (what, line) in enumerate(lines.items()):
        place = Workplace(form, f"bare{number}", "echo x >watch; echo x >.watch; echo x >other")
        place.shell(line.format(home=place.home))
        name = ".watch" if "hidden" in what else "watch"
        with place.gate() as gate:
            answer = gate.call("write_file", path=name, content="evil")
            check(refused(answer), f"{what}: {lib.short(answer)}")
            answer = gate.call("run_command", command=f"echo evil >{name}")
            check("Read-only file system" in answer["result"]["stderr"], f"{what}: {lib.short(answer)}")
            gate.ok("write_file", path="other", content="y")
            check(gate.ok("run_command", command="echo z >other; cat other")["stdout"] == "z\n", what)


def cut(form):
    """a git configuration that is too large to be read whole stops commands; one of the user's is warned about"""
    place = Workplace(form, "cut", "seq 200000 | sed 's/^/#/' >>.git/config; echo x >f")
    with place.gate() as gate:
        answer = gate.call("run_command", command="true")
        check(not answer["ok"] and "more than 1 MiB" in answer["error"]["message"], lib.short(answer))
        check(not gate.call("write_file", path="f", content="y")["ok"], "a file is written")
    place = Workplace(form, "warned", "true")
    text = "".join(f"[core]\n\thooksPath = hooks{i}\n" for i in range(70))
    form.write(place.home / ".gitconfig", text + "#" * (1 << 20))
    with place.gate() as gate:
        gate.ok("run_command", command="true")
        warned = os.pread(gate.errors.fileno(), 1 << 16, 0).decode()
        check("names more than 64 paths" in warned and "larger than 1 MiB" in warned, warned)


if __name__ == "__main__":
    ran.main(program, user_settings, hooks_in_the_work_tree, bare_words, cut)
