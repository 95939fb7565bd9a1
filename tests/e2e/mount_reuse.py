#!/usr/bin/env python3
"""Where many files are guarded, a command may get the mounts that one before it had: it finds nothing of that one's, and
everything that has to be covered."""

import contextlib
import os

import lib
import ran
from lib import check
from ran import Place, bash

SECRET = "KEY=only the user knows"
MANY = 100
TIMES = 8
# The way to a workspace in /tmp is there, and nothing else.
WAY = "$(pwd | cut -d/ -f3)"
OWN = (f"echo {WAY}; ls -A /tmp /dev/pts; ls -d /proc/[0-9]* | wc -l; cat .env */.env new/.env 2>/dev/null; "
       "touch /tmp/left; ( sleep 100 & ) ; true")


def make(form, name, **commands):
    place = Place(form, name, {"files": {"secret": [".env"]}, "commands": commands})
    for number in range(MANY):
        at = form.folder(f"{name}-ws/d{number}")
        form.write(at / ".env", SECRET)
    form.write(place.workspace / ".env", SECRET)
    return place


def look(gate):
    value = bash(gate, OWN)
    seen, count = value["stdout"].rstrip("\n").rsplit("\n", 1)
    way, seen = seen.split("\n", 1)
    check(seen == f"/dev/pts:\nptmx\n\n/tmp:\n{way}", f"seen: {lib.short(value)}")
    check(int(count) <= 8, f"{count} processes: {lib.short(value)}")


def kept(gate):
    """Mount namespaces that wait for a command."""
    folder = f"/proc/{ran.launcher(gate)}/fd"
    found = 0
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found += os.readlink(f"{folder}/{name}").startswith("mnt:")
    return found


def wait_kept(gate):
    """None is kept of a command during which something was covered anew; then one more command is run."""
    end = lib.time.monotonic() + lib.SECONDS
    while kept(gate) == 0 and lib.time.monotonic() < end:
        bash(gate, "true")
        until = lib.time.monotonic() + 0.5
        while kept(gate) == 0 and lib.time.monotonic() < until:
            lib.time.sleep(0.002)
    check(kept(gate) > 0, "one is kept")


def points(gate):
    """Mount points of folders: each namespace has one for the workspace."""
    return int(bash(gate, "ls /var/points | wc -l")["stdout"])


def fresh(form):
    """nothing of an earlier command is left, and the mounts are those of one"""
    place = make(form, "fresh")
    with place.gate() as gate:
        look(gate)
        for turn in range(1, TIMES):
            look(gate)
            wait_kept(gate)
            # At most four rest; one belongs to the command that is ready, and one the launcher opens for a moment.
            check(kept(gate) <= 6, f"{kept(gate)} are kept after {turn}")
        check(1 <= points(gate) <= 6, f"{points(gate)} mount points are left")


def covered(form):
    """what the host makes or replaces meanwhile is covered"""
    place = make(form, "covered")
    with place.gate() as gate:
        for turn in range(TIMES):
            look(gate)
            at = form.folder("covered-ws/new") if turn == 0 else place.workspace / "new"
            for path in (at / ".env", place.workspace / ".env", place.workspace / "d7/.env"):
                os.replace(form.write(place.workspace / "fresh", SECRET), path)
            look(gate)


def side_by_side(form):
    """commands at the same time share nothing"""
    place = make(form, "side")
    line = ("touch /tmp/$N; echo x > up$N; while [ ! -e go ]; do sleep 0.02; done; "
            f'ls -A /tmp | grep -vx "{WAY}"; cat d*/.env')
    with place.gate() as gate:
        for turn in range(3):
            calls = [gate.send("run_command", command=line, env={"N": str(n)}) for n in range(4)]
            lib.wait_until(lambda: all((place.workspace / f"up{n}").exists() for n in range(4)), "they run")
            form.write(place.workspace / "go", "")
            for n, call in enumerate(calls):
                check(gate.wait(call)["result"]["stdout"] == f"{n}\n", f"turn {turn}, command {n}")
            bash(gate, "rm go up*")
            look(gate)


def named_in_tmp(form):
    """a folder in the machine's /tmp that the operator shows stays where it is"""
    folder = form.folder("shown")
    inner = form.folder("shown/inner")
    form.write(folder / "a", "shown\n")
    form.write(inner / "b", "inner\n")
    check(str(folder).startswith("/tmp/"), folder)
    place = make(form, "named", show=[str(folder), str(inner)])
    with place.gate() as gate:
        for turn in range(TIMES):
            value = bash(gate, f"cat {folder}/a {inner}/b; ls -A /tmp; touch /tmp/left; cat d*/.env; true")
            check(value["stdout"] == f"shown\ninner\n{folder.parts[2]}\n", lib.short(value))
            if turn:
                wait_kept(gate)


def after_others(form):
    """a command that was killed, or one that failed to start, leaves nothing to the next one"""
    place = make(form, "others")
    with place.gate() as gate:
        for _ in range(3):
            look(gate)
            gate.call("run_command", command="touch /tmp/x; exec sleep 100", timeout_ms=300)
            look(gate)
            gate.refused("NOT_FOUND", "run_command", command="true", cwd="nowhere")


if __name__ == "__main__":
    ran.main(fresh, covered, side_by_side, named_in_tmp, after_others)
