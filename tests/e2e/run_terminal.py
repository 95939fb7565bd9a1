#!/usr/bin/env python3
"""`sandgate run` on a terminal: the command has one of its own, and what people type to works as without a sandbox."""

import os
import re
import signal
import subprocess
import termios

import lib
import terminals
from lib import check, wait_until
from terminals import Terminal

GIT = {f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER") for what, text in (("NAME", "A"), ("EMAIL", "a@b"))}
SHELL = "/bin/bash"
# What clears, draws and asks passes; clipboard, title, palette, answerback, resets and reports of contents do not.
PASSES = "\x1b[6n\x1b[c\x1b[>c\x1b[?1h\x1b=\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[31m"
FILTERED = "\x1b]52;c;eA==\x07\x1b]0;title\x07\x1b]4;1;red\x1b\\\x1b[21t\x1bP$qm\x1b\\\x05\x1bc\x1b[?1000$p\x1b[>q\x1b[?6n"


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder("run-terminal-home", 0o700)
        self.workspace = form.folder("run-terminal-ws")
        form.write(self.workspace / "text", "".join(f"line {i}\n" for i in range(1, 201)))

    def argv(self, *words):
        return [str(self.form.binary), "run", "--workspace", str(self.workspace), *words]

    def terminal(self, *words, env=None, **more):
        return Terminal(self.form, self.home, self.argv(*words), env={"TERM": "xterm", **(env or {})}, **more)

    def outer(self):
        """A person's own shell, in which `sg` is the start of a command line."""
        env = {"TERM": "xterm", "PS1": "outer> ", "sg": " ".join(self.argv())}
        terminal = Terminal(self.form, self.home, [SHELL, "--norc", "-i"], env=env)
        terminal.until("outer> ")
        return terminal


def settings(terminal):
    return termios.tcgetattr(terminal.fd)[3] & (termios.ICANON | termios.ECHO)


COOKED = termios.ICANON | termios.ECHO


def own(place):
    with place.terminal("--", "sh", "-c", "tty; stty size; echo $TERM; tty </dev/tty; exit 7", env={"TERM": "xterm-256color"}) as terminal:
        check(terminal.end() == 7, terminal.status)
        lines = terminal.shown.decode().split("\r\n")
        check(lines == ["/dev/pts/0", "40 80", "xterm-256color", "/dev/tty", ""], lines)
    for name, seen in (("../x", "dumb"), ("", "dumb"), ("screen.xterm-256color", "screen.xterm-256color")):
        with place.terminal("--", "sh", "-c", "echo =$TERM=", env={"TERM": name}) as terminal:
            terminal.until(f"={seen}=")
            check(terminal.end() == 0, terminal.status)
    with place.terminal("--", "sh", "-c", "kill -9 $$") as terminal:
        check(terminal.end() == 128 + 9, terminal.status)


def shell(place):
    """Signals of keys reach what is in the foreground, and jobs can be stopped and go on."""
    job = "sh -c 'echo read\"\"y; exec {}'\n".format
    with place.terminal("--", "bash", "--norc", env={"TERM": "dumb"}) as terminal:
        terminal.until("$ ")
        terminal.type("sh -c 'trap \"echo trap''ped; exit\" INT; echo read\"\"y; while :; do sleep 0.1; done'\n")
        terminal.until("ready")
        terminal.type("\x03")
        terminal.until("trapped")
        terminal.type(job("sleep 1000"))
        terminal.until("ready")
        terminal.type("\x1c")
        terminal.until("Quit")
        terminal.type(job("cat"))
        terminal.until("ready")
        terminal.type("\x1a")
        terminal.until("Stopped")
        terminal.until("$ ")
        terminal.type("fg\n")
        terminal.until("exec cat'\r\n")
        terminal.type("typed\n")
        terminal.until("typed\r\n")
        terminal.until("typed\r\n")
        terminal.type("\x04")
        terminal.until("$ ")
        terminal.type("exit 5\n")
        check(terminal.end() == 5, terminal.status)
        check(settings(terminal) == COOKED, "settings")


def size(place):
    with place.terminal("--", "bash", "-c", "trap 'stty size' WINCH; echo ready; while :; do read -t 1000 line; done") as terminal:
        terminal.until("ready")
        terminals.pty_size(terminal.fd, 101, 33)
        terminal.until("33 101")
        os.kill(terminal.pid, signal.SIGTERM)
        check(terminal.end() == 128 + 15, terminal.status)


def suspended(place):
    """Ctrl-Z stops a program that has no shell above it inside, and whoever started it gets their terminal back."""
    with place.outer() as terminal:
        terminal.type("$sg -- cat\n")
        terminal.type("one\n")
        terminal.until("one\r\n")
        terminal.until("one\r\n")
        terminal.type("\x1a")
        terminal.until("Stopped")
        terminal.until("outer> ")
        terminal.type("fg\n")
        terminal.until("fg\r\n")
        terminal.type("two\n")
        terminal.until("two\r\n")
        terminal.until("two\r\n")
        terminal.type("\x04")
        terminal.until("outer> ")
        # One that a script waits for: the script stops with it.
        terminal.type("sh -c \"$sg -- cat; echo scr''ipt =\\$?=\"\n")
        terminal.type("three\n")
        terminal.until("three\r\n")
        terminal.until("three\r\n")
        terminal.type("\x1a")
        terminal.until("Stopped")
        terminal.until("outer> ")
        terminal.type("fg\n")
        terminal.until("fg\r\n")
        terminal.type("four\n")
        terminal.until("four\r\n")
        terminal.until("four\r\n")
        terminal.type("\x04")
        terminal.until("script =0=")
        terminal.until("outer> ")
        terminal.type("$sg -- sh -c 'tty; echo in-the-background' & wait; echo =$?=\n")
        terminal.until("in-the-background")
        terminal.until("=0=")
        terminal.type("exit\n")
        terminal.end()


def killed(place):
    """The person's terminal gets its settings back where the gate is killed."""
    with place.terminal("--", "sh", "-c", "printf '\\033[?1000hready'; cat") as terminal:
        terminal.until("ready")
        check(settings(terminal) == 0, "it is not raw")
        os.kill(terminal.pid, signal.SIGKILL)
        wait_until(lambda: settings(terminal) == COOKED, "its settings come back")
        terminal.until("\x1b[?1000l")
    for number in (signal.SIGTERM, signal.SIGHUP):
        with place.terminal("--", "sh", "-c", "printf '\\033[?1000hready'; cat") as terminal:
            terminal.until("ready")
            os.kill(terminal.pid, number)
            check(terminal.end() == 128 + 15, terminal.status)
            check(settings(terminal) == COOKED, number)
            terminal.until("\x1b[?1000l")


def editor(place):
    place.form.write(place.workspace / "edited", "first\nsecond\n")
    with place.terminal("--", "vi", "-u", "NONE", "edited") as terminal:
        terminal.until("second")
        terminal.type("ggOzeroth\x1b:wq\r")
        check(terminal.end() == 0, terminal.rest())
    check((place.workspace / "edited").read_text() == "zeroth\nfirst\nsecond\n", "what was edited")


def pager(place):
    with place.terminal("--", "less", "text") as terminal:
        terminal.until("line 39")
        terminal.type("G")
        terminal.until("line 200")
        terminal.type("?line 77\r")
        terminal.until("line 77")
        terminal.type("q")
        check(terminal.end() == 0, terminal.rest())
    # What comes through a pipe is shown the same, and keys are read from /dev/tty.
    with place.terminal("--", "sh", "-c", "cat text | less") as terminal:
        terminal.until("line 39")
        terminal.type("\x1b[6~")
        terminal.until("line 78")
        terminal.type("q")
        check(terminal.end() == 0, terminal.rest())


def processes(place):
    for program in ("htop", "top"):
        with place.terminal("--", program) as terminal:
            terminal.until("PID")
            terminal.until("sandgat")
            terminal.type("q")
            check(terminal.end() == 0, terminal.rest())


def prompt(place):
    with place.terminal("--", "/usr/bin/python3", "-q") as terminal:
        terminal.until(">>> ")
        # What is typed before the prompt stands there is echoed twice, and Ctrl-C drops it.
        terminal.type("6*7\n")
        terminal.until("42")
        terminal.until(">>> ")
        terminal.type("\x1b[A\n")  # the line before
        terminal.until("42\r\n")
        terminal.until(">>> ")
        terminal.type("import time; time.sleep(1000)\n")
        terminal.until(")\r\n")
        terminal.type("\x03")
        terminal.until("KeyboardInterrupt")
        terminal.until(">>> ")
        terminal.type("raise SystemExit(9)\n")
        check(terminal.end() == 9, terminal.rest())


def rebase(place):
    repository = place.form.folder("run-terminal-repo")

    def git(*words):
        return subprocess.run(
            ["git", "-C", repository, *words], env={**os.environ, **GIT}, check=True, capture_output=True, **place.form.identity()
        ).stdout.decode()

    git("init", "-q", "-b", "main")
    for name in "abc":
        place.form.write(repository / name, name)
        git("add", name)
        git("commit", "-qm", f"commit {name}")
    argv = [place.form.binary, "run", "--workspace", repository, "--git", "--", "git", "rebase", "-i", "HEAD~2"]
    env = {"TERM": "xterm", **GIT}
    with Terminal(place.form, place.home, argv, env=env) as terminal:
        terminal.until("commit c")
        terminal.type("ddp:wq\r")
        check(terminal.end() == 0, terminal.rest())
    check(git("log", "--format=%s").split("\n")[:3] == ["commit b", "commit c", "commit a"], git("log", "--oneline"))


def sequences(place):
    place.form.write(place.workspace / "bad", f"A{PASSES}{FILTERED}Z\n")
    with place.terminal("--", "cat", "bad") as terminal:
        check(terminal.end() == 0, terminal.status)
        shown = terminal.shown.decode()
        check(shown.startswith(f"A{PASSES}Z\r\n"), repr(shown))
        check("\x1b[?1000l" in shown and "\x1b[?2004l" in shown and "\x1b[?1l\x1b>" in shown, f"it stays set: {shown!r}")
    with place.terminal("--raw", "--", "cat", "bad") as terminal:
        check(terminal.end() == 0, terminal.status)
        check(f"A{PASSES}{FILTERED}Z\r\n" in terminal.shown.decode(), terminal.shown)


REACH = r"""
import fcntl, os, termios
found = []
for path in ["/dev/tty"] + ["/proc/self/fd/%d" % i for i in range(16)] + ["/proc/1/fd/%d" % i for i in range(64)]:
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        continue
    if os.isatty(fd):
        found.append(os.ttyname(fd) if path != "/dev/tty" else path)
    for call in (termios.TIOCSTI, termios.TIOCSETD):
        try:
            fcntl.ioctl(fd, call, b"\x07\0\0\0")
            found.append("ioctl on " + path)
        except OSError:
            pass
    os.close(fd)
print(sorted(set(found)), sorted(os.listdir("/dev/pts")), os.getsid(0))
"""


def reach(place):
    place.form.write(place.workspace / "reach.py", REACH)
    with place.terminal("--", "/usr/bin/python3", "reach.py") as terminal:
        check(terminal.end() == 0, terminal.rest())
        shown = terminal.shown.decode().strip()
        check(shown == "['/dev/pts/0', '/dev/tty'] ['0', 'ptmx'] 1", shown)
    # Where only the input is a terminal, that is the person's: it can be read, and nothing else.
    out = place.form.base / "run-terminal-out"
    with open(out, "wb") as file:
        with place.terminal("--", "sh", "-c", "read line; echo got $line; echo x >&0; echo $?; tty </dev/tty", stdout=file.fileno()) as terminal:
            terminal.type("hello\n")
            check(terminal.end() != 0, terminal.status)
            check("cannot open /dev/tty" in terminal.rest(), terminal.rest())
    text = out.read_text()
    check(text.startswith("got hello\n") and text.split("\n")[1] != "0" and "pts" not in text, text)


MODES = r"""
import fcntl, os, struct, sys, termios
done = []
def tries(name, call):
    try:
        call()
        done.append(name)
    except (OSError, termios.error):
        pass
def set_raw():
    modes = termios.tcgetattr(0)
    modes[3] = 0
    termios.tcsetattr(0, termios.TCSANOW, modes)
for fd in (0, os.dup(0)):
    tries("modes", set_raw)
    tries("flow", lambda: termios.tcflow(fd, termios.TCOOFF))
    tries("size", lambda: fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 5, 5, 0, 0)))
    tries("alone", lambda: fcntl.ioctl(fd, termios.TIOCEXCL))
    tries("flush", lambda: termios.tcflush(fd, termios.TCIOFLUSH))
print(done, sys.stdin.readline().strip())
# Those of its own are as ever.
ends = os.openpty()
termios.tcsetattr(ends[1], termios.TCSANOW, termios.tcgetattr(ends[1]))
"""


def modes(place):
    """A terminal that a command can only read keeps its settings, its size and its output."""
    place.form.write(place.workspace / "modes.py", MODES)
    out = place.form.base / "run-terminal-modes"
    with open(out, "wb") as file:
        with place.terminal("--", "/usr/bin/python3", "modes.py", stdout=file.fileno()) as terminal:
            before = termios.tcgetattr(terminal.fd)
            terminal.type("hello\n")
            check(terminal.end() == 0, terminal.rest())
            check(termios.tcgetattr(terminal.fd) == before, "its settings")
    check(out.read_text() in ("[] hello\n", "[] \n"), out.read_text())


def pipes(place):
    """Without a terminal every byte is as it is."""
    data = bytes(range(256)) * 2000
    done = subprocess.run(
        place.argv("--", "sh", "-c", "cat; printf '\\n\\r\\n' >&2; test -t 0 || exit 4"),
        input=data, capture_output=True, env={**lib.environment(place.home), "TERM": "xterm"}, timeout=lib.SECONDS, check=False, **place.form.identity(),
    )  # fmt: skip
    check((done.returncode, done.stdout, done.stderr) == (4, data, b"\n\r\n"), done.stderr)
    done = place.form.run(place.home, *place.argv("--", "sh", "-c", "echo $TERM")[1:])
    check(done.stdout == b"dumb\n", done)


def much(place):
    """More typed than a terminal holds, and much output, lose nothing."""
    with place.terminal("--", "sh", "-c", "stty raw -echo; echo ready; head -c 200000 | md5sum; seq 100000") as terminal:
        terminal.until("ready")
        data = b"0123456789abcdef" * 12500
        at = 0
        while at < len(data):
            terminal.read(0.001)
            try:
                at += os.write(terminal.fd, data[at : at + 4096])
            except BlockingIOError:
                pass
        check(terminal.end() == 0, terminal.status)
        shown = terminal.shown.decode()
        import hashlib

        check(hashlib.md5(data).hexdigest() in shown, shown[:200])
        numbers = re.findall(r"^(\d+)\r?$", shown.replace("\r", ""), re.M)
        check(numbers[-100000:] == [str(i) for i in range(1, 100001)], numbers[-3:])


CASES = [
    ("a terminal of its own", own),
    ("a shell with its jobs", shell),
    ("the terminal's size", size),
    ("stopped and going on", suspended),
    ("settings come back when the gate is killed", killed),
    ("vi", editor),
    ("less", pager),
    ("htop and top", processes),
    ("a Python prompt", prompt),
    ("git rebase -i", rebase),
    ("what passes to the terminal", sequences),
    ("no other terminal is reached", reach),
    ("the settings of one that is only read", modes),
    ("pipes", pipes),
    ("much typed and printed", much),
]

if __name__ == "__main__":
    lib.run_cases(CASES, Place)
