#!/usr/bin/env python3
"""Ordinary work under bubblewrap and under `sandgate run`: does it pass, and how long does it take?

    bench/daily.py [--binary PATH] [--runs N]

Each line runs in a folder of its own that it may change, with the machine's programs, an empty home and no network. Prints the
table of docs/RUN.md. What is not installed is left out.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = 300
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin"
WHO = "-c user.name=a -c user.email=a@b"

# Name, program that it needs, options of `sandgate run`, files, command line.
WORK = [
    ("`true`", "true", [], {}, "true"),
    ("Python: venv, unittest", "python3", [], {"test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n"},
     "/usr/bin/python3 -m venv --without-pip .venv && .venv/bin/python -m unittest -q"),
    ("Node: node --test", "node", [], {"a.test.js": "require('node:test')('a', () => {})\n"}, "node --test"),
    ("Go: build, test", "go", [], {"go.mod": "module a\n", "a.go": "package main\nfunc main() {}\n", "a_test.go": "package main\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n"},
     "go build ./... && go test ./..."),
    ("Rust: cargo build, test", "cargo", [], {"Cargo.toml": '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n', "src/main.rs": "fn main() {}\n#[test]\nfn a() {}\n"},
     "cargo build -q && cargo test -q"),
    ("C: cmake, ctest", "cmake", [], {"CMakeLists.txt": "cmake_minimum_required(VERSION 3.13)\nproject(a C)\nenable_testing()\nadd_executable(a a.c)\nadd_test(NAME a COMMAND a)\n", "a.c": "int main(void) { return 0; }\n"},
     "cmake -S . -B build && cmake --build build && cd build && ctest"),
    ("Git: commit, branch", "git", ["--git"], {"a": "a\n", ".git": None},
     f"git add a && git {WHO} commit -qm a && git branch b && git log --oneline && git status --short"),
    ("tar of 3,000 files", "tar", [], {}, "mkdir f && for i in $(seq 3000); do echo $i > f/$i; done && tar cf a.tar f && tar tf a.tar | tail -1"),
]  # fmt: skip


def prepare(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == ".git":
            subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
        else:
            path.write_text(text)


def bubblewrap(folder, _options, line):
    return ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", os.environ["HOME"],
            "--bind", str(folder), str(folder), "--unshare-all", "--die-with-parent", "--chdir", str(folder), "sh", "-c", line]  # fmt: skip


def sandgate(binary):
    return lambda folder, options, line: [binary, "run", "--workspace", str(folder), *options, "--", "sh", "-c", line]


def once(argv_of, files, options, line, env):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        prepare(folder, files)
        began = time.monotonic()
        done = subprocess.run(argv_of(folder, options, line), env=env, capture_output=True, timeout=SECONDS, check=False)
        return done, time.monotonic() - began


def measure(argv_of, work, env, runs):
    _, _, options, files, line = work
    times = []
    for _ in range(runs):
        done, seconds = once(argv_of, files, options, line, env)
        if done.returncode != 0:
            print(f"{work[0]}: status {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}", file=sys.stderr)
            return f"fails ({done.returncode})"
        times.append(seconds * 1000)
    return f"{statistics.median(times):.0f} ms"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=str(ROOT / "build/sandgate"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("-k", default="", help="only what has this in its name")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as state:
        env = {"PATH": PATH, "HOME": os.environ["HOME"], "LANG": "C.UTF-8", "XDG_STATE_HOME": state}
        print("| work | bubblewrap | `sandgate run` |\n|---|---|---|")
        for work in WORK:
            if given.k not in work[0] or not shutil.which(work[1], path=PATH):
                continue
            cells = [measure(by, work, env, given.runs) for by in (bubblewrap, sandgate(given.binary))]
            print(f"| {work[0]} | {cells[0]} | {cells[1]} |", flush=True)


main()
