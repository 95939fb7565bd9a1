#!/usr/bin/env python3
"""Calls that wait for a yes, and everything that can happen to them, in random orders.

Two gates with identical calls, three ways to approve, callers that cancel, die or send the same again, gates that are
killed or ended: a call runs at most once and only by a yes of its own, one yes is good for one run, and the caller, the
log and the table of approvals agree about all of it.
"""
# timeout: 400

import collections
import itertools
import json
import random
import signal
import subprocess
import time

import books
import lib
from lib import Gate, check, short, wait_until

ROUNDS = 3000 if lib.SOAK else 320
TIMEOUT_MS = 500
SEED = lib.seed()
UNSET = {"SANDGATE_APPROVAL_DEFAULT": None}
# What a caller is told, by what became of its request.
TOLD = {
    "used": {"ok", "CANCELLED", "INTERRUPTED"},
    "approved": {"CANCELLED"},  # the yes came, and then the caller's word before it was used
    "denied": {"APPROVAL_DENIED", "CANCELLED"},
    "timed_out": {"APPROVAL_TIMEOUT"},
    "cancelled": {"CANCELLED"},
}


WAYS = ("lines", "chat", "process", "process in chat words")
EVERYTHING = [
    *(f"{verb} by {way}" for verb in ("approve", "deny") for way in WAYS),
    "used", "denied", "timed_out", "cancelled", "cancel", "kill", "end", "leave",
]  # fmt: skip


class Call:
    def __init__(self, call_id, door, word):
        self.id = call_id
        self.door = door
        self.word = word  # what it writes when it runs; identical calls have the same
        self.request = None
        self.answer = None  # `ok` or the error's code
        self.cancelled = False
        self.words = []  # verbs that were said on the approver's lines
        self.sent = []  # (verb, process)


class Door:
    """A gate that can be opened again after its end."""

    def __init__(self, place, *options):
        self.place = place
        self.options = options
        self.gate = None
        self.open()

    def open(self):
        if self.gate:
            self.gate.end()
        self.hurt = False  # ended, or being ended
        self.killed = False
        self.left = False  # nobody is at its pipes
        self.cells = []
        self.sync = None  # the call that shows how far it has read
        self.gate = self.place.gate(*self.options)
        self.gate.wait(self.gate.send("time.now", call_id=f"s{next(self.place.numbers)}"))

    def hurting(self):
        self.hurt = True
        self.cells = lib.children(self.gate.pid)

    def say(self, text):
        """False: nobody hears it any more."""
        if self.left:
            return False
        try:
            self.gate.send_raw(text.encode() + b"\n")
        except lib.Gone:
            return False
        return True

    def complaints(self, request):
        return sum(e["event"] == "error" and e["requestId"] == request for e in self.gate.events)


class Place:
    def __init__(self, form, rng):
        self.form = form
        self.rng = rng
        self.home = form.folder("random/home", 0o700)
        self.workspace = form.folder("random/ws")
        self.state = self.home / "sandgate"
        rules = [{"toolName": "run_command", "action": "prompt"}]
        config = {"approval": {"default": "approve", "timeoutMs": TIMEOUT_MS, "rules": rules}}
        self.config = form.write(form.base / "random/config.json", json.dumps(config))
        self.numbers = itertools.count(1)
        # In a session with a name a call is the same call in the next gate too, down to its digest.
        named = form.run(self.home, "session", "create", "--workspace", self.workspace).stdout.decode().strip()
        self.doors = [Door(self, "--approver", "--session", named), Door(self, "--workspace", self.workspace)]
        self.rows = {}  # of all rounds
        self.calls = {}
        self.old = []  # requests that are over
        self.seen = collections.Counter()

    def gate(self, *options):
        return Gate(self.form, "--config", self.config, *options, state=self.home, env=UNSET)

    def ran(self, word):
        path = self.workspace / "ran"
        return path.read_text(encoding="ascii").splitlines().count(word) if path.exists() else 0

    def make(self, door, word):
        call = Call(f"c{next(self.numbers)}", door, word)
        door.gate.send("run_command", call_id=call.id, command=f"echo {word} >> ran")
        self.calls[call.id] = call
        return call

    def find(self, calls):
        """Waits until all of them are asked about."""

        def look():
            known = {row["caller_id"]: row["id"] for row in books.ask(
                self.state, "SELECT id, caller_id FROM approval ORDER BY seq DESC LIMIT 20")}  # fmt: skip
            for call in calls:
                call.request = known.get(call.id)
            return all(call.request for call in calls)

        wait_until(look, "everyone is asked about")

    def start(self, verb, *words):
        return subprocess.Popen(
            [str(self.form.binary), verb, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, cwd="/", env=lib.environment(self.home), **self.form.identity(),
        )  # fmt: skip

    # what can happen

    def decide(self, call, verb=None):
        """One of the three ways: the lines of the approver's gate, as JSON or as in a chat, or another process."""
        verb = verb or self.rng.choice(("approve", "approve", "deny"))
        way = self.rng.choice(WAYS)
        self.seen[f"{verb} by {way}"] += 1
        if way in ("lines", "chat"):
            line = json.dumps({verb: call.request}) if way == "lines" else f"/{verb} {call.request}"
            if self.doors[0].say(line):
                call.words.append(verb)
            return
        words = [call.request] if way == "process" else [f"/{verb}", call.request]
        call.sent.append((verb, self.start(verb, *words)))

    def cancel(self, call):
        self.seen["cancel"] += 1
        call.cancelled = call.door.say(json.dumps({"cancel": call.id})) or call.cancelled

    def kill(self, call):
        self.seen["kill"] += 1
        call.door.hurting()
        call.door.killed = True
        call.door.gate.kill()

    def end(self, call):
        self.seen["end"] += 1
        call.door.hurting()
        call.door.gate.kill(signal.SIGTERM)

    def leave(self, call):
        """The client dies, and its pipes with it."""
        self.seen["leave"] += 1
        call.door.hurting()
        call.door.left = True
        self.take(call.door)
        call.door.gate.close_input()
        call.door.gate.process.stdout.close()

    def stale(self, _call):
        """A yes for what is long over."""
        if self.old:
            self.refused_again(self.rng.choice(self.old))

    def take(self, door):
        gate = door.gate
        while gate.answers:
            answer = gate.answers.pop(0)
            if answer["id"] in self.calls:
                result = answer["result"]
                self.calls[answer["id"]].answer = "ok" if result["ok"] else result["error"]["code"]
            else:
                check(answer["id"] == door.sync, f"an answer to no call: {short(answer)}")
                door.sync = None

    # the ends of a round

    def sync(self, door):
        """All lines so far were read."""
        door.sync = f"s{next(self.numbers)}"
        door.gate.send("time.now", call_id=door.sync)
        while door.sync:
            door.gate.pump(until=lambda: door.gate.answers)
            self.take(door)

    def settle(self, calls):
        for call in calls:
            for verb, process in call.sent:
                process.communicate(timeout=lib.SECONDS)
        for door in self.doors:
            if door.hurt:
                self.settle_hurt(door)
                continue
            self.sync(door)
            mine = [call for call in calls if call.door is door]
            while any(call.answer is None for call in mine):
                door.gate.pump(until=lambda: door.gate.answers)
                self.take(door)

    def settle_hurt(self, door):
        """Its last words, and the end of what it ran: a cell's processes end before its first one does."""
        gate = door.gate
        if not door.left:
            gate.answers = gate.drain()
            self.take(door)
        gate.wait_exit()
        wait_until(lambda: not any(lib.alive(pid) for pid in door.cells), "the gate's cell ended with it")

    # what must hold

    def check_call(self, call, row, heard):
        """heard: the approver's gate lived through the round and has read every line."""
        state = row["state"]
        self.seen[state] += 1
        self.rows[row["id"]] = row
        check(row["caller_id"] == call.id, f"{short(row)} for {call.id}")
        check(state in TOLD or call.door.killed, f"{call.id} is {state}, and its gate was not killed")
        if call.answer:
            check(call.answer in TOLD[state], f"{call.id} was told {call.answer}, and it is {state}")
            check(call.answer != "CANCELLED" or call.cancelled or call.door.hurt, f"{call.id}: nobody cancelled it")
        won = [verb for verb, process in call.sent if process.returncode == 0]
        wanted = {"used": "approve", "approved": "approve", "denied": "deny"}.get(state)
        check(set(won) <= {wanted}, f"{won} succeeded, and it is {state}")
        lines = len(call.words) - self.doors[0].complaints(call.request)
        if heard:
            check(len(won) + lines == bool(wanted), f"{won} and {lines} of {call.words} succeeded, and it is {state}")
        check(wanted is None or wanted in won + call.words, f"{state}, and nobody said so: {short(row)}")
        by = row["decided_by"] or ""
        check(not won or by.endswith(f" by sandgate {wanted}"), f"{won} succeeded, and it was {by!r}")
        check(state in ("used", "denied", "approved") or not by, f"{state} by {by!r}")

    def check_round(self, calls, heard):
        states = {}
        for call in calls:
            row = books.ask(self.state, "SELECT * FROM approval WHERE id = ?", call.request)[0]
            self.check_call(call, row, heard)
            states[call.id] = row["state"]
        for word in {call.word for call in calls}:
            mine = [call for call in calls if call.word == word]
            used = sum(states[call.id] == "used" for call in mine)
            good = sum(call.answer == "ok" for call in mine)
            unsure = sum(states[call.id] == "used" and call.answer != "ok" for call in mine)
            ran = self.ran(word)
            check(good <= ran <= good + unsure and ran <= used, f"{word} ran {ran} times: {states}, {good} told ok")

    def check_log(self):
        for door in self.doors:
            door.gate.kill()
            door.gate.end()
        # One more finds what those left.
        with self.gate("--workspace", self.workspace) as gate:
            gate.ok("time.now")
            gate.close_input()
            check(gate.wait_exit() == 0, "exit status")
        calls = books.Calls(books.log(self.state))
        books.verify(self.form, self.home)
        calls.check_approvals(self.rows)
        for call in self.calls.values():
            state = self.rows[call.request]["state"]
            check(state == "used" or call.id not in calls.intents, f"{call.id} is {state} and yet began")
            if call.answer:
                calls.check_answer(call.id, call.answer)

    def refused_again(self, request):
        """Nobody's yes counts twice, nor after a no."""
        if self.rng.random() < 0.5 and not self.doors[0].hurt:
            door = self.doors[0]
            before = door.complaints(request)
            door.say(json.dumps({"approve": request}))
            self.sync(door)
            check(door.complaints(request) == before + 1, f"{request} was approved again")
            return
        process = self.start("approve", request)
        said = process.communicate(timeout=lib.SECONDS)[0]
        check(process.returncode == 1 and len(said) > 20, f"{request} was approved again: {said!r}")

    def replay(self, old):
        """The same call again: it waits again, and what was said before is no word about it."""
        before = self.ran(old.word)
        door = self.rng.choice(self.doors)
        call = self.make(door, old.word)
        self.find([call])
        check(call.request != old.request, "one request for two calls")
        self.refused_again(old.request)
        row = books.ask(self.state, "SELECT state FROM approval WHERE id = ?", call.request)[0]
        check(row["state"] in ("waiting", "timed_out") and self.ran(old.word) == before, f"replayed: {row}")
        yes = self.rng.random() < 0.3
        self.decide(call, "approve") if yes else self.cancel(call)
        self.settle([call])
        row = books.ask(self.state, "SELECT * FROM approval WHERE id = ?", call.request)[0]
        self.check_call(call, row, True)
        check(self.ran(old.word) == before + (call.answer == "ok"), f"replayed: {call.answer}")
        self.old.append(call.request)


def one_round(place, number):
    rng = place.rng
    words = [f"w{number}-{i}" for i in range(3)]
    same = rng.random() < 0.5
    calls = [place.make(rng.choice(place.doors), words[0] if same else words[i]) for i in range(rng.randint(1, 3))]
    place.find(calls)
    events = [place.decide] * 6 + [place.cancel, place.stale]
    ends = [place.kill, place.end, place.leave]
    plan = [(rng.choice(events), rng.choice(calls)) for _ in range(rng.randint(0, 3))]
    plan += [(place.decide, call) for call in calls if rng.random() < 0.9]
    if number % 10 == 0:
        plan = []  # nobody says anything
    if number % 7 == 0:
        plan.append((ends[number // 7 % 3], rng.choice(calls)))
    rng.shuffle(plan)
    for happens, call in plan:
        if happens in (*ends, place.cancel) and call.door.hurt:
            continue
        happens(call)
        time.sleep(rng.choice((0, 0, 0, 0.002, 0.02, 0.06)))
    place.settle(calls)
    place.check_round(calls, heard=not place.doors[0].hurt)
    for door in place.doors:
        if door.hurt:
            door.open()
    place.old = (place.old + [call.request for call in calls])[-50:]
    if rng.random() < 0.35:
        place.replay(rng.choice(calls))


def rounds(tap, form, count):
    place = Place(form, random.Random(SEED))
    with tap.case(f"{form.name}: {count} rounds: one yes, one run (seed {SEED})"):
        for number in range(count):
            try:
                one_round(place, number)
            except Exception as error:
                raise AssertionError(f"round {number}: {error!r}") from error
    with tap.case(f"{form.name}: log and table agree with what callers were told"):
        place.check_log()
    lib.note(f"{form.name}: {dict(sorted(place.seen.items()))}")
    with tap.case(f"{form.name}: everything happened that can"):
        missing = [what for what in EVERYTHING if not place.seen[what]]
        check(not missing, f"never happened: {missing}")


def main():
    tap = lib.Tap()
    found = lib.forms()
    for form in found:
        rounds(tap, form, ROUNDS // len(found))
    tap.done()


if __name__ == "__main__":
    main()
