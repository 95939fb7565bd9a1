#!/usr/bin/env python3
"""The quarantine of a workspace has a limit. What does not fit stays in the workspace under a name that nobody obeys, is told,
and fits again when its user has made room.
"""

import fcntl
import json
import os
import pathlib
import select

import lib
import ran
from cut_off import Cut
from lib import check
from made import whats

LIMIT = 1 << 30
IN_OPEN = 0x20
MAKE = "mkdir .vscode; echo tasks > .vscode/tasks.json"


class Full(Cut):
    """One entry is in quarantine, and takes all the room."""

    def __init__(self, form, name):
        super().__init__(form, name)
        with self.gate() as gate:
            value = gate.call("run_command", command=MAKE)["result"]
            check(whats(value) == ["quarantined:.vscode"], whats(value))
        self.entry, = json.loads(self.quarantine("list", "--json"))
        os.truncate(pathlib.Path(self.entry["content"]) / ".vscode/tasks.json", LIMIT)

    def quarantine(self, *words):
        done = self.form.run(self.home, "quarantine", *words)
        check(done.returncode == 0, f"{words}: {done}")
        return done.stdout.decode()

    def aside(self):
        return sorted(name for name in os.listdir(self.workspace) if name.startswith("sandgate-quarantine-"))


def stays_aside(form):
    """what does not fit is renamed in its folder, and both the answer and the user's terminal say so"""
    place = Full(form, "aside")
    with place.gate() as gate:
        value = gate.call("run_command", command=MAKE + "; echo run >.envrc")["result"]
        check(set(whats(value)) == {"quarantine:full", "quarantined:.vscode", "quarantined:.envrc"}, whats(value))
        said = gate.said()
    check("sandgate quarantine remove" in said and said.count("is full") == 1, said)
    check(not (place.workspace / ".vscode").exists() and not (place.workspace / ".envrc").exists(), "it is still there")
    contents = {path.read_text() for name in place.aside() for path in [place.workspace / name] if path.is_file()}
    folders = [name for name in place.aside() if (place.workspace / name).is_dir()]
    check(contents == {"run\n"} and len(folders) == 1, place.aside())
    check((place.workspace / folders[0] / "tasks.json").read_text() == "tasks\n", "its content was lost")
    check(len(json.loads(place.quarantine("list", "--json"))) == 1, "more is in quarantine")


def room_again(form):
    """a gate that runs notices that there is room again"""
    place = Full(form, "again")
    with place.gate() as gate:
        value = gate.call("run_command", command=MAKE)["result"]
        check("quarantine:full" in whats(value), whats(value))
        place.quarantine("remove", place.entry["id"])
        value = gate.call("run_command", command=MAKE)["result"]
        check(whats(value) == ["quarantined:.vscode"], whats(value))
    check(len(json.loads(place.quarantine("list", "--json"))) == 1 and len(place.aside()) == 1, place.aside())


def two_gates(form):
    """a gate that moves something there while another one does counts what that has moved"""
    place = Full(form, "two")
    folder = pathlib.Path(place.entry["content"]).parent
    os.truncate(folder / place.entry["id"] / ".vscode/tasks.json", 1)
    with place.gate() as gate:
        gate.call("run_command", command="true")
        # As another gate that copies something there.
        other = os.open(folder, os.O_RDONLY)
        fcntl.flock(other, fcntl.LOCK_EX)
        events = lib.libc.inotify_init1(os.O_CLOEXEC)
        check(lib.libc.inotify_add_watch(events, os.fsencode(folder), IN_OPEN) >= 0, "inotify_add_watch")
        call = gate.send("run_command", command=MAKE)
        check(select.select([events], [], [], lib.SECONDS)[0], "nothing is moved there")
        os.truncate(form.write(folder / "another", ""), LIMIT)
        os.close(other)
        os.close(events)
        value = gate.wait(call)["result"]
        check(set(whats(value)) == {"quarantine:full", "quarantined:.vscode"}, whats(value))


if __name__ == "__main__":
    ran.main(stays_aside, room_again, two_gates)
