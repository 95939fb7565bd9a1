#!/usr/bin/env python3
"""One system call of a gate, a launcher, a worker or a command's first process fails once, with any of six errors.

Whatever fails: every request is answered, or the gate ends with a message; an answer that says ok is true; nothing
crashes, hangs or stays behind; the log has every answered call; and the next gate works.

    faults.py                                   a sample, or with SANDGATE_SOAK=1 everything at several moments
    faults.py SCENE ROLE CALL N ERRNO [root|user]   one of them again, as a failure names it
"""
# timeout: 400

import collections
import concurrent.futures
import contextlib
import errno
import itertools
import json
import os
import random
import shutil
import signal
import sys

import lib
from fault_scenes import SCENES, content_of
from lib import Gate, Gone, check, short, wait_until

SEED = lib.seed()
SAMPLE = int(os.environ.get("SANDGATE_FAULTS") or 120)
ROLE_LEAST = 4  # of each role in a sample: not every one of them comes to pass
MOMENTS = 2  # for each error of each call of each role, in the long form
ERRORS = ["ENOMEM", "EIO", "ENOSPC", "EINTR", "EAGAIN", "EMFILE"]
ROLES = ["gate", "spawn", "helper", "launcher", "worker", "first", "command"]
FURTHER = 50
# These have no error to give, or only the C library makes them and has no answer to one that no kernel gives.
NEVER_FAIL = set(
    "exit exit_group rt_sigreturn getpid gettid getppid getuid geteuid getgid getegid umask brk arch_prctl rseq "
    "set_tid_address set_robust_list sched_yield restart_syscall rt_sigprocmask rt_sigaction getrandom".split()
)
ONLY = {"futex": ["EINTR", "EAGAIN"], "epoll_wait": ["EINTR"], "epoll_pwait": ["EINTR"]}
# Without memory for a small thing a process gives up: on purpose, and with a message where it has somewhere to write. So
# does a gate's loop when what it needs itself fails.
MEMORY = {"mmap", "mremap", "munmap", "mprotect", "madvise"}
LOOP = {"clone", "clone3", "epoll_create1", "epoll_ctl", "eventfd2", "pipe2", "read", "write"}

Fault = collections.namedtuple("Fault", "role call nth error")
numbers = itertools.count()


class FaultyGate(Gate):
    """Not only whether an answer came, but to which call."""

    def __init__(self, *args, **more):
        self.seen = {}
        super().__init__(*args, **more)

    def read(self):
        super().read()
        for answer in self.answers:
            self.seen[answer.get("id")] = answer["result"]
        self.answers.clear()

    def answered(self, call_id):
        return call_id in self.seen

    def pids(self):
        """The gate itself: what started it is another process."""
        return lib.children(self.pid)


class Run:
    """One scene, with one fault or none."""

    def __init__(self, form, name, fault=None):
        self.form, self.fault = form, fault
        self.base = form.folder(f"run-{next(numbers)}")
        self.binary = self.base / "sandgate"
        os.link(form.binary, self.binary)
        self.home = self.folder("home", 0o700)
        self.workspace = self.folder("ws")
        self.log = form.write(self.base / "log", "")
        self.options = []
        self.versions = {}
        self.after = lambda: None
        self.first_read = ("read_file", {"path": "ready"})
        self.truths = {}
        self.sent = []
        self.others = []
        self.gate = None
        self.write("ready", "ready\n")
        self.scene = SCENES[name]

    # for scenes

    def folder(self, name, mode=0o755):
        return self.form.folder(f"{self.base.name}/{name}", mode)

    def outside(self, name, content):
        path = self.base / name
        if not path.parent.exists():
            self.folder(os.path.dirname(name))
        return self.form.write(path, content)

    def write(self, name, content):
        for parent in reversed((self.workspace / name).relative_to(self.base).parents[:-1]):
            if not (self.base / parent).exists():
                self.folder(str(parent))
        return self.form.write(self.workspace / name, content)

    def configure(self, config):
        path = self.outside("config.json", json.dumps(config))
        path.chmod(0o600)
        self.options = ["--config", path]

    def run(self, *argv):
        form = lib.Form(self.form.name, self.form.uid, self.form.base, self.binary)
        return form.run(self.home, *argv)

    def start(self, *options, workspace="own"):
        fault = self.fault
        under = [self.form.binary.parent / "inject", "--log", self.log]
        if fault:
            under += ["--fail", fault.role, fault.call, fault.nth, getattr(errno, fault.error)]
        self.gate = FaultyGate(self.form, *self.options, *options, under=[*under, "--"], state=self.home,
                               workspace=self.workspace if workspace else None, binary=self.binary)

    def send(self, name, args, truth=None):
        call_id, line = self.gate.line(name, args)
        self.sent.append(call_id)
        self.truths[call_id] = truth
        self.gate.pump(line)
        return call_id

    def line(self, message):
        self.gate.pump(json.dumps(message).encode() + b"\n")

    def until(self, condition):
        self.gate.pump(until=condition)

    def wait(self, call_id):
        """The answer, whose truth is looked at while nothing else has changed."""
        self.gate.pump(until=lambda: self.gate.answered(call_id))
        result = self.gate.seen[call_id]
        check(isinstance(result.get("ok"), bool), f"an answer of another shape: {short(result)}")
        if result["ok"] and self.truths[call_id]:
            try:
                self.truths[call_id](result.get("result", result))
            except (AssertionError, OSError, KeyError) as error:
                raise AssertionError(f"answered ok, but {error}") from None
        if not result["ok"]:
            check(len(result["error"]["message"]) > 5, f"no message: {short(result)}")
        return result

    def ask(self, name, args, truth=None):
        return self.wait(self.send(name, args, truth))

    # the whole of it

    def play(self):
        """The counts of calls, or None where the fault did not come to pass."""
        try:
            with contextlib.suppress(Gone):
                self.scene(self)
                self.go_on()
            self.finish()
            self.check_log_of_tracer()
            self.check_next_gate()
            self.check_audit()
        finally:
            for gate in [*self.others, *([self.gate] if self.gate else [])]:
                gate.end()
        shutil.rmtree(self.base, ignore_errors=True)
        return self.counts()

    def go_on(self):
        """Further calls leave no descriptors behind; some are opened for the first time, and some for a moment."""
        name, args = self.first_read
        result = self.ask(name, args)
        before = self.descriptors()
        for _ in range(FURTHER):
            result = self.ask(name, args)
        after = self.descriptors()
        check(after < before + FURTHER / 2, f"{after} descriptors after {FURTHER} calls, {before} before")
        self.works_again = result["ok"]

    def descriptors(self):
        pids = self.gate.pids()
        try:
            return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids if lib.status(pid).get("Name") != "sandgate-cell")
        except OSError:  # not root, and a gate is not dumpable; or it ended
            return 0

    def finish(self):
        self.gate.close_input()
        self.gate.drain()
        status = self.gate.wait_exit()
        missing = [call for call in self.sent if not self.gate.answered(call)]
        if status == 0:
            check(not missing, f"never answered: {missing}; {self.gate.said()}")
        else:
            check(self.gate.said() != "it said nothing", f"it ended with {status} and said nothing")
        for gate in self.others:
            gate.close_input()
            gate.wait_exit()
        wait_until(lambda: not lib.running(self.binary), "every process has ended")
        for name, contents in self.versions.items():
            found = content_of(self.workspace / name)
            check(found in contents, f"{name} is neither as before nor as asked: {short(str(found))}")
        self.after()

    def check_log_of_tracer(self):
        lines = [line.split() for line in self.log.read_text(encoding="ascii").splitlines()]
        self.failed = any(line[0] == "failed" for line in lines)
        for line in lines:
            if line[0] == "died":
                # A child that has the gate's memory until its exec dies with it.
                may_give_up = MEMORY | LOOP if line[1] in ("gate", "spawn") else MEMORY
                given_up = int(line[2]) == signal.SIGABRT and self.fault and self.fault.call in may_give_up
                check(given_up, f"{line[1]} was ended by {signal.Signals(int(line[2])).name}")

    def counts(self):
        lines = [line.split() for line in self.lines] if hasattr(self, "lines") else []
        return {(line[1], line[2]): int(line[3]) for line in lines}

    def check_next_gate(self):
        self.lines = [line for line in self.log.read_text(encoding="ascii").splitlines() if line.startswith("calls")]
        with Gate(self.form, workspace=self.workspace, state=self.home, binary=self.binary) as gate:
            result = gate.ok("read_file", path="ready")
            check(result["content"] == "ready\n", "the next gate does not work")
            wait_until(lambda: not self.left_behind(), f"temporary files stay: {self.left_behind()}")
            gate.close_input()
            check(gate.wait_exit() == 0, f"the next gate ended badly: {gate.said()}")

    def left_behind(self):
        found = [name for _, folders, files in os.walk(self.workspace) for name in folders + files]
        notes = os.listdir(self.home / "sandgate/sweep") if (self.home / "sandgate/sweep").is_dir() else []
        return [name for name in found if name.startswith(".sgt-")] + notes

    def check_audit(self):
        done = self.run("audit", "verify")
        check(done.returncode == 0 or done.stdout or done.stderr, f"audit verify: {done.returncode} and no word")
        records = lib.audit_records(self.home / "sandgate")
        calls = {r["call"]: r.get("id") for r in records if r["kind"] in ("call.intent", "call.refused")}
        ends = {calls.get(r["call"]) for r in records if r["kind"] in ("call.outcome", "call.refused")}
        for call, result in self.gate.seen.items():
            # Without its log a gate does nothing, and says why.
            recorded = call in ends or not result["ok"] and "audit log" in result["error"]["message"]
            check(recorded or self.scene.__name__ == "session_guest", f"call {call} was answered, but is not in the log: "
                  f"{short(result)}")
        check(done.returncode == 0, f"audit verify: {done.stdout.decode()} {done.stderr.decode()}")


# --- which


def count(form, name):
    """How often each role makes each call in a scene."""
    run = Run(form, name)
    counts = run.play()
    check(run.works_again, f"{name} does not work without a fault")
    counts.pop(("gate", "execve"))  # of the program that starts it
    return {key: n for key, n in counts.items() if key[0] in ROLES and key[1] not in NEVER_FAIL}


def choose(counted, pick):
    """All faults of the long form as scene and fault: for each kind of call in each role, each error at some moments."""
    where = collections.defaultdict(list)
    for name, counts in counted.items():
        for key, n in counts.items():
            where[key].append((name, n))
    chosen = []
    for (role, call), scenes in sorted(where.items()):
        for error in ONLY.get(call, ERRORS):
            for _ in range(MOMENTS):
                name, n = pick.choice(scenes)
                chosen.append((name, Fault(role, call, pick.randint(1, n), error)))
    return chosen


def sample(chosen, pick):
    """A few of them, such that every role has some, and every kind of call in it comes before any comes twice."""
    pick.shuffle(chosen)
    seen = collections.Counter()
    roles = collections.Counter()
    ranked = []
    for name, fault in chosen:
        first = roles[fault.role] < ROLE_LEAST
        ranked.append((-1 if first else seen[fault.role, fault.call], name, fault))
        seen[fault.role, fault.call] += 1
        roles[fault.role] += 1
    return [(name, fault) for _, name, fault in sorted(ranked, key=lambda r: r[0])[:SAMPLE]]


# --- all


def attempt(form, name, fault):
    """What is wrong after one fault, and whether it came to pass."""
    run = Run(form, name, fault)
    try:
        run.play()
    except Exception as error:
        text = str(error) if isinstance(error, (AssertionError, Gone)) else repr(error)
        return f"{form.name}: {name} {' '.join(map(str, fault))}: {text}", True
    return None, run.failed


def run_all(tap, forms, chosen):
    wrong, done = collections.defaultdict(list), collections.Counter()
    # Who is not root knows the gate's processes only by their name, and those of another run have the same.
    with concurrent.futures.ThreadPoolExecutor(2 if lib.AM_ROOT else 1) as pool:
        jobs = {pool.submit(attempt, form, name, fault): fault
                for (name, fault), form in zip(chosen, itertools.cycle(forms))}
        for job in concurrent.futures.as_completed(jobs):
            problem, failed = job.result()
            done[jobs[job].role] += failed
            if problem:
                wrong[jobs[job].role].append(problem)
    for role in ROLES:
        with tap.case(f"{done[role]} system calls failed in role {role}"):
            check(done[role], "none was made to fail")
            check(not wrong[role], f"{len(wrong[role])} wrong:\n" + "\n".join(wrong[role]))


def ready(form):
    shutil.copy(lib.BUILD / "tests/faults/inject", form.binary.parent / "inject")
    (form.binary.parent / "inject").chmod(0o755)
    return form


def again(argv):
    name, role, call, nth, error, *who = argv
    form = ready(next(f for f in lib.forms() if not who or f.name == who[0]))
    problem, failed = attempt(form, name, Fault(role, call, int(nth), error))
    print(problem or ("as it should be" if failed else "there was no such call"))
    return 1 if problem else 0


def main():
    if os.uname().machine != "x86_64":
        print("1..0 # SKIP tests/faults/inject.c knows only the calls of x86-64")
        return 0
    if len(sys.argv) > 1:
        return again(sys.argv[1:])
    lib.note(f"seed {SEED}")
    tap, pick = lib.Tap(), random.Random(SEED)
    forms = [ready(form) for form in lib.forms()]
    counted = {}
    for name in SCENES:
        with tap.case(f"{name}, with nothing wrong"):
            counted[name] = count(forms[0], name)
    chosen = choose(counted, pick)
    run_all(tap, forms, chosen if lib.SOAK else sample(chosen, pick))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
