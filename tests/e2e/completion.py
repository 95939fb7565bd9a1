#!/usr/bin/env python3
"""`sandgate completion`: the shells themselves complete with it what the program knows."""
import os
import pty
import re
import select
import shutil
import subprocess
import time

import lib
from lib import check

SHELLS = ("bash", "zsh", "fish")


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder("completion-home", 0o700)
        self.scripts = {shell: self.script(shell) for shell in SHELLS}
        tools = form.folder("completion-bin")
        form.link(tools / "sandgate", form.binary)
        self.env = lib.environment(self.home, {"HOME": str(self.home), "PATH": f"{tools}:/usr/bin:/bin", "TERM": "dumb",
                                               "XDG_CONFIG_HOME": str(self.home)})  # fmt: skip

    def script(self, shell):
        done = self.form.run(self.home, "completion", shell)
        check(done.returncode == 0 and not done.stderr, done)
        return self.form.write(self.form.base / f"completion-{shell}", done.stdout)

    def shell(self, *argv):
        done = subprocess.run(argv, env=self.env, cwd=self.home, capture_output=True, text=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL, **self.form.identity())  # fmt: skip
        check(done.returncode == 0 and not done.stderr, done)
        return done.stdout

    def bash(self, line):
        words = line.split(" ")
        listed = " ".join(f"'{word}'" for word in words)
        text = f"set -u; . {self.scripts['bash']}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _sandgate; " \
               'for word in "${COMPREPLY[@]}"; do echo "$word"; done'  # fmt: skip
        return set(self.shell("bash", "--norc", "-c", text).split())

    def fish(self, line):
        text = self.shell("fish", "--no-config", "-c", f"source {self.scripts['fish']}; complete -C '{line}'")
        return {one.split("\t")[0] for one in text.splitlines()}

    def zsh(self, line):
        """What a terminal shows behind a line and two tabs."""
        ours, theirs = pty.openpty()
        text = f"PS1='>%# '; autoload -U compinit; compinit -u -D; source {self.scripts['zsh']}; echo rea''dy\n"
        process = subprocess.Popen(["zsh", "-f", "-i"], env=self.env, cwd=self.home, stdin=theirs, stdout=theirs,
                                   stderr=theirs, **self.form.identity())  # fmt: skip
        os.close(theirs)
        try:
            os.write(ours, text.encode())
            self.read(ours, b"ready\r")
            os.write(ours, f"{line}\t\t".encode())
            seen = self.read(ours, None)
        finally:
            process.kill()
            process.wait()
            os.close(ours)
        return set(re.findall(r"[\w-]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", " ", seen.decode("utf-8", "replace"))))

    def read(self, fd, until):
        """Up to `until`; None: until nothing comes any more."""
        seen = b""
        end = time.monotonic() + lib.SECONDS
        while time.monotonic() < end and not (until and until in seen):
            if select.select([fd], [], [], 1.5)[0]:
                seen += os.read(fd, 65536)
            elif not until and len(seen) > 20:
                break
        check(until is None or until in seen, seen)
        return seen


def listed(place, *words):
    return place.form.run(place.home, *words).stdout.decode()


def completes(place, shell):
    if not shutil.which(shell, path="/usr/bin:/bin"):
        check(os.environ.get("SANDGATE_MUST_WORK") != "1", f"there is no {shell}")
        lib.note(f"there is no {shell}")
        return
    ask = getattr(place, shell)
    commands = set(re.findall(r"^  (\w+) +\S", listed(place, "help"), re.M))
    check(len(commands) > 10, commands)
    check(commands <= ask("sandgate "), ask("sandgate "))
    audit = ask("sandgate run --")
    options = set(re.findall(r"^  (--[a-z-]+)", listed(place, "run", "--help"), re.M))
    check(len(options) > 3 and {o.lstrip("-") for o in options} <= {o.lstrip("-") for o in audit}, audit)
    check({"check", "show", "explain"} <= ask("sandgate config "), "verbs")
    check({"claude", "codex"} <= ask("sandgate setup c"), "clients")


def bash(place):
    completes(place, "bash")
    # An option's value, and what is behind a bare `--`, are not ours to complete.
    check(place.bash("sandgate run --agent ") == set() and place.bash("sandgate run -- --") == set(), "values")
    check(place.bash("sandgate stats --workspac") == set(), "an option of others")
    (place.home / "folder").mkdir()
    check("folder" in place.bash("sandgate run --workspace "), "folders")


def zsh(place):
    completes(place, "zsh")


def fish(place):
    completes(place, "fish")


def unknown_shells(place):
    done = place.form.run(place.home, "completion", "tcsh")
    check(done.returncode == 2 and b"bash, zsh, fish" in done.stderr, done)
    check(place.form.run(place.home, "completion").returncode == 2, "none")


CASES = (bash, zsh, fish, unknown_shells)

lib.run_cases([(case.__name__.replace("_", " "), case) for case in CASES], Place)
