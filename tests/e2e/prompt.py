#!/usr/bin/env python3
"""A person at a terminal is asked about calls, with real pseudo-terminals: `call`, `run`, and a second terminal."""
# timeout: 300

import json
import os
import re
import subprocess
import time

import lib
from lib import check, short, wait_until
from terminals import Terminal, request_id

CHOICES = "[y]es  [a]lways  [n]o  [v]iew  [?]: "
SESSION_CHOICES = "[y]es  this [s]ession  [a]lways  [n]o  [v]iew  [?]: "
FEW_CHOICES = "[y]es  [n]o  [v]iew  [?]: "  # where no rule can be made of it
DENIED = 4  # exit status of a call that nobody approved
PROMPT_MS = 2000


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder("prompt-home", 0o700)
        self.workspace = form.folder("prompt-ws", 0o777)
        self.config = self.rules("prompt.json")

    def rules(self, name, **approval):
        rules = [{"toolName": t, "action": "prompt"} for t in ("run_command", "write_file")]
        return self.form.write(self.form.base / name, json.dumps({"approval": {"rules": rules, **approval}}))

    def file(self, name):
        """A name that nothing has."""
        path = self.workspace / name
        path.unlink(missing_ok=True)
        return path

    def words(self, command, config=None):
        return [
            self.form.binary, "call", "run_command", json.dumps({"command": command}),
            "--workspace", self.workspace, "--config", config or self.config,
        ]  # fmt: skip

    def call(self, command, config=None, **more):
        return Terminal(self.form, self.home, self.words(command, config), **more)

    def run(self, *argv):
        return self.form.run(self.home, *argv)

    def approvals(self, *more):
        done = self.run("approvals", "--json", *more)
        check(done.returncode == 0, f"approvals: {done.stderr!r}")
        return json.loads(done.stdout)

    def rules_for_always(self):
        return json.loads(self.run("approvals", "rules", "--json").stdout)

    def forget_all(self):
        for _ in self.rules_for_always():
            check(self.run("approvals", "forget", "0").returncode == 0, "forget")


def asked(terminal, choices=CHOICES):
    # At the beginning of a line: elsewhere it may be a command's.
    return terminal.until("\r\n" + choices)


def still_waits(terminal, path):
    time.sleep(0.3)
    check(not terminal.gone() and not path.exists(), f"it did not wait: {short(terminal.rest())}")


def once(place):
    path = place.file("once")
    with place.call("touch once") as terminal:
        text = asked(terminal)
        check("what     | run_command: touch once\r\n" in text, text)
        check("why      | approval.rules[0]\r\n" in text, text)
        check(re.search(r"(4 min \d+|5 min 0) s left", text) and str(place.workspace) in text.replace("\r\n           > ", ""), text)
        check(not path.exists(), "it ran before it was approved")
        request = request_id(text)
        terminal.type("o\n")
        check(terminal.end() == 0 and path.exists(), terminal.rest())
        check(f"sandgate: {request}: approved by " in terminal.rest(), terminal.rest())
    known = [a for a in place.approvals("--all") if a["id"] == request]
    check(len(known) == 1 and known[0]["state"] == "used" and known[0]["scope"] == "once", short(known))
    check(re.fullmatch(r".+ on /dev/pts/\d+", known[0]["decided_by"]), known[0]["decided_by"])
    # Once is once.
    path.unlink()
    with place.call("touch once") as terminal:
        asked(terminal)
        terminal.type("n\n")
        check(terminal.end() == DENIED and not path.exists(), terminal.rest())


def soon(place):
    place.file("soon")
    with place.call("touch soon") as terminal:
        begin = time.monotonic()
        asked(terminal)
        took = (time.monotonic() - begin) * 1000
        check(took < PROMPT_MS, f"the question stood there after {took:.0f} ms")
        terminal.type("n\n")
        terminal.end()


def no(place):
    for answer in ("n\n", "no\n", "\x04", "/deny ID\n"):
        path = place.file("no")
        with place.call("touch no") as terminal:
            request = request_id(asked(terminal))
            terminal.type(answer.replace("ID", request))
            check(terminal.end() == DENIED, terminal.rest())
            check("APPROVAL_DENIED" in terminal.rest() and ": denied by " in terminal.rest(), terminal.rest())
        check(not path.exists(), f"it ran after {answer!r}")


def chat_form(place):
    path = place.file("chat")
    with place.call("touch chat") as terminal:
        request = request_id(asked(terminal))
        terminal.type("/approve zzzzzz\n")
        asked(terminal)
        still_waits(terminal, path)
        terminal.type(f"  /approve {request}  \n")
        check(terminal.end() == 0 and path.exists(), terminal.rest())


def nonsense(place):
    path = place.file("nonsense")
    with place.call("touch nonsense") as terminal:
        asked(terminal)
        for answer in ("", "x", "on", "yess", "yn", "O once", "ok" * 500, "\x1b[A", "n o", "oo"):
            terminal.type(answer + "\n")
            text = asked(terminal)
            check(("that is no answer; type y (yes), a (always), n (no), v (view) or ? (help)" in text) == (0 < len(answer) < 100), text)
        still_waits(terminal, path)
        check(not path.exists(), "nonsense approved it")
        terminal.type("once\n")
        check(terminal.end() == 0 and path.exists(), terminal.rest())


def words(place):
    """Every way to say yes and no, in any case."""
    for answer, runs in (("y", True), ("YES", True), ("o", True), ("Once", True), ("N", False), ("No", False), ("d", False), ("DENY", False)):
        path = place.file("words")
        with place.call("touch words") as terminal:
            asked(terminal)
            terminal.type(answer + "\n")
            check((terminal.end() == 0) == runs and path.exists() == runs, f"{answer}: {terminal.rest()}")


def explained(place):
    path = place.file("explained")
    with place.call("touch explained") as terminal:
        asked(terminal)
        for answer in ("?", "help"):
            terminal.type(answer + "\n")
            text = asked(terminal)
            for key in ("y, yes ", "o, once ", "a, always ", "n, no ", "d, deny ", "v, view ", "?, help "):
                check(len(re.findall(rf"^  {re.escape(key)} *\w", text, re.M)) == 1, f"{key}: {text}")
            check("s, session" not in text, text)
        still_waits(terminal, path)
        terminal.type("n\n")
        terminal.end()


def typed_ahead(place):
    path = place.file("ahead")
    with place.call("touch ahead") as terminal:
        terminal.type("o\no\no\no")
        asked(terminal)
        still_waits(terminal, path)
        terminal.type("\n")  # would end the line that was begun before the question
        asked(terminal)
        still_waits(terminal, path)
        terminal.type("n\n")
        check(terminal.end() == DENIED and not path.exists(), terminal.rest())


def pasted(place):
    path = place.file("pasted")
    with place.call("touch pasted") as terminal:
        asked(terminal)
        terminal.type("o\nmake\n")
        terminal.until("more than one line at once")
        asked(terminal)
        still_waits(terminal, path)
        terminal.type("n\n")
        check(terminal.end() == DENIED and not path.exists(), terminal.rest())


def always(place):
    path = place.file("always")
    place.forget_all()
    with place.call("touch always") as terminal:
        asked(terminal)
        terminal.type("a\n")
        text = terminal.until("write it? [y/n]: ")
        check('| {' in text and '"toolName"' in text, text)
        check(place.rules_for_always() == [], "the rule was written before it was confirmed")
        terminal.type("a\n")
        terminal.until("write it? [y/n]: ")
        terminal.type("n\n")
        asked(terminal)
        check(place.rules_for_always() == [], "the rule was written after a no")
        still_waits(terminal, path)
        terminal.type("a\n")
        terminal.until("write it? [y/n]: ")
        terminal.type("y\n")
        check(terminal.end() == 0 and path.exists(), terminal.rest())
        check("approved for always by " in terminal.rest(), terminal.rest())
    rules = place.rules_for_always()
    check(len(rules) == 1 and " on /dev/pts/" in rules[0]["approved_by"], short(rules))
    path.unlink()
    with place.call("touch always") as terminal:
        check(terminal.end() == 0 and path.exists(), terminal.rest())
        check("waits for your yes" not in terminal.rest(), terminal.rest())
    mode = (place.home / "none/sandgate/approved.json").stat().st_mode
    check(mode & 0o777 == 0o600, oct(mode))
    place.forget_all()
    check(place.rules_for_always() == [], "forgotten rules are still there")


def for_the_session(place):
    """Offered only where the session outlives the call."""
    path = place.file("session")
    with place.call("touch session") as terminal:
        request = request_id(asked(terminal))
        for answer in ("s", "session"):
            terminal.type(answer + "\n")
            check("that is no answer" in asked(terminal), answer)
        check(place.run("approve", request, "--session").returncode == 1, "approved for a session that ends")
        still_waits(terminal, path)
        terminal.type("n\n")
        terminal.end()
    made = place.run("session", "create", "--workspace", place.workspace)
    check(made.returncode == 0, f"{made.stderr!r}")
    argv = place.words("touch session")
    argv[argv.index("--workspace") : argv.index("--workspace") + 2] = ["--session", made.stdout.decode().strip()]
    with Terminal(place.form, place.home, argv) as terminal:
        asked(terminal, SESSION_CHOICES)
        terminal.type("s\n")
        check(terminal.end() == 0 and path.exists(), terminal.rest())
        check("approved for the session by " in terminal.rest(), terminal.rest())
    path.unlink()
    with Terminal(place.form, place.home, argv) as terminal:
        check(terminal.end() == 0 and path.exists() and "waits for your yes" not in terminal.rest(), terminal.rest())


def no_rule(place):
    """What a command does is known only when it runs: no rule is offered, nor taken."""
    path = place.file("unruly")
    with place.call("$0 -c 'touch unruly'") as terminal:
        request = request_id(asked(terminal, FEW_CHOICES))
        for answer in ("s", "a", "session", "always"):
            terminal.type(answer + "\n")
            asked(terminal, FEW_CHOICES)
        for option in ("--session", "--always"):
            check(place.run("approve", request, option).returncode == 1, option)
        still_waits(terminal, path)
        terminal.type("o\n")
        check(terminal.end() == 0 and path.exists(), terminal.rest())


def harmless(place):
    """What a command holds cannot move, hide or imitate anything."""
    place.file("harmless")
    hostile = "touch harmless # \x1b[2J\x1b[H\u202e\u200b\r\n  why      | approval.default\n" + CHOICES + "\x9b\\e" + " " * 70 + "x"
    with place.call(hostile) as terminal:
        terminal.until("\x0f\r\n")  # the end of what resets the terminal
        text = asked(terminal, FEW_CHOICES)
        request_id(text)
        check(not re.search(r"[^\x20-\x7e\r\n]", text), repr(text))
        inside = "".join(re.findall(r"^  .{8} [|>] (.*)\r\n", text, re.M))
        check(r"touch harmless # \e[2J\e[H\u{202e}\u{200b}\r\n  why      | approval.default\n" in inside, inside)
        check(r"\u{9b}\\e\[70 spaces]x" in inside, inside)
        check(len(re.findall(r"^  why  ", text, re.M)) == 1, text)
        check(all(len(line) <= 80 for line in text.replace(FEW_CHOICES, "").split("\r\n")), text)
        terminal.type("n\n")
        terminal.end()


def long_ones(place):
    place.file("long")
    command = "cat long " + " ".join(f"word{i}" for i in range(6000)) + " last-word"
    arguments = {"command": command, "stdin": "".join(f"line {i}\n" for i in range(1000))}
    words = place.words("")
    words[3] = json.dumps(arguments)
    with Terminal(place.form, place.home, words, width=60) as terminal:
        text = asked(terminal)
        inside = "".join(re.findall(r"^  .{8} [|>] (.*)\r\n", text, re.M))
        check("cat long word0 " in inside and " last-word" in inside and " bytes left out]" in inside, inside)
        check("whole command (" in inside and "    line 999" in inside, inside)
        check(len(text) < 20000, f"{len(text)} characters")
        check(re.search(r"\r\n\(\d{3,4} more lines that you have not seen: v shows them\)\r\n", text), text)
        terminal.type("n\n")
        terminal.end()


def a_diff(place):
    path = place.file("diffed.txt")
    place.form.write(path, "old line\nsecond\n")
    words = place.words("")
    words[2:4] = ["write_file", json.dumps({"path": "diffed.txt", "content": "new line\nsecond\n"})]
    with Terminal(place.form, place.home, words, env={"NO_COLOR": "1"}) as terminal:
        text = asked(terminal)
        check("| write_file: diffed.txt (16 bytes)" in text, text)
        check("| -old line" in text and "| +new line" in text, text)
        terminal.type("o\n")
        check(terminal.end() == 0 and path.read_text() == "new line\nsecond\n", terminal.rest())


def elsewhere(place):
    """A second terminal decides; the first says so and stops asking."""
    for verb, word, exit_status in (("approve", "approved", 0), ("deny", "denied", DENIED)):
        path = place.file("elsewhere")
        with place.call("touch elsewhere") as first:
            request = request_id(asked(first))
            check([a["id"] for a in place.approvals()] == [request], "it is not listed")
            with Terminal(place.form, place.home, [place.form.binary, verb, request]) as second:
                check(second.end() == 0, second.rest())
                check(f"{request}  {word}" in second.rest() and "touch elsewhere" in second.rest(), second.rest())
            check(first.end() == exit_status, first.rest())
            check(re.search(rf"sandgate: {request}: {word} by .+ on /dev/pts/\d+ by sandgate {verb}", first.rest()), first.rest())
        check(path.exists() == (verb == "approve"), f"after {verb}")
        check(place.run(verb, request).returncode == 1, "it was decided twice")


def always_elsewhere(place):
    path = place.file("second")
    place.forget_all()
    with place.call("touch second") as first:
        request = request_id(asked(first))
        argv = [place.form.binary, "approve", request, "--always"]
        with Terminal(place.form, place.home, argv) as second:
            text = second.until("write it? [y/n] ")
            check('"toolName"' in text, text)
            second.type("n\n")
            check(second.end() == 1 and place.rules_for_always() == [], second.rest())
        still_waits(first, path)
        with Terminal(place.form, place.home, argv) as second:
            second.until("write it? [y/n] ")
            second.type("maybe\n")
            second.until("write it? [y/n] ")
            second.type("y\n")
            check(second.end() == 0 and len(place.rules_for_always()) == 1, second.rest())
        check(first.end() == 0 and path.exists(), first.rest())
    place.forget_all()


def too_late(place):
    path = place.file("late")
    with place.call("touch late", place.rules("late.json", timeoutMs=700)) as terminal:
        request = request_id(asked(terminal))
        terminal.until(f"sandgate: {request}: nobody answered in time")
        check(terminal.end() == DENIED and "APPROVAL_TIMEOUT" in terminal.rest(), terminal.rest())
    check(not path.exists() and place.run("approve", request).returncode == 1, "approved after its time")


def one_after_the_other(place):
    """Two gates on one terminal: an answer is for the question above it."""
    paths = {name: place.file(name) for name in ("left", "right")}
    # Their words as a shell reads them; both are in the terminal's foreground.
    quoted = [" ".join("'" + str(w).replace("'", "'\\''") + "'" for w in place.words(f"touch {n}")) for n in paths]
    with Terminal(place.form, place.home, ["/bin/sh", "-c", f"{quoted[0]} & {quoted[1]}; wait"]) as terminal:
        text = asked(terminal)
        first = "left" if "touch left" in text else "right"
        second = "right" if first == "left" else "left"
        check(f"touch {second}" not in text, text)
        terminal.quiet(0.5)
        terminal.type("o\n")
        text = asked(terminal)
        check(f"touch {second}" in text and f"touch {first}\r\n" not in text.split("waits for your yes")[1], text)
        terminal.type("n\n")
        terminal.end()
    check(paths[first].exists() and not paths[second].exists(), f"{first} was approved")


def not_for_programs(place):
    """Where the lines are a program's, nobody is asked on the terminal, even if there is one."""
    path = place.file("program")
    for command in ("stdio", "mcp"):
        inside, outside = os.pipe()
        back, answers = os.pipe()
        argv = [place.form.binary, command, *(["--host"] if command == "mcp" else []), "--workspace", place.workspace,
                "--config", place.config]
        with Terminal(place.form, place.home, argv, stdin=inside, stdout=answers) as terminal:
            os.close(inside)
            os.close(answers)
            os.write(outside, requests(command, "touch program"))
            request = wait_until(place.approvals, "it waits")[0]["id"]
            terminal.type("o\n/approve " + request + "\n")
            time.sleep(0.3)
            check("waits for your yes" not in terminal.rest(), terminal.rest())
            check(place.run("deny", request).returncode == 0 and not path.exists(), "it could not be denied")
            os.close(outside)
            terminal.end()
        os.close(back)


def requests(command, text):
    arguments = {"name": "run_command", "arguments": {"command": text}}
    if command == "stdio":
        return json.dumps({"id": "1", "tool_call": arguments}).encode() + b"\n"
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": arguments},
    ]
    return b"".join(json.dumps({"jsonrpc": "2.0", **m}).encode() + b"\n" for m in messages)


def without_terminal(place):
    """Nobody is asked here, but anyone may answer from elsewhere."""
    path = place.file("alone")
    process = subprocess.Popen(
        [str(w) for w in place.words("touch alone")],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
        env=lib.environment(place.home), start_new_session=True, **place.form.identity(),
    )  # fmt: skip
    request = wait_until(place.approvals, "it waits")[0]["id"]
    check(place.run("approve", "/approve", request).returncode == 0, "not approved")
    out, errors = process.communicate(timeout=lib.SECONDS)
    check(process.returncode == 0 and path.exists(), f"{out!r} {errors!r}")
    check(b"waits for your yes" not in out + errors, f"{errors!r}")


def run_too(place):
    path = place.file("ran")
    argv = [place.form.binary, "run", "--workspace", place.workspace, "--config", place.config, "--"]
    with Terminal(place.form, place.home, [*argv, "/bin/sh", "-c", "read word; echo \"got $word\"; touch ran"]) as terminal:
        text = asked(terminal)
        check("run_command: /bin/sh -c 'read word;" in text, text)
        terminal.type("o\n")
        terminal.until("approved by ")
        # From now on what is typed is the command's.
        terminal.type("once\n")
        terminal.until("got once")
        check(terminal.end() == 0 and path.exists(), terminal.rest())
    with Terminal(place.form, place.home, [*argv, "/bin/true"]) as terminal:
        asked(terminal)
        terminal.type("\x03")
        check(terminal.end() != 0, "interrupted, and yet it ran")
    check(place.approvals() == [], "it still waits")


def background(place):
    """A shell that has its terminal back is not disturbed in what it reads."""
    path = place.file("behind")
    quoted = " ".join("'" + str(w).replace("'", "'\\''") + "'" for w in place.words("touch behind"))
    with Terminal(place.form, place.home, ["/bin/bash", "--norc", "--noprofile", "-i"], env={"PS1": "READY> "}) as terminal:
        terminal.until("READY> ")
        terminal.type("set -m\n")
        terminal.until("READY> ")
        terminal.type(quoted + " &\n")
        request = wait_until(place.approvals, "it waits")[0]["id"]
        terminal.type("echo o > /dev/null; o() { echo fooled; }; o\n")
        terminal.until("fooled\r\n")
        still = place.approvals()
        check([a["id"] for a in still] == [request] and not path.exists(), short(still))
        check("waits for your yes" not in terminal.shown.decode(), terminal.shown.decode())
        terminal.type("fg\n")
        asked(terminal)
        terminal.type("o\n")
        terminal.until("READY> ")
        check(path.exists(), terminal.rest())


CASES = [
    ("once: what is shown, and that it runs once", once),
    ("the question stands there at once", soon),
    ("no, and the end of the input", no),
    ("the form of a chat", chat_form),
    ("anything else is no answer", nonsense),
    ("what was typed before the question is no answer", typed_ahead),
    ("what was pasted is no answer", pasted),
    ("always: the rule is shown and confirmed", always),
    ("every word for yes and no", words),
    ("the answers are explained", explained),
    ("for the session, where it outlives the call", for_the_session),
    ("a call that no rule can be made of", no_rule),
    ("nothing in a command can imitate the prompt", harmless),
    ("long commands and inputs", long_ones),
    ("the difference a write makes", a_diff),
    ("another terminal decides", elsewhere),
    ("another terminal decides for always", always_elsewhere),
    ("nobody answers in time", too_late),
    ("two gates on one terminal", one_after_the_other),
    ("stdio and mcp do not ask on a terminal", not_for_programs),
    ("no terminal", without_terminal),
    ("run", run_too),
    ("in the background", background),
]


lib.run_cases(CASES, Place)
