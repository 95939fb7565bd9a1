"""Many commands through one gate, and what they leave behind: processes, descriptors, mounts, control groups, memory."""

import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import files

IN_FLIGHT = 16
# Long output is kept for a while, each in a file: by then as many are kept as ever will be.
WARM_UP = 800
SETTLE_SECONDS = 10
PARTS = 4
KIB_ALLOWED = 512

# Arguments of `run_command`, and what the answer holds.
KINDS = [
    ({"argv": ["/bin/true"]}, '"exit_code":0'),
    ({"argv": ["/bin/false"]}, '"exit_code":1'),
    ({"command": "echo out; echo err >&2"}, '"stderr":"err\\n"'),
    ({"command": "sleep 1000 & setsid sleep 1000 & exit 3"}, '"exit_code":3'),
    ({"argv": ["no-such-program"]}, '"code":"NOT_FOUND"'),
    ({"argv": ["cat"], "stdin": "some text"}, '"stdout":"some text"'),
    ({"command": "head -c 300000 /dev/zero | tr '\\0' x"}, '"truncated":true'),
    ({"command": "sleep 1000", "timeout_ms": 20}, '"ended_by":"timeout"'),
]


@dataclass(frozen=True)
class Count:
    """What there is, by name; None where a plain user may not look. What is pooled may grow when more happens to be in
    use at once than ever before, but not in every part of the run."""

    exact: dict
    pooled: dict
    memory_kib: dict


def read_parents():
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    return parents


def read_tree(pid):
    """Processes below `pid`, and itself."""
    parents, found, more = read_parents(), [], [pid]
    while more:
        found += more
        more = [child for child, parent in parents.items() if parent in more]
    return found


def entries(pid, what):
    try:
        path = Path(f"/proc/{pid}/{what}")
        return len(list(path.iterdir())) if path.is_dir() else len(path.read_text().splitlines())
    except PermissionError:
        return None
    except OSError:  # it has just ended: the count is made again
        return -1


def resident_kib(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def total(values):
    values = list(values)
    return None if None in values else sum(values)


def count_groups(gate_pid):
    """Of this gate: its number is part of their names."""
    names = (name for _, folders, _ in os.walk("/sys/fs/cgroup") for name in folders)
    return sum(name.startswith("sandgate") and f"-{gate_pid}-" in name for name in names)


def take_count(gate_pid):
    tree = read_tree(gate_pid)
    below = [pid for pid in tree if pid != gate_pid]
    # A gate's only child is its cell's launcher.
    launcher = next((pid for pid, parent in read_parents().items() if parent == gate_pid), gate_pid)
    return Count(
        {
            "processes": len(tree),
            "descriptors of the launcher": entries(launcher, "fd"),
            "descriptors of all others in the cell": total(entries(pid, "fd") for pid in below if pid != launcher),
            "mounts in the cell": entries(launcher, "mountinfo"),
            "mounts outside": entries(os.getpid(), "mountinfo"),
        },
        {"descriptors of the gate": entries(gate_pid, "fd"), "control groups": count_groups(gate_pid)},
        {"gate": resident_kib(gate_pid), "launcher": resident_kib(launcher)})


def settle(gate_pid, expected=None):
    """The last command's first process may still be on its way out, and the next one's on its way in."""
    end = time.monotonic() + SETTLE_SECONDS
    while True:
        counts = take_count(gate_pid)
        time.sleep(0.2)
        if counts.exact == (expected or take_count(gate_pid).exact) or time.monotonic() > end:
            return counts


class Gate:
    def __init__(self, sandgate, environment, workspace):
        command = [sandgate, "stdio", "--workspace", workspace]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.free = threading.Semaphore(IN_FLIGHT)

    def send(self, calls):
        for number in range(calls):
            self.free.acquire()
            call = {"name": "run_command", "arguments": KINDS[number % len(KINDS)][0]}
            self.process.stdin.write(json.dumps({"id": str(number), "tool_call": call}).encode() + b"\n")
            self.process.stdin.flush()

    def next_answer(self):
        """The next line that is one: what the commands print meanwhile is passed over."""
        while line := self.process.stdout.readline().decode():
            if "event" not in json.loads(line):
                return line
        return files.fail("the gate ended")

    def run(self, calls):
        sender = threading.Thread(target=self.send, args=(calls,), daemon=True)
        sender.start()
        for _ in range(calls):
            line = self.next_answer()
            number = int(json.loads(line)["id"])
            if KINDS[number % len(KINDS)][1] not in line:
                files.fail(f"not as expected ({KINDS[number % len(KINDS)][0]}): {line[:300]}")
            self.free.release()
        sender.join()

    def end(self):
        self.process.stdin.close()
        if self.process.wait(20) != 0:
            files.fail(f"the gate ended with status {self.process.returncode}")


def grows(values, allowed):
    return None not in values and min(after - before for before, after in zip(values, values[1:])) > allowed


@dataclass(frozen=True)
class Soak:
    calls: int
    counts: list  # before the first part, and after each
    groups_left: int  # when the gate has ended

    def leaks(self):
        first, last = self.counts[0], self.counts[-1]
        return [
            *["control groups of a gate that has ended"][: self.groups_left],
            *(name for name, value in first.exact.items() if last.exact[name] != value),
            *(name for name in first.pooled if grows([count.pooled[name] for count in self.counts], 0)),
            *(f"memory of the {name}" for name in first.memory_kib
              if grows([count.memory_kib[name] for count in self.counts], KIB_ALLOWED // PARTS)),
        ]

    def rows(self):
        first, last = self.counts[0], self.counts[-1]
        for name, value in (first.exact | first.pooled).items():
            after = (last.exact | last.pooled)[name]
            yield [name, *("may not be read" if v is None else str(v) for v in (value, after))]
        for name, value in first.memory_kib.items():
            yield [f"memory of the {name}, MB", f"{value / 1024:.1f}", f"{last.memory_kib[name] / 1024:.1f}"]


def run(sandgate, environment, workspace, calls):
    gate = Gate(sandgate, environment, workspace)
    try:
        gate.run(WARM_UP)
        counts = [settle(gate.process.pid)]
        for _ in range(PARTS):
            gate.run(calls // PARTS)
            counts.append(settle(gate.process.pid, counts[0].exact))
        gate.end()
    finally:
        gate.process.kill()
    return Soak(calls // PARTS * PARTS, counts, count_groups(gate.process.pid))
