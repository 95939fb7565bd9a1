#!/usr/bin/env python3
"""Runs the tests and counts their results.

    tests/run.py [unit] [sandbox] [sanitized] [--build DIR] [-k PATTERN]... [-j N] [--soak]

A test is a program that prints TAP on stdout. Where they are found:
    unit      BUILD/tests/unit/* (cmocka), tests/lint/*.py, tests/contract/run.py
    sandbox   tests/e2e/*.py and *.sh that are executable
    sanitized tests/sanitized/*.py, and of the others those that SANITIZED_TESTS names, with a program that was
              built with sanitizers. A report of any of its processes is a failure.
A test that crashes, hangs, or breaks its own plan counts as one failed case. Skips count as failures under
SANDGATE_MUST_WORK=1. Each test gets SANDGATE, SANDGATE_BUILD, SANDGATE_SOAK and a TMPDIR of its own, and in
SANDGATE_TEST_SLOT a number that no other running test has.

Tests run side by side, the longest first. The first lines of a test can say
    # timeout: 600     seconds, where the usual limit is too short
    # alone: REASON    it runs when no other test does
    # tier: any        of the sandbox lane: it runs where the machine allows no full sandbox, too; others are skipped there
"""

import argparse
import concurrent.futures
import contextlib
import fnmatch
import json
import os
import pathlib
import queue
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT = 600
SOAK_FACTOR = 20
SANITIZED_FACTOR = 3
SHOWN_BYTES = 1 << 20
SLOWEST_SHOWN = 15
FAILURE_LINES = 40  # of each failed test, repeated at the end
MUST_WORK = os.environ.get("SANDGATE_MUST_WORK") == "1"
# Per build, by a word of `sandgate --version`: those that let many calls, cells and commands meet.
SANITIZED_TESTS = {
    "address": [
        "contract/run.py",
        *(f"e2e/{name}.py" for name in (
            "badinput", "broken", "commands", "commands_guards", "commands_run", "commands_stop", "crash", "guards",
            "race", "search_load", "sessions", "stream",
        )),
    ],
    # Its vfork is a fork, in which a program that cannot be started is not told apart: no commands.py.
    "thread": [f"e2e/{name}.py" for name in ("commands_stop", "sessions", "stream")],
}
# Started first, in this order, so that no long test is left over when all others have ended.
LONGEST = """
    tests/e2e/scarce.py tests/e2e/search_rg.py tests/e2e/git_triggers.py tests/e2e/resources.py
    tests/e2e/git_hostile.py tests/contract/run.py tests/e2e/quarantine.py tests/e2e/broken.py tests/e2e/toolchains.py
    tests/e2e/approvals_random.py tests/e2e/made.py tests/e2e/commands_held.py tests/e2e/commands_stop.py
    tests/e2e/state_damage.py tests/e2e/race.py tests/e2e/audit_day.py tests/e2e/crash.py tests/e2e/guests.py
    tests/e2e/quarantine_killed.py tests/e2e/search_load.py tests/e2e/git_grant.py tests/e2e/guard_scan.py
    tests/e2e/clients.py tests/e2e/agents.py unit/test_sweep tests/e2e/policy_kill.py tests/e2e/badinput.py tests/e2e/exchanged.py
    tests/e2e/shortage.py unit/test_line_judge tests/e2e/long_replies.py tests/e2e/moved_guards.py
    tests/e2e/denied_programs.py tests/e2e/ignore.py tests/e2e/escape.py unit/test_session_quarantine
    tests/e2e/appends.py tests/e2e/links_back.py tests/e2e/guests_unread.py tests/e2e/approvals_whole.py
    tests/e2e/git_leads.py tests/e2e/commands_limits.py tests/e2e/passed_descriptors.py
""".split()


@dataclass
class Test:
    name: str
    argv: list
    build: pathlib.Path
    source: pathlib.Path
    env: dict = field(default_factory=dict)
    problem: str = ""  # why it cannot even be started
    skip: str = ""  # why it is not to be started here
    sanitized: bool = False


@dataclass
class Outcome:
    passed: int = 0
    failed: int = 0
    skipped: list = field(default_factory=list)
    problems: list = field(default_factory=list)
    output: str = ""
    seconds: float = 0.0


# --- finding tests


def is_program(path):
    return path.is_file() and os.access(path, os.X_OK)


TAP = {"CMOCKA_MESSAGE_OUTPUT": "TAP"}


def built_tests(build, prefix, env):
    folder = build / "tests" / "unit"
    found = sorted(p for p in folder.glob("*") if is_program(p)) if folder.is_dir() else []
    return [
        Test(prefix + p.name, [str(p)], build, ROOT / "tests/unit" / (p.name + ".c"), env) for p in found
    ]


def script_test(path, build):
    name = str(path.relative_to(ROOT))
    argv = [sys.executable, str(path)] if path.suffix == ".py" else [str(path)]
    return Test(name, argv, build, path)


def unit_lane(build):
    tests = built_tests(build, "unit/", TAP)
    scripts = sorted((ROOT / "tests/lint").glob("*.py"))
    scripts += [p for p in [ROOT / "tests/contract/run.py"] if p.exists()]
    return tests + [script_test(p, build) for p in scripts]


def no_full_sandbox(build):
    """Why this machine has none, or nothing. Where that cannot be found out the tests tell."""
    try:
        with tempfile.TemporaryDirectory() as home:
            env = {**os.environ, "HOME": home, "XDG_STATE_HOME": home}
            done = subprocess.run([str(build / "sandgate"), "doctor", "--json"], capture_output=True, check=False, env=env, cwd=home)
        told = json.loads(done.stdout)
        missing = [one for one in told["mechanisms"] if one["available"] == "no" and one["needed_for"] in ("cell", "full")]
    except (OSError, ValueError, KeyError):
        return ""
    return f"the tier is {told['tier']}: {missing[0]['cause']}" if told["tier"] != "full" and missing else ""


def sandbox_lane(build):
    tests = all_of_the_sandbox(build)
    why = no_full_sandbox(build)
    for test in tests:
        if why and said_in_head(test, "tier") != "any":
            test.skip = why
    return tests


def all_of_the_sandbox(build):
    tests = []
    for path in sorted([*(ROOT / "tests/e2e").glob("*.py"), *(ROOT / "tests/e2e").glob("*.sh")]):
        if is_program(path):
            tests.append(script_test(path, build))
        elif path.read_bytes()[:2] == b"#!":
            test = script_test(path, build)
            test.problem = "starts with #! but is not executable: would never run"
            tests.append(test)
    return tests


def sanitized_lane(build):
    """The programs of a build with AddressSanitizer or ThreadSanitizer."""
    version = subprocess.run([str(build / "sandgate"), "--version"], capture_output=True, text=True, check=False).stdout
    kind = next((kind for kind in SANITIZED_TESTS if "sanitizers" in version and kind in version), None)
    if not kind:
        return [Test("sanitized", [], build, build, problem=f"{build}/sandgate has no sanitizers: {version.strip()}")]
    scripts = sorted((ROOT / "tests/sanitized").glob("*.py")) + [ROOT / "tests" / name for name in SANITIZED_TESTS[kind]]
    tests = built_tests(build, "unit/", TAP) + [script_test(path, build) for path in scripts]
    for test in tests:
        test.name = f"{kind}: {test.name}"
        test.sanitized = True
        test.env = {**test.env, "SANDGATE_SANITIZED": kind}
    return tests


def said_in_head(test, word):
    """What the first lines of the test say behind `word:` in a comment, or None."""
    try:
        with open(test.source, encoding="utf-8", errors="replace") as file:
            head = [line for line, _ in zip(file, range(20))]
    except OSError:
        return None
    found = (re.match(rf"\s*(?:#|//|/?\*+)\s*{word}:\s*(\S.*)", line) for line in head)
    return next((match[1] for match in found if match), None)


def timeout_of(test, soak):
    seconds = TIMEOUT * (SANITIZED_FACTOR if test.sanitized else 1)
    own = re.match(r"\d+", said_in_head(test, "timeout") or "")
    seconds = max(seconds, int(own[0]) if own else 0)
    return seconds * (SOAK_FACTOR if soak else 1)


def in_order(tests):
    """The longest first; the others as they were found."""
    places = {name: at for at, name in enumerate(LONGEST)}
    return sorted(tests, key=lambda test: places.get(test.name.rpartition(": ")[2], len(LONGEST)))


# --- reading TAP

PLAN = re.compile(r"1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?$", re.I)
# cmocka 1.1.5 prints one plan a group, a skip as "not ok 3 # SKIP name", and a failed group set-up as "not ok 0".
CMOCKA_SKIP = re.compile(r"not ok \d+ # SKIP (.*)$")
RESULT = re.compile(r"(ok|not ok)\b(.*)$")
SKIP = re.compile(r"#\s*skip\S*\s*(.*)$", re.I)


def read_tap(lines, outcome):
    """Counts results into outcome; returns how many were planned, or None without a plan."""
    planned = None
    for line in lines:
        line = line.rstrip()
        if match := PLAN.match(line):
            planned = (planned or 0) + int(match[1])
            if match[2] is not None and match[1] == "0":
                outcome.skipped.append(f"the whole file: {match[2] or 'no reason given'}")
        elif match := CMOCKA_SKIP.match(line):
            outcome.skipped.append(f"{match[1]}: skip() in the test")
        elif match := RESULT.match(line):
            skip = SKIP.search(match[2])
            if match[1] == "not ok":
                outcome.failed += 1
            elif skip:
                name = match[2][: skip.start()].strip().lstrip("0123456789").strip(" -")
                outcome.skipped.append(f"{name}: {skip[1] or 'no reason given'}")
            else:
                outcome.passed += 1
        elif line.startswith("Bail out!"):
            outcome.problems.append(line)
    return planned


def judge(outcome, planned, status, timed_out):
    """Adds what is wrong with the run as a whole, beyond its single results."""
    whole_file_skipped = planned == 0 and len(outcome.skipped) == 1
    results = outcome.passed + outcome.failed + (0 if whole_file_skipped else len(outcome.skipped))
    if timed_out:
        outcome.problems.append(f"timed out after {timed_out} s")
    elif status < 0:
        outcome.problems.append(f"died of {signal.Signals(-status).name}")
    elif status != 0 and not outcome.failed:
        outcome.problems.append(f"exited with status {status} though no case failed")
    elif planned is None:
        outcome.problems.append("printed no plan")
    elif results != planned:
        outcome.problems.append(f"planned {planned} cases, reported {results}")
    elif results == 0 and not whole_file_skipped:
        outcome.problems.append("ran no case")
    if outcome.problems:
        outcome.failed += 1
    if MUST_WORK:
        outcome.failed += len(outcome.skipped)


# --- running one test

live_groups = set()
live_lock = threading.Lock()
stopping = threading.Event()


def kill_group(pid):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def start(argv, env, out, err):
    with live_lock:
        if stopping.is_set():
            raise OSError("interrupted")
        process = subprocess.Popen(
            argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, umask=0o022
        )
        live_groups.add(process.pid)
        return process


def wait_and_kill_group(process, seconds):
    """True if it ended in time. The group is killed before the leader is reaped, while its id cannot be reused."""
    pidfd = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        in_time = bool(poll.poll(seconds * 1000))
        kill_group(process.pid)
        process.wait()
        return in_time
    finally:
        os.close(pidfd)


def remove_tree(path):
    """Overlay work folders have mode 000; a mount left behind must not be emptied."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
        if any(line.split()[4].startswith(path + "/") for line in mounts):
            print(f"# {path}: something is still mounted there, left alone", file=sys.stderr)
            return
    for folder, below, _ in os.walk(path):
        for name in below:
            if not os.path.islink(os.path.join(folder, name)):
                with contextlib.suppress(OSError):
                    os.chmod(os.path.join(folder, name), stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)


def shown(file):
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - SHOWN_BYTES))
    text = file.read().decode("utf-8", "replace")
    return f"[first {size - SHOWN_BYTES} bytes not shown]\n{text}" if size > SHOWN_BYTES else text


def report_of(scratch):
    return pathlib.Path(scratch) / "sanitizer-report"


def read_report(test, scratch, outcome):
    """Frames in a cell have no names: it has no file to read them from."""
    text = report_of(scratch).read_text(encoding="utf-8", errors="replace")
    if not text:
        return
    outcome.failed += 1
    outcome.problems.append("a sanitizer reported something")
    offsets = sorted(set(re.findall(r"\bsandgate\+(0x[0-9a-f]+)", text)))
    named = subprocess.run(
        ["addr2line", "-f", "-s", "-e", str(test.build / "sandgate"), *offsets],
        capture_output=True, text=True, check=False,
    ).stdout.splitlines()
    names = {offset: f"{name} {at}" for offset, name, at in zip(offsets, named[::2], named[1::2])}
    outcome.output += re.sub(r"\bsandgate\+(0x[0-9a-f]+)", lambda m: f"{m[0]} {names.get(m[1], '')}", text)


free_slots = queue.SimpleQueue()


def environment(test, scratch, slot, soak):
    return {
        **os.environ,
        **test.env,
        "SANDGATE": str(test.build / "sandgate"),
        "SANDGATE_BUILD": str(test.build),
        "SANDGATE_SOAK": "1" if soak else "0",
        "SANDGATE_TEST_SLOT": str(slot),
        "SANITIZER_REPORT": str(report_of(scratch)),
        "TMPDIR": scratch,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run_in(test, scratch, slot, soak):
    outcome = Outcome()
    seconds = timeout_of(test, soak)
    # Files, not pipes: a grandchild that keeps them open must not hold up the run.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = start(test.argv, environment(test, scratch, slot, soak), out, err)
        in_time = wait_and_kill_group(process, seconds)
        with live_lock:
            live_groups.discard(process.pid)
        out.seek(0)
        planned = read_tap((line.decode("utf-8", "replace") for line in out), outcome)
        judge(outcome, planned, process.returncode, 0 if in_time else seconds)
        if outcome.failed:
            outcome.output = shown(out) + shown(err)
        read_report(test, scratch, outcome)
    return outcome


def run(test, soak):
    if test.problem:
        return Outcome(failed=1, problems=[test.problem])
    if test.skip:
        return Outcome(skipped=[test.skip], failed=1 if MUST_WORK else 0)
    started = time.monotonic()
    slot = free_slots.get()
    scratch = tempfile.mkdtemp(prefix="sg-")
    os.chmod(scratch, 0o711)  # a gate run as root works as another user, who must get through
    report_of(scratch).touch()
    report_of(scratch).chmod(0o666)
    try:
        outcome = run_in(test, scratch, slot, soak)
    except OSError as error:
        outcome = Outcome(failed=1, problems=[f"cannot start: {error}"])
    finally:
        remove_tree(scratch)
        free_slots.put(slot)
    outcome.seconds = time.monotonic() - started
    return outcome


# --- the whole run


def report(test, outcome):
    report_counts(test, outcome)
    if outcome.output:
        print("".join(f"    | {line}\n" for line in outcome.output.splitlines()), end="")
    sys.stdout.flush()


def report_counts(test, outcome):
    counts = f"{outcome.passed} passed"
    if outcome.failed:
        counts += f", {outcome.failed} FAILED"
    if outcome.skipped:
        counts += f", {len(outcome.skipped)} skipped"
    print(f"{test.name:<40} {counts}  {outcome.seconds:.2f} s")
    for skip in outcome.skipped:
        print(f"    skipped: {skip}")
    for problem in outcome.problems:
        print(f"    {problem}")


def failed_cases(output):
    """The lines of each failed case: its result and the comments behind it."""
    lines = []
    in_failure = False
    for line in output.splitlines():
        in_failure = line.startswith("not ok") or (in_failure and line.startswith("#"))
        if in_failure:
            lines.append(line)
    return lines


def report_failures(outcomes):
    """Once more at the end, where a log that was cut still shows them."""
    for test, outcome in outcomes:
        if outcome.failed:
            report_counts(test, outcome)
            lines = failed_cases(outcome.output) or outcome.output.splitlines()[-FAILURE_LINES:]
            print("".join(f"    | {line}\n" for line in lines[:FAILURE_LINES]), end="")


def run_all(tests, jobs, soak):
    """Pairs of a test and its outcome."""
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        pending = {pool.submit(run, test, soak): test for test in tests}
        try:
            for done in concurrent.futures.as_completed(pending):
                report(pending[done], done.result())
                outcomes.append((pending[done], done.result()))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            with live_lock:
                stopping.set()
                for group in live_groups:
                    kill_group(group)
            raise
    return outcomes


LANES = {"unit": unit_lane, "sandbox": sandbox_lane, "sanitized": sanitized_lane}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("lanes", nargs="*", metavar="unit|sandbox|sanitized", help="default: the first two")
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("-k", action="append", metavar="PATTERN",
                        help="only tests whose name contains or globs this; more than one: any of these")
    parser.add_argument("-j", type=int, metavar="N", help="at once (default: two more than there are cores)")
    parser.add_argument("--soak", action="store_true", help="long: SANDGATE_SOAK=1, 20 times the time limit")
    arguments = parser.parse_args()
    for lane in arguments.lanes:
        if lane not in LANES:
            parser.error(f"no such lane: {lane}")
    return arguments


def is_chosen(name, patterns):
    return not patterns or any(pattern in name or fnmatch.fnmatch(name, pattern) for pattern in patterns)


def interrupt(_signal, _frame):
    raise KeyboardInterrupt


def report_slowest(outcomes):
    slowest = sorted(outcomes, key=lambda pair: -pair[1].seconds)[:SLOWEST_SHOWN]
    print("slowest:", ", ".join(f"{test.name} {outcome.seconds:.0f} s" for test, outcome in slowest))


def default_jobs(lanes):
    """Tests of gates often wait, so two more than the cores; with sanitizers they are all at work, and large."""
    return len(os.sched_getaffinity(0)) + (0 if "sanitized" in lanes else 2)


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, interrupt)
    build = pathlib.Path(arguments.build).resolve()
    lanes = arguments.lanes or ["unit", "sandbox"]
    jobs = arguments.j or default_jobs(lanes)
    for slot in range(jobs):
        free_slots.put(slot)
    tests = in_order(test for lane in lanes for test in LANES[lane](build))
    tests = [test for test in tests if is_chosen(test.name, arguments.k)]
    alone = [test for test in tests if said_in_head(test, "alone")]
    results = run_all([test for test in tests if test not in alone], jobs, arguments.soak)
    results += run_all(alone, 1, arguments.soak)
    outcomes = [outcome for _, outcome in results]
    passed = sum(o.passed for o in outcomes)
    failed = sum(o.failed for o in outcomes)
    skipped = 0 if MUST_WORK else sum(len(o.skipped) for o in outcomes)
    if len(results) > SLOWEST_SHOWN:
        report_slowest(results)
        report_failures(results)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
