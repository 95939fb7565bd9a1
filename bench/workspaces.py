#!/usr/bin/env python3
"""Overlay sessions beside copies of a project: making one, looking at ten changes, taking over a thousand files, throwing ten
changes away. Each time, from the start of a program to its end, beside what people do without sessions, in turn."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import files
from report import Target, describe_machine, number, publish, table, target_table

MARKS = ("<!-- workspaces:begin -->", "<!-- workspaces:end -->")
SMALL, LARGE, COMMITTED = 5000, 78000, 1000
EDITS = "for i in 0 1 2 3 4 5 6 7 8 9; do echo more >> d0/f$i; done"


def ratio(ours, other):
    return lambda s: [a / b for a, b in zip(s[ours], s[other])]


def inverse(ours, other):
    return lambda s: [b / a for a, b in zip(s[ours], s[other])]


TARGETS = [
    Target("`cp -a` / `session create`, 5,000 files", "x", ">=", 20, inverse("create small", "cp small")),
    Target("`git worktree add` / `session create`, 5,000 files", "x", ">=", 40, inverse("create small", "worktree")),
    Target("`session create`, 78,000 files / 5,000", "x", "<=", 3, ratio("create large", "create small")),
    Target("`session diff` of 10 changes in 78,000 files", " ms", "<", 50, lambda s: s["diff"]),
    Target("`session commit` of 1,000 new files / `cp -a` and fsync of each", "x", "<=", 3, ratio("commit", "cp sync")),
]


def make_tree(folder, count):
    for i in range(count):
        if i % 100 == 0:
            (folder / f"d{i // 100}").mkdir(parents=True)
        (folder / f"d{i // 100}" / f"f{i % 100}").write_bytes(b"%d\n" % i + b"x" * 2000)


def timed(*command, environment=None):
    """Milliseconds, and what it printed."""
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, check=False)
    took = (time.monotonic() - begin) * 1e3
    if done.returncode != 0:
        sys.exit(f"workspaces.py: {command}: {done.stderr.decode()}")
    return took, done.stdout.decode().strip()


def copy_and_sync(source, target):
    """What a careful copy would do."""
    begin = time.monotonic()
    subprocess.run(["cp", "-a", source, target], check=True)
    for path in target.rglob("*"):
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
    return (time.monotonic() - begin) * 1e3


class Bench:
    def __init__(self, options, folder):
        self.sandgate = options.sandgate
        self.folder = folder
        self.environment = {**files.make_environment(folder), "APPROVAL_DEFAULT": "approve"}
        self.small, self.large = folder / "small", folder / "large"
        make_tree(self.small, SMALL)
        make_tree(self.large, options.large)
        for args in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "all"]):
            subprocess.run(["git", *args], cwd=self.small, check=True)

    def run(self, *words):
        return timed(self.sandgate, *words, environment=self.environment)

    def create(self, project):
        return self.run("session", "create", "--workspace", project, "--overlay")

    def command(self, session, text):
        self.run("call", "run_command", json.dumps({"command": text}), "--session", session)

    def one_round(self, samples):
        copy, tree = self.folder / "copy", self.folder / "tree"
        took, session = self.create(self.small)
        samples["create small"].append(took)
        samples["cp small"].append(timed("cp", "-a", self.small, copy)[0])
        samples["worktree"].append(timed("git", "-C", self.small, "worktree", "add", "-q", "--detach", tree)[0])
        timed("git", "-C", self.small, "worktree", "remove", "--force", tree)
        shutil.rmtree(copy)
        self.command(session, f"mkdir new; for i in $(seq {COMMITTED}); do head -c 4096 /dev/zero > new/$i; done")
        samples["commit"].append(self.run("session", "commit", session, "--yes")[0])
        samples["cp sync"].append(copy_and_sync(self.small / "new", copy))
        shutil.rmtree(self.small / "new")
        shutil.rmtree(copy)
        self.run("session", "discard", session)
        took, session = self.create(self.large)
        samples["create large"].append(took)
        self.command(session, EDITS)
        samples["diff"].append(self.run("session", "diff", session)[0])
        samples["discard"].append(self.run("session", "discard", session, "--yes")[0])


NAMES = {"create small": "`session create`, 5,000 files", "cp small": "`cp -a` of them", "worktree": "`git worktree add` of them",
         "create large": "`session create` of the large tree", "diff": "`session diff`, 10 changes in the large tree",
         "discard": "`session discard` of them", "commit": "`session commit`, 1,000 new files of 4 KB",
         "cp sync": "`cp -a` of them, fsync of each"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sandgate", type=Path, default=Path(os.environ.get("SANDGATE", "build/sandgate")),
        help="the program to measure (%(default)s)")
    add("--rounds", type=int, default=7, help="of each (%(default)s)")
    add("--large", type=int, default=LARGE, help="files of the large tree (%(default)s)")
    add("--check", action="store_true", help="exit with 1 when a target is missed")
    add("--markdown", type=Path, metavar="FILE", help=f"rewrite FILE between {MARKS[0]} and {MARKS[1]}")
    options = parser.parse_args()
    options.sandgate = options.sandgate.resolve()
    return options


def main():
    options = parse_arguments()
    samples = {name: [] for name in NAMES}
    with tempfile.TemporaryDirectory(prefix="sandgate-bench-") as folder:
        bench = Bench(options, Path(folder))
        files.warn_if_busy()
        for _ in range(options.rounds):
            bench.one_round(samples)
    rows = [[title, number(statistics.median(samples[name]))] for name, title in NAMES.items()]
    judged = [(target, target.values(samples)) for target in TARGETS]
    text = "\n".join([f"Medians of {options.rounds} rounds, each thing in turn; {describe_machine()}. The large tree has "
                      f"{options.large:,} files.", "", *table(["start to end", "ms"], rows), "", ""])
    return publish(text + "\n".join(target_table(judged)) + "\n", options, MARKS, judged)


if __name__ == "__main__":
    sys.exit(main())
