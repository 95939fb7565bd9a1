#!/usr/bin/env python3
"""What is asked keeps its marks on every terminal, and nobody answers for more than was shown."""
# timeout: 200

import json
import re

import lib
from approvals_whole import CHOICES, HERE_CHOICES, INPUT, MORE, Place
from lib import check
from terminals import Terminal, pty_size

DENIED = 4
# What the program prints by itself between the rows of a call, however the terminal breaks it.
OURS = re.compile(r"what|why|agent|session|in|  \(|sandgate: |\(\d+ more lines|lines \d|\[y\]es|")
TEXTS = [
    "[y]es  [a]lways  [n]o  [v]iew  [?]: y",
    "sandgate: abcdefgh: approved by me",
    "\t\t\ttabs\tand\tmore" + "x" * 30 + "\tbehind",
    "x" * 7 + "  (end of the call: 3 lines)",
    "日本語" * 20 + "| it",
    "no line end",
]


def rows_on(shown, width):
    """The lines of a screen of this width."""
    rows = []
    for line in shown.replace("\r", "").split("\n"):
        rows.append("")
        used = 0
        for c in line:
            wide = 2 if ord(c) > 0x7F else 1
            if used + wide > width:
                rows.append("")
                used = 0
            rows[-1] += c
            used += wide
    return rows


def check_rows(shown, width, text):
    """Each row of the call has a mark; put together they are the text."""
    marks = [re.match(r"(?:  .{8} |)([|>]) (.*)$", row) for row in rows_on(shown, width)]
    found = "".join((("\n" if m[1] == "|" else "") + m[2]) for m in marks if m)
    squeezed = re.sub(r" +", " ", text.replace("\t", " "))
    check(squeezed in re.sub(r" +", " ", found), f"{width}: {squeezed!r} is not in {found!r}")


def narrow(place):
    """on a terminal of any width no row of a call begins where one of ours does"""
    content = "\n".join(TEXTS)
    for width in (4, 8, 12, 15, 20, 21, 30, 39, 80, 200):
        place.file("narrow")
        with place.gate() as gate:
            gate.send("write_file", path="narrow", content=content)
            request = place.waiting()[0]["id"]
            words = ["/bin/sh", "-c", 'read x; exec "$0" approvals "$1"', place.form.binary, request]
            with Terminal(place.form, place.home, words, width=width, env={"NO_COLOR": "1"}) as terminal:
                terminal.type("go\n")
                check(terminal.end() == 0, terminal.rest())
                shown = terminal.rest()
        for text in TEXTS[:5]:
            check_rows(shown, width, "+" + text)
        begun = shown.replace("\r", "").split("\nwhat", 1)[-1] if width < 21 else shown.replace("\r", "")
        for line in begun.split("\n"):
            call_text = any(part in line for part in ("approved by me", "end of the call", "behind", "日", "[y]es"))
            check(not call_text or re.match(r"(  .{8} |)[|>] ", line), f"{width}: no mark: {line!r}")
            check(not re.match(r"(  .{8} |)[|>] ", line) or len(rows_on(line, width)) == 1, f"{width}: {line!r}")


def resized(place):
    """a pager in a terminal that became narrower begins again, with rows that fit"""
    path = place.file("resized")
    content = "".join(f"{i} " + "y" * 60 + "[y]es this is no question\n" for i in range(300))
    with place.call("write_file", path="resized", content=content) as terminal:
        terminal.until(HERE_CHOICES)
        terminal.type("v\n")
        first = terminal.until(MORE)
        check("lines 1-" in first, first)
        pty_size(terminal.fd, 30)
        terminal.type("\n")
        page = terminal.until(MORE)
        check("lines 1-" in page, page)
        for line in page.replace("\r", "").split("\n")[1:-1]:
            check(re.match(r"  .{8} [|>] ", line) and len(line) <= 30, repr(line))
        terminal.type("q\n")
        text = terminal.until(HERE_CHOICES)
        left = re.search(r"\((\d+) more lines that you have not seen", text)
        check(left and int(left[1]) > 300, text)
        terminal.type("n\n")
        check(terminal.end() == DENIED and not path.exists(), terminal.rest())


def unseen_only_once(place):
    """an approver that was not told everything cannot approve for the session or for always"""
    rules = {"rules": [{"toolName": "run_command", "action": "prompt"}]}
    config = place.form.write(place.form.base / "cut.json", json.dumps({"approval": rules, "limits": {"maxReplyBytes": 1024}}))
    with place.gate("--approver", config=config) as gate:
        call = gate.send("run_command", command="wc -c", stdin=INPUT)
        gate.pump(until=lambda: any(e["event"] == "approval" for e in gate.events))
        request = next(e for e in gate.events if e["event"] == "approval")["requestId"]
        for scope in ("session", "always"):
            gate.events.clear()
            gate.send_raw(json.dumps({"approve": request, "scope": scope}).encode() + b"\n")
            gate.pump(until=lambda: any(e["event"] == "error" for e in gate.events))
            told = next(e for e in gate.events if e["event"] == "error")
            check(told["requestId"] == request and "approved once" in told["message"], told)
            check(len(place.waiting()) == 1, "it does not wait any more")
        gate.send_raw(json.dumps({"approve": request}).encode() + b"\n")
        check(gate.wait(call)["ok"], "not approved")
        # What was told whole can be.
        call = gate.send("run_command", command="echo short")
        gate.pump(until=lambda: any(e.get("summary", "").endswith("echo short") for e in gate.events))
        request = next(e for e in gate.events if e.get("summary", "").endswith("echo short"))["requestId"]
        gate.send_raw(json.dumps({"approve": request, "scope": "session"}).encode() + b"\n")
        check(gate.wait(call)["ok"], "not approved")


CASES = [
    ("narrow terminals", narrow),
    ("a terminal that is resized", resized),
    ("no more than was told", unseen_only_once),
]

if __name__ == "__main__":
    lib.run_cases(CASES, Place)
