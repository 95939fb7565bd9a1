#!/usr/bin/env python3
"""Mutation test of security decisions: each row of table.txt weakens one, and a test must fail.

    tests/mutants/run.py [-k PATTERN] [--list] [--work DIR]

Works on a copy of the tree in DIR (build-mutants), with a build folder of its own; what is in there is used again by the
next run. The named tests must first pass without a mutant. Fails when a mutant survives, and when a row is broken: its
text is not found exactly once, or it does not compile.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import table

ROOT = table.ROOT
SECONDS = 180  # a test that a mutant keeps from ending
OUTPUT_LINES = 40  # of a build or a test that failed where it should not


class Broken(Exception):
    """A row that says nothing about the tests."""


# --- the copy


def source_files():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    )
    names = (os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)
    return {name for name in names if os.path.lexists(ROOT / name)}


def is_same(source, copy):
    if source.is_symlink() or copy.is_symlink() or not copy.is_file():
        return False
    return source.read_bytes() == copy.read_bytes() and source.stat().st_mode == copy.stat().st_mode


def copy_tree(tree):
    """Only what differs is written, so that a build that is there stays useful."""
    names = source_files()
    tree.mkdir(parents=True, exist_ok=True)
    for folder, below, files in os.walk(tree):
        below[:] = [name for name in below if pathlib.Path(folder) != tree or name not in ("build", ".deps")]
        for path in (pathlib.Path(folder) / name for name in files):
            if str(path.relative_to(tree)) not in names:
                path.unlink()
    for name in sorted(names):
        copy = tree / name
        if not is_same(ROOT / name, copy):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.unlink(missing_ok=True)
            shutil.copy(ROOT / name, copy, follow_symlinks=False)
    if not (tree / ".deps").is_symlink():
        (tree / ".deps").symlink_to(ROOT / ".deps")


# --- building


def last_lines(text):
    return "\n".join(f"    | {line}" for line in text.splitlines()[-OUTPUT_LINES:])


def command(argv, what, **options):
    ran = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if ran.returncode != 0:
        raise Broken(f"{what}\n{last_lines(ran.stdout)}")
    return ran.stdout


def set_up(tree):
    if not (tree / "build/build.ninja").is_file():
        options = ["--buildtype=custom", "-Doptimization=1", "-Ddebug=false"]
        command(["meson", "setup", "build", *options], "meson setup failed", cwd=tree)


def programs(tree):
    """What end-to-end tests start, as ninja names it."""
    text = command(["meson", "introspect", "--targets", "build"], "meson introspect failed", cwd=tree)
    build = tree / "build"
    names = [
        str(pathlib.Path(name).relative_to(build))
        for target in json.loads(text)
        if target["type"] == "executable" and target["build_by_default"]
        for name in target["filename"]
    ]
    return [name for name in names if not name.startswith(("tests/unit/", "bench/", "examples/", "src/"))]


def build(tree, tests, started):
    targets = {f"tests/{test}" for test in tests if test.startswith("unit/")}
    if len(targets) < len(tests):
        targets.update(started)
    jobs = str(len(os.sched_getaffinity(0)))
    command(["ninja", "-C", "build", "-j", jobs, *sorted(targets)], "it does not compile", cwd=tree)


# --- running


def output_of(argv, tree, seconds):
    """What it printed; None: it did not end in time. tests/run.py ends all tests when it gets SIGTERM."""
    with subprocess.Popen(argv, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            return process.communicate(timeout=seconds)[0]
        except BaseException as error:
            process.terminate()
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                return None
            raise


def run_tests(tree, tests, seconds=None):
    """Which of them failed, and the output. One that does not end has failed."""
    patterns = []
    for name in tests:
        # -k also takes names that contain the pattern; as a glob it means this one alone.
        patterns += ["-k", f"[{name[0]}]{name[1:]}"]
    argv = [sys.executable, "tests/run.py", "unit", "sandbox", "--build", "build", *patterns]
    output = output_of(argv, tree, seconds)
    if output is None:
        return tests, ""
    counts = {name: re.search(rf"^{re.escape(name)} +\d+ passed(, \d+ FAILED)?", output, re.M) for name in tests}
    missing = [name for name in tests if not counts[name]]
    if missing:
        raise Broken(f"{', '.join(missing)} did not run\n{last_lines(output)}")
    return [name for name in tests if counts[name][1]], output


def check_unmutated(tree, tests, started):
    build(tree, tests, started)
    failed, output = run_tests(tree, tests)
    if failed:
        raise Broken(f"{', '.join(failed)}: fails without a mutant\n{last_lines(output)}")


def try_mutant(tree, mutant, started):
    """The tests that killed it."""
    path = tree / mutant.file
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(mutant.apply(before), encoding="utf-8")
        build(tree, mutant.tests, started)
        return run_tests(tree, mutant.tests, SECONDS)[0]
    except ValueError as error:
        raise Broken(str(error)) from error
    finally:
        path.write_text(before, encoding="utf-8")


def try_all(tree, mutants, started):
    counts = {"killed": 0, "survived": 0, "broken": 0}
    for mutant in mutants:
        begun = time.monotonic()
        try:
            killers = try_mutant(tree, mutant, started)
            result, more = ("killed", "by " + ", ".join(killers)) if killers else ("survived", ", ".join(mutant.tests))
        except Broken as error:
            result, more = "broken", str(error)
        counts[result] += 1
        print(f"{result:<8} {mutant.name}: {more} ({time.monotonic() - begun:.0f} s)", flush=True)
    return counts


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("-k", default="*", metavar="PATTERN", help="only mutants whose name or file contains or globs this")
    parser.add_argument("--list", action="store_true", help="print the table and end")
    parser.add_argument("--work", default=ROOT / "build-mutants", type=pathlib.Path, metavar="DIR")
    return parser.parse_args()


def is_chosen(mutant, pattern):
    return any(pattern in text or fnmatch.fnmatch(text, pattern) for text in (mutant.name, mutant.file))


def main():
    arguments = parse_arguments()
    mutants = [mutant for mutant in table.read() if is_chosen(mutant, arguments.k)]
    if arguments.list:
        for mutant in mutants:
            print(f"{mutant.file:<32} {mutant.name}: {', '.join(mutant.tests)}")
        return 0
    tree = arguments.work.resolve() / "tree"
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    try:
        copy_tree(tree)
        set_up(tree)
        started = programs(tree)
        check_unmutated(tree, tests, started)
    except Broken as error:
        print(error, file=sys.stderr)
        return 1
    counts = try_all(tree, mutants, started)
    if counts["broken"]:
        print(f"{counts['broken']} broken rows")
    print(f"{counts['killed']} killed, {counts['survived']} survived")
    return 1 if counts["survived"] or counts["broken"] or not counts["killed"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
