#!/usr/bin/env python3
"""Whoever approves can read all of a call, in each place where it can be approved, and cannot be misled by its text."""
# timeout: 400

import hashlib
import json
import re
import subprocess

import lib
from lib import Gate, check, short, wait_until
from terminals import Terminal, request_id

CHOICES = "[y]es  this [s]ession  [a]lways  [n]o  [v]iew  [?]: "
HERE_CHOICES = "[y]es  [a]lways  [n]o  [v]iew  [?]: "
MORE = ": Enter for more, G to the end, q back: "
DENIED = 4  # exit status of a call that nobody approved

# 60 KB in one line (more is no command), then a last command; 100 KB that it is given.
COMMAND = "echo " + " ".join(f"word-{i}" for i in range(5800)) + "; echo the-last-command"
INPUT = "".join(f"input {i}, and so on\n" for i in range(5000))
LINES = [f"\tline {i} of it" + (" with blanks  " if i % 1000 == 7 else "") for i in range(10000)]
CONTENT = "".join(line + "\n" for line in LINES)


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder("whole-home", 0o700)
        self.workspace = form.folder("whole-ws", 0o777)
        self.config = self.rules("whole.json")

    def rules(self, name, **approval):
        rules = [{"toolName": t, "action": "prompt"} for t in ("run_command", "write_file")]
        return self.form.write(self.form.base / name, json.dumps({"approval": {"rules": rules, **approval}}))

    def file(self, name):
        path = self.workspace / name
        path.unlink(missing_ok=True)
        return path

    def gate(self, *options, config=None):
        return Gate(self.form, "--config", config or self.config, *options, workspace=self.workspace, state=self.home)

    def run(self, *argv):
        return self.form.run(self.home, *argv)

    def terminal(self, *argv, env=None, **more):
        return Terminal(self.form, self.home, [self.form.binary, *argv], env={"NO_COLOR": "1", **(env or {})}, **more)

    def call(self, tool, config=None, env=None, **arguments):
        path = self.form.base / "arguments.json"
        self.form.write(path, json.dumps(arguments))
        line = 'exec "$1" call "$2" - --workspace "$3" --config "$4" < "$5"'
        words = ["/bin/sh", "-c", line, "sh", self.form.binary, tool, self.workspace, config or self.config, path]
        return Terminal(self.form, self.home, words, env={"NO_COLOR": "1", **(env or {})})

    def waiting(self, count=1):
        def find():
            done = self.run("approvals", "--json")
            found = json.loads(done.stdout)
            return len(found) == count and found

        return wait_until(find, f"{count} wait")


def text_of(rows):
    """The lines behind the marks; `>` goes on with the line above."""
    lines = []
    for mark, text in re.findall(r"^  .{8} ([|>]) (.*?)\r?$", rows, re.M):
        if mark == "|":
            lines.append(text)
        else:
            lines[-1] += text
    return lines


def is_whole_command(text, where):
    lines = text_of(text)
    check("    " + COMMAND in lines, f"{where}: {short(text)}")
    begin = lines.index(f"stdin ({len(INPUT)} bytes):") + 1
    check(lines[begin : begin + 5000] == ["    " + line for line in INPUT.splitlines()], f"{where}: standard input")


def is_whole_write(text, where):
    shown = [line[1:] for line in text_of(text) if line[:1] == "+" and line[:3] != "+++"]
    # A tab is shown as blanks up to the next column of eight, the sign counted.
    expected = [" " * 7 + line[1:].removesuffix("  ") + ("\\[2 spaces]" if line.endswith("  ") else "") for line in LINES]
    check(shown == expected, f"{where}: {len(shown)} lines, {short(shown[:9])}")


CALLS = [
    ("run_command", {"command": COMMAND, "stdin": INPUT}, is_whole_command),
    ("write_file", {"path": "whole.txt", "content": CONTENT}, is_whole_write),
]


def page_through(terminal, choices):
    """What the pager shows, from the first line to the last."""
    terminal.type("v\n")
    shown = ""
    while True:
        wait_until(lambda: terminal.read(0.1) and (MORE in terminal.rest() or choices in terminal.rest()), "a page")
        if MORE not in terminal.rest():
            return shown + terminal.until(choices)
        shown += terminal.until(MORE)
        terminal.type("\n")


# --- everything can be read


def at_the_prompt(place):
    for tool, arguments, is_whole in CALLS:
        place.file("whole.txt")
        with place.call(tool, **arguments) as terminal:
            text = terminal.until(HERE_CHOICES)
            left = re.search(r"\r\n\((\d+) more lines that you have not seen: v shows them\)\r\n", text)
            check(left and int(left[1]) > 1000, text)
            shown = page_through(terminal, HERE_CHOICES)
            is_whole(shown, "prompt")
            total = re.search(r"\r\n  \(end of the call: (\d+) lines\)\r\n", shown)
            check(total and f" of {total[1]}{MORE}" in shown and "have not seen" not in shown, short(shown[-300:]))
            terminal.type("y\n")
            check(terminal.end() == 0, terminal.rest())


def pager_keys(place):
    place.file("whole.txt")
    with place.call("write_file", path="whole.txt", content=CONTENT) as terminal:
        terminal.until(HERE_CHOICES)
        terminal.type("V\n")
        check(re.search(r"lines 1-(\d+) of 1\d{4}: Enter", terminal.until(MORE)), terminal.rest())
        terminal.type("q\n")
        check("more lines that you have not seen" in terminal.until(HERE_CHOICES), terminal.rest())
        terminal.type("v\n")
        terminal.until(MORE)
        terminal.type("G\n")
        text = terminal.until(HERE_CHOICES)
        check("line 9999 of it" in text and "  (end of the call: " in text, text)
        check("more lines that you have not seen" in text, text)
        # In the pager y is no answer.
        terminal.type("v\n")
        terminal.until(MORE)
        terminal.type("y\n")
        terminal.until(MORE)
        terminal.type("q\n")
        terminal.until(HERE_CHOICES)
        terminal.type("n\n")
        check(terminal.end() == DENIED, terminal.rest())


def in_the_list(place):
    for tool, arguments, is_whole in CALLS:
        place.file("whole.txt")
        with place.gate() as gate:
            call = gate.send(tool, **arguments)
            request = place.waiting()[0]["id"]
            shown = place.run("approvals", request)
            check(shown.returncode == 0, f"{shown.stderr!r}")
            is_whole(shown.stdout.decode(), "approvals ID")
            one = json.loads(place.run("approvals", request, "--json").stdout)
            whole_detail(one["detail"], tool, "approvals ID --json")
            check("detail" not in place.waiting()[0], "the list has the detail too")
            with place.terminal("approvals", request) as terminal:
                check(terminal.end() == 0, terminal.rest())
                is_whole(terminal.rest(), "approvals ID on a terminal")
            # Without a terminal the yes itself shows what it was for.
            done = place.run("approve", request)
            check(done.returncode == 0 and gate.wait(call)["ok"], f"{done.stderr!r}")
            is_whole(done.stdout.decode(), "approve")
        after = json.loads(place.run("approvals", request, "--json").stdout)
        check(after["state"] == "used" and after["detail"] == "" and after["proposal"] is None, short(after))


def whole_detail(detail, tool, where):
    if tool == "run_command":
        check(f"    {COMMAND}\n" in detail, f"{where}: {short(detail)}")
        check("".join(f"    {line}\n" for line in INPUT.splitlines()) in detail, f"{where}: standard input")
    else:
        lines = [line[1:] for line in detail.split("\n") if line[:1] == "+" and line[:3] != "+++"]
        check(len(lines) == len(LINES) and lines[6] == LINES[6], f"{where}: {short(lines[:9])}")
        check(lines[7] == LINES[7][:-2] + "\\[2 spaces]", lines[7])


def over_stdio(place):
    for tool, arguments, _ in CALLS:
        place.file("whole.txt")
        with place.gate("--approver") as gate:
            call = gate.send(tool, **arguments)
            gate.pump(until=lambda: any(e["event"] == "approval" for e in gate.events))
            event = next(e for e in gate.events if e["event"] == "approval")
            whole_detail(event["detail"], tool, "stdio --approver")
            gate.send_raw(json.dumps({"approve": event["requestId"]}).encode() + b"\n")
            check(gate.wait(call)["ok"], tool)


def too_long_for_an_event(place):
    """An approver who cannot be sent everything is told so, and how to see the rest."""
    rules = {"rules": [{"toolName": "run_command", "action": "prompt"}]}
    small = {"approval": rules, "limits": {"maxReplyBytes": 1024}}
    config = place.form.write(place.form.base / "small.json", json.dumps(small))
    with place.gate("--approver", config=config) as gate:
        call = gate.send("run_command", command="cat", stdin=INPUT)
        gate.pump(until=lambda: any(e["event"] == "approval" for e in gate.events))
        event = next(e for e in gate.events if e["event"] == "approval")
        request = event["requestId"]
        lines = event["detail"].splitlines()
        told = re.fullmatch(rf"\\\[(\d+) bytes are not here: `sandgate approvals {request}` shows all\]", lines[-1])
        check(told and lines[1] == "    input 0, and so on", short(lines))
        check(event["proposal"] is None, "a rule is offered for what cannot be seen")
        whole = json.loads(place.run("approvals", request, "--json").stdout)["detail"]
        check(whole.endswith("    input 4999, and so on\n"), short(whole[-99:]))
        check(len(event["detail"]) - len(lines[-1]) - 1 + int(told[1]) == len(whole), f"{told[1]} of {len(whole)}")
        gate.send_raw(json.dumps({"deny": request}).encode() + b"\n")
        lib.expect_error(gate.wait(call), "APPROVAL_DENIED")


def long_diff(place):
    """Where the diff is too long, the content itself is shown, and no rule is offered."""
    content = "".join(f"{i} " + "x" * 990 + "\n" for i in range(9000))
    path = place.file("long.txt")
    with place.gate() as gate:
        call = gate.send("write_file", path="long.txt", content=content)
        request = place.waiting()[0]["id"]
        shown = json.loads(place.run("approvals", request, "--json").stdout)
        detail = shown["detail"]
        digest = hashlib.sha256(content.encode()).hexdigest()
        check(f"(the diff is not whole: 0 bytes become {len(content)})\n" in detail, short(detail[-200:]))
        check(f"content: {len(content)} bytes, sha256 {digest}\n" in detail, short(detail[-200:]))
        lines = detail[detail.index(f"content ({len(content)} bytes):\n") :].splitlines()[1:]
        check(lines == ["    " + line for line in content.splitlines()], f"{len(lines)} lines")
        check(shown["proposal"] is None, "a rule is offered for what was not shown as a diff")
        check(place.run("approve", request, "--always", "--yes").returncode == 1, "approved for always")
        check(place.run("approve", request).returncode == 0 and gate.wait(call)["ok"], "not approved")
    check(path.read_text() == content, "not written")


def watched(place):
    for tool, arguments, is_whole in CALLS:
        place.file("whole.txt")
        with place.terminal("approvals", "--watch") as terminal, place.gate() as gate:
            terminal.until("shown as they come")
            call = gate.send(tool, **arguments)
            request = request_id(terminal.until(CHOICES))
            is_whole(page_through(terminal, CHOICES), "watch")
            terminal.type("yes\n")
            terminal.until(f"sandgate: {request}: approved by ")
            check(gate.wait(call)["ok"], tool)


def approved_by_name(place):
    """On a terminal a call that does not fit on it is shown before it is approved."""
    for tool, arguments, is_whole in CALLS:
        path = place.file("whole.txt")
        with place.gate() as gate:
            call = gate.send(tool, **arguments)
            request = place.waiting()[0]["id"]
            with place.terminal("approve", request) as terminal:
                terminal.until(CHOICES)
                check(len(place.waiting()) == 1 and not path.exists(), "approved before it was asked")
                terminal.type("\x04")
                check(terminal.end() == 1 and len(place.waiting()) == 1, terminal.rest())
            with place.terminal("approve", request) as terminal:
                terminal.until(CHOICES)
                is_whole(page_through(terminal, CHOICES), "approve")
                terminal.type("y\n")
                check(terminal.end() == 0, terminal.rest())
            check(gate.wait(call)["ok"], tool)
    with place.gate() as gate:
        call = gate.send("run_command", command=COMMAND)
        with place.terminal("approve", place.waiting()[0]["id"], "--yes") as terminal:
            check(terminal.end() == 0, terminal.rest())
        check(gate.wait(call)["ok"], "--yes")


# What is written, and how its diff shows it.
BYTES = [
    ({"content": "AAECAw==", "encoding": "base64"}, r"+\x00\x01\x02\x03"),
    ({"content": "#!/bin/sh\necho unseen\nexit\n\0"}, "+echo unseen\n+exit\n+\\x00\n"),
    ({"content": "#!/bin/sh\necho\0unseen\n"}, r"+echo\x00unseen"),
    ({"content": "IyEvYmluL3NoCmVjaG8g/wo=", "encoding": "base64"}, "+#!/bin/sh\n+echo \\xff\n"),
    ({"content": "//4KaWQKAAA=", "encoding": "base64"}, "(the bytes are shown as UTF-16)\n"),
]


def binary(place):
    """No byte keeps the others from being shown."""
    for arguments, expected in BYTES:
        path = place.file("bytes")
        with place.gate("--approver") as gate:
            gate.send("write_file", path=path.name, **arguments)
            gate.pump(until=lambda gate=gate: any(e["event"] == "approval" for e in gate.events))
            check(expected in gate.events[0]["detail"], (expected, gate.events[0]["detail"]))


MIXED = "(not ASCII, in one word with letters of ASCII: "
UMLAUTS = "".join(chr(c) for c in range(0xC0, 0xD7))


def lookalikes(place):
    """Letters that only look like others are named."""
    if not (folder := place.workspace / "sr\u0441").exists():
        folder.mkdir()
        place.form.own(folder)
    for tool, arguments, expected in (
        ("run_command", {"command": "./deplo\u0443.sh"}, [MIXED + "Cyrillic U+0443)\n"]),
        ("run_command", {"argv": ["r\u043c", "x\u0443\u0443"]}, [MIXED + "Cyrillic U+043C U+0443)\n"]),
        ("write_file", {"path": "\u0430.txt", "content": "x"}, ["(not ASCII: Cyrillic U+0430)\n"]),
        # Those that look like no others do not hide one.
        ("run_command", {"command": "echo " + UMLAUTS + "; ./deplo\u0443.sh"}, [
            MIXED + "Cyrillic U+0443)\n",
            "(not ASCII: accented Latin U+00C0 U+00C1 U+00C2 U+00C3 U+00C4 U+00C5 U+00C6 U+00C7 and 15 more)\n"]),
        ("run_command", {"command": "echo " + UMLAUTS + " \u0430 \u2215 \uff0f \u4e00"}, [
            "(not ASCII: signs U+2215; Cyrillic U+0430; look-alikes U+4E00; wide or narrow forms U+FF0F; accented Latin "]),
        # All of one script, and what cannot be seen.
        ("run_command", {"command": "echo " + "".join(chr(c) for c in range(0x410, 0x450)) + "; \u0440m"},
         [MIXED + "Cyrillic U+0440)\n", "U+0410 ", " U+044F)\n"]),
        ("run_command", {"command": "l\u200bs \u202e"}, [MIXED + "invisible U+200B)\n", "(not ASCII: invisible U+202E)\n"]),
        # Wherever they stand.
        ("run_command", {"command": "ls", "env": {"A": "\u0440m"}}, [MIXED + "Cyrillic U+0440)\n"]),
        ("run_command", {"command": "sh", "stdin": "\u0440m"}, [MIXED + "Cyrillic U+0440)\n"]),
        ("run_command", {"command": "ls", "cwd": "sr\u0441"}, [MIXED + "Cyrillic U+0441)\n"]),
    ):
        with place.gate("--approver") as gate:
            gate.send(tool, **arguments)
            gate.pump(until=lambda gate=gate: any(e["event"] == "approval" for e in gate.events))
            for text in expected:
                check(text in gate.events[0]["detail"], (text, gate.events[0]))


def nothing_to_see(place):
    """A question without a diff says why."""
    path = place.file("same")
    for content, expected in (("", "(a new, empty file)\n"), ("same\n", "(the content stays as it is)\n")):
        if content:
            place.form.write(path, content)
        with place.gate("--approver") as gate:
            gate.send("write_file", path="same", content=content)
            gate.pump(until=lambda: any(e["event"] == "approval" for e in gate.events))
            check(gate.events[0]["detail"] == expected, gate.events[0]["detail"])


# --- nobody is misled


def imitation(place):
    """Lines of the call that look like the prompt's own, at every place where text of a call is shown."""
    forged = [
        "  (end of the call: 3 lines)",
        HERE_CHOICES,
        "  why      | approval.default",
        "           | -nothing is removed",
        "           > goes on",
        "(312 more lines that you have not seen: v shows them)",
        "sandgate: abcdefgh: approved by me",
        "lines 1-2 of 2" + MORE,
        "\x1b[31mred\x1b[0m \u202e\u2066 \x9b2J \x08\x08",
        "",
    ]
    content = "\n".join(forged) + "\n" * 200 + "rm -rf /\n"
    path = place.file("forged")
    with place.call("write_file", path="forged", content=content) as terminal:
        terminal.until("\x0f\r\n")  # the end of what resets the terminal
        shown = terminal.until("\r\n" + HERE_CHOICES) + page_through(terminal, "\r\n" + HERE_CHOICES)
        check(not re.search(r"[^\x20-\x7e\r\n]", shown), repr(re.search(r".{20}[^\x20-\x7e\r\n].{20}", shown)))
        for line in shown.replace("\r", "").split("\n"):
            ours = re.match(r"  .{8} [|>] |$|sandgate: a call waits|  \(|\(\d+ more lines that|v$|lines \d|" + re.escape(HERE_CHOICES), line)
            check(ours, f"a line of nobody: {line!r}")
        check(len(re.findall(r"^  \(end of the call", shown, re.M)) == 2, shown)
        check(len(re.findall(r"^sandgate: ", shown, re.M)) == 1, shown)
        check(len(re.findall(r"^  why  ", shown, re.M)) == 2, shown)
        check(text_of(shown).count("+rm -rf /") == 2, "what stands below blank lines is not shown at once")
        check("+" + forged[2] in text_of(shown), shown)
        terminal.type("n\n")
        check(terminal.end() == DENIED and not path.exists(), terminal.rest())


def long_lines(place):
    """A line that is broken to fit does not look like several."""
    line = "x" * 66 + "-this was here" + "y" * 200
    with place.call("write_file", path="wide", content=line + "\n") as terminal:
        text = terminal.until(HERE_CHOICES)
        check("\r\n           > " in text and not re.search(r"^ +\| -this", text, re.M), text)
        check("+" + line in text_of(text), text)
        terminal.type("n\n")
        terminal.end()


def colours(place):
    """On a terminal, unless it or the user says no."""
    path = place.file("colours")
    place.form.write(path, "old\n")
    for env, there in (({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": "", "TERM": "dumb"}, False)):
        with place.call("write_file", env={"TERM": "xterm", **env}, path="colours", content="new\n") as terminal:
            if "TERM" not in env:
                terminal.until("\x0f\r\n")  # the end of what resets the terminal
            text = terminal.until(HERE_CHOICES)
            check(("| \x1b[31m-old\x1b[0m\r\n" in text and "| \x1b[32m+new\x1b[0m\r\n" in text) == there, repr(text))
            check(("\x1b" in text) == there, repr(text))
            check(there or ("| -old\r\n" in text and "| +new\r\n" in text), repr(text))
            terminal.type("n\n")
            terminal.end()
    with place.gate() as gate:
        gate.send("write_file", path="colours", content="new\n")
        check(b"\x1b" not in place.run("approvals", place.waiting()[0]["id"]).stdout, "colours in a file")


def why(place):
    """The rule, and the part of the line that another rule does not cover."""
    rules = [{"toolName": "run_command", "action": "approve", "condition": {"command": {"program": ["echo"]}}}]
    config = place.form.write(place.form.base / "why.json", json.dumps({"approval": {"rules": rules}}))
    for tool, arguments, expected in (
        ("run_command", {"command": "echo a && touch b"}, "touch"),
        ("write_file", {"path": "x", "content": ""}, "approval.default (no rule matches this call)"),
    ):
        with place.call(tool, config=config, env={"SANDGATE_APPROVAL_DEFAULT": "prompt"}, **arguments) as terminal:
            text = terminal.until(HERE_CHOICES)
            found = [line for line in text_of(text) if line.startswith("approval.default")]
            check(len(found) == 1 and expected in found[0], text)
            terminal.type("n\n")
            terminal.end()


# --- watching


def watch_several(place):
    """One after the other, each with its own answer; those that end by themselves are withdrawn."""
    first, second = place.file("first"), place.file("second")
    with place.terminal("approvals", "--watch") as terminal, place.gate() as gate:
        terminal.until("shown as they come")
        calls = [gate.send("run_command", command=f"touch {path.name}") for path in (first, second)]
        text = terminal.until("\r\n" + CHOICES)
        check("| run_command: touch first\r\n" in text and "touch second" not in text, text)
        terminal.type("n\n")
        text = terminal.until("\r\n" + CHOICES)
        check(": denied by " in text and "| run_command: touch second\r\n" in text, text)
        terminal.type("y\n")
        terminal.until(": approved by ")
        lib.expect_error(gate.wait(calls[0]), "APPROVAL_DENIED")
        check(gate.wait(calls[1])["ok"] and second.exists() and not first.exists(), "the wrong one ran")
        call = gate.send("run_command", command="touch first")
        request = request_id(terminal.until("\r\n" + CHOICES))
        gate.send_raw(json.dumps({"cancel": call}).encode() + b"\n")
        terminal.until(f"\r\nsandgate: {request}: cancelled\r\n")
        call = gate.send("run_command", command="touch first")
        request = request_id(terminal.until("\r\n" + CHOICES))
        check(place.run("deny", request).returncode == 0, "deny")
        terminal.until(f"\r\nsandgate: {request}: denied by ")
        # Who leaves has not answered.
        call = gate.send("run_command", command="touch first")
        terminal.until("\r\n" + CHOICES)
        terminal.type("\x04")
        check(terminal.end() == 0 and len(place.waiting()) == 1, terminal.rest())
    check(not first.exists(), "it ran")


def watch_late(place):
    with place.terminal("approvals", "--watch") as terminal, place.gate(config=place.rules("late.json", timeoutMs=1500)) as gate:
        call = gate.send("run_command", command="touch late")
        request = request_id(terminal.until("\r\n" + CHOICES))
        terminal.until(f"\r\nsandgate: {request}: nobody answered in time\r\n")
        lib.expect_error(gate.wait(call), "APPROVAL_TIMEOUT")


def watch_dead_gate(place):
    with place.terminal("approvals", "--watch") as terminal:
        with place.gate() as gate:
            gate.send("run_command", command="touch late")
            request = request_id(terminal.until("\r\n" + CHOICES))
            gate.kill()
            gate.process.wait()
            terminal.until(f"\r\nsandgate: {request}: its gate died\r\n")


def watch_always(place):
    path = place.file("always")
    with place.terminal("approvals", "--watch") as terminal, place.gate() as gate:
        call = gate.send("run_command", command="touch always")
        terminal.until("\r\n" + CHOICES)
        terminal.type("a\n")
        check('"toolName"' in terminal.until("write it? [y/n]: "), terminal.rest())
        terminal.type("y\n")
        check(gate.wait(call)["ok"] and path.exists(), "not approved")
        check(gate.call("run_command", command="touch always")["ok"], "asked again")
    check(place.run("approvals", "forget", "0").returncode == 0, "no rule was written")


def two_approvers(place):
    """Both are asked; the second is told that it was answered, and by whom."""
    place.file("twice")
    with place.terminal("approvals", "--watch") as one, place.terminal("approvals", "--watch") as two, place.gate() as gate:
        call = gate.send("run_command", command="touch twice")
        request = request_id(one.until("\r\n" + CHOICES))
        check(request_id(two.until("\r\n" + CHOICES)) == request, "another question")
        two.pid_stop()
        one.type("y\n")
        one.until(f"sandgate: {request}: approved by ")
        check(gate.wait(call)["ok"], "not approved")
        two.type("n\n")
        two.pid_go()
        text = two.until(" by sandgate approvals")
        check(re.search(rf"sandgate: (the call {request} was approved already|{request}: approved) .*by .+ on /dev/pts/\d+", text), text)


def watch_in_a_pipe(place):
    """Without a terminal a line for each, or all of it as JSON; nothing is taken as an answer."""
    for options, check_line in (
        ([], lambda line, request: re.match(rb"%s  \d+ s  run_command  -  -  run_command: touch piped\n" % request, line)),
        (["--json"], lambda line, request: json.loads(line)["id"].encode() == request and "detail" in json.loads(line)),
    ):
        path = place.file("piped")
        watcher = subprocess.Popen(
            [place.form.binary, "approvals", "--watch", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            cwd="/", env=lib.environment(place.home), **place.form.identity(),
        )  # fmt: skip
        try:
            with place.gate() as gate:
                gate.send("run_command", command="touch piped")
                watcher.stdin.write(b"y\ny\n")
                watcher.stdin.flush()
                line = watcher.stdout.readline()
                request = place.waiting()[0]["id"].encode()
                check(check_line(line, request) and not path.exists(), repr(line))
        finally:
            watcher.kill()
            watcher.communicate()


CASES = [
    ("all of a long call at the prompt", at_the_prompt),
    ("the keys of the pager", pager_keys),
    ("all of it by `approvals ID` and `approve`", in_the_list),
    ("all of it over stdio", over_stdio),
    ("an event that has no room for it", too_long_for_an_event),
    ("a diff that is too long", long_diff),
    ("all of it while watching", watched),
    ("a long call is shown before it is approved by its id", approved_by_name),
    ("bytes that are no text", binary),
    ("letters that look like others", lookalikes),
    ("a write that changes nothing", nothing_to_see),
    ("text that imitates the prompt", imitation),
    ("lines that are broken", long_lines),
    ("colours", colours),
    ("why it is asked", why),
    ("watching several", watch_several),
    ("watching one that nobody answers", watch_late),
    ("watching one whose gate dies", watch_dead_gate),
    ("watching, for always", watch_always),
    ("two approvers", two_approvers),
    ("watching in a pipe", watch_in_a_pipe),
]

if __name__ == "__main__":
    lib.run_cases(CASES, Place)
