#!/usr/bin/env python3
"""The files of a named session, replaced by what is no plain file or is much too large: every command ends at once with an
error that names the file, and the session can be discarded.
"""

import os
import socket

import lib
import ran
from lib import check
from ran import Place


def listen(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


WAYS = {
    "a FIFO": os.mkfifo,
    "a socket": listen,
    "a folder": os.mkdir,
    "a link to a device": lambda path: os.symlink("/dev/zero", path),
    "a link to nothing": lambda path: os.symlink("nothing", path),
    "huge": lambda path: open(path, "wb").truncate(1 << 40),
}


def replaced(form):
    """whatever stands in the place of a session's record or lock, nothing hangs, and the error names it"""
    place = Place(form, "replaced")
    for file in ("session.json", "lock"):
        for name, make in WAYS.items():
            if (file, name) == ("lock", "huge"):
                continue
            session = form.run(place.home, "session", "create", "--workspace", place.workspace).stdout.decode().split()[0]
            path = place.home / "sandgate/sessions" / session / file
            with form.acting():
                path.unlink(missing_ok=True)
                make(path)
            for argv in (("stdio", "--session", session), ("mcp", "--session", session)):
                done = form.run(place.home, *argv)
                said = done.stderr.decode()
                check(done.returncode not in (0, None) and done.returncode < 128, f"{file} {name}: {argv}: {done}")
                check(file in said, f"{file} {name}: {argv}: {said}")
            check(form.run(place.home, "session", "list").returncode in (0, 1), f"{file} {name}: list")
            if file == "session.json":
                check(form.run(place.home, "session", "discard", session).returncode == 0, f"{name}: it cannot be discarded")
                check(not path.parent.exists(), f"{name}: its folder is there")


if __name__ == "__main__":
    ran.main(replaced)
