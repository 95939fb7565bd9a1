#!/usr/bin/env python3
"""Two gates work on one workspace at the same time: what one of them knows to be guarded the other one knows too, and so
does each later one. Folders that a command of one gate moves are not missed by the scan of the other.
"""

import contextlib
import fcntl
import json

import lib
import ran
from lib import check
from ran import PYTHON, Place

SECRET = "KEY=only the user knows"
RULES = {"files": {"secret": [".env", "!open/"]}, "approval": {"default": "approve"}}
ROUNDS = 40 if lib.SOAK else 6

# Exchanges two folders until it is told to end.
SWAP = """
import ctypes, os
libc = ctypes.CDLL(None)
open("up", "w").close()
while not os.path.exists("stop"):
    libc.renameat2(-100, b"q", -100, b"r", 2)
"""
# Tries to read the secret in both, for a number of turns.
READ = """
for i in range(3000):
    for name in ("q/.env", "r/.env"):
        try:
            print(open(name).read())
        except OSError:
            pass
"""


class Shared(Place):
    def __init__(self, form, name):
        super().__init__(form, name, RULES)
        for path in ("open/a", "other/.env"):
            self.put(path)

    def secret(self, folder):
        self.put(f"{folder}/.env", SECRET + "\n")


def command(gate, line):
    answer = gate.call("run_command", command=line)
    check(answer["ok"], answer)
    return answer["result"]


def check_hidden(gate, *paths):
    for path in paths:
        value = command(gate, f"cat {path}")
        check(SECRET not in json.dumps(value), f"a command read {path}: {value}")
        answer = gate.call("read_file", path=path)
        check(SECRET not in json.dumps(answer) and not answer["ok"], f"a tool read {path}: {answer}")


def learned(form):
    """what one gate found and its command moved is hidden from a gate that runs already"""
    place = Shared(form, "learned")
    with place.gate() as first, place.gate() as second:
        for gate in (first, second):
            command(gate, "true")
        place.secret("q")
        command(second, "true")
        command(second, "mv q open/q")
        check_hidden(first, "open/q/.env")
        check_hidden(second, "open/q/.env")


def learned_by_a_tool(form):
    """file tools of a gate that ran no command know it as well"""
    place = Shared(form, "tool")
    place.put("open/.env")
    with place.gate() as gate:
        command(gate, "true")
    with place.gate() as first, place.gate() as second:
        first.ok("read_file", path="open/.env")
        place.secret("q")
        command(second, "true")
        command(second, "mv q open/q")
        answer = first.call("read_file", path="open/q/.env")
        check(not answer["ok"] and answer["error"]["code"] == "PERMISSION_DENIED", answer)


def not_overwritten(form):
    """what either gate remembers is there for a later one, whoever saved last"""
    place = Shared(form, "saved")
    with place.gate() as first, place.gate() as second:
        gates = (first, second)
        for gate in gates:
            command(gate, "true")
        # Each learns of one, moves it at once, and the other one saves behind it.
        for number in range(4):
            place.secret(f"q{number}")
            command(gates[number % 2], "true")
            command(gates[number % 2], f"mv q{number} open/q{number}")
            place.secret(f"z{number}")
            command(gates[1 - number % 2], "true")
    paths = [f"open/q{number}/.env" for number in range(4)]
    with place.gate() as gate:
        check_hidden(gate, *paths)


def begun_together(form):
    """gates that both find no index remember for each other"""
    place = Shared(form, "together")
    for number in range(4):
        place.secret(f"q{number}")
    with place.gate() as first, place.gate() as second:
        calls = [(gate, gate.send("run_command", command="true")) for gate in (first, second)]
        for gate, call in calls:
            check(gate.wait(call)["ok"], "the first command")
        command(first, "mv q0 open/q0; mv q1 open/q1")
        command(second, "mv q2 open/q2; mv q3 open/q3")
        paths = [f"open/q{number}/.env" for number in range(4)]
        for gate in (first, second):
            check_hidden(gate, *paths)
    with place.gate() as gate:
        check_hidden(gate, *paths)


def own_work_is_told(form):
    """what a command made is told by its gate, also where another gate has seen it first"""
    place = Shared(form, "told")
    with place.gate() as first, place.gate() as second:
        for gate in (first, second):
            command(gate, "true")
        call = first.send("run_command", command="mkdir -p sub/.vscode; echo x >sub/.vscode/tasks.json; touch up; "
                                                 "while [ ! -e stop ]; do sleep 0.01; done")
        lib.wait_until(lambda: (place.workspace / "up").exists(), "the file of the first command")
        command(second, "true")
        place.put("stop")
        answer = first.wait(call)
        told = [violation["call"] for violation in answer["result"].get("violations", [])]
        check(any("sub/.vscode" in text for text in told), f"{told}")


def swapped(form):
    """a folder that another gate's command moves all the time is covered for a command that starts then, or it does not"""
    place = Shared(form, "swapped")
    place.secret("q")
    place.put("r/a")
    place.put("swap.py", SWAP)
    place.put("read.py", READ)
    started = 0
    with place.gate() as gate:
        command(gate, "true")
        call = gate.send("run_command", command=f"{PYTHON} swap.py")
        lib.wait_until(lambda: (place.workspace / "up").exists(), "folders that are swapped")
        for _ in range(ROUNDS):
            with place.gate() as other:
                answer = other.call("run_command", command=f"{PYTHON} read.py", seconds=4 * lib.SECONDS)
            check(SECRET not in json.dumps(answer), "the secret was read")
            busy = not answer["ok"] and answer["error"]["code"] == "SESSION_BUSY"
            check(answer["ok"] or busy, answer)
            started += answer["ok"]
        place.put("stop")
        check(gate.wait(call, 4 * lib.SECONDS)["ok"], "the command that swaps")
    lib.note(f"{started} of {ROUNDS} commands were started meanwhile")
    with place.gate() as gate:
        check(SECRET not in json.dumps(command(gate, f"{PYTHON} read.py")), "the secret was read afterwards")


# Moves a folder to and fro until it is told to end.
FLIP = """
import os
open("up", "w").close()
while not os.path.exists("stop"):
    os.rename("a/p", "b/p")
    os.rename("b/p", "a/p")
"""


def hidden_by_moves(form):
    """what a command makes in a folder that another one moves all the time is found, or the answer says that it may not be"""
    for own in (True, False):
        place = Shared(form, f"flip{own}")
        for path in ("a/p/f", "b/f"):
            place.put(path)
        place.put("flip.py", FLIP)
        evil = place.form.base / f"flip{own}-ran"
        make = (r"until cd a/p 2>/dev/null; do :; done; mkdir r{0}; cd r{0}; mkdir -p .git/objects .git/refs; echo 'ref: refs/heads/m' >.git/HEAD; "
                rf"printf '[core]\nfsmonitor = touch {evil}\n' >.git/config")
        told, silent = set(), []
        with place.gate() as gate, contextlib.ExitStack() as more:
            other = gate if own else more.enter_context(place.gate())
            command(gate, "true")
            call = other.send("run_command", command=f"{PYTHON} flip.py")
            lib.wait_until(lambda: (place.workspace / "up").exists(), "a folder that is moved")
            for number in range(ROUNDS):
                answer = gate.call("run_command", command=make.format(number), seconds=4 * lib.SECONDS)
                # It cannot start where a folder does not hold still for its covers.
                if not answer["ok"] and answer["error"]["details"].get("reason") == "guards_moved":
                    continue
                found = {v["call"] for v in answer["result"]["violations"]}
                told |= found
                silent += [number] * (not any(f"/r{number}/" in v or v == "scan:unsure" for v in found))
            place.put("stop")
            answer = other.wait(call, 4 * lib.SECONDS)
            check(answer["ok"], answer)
            told |= {v["call"] for v in answer["result"]["violations"]}
            told |= {v["call"] for v in command(gate, "true")["violations"]}
        check(not silent, f"not told: {silent} of {ROUNDS}: {told}")
        left = [str(p) for p in place.workspace.rglob(".git/config")]
        check(not left, f"{left} when all had ended: {told}")


def removed_meanwhile(form):
    """a folder that its user removes while another gate's command runs does not keep commands from starting"""
    place = Shared(form, "removed")
    place.secret("q/deep")
    with place.gate() as gate:
        command(gate, "true")
        call = gate.send("run_command", command="touch up; while [ ! -e stop ]; do sleep 0.01; done")
        lib.wait_until(lambda: (place.workspace / "up").exists(), "a command that runs")
        (place.workspace / "q/deep/.env").unlink()
        (place.workspace / "q/deep").rmdir()
        (place.workspace / "q").rmdir()

        def starts():
            with place.gate() as other:
                return other.call("run_command", command="true")["ok"]

        lib.wait_until(starts, "a command of another gate that starts")
        place.put("stop")
        check(gate.wait(call)["ok"], "the command that waits")


def sought(form):
    """while another gate's command may be moving what is guarded, no command of a new gate starts without its cover"""
    place = Shared(form, "sought")
    place.secret("q/deep")
    with place.gate() as gate:
        command(gate, "true")
    running, = (place.home / "sandgate/workspaces").glob("*.running")
    marker = form.write(running / "another", "+")
    away = form.base / "sought-away"
    with open(marker, encoding="ascii") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        (place.workspace / "q").rename(away)
        with place.gate() as gate:
            for _ in range(3):
                answer = gate.call("run_command", command="true")
                check(not answer["ok"] and answer["error"]["code"] == "SESSION_BUSY", answer)
                check(answer["error"]["details"]["reason"] == "guards_moved", answer)
            gate.ok("write_file", path="a.txt", content="x")
            away.rename(place.workspace / "q")
            check_hidden(gate, "q/deep/.env")
        (place.workspace / "q").rename(away)
        with place.gate() as gate:
            check(not gate.call("run_command", command="true")["ok"], "a command was started")
            marker.write_text("-", encoding="ascii")
            command(gate, "true")
        away.rename(place.workspace / "q")
    with place.gate() as gate:
        check_hidden(gate, "q/deep/.env")


if __name__ == "__main__":
    ran.main(sought, learned, learned_by_a_tool, not_overwritten, begun_together, own_work_is_told, swapped, hidden_by_moves, removed_meanwhile)
