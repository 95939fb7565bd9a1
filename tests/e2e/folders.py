#!/usr/bin/env python3
"""Folders where commands have something of their own: their home, the machine's places, folders behind its links; and
folders that only file tools have, which commands neither see nor lose anything to."""
# timeout: 200

import json
import os
import pathlib

import lib
from lib import Gate, check, short

HOME = pathlib.Path("/home/agent")  # of commands


class Place:
    """A workspace for both, and what a case asks for besides, in a machine with its own /home and /opt."""

    def __init__(self, form, uid):
        self.form = form
        self.uid = uid
        self.number = 0

    def folder(self, path, content):
        """On the machine, with a file `f` in it."""
        path = pathlib.Path(path)
        path.mkdir(parents=True, exist_ok=True)
        for part in (path, *path.parents):
            if str(part).startswith(("/home/", "/opt/")):
                part.chmod(0o755)
                self.give(part)
        (path / "f").write_text(content, encoding="ascii")
        self.give(path / "f")
        return str(path)

    def give(self, path):
        if lib.AM_ROOT:
            os.chown(path, self.uid, self.uid)

    def gate(self, files, commands, show=()):
        self.number += 1
        home = self.form.folder(f"folders-home-{self.number}", 0o700)
        config = {
            "tools": {
                "filesystem": {"allowedDirectories": files},
                "bash": {"allowedDirectories": commands, "allowedCommands": ["sh", "dash", "bash"]},
            },
            "commands": {"show": list(show)},
        }
        path = self.form.write(self.form.base / f"folders-{self.number}.json", json.dumps(config))
        path.chmod(0o600)
        return Gate(self.form, "--dialect", "system", "--config", str(path), state=home)


def call(gate, tool, **args):
    answer = gate.call(tool, **args)
    check("error" not in answer, f"{tool} {args}: {short(answer)}")
    return answer


def reads(gate, path):
    """File tools do."""
    call(gate, "filesystem", operation="read", path=f"{path}/f")


def out(gate, text, cwd):
    return call(gate, "bash", command="sh", args=["-c", text], cwd=cwd)["stdout"]


def hidden_home(place):
    """The home of commands is a folder that only file tools have."""
    work, home = place.folder("/home/u/w", "work"), place.folder(HOME, "home")
    with place.gate([work, home], [work]) as gate:
        reads(gate, home)
        check("home" not in out(gate, f"cat {home}/f; ls {home}", work), "commands read it")
        out(gate, f"echo x > {home}/new", work)
        check(not (HOME / "new").exists(), "commands write in it")
        check(out(gate, f"cat {home}/new", work) == "x\n", "they have another home there")


def folders_in_the_home(place):
    work, below = place.folder("/home/u/w", "work"), place.folder(HOME / "w", "below")
    shown = place.folder(HOME / "tools/bin", "shown")
    with place.gate([work, below], [work, below], [shown]) as gate:
        reads(gate, below)
        check(out(gate, f"cat {below}/f {shown}/f", work) == "belowshown", "commands read them")
        out(gate, f"echo x > {below}/new; echo y > ~/own", work)
        check((HOME / "w/new").read_text() == "x\n", "commands write in it")
        check(not (HOME / "own").exists(), "the rest is theirs alone")
    with place.gate([work, below], [work]) as gate:
        check("below" not in out(gate, f"cat {below}/f", work), "one that they have not")


def hidden_places(place):
    work, opt = place.folder("/home/u/w", "work"), place.folder("/opt/app", "opt")
    for files, what in ((["/etc"], "cat /etc/hostname"), (["/opt"], f"cat {opt}/f"), (["/home"], "cd ~ && touch x && ls")):
        with place.gate([work], [work]) as gate:
            before = out(gate, what, work)
        with place.gate([work, *files], [work]) as gate:
            check(out(gate, what, work) == before and before, f"{files}: commands lost {what}")


def shared_places(place):
    """A folder in one of the machine's places that commands may write in."""
    work, opt = place.folder("/home/u/w", "work"), place.folder("/opt/app/data", "opt")
    place.folder("/opt/other", "other")
    with place.gate([opt], [work, opt]) as gate:
        reads(gate, opt)
        out(gate, f"echo x > {opt}/new; echo x > /opt/other/new", work)
        check(pathlib.Path(opt, "new").read_text() == "x\n", "commands write in it")
        check(not pathlib.Path("/opt/other/new").exists(), "and not next to it")
        check(out(gate, "cat /opt/other/f", work) == "other", "what is next to it is seen")


def one_in_another(place):
    outer, inner = place.folder("/home/u/all", "outer"), place.folder("/home/u/all/w", "inner")
    with place.gate([outer], [inner]) as gate:
        reads(gate, outer)
        said = out(gate, "cat f; ls /home/u/all; cat /home/u/all/f", inner)
        check(said.startswith("inner") and "outer" not in said, f"commands have the inner one: {said!r}")
        out(gate, "echo x > new", inner)
        check(pathlib.Path(inner, "new").read_text() == "x\n", "and write in it")
    with place.gate([inner], [outer]) as gate:
        check(out(gate, f"cat f {inner}/f", outer) == "outerinner", "the other way round they have both")


def behind_a_link(place):
    """/lib is a link on most machines."""
    if not os.path.islink("/lib"):
        return
    work = place.folder("/home/u/w", "work")
    name = sorted(entry.name for entry in os.scandir("/lib") if entry.is_dir(follow_symlinks=False))[0]
    with place.gate([f"/lib/{name}"], [work, f"/lib/{name}"]) as gate:
        call(gate, "filesystem", operation="list", path=f"/lib/{name}")
        check(out(gate, f"ls /lib/{name} | head -1; true", work) == out(gate, f"ls /usr/lib/{name} | head -1; true", work),
              "commands see it by both names")


def not_in_the_worker(place):
    """Folders for commands that are there anyway: nothing of them stays open."""
    work = place.folder("/home/u/w", "work")
    with place.gate([work], [work], ["/usr/share", work]) as gate:
        reads(gate, work)
        check(out(gate, "cat f", work) == "work", "commands run")
        if lib.AM_ROOT:
            for pid in (gate.launcher(), gate.worker()):
                open_now = [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
                folders = [os.readlink(fd) for fd in open_now if os.path.isdir(fd)]
                # The worker has the workspace, once more for scans, and its store; the launcher the commands' mount points.
                expected = 3 if pid == gate.worker() else 1
                check(len(folders) == expected, f"{folders}")


CASES = [
    ("a home that only file tools have", hidden_home),
    ("folders in the home of commands", folders_in_the_home),
    ("places that only file tools have are still there for commands", hidden_places),
    ("a folder in one of the machine's places", shared_places),
    ("one folder in another", one_in_another),
    ("a folder behind a link of the machine", behind_a_link),
    ("no folder stays open that need not", not_in_the_worker),
]


def main():
    tap = lib.Tap()
    lib.own_mounts()
    for form in lib.forms():
        with lib.tmpfs(form, "/home", "8m") as uid, lib.tmpfs(form, "/opt", "8m"):
            place = Place(form, uid)
            for name, case in CASES:
                with tap.case(f"{form.name}: {name}"):
                    case(place)
    tap.done()


main()
