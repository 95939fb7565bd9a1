#!/usr/bin/python3
"""Guests of a session whose owner is killed, at many moments: every call is answered once, nobody hangs, and nobody
exits with 0 without an answer."""
# timeout: 500

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading

import lib
from lib import Gate, check, wait_until

LONG = 1_000_000


class Place:
    def __init__(self, form, name):
        self.form = form
        self.home = form.folder(f"{name}-home", 0o700)
        self.workspace = form.folder(f"{name}-ws")
        form.write(self.workspace / "a.txt", "alpha\n")
        form.write(self.workspace / "long", b"x" * LONG)
        made = form.run(self.home, "session", "create", "--workspace", self.workspace)
        self.session = made.stdout.decode().strip()

    def owner(self):
        gate = Gate(self.form, "--session", self.session, state=self.home)
        gate.ok("read_file", path="a.txt")
        return gate

    def guest(self, *options):
        return Gate(self.form, "--session", self.session, *options, state=self.home)

    def start(self, tool, *options):
        """A guest for one call, which waits for its arguments."""
        return subprocess.Popen(
            [str(self.form.binary), "call", tool, "-", "--session", self.session, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
            env=lib.environment(self.home), **self.form.identity(),
        )

    def call(self, tool, arguments):
        """The same, running."""
        process = self.start(tool)
        process.stdin.write(json.dumps(arguments).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def intents(self):
        files = (self.home / "sandgate" / "audit").glob("*.jsonl")
        return sum(file.read_bytes().count(b'"kind":"call.intent"') for file in files)


def end(owner, how):
    """As SIGTERM alone does, an owner may also end well."""
    for number in how:
        os.kill(owner.pid, number)
    if how[-1] != signal.SIGSTOP:
        owner.wait_exit()


KILL = (signal.SIGKILL,)
STOP_KILL = (signal.SIGSTOP, signal.SIGKILL)
TERM = (signal.SIGTERM,)
ENDS = (KILL, STOP_KILL, TERM)


def finished(process, what):
    """Its answer and status: one of both kinds, never neither."""
    out, said = process.communicate(timeout=lib.SECONDS)
    check(process.returncode in (0, 1), f"{what}: status {process.returncode}, {said}")
    check(out.endswith(b"\n") and len(out.splitlines()) == 1, f"{what}: answered {out[:200]!r}, {said}")
    answer = json.loads(out)
    if process.returncode == 0:
        check(answer["ok"] is True, answer)
        return None
    error = answer["error"]
    check(error["code"] in ("INTERRUPTED", "CANCELLED", "SESSION_BUSY"), error)
    check(error["code"] == "CANCELLED" or error["retryable"] is True, error)
    return error["code"]


def all_answered(guest, ids, what):
    """Each of them once, whatever the answer is; the codes."""
    guest.close_input()
    answers = guest.drain()
    got = [answer["id"] for answer in answers]
    check(sorted(got) == sorted(ids), f"{what}: {len(got)} answers of {len(ids)}, lacking {sorted(set(ids) - set(got))[:5]}")
    codes = [answer["result"].get("error", {}).get("code") for answer in answers]
    wrong = set(codes) - {None, "INTERRUPTED", "CANCELLED"}
    check(not wrong, f"{what}: {wrong}")
    status = guest.process.wait(lib.SECONDS)
    check(status in (0, 1), f"{what}: the guest ended with {status}; {guest.said()}")
    check(status == 1 or "INTERRUPTED" not in codes, f"{what}: status 0 with calls that were cut off")
    return codes


def before_it_accepts(place):
    """Stopped when the guest comes, then killed: the guest takes the session over."""
    for one in (True, False):
        owner = place.owner()
        os.kill(owner.pid, signal.SIGSTOP)
        if one:
            process = place.call("read_file", {"path": "a.txt"})
            waits_for_the_owner(process.pid)
            end(owner, KILL)
            check(finished(process, "call") is None, "the call is done")
        else:
            with place.guest() as guest:
                sent = guest.send("read_file", path="a.txt")
                waits_for_the_owner(guest.pid)
                end(owner, KILL)
                check(guest.wait(sent)["result"]["content"] == "alpha\n", "the call is done")
        owner.end()


def waits_for_the_owner(pid):
    """It is connected, and sleeps."""
    def connected():
        fds = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        return any(fd.startswith("socket:") for fd in fds) and lib.stat_fields(pid)[0] == "S"

    wait_until(connected, "the guest has connected")


def at_any_moment(place):
    """One call each time, the owner killed a little later each time."""
    seen = set()
    for how in ENDS:
        for spin in range(0, 60):
            owner = place.owner()
            body = {"path": "w", "content": "y" * LONG} if spin % 3 == 0 else {"path": "a.txt"}
            process = place.call("write_file" if spin % 3 == 0 else "read_file", body)
            for _ in range(spin * 8000):
                pass
            end(owner, how)
            seen.add(finished(process, f"{how}, {spin}"))
            owner.end()
    check(None in seen, seen)


def while_it_runs(place):
    for how in (KILL, STOP_KILL):
        owner = place.owner()
        before = place.intents()
        process = place.call("run_command", {"command": "sleep 60"})
        wait_until(lambda: place.intents() > before, "the owner has the call")
        end(owner, how)
        check(finished(process, "a command") == "INTERRUPTED", "it was cut off")
        owner.end()


def while_it_prints(place):
    for how in ENDS:
        owner = place.owner()
        with place.guest() as guest:
            sent = guest.send("run_command", command="while :; do echo line; done")
            guest.pump(until=lambda: len(guest.events) > 20)
            end(owner, how)
            codes = all_answered(guest, [sent], "a command that prints")
            check(codes in (["INTERRUPTED"], ["CANCELLED"]), codes)
        owner.end()


def in_a_long_reply(place):
    for how in ENDS:
        for after in (1, 3, 9):
            owner = place.owner()
            with place.guest() as guest:
                ids = [guest.send("read_file", path="long", max_bytes=LONG) for _ in range(12)]
                guest.pump(until=lambda: len(guest.answers) >= after)
                end(owner, how)
                all_answered(guest, ids, f"{how}, after {after}")
            owner.end()


def write(guest, data):
    with contextlib.suppress(BrokenPipeError):
        guest.process.stdin.write(data)


def many_in_flight(place):
    for how in ENDS:
        for large in (False, True):
            owner = place.owner()
            with place.guest() as guest:
                lines = []
                for i in range(30 if large else 400):
                    args = {"path": f"f{i % 7}", "content": "z" * LONG} if large else {"path": "a.txt"}
                    lines.append(guest.line("write_file" if large else "read_file", args))
                guest.pump(b"".join(data for _, data in lines[:5]))
                os.set_blocking(guest.into, True)
                ids = [call_id for call_id, _ in lines]
                rest = b"".join(data for _, data in lines[5:])
                writer = threading.Thread(target=write, args=(guest, rest), daemon=True)
                writer.start()
                guest.pump(until=lambda: len(guest.answers) >= 3)
                end(owner, how)
                if how == TERM:  # the guest ends too, and its caller may still be writing
                    check(set(ids) >= {answer["id"] for answer in guest.drain()}, "answers of calls")
                    check(guest.process.wait(lib.SECONDS) in (0, 1), "the guest ends")
                    continue
                while writer.is_alive():  # whose end is no answer
                    if select.select([guest.out], [], [], 0.01)[0]:
                        guest.read()
                all_answered(guest, ids, f"{how}, large={large}")
            owner.end()


def other_formats(place):
    """The answer has the form that the caller asked for."""
    for form in ("openai", "anthropic", "openai-responses", "ollama"):
        owner = place.owner()
        before = place.intents()
        process = place.start("run_command", "--format", form)
        process.stdin.write(b'{"command":"sleep 60"}')
        process.stdin.close()
        process.stdin = None
        wait_until(lambda: place.intents() > before, "the owner has the call")
        end(owner, KILL)
        out, said = process.communicate(timeout=lib.SECONDS)
        check(process.returncode == 1 and b"INTERRUPTED" in out, f"{form}: {process.returncode} {out!r} {said!r}")
        json.loads(out)
        owner.end()


def goes_on(place):
    """Whoever has more to say is served by the guest itself, or by whoever was quicker."""
    for in_flight in (False, True):
        owner = place.owner()
        with place.guest() as guest, place.guest() as other:
            guest.ok("read_file", path="a.txt")
            other.ok("read_file", path="a.txt")
            before = place.intents()
            cut = guest.send("run_command", command="sleep 60") if in_flight else None
            wait_until(lambda: not in_flight or place.intents() > before, "the owner has the call")
            end(owner, KILL)
            if cut:
                check(guest.wait(cut)["error"]["code"] == "INTERRUPTED", "it was cut off")
            for gate in (guest, other, guest):
                gate.ok("read_file", path="a.txt")
            guest.close_input()
            check(guest.wait_exit() == int(in_flight), "its status tells of calls that were cut off")
        owner.end()


def looks_late(place):
    """The owner has ended, and a call has come, before the guest looks at either: it is served like any later one."""
    owner = place.owner()
    with place.guest() as guest:
        guest.ok("read_file", path="a.txt")
        os.kill(guest.pid, signal.SIGSTOP)
        wait_until(lambda: lib.stat_fields(guest.pid)[0] == "T", "the guest is stopped")
        end(owner, KILL)
        sent = guest.send("read_file", path="a.txt")
        os.kill(guest.pid, signal.SIGCONT)
        answer = guest.wait(sent)
        check(answer.get("ok"), f"the call was not done: {answer}")
    owner.end()


def blank_lines(place):
    """A blank line longer than a request may be: it is no line, for the guest and for the owner."""
    config = place.form.write(place.home / "config.json", '{"limits": {"maxRequestBytes": 4096}}')
    config.chmod(0o600)
    owner = Gate(place.form, "--session", place.session, "--config", config, state=place.home)
    owner.ok("read_file", path="a.txt")
    with place.guest() as guest:
        guest.ok("read_file", path="a.txt")
        before = place.intents()
        guest.send_raw(b" " * 5000 + b"\n" + b" " * 200000 + b"\r\n")
        cut = guest.send("run_command", command="sleep 60")
        wait_until(lambda: place.intents() > before, "the owner has the call")
        end(owner, KILL)
        check(guest.wait(cut)["error"]["code"] == "INTERRUPTED", "it was cut off")
    owner.end()


def never_silent(place):
    """A caller that goes on writing after the owner has ended well: the guest ends, whatever comes."""
    line = b'{"tool_call":{"id":"a","name":"read_file","arguments":{"path":"a.txt"}}}\n'
    for data in (line * 1000, b"{", b"x" * 100000):
        owner = place.owner()
        guest = subprocess.Popen(
            [str(place.form.binary), "stdio", "--session", place.session], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, cwd="/", env=lib.environment(place.home), **place.form.identity(),
        )

        def go_on(pipe=guest.stdin, data=data):
            with contextlib.suppress(BrokenPipeError):
                while True:
                    os.write(pipe.fileno(), data)

        before = place.intents()
        os.write(guest.stdin.fileno(), line)
        wait_until(lambda before=before: place.intents() > before, "the owner has a call")
        writer = threading.Thread(target=go_on)
        writer.start()
        end(owner, TERM)
        try:
            check(guest.wait(2 * lib.SECONDS) in (0, 1), "it ended")
        finally:
            guest.kill()
            writer.join()
        guest.stdin.close()
        owner.end()


def that_works_long(place):
    """An owner that is at work on a call for longer than one may be silent: that is not taken for hanging."""
    owner = place.owner()
    with place.guest() as guest:
        long = guest.call("run_command", command="sleep 25", seconds=25 + lib.SECONDS)
        check(long["ok"], f"a long call was given up: {long}")
        guest.close_input()
        check(guest.wait_exit() == 0, guest.said())
    owner.end()


def that_hangs(place):
    """An owner that is stopped: its guests answer for it."""
    owner = place.owner()
    with place.guest() as guest:
        guest.ok("read_file", path="a.txt")
        before = place.intents()
        one = place.call("run_command", {"command": "sleep 60"})
        cut = guest.send("run_command", command="sleep 60")
        wait_until(lambda: place.intents() == before + 2, "the owner has both calls")
        os.kill(owner.pid, signal.SIGSTOP)
        error = guest.wait(cut, seconds=20 + lib.SECONDS)["error"]
        check(error["code"] == "INTERRUPTED" and "not known" in error["message"], error)
        out, said = one.communicate(timeout=20 + lib.SECONDS)
        check(one.returncode == 1, f"status {one.returncode}, {said}")
        error = json.loads(out)["error"]
        check(error["code"] == "INTERRUPTED" and "not known" in error["message"], error)
        # It still hangs: each call that comes has its answer, and may be tried again.
        error = guest.call("read_file", path="a.txt", seconds=20 + lib.SECONDS)["error"]
        check(error["retryable"] is True and "nothing was done" in error["message"], error)
        os.kill(owner.pid, signal.SIGCONT)
        owner.ok("read_file", path="a.txt")
        guest.ok("read_file", path="a.txt")
        guest.close_input()
        check(guest.wait_exit() == 1, "its status tells of calls that were cut off")
    owner.end()


def that_hangs_from_the_start(place):
    """A guest that comes while the owner is stopped."""
    owner = place.owner()
    os.kill(owner.pid, signal.SIGSTOP)
    with place.guest() as guest:
        error = guest.call("read_file", path="a.txt", seconds=20 + lib.SECONDS)["error"]
        check(error["retryable"] is True and "nothing was done" in error["message"], error)
        end(owner, KILL)
        guest.ok("read_file", path="a.txt")
        guest.close_input()
        check(guest.wait_exit() == 1, "its status tells of calls that were cut off")
    owner.end()


def that_hangs_in_a_line(place):
    """A line that the socket has no room for, while the owner is stopped: it is answered, and was not begun."""
    owner = place.owner()
    guests = [place.guest() for _ in range(2)]
    for guest in guests:
        guest.ok("read_file", path="a.txt")
    os.kill(owner.pid, signal.SIGSTOP)
    lines = [guest.line("write_file", {"path": "w", "content": "x" * (LONG * (1 + 2 * i))}) for i, guest in enumerate(guests)]
    # What a pipe holds: the guest reads on when it has given up.
    writers = [threading.Thread(target=guest.send_raw, args=(line, 90)) for guest, (_, line) in zip(guests, lines)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    for guest, (call, _) in zip(guests, lines):
        error = guest.wait(call, seconds=90)["error"]
        check(error["code"] == "INTERRUPTED" and "nothing was done" in error["message"], error)
    os.kill(owner.pid, signal.SIGCONT)
    check(not (place.workspace / "w").exists(), "a call that did not reach its owner was done")
    for gate in (*guests, owner):
        gate.end()


def told_to_stop(place):
    """A signal ends a guest as it ends an owner: what runs is cancelled and answered, then it exits with 0."""
    owner = place.owner()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        for rest in (b"", b'{"id":"part","tool_call":{"name":"write_file","arguments":{"path":"part","content":""}}}'):
            with place.guest() as guest:
                guest.ok("read_file", path="a.txt")
                before = place.intents()
                call = guest.send("run_command", command="sleep 60; echo late > late")
                wait_until(lambda: place.intents() == before + 1, "the owner has the call")
                guest.send_raw(rest)  # no line: it has no end
                os.kill(guest.pid, number)
                answers = guest.drain()
                check([a["id"] for a in answers] == [call], f"{number}: {answers}")
                check(answers[0]["result"]["error"]["code"] == "CANCELLED", f"{number}: {answers}")
                check(guest.process.wait(lib.SECONDS) == 0, f"{number}: {guest.said()}")
        with place.guest() as guest:
            guest.ok("read_file", path="a.txt")
            os.kill(guest.pid, number)
            check(guest.process.wait(lib.SECONDS) == 0, f"{number}, without a call: {guest.said()}")
        # Also while it waits for its place: nothing was asked yet.
        os.kill(owner.pid, signal.SIGSTOP)
        with place.guest() as guest:
            waits_for_the_owner(guest.pid)
            os.kill(guest.pid, number)
            check(guest.process.wait(lib.SECONDS) == 0, f"{number}, while it waits: {guest.process.returncode}")
        os.kill(owner.pid, signal.SIGCONT)
    owner.ok("read_file", path="a.txt")
    check(not (place.workspace / "part").exists() and not (place.workspace / "late").exists(), "what was cancelled was done")
    owner.end()


def one_after_the_other(place):
    """A caller that writes a call when it reads an answer, while the owner ends well: each of its calls is answered."""
    for _ in range(5):
        owner = place.owner()
        with place.guest() as guest:
            guest.ok("read_file", path="a.txt")
            before = place.intents()
            waiting = {guest.send("run_command", command="sleep 60") for _ in range(3)}
            wait_until(lambda before=before: place.intents() == before + 3, "the owner has the calls")
            os.kill(owner.pid, signal.SIGTERM)
            for _ in range(20):
                waiting.remove(guest.any_answer()["id"])
                waiting.add(guest.send("read_file", path="a.txt"))
            guest.close_input()
            left = {answer["id"] for answer in guest.drain()}
            check(left == waiting, f"not answered: {waiting - left}")
        owner.end()


def without_a_hello(place):
    """Connections that say nothing keep nobody out."""
    owner = place.owner()
    where = next((place.home / "sandgate").rglob("socket"))
    folder = os.open(where.parent, os.O_PATH)  # the path of a socket is short
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, folder)
        def connect():
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            with place.form.acting():
                one.connect(f"/proc/self/fd/{folder}/socket")
            return one

        silent = []
        for _ in range(20):
            silent += [connect() for _ in range(8)]
            late = connect()
            late.sendall(b'{"hello":{"dialect":"native","format":"tool_call","once":false,"marks":true,"beats":true}}\n')
            late.settimeout(lib.SECONDS)
            check(json.loads(late.recv(4096))["hello"] == "ok", "who says hello has a place")
            late.close()
        # Whose place was needed is told so.
        for one in silent[:60]:
            one.settimeout(lib.SECONDS)
            check(json.loads(one.recv(4096))["full"], "an answer")
        out, said = place.call("read_file", {"path": "a.txt"}).communicate(timeout=lib.SECONDS)
        check(out and json.loads(out)["ok"], f"{out}, {said}")
    owner.end()


def one_too_many(place):
    """The 65th guest is told that there are 64, for each call, and has its place once another has ended."""
    owner = place.owner()
    with contextlib.ExitStack() as stack:
        guests = [stack.enter_context(place.guest()) for _ in range(64)]
        for guest in guests:
            guest.ok("read_file", path="a.txt")
        late = stack.enter_context(place.guest())
        for _ in range(2):
            error = late.refused("SESSION_BUSY", "read_file", path="a.txt")
            check("64 guests" in error["message"] and error["retryable"], error)
        out, said = place.call("read_file", {"path": "a.txt"}).communicate(timeout=lib.SECONDS)
        error = lib.expect_error(json.loads(out), "SESSION_BUSY")
        check("64 guests" in error["message"], f"{error}, {said}")
        guests[0].end()
        wait_until(lambda: late.call("read_file", path="a.txt")["ok"], "a place")
    owner.end()


def names_its_agents(place):
    """A guest speaks for the agents that it was started for, whatever the owner was started with."""

    def asked(gate, agent):
        call = {"name": "read_file", "arguments": {"path": "a.txt"}}
        gate.send_raw(json.dumps({"id": agent, "context": {"agentId": agent}, "tool_call": call}).encode() + b"\n")
        return gate.any_answer()["result"]

    owner = place.owner()
    with place.guest("--agents", "one,two") as guest:
        check(asked(guest, "one")["ok"] and asked(guest, "two")["ok"], "an agent of its own")
        check(asked(guest, "three")["error"]["details"]["field"] == "context.agentId", "another agent")
    check(asked(owner, "one")["error"]["details"]["field"] == "context.agentId", "an agent of the guest")
    owner.end()
    log = b"".join(file.read_bytes() for file in (place.home / "sandgate" / "audit").glob("*.jsonl"))
    check(log.count(b'"agent":"one"') == 1 and log.count(b'"agent":"two"') == 1, "the records")


CASES = (before_it_accepts, at_any_moment, while_it_runs, while_it_prints, in_a_long_reply, many_in_flight,
         other_formats, goes_on, looks_late, blank_lines, never_silent, that_works_long, that_hangs, that_hangs_from_the_start,
         that_hangs_in_a_line, told_to_stop, one_after_the_other, without_a_hello, one_too_many, names_its_agents)
# Until an owner counts as gone, or has no more patience with a reader.
WAIT = (in_a_long_reply, never_silent, that_works_long, that_hangs, that_hangs_from_the_start, that_hangs_in_a_line)


def name_of(case):
    return case.__name__.replace("_", " ")


def in_its_place(case):
    return name_of(case), lambda form: case(Place(form, case.__name__))


lib.run_cases([in_its_place(case) for case in CASES], beside=set(map(name_of, WAIT)))
