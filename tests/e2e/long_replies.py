#!/usr/bin/env python3
"""Long replies lie in memory that gate and worker share: what comes out is the file, whoever else reads, cancels or is
killed meanwhile."""
# timeout: 200

import base64
import hashlib
import json
import os
import random
import signal

import lib
from lib import Gate, check, short

PIECE = 256 << 10  # of a reply
SHELF = 2 << 20
LEAST = 256 << 10  # shorter ones do not use it
LIMIT = 4 << 20
SIZES = [
    LEAST - 1, LEAST, LEAST + 1, LEAST + PIECE - 1, 1 << 20, (1 << 20) + 1, SHELF - PIECE, SHELF - 1, SHELF, SHELF + 1,
    SHELF + PIECE, SHELF + PIECE + 7, 3 << 20,
]  # fmt: skip
KINDS = {
    "text": lambda chance, n: b"".join(b"line %d of many\n" % i for i in range(n // 10 + 1))[:n],
    "one line": lambda chance, n: b"x" * n,
    "letters of two bytes": lambda chance, n: (b"y" + "é".encode() * (n // 2 + 1))[:n],
    "bytes": lambda chance, n: chance.randbytes(n),
    "to be escaped": lambda chance, n: (b'"\\\n\t\x01' * (n // 5 + 1))[:n],
}


class Place:
    def __init__(self, form):
        self.form = form
        self.workspace = form.folder("long-ws", 0o777)
        self.state = form.folder("long-state", 0o700)
        self.files = {}
        chance = random.Random(7)
        for size in SIZES:
            for kind, make in KINDS.items():
                name = f"{kind}-{size}"
                self.files[name] = make(chance, size)
                form.write(self.workspace / name, self.files[name])

    def gate(self):
        return Gate(self.form, workspace=self.workspace, state=self.state)

    def args(self, name, **more):
        return {"path": name, "max_bytes": LIMIT, "hash": True, **more}

    def check(self, name, answer):
        check(answer["ok"], short(answer))
        result, content = answer["result"], self.files[name]
        check(result["sha256"] == hashlib.sha256(content).hexdigest(), f"the hash of {name}")
        check(result["bytes"] == len(content) and not result["truncated"], f"{name}: {short(result)}")
        if result["encoding"] == "base64":
            check(base64.b64decode(result["content"]) == content, f"the bytes of {name}")
        else:
            check(result["content"] == content.decode(errors="replace"), f"the text of {name}")


def every_size(place):
    with place.gate() as gate:
        for name in place.files:
            for encoding in ("utf8", "base64", "auto"):
                place.check(name, gate.call("read_file", **place.args(name, encoding=encoding)))
        gate.check_memory(100)


def many_at_once(place):
    chance = random.Random(8)
    with place.gate() as gate:
        names = [chance.choice(list(place.files)) for _ in range(120)]
        for start in range(0, len(names), 12):
            sent = [(name, gate.send("read_file", **place.args(name))) for name in names[start : start + 12]]
            for name, call_id in sent:
                place.check(name, gate.wait(call_id))


def parts(place):
    """Lines from the middle, and less than there is."""
    name = f"text-{3 << 20}"
    lines = place.files[name].splitlines(keepends=True)
    with place.gate() as gate:
        for first, last in ((1, 3), (40_000, 90_000), (2, len(lines)), (len(lines) - 1, len(lines))):
            result = gate.ok("read_file", **place.args(name, start_line=first, end_line=last))
            check(result["content"].encode() == b"".join(lines[first - 1 : last]), f"lines {first} to {last}")
        for most in (1, PIECE - 1, PIECE, PIECE + 1, SHELF, SHELF + 1):
            result = gate.ok("read_file", path=name, max_bytes=most)
            whole = place.files[name][:most].rpartition(b"\n")
            check(result["truncated"] and result["content"].encode() in (place.files[name][:most], whole[0] + whole[1]),
                  f"{most} bytes: {len(result['content'])}")


def cancelled(place):
    name = f"bytes-{3 << 20}"
    with place.gate() as gate:
        for turn in range(60):
            call_id = gate.send("read_file", **place.args(name))
            if turn % 3:
                gate.send_raw(json.dumps({"cancel": call_id}).encode() + b"\n")
            answer = gate.wait(call_id)
            if answer["ok"]:
                place.check(name, answer)
            else:
                lib.expect_error(answer, "CANCELLED")
        place.check(name, gate.call("read_file", **place.args(name)))


def killed(place):
    name = f"text-{1 << 20}"
    with place.gate() as gate:
        for _ in range(8):
            place.check(name, gate.call("read_file", **place.args(name)))
            sent = [gate.send("read_file", **place.args(name)) for _ in range(6)]
            os.kill(gate.worker(), signal.SIGKILL)
            for call_id in sent:
                answer = gate.wait(call_id)
                if answer["ok"]:
                    place.check(name, answer)
                else:
                    lib.expect_error(answer, "INTERRUPTED")


def one_call(place):
    """A gate for one call shares nothing, and says the same."""
    name = f"text-{1 << 20}"
    done = place.form.run(place.state, "call", "read_file", json.dumps(place.args(name)),
                          "--workspace", str(place.workspace))
    check(done.returncode == 0, done.stderr[-500:])
    place.check(name, json.loads(done.stdout))


CASES = [
    ("files of every size come as they are", every_size),
    ("many at once", many_at_once),
    ("parts of a file", parts),
    ("some are cancelled", cancelled),
    ("workers are killed", killed),
    ("a single call", one_call),
]

lib.run_cases(CASES, Place)
