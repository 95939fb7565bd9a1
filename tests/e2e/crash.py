#!/usr/bin/env python3
"""The launcher, the worker or the gate itself is killed at random moments while files are written and read.

After each: every file is entirely its old or its new content, what was answered is what happened, no temporary file
stays, the audit log accounts for every call, and the next call works.
"""
# timeout: 400

import itertools
import json
import os
import random
import re
import signal
import threading
import time

import lib
from lib import check, wait_until

KILLS = 2000 if lib.SOAK else 200
STARTS = 10000 if lib.SOAK else 1000
ROOT_SHARE = 0.7
FILES = 12
IN_FLIGHT = 8
SIZE = 300_000
SMALL = 500
SEED = lib.seed()


def version(name, number, size):
    """A content that shows from any part of it which version it is."""
    text = f"{name}:{number}:{size}\n"
    return (text * (size // len(text) + 1))[:size]


class Load:
    """Keeps calls in flight: at most one write a file, so that after a cut only two contents are possible."""

    def __init__(self, form):
        self.form = form
        self.folder = form.folder("ws")
        self.names = [f"d/f{i}" for i in range(FILES)]
        self.current = {name: None for name in self.names}  # last content that was acknowledged; None: no file
        self.numbers = itertools.count(1)
        self.pending = {}  # id: (name, content), content None for a read
        self.gate = None
        self.answered = {}  # id: error code or "ok", of this gate
        self.seen = 0  # bytes of the audit log that were looked at
        self.random = random.Random(SEED)
        self.slow = form.write(form.base / "slow.json", '{"files":{"fsync":true}}')
        self.cut = 0  # writes and reads that were told INTERRUPTED
        # A long listing, so that cleaning up takes its time while new writes come in.
        folder = form.folder("ws/d")
        for i in range(5000):
            form.write(folder / f"other-{i}", "")

    def start_gate(self):
        # Every second one waits for the disk with each write, so that more is under way at any moment.
        options = ["--config", self.slow] if self.random.random() < 0.5 else []
        self.gate = lib.Gate(self.form, *options, workspace=self.folder)
        self.answered = {}

    def next_call(self, size):
        number = next(self.numbers)
        call_id = f"c{number}"
        writing = {name for name, content in self.pending.values() if content}
        free = [name for name in self.names if name not in writing]
        if free and self.random.random() < 0.7:
            name = self.random.choice(free)
            content = version(name, number, size)
            self.pending[call_id] = name, content
            return self.gate.line("write_file", {"path": name, "content": content}, call_id)[1]
        name = self.random.choice(self.names)
        self.pending[call_id] = name, None
        return self.gate.line("read_file", {"path": name, "max_bytes": SIZE + 1}, call_id)[1]

    def refill(self, size=SIZE):
        lines = []
        while len(self.pending) < IN_FLIGHT:
            lines.append(self.next_call(size))
        self.gate.send_raw(b"".join(lines))

    def settle(self, answer, interruptible):
        name, content = self.pending.pop(answer["id"])
        result = answer["result"]
        code = "ok" if result["ok"] else result["error"]["code"]
        self.answered[answer["id"]] = code
        self.cut += code == "INTERRUPTED"
        if code == "ok" and content:
            self.current[name] = content
        elif code == "ok":
            self.check_content(name, result["result"]["content"])
        elif code == "NOT_FOUND" and not content:
            check(self.current[name] is None, f"{name} was written, then not found: {result}")
        else:
            check(code == "INTERRUPTED" and interruptible, f"{'write' if content else 'read'} of {name}: {result}")
            if content:
                self.look_at(name, content)

    def check_content(self, name, text):
        line = text.partition("\n")[0]
        match = re.fullmatch(r".*:(\d+):(\d+)", line)
        whole = match and text == version(name, int(match[1]), int(match[2]))
        check(whole, f"{name} is torn: {len(text)} bytes of {line!r}")

    def look_at(self, name, asked):
        """After a cut: the file must be as it was or as was asked, and is from now on what it is."""
        path = self.folder / name
        found = path.read_text(encoding="ascii") if path.exists() else None
        if found is not None and found != self.current[name]:
            self.check_content(name, found)
            check(found == asked, f"{name}: neither the old nor the new content but {found[:24]!r}")
            self.current[name] = found
        check(found == self.current[name], f"{name}: a written file is gone")

    def take_answers(self, interruptible=False):
        answers, self.gate.answers = self.gate.answers, []
        for answer in answers:
            self.settle(answer, interruptible)

    def run_until_killed(self, pid):
        """Goes on for a random time, then kills in the middle of it."""
        killer = threading.Timer(self.random.random() * 0.06, os.kill, (pid, signal.SIGKILL))
        killer.start()
        try:
            while killer.is_alive():
                self.refill()
                self.gate.pump(until=lambda: self.gate.answers)
                self.take_answers(interruptible=True)
        except lib.Gone:
            check(pid == self.gate.pid, "the gate ended though something else was killed")
        killer.join()

    def finish(self, interruptible):
        """Waits for every call in flight."""
        while self.pending:
            self.gate.pump(until=lambda: self.gate.answers)
            self.take_answers(interruptible)

    # what must hold

    def stray(self):
        return [name for name in os.listdir(self.folder / "d") if name.startswith(".sgt-")]

    def check_files(self):
        for name in self.names:
            path = self.folder / name
            found = path.read_text(encoding="ascii") if path.exists() else None
            check(found == self.current[name], f"{name} is not what was last acknowledged")

    def new_records(self):
        """Records added since the last look. A line that a kill cut stays behind as it is."""
        path = self.gate.state / "audit/000.jsonl"
        with open(path, "rb") as file:
            file.seek(self.seen)
            data = file.read()
        lines = data[: data.rfind(b"\n") + 1]
        self.seen += len(lines)
        records = []
        for line in lines.splitlines():
            try:
                records.append(json.loads(line))
            except ValueError:
                lib.note(f"a cut line in the audit log, {len(line)} bytes")
        check([p.name for p in path.parent.iterdir()] == ["000.jsonl"], "more than one audit file")
        return records

    def check_audit(self, answered, cut):
        """answered: id to code; cut: ids that nobody answered, of which some never began."""
        records = self.new_records()
        ids = {r["call"]: r["id"] for r in records if r["kind"] == "call.intent"}
        ends = {}
        for record in records:
            kind = record["kind"]
            if kind in ("call.outcome", "call.interrupted"):
                check(record["call"] in ids, f"an end without a beginning: {record}")
                check(record["call"] not in ends, f"two ends of one call: {record}")
                ends[record["call"]] = record
        begun = list(ids.values())
        check(len(begun) == len(set(begun)), "two beginnings of one call")
        check(set(ends) == set(ids), f"calls without an end: {set(ids) - set(ends)}")
        by_id = {ids[call]: record for call, record in ends.items()}
        for call_id, code in answered.items():
            record = by_id.get(call_id)
            check(record, f"call {call_id} was answered {code} but is not in the log")
            check(record["kind"] == "call.outcome", f"call {call_id} was answered {code} but recorded as {record}")
            check(record.get("code", "ok") == code, f"call {call_id} was answered {code} but recorded as {record}")
        unknown = {i for i in by_id if i.startswith("c")} - set(answered) - set(cut)
        check(not unknown, f"calls in the log that nobody made: {sorted(unknown)[:5]}")
        return sum(r["kind"] == "call.interrupted" for r in ends.values())


def kill_in_cell(load, pid):
    """The gate lives on: it answers what was in flight and makes a new cell."""
    load.run_until_killed(pid)
    load.finish(interruptible=True)
    # Not only its first thread: then nothing can be sent to it any more, and a call must not be lost on it.
    wait_until(lambda: not lib.status(pid), "the killed process is gone")
    # Many at once: they all wait for the new cell, which at the same time removes what the old one left.
    load.refill(SMALL)
    load.finish(interruptible=False)
    wait_until(lambda: not load.stray(), "no temporary file after the next call")
    load.check_files()


def kill_gate(load):
    """Everything ends; the next gate cleans up."""
    cell = load.gate.cell()
    load.run_until_killed(load.gate.pid)
    for answer in load.gate.drain():
        load.settle(answer, interruptible=False)
    load.gate.end()
    wait_until(lambda: not any(lib.alive(p) for p in cell), "the cell ended with its gate")
    cut, load.pending = load.pending, {}
    for name, content in cut.values():
        if content:
            load.look_at(name, content)
    answered = load.answered
    load.start_gate()
    check(load.gate.call("time.now")["ok"], "the next gate does not answer")
    interrupted = load.check_audit(answered, cut)
    load.gate.call("list_files")
    wait_until(lambda: not load.stray(), "no temporary file after the next gate's first call")
    load.check_files()
    load.refill()
    load.finish(interruptible=False)
    return interrupted


def run_form(tap, form, kills):
    load = Load(form)
    load.start_gate()
    done = {"launcher": 0, "worker": 0, "gate": 0}
    interrupted = 0
    targets = [load.random.choice(list(done)) for _ in range(kills)]
    planned = {target: targets.count(target) for target in done}

    def enough():
        return interrupted > planned["gate"] and load.cut > planned["worker"]

    with tap.case(f"{form.name}: {kills} kills lose and tear nothing (seed {SEED})"):
        # How many calls a kill hits is a matter of luck: gates go on being killed until there were enough.
        for number in range(2 * kills):
            if number >= kills and enough():
                break
            target = targets[number] if number < kills else "gate"
            done[target] += 1
            try:
                if target == "gate":
                    interrupted += kill_gate(load)
                else:
                    kill_in_cell(load, load.gate.launcher() if target == "launcher" else load.gate.worker())
            except Exception as error:
                raise AssertionError(f"kill {number}, of the {target}: {error!r}") from error
    with tap.case(f"{form.name}: an orderly end leaves nothing behind either"):
        load.gate.close_input()
        check(load.gate.wait_exit() == 0, "the gate did not end well")
        check(not load.stray(), f"temporary files left: {load.stray()}")
        notes = list((load.gate.state / "sweep").iterdir())
        check(not notes, f"notes about writes under way left: {notes}")
        load.check_files()
    load.gate.end()
    lib.note(f"{done}; {load.cut} calls told that they were cut off, {interrupted} found so by the next gate")
    with tap.case(f"{form.name}: the kills hit calls under way"):
        check(enough(), f"only {interrupted} and {load.cut}, planned {planned}")


def kill_starting(tap, form):
    """Gates that are killed while they make their first cell."""
    folder = form.folder("starting")
    rng = random.Random(SEED)
    before = lib.running(form.binary)

    def left():
        return [pid for pid in lib.running(form.binary) if pid not in before]

    with tap.case(f"{form.name}: of {STARTS} gates killed while they start, no process is left (seed {SEED})"):
        for _ in range(STARTS):
            gate = lib.Gate(form, workspace=folder)
            time.sleep(0.001 + rng.random() * 0.004)
            gate.kill()
            gate.end()
        try:
            wait_until(lambda: not left(), "no process of theirs")
        finally:
            for pid in left():
                os.kill(pid, signal.SIGKILL)


def main():
    tap = lib.Tap()
    found = lib.forms()
    for form in found:
        share = 1 if len(found) == 1 else ROOT_SHARE if form.is_root else 1 - ROOT_SHARE
        run_form(tap, form, round(KILLS * share))
        kill_starting(tap, form)
    tap.done()


if __name__ == "__main__":
    main()
