#!/usr/bin/env python3
"""What is used up is an ordinary error, and nothing is lost by it: cancels in any number, few descriptors, few processes,
little memory. The cell lives on, other calls are answered, and no answer claims to be complete that is not.
"""
# timeout: 400

import contextlib
import json
import os
import pathlib
import resource
import subprocess

import lib
import ran
from lib import Gate, check, expect_error, wait_until
from ran import Place

BUSY = "SESSION_BUSY"


class Limited(Gate):
    """A gate that is started with limits: {resource.RLIMIT_NOFILE: 64} for both the soft and the hard one."""

    def __init__(self, place, limits=None, group=None):
        words = [f"ulimit -{letter} {value}" for letter, value in (limits or {}).items()]
        if group:
            words.append(f"echo $$ >{group}")
        script = "; ".join([*words, 'exec "$0" "$@"'])
        wrapper = place.form.write(place.form.base / f"{place.home.name}.sh", f"#!/bin/bash\n{script}\n")
        wrapper.write_text("#!/bin/bash\n" + "; ".join([*words, f'exec {place.form.binary} "$@"']) + "\n")
        wrapper.chmod(0o755)
        super().__init__(place.form, *place.options, workspace=place.workspace, state=place.home, binary=wrapper)


def make_tree(place, folders, files):
    """Files to search in, for a call that takes a while."""
    with place.form.acting():
        for i in range(folders):
            folder = place.workspace / f"d{i}"
            folder.mkdir()
            for k in range(files):
                (folder / f"f{k}").write_text("nothing to be found here\n" * 20)


def cancels(form):
    """hundreds of calls are cancelled at once: each is answered, the cell and its commands go on"""
    place = Place(form, "cancels", {"limits": {"maxInFlight": 1024}})
    make_tree(place, 40, 250)
    with place.gate() as gate:
        gate.ok("read_file", path="d0/f0")
        cell = gate.cell()
        other = gate.send("run_command", command="read -t 30 <>wait; echo unharmed")
        with form.acting():
            os.mkfifo(place.workspace / "wait")
        calls = [gate.line("search", {"pattern": f"no{i}"}, f"s{i}") for i in range(600)]
        gone = b'{"cancel":"never"}\n' * 100
        stops = b"".join(b'{"cancel":"%s"}\n' % i.encode() for i, _ in calls)
        gate.send_raw(b"".join(line for _, line in calls))
        # All of them are in the cell once the first is done.
        check(gate.wait("s0")["ok"], "the first is answered")
        gate.send_raw(gone + stops + stops)
        codes = [gate.wait(i).get("error", {}).get("code") for i, _ in calls[1:]]
        check(set(codes) <= {"CANCELLED", None}, f"{set(codes)}")
        check(codes.count("CANCELLED") > 400, f"{codes.count('CANCELLED')} of {len(codes)} were cancelled")
        # After their end.
        gate.send_raw(stops)
        check(gate.ok("read_file", path="d0/f0")["total_lines"] == 20, "the next call works")
        check(gate.cell() == cell, "the cell is the same")
        gate.send_raw(b'{"cancel":"%s"}\n' % other.encode())
        expect_error(gate.wait(other), "CANCELLED")


CASES = [(case.__doc__, case) for case in (cancels,)]

if __name__ == "__main__":
    lib.run_cases(CASES)
