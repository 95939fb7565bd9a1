#!/usr/bin/env python3
"""Everything at once: as many calls in flight as a gate takes, on every thread of a worker. Sanitizers watch; the answers
are checked too."""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import lib
from lib import Gate, check, short

FILES = 200
CALLS = 500
IN_FLIGHT = 30
LONG = "long line of a long file\n" * 40000  # slow enough to call for other threads, and comes over the shelf
SEED = random.randrange(1 << 32)


class Place:
    def __init__(self, form):
        self.form = form
        self.workspace = form.folder("threads-ws")
        self.pick = random.Random(SEED)
        self.appended = []
        for i in range(FILES):
            folder = self.workspace / f"d{i % 10}"
            if not folder.exists():
                form.folder(f"threads-ws/d{i % 10}")
            form.write(folder / f"f{i}", f"needle {i}\nhay\n" * 200)
        form.write(self.workspace / "long", LONG)
        form.write(self.workspace / "log", "")

    def gate(self, **env):
        return Gate(self.form, workspace=self.workspace, env={"TOOL_TIMEOUT_SECS": "60", **env})


def fits(name, result, expected):
    check(result["ok"], f"{name}: {short(result)}")
    check(expected(result["result"]), f"{name}: {short(result['result'])}")


def reads(place, n):
    i = place.pick.randrange(FILES)
    text = f"needle {i}\nhay\n" * 200
    return "read_file", {"path": f"d{i % 10}/f{i}"}, lambda r: r["content"] == text


def long_reads(place, n):
    return "read_file", {"path": "long", "max_bytes": len(LONG)}, lambda r: r["content"] == LONG


def writes(place, n):
    text = f"{n}" * place.pick.choice([10, 1000, 100000])
    return "write_file", {"path": f"new/w{n}", "content": text}, lambda r: r["bytes_written"] == len(text)


def appends(place, n):
    place.appended.append(f"line {n}\n")
    return "write_file", {"path": "log", "content": f"line {n}\n", "append": True}, lambda r: r["bytes_written"]


def edits(place, n):
    edit = {"old_text": "hay", "new_text": f"hay of {n}", "all": True}
    return "edit_file", {"path": f"new/w{n - 1}", "edits": [edit]}, None


def searches(place, n):
    return "search", {"pattern": "needle 1[0-9]+$", "max_results": 1000}, lambda r: r["matches"]


def lists(place, n):
    return "list_files", {"path": ".", "recursive": True}, lambda r: r["entries"]


def commands(place, n):
    return "run_command", {"command": "cat d2/f2 | wc -l"}, None


KINDS = [reads, reads, reads, long_reads, writes, writes, appends, edits, searches, lists]


def many_at_once(place):
    """The answers to calls of all kinds, always many in flight."""
    waiting = {}
    with place.gate() as gate:

        def take_one():
            answer = gate.any_answer()
            name, expected = waiting.pop(answer["id"])
            if expected:
                fits(name, answer["result"], expected)

        for n in range(CALLS):
            kind = commands if n % 100 == 50 else place.pick.choice(KINDS)
            name, args, expected = kind(place, n)
            waiting[gate.send(name, **args)] = name, expected
            while len(waiting) >= IN_FLIGHT:
                take_one()
        while waiting:
            take_one()
        gate.close_input()
        check(gate.wait_exit() == 0, gate.said())
    lines = (place.workspace / "log").read_text(encoding="ascii").splitlines(keepends=True)
    check(sorted(lines) == sorted(place.appended), f"{len(place.appended)} appended, {len(lines)} lines in the file")


def cancels(place):
    """Calls that are cancelled at any moment are answered once, as done or as cancelled."""
    with place.gate() as gate:
        for n in range(60):
            name, args, _ = place.pick.choice([searches, long_reads, lists, reads, commands])(place, n)
            ids = [gate.send(name, **args) for _ in range(4)]
            for call_id in place.pick.sample(ids, 3):
                gate.send_raw(b'{"cancel":"%s"}\n' % call_id.encode())
            for call_id in ids:
                result = gate.wait(call_id)
                check(result["ok"] or result["error"]["code"] in ("CANCELLED", "INTERRUPTED"), short(result))
        gate.ok("read_file", path="d0/f0")


def times_out(place):
    """Calls that run out of time while others go on."""
    with place.gate(TOOL_TIMEOUT_SECS="1") as gate:
        ids = [gate.send("search", pattern=f"needle (x+x+)+{n}y", max_results=1000) for n in range(40)]
        ids += [gate.send("run_command", command="sleep 30") for _ in range(3)]
        for call_id in ids:
            gate.wait(call_id)
        gate.ok("read_file", path="d0/f0")


CASES = [
    ("calls of all kinds on all threads", many_at_once),
    ("cancels at any moment", cancels),
    ("calls out of time", times_out),
]


if __name__ == "__main__":
    lib.note(f"seed {SEED}")
    lib.run_cases(CASES, Place)
