#!/usr/bin/python3
"""Guests of a session that do not read their answers: the owner's memory has a bound, others go on, and those who take the
room of others are disconnected."""
# timeout: 200

import contextlib
import json
import os
import select
import socket

import lib
from lib import Gate, check

GUESTS = 8
CALLS = 40
FILE_BYTES = 4 << 20
GROWTH_MB = 300  # each of them alone could make it 64 and more


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder("unread-home", 0o700)
        self.workspace = form.folder("unread-ws")
        form.write(self.workspace / "a.txt", "alpha\n")
        form.write(self.workspace / "long", b"x" * FILE_BYTES)
        made = form.run(self.home, "session", "create", "--workspace", self.workspace)
        self.session = made.stdout.decode().strip()

    def gate(self):
        return Gate(self.form, "--session", self.session, state=self.home)

    def connect(self):
        """As a guest does."""
        (path,) = (self.home / "sandgate" / "sessions").glob("*/socket")
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(lib.SECONDS)
        folder = os.open(path.parent, os.O_PATH)  # the path of a socket is short
        with self.form.acting():
            connection.connect(f"/proc/self/fd/{folder}/socket")
        os.close(folder)
        return connection


def line(**fields):
    return json.dumps(fields).encode() + b"\n"


def call(number):
    arguments = {"path": "long", "max_bytes": FILE_BYTES}
    return line(id=str(number), tool_call={"name": "read_file", "arguments": arguments})


def ask(connection):
    connection.sendall(line(hello={"dialect": "native", "format": "tool_call", "once": False}))
    check(b"ok" in connection.recv(200), "the hello is answered")
    connection.sendall(b"".join(map(call, range(CALLS))))


def read_all(connections):
    """By turns; how much each of them brought before the other side closed it."""
    read = dict.fromkeys(connections, 0)
    left = list(connections)
    while left:
        ready = select.select(left, [], [], lib.SECONDS)[0]
        check(ready, f"nothing comes any more: {list(read.values())}")
        for connection in ready:
            piece = connection.recv(1 << 20)
            read[connection] += len(piece)
            if not piece:
                left.remove(connection)
    return list(read.values())


def unread(place):
    with contextlib.ExitStack() as stack:
        owner = stack.enter_context(place.gate())
        owner.ok("read_file", path="a.txt")
        guest = stack.enter_context(place.gate())
        guest.ok("read_file", path="a.txt")
        before = lib.peak_mb(owner.pid)
        silent = [stack.enter_context(contextlib.closing(place.connect())) for _ in range(GUESTS)]
        for connection in silent:
            ask(connection)
        for _ in range(20):
            guest.ok("read_file", path="long", max_bytes=FILE_BYTES)
            owner.ok("read_file", path="long", max_bytes=FILE_BYTES)
        lib.wait_until(lambda: "is disconnected" in owner.said(), "one is given up")
        guest.ok("read_file", path="long", max_bytes=FILE_BYTES)
        growth = lib.peak_mb(owner.pid) - before
        check(growth < GROWTH_MB, f"the owner grew by {growth} MB")


def slow(place):
    """Those who read get everything, however much it is together."""
    with contextlib.ExitStack() as stack:
        owner = stack.enter_context(place.gate())
        owner.ok("read_file", path="a.txt")
        readers = [stack.enter_context(contextlib.closing(place.connect())) for _ in range(3)]
        for connection in readers:
            ask(connection)
            connection.shutdown(socket.SHUT_WR)
        read = read_all(readers)
        check(all(n > CALLS * FILE_BYTES for n in read), f"{read} bytes; {owner.said()}")
        check("is disconnected" not in owner.said(), owner.said())


CASES = [
    ("guests that do not read", unread),
    ("guests that read", slow),
]

lib.run_cases(CASES, Place)
