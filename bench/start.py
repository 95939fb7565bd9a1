#!/usr/bin/env python3
"""Starts of a gate beside a long audit log: one that ended by itself, and one whose gate was killed with calls under way,
in turn. What a start leaves is taken back before the next one."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import files
from report import TARGET_HEADER, describe_machine, number, show, table

BEGIN, END = "<!-- start:begin -->", "<!-- start:end -->"
IN_FLIGHT = 64
CASES = {"ended": "the gate before has ended", "killed": "the gate before was killed"}
LIMIT = 3


class Gate:
    """Keeps many calls under way until its log is long enough."""

    def __init__(self, options, environment, workspace):
        command = [options.sandgate, "stdio", "--workspace", workspace]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.sent = 0

    def send(self, calls):
        lines = [json.dumps({"id": str(self.sent + i), "tool_call": {"name": "stat", "arguments": {"path": "f1k.txt"}}})
                 for i in range(calls)]
        self.sent += calls
        self.process.stdin.write(("\n".join(lines) + "\n").encode())
        self.process.stdin.flush()

    def receive(self, calls):
        for _ in range(calls):
            self.process.stdout.readline()

    def fill(self, log, size):
        self.send(IN_FLIGHT)
        while not log.exists() or log.stat().st_size < size:
            self.send(1000)
            self.receive(1000)

    def end(self):
        reader = threading.Thread(target=self.process.stdout.read)
        reader.start()
        self.process.stdin.close()
        self.process.wait()
        reader.join()

    def kill(self):
        self.send(IN_FLIGHT)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class State:
    """A state folder as a gate left it, and the way back to that."""

    def __init__(self, options, folder, name, workspace):
        self.environment = files.make_environment(folder)
        self.folder = Path(self.environment["XDG_STATE_HOME"]) / "sandgate"
        self.log = self.folder / "audit" / "000.jsonl"
        gate = Gate(options, self.environment, workspace)
        gate.fill(self.log, options.megabytes << 20)
        gate.kill() if name == "killed" else gate.end()
        self.size = self.log.stat().st_size
        self.kept = {path: path.read_bytes() for path in self.folder.glob("state.db*")}

    def restore(self):
        os.truncate(self.log, self.size)
        for path in self.folder.glob("state.db*"):
            path.unlink()
        for path, content in self.kept.items():
            path.touch(mode=0o600)
            path.write_bytes(content)


def start(options, state, workspace):
    """Milliseconds from start to exit, and of the processor's time."""
    call = [options.sandgate, "call", "stat", '{"path":"f1k.txt"}', "--workspace", workspace]
    begin = time.monotonic()
    process = subprocess.Popen(call, env=state.environment, stdout=subprocess.DEVNULL)
    _, status, use = os.wait4(process.pid, 0)
    wall = (time.monotonic() - begin) * 1e3
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"start.py: the call failed with status {process.returncode}")
    return {"wall": wall, "cpu": (use.ru_utime + use.ru_stime) * 1e3}


def check_recovered(state):
    """The calls that were under way are in the log as interrupted: else the start did less than it must."""
    with open(state.log, "rb") as log:
        log.seek(state.size)
        if b'"recovered_by"' not in log.read():
            sys.exit("start.py: the log was not recovered")


def run_rounds(options, states, workspace):
    samples = {name: [] for name in states}
    for number_of_round in range(options.rounds + 3):
        for name, state in states.items():
            state.restore()
            sample = start(options, state, workspace)
            if name == "killed":
                check_recovered(state)
            if number_of_round >= 3:
                samples[name].append(sample)
    return samples


def ratios(samples, field):
    return [a[field] / b[field] for a, b in zip(samples["killed"], samples["ended"])]


def render(samples, states, options):
    rows = []
    for name, title in CASES.items():
        medians = [statistics.median(sample[field] for sample in samples[name]) for field in ("wall", "cpu")]
        rows.append([title, f"{states[name].size / 2**20:.0f}", *map(number, medians)])
    wall, cpu = (statistics.median(ratios(samples, field)) for field in ("wall", "cpu"))
    met = "yes" if wall <= LIMIT else "no"
    return "\n".join([
        f"Medians of {options.rounds} rounds, one of each in turn; {describe_machine()}. CPU is user and system time of",
        "the gate and what it waited for.",
        "",
        *table(["`sandgate call stat`, start to exit", "log MiB", "ms", "CPU ms"], rows),
        "",
        *table(TARGET_HEADER,
               [["start after a kill / ordinary start", f"<= {LIMIT}x", f"{wall:.2f}x (CPU {cpu:.2f}x)", met]]),
    ]) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sandgate", type=Path, default=Path(os.environ.get("SANDGATE", "build/sandgate")),
        help="the program to measure (%(default)s)")
    add("--rounds", type=int, default=40, help="of each (%(default)s)")
    add("--megabytes", type=int, default=58, help="length of the log (%(default)s)")
    add("--check", action="store_true", help="exit with 1 when the target is missed")
    add("--markdown", type=Path, metavar="FILE", help=f"rewrite FILE between {BEGIN} and {END}")
    options = parser.parse_args()
    options.sandgate = options.sandgate.resolve()
    return options


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="sandgate-bench-") as folder:
        folder = Path(folder)
        workspace = folder / "workspace"
        files.make_workspace(workspace)
        files.warn_if_busy()
        states = {}
        for name in CASES:
            (folder / name).mkdir()
            states[name] = State(options, folder / name, name, workspace)
        samples = run_rounds(options, states, workspace)
        text = render(samples, states, options)
    show(text, options.markdown, (BEGIN, END))
    return 1 if options.check and statistics.median(ratios(samples, "wall")) > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
