"""Terminals for tests: a program with a pseudo-terminal of its own, someone who reads it and types."""

import os
import pty
import re
import select
import signal
import time

import lib
from lib import check, short


class Terminal:
    """A program whose controlling terminal is ours. Everything it shows is kept."""

    def __init__(self, form, home, argv, width=80, stdin=None, stdout=None, env=None):
        self.shown = b""
        self.at = 0  # what has been looked at
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                self.become(form, home, argv, stdin, stdout, env or {})
            finally:
                os._exit(99)
        os.set_blocking(self.fd, False)
        pty_size(self.fd, width)

    @staticmethod
    def become(form, home, argv, stdin, stdout, env):
        if lib.AM_ROOT and not form.is_root:
            os.fchown(0, form.uid, form.uid)
        for source, target in ((stdin, 0), (stdout, 1)):
            if source is not None:
                os.dup2(source, target)
        if lib.AM_ROOT and not form.is_root:
            os.setgroups([])
            os.setgid(form.uid)
            os.setuid(form.uid)
        os.chdir("/")
        os.execve(str(argv[0]), [str(a) for a in argv], {**lib.environment(home), **env})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def read(self, seconds):
        """Waits for something; false at the end."""
        if not select.select([self.fd], [], [], max(seconds, 0))[0]:
            return True
        try:
            piece = os.read(self.fd, 1 << 16)
        except OSError:  # the other side is closed
            return False
        self.shown += piece
        return bool(piece)

    def until(self, text, seconds=lib.SECONDS):
        """Reads on until the text is shown; what came before it and with it."""
        wanted = text.encode()
        end = time.monotonic() + seconds
        while wanted not in self.shown[self.at :]:
            left = end - time.monotonic()
            check(left > 0, f"never shown: {text!r}; but: {short(self.rest())}")
            if not self.read(left) and wanted not in self.shown[self.at :]:
                raise AssertionError(f"it ended before it showed {text!r}: {short(self.rest())}")
        at = self.shown.index(wanted, self.at) + len(wanted)
        piece, self.at = self.shown[self.at : at], at
        return piece.decode()

    def rest(self):
        return self.shown[self.at :].decode("utf-8", "replace")

    def quiet(self, seconds):
        """Nothing is shown for so long."""
        end = time.monotonic() + seconds
        before = len(self.shown)
        while time.monotonic() < end:
            self.read(end - time.monotonic())
        check(len(self.shown) == before, f"it shows {self.rest()!r}")

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, seconds=lib.SECONDS):
        """Its exit status."""
        deadline = time.monotonic() + seconds
        while self.read(0.05):
            check(time.monotonic() < deadline, f"it does not end: {short(self.rest())}")
            if self.gone():
                break
        while not self.gone():
            check(time.monotonic() < deadline, f"it does not end: {short(self.rest())}")
            time.sleep(0.005)
        # A terminal hands out some 4 KiB at a time.
        while select.select([self.fd], [], [], 0)[0] and self.read(0):
            pass
        return self.status

    def pid_stop(self):
        """It does nothing until pid_go."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)

    def pid_go(self):
        os.kill(self.pid, signal.SIGCONT)

    def gone(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None


def pty_size(fd, width, height=40):
    import fcntl
    import struct
    import termios

    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))


def request_id(text):
    """The id in what the prompt shows."""
    found = re.search(r"waits for your yes \((\w+), ", text)
    check(found, f"no question: {short(text)}")
    return found[1]
