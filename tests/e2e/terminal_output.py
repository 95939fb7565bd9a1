#!/usr/bin/python3
"""What reaches a terminal: of a command's output what draws, of records, names and keys nothing that acts. Into a pipe
everything goes as it is."""

import json

import lib
from lib import check
from terminals import Terminal

CLIPBOARD = "\x1b]52;c;c2VjcmV0\x07"
BAD = CLIPBOARD + "\x1b]0;title\x1b\\" + "\x1b[6n\x1b[c\x1bP$qm\x1b\\\x05\x1b[?1000h\x1bc"
GOOD = "\x1b[31mred\x1b[0m\x1b[2K\x1b[10C"
# What draws, and stays set.
LEFT_SET = "\x1b[6;7r\x1b[8m\x1b[4h\x1b[20h\x1b[?7l\x1b[?25l\x1b[?1049h\x1b[?2026h\x1b(0\x1b)0"
RESET = ("\x1b[r", "\x1b[0m", "\x1b[4l", "\x1b[20l", "\x1b[?7h", "\x1b[?25h", "\x1b[?1047l", "\x1b[?2026l", "\x1b(B", "\x1b)B", "\x0f")
NAME = "x\x1b]52;c;eA==\x07\x9b6n\u202e"


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder("terminal-home", 0o700)
        self.workspace = form.folder("terminal-ws")
        form.write(self.workspace / "bad", "A" + BAD + GOOD + "Z\n")
        form.write(self.workspace / "slow.sh", SLOW)

    def shown(self, *argv, env=None):
        """All that the program shows on a terminal of its own, standard error too."""
        with Terminal(self.form, self.home, [self.form.binary, *map(str, argv)], env=env) as terminal:
            status = terminal.end()
            return status, terminal.shown.decode("utf-8", "surrogateescape")

    def run(self, *argv):
        return self.form.run(self.home, *argv)


# Each byte by itself, so that sequences come in pieces.
SLOW = "while IFS= read -r -n1 -d '' c; do printf %s \"$c\"; done < bad\n"


def harmless(text, what, typed_to=False):
    """`typed_to`: it has a terminal of its own, and may ask where the cursor is and for the mouse."""
    asks = () if typed_to else ("\x1b[6n", "\x1b[c", "?1000h")
    for sign in ("\x1b]", "\x1bP", "\x1bc", "\x05", "\x9b", *asks):
        check(sign not in text, f"{what} shows {sign!r}: {text!r}")
    # JSON, and what other programs read, is as it is in the record but for what acts.
    if not {"--json", "--as", "stats", "call"} & set(what):
        check("\u202e" not in text, f"{what} turns text round: {text!r}")


def commands(place):
    for words in (["cat", "bad"], ["sh", "-c", "cat bad >&2"], ["bash", "slow.sh"]):
        status, text = place.shown("run", "--workspace", place.workspace, "--", *words)
        harmless(text, words, typed_to=True)
        check(status == 0 and f"{GOOD}Z" in text, f"{words}: {text!r}")
        done = place.run("run", "--workspace", place.workspace, "--", *words)
        check((done.stdout + done.stderr).decode() == "A" + BAD + GOOD + "Z\n", f"{words} into a pipe: {done}")


def lacks(text):
    return [sequence for sequence in RESET if sequence not in text]


def left_set(place):
    """What output set is taken back behind it, and only then."""
    place.form.write(place.workspace / "set", LEFT_SET + "last\n")
    for argv in (
        ["run", "--", "cat", "set"],
        ["run", "--", "sh", "-c", "cat set >&2; exit 3"],
        ["run", "--", "sh", "-c", "cat set; kill -9 $$"],
        ["call", "read_file", '{"path":"set"}', "--dialect", "runner"],
    ):
        argv[1:1] = ["--workspace", place.workspace]
        text = place.shown(*argv)[1]
        check(LEFT_SET + "last" in text, f"{argv}: {text!r}")
        check(not lacks(text.split("last")[1]), f"{argv} leaves set {lacks(text.split('last')[1])}: {text!r}")
        done = place.run(*argv)
        check(b"\x1b[0m" not in done.stdout + done.stderr, f"{argv} into a pipe: {done}")
    plain = place.shown("run", "--workspace", place.workspace, "--", "echo", "plain")[1]
    check(plain == "plain\r\n", repr(plain))


def before_a_question(place):
    """A program that is killed takes nothing back, so a question does."""
    argv = ["call", "run_command", '{"command":"true"}', "--workspace", place.workspace]
    for term, wanted in (("xterm", []), ("dumb", list(RESET))):
        with Terminal(place.form, place.home, [place.form.binary, *map(str, argv)], env={"SANDGATE_APPROVAL_DEFAULT": "prompt", "TERM": term}) as terminal:
            text = terminal.until("a call waits for your yes")
            check(lacks(text) == wanted, f"TERM={term}: {text!r}")
            terminal.until("[?]: ")
            terminal.type("n\n")
            check(terminal.end() == 4, terminal.rest())


def raw(place):
    status, text = place.shown("run", "--raw", "--workspace", place.workspace, "--", "cat", "bad")
    check(status == 0 and BAD in text, repr(text))


def results(place):
    argv = ["call", "read_file", '{"path":"bad"}', "--dialect", "runner", "--workspace", place.workspace]
    status, text = place.shown(*argv)
    harmless(text, argv)
    check(status == 0 and GOOD in text, repr(text))
    check(BAD in place.run(*argv).stdout.decode(), "into a pipe")


def records(place):
    done = place.run("call", "read_file", json.dumps({"path": NAME}), "--workspace", place.workspace)
    check(done.returncode == 1, done)
    for argv in (["show"], ["show", "--json"], ["show", "--as", "otel"], ["show", "--as", "journald"], ["verify"]):
        harmless(place.shown("audit", *argv)[1], argv)
    log = place.home / "sandgate" / "audit" / "000.jsonl"
    text = log.read_text(encoding="utf-8")
    record = json.loads(text.splitlines()[-1])
    # A gate's name is in the finding's text.
    forged = text.splitlines()[-1].replace(record["gate"], CLIPBOARD)
    log.write_text(f"{text}{forged}\n", encoding="utf-8")
    for argv in (["verify"], ["verify", "--json"]):
        status, shown = place.shown("audit", *argv)
        harmless(shown, argv)
        check(status == 1, shown)
        printed = place.run("audit", *argv).stdout
        check(b"\x1b" not in printed and b"\x07" not in printed, f"{argv} into a pipe: {printed!r}")
    log.write_text(text, encoding="utf-8")


def for_the_journal(place):
    """Nothing that clears the screen or writes over the line either."""
    done = place.run("call", NAME + "\x1b[2Jtool\rover\bback\nline", "--workspace", place.workspace)
    check(done.returncode == 1, done)
    status, text = place.shown("audit", "show", "--as", "journald")
    check(status == 0 and "tool" in text, repr(text))
    check(not set(text.replace("\r\n", "")) & set("\x1b\r\b\u202e\x9b"), repr(text))
    check(b"\x1b[2Jtool\rover\bback\nline" in place.run("audit", "show", "--as", "journald").stdout, "into a pipe")


def names(place):
    """Of folders, sessions, tools, rules and files in messages."""
    folder = place.workspace / NAME
    folder.mkdir()
    place.form.own(folder)
    made = place.run("session", "create", "--workspace", folder)
    check(made.returncode == 0, made)
    config = place.form.write(place.home / "c.json", json.dumps({NAME: 1}))
    config.chmod(0o600)
    for argv in (
        ["session", "list"],
        ["session", "list", "--json"],
        ["session", "show", NAME],
        ["call", NAME, "--workspace", place.workspace],
        ["call", "stat", "{}", "--workspace", place.workspace / (NAME + "-none")],
        ["call", "stat", "{}", "--workspace", place.workspace, "--config", config],
        ["run", "--workspace", place.workspace, "--cwd", NAME + "-none", "--", "true"],
        ["run", "--workspace", place.workspace, "--", NAME],
        ["policy", "explain", NAME, "{}"],
        ["policy", "explain", "read_file", json.dumps({"path": NAME})],
        ["audit", "show", "--since", NAME],
        ["audit", "verify", "--anchors", NAME],
        ["stats"],
        ["approve", NAME],
        ["approvals", NAME],
        ["tools", "--dialect", NAME],
        [NAME],
        ["--" + NAME],
    ):
        status, text = place.shown(*argv)
        harmless(text, argv)
        check(text.strip() and status in (0, 1, 2, 126, 127), f"{argv}: {status} {text!r}")
        said = place.run(*argv).stderr
        check(b"\x1b" not in said and b"\x07" not in said, f"{argv} into a pipe: {said!r}")


CASES = [
    ("the output of commands", commands),
    ("what output leaves set", left_set),
    ("what is set before a question", before_a_question),
    ("all of it with --raw", raw),
    ("results of calls", results),
    ("records, and what verifying says of them", records),
    ("records for the journal", for_the_journal),
    ("names", names),
]

lib.run_cases(CASES, Place)
