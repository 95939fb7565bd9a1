#!/usr/bin/python3
"""A call that is passed on to a session's owner is answered as in a gate of its own, in every format."""
import json
import re

import lib
from lib import Gate, check, short

FORMATS = "tool_call openai openai-responses anthropic ollama".split()
# Tool, arguments as text, and the exit status.
CALLS = [
    ("read_file", '{"path": "a.txt"}', 0),
    ("read_file", '{\n  "path": "none"\n}', 1),
    ("time_now", "{}", 0),
    ("stat", "[1]", 1),
    ("stat", '{"path": 5}', 1),
    ("no_such_tool", "{}", 1),
]
LINES = {
    "tool_call": {"id": "x1", "tool_call": {"name": "read_file", "arguments": {"path": "a.txt"}}},
    "openai": {"id": "x1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"a.txt"}'}},
    "openai-responses": {"type": "function_call", "call_id": "x1", "name": "read_file", "arguments": '{"path":"a.txt"}'},
    "anthropic": {"type": "tool_use", "id": "x1", "name": "read_file", "input": {"path": "a.txt"}},
    "ollama": {"function": {"name": "read_file", "arguments": {"path": "a.txt"}}},
}


def lasting(line):
    """An answer without what differs from run to run."""
    return re.sub(r'(\\?"(?:duration_ms|unix_ms|utc)\\?":)(\\?"[^"]*"|\d+)', r"\1-", line.decode())


class Place:
    def __init__(self, form, name):
        self.form = form
        self.home = form.folder(f"{name}-home", 0o700)
        self.workspace = form.folder(f"{name}-ws")
        form.write(self.workspace / "a.txt", 'al"pha\n')
        made = form.run(self.home, "session", "create", "--workspace", self.workspace)
        check(made.returncode == 0, made.stderr)
        self.session = made.stdout.decode().strip()

    def run(self, *argv, stdin=b""):
        return self.form.run(self.home, *argv, stdin=stdin)


def calls(place, wire_format):
    for tool, arguments, status in CALLS:
        own = place.run("call", tool, arguments, "--format", wire_format, "--workspace", place.workspace)
        passed_on = place.run("call", tool, arguments, "--format", wire_format, "--session", place.session)
        check(own.returncode == passed_on.returncode == status, f"{tool} {arguments}: {own}, {passed_on}")
        check(lasting(own.stdout) == lasting(passed_on.stdout), f"own {own.stdout}, passed on {passed_on.stdout}")
    broken = place.run("call", "stat", "{no json", "--format", wire_format, "--session", place.session)
    check(broken.returncode == 1 and b"INVALID_ARGUMENTS" in broken.stdout, f"{broken}")


def lines(place, wire_format):
    line = json.dumps(LINES[wire_format]).encode() + b"\n"
    own = place.run("stdio", "--format", wire_format, "--workspace", place.workspace, stdin=line + b"{}\n")
    passed_on = place.run("stdio", "--format", wire_format, "--session", place.session, stdin=line + b"{}\n")
    check(own.returncode == passed_on.returncode == 0, f"{own}, {passed_on}")
    told = sorted(map(lasting, own.stdout.splitlines()))
    check(len(told) == 2 and told == sorted(map(lasting, passed_on.stdout.splitlines())), f"{own}, {passed_on}")
    check("al" in told[0] + told[1] and "INVALID_ARGUMENTS" in told[0] + told[1], short(told))


def main():
    tap = lib.Tap()
    for form in lib.forms():
        place = Place(form, "formats")
        with Gate(form, "--session", place.session, state=place.home) as owner:
            owner.ok("read_file", path="a.txt")
            for wire_format in FORMATS:
                with tap.case(f"{form.name}: {wire_format}: calls and lines that are passed on"):
                    calls(place, wire_format)
                    lines(place, wire_format)
    tap.done()


main()
