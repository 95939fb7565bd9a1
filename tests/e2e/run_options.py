#!/usr/bin/env python3
"""The options of `sandgate run`: variables, paths, limits, sessions, and how it ends."""

import json
import os
import tempfile
import time

import lib
from lib import check


class Place:
    """Besides the workspace a folder that lies outside of /tmp, with what commands are not to change or see."""

    def __init__(self, form):
        self.form = form
        self.home = form.folder("run-options-home", 0o700)
        self.workspace = form.folder("run-options-ws")
        self.other = form.folder("run-options-other")
        form.write(self.other / "file", "shown\n")
        form.write(self.other / "beside", "beside\n")
        form.write(self.other / ".env", "KEY=secret\n")
        git = self.other / ".git"
        for folder in (git, git / "hooks", git / "objects", git / "refs"):
            folder.mkdir()
            form.own(folder)
        form.write(git / "HEAD", "ref: refs/heads/main\n")
        form.write(git / "config", "[core]\n")

    def run(self, *argv, env=None, stdin=b""):
        return self.form.run(self.home, "run", "--workspace", self.workspace, *argv, env=env, stdin=stdin)

    def text(self, *argv, status=0, env=None):
        done = self.run(*argv, env=env)
        check(done.returncode == status, f"{argv}: {done}")
        return done.stdout.decode()

    def refused(self, *argv, words):
        done = self.run(*argv, "--", "true")
        check(done.returncode == 2 and words in done.stderr.decode(), f"{argv}: {done}")


def variables(place):
    shell = ["--", "sh", "-c", 'printf "%s|" "$A" "$B" "${C-none}" "$HOME"']
    text = place.text("--env", "A=1", "--env", 'B=x "\\\n= y', "--env", "C", "--env", "HOME=/x", *shell)
    check(text == '1|x "\\\n= y|none|/x|', repr(text))
    text = place.text("--env", "A=1", "--env=A=2", "--env", "B", "--env", "C=", *shell, env={"B": "own"})
    check(text == "2|own||/home/agent|", repr(text))
    for name in ("", "=x", "1A=x", 'A":{"=x', "A B=1"):
        place.refused("--env", name, words="a variable's name")
    place.refused(*["--env=A=1"] * 65, words="may be given 64 times")


def read_only(place):
    """Folders and files at their own paths, and nothing beside them. A file cannot lie in /tmp."""
    other = place.other
    look = f"cat {other}/file; ls -A {other}; echo x > {other}/file; rm {other}/file; echo $?"
    done = place.run("--ro", other, "--", "sh", "-c", look)
    check(done.stdout.decode().split() == ["shown", ".env", ".git", "beside", "file", "1"], done)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        file = place.form.write(lib.pathlib.Path(folder) / "file", "shown\n")
        place.form.write(lib.pathlib.Path(folder) / "beside", "beside\n")
        for option in ("--ro", "--show"):
            look = f"cat {file}; ls -A {folder}; echo x > {file}; mv {file} {file}2; echo $?"
            done = place.run(option, file, "--", "sh", "-c", look)
            check(done.stdout.decode().split() == ["shown", "file", "1"], done)
        check(file.read_text() == "shown\n", "it was changed")
    done = place.run("--ro", other / "file", "--", "cat", other / "file")
    check(done.returncode == 1 and b"in /tmp only folders can be shown" in done.stderr, done)
    place.refused("--ro", other / "nothing", words="No such file or directory")
    # Its own state stays its own, also as a file of it.
    state = place.home / "sandgate" / "state.db"
    # What the sandbox has of its own there is in the way; the command runs without.
    done = place.run("--ro", "/var", "--", "whoami")
    check(done.stdout == b"agent\n" and b"/var is a place of the sandbox's own" in done.stderr, done)
    done = place.run("--ro", state, "--", "cat", state)
    check(done.returncode == 1 and done.stdout == b"", done)


def writable(place):
    other = place.other
    look = f"echo new > {other}/new; cat {other}/.env; echo x > {other}/.git/hooks/post-commit; echo x >> {other}/.git/config"
    done = place.run("--rw", other, "--", "sh", "-c", look)
    check((other / "new").read_text() == "new\n", done)
    check(b"secret" not in done.stdout and (other / ".git/config").read_text() == "[core]\n", done)
    check(not (other / ".git/hooks/post-commit").exists(), done)
    check((other / "new").stat().st_uid == other.stat().st_uid, "whose it is")
    for folder, words in (
        ("/etc", "a place of the machine"),
        ("/usr/local", "a place of the machine"),
        ("/", "a place of the machine"),
        (place.workspace, "overlap"),
        (place.workspace.parent, "overlap"),
        (other / "file", "Not a directory"),
        (other / "nothing", "No such file"),
        # It would change what the gate believes.
        (place.home / "sandgate", "could change it"),
    ):
        place.refused("--rw", folder, words=words)


def limits(place):
    began = time.monotonic()
    done = place.run("--timeout", "300ms", "--", "sh", "-c", "echo begun; sleep 1000")
    check((done.returncode, done.stdout) == (124, b"begun\n"), done)
    check(time.monotonic() - began < lib.SECONDS / 2, "late")
    check(place.text("--timeout", "10m", "--", "echo", "in time") == "in time\n", "in time")
    for text in ("", "0", "x", "5x", "-1", "1 s", "9999999999"):
        place.refused("--timeout", text, words="say how long")
    grow = "x = 'a' * 300_000_000; print(len(x))"
    done = place.run("--memory", "100m", "--", "/usr/bin/python3", "-c", grow)
    check(done.returncode != 0 and b"300000000" not in done.stdout, done)
    check(place.text("--memory", "1g", "--", "/usr/bin/python3", "-c", grow) == "300000000\n", "enough memory")
    place.refused("--memory", "2x", words="commands.memory must be a size")


def answer(place):
    done = place.run("--json", "--", "sh", "-c", "cat; echo err >&2; exit 3", stdin=b"in")
    result = json.loads(done.stdout)["result"]
    check(done.returncode == 3 and done.stderr == b"", done)
    check((result["exit_code"], result["stdout"], result["stderr"]) == (3, "in", "err\n"), result)
    done = place.run("--json", "--", "sandgate-none")
    check(done.returncode == 127 and not json.loads(done.stdout)["ok"], done)


def sessions(place):
    made = place.form.run(place.home, "session", "create", "--workspace", place.workspace)
    session = made.stdout.decode().split()[0]
    done = place.form.run(place.home, "run", "--session", session, "--", "pwd")
    check(done.stdout.decode().strip() == str(place.workspace), done)
    records = place.form.run(place.home, "audit", "show", "--session", session, "--json").stdout.decode()
    check("pwd" in records, records)
    with lib.Gate(place.form, "--session", session, state=place.home) as gate:
        gate.ok("list_files")
        done = place.form.run(place.home, "run", "--session", session, "--", "true")
        check(done.returncode == 2 and b"is in use by another process" in done.stderr, done)
    overlay = place.form.run(place.home, "session", "create", "--overlay", "--workspace", place.workspace).stdout.decode().split()[0]
    done = place.form.run(place.home, "run", "--session", overlay, "--rw", place.other, "--", "true")
    check(done.returncode == 2 and b"would not go to its layer" in done.stderr, done)


def quiet(place):
    loud = place.run("--ro", place.other / "file", "--", "true")
    check(b"warning" in loud.stderr, loud)
    done = place.run("--quiet", "--ro", place.other / "file", "--", "sh", "-c", "echo own >&2")
    check(done.stderr == b"own\n", done)


CASES = [
    ("--env", variables),
    ("--ro and --show", read_only),
    ("--rw", writable),
    ("--timeout and --memory", limits),
    ("--json", answer),
    ("--session", sessions),
    ("--quiet", quiet),
]

if __name__ == "__main__":
    lib.run_cases(CASES, Place)
