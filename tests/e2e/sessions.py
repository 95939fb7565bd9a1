#!/usr/bin/python3
"""Sessions with a name: one owner at a time, and calls of others are passed on to it."""
# tier: any
import contextlib
import json
import os
import socket
import stat
import signal
import threading
import time

import lib
from lib import Gate, check, note, wait_until


class Place:
    """A workspace and a state folder of its own for one case."""

    def __init__(self, form, name):
        self.form = form
        self.home = form.folder(f"{name}-home", 0o700)
        self.workspace = form.folder(f"{name}-ws")
        form.write(self.workspace / "a.txt", "alpha\n")

    def run(self, *argv, stdin=b""):
        return self.form.run(self.home, *argv, stdin=stdin)

    def create(self):
        made = self.run("session", "create", "--workspace", self.workspace)
        check(made.returncode == 0, made.stderr)
        return made.stdout.decode().strip()

    def listed(self):
        return json.loads(self.run("session", "list", "--json").stdout)

    def call(self, session, tool, arguments, *options):
        done = self.run("call", tool, json.dumps(arguments), "--session", session, *options)
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr.decode()

    def owner(self, session):
        gate = Gate(self.form, "--session", session, state=self.home)
        gate.ok("read_file", path="a.txt")
        return gate

    def audited_by(self, gate_pid):
        """The calls that the audit log says this gate ran."""
        gates, calls = {}, []
        for file in sorted((self.home / "sandgate" / "audit").glob("*.jsonl")):
            for line in file.read_text().splitlines():
                record = json.loads(line)
                if record["kind"] == "gate.start":
                    gates[record["gate"]] = record["pid"]
                if record["kind"] in ("call.intent", "call.refused") and gates.get(record["gate"]) == gate_pid:
                    calls.append(record)
        return calls


def life(place):
    session = place.create()
    check([s["id"] for s in place.listed()] == [session], place.listed())
    status, answer, said = place.call(session, "read_file", {"path": "a.txt"})
    check(status == 0 and answer["result"]["content"] == "alpha\n", f"{status} {answer} {said}")
    check(place.run("session", "discard", session).returncode == 0, "discard")
    check(place.listed() == [], place.listed())
    check((place.workspace / "a.txt").read_text() == "alpha\n", "the workspace stays")
    status, answer, said = place.call(session, "read_file", {"path": "a.txt"})
    check(status == 1 and answer["error"]["code"] == "SESSION_NOT_FOUND", f"{status} {answer} {said}")


def passed_on(place):
    session = place.create()
    with place.owner(session) as gate:
        check(place.listed()[0]["in_use"], "the list says that it is in use")
        status, answer, said = place.call(session, "read_file", {"path": "a.txt"})
        check(status == 0 and answer["result"]["content"] == "alpha\n", f"{status} {answer} {said}")
        status, answer, _ = place.call(session, "read_file", {"path": "none"})
        check(status == 1 and answer["error"]["code"] == "NOT_FOUND", answer)
        status, answer, _ = place.call(session, "read_file", {"path": "none"}, "--format", "openai")
        check(status == 1 and json.loads(answer["content"])["ok"] is False, answer)
        done = place.run("call", "write_file", '{\n "path": "b.txt",\n "content": "new"\n}', "--session", session)
        check(done.returncode == 0 and (place.workspace / "b.txt").read_text() == "new", done)
        done = place.run("call", "read_file", "{no json", "--session", session)
        check(done.returncode == 1 and json.loads(done.stdout)["error"]["code"] == "INVALID_ARGUMENTS", done)
        lines = b"".join(b'{"id":"%d","tool_call":{"name":"read_file","arguments":{"path":"a.txt"}}}\n' % i
                         for i in range(100))
        done = place.run("stdio", "--session", session, stdin=lines)
        check(done.returncode == 0 and len(done.stdout.splitlines()) == 100, done)
        check(all(json.loads(line)["result"]["ok"] for line in done.stdout.splitlines()), "all 100 answered")
        calls = len(place.audited_by(gate.pid))
        check(calls == 1 + 5 + 100, f"the owner recorded {calls} calls")
        gate.ok("read_file", path="a.txt")


def busy(place):
    session = place.create()
    with place.owner(session):
        refused = place.run("session", "discard", session)
        check(refused.returncode == 1 and b"in use" in refused.stderr, refused)
        other = place.run("call", "fs.list", '{"path":"@project"}', "--dialect", "toolhost", "--session", session)
        error = json.loads(other.stdout)["error"]
        check(other.returncode == 1 and error["code"] == "E_INTERNAL" and "in use" in error["message"], other)
        # The owner's socket is gone, though the owner lives: nobody may take over its session.
        os.unlink(place.home / "sandgate" / "sessions" / session / "socket")
        status, answer, said = place.call(session, "read_file", {"path": "a.txt"})
        check(status == 1 and answer["error"]["code"] == "SESSION_BUSY", f"{status} {answer} {said}")
        check(answer["error"]["retryable"] is True, answer)


def taken_over(place):
    session = place.create()
    with place.owner(session) as gate:
        gate.kill()
        gate.wait_exit()
    status, answer, said = place.call(session, "read_file", {"path": "a.txt"})
    check(status == 0 and answer["result"]["content"] == "alpha\n", f"{status} {answer} {said}")


def owner_leaves(place):
    """The owner ends while another gate's calls run: they are answered, the owner exits."""
    session = place.create()
    with open(place.workspace / "big", "wb") as big:
        big.truncate(3 << 30)
    place.form.own(place.workspace / "big")
    gate = place.owner(session)
    with gate, Gate(place.form, "--session", session, state=place.home) as other:
        slow = other.send("read_file", path="big", hash=True)
        wait_until(lambda: len(place.audited_by(gate.pid)) >= 2, "the owner has the call")
        gate.close_input()
        check(gate.wait_exit() == 0, "the owner ends")
        check(other.wait(slow)["error"]["code"] == "CANCELLED", "the call was cancelled")
        check(other.wait_exit() == 0, "the other gate ends as well")


def only_for_its_user(place):
    session = place.create()
    with place.owner(session) as gate:
        folder = place.home / "sandgate"
        path = folder / "sessions" / session / "socket"
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode))
        check(stat.S_IMODE(os.stat(folder).st_mode) == 0o700, oct(os.stat(folder).st_mode))
        if lib.AM_ROOT and not place.form.is_root:
            # Root reaches the file, yet is not the session's user.
            with socket.socket(socket.AF_UNIX) as sock, contextlib.suppress(ConnectionError):
                sock.settimeout(lib.SECONDS)
                sock.connect(str(path))
                sock.sendall(b'{"hello":{"dialect":"native","format":"tool_call"}}\n')
                check(sock.recv(100) == b"", "another user is not answered")
        gate.ok("read_file", path="a.txt")


def strange_names(place):
    outside = place.form.folder("strange-outside")
    place.form.write(outside / "session.json", json.dumps({"workspace": "/", "created": "x"}))
    place.create()
    for name in ("../../strange-outside", "..", ".", "", "/etc", "a" * 33, "A", "a b", "x\n"):
        status, answer, said = place.call(name, "read_file", {"path": "a.txt"})
        check(status == 1 and answer["error"]["code"] == "SESSION_NOT_FOUND", f"{name!r}: {status} {answer} {said}")


def bad_hello(place):
    session = place.create()
    with place.owner(session) as gate:
        path = str(place.home / "sandgate" / "sessions" / session / "socket")
        if lib.AM_ROOT and not place.form.is_root:
            note("only the session's own user may speak: the root form covers this")
            return
        for first in (b"\n{}\n", b"garbage\n", b'{"hello":1}\n', b'{"hello":{"dialect":"x","format":"openai"}}\n',
                      b'{"hello":{"dialect":"native","format":"x"}}\n',
                      b'{"hello":{"dialect":"native","format":"tool_call","agent":5}}\n',
                      b'{"hello":{"dialect":"native","format":"tool_call","agents":["a"]}}\n',
                      b'{"hello":{"dialect":"native","format":"tool_call","agent":"a\\u0000b"}}\n', b"x" * 5000 + b"\n", b""):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(lib.SECONDS)
                sock.connect(path)
                sock.sendall(first)
                sock.shutdown(socket.SHUT_WR)
                said = b"".join(iter(lambda: sock.recv(4096), b""))
                check(first == b"" or b'"error"' in said, f"{first[:40]!r}: {said!r}")
        gate.ok("read_file", path="a.txt")


def idle_guest(place):
    """Someone is connected and says nothing: the owner ends all the same."""
    session = place.create()
    with place.owner(session) as gate, Gate(place.form, "--session", session, state=place.home) as guest:
        guest.ok("read_file", path="a.txt")
        gate.close_input()
        check(gate.wait_exit() == 0, "the owner ends")
        check(guest.wait_exit() == 0, "so does the guest")


def late_reader(place):
    """A guest's caller writes everything before it reads anything, in both directions more than pipes hold."""
    session = place.create()
    place.form.write(place.workspace / "long", b"x" * 1_000_000)
    count = 150
    with place.owner(session), Gate(place.form, "--session", session, state=place.home) as guest:
        guest.ok("read_file", path="a.txt")
        os.set_blocking(guest.into, True)
        line = {"id": "r", "tool_call": {"name": "read_file", "arguments": {"path": "long", "max_bytes": 1_000_000}}}
        body = {"path": "written", "content": "y" * 100_000}
        other = {"id": "w", "tool_call": {"name": "write_file", "arguments": body}}
        data = "".join(f"{json.dumps(line)}\n{json.dumps(other)}\n" for _ in range(count)).encode()
        writer = threading.Thread(target=lambda: guest.process.stdin.write(data) and guest.close_input(), daemon=True)
        writer.start()
        time.sleep(2)
        answers = guest.drain(seconds=60)
        check(len(answers) == 2 * count, f"{len(answers)} answers of {2 * count}")
        writer.join(lib.SECONDS)


def told_to_stop(place):
    """SIGTERM, while nobody reads what was answered."""
    session = place.create()
    place.form.write(place.workspace / "long", b"x" * 300_000)
    line = {"id": "r", "tool_call": {"name": "read_file", "arguments": {"path": "long", "max_bytes": 300_000}}}
    data = f"{json.dumps(line)}\n".encode() * 50
    with place.owner(session) as gate, Gate(place.form, "--session", session, state=place.home) as guest:
        guest.ok("read_file", path="a.txt")
        gate.pump(data, reading=False)
        guest.pump(data, reading=False)
        time.sleep(0.3)
        os.kill(gate.pid, signal.SIGTERM)
        gate.process.wait(lib.SECONDS)


CASES = (
    life, passed_on, busy, taken_over, owner_leaves, only_for_its_user, strange_names, bad_hello, idle_guest, late_reader,
    told_to_stop,
)


def in_its_place(case):
    return case.__name__.replace("_", " "), lambda form: case(Place(form, case.__name__))


lib.run_cases([in_its_place(case) for case in CASES])
