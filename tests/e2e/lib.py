"""What the end-to-end tests share: TAP, folders, gates that speak JSON lines, and a look at processes.

A test runs as the machine's root or as a plain user. As root it runs each case in both forms, `root` and `user`;
as a plain user only in the second, which is then itself.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from beside import Beside

SOAK = os.environ.get("SANDGATE_SOAK") == "1"
ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SANDGATE_BUILD", ROOT / "build"))
BINARY = pathlib.Path(os.environ.get("SANDGATE", BUILD / "sandgate"))
# With a worker that misbehaves on request.
BROKEN = BUILD / "tests/broken/sandgate-broken"
AM_ROOT = os.geteuid() == 0
# Nobody's. Tests that run at the same time have one each: the kernel counts processes and watches by user.
PLAIN_UID = 54321 + int(os.environ.get("SANDGATE_TEST_SLOT", "0"))
# Which sanitizer the program was built with; empty for an ordinary one.
SANITIZED = os.environ.get("SANDGATE_SANITIZED", "")
# Generous: what they stand for is "at once", on a machine with thirty others at work.
SECONDS = 60
PEAK_MB = 200


def give_signals_back():
    """A shell starts what is in the background with SIGINT ignored, and a gate would inherit that. What has a handler here
    is as usual in every program that is started."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


give_signals_back()
# What tests make has the usual modes, whatever whoever started them is used to.
os.umask(0o022)


# --- TAP


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    @contextlib.contextmanager
    def case(self, name):
        """One case: passes unless the block raises."""
        self.count += 1
        try:
            yield
        except Exception as error:
            self.failed += 1
            print(f"not ok {self.count} - {name}")
            text = str(error) if isinstance(error, AssertionError) and str(error) else traceback.format_exc()
            note(text)
        else:
            print(f"ok {self.count} - {name}")
        sys.stdout.flush()

    def done(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


def run_cases(cases, place=lambda form: form, beside=()):
    """Pairs of a name and a function, each called in every form with the one place that the form has. Those whose names
    are in `beside` mostly wait: all of them are under way, in processes of their own, while the others run."""
    tap = Tap()
    places = [(form, place(form)) for form in forms()]
    started = {(form, name): Beside(case, at) for form, at in places for name, case in cases if name in beside}
    for form, at in places:
        for name, case in cases:
            with tap.case(f"{form.name}: {name}"):
                one = started.get((form, name))
                one.result() if one else case(at)
    tap.done()


def note(text):
    print("".join(f"# {line}\n" for line in str(text)[:20000].splitlines()), end="", flush=True)


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def wait_until(what, text, seconds=SECONDS):
    """Waits for what() to be true and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value:
            return value
        check(time.monotonic() < end, f"not within {seconds} s: {text}")
        time.sleep(0.002)


# --- folders and identities


@contextlib.contextmanager
def acting(uid):
    """As this user where it is about files: what root makes is root's for a moment, and closed to its owner."""
    changes = AM_ROOT and uid != 0
    if changes:
        os.setegid(uid)
        os.seteuid(uid)
    try:
        yield
    finally:
        if changes:
            os.seteuid(0)
            os.setegid(0)


class Form:
    """Who a gate runs as, with a folder `base` of its own to which it has every right."""

    def __init__(self, name, uid, base, binary):
        self.name = name
        self.uid = uid
        self.base = base
        self.binary = binary

    @property
    def is_root(self):
        return self.uid == 0

    def run(self, home, *argv, stdin=b"", env=None):
        """The program, to its end."""
        return subprocess.run(
            [str(self.binary), *map(str, argv)],
            input=stdin,
            capture_output=True,
            timeout=SECONDS,
            cwd="/",
            env=environment(home, env),
            check=False,
            **self.identity(),
        )

    def identity(self):
        """For subprocess: who to be."""
        return {"user": self.uid, "group": self.uid, "extra_groups": []} if AM_ROOT and not self.is_root else {}

    def acting(self):
        return acting(self.uid)

    def folder(self, name, mode=0o755):
        path = self.base / name
        path.mkdir(mode=mode, parents=True)
        path.chmod(mode)
        self.own(path)
        return path

    def own(self, path):
        """Gives a path to the one the gate runs as."""
        if AM_ROOT and not self.is_root:
            os.chown(path, self.uid, self.uid, follow_symlinks=False)

    def write(self, path, content):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.own(path)
        return path

    def link(self, path, target):
        os.symlink(target, path)
        self.own(path)
        return path


def scratch(prefix="e2e-"):
    path = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
    path.chmod(0o755)
    return path


def forms(binary=BINARY):
    """The forms to test. The program is copied to where every user can start it."""
    base = scratch()
    program = base / "sandgate"
    shutil.copy(binary, program)
    program.chmod(0o755)
    roles = base / "src/roles"
    roles.mkdir(parents=True)
    for role in (BUILD / "src/roles").glob("*"):
        if role.is_file() and os.access(role, os.X_OK):
            shutil.copy(role, roles)
    uids = [("root", 0), ("user", PLAIN_UID)] if AM_ROOT else [("user", os.geteuid())]
    made = []
    for name, uid in uids:
        folder = base / name
        folder.mkdir()
        form = Form(name, uid, folder, program)
        form.own(folder)
        made.append(form)
    return made


# --- the kernel's side

libc = ctypes.CDLL(None, use_errno=True)
RENAME_EXCHANGE = 2
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE, MS_SHARED = 1, 32, 4096, 16384, 1 << 18, 1 << 20
AT_FDCWD = -100


def kernel(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def exchange(a, b):
    paths = os.fsencode(a), os.fsencode(b)
    kernel(libc.renameat2(AT_FDCWD, paths[0], AT_FDCWD, paths[1], RENAME_EXCHANGE), "renameat2")


def own_mounts():
    """From here on this process may mount, and nobody else sees it. Before any thread is started."""
    uid, gid = os.geteuid(), os.getegid()
    kernel(libc.unshare(CLONE_NEWNS if AM_ROOT else CLONE_NEWNS | CLONE_NEWUSER), "unshare")
    if not AM_ROOT:
        pathlib.Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        pathlib.Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        pathlib.Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    kernel(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "making the mounts private")


@contextlib.contextmanager
def tmpfs(form, path, size):
    """A small file system at path, owned by someone who is not root: the cell then works as that one."""
    uid = form.uid or PLAIN_UID
    options = f"size={size},mode=755,uid={uid},gid={uid if AM_ROOT else os.getegid()}"
    kernel(libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, options.encode()), "mounting a tmpfs")
    try:
        yield uid
    finally:
        libc.umount2(os.fsencode(path), 2)


def make_read_only(path):
    kernel(libc.mount(None, os.fsencode(path), None, MS_REMOUNT | MS_RDONLY, None), "remounting read-only")


# --- libraries to talk through


def install_sdk(name):
    """The folders of tests/sdk/NAME's libraries, `npm` and `python`; None and the reason where that cannot be."""
    if not shutil.which("node"):
        return None, "no node"
    done = subprocess.run(
        [ROOT / "tests/sdk/install.sh", name],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    if done.returncode != 0:
        return None, f"tests/sdk/{name} could not be installed: " + " ".join(done.stderr.split())[-300:]
    return {key: pathlib.Path(path) for key, path in (line.split(" ", 1) for line in done.stdout.splitlines())}, ""


# --- processes


def status(pid):
    """Fields of /proc/PID/status; empty when it is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def alive(pid):
    return status(pid).get("State", "Z")[0] not in "ZX"


def children(pid):
    try:
        found = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except (FileNotFoundError, ProcessLookupError):  # gone, or a kernel without such a list
        found = [p for p in os.listdir("/proc") if p.isdigit() and status(p).get("PPid") == str(pid)]
    return [int(p) for p in found if alive(p)]


def stat_fields(pid):
    """Fields of /proc/PID/stat behind the name; the first is the state."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()


def seed():
    """`make test` does the same each time; the long form looks for what is new. SANDGATE_SEED repeats a run."""
    return int(os.environ.get("SANDGATE_SEED") or (random.randrange(1 << 32) if SOAK else 1))


def grow_older():
    """What was made before this is older than what is made after it, by the coarse clock of file systems, too."""
    time.sleep(2 * time.clock_getres(5))  # CLOCK_REALTIME_COARSE


def cpu_ticks(pid):
    fields = stat_fields(pid)
    return int(fields[11]) + int(fields[12])


def is_program(pid, binary):
    try:
        return os.readlink(f"/proc/{pid}/exe") == str(binary)
    except PermissionError:  # undumpable, and we are not root: then by its name
        name = status(pid).get("Name")
        return int(stat_fields(pid)[3]) == os.getsid(0) and name in ("sandgate", "sandgate-cell", "exe")


def running(binary):
    """Every living process of a program, whoever its parent is by now."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if is_program(pid, binary) and alive(pid):
                found.append(int(pid))
    return found


def peak_mb(pid):
    return int(status(pid).get("VmHWM", "0 kB").split()[0]) / 1024


# --- gates


class Gone(Exception):
    """The gate closed its standard output."""


class Gate:
    """A running `sandgate stdio`. One thread; answers are kept until someone waits for them."""

    command = "stdio"

    def __init__(self, form, *options, workspace=None, state=None, env=None, binary=None, under=(), lane=None,
                 layered=False):  # fmt: skip
        """`under`: a program with its arguments that starts the gate; `lane`: what the machine lacks (lanes.py);
        `layered`: one of MCP works in a session of its own."""
        self.form = form
        self.workspace = workspace
        self.home = state or form.base / "home"
        if not self.home.exists():
            self.home.mkdir()
            form.own(self.home)
        self.state = self.home / "sandgate"
        self.errors = tempfile.TemporaryFile()
        argv = [*map(str, under), str(binary or form.binary), self.command, *map(str, options)]
        # Most tests of the protocol look at the folder itself.
        if self.command == "mcp" and not layered and "--session" not in options:
            argv.append("--host")
        if workspace:
            argv += ["--workspace", str(workspace)]
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            bufsize=0,
            cwd="/",
            umask=0o022,
            preexec_fn=lane,
            env=environment(self.home, env),
            **form.identity(),
        )
        self.pid = self.process.pid
        self.out = self.process.stdout.fileno()
        self.into = self.process.stdin.fileno()
        os.set_blocking(self.out, False)
        os.set_blocking(self.into, False)
        self.pieces = []
        self.answers = []  # not yet asked for
        self.events = []  # all of them
        self.closed = False
        self.next_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    # sending and receiving

    def pump(self, data=b"", seconds=SECONDS, reading=True, until=None):
        """Writes data, taking answers meanwhile; then goes on until the condition holds."""
        left = memoryview(data)
        end = time.monotonic() + seconds
        while left or (until and not until()):
            rest = end - time.monotonic()
            check(rest > 0, f"no answer within {seconds} s; {self.said()}")
            if self.closed and (not left or reading):
                raise Gone(f"the gate is gone; {self.said()}")
            readable, writable, _ = select.select([self.out] if reading else [], [self.into] if left else [], [], rest)
            if readable:
                self.read()
            if writable:
                left = left[self.write(left) :]

    def write(self, data):
        try:
            return os.write(self.into, data[: 1 << 20])
        except BlockingIOError:
            return 0
        except BrokenPipeError as error:
            raise Gone(f"the gate no longer reads; {self.said()}") from error

    def read(self):
        try:
            data = os.read(self.out, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            self.closed = True
            return
        self.pieces.append(data)
        if b"\n" in data:
            *lines, rest = b"".join(self.pieces).split(b"\n")
            self.pieces = [rest]
            for message in map(json.loads, lines):
                (self.events if "event" in message else self.answers).append(message)

    def line(self, name, args, call_id=None):
        if call_id is None:
            self.next_id += 1
            call_id = str(self.next_id)
        call = {"id": call_id, "tool_call": {"name": name, "arguments": args}}
        return call_id, json.dumps(call).encode() + b"\n"

    def send(self, name, call_id=None, **args):
        call_id, data = self.line(name, args, call_id)
        self.pump(data)
        return call_id

    def send_raw(self, data, seconds=SECONDS):
        self.pump(data, seconds)

    def take(self, call_id):
        for at, answer in enumerate(self.answers):
            if answer.get("id") == call_id:
                return self.answers.pop(at)
        return None

    def wait(self, call_id, seconds=SECONDS):
        """The result of one call."""
        self.pump(seconds=seconds, until=lambda: any(a.get("id") in (call_id, None) for a in self.answers))
        answer = self.take(call_id) or self.take(None)
        check(answer["id"] == call_id, f"an answer to no call: {short(answer)}")
        return answer["result"]

    def call(self, name, seconds=SECONDS, **args):
        return self.wait(self.send(name, **args), seconds)

    def any_answer(self, seconds=SECONDS):
        """The next answer of all, as the whole line."""
        self.pump(seconds=seconds, until=lambda: self.answers)
        return self.answers.pop(0)

    # shorthand for what tests ask most

    def ok(self, name, **args):
        result = self.call(name, **args)
        check(result.get("ok") is True, f"{name} {short(args)} failed: {short(result)}")
        return result.get("result", result)

    def refused(self, codes, name, seconds=SECONDS, **args):
        """The error of a call that must fail with one of the codes, separated by blanks."""
        return expect_error(self.call(name, seconds=seconds, **args), codes)

    # its processes

    def cell(self):
        """Launcher and worker, once there is one cell with both. A command is one namespace of processes further in."""

        def depth(pid):
            return len(status(pid).get("NSpid", "").split())

        def find():
            launchers = [p for p in children(self.pid) if status(p).get("Name") == "sandgate-cell"]
            workers = [p for launcher in launchers for p in children(launcher) if depth(p) == depth(launcher)]
            return len(launchers) == len(workers) == 1 and launchers + workers

        return wait_until(find, "a launcher and its worker")

    def launcher(self):
        return self.cell()[0]

    def worker(self):
        return self.cell()[1]

    def peak_mb(self):
        return {name: peak_mb(pid) for name, pid in zip(("gate", "launcher", "worker"), [self.pid, *self.cell()])}

    def check_memory(self, limit=PEAK_MB):
        if SANITIZED:  # which needs memory of its own
            return
        peaks = self.peak_mb()
        check(sum(peaks.values()) < limit, f"memory at its peak: {peaks} MB, allowed are {limit}")

    def said(self):
        self.errors.seek(0)
        text = self.errors.read().decode("utf-8", "replace")[-2000:]
        return f"it said: {text}" if text else "it said nothing"

    # ending

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    def drain(self, seconds=SECONDS):
        """All answers up to the end of its output."""
        end = time.monotonic() + seconds
        while not self.closed:
            rest = end - time.monotonic()
            check(rest > 0, f"its output did not end within {seconds} s")
            if select.select([self.out], [], [], rest)[0]:
                self.read()
        answers, self.answers = self.answers, []
        return answers

    def close_input(self):
        if self.process.stdin:
            self.process.stdin.close()
            self.process.stdin = None

    def wait_exit(self, seconds=SECONDS):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the gate did not end within {seconds} s; {self.said()}") from None

    def end(self):
        self.close_input()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def environment(home, more=None):
    """A clean one; a value of None takes a variable out."""
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "SANITIZER_REPORT")}
    # The tools of whoever runs the tests are not what is tested.
    kept["PATH"] = ":".join(f for f in kept.get("PATH", "").split(":") if not f.startswith((f"{pathlib.Path.home()}/", "/root/")))
    # Where nobody sits at the machine, nobody can be asked; tests about asking say so themselves.
    own = {"HOME": str(home), "XDG_STATE_HOME": str(home), "XDG_CONFIG_HOME": str(home / "none"),
           "SANDGATE_APPROVAL_DEFAULT": "approve"}
    return {key: value for key, value in {**kept, **own, **(more or {})}.items() if value is not None}


def without_rest(value):
    """Long texts and lists cut: checks make their messages even when they hold, and an answer may have megabytes."""
    if isinstance(value, str):
        return value[:400]
    if isinstance(value, list):
        return [without_rest(one) for one in value[:400]]
    return {key: without_rest(one) for key, one in value.items()} if isinstance(value, dict) else value


def short(value):
    text = value if isinstance(value, str) else json.dumps(without_rest(value), default=str)
    return text if len(text) < 400 else text[:400] + f"… ({len(text)} characters)"


def expect_error(result, codes):
    check(result.get("ok") is False, f"expected {codes}, but it succeeded: {short(result)}")
    error = result["error"]
    check(error["code"] in codes.split(), f"expected {codes}, got {short(error)}")
    check(len(error["message"]) > 10, f"no message to act on: {error}")
    return error


# --- the audit log


def audit_records(state):
    """All records of all files; every line must be whole."""
    records = []
    for path in sorted((state / "audit").glob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            try:
                records.append(json.loads(line))
            except ValueError:
                raise AssertionError(f"{path.name}:{number} is not JSON: {line[:200]!r}") from None
    return records
