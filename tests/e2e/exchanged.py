#!/usr/bin/env python3
"""File tools work in folders that change places all the time with ones in which the user has a bare repository, what their
configuration of git names, or files that only an exception of the rules would open. Nothing of that may be changed or read,
by whatever path it is reached for a moment.
"""
# timeout: 300

import os
import pathlib

import lib
import race
import ran
from git_links import Workplace
from lib import check

SECONDS = 60 if lib.SOAK else 4
EVIL = "[core]\n\tfsmonitor = evil\n"
PREPARE = """
mkdir -p up fake/r/hooks scripts/hooks other/hooks conf plain
git clone -q --bare . up/r
echo user >scripts/hooks/pre-commit
echo user >conf/team.conf
git config core.hooksPath scripts/hooks
git config include.path ../conf/team.conf
for file in fake/r/config fake/r/hooks/x other/hooks/pre-commit plain/team.conf; do echo agent >$file; done
"""
PAIRS = (("up", "fake"), ("scripts", "other"), ("conf", "plain"))
# What is in these folders is the user's: all, or what the pattern names.
HELD = {"up": "r/**/*", "scripts": "hooks/**/*", "conf": "team.conf"}
TARGETS = ("{0}/r/config", "{1}/hooks/pre-commit", "{2}/team.conf")
ERRORS = race.ERRORS | {"PERMISSION_DENIED", "NO_MATCH", "PRECONDITION_FAILED"}
REFUSED, THROUGH = ("PERMISSION_DENIED",), ("ok",)
# `open` and `node_modules` are exceptions: what lies there is the agent's, and what is moved there is not.
SECRET = "hunter2"
OPEN = {"approval": {"default": "approve"}, "files": {"secret": [".env", "keys", "!open"]}}
OPEN_PAIRS = (("mine", "open/x"), ("work", "node_modules/x"))
OPEN_FILES = (".env", "keys/a", ".vscode/settings.json")
OPEN_HELD = {"mine": "**/*", "work": "**/*"}
LOOP = """
import ctypes, os
rename = ctypes.CDLL(None).renameat2
while not os.path.exists("stop"):
    for _ in range(200):
        for a, b in %r:
            rename(-100, a.encode(), -100, b.encode(), 2)
"""


class Held:
    """Folders of the user's, by what they are: at the end each may have the other's name."""

    def __init__(self, workspace, patterns):
        self.patterns = patterns
        self.folders = {name: os.open(workspace / name, os.O_RDONLY | os.O_DIRECTORY) for name in patterns}
        self.before = self.look()

    def look(self):
        return {name: self.content(pathlib.Path(f"/proc/self/fd/{fd}/"), self.patterns[name]) for name, fd in self.folders.items()}

    @staticmethod
    def content(folder, pattern):
        return {str(p.relative_to(folder)): p.is_file() and p.read_bytes() for p in folder.glob(pattern)}

    def check(self):
        for name, now in self.look().items():
            was = self.before[name]
            changed = sorted(p for p in was.keys() | now.keys() if was.get(p) != now.get(p))
            check(not changed, f"{name} of the user's was changed: {changed[:5]}")

    def done(self):
        for fd in self.folders.values():
            os.close(fd)


def next_call(_side, number):
    """Half of them writes, by either of the two names."""
    names = [pair[number // 3 % 2] for pair in PAIRS]
    path = TARGETS[number % 3].format(*names)
    folder = os.path.dirname(path)
    write = "write_file", {"path": path, "content": EVIL}
    edit = {"old_text": "user", "new_text": "evil", "all": True}
    return [
        write,
        ("move", {"from": f"src-{number}", "to": path, "overwrite": True}),
        write,
        ("delete", {"path": path}),
        write,
        ("write_file", {"path": f"{folder}/new-{number}/f", "content": EVIL}),
        write,
        ("make_directory", {"path": f"{folder}/made-{number}"}),
        write,
        ("edit_file", {"path": path, "edits": [edit]}),
        ("write_file", {"path": f"src-{number + 6}", "content": EVIL}),
        ("move", {"from": path, "to": f"taken-{number}"}),
        write,
        ("write_file", {"path": path, "content": EVIL, "append": True}),
        ("delete", {"path": folder, "recursive": True}),
    ][number // 6 % 15]


class Side:
    name = "native"

    def __init__(self, gate):
        self.gate = gate


def judge(_side, args, result):
    if SECRET in str(result):
        return race.leak(args, result)
    code = "ok" if result["ok"] else result["error"]["code"]
    if code not in {"ok", *ERRORS}:
        lib.note(f"{args} was answered {lib.short(result)}"[:400])
    return code


def load(gate, held, call=next_call, *wanted):
    """`wanted`: of each of these groups of results there are enough."""

    def lacking(counts):
        by_code = {what: n for (_, what), n in counts.items()}
        return [group for group in wanted if sum(by_code.get(code, 0) for code in group) <= race.ENOUGH]

    counts = race.run_load([Side(gate)], SECONDS, call, judge, lambda counts: not lacking(counts))
    lib.note(str(counts))
    held.check()
    check({what for _, what in counts} <= {"ok", *ERRORS}, f"an answer that explains nothing: {counts}")
    check(not lacking(counts), f"too few of {lacking(counts)}: {counts}")


def prepare(form, name):
    place = Workplace(form, name, PREPARE)
    return place, Held(place.workspace, HELD)


def by_another(form):
    """another process exchanges the folders, and nothing of the user's is changed"""
    place, held = prepare(form, "another")
    with place.gate() as gate:
        gate.ok("run_command", command="true")
        with race.Exchanging([(place.workspace / a, place.workspace / b) for a, b in PAIRS]):
            load(gate, held, next_call, REFUSED, THROUGH)
    held.done()


def by_command(form):
    """a command of the same gate exchanges the folders, and nothing of the user's is changed"""
    place, held = prepare(form, "command")
    with place.gate() as gate:
        command = gate.send("run_command", argv=[ran.PYTHON, "-c", LOOP % (PAIRS,)], timeout_ms=600_000)
        load(gate, held, next_call, REFUSED)
        place.put("stop", "")
        gate.wait(command)
        gate.ok("run_command", command="true")
        held.check()
    held.done()


def remade(form):
    """a folder that is deleted while others take its name is not lost, and the answer says what happened"""
    place, held = prepare(form, "remade")

    def delete(_side, number):
        if number % 5 == 4:
            return "make_directory", {"path": ("up/d", "fake/d")[number // 5 % 2]}
        return "delete", {"path": ("up", "fake")[number % 2], "recursive": True}

    with place.gate() as gate:
        gate.ok("run_command", command="true")
        with race.Exchanging([(place.workspace / "up", place.workspace / "fake")]):
            # Once the user's folder has lost its name to another one it is out of the race, and what is left are conflicts.
            load(gate, held, delete, (*REFUSED, "CONFLICT"))
    found = [p.name for p in place.workspace.iterdir() if (p / "r/HEAD").exists()]
    check(len(found) == 1 and not found[0].startswith(".sgt-"), f"the folder is left as {found}")
    held.done()


def open_call(_side, number):
    """By the name that is open, whatever is there now."""
    path = ("open/x/.env", "open/x/keys/a", "node_modules/x/.vscode/settings.json")[number % 3]
    write = "write_file", {"path": path, "content": "agent, once more"}
    return [
        ("read_file", {"path": path}) if number % 3 < 2 else write,
        write,
        ("search", {"path": "open", "pattern": SECRET, "hidden": True}),
        ("delete", {"path": path}),
        write,
    ][number // 3 % 5]


def exceptions(form):
    """a folder that comes to where an exception holds for a moment is neither read nor changed there"""
    place = ran.Place(form, "open", OPEN)
    for mine, other in OPEN_PAIRS:
        for name in OPEN_FILES:
            place.put(f"{mine}/{name}", "user's" if "vscode" in name else SECRET)
            place.put(f"{other}/{name}", "agent")
    held = Held(place.workspace, OPEN_HELD)
    with place.gate() as gate:
        gate.ok("run_command", command="true")  # whose scan finds what is guarded
        with race.Exchanging([(place.workspace / a, place.workspace / b) for a, b in OPEN_PAIRS]):
            load(gate, held, open_call, THROUGH)
    held.done()


ran.main(by_another, by_command, remade, exceptions)
