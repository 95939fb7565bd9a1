#!/usr/bin/env python3
"""What a command prints reaches its caller while it runs: `stdio`, calls that are passed on, `mcp`."""
# timeout: 200

import json
import re

import lib
from lib import Gate, check, short, wait_until

WAIT = "until [ -e go ]; do sleep 0.01; done"
PIECE_BYTES = 64 << 10
UNSENT_MAX = 4 << 20
MESSAGE_MAX = 4 << 10
GROWTH_MB = 40


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder("stream-home", 0o700)
        self.workspace = form.folder("stream-ws", 0o777)

    def gate(self, *options):
        return Gate(self.form, *options, workspace=self.workspace, state=self.home)

    def file(self, name):
        """A name that nothing has."""
        path = self.workspace / name
        path.unlink(missing_ok=True)
        return path

    def go(self):
        self.form.write(self.workspace / "go", "")


def events_of(gate, call_id):
    """The events of one call, each as it must be."""
    found = [event for event in gate.events if event["id"] == call_id]
    for event in found:
        check(event["event"] == "output" and event["stream"] in ("stdout", "stderr"), short(event))
        check(set(event) - {"skipped"} == {"id", "event", "stream", "data"}, short(event))
        check(event.get("skipped", 1) > 0 and (event["data"] or "skipped" in event), short(event))
        check(len(event["data"]) <= PIECE_BYTES, f"{len(event['data'])} characters in one piece")
    return found


def text_of(gate, call_id, stream):
    return "".join(event["data"] for event in events_of(gate, call_id) if event["stream"] == stream)


def heard(gate, call_id, stream, text):
    """Waits until that much has come of a stream."""
    gate.pump(until=lambda: len(text_of(gate, call_id, stream)) >= len(text))
    check(text_of(gate, call_id, stream) == text, short(gate.events))


def run(gate, command, **more):
    """A command to its end; its result, which must be what was told on the way."""
    call_id = gate.send("run_command", command=command, **more)
    result = gate.wait(call_id)["result"]
    for stream in ("stdout", "stderr"):
        told = text_of(gate, call_id, stream)
        check(told == result[stream], f"{stream}: told {short(told)}, answered {short(result[stream])}")
    return call_id, result


def before_the_answer(place):
    place.file("go")
    with place.gate() as gate:
        call_id = gate.send("run_command", command=f"echo one; {WAIT}; echo two; echo wrong >&2")
        heard(gate, call_id, "stdout", "one\n")
        check(not gate.answers, short(gate.answers))
        check(gate.call("stat", path=".")["ok"], "other calls are answered meanwhile")
        place.go()
        result = gate.wait(call_id)["result"]
        check((result["stdout"], result["stderr"]) == ("one\ntwo\n", "wrong\n"), short(result))
        check(text_of(gate, call_id, "stdout") == "one\ntwo\n", short(gate.events))
        check(text_of(gate, call_id, "stderr") == "wrong\n", short(gate.events))


def whose(place):
    """Ids as they came; a call without one is told nothing about."""
    with place.gate() as gate:
        ids = [1, "1", "é\n", -5]
        for number, call_id in enumerate(ids):
            gate.send("run_command", call_id=call_id, command=f"echo {number}")
        for number, call_id in enumerate(ids):
            gate.pump(until=lambda: any(is_id(answer, call_id) for answer in gate.answers))
            told = [event["data"] for event in gate.events if is_id(event, call_id)]
            check(told == [f"{number}\n"], f"{call_id!r}: {told}")
        gate.answers, gate.events = [], []
        gate.send_raw(b'{"tool_call":{"name":"run_command","arguments":{"command":"echo none"}}}\n')
        check(gate.any_answer()["result"]["result"]["stdout"] == "none\n", "answered")
        check(not gate.events, short(gate.events))


def is_id(message, call_id):
    return message["id"] == call_id and type(message["id"]) is type(call_id)


def characters(place):
    place.file("go")
    with place.gate() as gate:
        call_id = gate.send("run_command", command=f"printf 'a\\342\\202'; printf 'b\\360' >&2; {WAIT}; "
                            r"printf '\254c\303'; printf '\237\230\200d' >&2")
        heard(gate, call_id, "stdout", "a")
        heard(gate, call_id, "stderr", "b")
        place.go()
        result = gate.wait(call_id)["result"]
        # The last one never became whole.
        check((result["stdout"], result["stderr"]) == ("a€c\ufffd", "b😀d"), short(result))
        check(text_of(gate, call_id, "stdout") == "a€c\ufffd", short(gate.events))
        check(text_of(gate, call_id, "stderr") == "b😀d", short(gate.events))


def bytes_and_lengths(place):
    with place.gate() as gate:
        _, result = run(gate, "head -c 300000 /dev/urandom", max_output=1000000)
        check("\ufffd" in result["stdout"], "random bytes are hardly ever UTF-8")
        _, result = run(gate, r"yes 'a€😀' | head -c 500000; yes '\0é' | head -c 400000 >&2", max_output=1000000)
        check(len(result["stdout"].encode()) >= 500000, len(result["stdout"]))
        _, result = run(gate, "for i in {1..3000}; do printf $i; printf é >&2; done")
        check(result["stderr"] == "é" * 3000, short(result))
        run(gate, "head -c 100 /dev/zero; exec head -c 100 /dev/zero >&2")
        call_id, result = run(gate, "true")
        check(not events_of(gate, call_id) and result["exit_code"] == 0, short(gate.events))


def cancelled(place):
    with place.gate() as gate:
        call_id = gate.send("run_command", command="echo begun; while :; do echo more; sleep 0.01; done")
        gate.pump(until=lambda: "more\nmore\n" in text_of(gate, call_id, "stdout"))
        gate.send_raw(json.dumps({"cancel": call_id}).encode() + b"\n")
        lib.expect_error(gate.wait(call_id), "CANCELLED")
        before = len(gate.events)
        check(text_of(gate, call_id, "stdout").startswith("begun\nmore\n"), short(gate.events))
        run(gate, "echo next")
        check(len(gate.events) == before + 1, "none comes behind the answer")


def unread(place):
    """The gate goes on and does not grow; what it could not tell it counts."""
    with place.gate() as gate:
        run(gate, "true")
        done = place.file("done")
        before = lib.peak_mb(gate.pid)
        call_id = gate.send("run_command", command="yes | head -c 20000000; touch done; echo end")
        wait_until(done.exists, "the command is done, though nobody reads")
        after = lib.peak_mb(gate.pid)
        check(after - before < GROWTH_MB, f"from {before} to {after} MB")
        result = gate.wait(call_id)["result"]
        check(result["stdout"].endswith("y\nend\n") and result["truncated"], short(result))
        told = events_of(gate, call_id)
        sent = sum(len(event["data"]) for event in told)
        skipped = sum(event.get("skipped", 0) for event in told)
        (marker,) = re.findall(r"\[\.\.\. (\d+) bytes left out \.\.\.\]\n", result["stdout"])
        total = len(re.sub(r"\[\.\.\. .*\n", "", result["stdout"])) + int(marker)
        # A sanitized gate is slow enough for nothing to be left out.
        check((skipped > 0 or lib.SANITIZED) and sent + skipped == total, f"{sent} told, {skipped} left out, {total} printed")
        check(sent < 2 * UNSENT_MAX, f"{sent} bytes waited")
        run(gate, "echo again")


def formats(place):
    """The others have no place for events."""
    line = {"type": "tool_use", "id": "a", "name": "run_command", "input": {"command": "echo one"}}
    with place.gate("--format", "anthropic") as gate:
        gate.send_raw(json.dumps(line).encode() + b"\n")
        check("one" in gate.any_answer()["content"], "answered")
        check(not gate.events, short(gate.events))
    # The other dialects have.
    with place.gate("--dialect", "runner") as gate:
        call_id = gate.send("shell", command="echo one")
        check(gate.wait(call_id) == "one\n", "answered")
        check(text_of(gate, call_id, "stdout") == "one\n", short(gate.events))


def passed_on(place):
    form = place.form
    made = form.run(place.home, "session", "create", "--workspace", place.workspace)
    check(made.returncode == 0, made.stderr)
    session = ["--session", made.stdout.decode().strip()]
    with Gate(form, *session, state=place.home) as owner, Gate(form, *session, state=place.home) as guest:
        owner.ok("stat", path=".")
        place.file("go")
        call_id = guest.send("run_command", command=f"echo one; {WAIT}; echo two >&2")
        heard(guest, call_id, "stdout", "one\n")
        place.go()
        check(guest.wait(call_id)["result"]["stderr"] == "two\n", "answered")
        check(text_of(guest, call_id, "stderr") == "two\n", short(guest.events))
        run(guest, "yes | head -c 300000", max_output=1000000)
        arguments = '{"command":"echo one; sleep 0.1; echo two; exit 3"}'
        done = form.run(place.home, "call", "run_command", arguments, *session)
        answer = json.loads(done.stdout)
        check(done.returncode == 0 and answer["result"]["stdout"] == "one\ntwo\n", f"{done}")
        check(not owner.events, "the owner is told about its own calls only")


class Server(Gate):
    command = "mcp"

    def __init__(self, place):
        super().__init__(place.form, "--structured", workspace=place.workspace, state=place.home)
        client = {"name": "test", "version": "1"}
        self.post("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}, call_id=0)
        self.any_answer()

    def post(self, method, params, **more):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if "call_id" in more:
            message["id"] = more["call_id"]
        self.send_raw(json.dumps(message).encode() + b"\n")

    def run(self, call_id, command, meta=None):
        params = {"name": "run_command", "arguments": {"command": command}}
        self.post("tools/call", {**params, "_meta": meta} if meta else params, call_id=call_id)

    def progress(self, token):
        """What was told about one call so far."""
        found = [m["params"] for m in self.answers if m.get("method") == "notifications/progress"]
        check(all(p["progressToken"] == token and type(p["progressToken"]) is type(token) for p in found), short(found))
        return found

    def result(self, call_id):
        """The answer, and how many messages came before it."""
        self.pump(until=lambda: any(m.get("id") == call_id for m in self.answers))
        (at,) = (n for n, m in enumerate(self.answers) if m.get("id") == call_id)
        return self.answers[at]["result"]["structuredContent"], at


def progress(place):
    place.file("go")
    with Server(place) as server:
        server.run(1, f"echo one; {WAIT}; echo two >&2; sleep 0.1; seq 20000", {"progressToken": "é"})
        server.pump(until=lambda: server.answers)
        check(server.progress("é") == [{"progressToken": "é", "progress": 4, "message": "one\n"}], short(server.answers))
        place.go()
        result, before = server.result(1)
        told = server.progress("é")
        counts = [params["progress"] for params in told]
        check(len(told) == before and counts == sorted(set(counts)), f"{before} before the answer: {counts}")
        check(told[1]["message"] == "two\n", short(told))
        check(told[-1]["message"].endswith("\n20000\n"), short(told[-1]))
        check(all(len(params["message"]) <= MESSAGE_MAX for params in told), "the pieces are short")
        check(counts[-1] == 8 + len("\n".join(map(str, range(1, 20001)))) + 1, f"{counts[-1]} bytes")
        check(result["exit_code"] == 0, short(result))


def progress_not_wanted(place):
    with Server(place) as server:
        for number, meta in enumerate((None, {}, {"progressToken": {}}), 1):
            server.run(number, "echo one", meta)
            check(server.result(number)[0]["stdout"] == "one\n" and len(server.answers) == 1, short(server.answers))
            server.answers = []
        server.run(9, "while :; do echo more; sleep 0.01; done", {"progressToken": 9})
        server.pump(until=lambda: len(server.progress(9)) > 1)
        server.post("notifications/cancelled", {"requestId": 9})
        server.post("ping", {}, call_id=10)
        server.pump(until=lambda: any(m.get("id") == 10 for m in server.answers))
        check("method" not in server.answers[-1], "none comes behind the cancel")
        server.answers = []
        server.run(11, "sleep 0.2")
        server.result(11)
        check(len(server.answers) == 1, short(server.answers))


def progress_unread(place):
    with Server(place) as server:
        server.run(1, "true")
        server.result(1)
        done = place.file("done")
        before = lib.peak_mb(server.pid)
        server.run(2, "yes | head -c 20000000; touch done", {"progressToken": 7})
        wait_until(done.exists, "the command is done, though nobody reads")
        after = lib.peak_mb(server.pid)
        check(after - before < GROWTH_MB, f"from {before} to {after} MB")
        server.answers = []
        check(server.result(2)[0]["exit_code"] == 0, "answered")
        counts = [params["progress"] for params in server.progress(7)]
        check(len(counts) > 10 and counts == sorted(set(counts)), f"{counts[:20]}")


CASES = [
    ("pieces come before the answer, and the streams apart", before_the_answer),
    ("each piece says whose it is", whose),
    ("a character that comes in two writes is told as one", characters),
    ("bytes that are not UTF-8, long output, many small pieces", bytes_and_lengths),
    ("a call that is cancelled in the middle", cancelled),
    ("a reader that does not read", unread),
    ("other formats, another dialect", formats),
    ("calls that are passed on", passed_on),
    ("mcp: progress", progress),
    ("mcp: no progress where none is wanted", progress_not_wanted),
    ("mcp: a reader that does not read", progress_unread),
]


lib.run_cases(CASES, Place)
