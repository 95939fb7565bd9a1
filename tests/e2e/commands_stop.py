#!/usr/bin/env python3
"""Commands end, with everything they started: by their time limit, when they are cancelled, when the program itself has
ended, and when the gate, the launcher, the worker or their own first process is killed.
"""

import os
import signal
import time

import lib
import ran
from lib import Gate, check, wait_until
from ran import Place, ended, mark, marked

GRACE = 5  # seconds between SIGTERM and SIGKILL

# Goes from process to process without end; who reads a list of numbers comes too late.
RUNAWAY = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.setsid()
while True:
    if os.fork():
        os._exit(0)
    open("forks-" + sys.argv[1], "w").close()
    time.sleep(0.0005)
"""

# Without end too, but few stay: on a slow machine they would leave the other commands no room among the user's processes.
FORKING = "n=0; while :; do n=$((n+1)); [ $n -lt 200 ] && s=MARK || s=0; (sleep $s) & sleep 0.02; done"


class Kind:
    """A command that would run for ten minutes: how it ends when it is told to."""

    def __init__(self, line, ends, stdout="", slow=False, sleeping=1, stopped=0, forks=False):
        self.mark = mark()
        self.line = line.replace("MARK", self.mark)
        self.ends = ends
        self.stdout = stdout
        self.slow = slow  # only SIGKILL ends it
        # When it has got where it is to be found:
        self.sleeping = sleeping
        self.stopped = stopped
        self.forks = forks

    def is_ready(self, folder):
        found = marked(self.mark)
        states = [lib.status(pid).get("State", "?")[0] for pid, _ in found]
        return (
            sum(line.startswith("sleep") for _, line in found) >= self.sleeping
            and states.count("T") >= self.stopped
            and (not self.forks or (folder / f"forks-{self.mark}").exists())
        )


def kinds():
    return {
        "sleep": Kind("sleep MARK", "SIGTERM"),
        "trap": Kind("trap 'echo got TERM; touch trapped; exit 7' TERM; sleep MARK & wait", 7, "got TERM\n"),
        "daemon": Kind("(trap '' TERM; setsid -f sleep MARK); sleep MARK", "SIGTERM", sleeping=2),
        "stopped": Kind("sleep MARK & kill -STOP $!; kill -STOP $$; sleep MARK", "SIGTERM", stopped=2, sleeping=0),
        "forking": Kind(f"{ran.PYTHON} -c '{RUNAWAY}' MARK & sleep MARK", "SIGTERM", forks=True),
        "forking program": Kind(FORKING, "SIGTERM", sleeping=3),
        "deaf": Kind("trap '' TERM; echo before; sleep MARK", "SIGKILL", "before\n", slow=True),
        "deaf and stopped": Kind(
            "trap '' TERM; sleep MARK & kill -STOP $!; wait", "SIGKILL", slow=True, stopped=1, sleeping=0
        ),
        "deaf children": Kind("trap 'exit 3' TERM; (trap '' TERM; sleep MARK) & wait", 3),
    }


def start_all(gate, some, **more):
    ids = {gate.send("run_command", command=kind.line, **more): name for name, kind in some.items()}
    for name, kind in some.items():
        wait_until(lambda kind=kind: kind.is_ready(gate.workspace), f"{name} runs")
    return ids


def until_answered(gate, ids, stopped, some, look):
    """Takes the answers as they come, and sees that nothing of a command is there once it is answered."""
    while ids:
        answer = gate.any_answer()
        name = ids.pop(answer["id"])
        took = time.monotonic() - stopped
        try:
            ran.check_gone(some[name].mark)
            low, high = (GRACE - 0.1, GRACE + lib.SECONDS) if some[name].slow else (0, GRACE - 0.5)
            check(low <= took <= high, f"it took {took:.2f} s, from {low} to {high} are expected")
            look(some[name], answer["result"])
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def start_within(gate, some, seconds):
    """The calls, with a time limit, and when they were sent; None where that ends before all of them run."""
    sent = time.monotonic()
    ids = {gate.send("run_command", command=kind.line, timeout_ms=seconds * 1000): name for name, kind in some.items()}
    late = lambda: time.monotonic() - sent >= seconds
    wait_until(lambda: late() or all(kind.is_ready(gate.workspace) for kind in some.values()), "the commands run",
               seconds=seconds + lib.SECONDS)
    return None if late() else (ids, sent)


def timeout(form):
    """the time limit: SIGTERM, SIGKILL 5 s later, and nothing survives"""
    place = Place(form, "timeout")

    def look(kind, result):
        value = ended(result, "timeout", kind.ends)
        check(value["stdout"] == kind.stdout and "timeout_ms" in value["hint"], value)

    for seconds in (3, 15, 60):
        some = kinds()
        with ran.leaves_nothing(form) as gates, place.gate() as gate:
            gates.add(gate)
            ran.bash(gate, "true")
            started = start_within(gate, some, seconds)
            if started:
                until_answered(gate, started[0], started[1] + seconds, some, look)
            gate.close_input()
            gate.wait_exit()
        if started:
            return
    raise AssertionError("the machine is too slow for this test")


def cancel(form):
    """a cancelled call: the same, answered CANCELLED"""
    place = Place(form, "cancel")
    some = kinds()

    def look(_kind, result):
        lib.expect_error(result, "CANCELLED")

    with ran.leaves_nothing(form) as gates, place.gate() as gate:
        gates.add(gate)
        ids = start_all(gate, some)
        other = gate.send("run_command", command="sleep 0.3; echo unharmed")
        stopped = time.monotonic()
        gate.send_raw(b"".join(b'{"cancel":"%s"}\n' % i.encode() for i in ids))
        check(gate.wait(other)["result"]["stdout"] == "unharmed\n", "another command goes on")
        until_answered(gate, ids, stopped, some, look)
        wait_until((place.workspace / "trapped").exists, "the handler of SIGTERM ran")
        check(ran.output(gate, "echo next") == "next\n", "the next call works")
        gate.close_input()
        gate.wait_exit()


def cancelled_edit(form):
    """a long edit hears a cancel: the worker goes on, and a command beside it is not harmed"""
    place = Place(form, "edit")
    # With sanitizers it is ten times as long from one look for a cancel to the next.
    place.put("large", "a" * (300_000 if lib.SANITIZED else 30_000_000))
    there = {"old_text": "a" * 100, "new_text": "a" * 99 + "b", "all": True}
    back = {"old_text": "b", "new_text": "a", "all": True}
    with place.gate() as gate:
        worker = ran.worker(gate)
        m = mark()
        other = gate.send("run_command", command=f"until [ -e end ]; do sleep 0.05; done; echo unharmed {m}")
        wait_until(lambda: marked(m), "the command runs")
        ids = [gate.send("edit_file", path="large", edits=[there, back] * 400, dry_run=dry) for dry in (True, False)]
        # Reading and hashing the file takes less, all of the edits far more.
        wait_until(lambda: lib.cpu_ticks(worker) > 50, "it is at the edits")
        gate.send_raw(b"".join(b'{"cancel":"%s"}\n' % i.encode() for i in ids))
        for number in ids:
            lib.expect_error(gate.wait(number), "CANCELLED")
        place.put("end")
        check(ended(gate.wait(other))["stdout"] == f"unharmed {m}\n", "the other command")
        check(ran.worker(gate) == worker, "the worker was ended")


def next_call(form):
    """the call after a time limit works at once, and one limit does not touch another command"""
    place = Place(form, "next")
    with place.gate() as gate:
        long = gate.send("run_command", command="for i in 1 2 3 4 5 6; do sleep 0.1; echo $i; done")
        for _ in range(3):
            ran.bash(gate, f"sleep {mark()}", "timeout", "SIGTERM", timeout_ms=100)
            began = time.monotonic()
            check(ran.output(gate, "echo next") == "next\n", "next")
            check(time.monotonic() - began < 2, "at once")
        check(ended(gate.wait(long))["stdout"] == "1\n2\n3\n4\n5\n6\n", "the long one")
        ran.bash(gate, f"sleep {mark()}", "timeout", "SIGTERM", timeout_ms=1)


LEFT_BEHIND = {
    "a child": "sleep MARK & exit 3",
    "a session of its own": "setsid sleep MARK & exit 3",
    "a double fork": "(setsid -f sleep MARK); exit 3",
    "deaf": "(trap '' TERM HUP INT; setsid -f sleep MARK); exit 3",
    "stopped": "sleep MARK & kill -STOP $!; exit 3",
    "without output": "nohup setsid -f sleep MARK >/dev/null 2>&1 </dev/null; exit 3",
    "many": "for i in {1..50}; do setsid -f sleep MARK; done; exit 3",
    "a runaway": f"{ran.PYTHON} -c '{RUNAWAY}' MARK & sleep 0.1; exit 3",
    "killed itself": "sleep MARK & kill -KILL $$",
}


def leaves_behind(form):
    """a command that ends at once and left processes: answered at once, and they are gone"""
    place = Place(form, "left")
    with ran.leaves_nothing(form) as gates, place.gate() as gate:
        gates.add(gate)
        for name, line in LEFT_BEHIND.items():
            m = mark()
            began = time.monotonic()
            result = gate.call("run_command", command=line.replace("MARK", m))
            took = time.monotonic() - began
            left = marked(m)
            check(not left, f"{name}: still there: {left}")
            by, code = ("signal", "SIGKILL") if name == "killed itself" else ("exit", 3)
            ended(result, by, code)
            check(took < 3, f"{name}: {took:.2f} s")
        gate.close_input()
        gate.wait_exit()


def gate_killed(form):
    """the gate is killed: everything is gone within a second"""
    place = Place(form, "gate-killed")
    some = kinds()
    with place.gate() as gate:
        start_all(gate, some)
        marks = [kind.mark for kind in some.values()]
        groups = ran.control_groups({gate.pid})
        gate.kill()
        ran.wait_gone(1, *marks)
        gate.wait_exit()
        wait_until(lambda: not lib.running(form.binary), "no process of the cell", 1)
    with place.gate() as after:
        check(ran.output(after, "echo next") == "next\n", "the next gate works")
        left = ran.control_groups({gate.pid})
        check(not left, f"{len(left)} of {len(groups)} control groups of the dead gate are still there: {left}")


def cell_part_killed(form, name, victim):
    place = Place(form, name)
    some = kinds()
    with ran.leaves_nothing(form) as gates, place.gate() as gate:
        gates.add(gate)
        ids = start_all(gate, some)
        killed = time.monotonic()
        os.kill(victim(gate), signal.SIGKILL)
        for call_id in ids:
            error = lib.expect_error(gate.wait(call_id), "INTERRUPTED")
            check(error["retryable"] is True, error)
        check(time.monotonic() - killed < 2, "answered at once")
        ran.wait_gone(1, *(kind.mark for kind in some.values()))
        check(ran.output(gate, "echo next") == "next\n", "the next call works")
        gate.close_input()
        gate.wait_exit()


def launcher_killed(form):
    """the launcher is killed: the calls are told, everything is gone, the next call works"""
    cell_part_killed(form, "launcher-killed", ran.launcher)


def worker_killed(form):
    """the worker is killed: the calls are told, everything is gone, the next call works"""
    cell_part_killed(form, "worker-killed", ran.worker)


def first_process_killed(form):
    """a command's first process is killed from outside: that call is told, nothing else is touched"""
    place = Place(form, "first-killed")
    m, other = mark(), mark()
    with place.gate() as gate:
        call = gate.send("run_command", command=f"sleep {m} & sleep {m}")
        beside = gate.send("run_command", command=f"while [ ! -e go ]; do sleep 0.02; done; echo here {other}")
        wait_until(lambda: marked(other), "the other one runs")
        pid = wait_until(lambda: marked(m), "it runs")[0][0]
        before = ran.worker(gate)
        os.kill(ran.first_process_of(pid), signal.SIGKILL)
        error = lib.expect_error(gate.wait(call), "INTERRUPTED")
        check("outside" in error["message"], error)
        ran.wait_gone(1, m)
        (place.workspace / "go").touch()
        check(ended(gate.wait(beside))["stdout"] == f"here {other}\n", "the other one")
        check(ran.output(gate, "echo next") == "next\n", "the next call works")
        check(ran.worker(gate) == before, "the cell is the same one")


def spare_killed(form):
    """a first process that waits for its command is killed, and the order comes before its launcher has heard: another one runs it"""
    place = Place(form, "spare-killed")
    with place.gate() as gate:
        check(ran.output(gate, "echo first") == "first\n", "a command")
        launcher, worker = gate.cell()
        for number in range(10):
            spare = wait_until(lambda: [p for p in lib.children(launcher) if p != worker], "a first process that waits")
            os.kill(launcher, signal.SIGSTOP)
            wait_until(lambda: lib.stat_fields(launcher)[0] == "T", "the launcher is stopped")
            for pid in spare:
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda spare=spare: not any(lib.alive(pid) for pid in spare), "it is dead, and not buried")
            call = gate.send("run_command", command=f"echo {number}")
            wait_until(lambda number=number: ordered(gate, number + 2), "the order is on its way")
            os.kill(launcher, signal.SIGCONT)
            check(ended(gate.wait(call))["stdout"] == f"{number}\n", "the command ran")
        check(gate.cell() == [launcher, worker], "the cell is the same one")


def ordered(gate, commands):
    """The intents of so many are written, and the gate waits again."""
    intents = sum(r["kind"] == "call.intent" for r in lib.audit_records(gate.state))
    return intents == commands and lib.stat_fields(gate.pid)[0] == "S"


def used(form):
    """what a command used that had to be killed is in its answer and in its record; what nobody can know is in neither"""
    place = Place(form, "used")
    m = mark()
    # It uses 200 ms of a processor, then waits.
    line = "trap '' TERM; while read -r stat < /proc/$$/stat; set -- $stat; [ ${14} -lt 20 ]; do :; done; touch up; "
    line += f"while :; do sleep {m}; done"
    with place.gate() as gate:
        value = ended(gate.call("run_command", command=line, timeout_ms=5000), "timeout", "SIGKILL")
        check(200 <= value["cpu_ms"] < 5000 and value["peak_memory"] > 1 << 19, value)
        (place.workspace / "up").unlink()
        call = gate.send("run_command", command=line)
        pid = wait_until(lambda: marked(m), "it runs")[0][0]
        wait_until((place.workspace / "up").exists, "it has used some time")
        os.kill(ran.first_process_of(pid), signal.SIGKILL)
        lib.expect_error(gate.wait(call), "INTERRUPTED")
        gate.close_input()
        gate.wait_exit()
    ends = [record["end"] for record in lib.audit_records(place.home / "sandgate") if record["kind"] == "call.outcome"]
    check(len(ends) == 2 and ends[0]["cpuMs"] >= 200 and ends[0]["peakMemory"] > 1 << 19, ends)
    check(ends[1].get("cpuMs", 200) >= 200 and ends[1].get("peakMemory", 1 << 20) > 1 << 19, ends)


def session_ends(form):
    """SIGTERM to the gate: commands are cancelled and answered, then it ends"""
    place = Place(form, "ends")
    some = {name: kind for name, kind in kinds().items() if not kind.slow}
    with ran.leaves_nothing(form) as gates, place.gate() as gate:
        gates.add(gate)
        ids = start_all(gate, some)
        gate.kill(signal.SIGTERM)
        answers = {a["id"]: a["result"] for a in gate.drain()}
        check(set(answers) == set(ids), f"answered {sorted(answers)} of {sorted(ids)}")
        for result in answers.values():
            lib.expect_error(result, "CANCELLED")
        check(gate.wait_exit() == 0, "exit status")
        ran.check_gone(*(kind.mark for kind in some.values()))
        check((place.workspace / "trapped").exists(), "SIGTERM came first")


def input_closed(form):
    """the client closes its end: the command goes on, is answered, and the gate ends"""
    place = Place(form, "closed")
    m = mark()
    with ran.leaves_nothing(form) as gates, place.gate() as gate:
        gates.add(gate)
        gate.send("run_command", call_id="a", command=f"while [ ! -e go ]; do sleep 0.02; done; echo end {m}")
        wait_until(lambda: marked(m), "it runs")
        gate.close_input()
        (place.workspace / "go").touch()
        (answer,) = gate.drain()
        check(ended(answer["result"])["stdout"] == f"end {m}\n", answer)
        check(gate.wait_exit() == 0, "exit status")
        ran.check_gone(m)


def client_dies(form):
    """the client dies: nobody waits for the command any more, so it is stopped"""
    place = Place(form, "dies")
    m = mark()
    with ran.leaves_nothing(form) as gates, place.gate() as gate:
        gates.add(gate)
        gate.send("run_command", command=f"trap 'touch trapped; exit' TERM; sleep {m} & wait")
        # The shell's own line has the mark too, before it has set its trap.
        wait_until(lambda: [line for _, line in marked(m) if line.startswith("sleep")], "it runs")
        gate.process.stdout.close()
        gate.close_input()
        check(gate.wait_exit() == 0, "exit status")
        ran.check_gone(m)
        check((place.workspace / "trapped").exists(), "SIGTERM came first")


def caller_of_session_dies(form):
    """a call that was passed on to the session's owner is stopped when its caller is killed"""
    place = Place(form, "passed")
    m = mark()
    session = form.run(place.home, "session", "create", "--workspace", place.workspace).stdout.decode().strip()
    with Gate(form, "--session", session, state=place.home) as owner:
        ran.bash(owner, "true")
        with Gate(form, "--session", session, state=place.home) as caller:
            caller.send("run_command", command=f"trap 'touch trapped; exit' TERM; sleep {m} & wait")
            wait_until(lambda: [line for _, line in marked(m) if line.startswith("sleep")], "it runs")
            caller.kill()
            ran.wait_gone(4, m)
        check((place.workspace / "trapped").exists(), "SIGTERM came first")
        check(ran.output(owner, "echo next") == "next\n", "the owner works")


def cancel_at_start(form):
    """a call that is cancelled while the cell starts never runs"""
    place = Place(form, "start")
    for _ in range(5):
        with place.gate() as gate:
            _, data = gate.line("run_command", {"command": "touch ran"}, "a")
            gate.send_raw(data + b'{"cancel":"a"}\n')
            lib.expect_error(gate.wait("a"), "CANCELLED")
            check(not (place.workspace / "ran").exists(), "it ran")
            check(ran.output(gate, "echo next") == "next\n", "the next call works")


def cancel_at_any_moment(form):
    """calls that are cancelled at any moment of their start are answered once, and leave nothing"""
    place = Place(form, "moments")
    m = mark()
    with ran.leaves_nothing(form) as gates, place.gate() as gate:
        gates.add(gate)
        ran.bash(gate, "true")
        for i in range(60):
            call = gate.send("run_command", command=f"sleep {m}")
            end = time.monotonic() + i * 0.0003
            while time.monotonic() < end:
                pass
            # One that nobody knows, and the same one twice: neither does anything.
            gate.send_raw(b'{"cancel":"none"}\n' + b'{"cancel":"%s"}\n' % call.encode() * 2)
            lib.expect_error(gate.wait(call), "CANCELLED")
            ran.check_gone(m)
        gate.close_input()
        check(gate.drain() == [], "no second answers")
        gate.wait_exit()


if __name__ == "__main__":
    ran.main(
        timeout,
        cancel,
        cancelled_edit,
        next_call,
        leaves_behind,
        gate_killed,
        launcher_killed,
        worker_killed,
        first_process_killed,
        spare_killed,
        used,
        session_ends,
        input_closed,
        client_dies,
        caller_of_session_dies,
        cancel_at_start,
        cancel_at_any_moment,
    )
