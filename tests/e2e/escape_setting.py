"""What the attempts of `escape.py` are made in: a gate, folders, services of the machine, and how all of that must stay."""

import contextlib
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import time

import lib
from lib import Gate, check, wait_until

PROGRAM = lib.BUILD / "tests/escape/attempts"
STOPPED, THROUGH = 0, 1
OWNER = 1000
SPARE = 65527  # the default of cell.uid
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "canary-5f1c0a",
    "ANTHROPIC_API_KEY": "canary-91be77",
    "GITHUB_TOKEN": "canary-c03d42",
    "DATABASE_URL": "postgres://canary-7a90ff@db/x",
}
MIB = 1 << 20
PLACES = ("", "/usr", "/bin", "/etc", "/opt", "/home", "/dev", "/run")


class Attempt:
    def __init__(self, line):
        self.name, violation, self.kind = line.split()
        self.violation = None if violation == "-" else violation


def attempts():
    listed = subprocess.run([PROGRAM, "list"], capture_output=True, text=True, check=True)
    return [Attempt(line) for line in listed.stdout.splitlines()]


# --- the machine, as it must stay


class Listeners:
    """Services of the machine. Nobody may come."""

    def __init__(self, folder):
        self.name = f"sandgate-escape-{os.getpid()}-{folder.name}"
        self.path = folder / "service.sock"
        self.all = [self.listen(socket.AF_UNIX, str(self.path)), self.listen(socket.AF_UNIX, "\0" + self.name)]
        self.path.chmod(0o777)
        tcp = self.listen(socket.AF_INET, ("0.0.0.0", 0))
        self.port = tcp.getsockname()[1]
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("0.0.0.0", self.port))
        udp.setblocking(False)
        self.datagrams = [udp]
        self.all.append(tcp)
        self.addresses = ["127.0.0.1", *self.own_addresses()]
        with contextlib.suppress(OSError):  # a machine without it
            self.all.append(self.listen(socket.AF_INET6, ("::1", self.port)))
            self.addresses.append("::1")

    @staticmethod
    def listen(family, address):
        made = socket.socket(family)
        made.bind(address)
        made.listen(16)
        made.setblocking(False)
        return made

    @staticmethod
    def own_addresses():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))  # sends nothing
            except OSError:
                return []
            return [probe.getsockname()[0]]

    def visitors(self):
        found = []
        for one in self.all:
            with contextlib.suppress(BlockingIOError):
                one.accept()[0].close()
                found.append(one.getsockname())
        for one in self.datagrams:
            with contextlib.suppress(BlockingIOError):
                found.append((one.getsockname(), one.recv(100)))
        return found

    def close(self):
        for one in self.all + self.datagrams:
            one.close()


def facts(path):
    st = os.lstat(path)
    return st.st_mode, st.st_uid, st.st_gid, st.st_size, st.st_ino


def is_whole(path):
    """Others may install something meanwhile, so not what is in it."""
    st = os.stat(path)
    return st.st_mode, st.st_uid, st.st_gid, st.st_size > 0


class Setting:
    """A workspace, a gate that runs commands there, and things next to it that no command may touch. They are open to
    every user: only the sandbox is in the way."""

    def __init__(self, form, name, owner, cell_uid):
        self.form = form
        self.name = name
        self.owner = owner
        self.cell_uid = cell_uid
        self.base = form.folder(name.replace(" ", "-").replace("'", ""))
        self.workspace = self.folder("workspace", owner, 0o755)
        self.outside = self.folder("outside", owner, 0o777)
        self.canary = self.outside / "canary"
        self.canary.write_text("untouched\n", encoding="ascii")
        self.canary.chmod(0o666)
        self.program = self.place("attempts")
        self.listeners = Listeners(self.outside)
        self.config = self.base / "config.json"
        form.write(self.config, "{}")
        self.gate = self.start()
        self.gate.ok("run_command", argv=["true"])
        self.launcher, self.worker = self.find_cell()
        self.before = self.machine()
        self.clock = time.time() - time.monotonic()

    def folder(self, name, owner, mode):
        path = self.base / name
        path.mkdir()
        path.chmod(mode)
        self.give(path, owner)
        return path

    def give(self, path, owner):
        if lib.AM_ROOT:
            os.chown(path, owner, owner, follow_symlinks=False)

    def place(self, name, mode=0o755, owner=None):
        """The program as a file of the workspace."""
        path = self.workspace / name
        shutil.copy(PROGRAM, path)
        self.give(path, self.owner if owner is None else owner)
        path.chmod(mode)
        return path

    def start(self, **more):
        env = {**SECRETS, "SANDGATE_CONFIG": str(self.config), **more}
        return Gate(self.form, workspace=self.workspace, state=self.base / "home", env=env)

    def find_cell(self):
        def find():
            launchers = [p for p in lib.children(self.gate.pid) if lib.status(p).get("Name") == "sandgate-cell"]
            return len(launchers) == 1 and lib.children(launchers[0]) and launchers[0]

        launcher = wait_until(find, "a launcher and its worker")
        return launcher, lib.children(launcher)[0]

    def commands(self):
        """The first processes of commands, one that waits for the next command among them."""
        return [p for p in lib.children(self.launcher) if p != self.worker]

    def clear(self, *names):
        for name in names:
            (self.workspace / name).unlink(missing_ok=True)

    # what must not change

    def machine(self):
        mounts = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return {
            "host name": os.uname().nodename,
            "core pattern": pathlib.Path("/proc/sys/kernel/core_pattern").read_text(encoding="utf-8"),
            "mounts here": [line for line in mounts if str(self.base) in line],
            "passwd": is_whole("/etc/passwd"),
            "a program": is_whole("/usr/bin/env"),
            "sandgate": facts(self.form.binary),
            "outside": {p.name: facts(p) for p in self.outside.iterdir()},
            "canary": self.canary.read_text(encoding="ascii"),
            "made in places of the system": [p for p in PLACES if os.path.lexists(f"{p}/sandgate-attempt")],
            "workspace": facts(self.workspace)[:3],
        }

    def unchanged(self):
        now = self.machine()
        for what, value in self.before.items():
            check(now[what] == value, f"{what} changed: {value} to {now[what]}")
        jump = abs(time.time() - time.monotonic() - self.clock)
        check(jump < 5, f"the clock was set by {jump} s")
        check(not (came := self.listeners.visitors()), f"somebody came: {came}")
        check(all(map(lib.alive, (self.gate.pid, self.launcher, self.worker))), "the gate, launcher or worker ended")
        self.ordinary_files()

    def ordinary_files(self):
        for folder, below, names in os.walk(self.workspace):
            for name in below + names:
                if name.startswith("planted"):
                    continue
                st = os.lstat(pathlib.Path(folder, name))
                check(not st.st_mode & (stat.S_ISUID | stat.S_ISGID), f"{name} has mode {st.st_mode:o} on the machine")
                check(not stat.S_ISCHR(st.st_mode) and not stat.S_ISBLK(st.st_mode), f"{name} is a device")
                check(not lib.AM_ROOT or (st.st_uid, st.st_gid) == (self.owner, self.owner), f"{name} is {st.st_uid}'s")

    def nothing_left(self):
        """Of any command: at most one waits for its order, and it has started nothing."""

        def quiet():
            waiting = self.commands()
            return len(waiting) <= 1 and not any(lib.children(p) for p in waiting)

        wait_until(quiet, f"commands to be gone: {self.commands()}")

    # trying

    def call(self, *argv, **more):
        return self.gate.call("run_command", argv=["./attempts", *map(str, argv)], **more)

    def result(self, *argv, **more):
        answer = self.call(*argv, **more)
        check(answer.get("ok") is True, f"{argv}: {lib.short(answer)}")
        return answer["result"]

    def stopped(self, *argv, violation=None, **more):
        result = self.result(*argv, **more)
        said = result["stdout"][-2000:] + result["stderr"][-2000:]
        check(result.get("exit_code") == STOPPED, f"not stopped: {lib.short({**result, 'stdout': said})}")
        names = [v["call"] for v in result["violations"]]
        check(violation is None or violation in names, f"it was not counted as {violation}: {names}\n{said}")
        self.unchanged()
        return result

    def plain(self):
        """For subprocess: the machine's user that has the most in common with a command, but no sandbox."""
        uid = self.owner or lib.PLAIN_UID
        return {"user": uid, "group": uid, "extra_groups": []} if lib.AM_ROOT else {}

    def gets_through_outside(self, *argv):
        """That the same attempt works without a sandbox."""
        done = subprocess.run(
            [self.program, *map(str, argv)], capture_output=True, text=True, timeout=lib.SECONDS, check=False,
            cwd=self.outside, stdin=subprocess.DEVNULL, **self.plain(),
        )
        self.listeners.visitors()
        check(done.returncode == THROUGH, f"{argv} outside: {done.returncode} {done.stdout}{done.stderr}")

    def close(self):
        self.gate.end()
        self.listeners.close()
