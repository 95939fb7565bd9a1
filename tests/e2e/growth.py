#!/usr/bin/python3
# timeout: 600
"""Neither memory nor descriptors grow with the number of calls."""
import json
import os
import subprocess
import sys
import tempfile
import threading

SOAK = os.environ.get("SANDGATE_SOAK") == "1"
CALLS = 1_000_000 if SOAK else 60_000
WARM = CALLS // 4
BATCH = 200
KIB_ALLOWED = 1024
PARTS = 4


def tree(pid):
    """The gate and every process below it."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as f:
                    parents[int(name)] = int(f.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    found, again = {pid}, True
    while again:
        more = {p for p, parent in parents.items() if parent in found} - found
        found |= more
        again = bool(more)
    return found


def resident_kib(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/status") as f:
            total += sum(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))
    return total


def descriptors(pid):
    """How many, and how many of them are the two files for notes: the second is opened when the first is full."""
    try:
        names = os.listdir(f"/proc/{pid}/fd")
        notes = sum("/sweep/" in os.readlink(f"/proc/{pid}/fd/{name}") for name in names)
        return len(names) - notes, notes
    except PermissionError:  # the gate cannot be looked into by a plain user
        return 0, 0


def send(gate, calls):
    for start in range(0, calls, BATCH):
        lines = []
        for i in range(start, min(start + BATCH, calls)):
            kind = i % 8
            if kind == 6:
                call = {"name": "write_file", "arguments": {"path": f"w{i % 5}.txt", "content": "x" * 700}}
            elif kind == 7:
                call = {"name": "read_file", "arguments": {"path": "missing"}}
            else:
                call = {"name": "read_file", "arguments": {"path": "f.txt"}}
            lines.append(json.dumps({"id": i, "tool_call": call}))
        gate.stdin.write(("\n".join(lines) + "\n").encode())
    gate.stdin.flush()


def run(gate, calls):
    sender = threading.Thread(target=send, args=(gate, calls))
    sender.start()
    failed = 0
    for _ in range(calls):
        line = gate.stdout.readline()
        if b'"ok":true' not in line:
            failed += 1
    sender.join()
    return failed


def main():
    with tempfile.TemporaryDirectory() as folder:
        workspace, state = os.path.join(folder, "ws"), os.path.join(folder, "state")
        os.mkdir(workspace, 0o755)
        os.chmod(folder, 0o711)
        with open(os.path.join(workspace, "f.txt"), "w") as f:
            f.write("line of text\n" * 80)
        gate = subprocess.Popen(
            [os.environ["SANDGATE"], "stdio", "--workspace", workspace],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": state, "SANDGATE_APPROVAL_DEFAULT": "approve"})
        failed = run(gate, WARM)
        pids = tree(gate.pid)
        memory, open_files = [resident_kib(pids)], descriptors(gate.pid)
        # A thread that is first needed late, or answers that pile up once, take memory for good; what grows with the
        # calls grows in every part.
        for _ in range(PARTS):
            failed += run(gate, CALLS // PARTS)
            memory.append(resident_kib(tree(gate.pid)))
        after, open_after = tree(gate.pid), descriptors(gate.pid)
        growth = min(after - before for before, after in zip(memory, memory[1:]))
        gate.stdin.close()
        status = gate.wait(20)
        print("1..4")
        checks = [
            (failed == (WARM + CALLS) // 8, f"{failed} calls of {WARM + CALLS} failed, those for a missing file"),
            (growth <= KIB_ALLOWED // PARTS,
             f"memory after {WARM} calls {memory[0]} KiB, then with each {CALLS // PARTS} more {memory[1:]} KiB"),
            (after == pids and open_after[0] == open_files[0] and open_after[1] <= 2,
             f"the same {len(pids)} processes, {open_after[0]} descriptors and {open_after[1]} for notes"),
            (status == 0, f"exit status {status}"),
        ]
        for number, (good, text) in enumerate(checks, 1):
            print(f"{'ok' if good else 'not ok'} {number} - {text}")
        sys.exit(not all(good for good, _ in checks))


main()
