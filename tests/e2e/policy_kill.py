#!/usr/bin/env python3
"""Gates with budgets, rates and approvals under way are killed at random moments, two of them on one state folder.

Each call that runs leaves one mark of its own in the workspace. Whatever was killed: no limit is passed by one, nothing
runs that is not recorded, nothing that has to be approved runs without a yes of its own, the log's chain holds, and the
next gate works.
"""
# timeout: 400

import collections
import itertools
import json
import os
import random
import select
import signal
import subprocess
import time

import books
import lib
from lib import check, short, wait_until

KILLS = 5000 if lib.SOAK else 500
CHAPTER = 50  # kills with one state folder; then its limits are used up
SEED = lib.seed()
LIFE = 0.08
IN_FLIGHT = 6
HELD = 3  # and so many that wait for a yes
APPROVERS = 3  # processes at once
HOLD = 0.4  # of the kills find their worker stopped in the middle of its calls

SIZE = 100
WRITES = 300
COMMANDS = 50
FOLDERS, WINDOW_MS = 25, 800
CONFIG = {
    "approval": {
        "default": "approve",
        "timeoutMs": 30000,
        "rules": [
            {"toolName": "write_file", "action": "budget", "budgetLimit": WRITES, "budgetPeriod": "monthly"},
            {"toolName": "run_command", "action": "prompt"},
        ],
    },
    "policy": {
        "budgets": [
            {"toolName": "write_file", "unit": "bytesWritten", "limit": WRITES * SIZE, "period": "monthly"},
            {"toolName": "run_command", "unit": "calls", "limit": COMMANDS, "period": "monthly"},
        ],
        "rateLimits": {"make_directory": {"maxCalls": FOLDERS, "windowMs": WINDOW_MS}},
    },
}
LIMITS = sorted([WRITES, WRITES * SIZE, COMMANDS])
REFUSALS = {
    "write": {"BUDGET_EXCEEDED"},
    "folder": {"RATE_LIMITED"},
    "command": {"BUDGET_EXCEEDED", "APPROVAL_DENIED"},
}


class Chapter:
    """A state folder, a workspace, and what became of every call that was made with them."""

    def __init__(self, form, number, rng):
        self.form = form
        self.rng = rng
        self.workspace = form.folder(f"{number}/ws")
        for name in ("w", "m"):
            form.folder(f"{number}/ws/{name}")
        self.home = form.folder(f"{number}/home", 0o700)
        self.state = self.home / "sandgate"
        self.config = form.write(form.base / f"{number}/config.json", json.dumps(CONFIG))
        self.numbers = itertools.count(1)
        self.kinds = {}  # of all calls, by id
        self.answered = {}  # id: `ok` or the error's code
        self.good = collections.Counter()  # of these, by kind
        self.progress = 0.0
        self.spent = {}  # of each budget when it was last looked at
        self.let_through = {}  # (rate's key, number): when
        self.compared = 0
        self.approving = []  # processes
        self.decided = set()  # requests that someone was sent to

    def wanted(self, kind):
        """Limits are used up towards the end, however fast the machine is: until then they matter to every kill."""
        limit = {"write": WRITES, "command": COMMANDS}[kind]
        return self.good[kind] < limit * (0.1 + self.progress)

    def gate(self, approver):
        return Life(self, lib.Gate(self.form, "--config", self.config, *["--approver"] * approver,
                                   workspace=self.workspace, state=self.home,
                                   env={"SANDGATE_APPROVAL_DEFAULT": None}), approver)  # fmt: skip

    # who approves from outside

    def send_approver(self, request):
        verb = "approve" if self.rng.random() < 0.8 else "deny"
        process = subprocess.Popen(
            [str(self.form.binary), verb, request], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd="/", env=lib.environment(self.home), **self.form.identity(),
        )  # fmt: skip
        # One in eight is killed, before or after it said it.
        end = time.monotonic() + self.rng.random() * 0.03 if self.rng.random() < 0.125 else None
        self.approving.append((process, end))

    def approve_outside(self):
        for process, end in self.approving:
            if end and time.monotonic() >= end:
                process.kill()
        self.approving = [(process, end) for process, end in self.approving if process.poll() is None]
        if len(self.approving) >= APPROVERS or not (self.state / "state.db").exists():
            return
        waiting = books.ask(self.state, "SELECT id FROM approval WHERE state = 'waiting'")
        for row in waiting:
            # Those that one was sent to in vain are found again now and then.
            if len(self.approving) < APPROVERS and (row["id"] not in self.decided or self.rng.random() < 0.1):
                self.decided.add(row["id"])
                self.send_approver(row["id"])

    def end_approvers(self):
        for process, _ in self.approving:
            process.kill()
            process.wait()
        self.approving = []

    # what is true at any time

    def marks(self):
        path = self.workspace / "ran"
        commands = path.read_text(encoding="ascii").splitlines() if path.exists() else []
        writes = [name for name in os.listdir(self.workspace / "w") if not name.startswith(".sgt-")]
        return {"write": writes, "folder": os.listdir(self.workspace / "m"), "command": commands}

    def look(self):
        """No counter goes back or beyond its limit."""
        for row in books.ask(self.state, "SELECT key, spent FROM budget"):
            before = self.spent.get(row["key"], 0)
            check(row["spent"] >= before, f"{row['key']}: {before} were spent, and now {row['spent']}")
            check(row["spent"] <= LIMITS[-1], f"{row['key']}: {row['spent']} were spent")
            self.spent[row["key"]] = row["spent"]
        for row in books.ask(self.state, "SELECT key, n, at_ms FROM rate_call"):
            known = self.let_through.setdefault((row["key"], row["n"]), row["at_ms"])
            check(known == row["at_ms"], f"call {row['n']} was let through twice, at {known} and {row['at_ms']}")

    def check_rate(self, folders):
        """Any two calls with FOLDERS - 1 between them are a window apart."""
        for (key, number), at in self.let_through.items():
            before = self.let_through.get((key, number - FOLDERS))
            if before is not None:
                self.compared += 1
                check(at - before >= WINDOW_MS, f"{FOLDERS + 1} calls in {at - before} ms")
        last = books.ask(self.state, "SELECT max(n) AS n FROM rate_key")[0]["n"]
        check(len(folders) <= (last or 0), f"{len(folders)} folders were made, {last} counted")

    # what is true in the end

    def use_up(self):
        """A last gate uses what is left, and not one call more; it also finds all that the killed ones left."""
        with self.gate(True) as life:
            life.check_alive()
            for kind, ceiling in (("write", WRITES), ("command", COMMANDS)):
                for _ in range(ceiling + 1):
                    call = life.send_one(kind)
                    code = life.wait_for(call)
                    if code != "ok":
                        break
                check(code == "BUDGET_EXCEEDED", f"{kind}: {code} after all was used up")
            life.finish()
        self.look()
        check(sorted(self.spent.values()) == LIMITS, f"spent is {self.spent}, the limits are {LIMITS}")

    def check_all(self):
        wait_until(lambda: not lib.running(self.form.binary), "no process left")
        marks = self.marks()
        for kind, limit in (("write", WRITES), ("command", COMMANDS)):
            check(len(marks[kind]) <= limit, f"{kind}: {len(marks[kind])} ran, {limit} may")
        self.check_rate(marks["folder"])
        records = books.log(self.state)
        books.verify(self.form, self.home)
        calls = books.Calls(records)
        rows = books.approvals(self.state)
        calls.check_approvals(rows)
        self.check_marks(marks, calls)
        self.check_answers(marks, calls)
        yes = [row for row in rows.values() if row["state"] == "used"]
        check(len(yes) == COMMANDS, f"{len(yes)} approvals were used, {COMMANDS} calls paid for")
        return calls

    def check_marks(self, marks, calls):
        for kind, found in marks.items():
            check(len(found) == len(set(found)), f"{kind}: something ran twice")
            for call_id in found:
                check(self.kinds.get(call_id) == kind, f"{call_id} is no {kind} of ours")
                check(call_id in calls.intents, f"{kind} {call_id} ran and is not recorded")
        for call_id, record in calls.intents.items():
            approved = "approval" in record
            check(approved == (self.kinds.get(call_id) == "command"), f"{call_id}: {short(record)}")

    def check_answers(self, marks, calls):
        ran = {call_id for found in marks.values() for call_id in found}
        for call_id, code in self.answered.items():
            calls.check_answer(call_id, code)
            if code == "ok":
                check(call_id in ran or self.kinds[call_id] == "look", f"{call_id} was answered ok and has not run")
            elif code != "INTERRUPTED":
                check(code in REFUSALS[self.kinds[call_id]], f"{self.kinds[call_id]} {call_id}: {code}")
                check(call_id not in ran and call_id not in calls.intents, f"{call_id} was refused ({code}) and ran")


class Life:
    """One gate, and the calls that it has not answered."""

    def __init__(self, chapter, gate, approver):
        self.chapter = chapter
        self.gate = gate
        self.approver = approver
        self.pending = {}
        self.heard = 0  # events

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gate.end()

    def make(self, kind):
        call_id = f"{kind[0]}{next(self.chapter.numbers)}"
        self.chapter.kinds[call_id] = self.pending[call_id] = kind
        name, args = {
            "look": ("stat", {"path": "."}),
            "write": ("write_file", {"path": f"w/{call_id}", "content": "x" * SIZE, "create_only": True}),
            "folder": ("make_directory", {"path": f"m/{call_id}"}),
            "command": ("run_command", {"command": f"echo {call_id} >> ran"}),
        }[kind]
        return self.gate.line(name, args, call_id)

    def send_one(self, kind):
        call_id, line = self.make(kind)
        self.gate.send_raw(line)
        return call_id

    def refill(self):
        lines = []
        held = sum(kind == "command" for kind in self.pending.values())
        while held < HELD and self.chapter.wanted("command"):
            lines.append(self.make("command")[1])
            held += 1
        while len(self.pending) - held < IN_FLIGHT:
            write = self.chapter.wanted("write") and self.chapter.rng.random() < 0.7
            lines.append(self.make("write" if write else "folder")[1])
        self.gate.send_raw(b"".join(lines))

    def take(self):
        answers, self.gate.answers = self.gate.answers, []
        for answer in answers:
            kind = self.pending.pop(answer["id"])
            result = answer["result"]
            code = "ok" if result["ok"] else result["error"]["code"]
            self.chapter.answered[answer["id"]] = code
            self.chapter.good[kind] += code == "ok"
            good = code in ("ok", "INTERRUPTED") or code in REFUSALS.get(kind, ())
            check(good, f"{kind} {answer['id']}: {short(result)}")

    def approve(self, always=False):
        """The approver at this gate's own lines: most of the time a yes, sometimes twice, sometimes nothing."""
        rng = self.chapter.rng
        events, self.heard = self.gate.events[self.heard :], len(self.gate.events)
        for event in events:
            if event["event"] != "approval" or (not always and rng.random() < 0.4):
                continue
            words = [json.dumps({"approve": event["requestId"]}), f"/approve {event['requestId']}"]
            no = json.dumps({"deny": event["requestId"]})
            said = words[:1] if always else [rng.choice([*words, *words, no]) for _ in range(rng.choice((1, 1, 2)))]
            self.gate.send_raw("".join(word + "\n" for word in said).encode())

    def wait_for(self, call_id):
        """The answer to one call; whatever is asked meanwhile is approved."""
        while call_id in self.pending:
            self.gate.pump(until=lambda: self.gate.answers or len(self.gate.events) > self.heard)
            self.approve(always=True)
            self.take()
        return self.chapter.answered[call_id]

    def check_alive(self):
        code = self.wait_for(self.send_one("look"))
        check(code == "ok", f"it answers {code}")

    def read_to_end(self):
        while not self.gate.closed:
            check(select.select([self.gate.out], [], [], lib.SECONDS)[0], "its output did not end")
            self.gate.read()
        self.take()

    def kill(self):
        """What it answered before counts."""
        self.gate.kill()
        self.read_to_end()
        self.gate.end()

    def finish(self):
        self.gate.close_input()
        self.read_to_end()
        check(self.gate.wait_exit() == 0, f"the gate did not end well; {self.gate.said()}")


def run_for(chapter, lives, seconds):
    """Everything at once: calls, answers, approvals from both sides."""
    end = time.monotonic() + seconds
    while True:
        for life in lives:
            life.refill()
        rest = end - time.monotonic()
        if rest <= 0:
            return
        ready = select.select([life.gate.out for life in lives], [], [], min(rest, 0.02))[0]
        for life in lives:
            if life.gate.out in ready:
                life.gate.read()
                life.take()
            if life.approver:
                life.approve()
        if chapter.rng.random() < 0.3:
            chapter.approve_outside()


def replace(chapter, lives, at):
    """The next gate works, whatever the killed one left. One in four is killed while it starts, before that is seen."""
    kills = 1
    while chapter.rng.random() < 0.25:
        life = chapter.gate(False)
        time.sleep(chapter.rng.random() * 0.02)
        life.kill()
        kills += 1
    lives[at] = chapter.gate(chapter.rng.random() < 0.5)
    lives[at].check_alive()
    return kills


def hold(chapter, life):
    """Stop its worker with at least one call under way: what is killed next cuts it off, however fast the machine is."""
    life.check_alive()  # with a cell, then
    os.kill(life.gate.worker(), signal.SIGSTOP)
    call_id = life.send_one("look")
    mark = f'"{call_id}"'.encode()
    logs = chapter.state / "audit"
    wait_until(lambda: any(mark in path.read_bytes() for path in logs.glob("*.jsonl")), f"{call_id} is under way")


def kill_in_cell(chapter, lives, life, target):
    """The gate lives on and makes a new cell."""
    life.check_alive()  # with a cell, then
    pid = life.gate.launcher() if target == "launcher" else life.gate.worker()
    run_for(chapter, lives, chapter.rng.random() * LIFE)
    if chapter.rng.random() < HOLD:
        hold(chapter, life)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not lib.status(pid), "the killed process is gone")
    life.check_alive()


def kill_one(chapter, lives, done):
    at = chapter.rng.randrange(len(lives))
    target = chapter.rng.choices(("gate", "both", "launcher", "worker"), (65, 15, 10, 10))[0]
    if target in ("launcher", "worker"):
        kill_in_cell(chapter, lives, lives[at], target)
        done[target] += 1
        return
    run_for(chapter, lives, chapter.rng.random() * LIFE)
    which = (at, 1 - at) if target == "both" else (at,)
    if chapter.rng.random() < HOLD:
        hold(chapter, lives[at])
    for i in which:
        lives[i].gate.kill()
    for i in which:
        lives[i].kill()
    for i in which:
        done["gate"] += replace(chapter, lives, i)


def run_chapter(form, number, kills, rng, total):
    chapter = Chapter(form, number, rng)
    lives = [chapter.gate(approver) for approver in (True, False)]
    done = {"gate": 0, "launcher": 0, "worker": 0}
    try:
        for life in lives:
            life.check_alive()
        while sum(done.values()) < kills:
            kill_one(chapter, lives, done)
            chapter.progress = sum(done.values()) / kills
            chapter.look()
        for life in lives:
            life.kill()
        chapter.end_approvers()
        chapter.use_up()
        calls = chapter.check_all()
    finally:
        chapter.end_approvers()
        for life in lives:
            life.gate.process.kill()
    total.update(done)
    total["cut off"] += sum(record["kind"] == "call.interrupted" for record in calls.ends.values())
    total["told so"] += sum(code == "INTERRUPTED" for code in chapter.answered.values())
    total["ran"] += len(calls.intents)
    total["windows"] += chapter.compared


def main():
    tap = lib.Tap()
    found = lib.forms()
    for form in found:
        rng = random.Random(SEED)
        total = collections.Counter()
        kills = KILLS // len(found)
        for number, begin in enumerate(range(0, kills, CHAPTER)):
            what = "limits, approvals and log hold"
            with tap.case(f"{form.name}: kills {begin} to {begin + CHAPTER}: {what} (seed {SEED})"):
                run_chapter(form, number, CHAPTER, rng, total)
        lib.note(f"{form.name}: {dict(total)}")
        with tap.case(f"{form.name}: the kills hit calls under way"):
            check(total["cut off"] > kills / 10 and total["told so"] and total["windows"], f"{dict(total)}")
    tap.done()


if __name__ == "__main__":
    main()
