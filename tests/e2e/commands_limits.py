#!/usr/bin/env python3
"""Limits of commands, with control groups (root) and without (a plain user): what goes over one is stopped and named,
the machine stays usable, the next call works, and nothing is left behind.
"""

import contextlib
import os
import re
import subprocess
import time

import lib
import ran
from lib import check, wait_until
from ran import PYTHON, Place, bash, ended

MIB = 1 << 20
GATE_MB = 40  # at its peak, whatever commands print


@contextlib.contextmanager
def gate_with(form, name, policy=None, **limits):
    """A gate with limits; behind it the next call works, and nothing is left of gate and cell."""
    place = Place(form, name, {"commands": limits, "policy": policy or {}})
    with ran.leaves_nothing(form) as gates, place.gate() as gate:
        gates.add(gate)
        gate.place = place
        yield gate
        began = time.monotonic()
        check(ran.output(gate, "echo next") == "next\n", "the next command")
        gate.ok("write_file", path="next", content="next")
        check(time.monotonic() - began < 5, "the next calls work at once")
        wait_until(lambda: len(lib.children(ran.launcher(gate))) <= 2, "only the worker and one that waits")
        gate.close_input()
        check(gate.wait_exit() == 0, "exit status")


def named(result, by):
    check(result.get("ok") is True, f"it failed: {lib.short(result)}")
    value = result["result"]
    check(value["ended_by"] == by, f"ended by {value['ended_by']}, expected {by}: {lib.short(value)}")
    option = {"memory_limit": "memory", "process_limit": "processes", "disk_limit": "diskWrites"}
    option |= {"file_size_limit": "fileSize", "cpu_limit": "cpuSeconds"}
    check(f"commands.{option[by]}" in value["hint"], value)
    return value


# Touches every page; `bytearray` alone would already fail under a limit on addresses.
TOUCH = (
    "import mmap, time; m = mmap.mmap(-1, {mib} << 20);"
    " [m.__setitem__(i, 1) for i in range(0, len(m), 4096)]; time.sleep(30)"
)
HOGS = {
    "shared memory of one process": f"{PYTHON} -c '{TOUCH.format(mib=600)}'",
    "files in /tmp": "head -c 600m /dev/zero > /tmp/x; sleep 30",
    "several processes": f"for i in 1 2 3 4; do {PYTHON} -c '{TOUCH.format(mib=90)}' & done; "
    "wait -n; exit",
}
# Without control groups only homeSize bounds it: nobody knows which command of the session wrote what is there.
HOME_HOG = "head -c 600m /dev/zero > ~/x; sleep 30"


def memory(form):
    """memory: whoever takes more than 256 MiB, in whatever way, is ended by memory_limit"""
    with gate_with(form, "memory", memory="256m") as gate:
        bash(gate, "true")
        grouped = {"a file in the home": HOME_HOG} if ran.control_groups({gate.pid}) else {}
        for name, line in {**HOGS, **grouped}.items():
            began = time.monotonic()
            result = gate.call("run_command", command=line)
            took = time.monotonic() - began
            value = named(result, "memory_limit")
            check(value["peak_memory"] < 600 * MIB, f"{name}: it got {value['peak_memory'] / MIB:.0f} MiB")
            check(took < 10, f"{name}: {took:.2f} s")
            bash(gate, "rm -f ~/x")
        # One process alone: stopped by its group, or told that there is no more.
        value = gate.call("run_command", command=f"exec {PYTHON} -c 'x = bytearray(600 << 20)'")["result"]
        check(value["ended_by"] == "memory_limit" or "MemoryError" in value["stderr"], value)
        value = bash(gate, f"{PYTHON} -c 'x = bytearray(150 << 20); print(len(x))'")
        check(value["stdout"] == f"{150 * MIB}\n" and value["peak_memory"] > 150 * MIB, value)


def tool_limits(**limits):
    return {"resourceLimits": limits}


def tool_memory(form):
    """resourceLimits.maxMemory: holds for one tool, below commands.memory, and is named; the next command has it too"""
    policy = tool_limits(run_command={"maxMemory": "128m"})
    with gate_with(form, "tool-memory", policy, memory="1g") as gate:
        for _ in range(2):
            for name, line in HOGS.items():
                value = gate.call("run_command", command=line)["result"]
                check(value["ended_by"] == "memory_limit", f"{name}: {lib.short(value)}")
                check("policy.resourceLimits.run_command.maxMemory" in value["hint"], value)
                check(value["peak_memory"] < 400 * MIB, f"{name}: it got {value['peak_memory'] / MIB:.0f} MiB")
        value = bash(gate, f"{PYTHON} -c 'x = bytearray(60 << 20); print(len(x))'")
        check(value["stdout"] == f"{60 * MIB}\n", value)
    # The lower one holds and is named.
    with gate_with(form, "tool-more", tool_limits(run_command={"maxMemory": "1g"}), memory="128m") as gate:
        named(gate.call("run_command", command=HOGS["shared memory of one process"]), "memory_limit")
    # So little that hardly anything can run: that is no reason to run without.
    with gate_with(form, "tool-least", tool_limits(run_command={"maxMemory": "1m"})) as gate:
        result = gate.call("run_command", argv=[PYTHON, "-c", "x = bytearray(9 << 20); print('ran')"])
        check(result["ok"] and "ran" not in result["result"]["stdout"], lib.short(result))


def tool_cpu(form):
    """resourceLimits.maxCpu: a share of a core for one tool; where nothing can hold it, the tool is denied"""
    spin = "import time; end = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass"
    with gate_with(form, "tool-cpu-usual") as gate:
        bash(gate, "true")
        grouped = any("cpu" in group or os.path.exists(f"{group}/cpu.max") for group in ran.control_groups({gate.pid}))
    place = Place(form, "tool-cpu", {"policy": tool_limits(run_command={"maxCpu": 0.2})})
    with place.gate() as gate:
        result = gate.call("run_command", argv=[PYTHON, "-c", spin])
        if grouped:
            value = ended(result)
            check(value["cpu_ms"] < 800, f"{value['cpu_ms']} ms of processor time in 1.5 s")
        else:
            error = lib.expect_error(result, "POLICY_DENIED")
            check(error["details"]["reason"] == "rule_cannot_be_kept", error)
            check("policy.resourceLimits.run_command.maxCpu" in error["message"], error)
        gate.ok("stat", path=".")
    budget = [{"toolName": "run_command", "unit": "calls", "limit": 3}]
    asks = {"policy": tool_limits(run_command={"maxCpu": 0.2}) | {"budgets": budget}, "approval": {"default": "prompt"}}
    if not grouped:
        # Nobody is asked, and nothing is charged.
        with Place(form, "tool-cpu-asks", asks).gate() as gate:
            for _ in range(5):
                error = lib.expect_error(gate.call("run_command", command="true"), "POLICY_DENIED")
                check(error["details"]["reason"] == "rule_cannot_be_kept", error)
                check("maxCpu" in error["message"], error)
    cores = os.cpu_count()
    with gate_with(form, "tool-cpu-all", tool_limits(run_command={"maxCpu": cores})) as gate:
        bash(gate, "true")


def tool_duration(form):
    """resourceLimits.maxDuration: shorter than the command's own time limit, and named"""
    with gate_with(form, "tool-time", tool_limits(run_command={"maxDuration": 400})) as gate:
        mark = ran.mark()
        began = time.monotonic()
        value = gate.call("run_command", command=f"sleep {mark}", timeout_ms=20000)["result"]
        took = time.monotonic() - began
        check(value["ended_by"] == "timeout" and 0.4 <= took < 3, f"{took:.2f} s: {lib.short(value)}")
        check("policy.resourceLimits.run_command.maxDuration (400 ms)" in value["hint"], value)
        ran.check_gone(mark)
        value = gate.call("run_command", command=f"sleep {mark}", timeout_ms=100)["result"]
        check(value["ended_by"] == "timeout" and "timeout_ms" in value["hint"], value)


def tool_files(form):
    """resourceLimits of tools that share a process: memory and less than a core cannot be kept and deny"""
    policy = tool_limits(
        read_file={"maxMemory": "64m"}, write_file={"maxCpu": 0.5}, stat={"maxCpu": 1}, search={"maxCpu": 1.5}
    )
    with Place(form, "tool-files", {"policy": policy}).gate() as gate:
        form.write(gate.workspace / "file", "text\n")
        rules = {"read_file": "maxMemory", "write_file": "maxCpu"}
        for tool, field in rules.items():
            more = {"content": "x"} if tool == "write_file" else {}
            error = gate.refused("POLICY_DENIED", tool, path="file", **more)
            check(error["details"]["reason"] == "rule_cannot_be_kept", error)
            check(f"policy.resourceLimits.{tool}.{field}" in error["message"], error)
        gate.ok("stat", path="file")
        check(len(gate.ok("search", pattern="text")["matches"]) == 1, "search")
        check((gate.workspace / "file").read_text() == "text\n", "nothing was written")


def capability_env(form):
    """capabilities.env: of the variables in commands.env only those that are granted reach a command"""
    env = {"LANG": "de_DE.UTF-8", "CI": "1", "GIT_AUTHOR_NAME": "me", "OTHER": "x"}
    line = "echo $LANG-$CI-$GIT_AUTHOR_NAME-$OTHER"
    expected = {None: "de_DE.UTF-8-1-me-", ("CI", "OTHER"): "C.UTF-8-1--", ("GIT_*",): "C.UTF-8--me-", (): "C.UTF-8---"}
    for number, (granted, text) in enumerate(expected.items()):
        capabilities = {} if granted is None else {"env": list(granted)}
        place = Place(form, f"env-{number}", {"policy": {"capabilities": capabilities}})
        with place.gate(env=env) as gate:
            check(ran.output(gate, line) == text + "\n", f"{granted}: {ran.output(gate, line)}")


def fork_bomb(form):
    """processes: a fork bomb leaves the machine usable, and is named or fails"""
    with gate_with(form, "bomb", processes=120) as gate:
        mark = ran.mark()
        bash(gate, "true")
        # The shell itself forks no more: it would try again for 15 s.
        bomb = f"f() {{ f | f & }}; f; until [ $SECONDS -ge 2 ]; do :; done; exit 9 # {mark}"
        call = gate.send("run_command", command=bomb)
        most = 0
        while not any(a.get("id") == call for a in gate.answers):
            most = max(most, len(ran.marked(mark)))
            began = time.monotonic()
            subprocess.run(["/bin/true"], check=True, timeout=5)
            check(gate.call("stat", path=".", seconds=5)["ok"], "file calls work meanwhile")
            check(time.monotonic() - began < 3, "the machine is usable")
        named(gate.wait(call), "process_limit")
        ran.check_gone(mark)
        check(most < 120 + 60, f"it had {most} processes")
        # Many children of one process.
        many = "import os, time\nfor i in range(400):\n  if os.fork() == 0: time.sleep(20); os._exit(0)\ntime.sleep(20)"
        value = gate.call("run_command", argv=[PYTHON, "-c", many])["result"]
        failed = value.get("exit_code") == 1 and "BlockingIOError" in value["stderr"]
        check(failed or value["ended_by"] == "process_limit", value)
        thread = "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()"
        threads = f"import threading, time\nfor i in range(400): {thread}\ntime.sleep(9)"
        value = gate.call("run_command", argv=[PYTHON, "-c", threads])["result"]
        check(value["ended_by"] == "process_limit" or "can't start new thread" in value["stderr"], value)


def file_size(form):
    """fileSize: `yes > file` ends at the limit and is named, in the workspace, /tmp and the home"""
    with gate_with(form, "size", fileSize="3m") as gate:
        for path in ("file", "/tmp/file", "~/file"):
            value = named(gate.call("run_command", command=f"yes > {path}"), "file_size_limit")
            check(value["exit_code"] == 128 + 25, value)
        named(gate.call("run_command", argv=["dd", "if=/dev/zero", "of=other", "bs=1M"]), "file_size_limit")
        for name in ("file", "other"):
            check((gate.place.workspace / name).stat().st_size == 3 * MIB, name)
        value = bash(gate, "yes > file; echo $?")
        check(value["stdout"] == "153\n", value)


def disk_writes(form):
    """diskWrites: one large file and many small ones are named disk_limit"""
    with gate_with(form, "writes", diskWrites="20m") as gate:
        for line in ("yes > file", "for i in {1..2000}; do head -c 1m /dev/zero > f$i; done"):
            began = time.monotonic()
            result = gate.call("run_command", command=line, timeout_ms=14000)
            took = time.monotonic() - began
            named(result, "disk_limit")
            check(took < 5, f"{line}: {took:.2f} s")
        written = sum(p.stat().st_size for p in gate.place.workspace.iterdir())
        check(written < 2000 * MIB, f"{written / MIB:.0f} MiB were written")
        bash(gate, "rm -f *")
        bash(gate, "head -c 10m /dev/zero > small")


def cpu_seconds(form):
    """cpuSeconds: named, and SIGXCPU is heard; who ignores it is killed a second later"""
    with gate_with(form, "cpu", cpuSeconds=1) as gate:
        lines = {
            "loop": "while :; do :; done",
            "heard": "trap 'echo heard; exit 9' XCPU; while :; do :; done",
            "deaf": "trap '' XCPU; while :; do :; done",
        }
        calls = {name: gate.send("run_command", command=line) for name, line in lines.items()}
        value = named(gate.wait(calls["loop"]), "cpu_limit")
        check(value["signal"] == "SIGXCPU" and 500 <= value["cpu_ms"] < 1900, value)
        check(ended(gate.wait(calls["heard"]), "exit", 9)["stdout"] == "heard\n", "the handler")
        value = gate.wait(calls["deaf"])["result"]
        check(value["signal"] == "SIGKILL" and value["cpu_ms"] >= 1000, value)
        value = named(gate.call("run_command", argv=[PYTHON, "-c", "while True: pass"]), "cpu_limit")


def open_files(form):
    """openFiles: the program is told"""
    with gate_with(form, "files", openFiles=32) as gate:
        value = bash(gate, f"ulimit -n; {PYTHON} -c 'f = [open(\"/dev/null\") for i in range(100)]'", code=1)
        check(value["stdout"] == "32\n" and "Too many open files" in value["stderr"], value)
        value = bash(gate, "ulimit -n 64", code=1)
        check("limit" in value["stderr"], value)


def tmp_and_home(form):
    """tmpSize and homeSize: full is full; /tmp is each command's own, the home the session's, both gone with it"""
    with gate_with(form, "tmp", tmpSize="2m", homeSize="3m") as gate:
        for folder, size in (("/tmp", 2), ("~", 3)):
            value = bash(gate, f"head -c 9m /dev/zero > {folder}/x", code=1)
            check("No space left" in value["stderr"], value)
            value = bash(gate, f"head -c 9m /dev/zero > {folder}/x; stat -c %s {folder}/x; rm {folder}/x")
            check(value["stdout"] == f"{size * MIB}\n", value)
        bash(gate, "echo kept > ~/kept; echo lost > /tmp/lost; mkdir ~/.cache; chmod 700 ~/.cache")
        check(ran.output(gate, "cat ~/kept; find /tmp -maxdepth 1 -type f | wc -l; stat -c %a ~") == "kept\n0\n700\n", "the next command")
        with gate.place.gate() as other:
            check(ran.output(other, "ls -A ~ | wc -l") == "0\n", "a session beside it")
        # A new cell is a new home.
        os.kill(ran.launcher(gate), 9)
        wait_until(lambda: gate.call("run_command", command="true")["ok"], "a new cell")
        check(ran.output(gate, "ls -A ~ | wc -l") == "0\n", "a new home")


def output_flood(form):
    """a very long output: the gate stays small, head and tail are kept, read_output pages"""
    with gate_with(form, "flood", outputKept="1m") as gate:
        bash(gate, "true")
        flood = "echo the beginning; seq 1 100000; yes | head -c 32000000; echo the end; "
        flood += "yes no | head -c 12000000 >&2; echo last >&2"
        value = bash(gate, flood, max_output=5000)
        ends = {"stdout": ("the beginning\n1\n2\n", "\ny\nthe end\n"), "stderr": ("no\nno\n", "\nlast\n")}
        for stream, (first, last) in ends.items():
            text = value[stream]
            check(text.startswith(first) and text.endswith(last), f"{stream}: {text[:50]!r} … {text[-50:]!r}")
            check(len(text) < 5200, f"{len(text)} characters")
            (left_out,) = re.findall(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", text)
            check(int(left_out) > 10 * MIB, f"{left_out} bytes left out")
        check(value["truncated"] is True, value)
        peak = lib.peak_mb(gate.pid)
        check(peak < GATE_MB, f"the gate needed {peak} MB")
        pages, offset = [], 0
        while True:
            page = gate.ok("read_output", output_id=value["output_id"], offset=offset, max_bytes=300_000)
            pages.append(page["content"])
            offset = page["next_offset"]
            if not page["truncated"]:
                break
        text = "".join(pages)
        check(len(pages) == 4 and len(text) == MIB, f"{len(pages)} pages, {len(text)} bytes")
        numbers = "".join(f"{i}\n" for i in range(1, 100_001))
        check(text.startswith("the beginning\n" + numbers + "y\ny\n"), "the pages are what was printed")
        check(page["total_bytes"] > 10 * MIB and page["complete"] is False, page["total_bytes"])
        check(ran.output(gate, "head -c 3000000 /dev/zero | tr '\\0' x | wc -c") == "3000000\n", "pipes are not cut")


if __name__ == "__main__":
    ran.main(
        memory,
        tool_memory,
        tool_cpu,
        tool_duration,
        tool_files,
        capability_env,
        fork_bomb,
        file_size,
        disk_writes,
        cpu_seconds,
        open_files,
        tmp_and_home,
        output_flood,
    )
