#!/usr/bin/python3
"""One gate, many sessions and many clients: each call in the session that it names, nobody waits for all of another's."""
import fcntl
import json
import os
import signal

import lib
from lib import Gate, check

FLOOD = 600


class Place:
    """Workspaces with a session for each, and a state folder of its own for one case."""

    def __init__(self, form, name):
        self.form = form
        self.name = name
        self.home = form.folder(f"{name}-home", 0o700)
        self.sessions = {}

    def make(self, name):
        folder = self.form.folder(f"{self.name}-{name}")
        self.form.write(folder / "name.txt", f"{name}\n")
        made = self.form.run(self.home, "session", "create", "--workspace", folder)
        check(made.returncode == 0, made.stderr)
        self.sessions[name] = made.stdout.decode().strip()
        return folder

    def gate(self, *options, workspace=None, env=None):
        return Gate(self.form, *options, workspace=workspace, state=self.home, env=env)

    def call(self, name, tool, **arguments):
        done = self.form.run(self.home, "call", tool, json.dumps(arguments), "--session", self.sessions[name])
        check(done.stdout, done.stderr)
        return json.loads(done.stdout)


def send_in(gate, session, tool, **arguments):
    gate.next_id += 1
    line = {"id": str(gate.next_id), "session": session, "tool_call": {"name": tool, "arguments": arguments}}
    gate.pump(json.dumps(line).encode() + b"\n")
    return str(gate.next_id)


def in_session(gate, session, tool, **arguments):
    return gate.wait(send_in(gate, session, tool, **arguments))


def content(result):
    check(result.get("ok") is True, result)
    return result["result"]["content"]


def refused(result, code, reason=None):
    check(result.get("ok") is False and result["error"]["code"] == code, result)
    check(reason is None or result["error"]["details"].get("reason") == reason, result)


def each_in_its_own(place):
    folders = {name: place.make(name) for name in ("a", "b", "c")}
    own = place.form.folder("each-own")
    place.form.write(own / "name.txt", "own\n")
    with place.gate("--sessions", "*", workspace=own) as gate:
        for name in ("a", "b", "c", "a"):
            check(content(in_session(gate, place.sessions[name], "read_file", path="name.txt")) == f"{name}\n", name)
        check(content(gate.call("read_file", path="name.txt")) == "own\n", "the gate's own")
        for name in ("a", "c"):
            ran = in_session(gate, place.sessions[name], "run_command", command="cat name.txt; echo made > made.txt")
            check(ran["ok"] and ran["result"]["stdout"] == f"{name}\n", ran)
            check((folders[name] / "made.txt").read_text() == "made\n", name)
        check(not (folders["b"] / "made.txt").exists(), "b was not touched")
        pwd = in_session(gate, place.sessions["b"], "run_command", command=f"ls {folders['a']} {folders['b']}/../..")
        check("made.txt" not in pwd["result"]["stdout"], pwd)
    said = [
        json.loads(line)
        for file in (place.home / "sandgate" / "audit").glob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    seen = {r.get("session") for r in said if r["kind"] == "call.intent"}
    check(seen >= set(place.sessions.values()), f"records name the sessions: {seen}")


def only_listed(place):
    place.make("a")
    place.make("b")
    own = place.form.folder("listed-own")
    a, b = place.sessions["a"], place.sessions["b"]
    with place.gate("--sessions", f"x,{a}", workspace=own) as gate:
        check(content(in_session(gate, a, "read_file", path="name.txt")) == "a\n", "listed")
        refused(in_session(gate, b, "read_file", path="name.txt"), "INVALID_ARGUMENTS", "session_not_listed")
        refused(in_session(gate, "x", "read_file", path="name.txt"), "SESSION_NOT_FOUND")
        for odd in (7, "", ["a"], "a\0b", "x" * 300, {"id": a}):
            refused(in_session(gate, odd, "read_file", path="name.txt"), "INVALID_ARGUMENTS")
        refused(in_session(gate, "../" + a, "read_file", path="name.txt"), "INVALID_ARGUMENTS")
        refused(in_session(gate, None, "read_file", path="name.txt"), "NOT_FOUND")
    with place.gate(workspace=own) as gate:
        refused(in_session(gate, a, "read_file", path="name.txt"), "INVALID_ARGUMENTS", "session_not_listed")
    # The one that the gate was started for may always be named.
    with place.gate("--session", b) as gate:
        check(content(in_session(gate, b, "read_file", path="name.txt")) == "b\n", "its own")
        refused(in_session(gate, a, "read_file", path="name.txt"), "INVALID_ARGUMENTS", "session_not_listed")
    with place.gate("--sessions", "*", workspace=own) as gate:
        refused(in_session(gate, "../" + a, "read_file", path="name.txt"), "SESSION_NOT_FOUND")


def toolhost_runs(place):
    place.make("a")
    project, state = place.form.folder("run-project"), place.form.folder("run-state")
    options = ("--dialect", "toolhost", "--project", project, "--state", state, "--sessions", "*")
    with place.gate(*options) as gate:
        said = in_session(gate, place.sessions["a"], "fs.list", path="@project")
        check(said["ok"] is False and "--state" in said["error"]["message"], said)


def one_owner(place):
    place.make("a")
    a = place.sessions["a"]
    own = place.form.folder("owner-own")
    with place.gate("--session", a) as owner, place.gate("--sessions", "*", workspace=own) as gate:
        owner.ok("read_file", path="name.txt")
        refused(in_session(gate, a, "read_file", path="name.txt"), "SESSION_BUSY")
        owner.close_input()
        owner.wait_exit()
        check(content(in_session(gate, a, "read_file", path="name.txt")) == "a\n", "free again")
        # Now this gate is the owner, and serves others.
        check(place.call("a", "read_file", path="name.txt")["result"]["content"] == "a\n", "a guest")
        wrote = place.call("a", "write_file", path="by-guest.txt", content="g")
        check(wrote["ok"], wrote)
        check(content(in_session(gate, a, "read_file", path="by-guest.txt")) == "g", "what a guest wrote")
        told = place.form.run(place.home, "stdio", "--session", a, "--sessions", "*")
        check(told.returncode == 2 and b"cannot name other sessions" in told.stderr, told)
    check(place.call("a", "read_file", path="name.txt")["ok"], "given back when the gate ended")


def own_settings(place):
    a = place.make("a")
    place.make("b")
    place.form.write(a / "sandgate.json", json.dumps({"policy": {"rules": [{"toolName": "write_file", "action": "deny"}]}}))
    own = place.form.folder("settings-own")
    with place.gate("--sessions", "*", workspace=own) as gate:
        for _ in range(2):
            refused(
                in_session(gate, place.sessions["a"], "write_file", path="x", content="x"), "POLICY_DENIED"
            )
            check(in_session(gate, place.sessions["b"], "write_file", path="x", content="x")["ok"], "only of its own")
            check(gate.call("write_file", path="x", content="x")["ok"], "only of its own")


def more_than_are_open(place):
    names = [f"s{i}" for i in range(20)]
    for name in names:
        place.make(name)
    own = place.form.folder("many-own")
    with place.gate("--sessions", "*", workspace=own) as gate:
        for name in names:
            check(content(in_session(gate, place.sessions[name], "read_file", path="name.txt")) == f"{name}\n", name)
        listed = json.loads(place.form.run(place.home, "session", "list", "--json").stdout)
        in_use = sum(s["in_use"] for s in listed)
        check(len(listed) == 20 and in_use == 16, f"{in_use} of {len(listed)} are open")
        # One that was closed is opened again.
        check(content(in_session(gate, place.sessions["s0"], "read_file", path="name.txt")) == "s0\n", "again")
        # While something runs in all of them there is no room for another.
        waits = "echo waits; while [ ! -e go ]; do sleep 0.05; done"
        held = [send_in(gate, place.sessions[n], "run_command", command=waits, timeout_ms=600_000) for n in names[:16]]
        gate.pump(until=lambda: sum(e["event"] == "output" for e in gate.events) == 16)
        refused(in_session(gate, place.sessions["s16"], "read_file", path="name.txt"), "SESSION_BUSY")
        for name in names[:16]:
            check(in_session(gate, place.sessions[name], "write_file", path="go", content="")["ok"], name)
        for one in held:
            check(gate.wait(one)["ok"], "a command")
        check(content(in_session(gate, place.sessions["s16"], "read_file", path="name.txt")) == "s16\n", "room again")


def yes_for_one_session(place):
    place.make("a")
    place.make("b")
    own = place.form.folder("yes-own")
    with place.gate(
        "--sessions", "*", "--approver", workspace=own, env={"SANDGATE_APPROVAL_DEFAULT": "prompt"}
    ) as gate:
        a, b = place.sessions["a"], place.sessions["b"]

        def asked(call):
            gate.pump(until=lambda: any(e["event"] == "approval" and e["id"] == call for e in gate.events))
            return next(e["requestId"] for e in gate.events if e["event"] == "approval" and e["id"] == call)

        first = send_in(gate, a, "run_command", command="cat name.txt")
        gate.pump(json.dumps({"approve": asked(first), "scope": "session"}).encode() + b"\n")
        check(gate.wait(first)["result"]["stdout"] == "a\n", "approved")
        check(in_session(gate, a, "run_command", command="cat name.txt")["result"]["stdout"] == "a\n", "and from then on")
        other = send_in(gate, b, "run_command", command="cat name.txt")
        gate.pump(json.dumps({"deny": asked(other)}).encode() + b"\n")
        refused(gate.wait(other), "APPROVAL_DENIED")


def flood(gate, path, count=FLOOD):
    lines = [gate.line("read_file", {"path": path, "max_bytes": 300_000}) for _ in range(count)]
    gate.pump(b"".join(line for _, line in lines))
    return {call for call, _ in lines}


def nobody_starves(place):
    """All are answered. That those of several take turns, tests/unit/test_turns.c shows: here it would hang on time."""
    folder = place.make("a")
    place.form.write(folder / "long.txt", b"x" * 300_000)
    a = place.sessions["a"]
    with place.gate("--session", a) as owner, place.gate("--session", a) as guest, place.gate("--session", a) as third:
        owner.ok("read_file", path="name.txt")
        guest.ok("read_file", path="name.txt")
        third.ok("read_file", path="name.txt")
        for many, one in ((owner, guest), (guest, owner), (guest, third)):
            sent = flood(many, "long.txt")
            check(one.call("read_file", path="name.txt")["ok"], "beside many")
            many.read()
            before = sum(a["id"] in sent for a in many.answers)
            check(before < FLOOD, f"it was answered when all {before} of another's were")
            many.pump(until=lambda many=many, sent=sent: sum(a["id"] in sent for a in many.answers) == FLOOD)
            check(all(a["result"]["ok"] for a in many.answers), "all of them are answered")
            many.answers.clear()


def places_are_kept(place):
    """All the places that one client can have are taken by commands that wait: another still has its own."""
    place.make("a")
    a = place.sessions["a"]
    config = place.home / "config.json"
    place.form.write(config, json.dumps({"limits": {"maxInFlight": 8}}))
    with place.gate("--session", a, "--config", config) as owner, place.gate("--session", a) as guest:
        guest.ok("read_file", path="name.txt")
        for _ in range(12):
            owner.send("run_command", command="echo waits; while [ ! -e go ]; do sleep 0.05; done", timeout_ms=600_000)
        owner.pump(until=lambda: sum(e["event"] == "output" for e in owner.events) >= 4)
        check(guest.call("read_file", path="name.txt")["ok"], "a guest has places of its own")
        check(guest.call("write_file", path="go", content="")["ok"], "and for what ends them")
        done = [owner.any_answer() for _ in range(12)]
        check(all(d["result"]["ok"] for d in done), done)


def reads_pass_locked_writes(place):
    """Writes that wait for a folder that another program has locked take no place from reads."""
    folder = place.make("a")
    a = place.sessions["a"]
    with place.gate("--session", a) as owner, place.gate("--session", a) as guest:
        guest.ok("make_directory", path="locked")
        fd = os.open(folder / "locked", os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        for i in range(12):
            owner.send("write_file", path="locked/x.txt", content=f"{i}\n", append=True)
        check(guest.call("read_file", path="name.txt")["ok"], "beside writes that wait")
        owner.read()
        waiting = 12 - len(owner.answers)
        os.close(fd)
        done = [owner.any_answer() for _ in range(12)]
        check(waiting > 0, "the writes had all ended, so nothing was shown")
        check(all(d["result"]["ok"] or d["result"]["error"]["retryable"] for d in done), done)


def cancelled_in_the_queue(place):
    folder = place.make("a")
    place.form.write(folder / "long.txt", b"x" * 300_000)
    with place.gate("--session", place.sessions["a"]) as gate:
        gate.ok("read_file", path="name.txt")
        sent = sorted(flood(gate, "long.txt", 200), key=int)
        gate.pump(b"".join(json.dumps({"cancel": call}).encode() + b"\n" for call in sent[100:]))
        gate.pump(until=lambda: len(gate.answers) == 200)
        codes = {}
        for answer in gate.answers:
            result = answer["result"]
            code = "ok" if result["ok"] else result["error"]["code"]
            codes[code] = codes.get(code, 0) + 1
        check(set(codes) <= {"ok", "CANCELLED"} and sum(codes.values()) == 200, codes)
        gate.answers.clear()
        gate.ok("read_file", path="name.txt")


def killed_cell(place):
    """Those that were to be sent go to the next cell."""
    folder = place.make("a")
    place.form.write(folder / "long.txt", b"x" * 300_000)
    with place.gate("--session", place.sessions["a"]) as gate:
        gate.ok("read_file", path="name.txt")
        sent = flood(gate, "long.txt", 200)
        os.kill(gate.worker(), signal.SIGKILL)
        gate.pump(until=lambda: sum(a["id"] in sent for a in gate.answers) == 200)
        for answer in gate.answers:
            result = answer["result"]
            check(result["ok"] or result["error"]["code"] == "INTERRUPTED", result)


CASES = (
    each_in_its_own, only_listed, toolhost_runs, one_owner, own_settings, more_than_are_open, yes_for_one_session,
    nobody_starves, places_are_kept, reads_pass_locked_writes, cancelled_in_the_queue, killed_cell,
)


def in_its_place(case):
    return case.__name__.replace("_", " "), lambda form: case(Place(form, case.__name__))


lib.run_cases([in_its_place(case) for case in CASES])
