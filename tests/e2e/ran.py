"""What the tests of commands share: places to run them in, a look for what they left, TAP cases in both forms."""

import contextlib
import itertools
import json
import os
import pathlib
import shutil

import lib
from lib import Gate, check, wait_until

PYTHON = "/usr/bin/python3"
CGROUPS = pathlib.Path("/sys/fs/cgroup")


class Place:
    """A workspace, a home for the gate's state and a configuration of its own for one case."""

    def __init__(self, form, name, config=None, workspace=None):
        self.form = form
        self.home = form.folder(f"{name}-home", 0o700)
        self.workspace = workspace or form.folder(f"{name}-ws")
        self.options = []
        if config:
            self.options = ["--config", form.write(form.base / f"{name}.json", json.dumps(config))]
            self.options[1].chmod(0o600)

    def put(self, path, text="x\n"):
        """A file of the user's, with the folders it needs."""
        full = self.workspace / path
        for folder in reversed([p for p in full.parents if p.is_relative_to(self.workspace)]):
            if not folder.exists():
                folder.mkdir()
                self.form.own(folder)
        return self.form.write(full, text)

    def gate(self, **more):
        return Gate(self.form, *self.options, workspace=self.workspace, state=self.home, **more)

    def run(self, *argv, **more):
        return self.form.run(self.home, "run", *self.options, "--workspace", self.workspace, *argv, **more)

    def popen_arguments(self, *argv):
        """The command line of `sandgate run`, for who starts it in a way of its own."""
        options = [*self.options, "--workspace", self.workspace]
        return [str(word) for word in (self.form.binary, "run", *options, *argv)]


# --- what is left

numbers = itertools.count()


def mark():
    """A time to sleep that no other process of the machine sleeps."""
    return f"600.{os.getpid():07d}{next(numbers):04d}"


def marked(*marks):
    """Living processes with one of the marks in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if int(pid) != os.getpid() and any(m.encode() in line for m in marks) and lib.alive(pid):
                found.append((int(pid), line.replace(b"\0", b" ").decode("utf-8", "replace")))
    return found


def check_gone(*marks):
    left = marked(*marks)
    check(not left, f"still there: {left}")


def wait_gone(seconds, *marks):
    wait_until(lambda: not marked(*marks), f"all of {marks} gone", seconds)


def launcher(gate):
    def find():
        return [p for p in lib.children(gate.pid) if lib.status(p).get("Name") == "sandgate-cell"]

    return wait_until(find, "a launcher")[0]


def worker(gate):
    """The launcher's first child; those behind it are commands' first processes."""
    pid = launcher(gate)
    return wait_until(lambda: lib.children(pid), "a worker")[0]


def first_process_of(pid):
    """The process that is number 1 where pid runs."""
    while True:
        inside = lib.status(pid).get("NSpid", "").split()
        check(inside, f"{pid} is gone")
        if inside[-1] == "1":
            return pid
        pid = int(lib.status(pid)["PPid"])


def control_groups(pids):
    """The folders that gates have made for their commands, in whatever tree; their names hold the gate's number."""
    found = set()
    for at, names, _ in os.walk(CGROUPS):
        found |= {os.path.join(at, n) for n in names if n.startswith("sandgate-") and int(n.split("-")[2]) in pids}
    return found


def mounts():
    return set(pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())


@contextlib.contextmanager
def leaves_nothing(form):
    """Around gates that end in it: no process, control group or mount of theirs is there behind it."""
    before = mounts()
    gates = set()
    yield gates

    def left():
        processes = lib.running(form.binary)
        return [*processes, *control_groups({gate.pid for gate in gates}), *(mounts() - before)]

    wait_until(lambda: not left(), "nothing left behind", 30)


# --- cases


def run_cases(tap, form, cases):
    for case in cases:
        with tap.case(f"{form.name}: {case.__doc__.strip().rstrip('.')}"):
            case(form)


def main(*cases):
    """Each case is a function of a form; its first line of documentation is its name."""
    made = lib.forms()
    tap = lib.Tap()
    try:
        for form in made:
            run_cases(tap, form, cases)
        with tap.case("no process is left"):
            wait_until(lambda: not lib.running(made[0].binary), "all of them gone", 2)
    finally:
        shutil.rmtree(made[0].base.parent, ignore_errors=True)
    tap.done()


def ended(result, by="exit", code=0):
    """The result of a command that ended as expected; code is a number or a signal's name."""
    check(result.get("ok") is True, f"it failed: {lib.short(result)}")
    value = result["result"]
    found = value["ended_by"], value.get("exit_code", value.get("signal"))
    check(found == (by, code), f"ended by {found}, expected {(by, code)}: {lib.short(value)}")
    return value


def bash(gate, line, by="exit", code=0, seconds=lib.SECONDS, **more):
    return ended(gate.call("run_command", seconds=seconds, command=line, **more), by, code)


def output(gate, line, **more):
    return bash(gate, line, **more)["stdout"]
