#!/usr/bin/env python3
"""Memory that a cell or a gate lacks for a moment is an error of the call that needed it, or of none: the cell lives on, and
so do the other calls in it.
"""
# timeout: 400

import collections
import errno
import json
import os
import shutil
import subprocess

import lib
from lib import Gate, check, short
from ran import Place

LINE = "wörd éa xyz abc ÀÉ " * 20 + "\n"
# Each of them is close to the largest that is taken: compiling takes 40 MB, and searching as much again.
LARGE = [rf"(?i)\w{{{count}}}[a-{last}]" for count in (196, 197, 198) for last in "bcdefgh"]
# These take most of their memory before anything is compiled: each class is a table of 26 KB, and there are thousands.
CLASSES = [unit * (30000 // len(unit)) for unit in (r"\W", r"\PL", r"[^\w]")]


def limited(place, kilobytes):
    """A gate with so much memory for data, and for each of its processes."""
    wrapper = place.form.write(
        place.form.base / f"{place.home.name}.sh",
        f'#!/bin/bash\nulimit -d {kilobytes}\nexec {place.form.binary} "$@"\n',
    )
    wrapper.chmod(0o755)
    return Gate(place.form, *place.options, workspace=place.workspace, state=place.home, binary=wrapper)


def outcome(result):
    return "ok" if result["ok"] else result["error"]["code"]


def search_at_once(gate, patterns):
    """All of them at the same time, beside a command and writes; the codes of the answers to the searches."""
    beside = gate.send("run_command", command="read -t 60 <>wait; echo unharmed")
    calls = [gate.line("search", {"pattern": pattern, "max_results": 5}, f"s{i}") for i, pattern in enumerate(patterns)]
    gate.send_raw(b"".join(line for _, line in calls))
    seen = collections.Counter()
    for call, _ in calls:
        result = gate.wait(call, seconds=120)
        seen[outcome(result)] += 1
        check(result["ok"] or result["error"]["code"] in ("SESSION_BUSY", "INVALID_PATTERN"), short(result))
        check(result["ok"] or outcome(result) != "SESSION_BUSY" or result["error"]["retryable"], short(result))
    gate.send_raw(b'{"cancel":"%s"}\n' % beside.encode())
    lib.expect_error(gate.wait(beside), "CANCELLED")
    return seen


def searches(form, name, patterns, kilobytes=None, threads=32):
    place = Place(form, name, {"limits": {"workerThreads": threads}})
    with form.acting():
        os.mkfifo(place.workspace / "wait")
    for i in range(64):
        place.put(f"f{i}", LINE * 50)
    with limited(place, kilobytes) if kilobytes else place.gate() as gate:
        gate.ok("read_file", path="f0")
        cell = gate.cell()
        seen = search_at_once(gate, patterns)
        check(gate.cell() == cell, f"another cell, after {seen}")
        # What was lacking is there again.
        check(len(gate.ok("search", pattern=r"w\w+d", path="f0", max_results=5)["matches"]) == 5, "the next search")
        return seen


def large_patterns(form):
    """64 searches at once for patterns that are as large as can be, with 32 threads: the cell lives on"""
    seen = searches(form, "large", (LARGE * 4)[:64])
    check(seen["ok"] > 0, f"{seen}")


def many_classes(form):
    """searches at once for thousands of classes of Unicode: the cell lives on"""
    seen = searches(form, "classes", CLASSES * 4)
    check(seen["INVALID_PATTERN"] > 0, f"{seen}")


def little_memory(form):
    """the same with 60 and 120 MB of memory: what fits is done, what does not is told to try again"""
    for kilobytes, threads in ((60000, 8), (120000, 32)):
        seen = searches(form, f"little{kilobytes}", [r"x\w+ abc", *LARGE[:12], r"x\w+ abc"], kilobytes, threads)
        check(seen["ok"] > 0 and seen["SESSION_BUSY"] > 0, f"with {kilobytes} kB: {seen}")


def receiving(form):
    """the gate finds no memory to receive an answer, once: it is received later, from the same cell"""
    place = Place(form, "receiving")
    place.put("file", "content\n")
    inject = form.base / "inject"  # where a plain user can start it
    shutil.copy(lib.BUILD / "tests/faults/inject", inject)
    inject.chmod(0o755)
    for nth in range(1, 9):
        log = form.write(form.base / f"log{nth}", "")
        under = [inject, "--log", log, "--fail", "gate", "recvfrom", nth, errno.ENOMEM, "--"]
        with place.gate(under=under) as gate:
            for _ in range(4):
                check(gate.ok("read_file", path="file")["content"] == "content\n", f"with {nth}")
            value = gate.ok("run_command", command="echo x")
            check(value["stdout"] == "x\n", f"with {nth}: {short(value)}")
        check("failed" in log.read_text() or nth > 4, f"nothing failed with {nth}: {log.read_text()}")


def many_small_things(form):
    """walks through folders with rules of their own, with hardly any memory: each is whole or is told to try again"""
    place = Place(form, "small")
    folder = ""
    for _ in range(100):
        folder += "d/"
        place.put(f"{folder}f", "needle\n")
        place.put(f"{folder}.gitignore", "left-out\n")
    beside = "run_command", {"command": "sleep 1; echo unharmed"}
    walks = (("search", {"pattern": "needle", "max_results": 1000}), ("list_files", {"recursive": True, "max_results": 1000}),
             ("read_file", {"path": "d/f"}))
    for megabytes in (18, 19, 20, 21, 22):
        with place.gate(under=["prlimit", f"--as={megabytes << 20}", "--"]) as gate:
            gate.ok("read_file", path="d/f")
            cell = gate.cell()
            calls = [gate.line(name, args, f"{name}{i}") for i in range(12) for name, args in walks]
            calls.insert(0, gate.line(*beside, "beside"))
            gate.send_raw(b"".join(line for _, line in calls))
            for call, _ in calls:
                result = gate.wait(call, seconds=120)
                what = f"{call} with {megabytes} MB: {short(result)}"
                check(result["ok"] or outcome(result) == "SESSION_BUSY", what)
                found = result.get("result", {}).get("matches") if result["ok"] and call.startswith("search") else None
                check(found is None or len(found) == 100, what)
            check(gate.cell() == cell, f"another cell with {megabytes} MB")


CONTROL = "\x01" * (8 << 20)  # six bytes of each in an answer
START = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}


def requests(front):
    """The lines that ask for all of it four times, and then for little."""
    calls = [{"path": "control", "max_bytes": len(CONTROL)}] * 4 + [{"path": "small"}]
    if front == "mcp":
        yield {"jsonrpc": "2.0", "id": "start", "method": "initialize", "params": START}
        yield {"jsonrpc": "2.0", "method": "notifications/initialized"}
        for i, args in enumerate(calls):
            yield {"jsonrpc": "2.0", "id": f"{i}", "method": "tools/call", "params": {"name": "read_file", "arguments": args}}
    for i, args in enumerate(calls):
        if front == "tool_call":
            yield {"id": f"{i}", "tool_call": {"name": "read_file", "arguments": args}}
        elif front == "openai":
            yield {"id": f"{i}", "type": "function", "function": {"name": "read_file", "arguments": json.dumps(args)}}


def answer_in(front, line):
    """The id and the native answer of a call in a line, or None."""
    if front == "openai":
        return line["tool_call_id"], json.loads(line["content"])
    if front == "tool_call":
        return line["id"], line["result"]
    if line["id"] == "start":
        return None
    failed = line["result"].get("isError")
    return line["id"], json.loads(line["result"]["content"][0]["text"]) if failed else {"ok": True}


def large_answers(form):
    """answers that take more memory than there is: all lines are whole, each call is answered, and the gate lives on"""
    place = Place(form, "answers")
    place.put("control", CONTROL)
    place.put("small", "x\n")
    for front in ("tool_call", "openai", "mcp"):
        options = ["mcp", "--host", "--structured"] if front == "mcp" else ["stdio", "--format", front]
        text = b"".join(json.dumps(line).encode() + b"\n" for line in requests(front))
        seen = collections.Counter()
        for megabytes in (60, 100, 200):
            under = ["prlimit", f"--as={megabytes << 20}", "--"]
            done = subprocess.run([*under, str(form.binary), *options, "--workspace", str(place.workspace)], input=text,
                                  capture_output=True, timeout=120, cwd="/", env=lib.environment(place.home), check=False,
                                  **form.identity())
            what = f"{front} with {megabytes} MB: {done.returncode} {done.stderr.decode()[-300:]}"
            check(done.returncode == 0 and done.stdout.endswith(b"\n"), what)
            answers = dict(filter(None, (answer_in(front, json.loads(line)) for line in done.stdout.splitlines())))
            check(sorted(answers) == list("01234"), f"{what} {sorted(answers)}")
            for result in answers.values():
                seen[outcome(result)] += 1
                check(result["ok"] or (outcome(result) == "SESSION_BUSY" and result["error"]["retryable"]), short(result))
        check(seen["SESSION_BUSY"] > 0 and seen["ok"] > 0, f"{front}: {seen}")


CASES = [(case.__doc__, case) for case in (large_patterns, many_classes, little_memory, many_small_things, large_answers)]
if os.uname().machine == "x86_64":  # the calls that tests/faults/inject.c knows
    CASES.append((receiving.__doc__, receiving))

if __name__ == "__main__":
    lib.run_cases(CASES)
