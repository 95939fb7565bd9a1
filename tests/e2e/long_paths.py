#!/usr/bin/env python3
"""Paths near the kernel's limit where folders are allowed that lie above the workspace: joined to the workspace they can
be twice as long as a path may be. They are refused in words, and the gate goes on."""

import json
import os
import pathlib

import lib
from lib import Gate, check, short

LIMIT = 4096  # a path with its NUL
TOP = pathlib.Path("/home/u")


def names(length):
    """A relative path of exactly so many bytes."""
    return ("x" * 99 + "/") * (length // 100) + "y" * (length % 100) if length % 100 else names(length - 1)[:-1] + "/y"


class Place:
    def __init__(self, form):
        self.form = form
        self.uid = None
        self.number = 0

    def folder(self, path):
        """Made step by step: the whole path may be too long for one call."""
        made = os.open("/", os.O_RDONLY)
        for part in pathlib.Path(path).parts[1:]:
            try:
                os.mkdir(part, dir_fd=made)
                if lib.AM_ROOT:
                    os.chown(part, self.uid, self.uid, dir_fd=made)
            except FileExistsError:
                pass
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY, dir_fd=made)
            os.close(made)
            made = below
        return made

    def options(self, workspace, **more):
        self.number += 1
        home = self.form.folder(f"long-home-{self.number}", 0o700)
        config = {
            "tools": {
                "filesystem": {"allowedDirectories": [str(TOP)]},
                "bash": {"allowedDirectories": [str(TOP)], "allowedCommands": ["pwd"]},
            },
            **more,
        }
        path = self.form.write(self.form.base / f"long-{self.number}.json", json.dumps(config))
        path.chmod(0o600)
        return ["--dialect", "system", "--config", str(path), "--workspace", str(workspace)], home

    def gate(self, workspace, **more):
        options, home = self.options(workspace, **more)
        return Gate(self.form, *options, state=home)


RULES = {
    "no rules": {},
    "a path rule": {
        "approval": {
            "default": "approve",
            "rules": [
                {"toolName": "*", "action": "deny", "condition": {"path": "no/such"}},
                {"toolName": "*", "action": "deny", "condition": {"path": {"glob": "/no/such/**"}}},
                {"toolName": "*", "action": "deny", "condition": {"cwd": "no/such"}},
            ],
        }
    },
    "a grant for paths": {
        "policy": {"capabilities": {"filesystem": {"read": [str(TOP)], "write": [str(TOP / "w/**")]}}},
    },
}
# A rule that cannot tell where a path leads denies the call.
REFUSED = {
    "no rules": {"INVALID_ARGUMENTS"},
    "a path rule": {"INVALID_ARGUMENTS", "POLICY_DENIED"},
    "a grant for paths": {"INVALID_ARGUMENTS", "POLICY_DENIED", "CAPABILITY_DENIED"},
}
CALLS = [
    *(("filesystem", "path", {"operation": op}) for op in ("read", "list", "stat", "delete")),
    ("filesystem", "path", {"operation": "write", "content": "x"}),
    ("bash", "cwd", {"command": "pwd"}),
]


def code(gate, tool, key, more, path):
    answer = gate.call(tool, **more, **{key: path})
    return answer.get("error", {}).get("code"), answer


def joined_too_long(place):
    for depth in (1, 700, 3900):
        work = TOP / "w" / names(depth)
        os.close(place.folder(work))
        room = LIMIT - 1 - len(str(work)) + len(str(TOP))  # what a relative path may add
        for name, rules in RULES.items():
            with place.gate(work, **rules) as gate:
                pid = gate.pid
                for tool, key, more in CALLS:
                    for length in {4090, 4095, room, room + 1, (room + 4095) // 2}:
                        if length > 4095:
                            continue
                        said, answer = code(gate, tool, key, more, names(length))
                        if length > room:
                            check(said in REFUSED[name], f"{name}, {tool} {more}, {length} bytes: {short(answer)}")
                        else:
                            check(said != "INTERNAL", f"{name}, {tool} {more}, {length} bytes: {short(answer)}")
                said, answer = code(gate, "filesystem", "path", {"operation": "stat"}, ".")
                check(said is None and gate.pid == pid, f"the gate goes on: {short(answer)}")


def back_to_a_short_one(place):
    """Long on the way and short in the end."""
    work = TOP / "w" / names(3000)
    folder = place.folder(work)
    with open(os.open("f", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder), "w", encoding="ascii") as file:
        file.write("text")
    os.close(folder)
    with place.gate(work) as gate:
        said, answer = code(gate, "filesystem", "path", {"operation": "read"}, "z/../" * 800 + "f")
        check(said is None and answer["content"] == "text", short(answer))


def settings_too_deep(place):
    """A workspace whose own settings cannot be named: they are not taken to be missing."""
    work = TOP / names(LIMIT - 1 - len(str(TOP)) - 5)
    folder = place.folder(work)
    with open(os.open("sandgate.json", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder), "w", encoding="ascii") as file:
        json.dump({"tools": {"filesystem": {"readOnly": True}}}, file)
    os.close(folder)
    options, home = place.options(work)
    done = place.form.run(home, "call", "filesystem", '{"operation":"write","path":"f","content":"x"}', *options)
    check(done.returncode == 2 and b"sandgate.json" in done.stderr, done)


CASES = [
    ("a path that is too long once it is joined to the workspace", joined_too_long),
    ("a long path that leads back to a short one", back_to_a_short_one),
    ("settings that lie too deep are not passed over", settings_too_deep),
]


def main():
    tap = lib.Tap()
    lib.own_mounts()
    for form in lib.forms():
        place = Place(form)
        for name, case in CASES:
            with lib.tmpfs(form, "/home", "8m") as place.uid, tap.case(f"{form.name}: {name}"):
                case(place)
    tap.done()


main()
