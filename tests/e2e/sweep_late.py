#!/usr/bin/env python3
"""A gate was killed, and its cell has not ended yet when the next gate begins: the temporary files that it still makes are
removed by that gate, too, and not before the cell has ended.
"""

import contextlib
import fcntl
import json
import os
import subprocess
import time

import lib
import ran
from lib import check, wait_until
from ran import Place

TAG = "0badcafe"


class Late(Place):
    def note(self, path, group=None):
        """What a gate that was killed has noted."""
        sweep = self.home / "sandgate" / "sweep"
        st = self.workspace.stat()
        with self.form.acting():
            sweep.mkdir(exist_ok=True)
        lines = [json.dumps([group])] if group else []
        return self.form.write(sweep / f"{st.st_dev:x}-{st.st_ino:x}-{TAG}", "".join(f"{line}\n" for line in [*lines, json.dumps(path)]))

    def temp(self, number):
        return self.put(f"d/.sgt-{TAG}-1-{number}", "half\n")

    def warm(self, gate):
        gate.call("list_files")


def living():
    """A process in a group of its own, and what a note says of it."""
    ticks = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")) + 100
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    return process, f"{process.pid} {ticks}\n"


def first(place):
    """So that there is a state folder."""
    with place.gate() as gate:
        place.warm(gate)


def cell_lives(form):
    """as long as the cell of a dead gate lives its files are left alone; then they are removed, whenever they were made"""
    place = Late(form, "lives")
    place.put("d/x")
    first(place)
    process, group = living()
    with contextlib.ExitStack() as stack:
        stack.callback(process.wait)
        stack.callback(process.kill)
        note = place.note("d/x", group)
        early = place.temp(0)
        gate = stack.enter_context(place.gate())
        place.warm(gate)
        gate.call("stat", path="d/x")
        check(early.exists() and note.exists(), "it was taken while its cell lives")
        late = place.temp(1)
        process.kill()
        process.wait()
        wait_until(lambda: not early.exists() and not late.exists(), "both are removed")
        wait_until(lambda: not note.exists(), "the note is removed")
        check((place.workspace / "d/x").exists(), "an ordinary file is gone")


def gate_ends(form):
    """a note that is still locked when the next gate looks is looked at again"""
    place = Late(form, "ends")
    place.put("d/x")
    first(place)
    note = place.note("d/x")
    temp = place.temp(0)
    with open(note, "rb") as held, place.gate() as gate:
        fcntl.flock(held, fcntl.LOCK_EX)
        place.warm(gate)
        gate.call("stat", path="d/x")
        check(temp.exists() and note.exists(), "it was taken from a gate that lives")
        fcntl.flock(held, fcntl.LOCK_UN)
        wait_until(lambda: not temp.exists() and not note.exists(), "it is removed")


def fails_at_first(form):
    """a folder that cannot be listed is looked into again by the same gate"""
    place = Late(form, "fails")
    place.put("d/x")
    first(place)
    place.note("d/x")
    temp = place.temp(0)
    (place.workspace / "d").chmod(0o300)
    with place.gate() as gate:
        place.warm(gate)
        lib.expect_error(gate.call("list_files", path="d"), "PERMISSION_DENIED")
        check(temp.exists(), "it is gone already")
        (place.workspace / "d").chmod(0o755)
        wait_until(lambda: not temp.exists(), "it is removed")


def written(form):
    """a gate that is killed has noted the processes of its cell"""
    place = Late(form, "written")
    with place.gate() as gate:
        gate.call("write_file", path="a", content="x")
        (note,) = (place.home / "sandgate" / "sweep").iterdir()
        lines = [json.loads(line) for line in note.read_text().splitlines()]
        groups = [line[0].split()[0] for line in lines if isinstance(line, list)]
        check(groups == [str(os.getpgid(gate.launcher()))], f"{lines}")


if __name__ == "__main__":
    ran.main(cell_lives, gate_ends, fails_at_first, written)
