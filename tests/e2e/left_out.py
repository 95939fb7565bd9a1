#!/usr/bin/env python3
"""Lists of what is in the state folder: what cannot be opened is not left out without a word. The rest is shown, standard
error names it, and the status is not 0.
"""

import json
import subprocess

import lib
from lib import check
from ran import Place

GATES = 6


class Listed(Place):
    """A state folder with some of each."""

    def __init__(self, form, name):
        super().__init__(form, name)
        gates = [self.gate() for _ in range(GATES)]
        for gate in gates:
            gate.ok("stat", path=".")
        gates[0].ok("run_command", command="echo >.envrc")
        for gate in gates:
            gate.end()
        self.sessions = [self.create() for _ in range(3)]
        self.state = self.home / "sandgate"

    def create(self):
        return self.form.run(self.home, "session", "create", "--workspace", self.workspace).stdout.decode().strip()

    def under(self, *argv, files=1024):
        """The program, with so many descriptors."""
        limited = ["prlimit", f"--nofile={files}:{files}", "--", str(self.form.binary), *argv]
        return subprocess.run(limited, input=b"", capture_output=True, timeout=lib.SECONDS, cwd="/", check=False,
                              env=lib.environment(self.home), **self.form.identity())


LISTS = {
    ("audit", "show"): GATES + 1,
    ("audit", "show", "--json"): 2 * GATES + 2,
    ("audit", "show", "--last", "100"): GATES + 1,
    ("session", "list"): 3,
    ("quarantine", "list"): 1,
}


def few_descriptors(form):
    """with few descriptors a list is whole, or says that it is not"""
    place = Listed(form, "few")
    for argv, least in LISTS.items():
        whole = place.under(*argv)
        check(whole.returncode == 0 and len(whole.stdout.splitlines()) >= least, f"{argv}: {whole}")
        short = 0
        for files in range(4, 16):
            done = place.under(*argv, files=files)
            check(done.returncode in (0, 1, 2), f"{argv} with {files}: {done}")
            if done.returncode == 0:
                check(done.stdout == whole.stdout and not done.stderr, f"{argv} with {files}: {done}")
            else:
                short += 1
                check(b"oo many open files" in done.stderr, f"{argv} with {files}: {done}")
        check(short > 0, f"{argv} needs fewer than 4")


def others_under_limits(form):
    """with few descriptors, or no room for any file, every command ends by itself and with a word"""
    place = Listed(form, "others")
    at = ["--workspace", str(place.workspace)]
    commands = (["audit", "verify"], ["approvals"], ["stats"], ["approve", "xxxx"], ["tools"], ["call", "stat", '{"path":"."}', *at],
                ["policy", "explain", "stat", '{"path":"."}', *at], ["run", *at, "--", "true"])
    for option, values in (("nofile", range(3, 13)), ("fsize", (0, 1))):
        for value in values:
            for argv in commands:
                done = subprocess.run(["prlimit", f"--{option}={value}:{value}", "--", str(form.binary), *argv], input=b"",
                                      capture_output=True, timeout=lib.SECONDS, cwd="/", check=False,
                                      env=lib.environment(place.home), **form.identity())
                said = f"{argv} with {option} {value}: {done}"
                check(0 <= done.returncode < 128, said)
                check(done.returncode == 0 or done.stderr.strip() or done.stdout.strip(), said)


def unreadable(form):
    """a file of the log that cannot be read: the others are shown, also those behind it"""
    place = Listed(form, "unreadable")
    whole = len(place.under("audit", "show").stdout.splitlines())
    spoilt = place.state / "audit/002.jsonl"
    spoilt.rename(spoilt.with_suffix(".away"))
    spoilt.mkdir()  # root could read a file without rights
    for more in ([], ["--json"], ["--failed"], ["--as", "sh"], ["--last", "50"], ["--call", "none"]):
        done = place.under("audit", "show", *more)
        check(done.returncode == 1 and b"002.jsonl" in done.stderr, f"{more}: {done}")
    shown = len(place.under("audit", "show").stdout.splitlines())
    check(0 < shown < whole, f"{shown} of {whole}")


def damaged_session(form):
    """a session whose record is damaged is listed as that, and can be discarded"""
    place = Listed(form, "damaged")
    for session, content in zip(place.sessions, (b"garbage", b"", b'{"id":"x"}')):
        (place.state / "sessions" / session / "session.json").write_bytes(content)
        done = place.under("session", "list")
        line = next(line for line in done.stdout.decode().splitlines() if line.startswith(session))
        check(done.returncode == 0 and "damaged" in line, done)
        rows = json.loads(place.under("session", "list", "--json").stdout)
        check([row.get("damaged") for row in rows if row["id"] == session] == [True], rows)
        done = place.under("session", "show", session)
        check(done.returncode == 1 and b"damaged" in done.stderr, done)
        check(place.under("session", "discard", session).returncode == 0, "discard")
        check(session not in place.under("session", "list").stdout.decode(), "it is gone")


if __name__ == "__main__":
    lib.run_cases([(case.__doc__, case) for case in (few_descriptors, others_under_limits, unreadable, damaged_session)])
