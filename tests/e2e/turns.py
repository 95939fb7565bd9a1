#!/usr/bin/env python3
"""Calls that come one after another, each as soon as the one before is answered: the gate then stays awake for the next,
and must miss nothing that comes otherwise."""

import random
import signal
import time

import lib
from lib import Gate, check

TURNS = 400  # many more than make the gate expect the next one
SEED = lib.seed()


class Place:
    def __init__(self, form):
        self.form = form
        self.workspace = form.folder("turns-ws")
        form.write(self.workspace / "a.txt", "text\n")
        self.home = form.folder("turns-home", 0o700)

    def gate(self, *options):
        return Gate(self.form, *options, workspace=self.workspace, state=self.home)


def take_turns(gate, n=TURNS):
    for _ in range(n):
        check(gate.call("read_file", path="a.txt")["result"]["content"] == "text\n", "the file's content")


def lines_in_pieces(place):
    rng = random.Random(SEED)
    with place.gate() as gate:
        take_turns(gate)
        for _ in range(TURNS):
            call_id, line = gate.line("read_file", {"path": "a.txt"})
            cut = rng.randrange(len(line))
            gate.send_raw(line[:cut])
            time.sleep(rng.choice((0, 0, 0.00002, 0.0005)))
            gate.send_raw(line[cut:])
            check(gate.wait(call_id)["ok"], f"{call_id} (seed {SEED})")


def several_lines_at_once(place):
    with place.gate() as gate:
        take_turns(gate)
        for count in (2, 70, 300):
            lines = [gate.line("read_file", {"path": "a.txt"}) for _ in range(count)]
            gate.send_raw(b"".join(line for _, line in lines))
            for call_id, _ in lines:
                check(gate.wait(call_id)["ok"], call_id)
            take_turns(gate, 50)


def end_of_input(place):
    with place.gate() as gate:
        take_turns(gate)
        gate.close_input()
        check(gate.wait_exit() == 0, "it ends well")


def last_line_without_its_end(place):
    with place.gate() as gate:
        take_turns(gate)
        call_id, line = gate.line("read_file", {"path": "a.txt"})
        gate.send_raw(line[:-1])
        gate.close_input()
        check(gate.wait(call_id)["ok"], "the last line is answered")
        check(gate.wait_exit() == 0, "it ends well")


def told_to_stop(place):
    with place.gate() as gate:
        take_turns(gate)
        gate.kill(signal.SIGTERM)
        try:
            take_turns(gate, 100000)
            check(False, "it goes on")
        except (lib.Gone, KeyError):  # it is gone, or refuses what comes
            pass
        check(gate.wait_exit() == 0, "it ends well")


def nothing_to_do(place):
    """Whoever stops calling finds the gate asleep."""
    with place.gate() as gate:
        take_turns(gate)
        before = lib.cpu_ticks(gate.pid)
        time.sleep(1)
        spent = lib.cpu_ticks(gate.pid) - before
        check(spent <= 2, f"{spent} ticks in a second of rest")


CASES = [
    ("lines that come in pieces", lines_in_pieces),
    ("several lines at once", several_lines_at_once),
    ("the end of the input", end_of_input),
    ("a last line without its end", last_line_without_its_end),
    ("a signal", told_to_stop),
    ("nothing more to do", nothing_to_do),
]


if __name__ == "__main__":
    lib.run_cases(CASES, Place)
