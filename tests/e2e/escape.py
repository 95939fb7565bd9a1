#!/usr/bin/env python3
"""Ways out of a command's sandbox, each tried for real: for root's gate in a folder of root and in one of a user, and
for a user's own gate.

`tests/escape` makes the program that tries; it says itself what it was refused. What it says is not believed: after
each attempt the machine is looked at from outside. Attempts that get through where only the kernel's own rules hold
are run there first, so that none passes because it was written wrongly.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import pty
import shutil
import socket
import stat
import struct
import subprocess
import time

import lib
from escape_setting import attempts, Listeners, MIB, OWNER, PROGRAM, Setting, SPARE, STOPPED, THROUGH
from lib import check, wait_until


# --- attempts that need nothing but themselves


def all_attempts(case, setting):
    for attempt in attempts():
        if attempt.kind == "argument":
            continue
        with case(attempt.name):
            setting.stopped(attempt.name, violation=attempt.violation)
    with case("all in one command"):
        result = setting.result("all", max_output=1000000)
        lines = result["stdout"].splitlines()
        bad = [line for line in lines if line.startswith("NOT STOPPED")]
        check(not bad and result["exit_code"] == STOPPED, f"{bad}: {result['stdout'][-3000:]}")
        check(sum(line.startswith("stopped ") for line in lines) > 200, "few were tried")
        setting.unchanged()
    with case("nothing is left of all these"):
        setting.nothing_left()


# --- files


def paths(case, s):
    secret = s.base / "home/sandgate"
    places = {
        "a file outside": s.canary,
        "a folder outside": s.outside,
        "the gate's state": secret,
        "the audit log": secret / "audit",
        "the configuration": s.config,
        "the gate's program": s.form.binary,
        "the gate's process": f"/proc/{s.gate.pid}/environ",
        "the launcher's process": f"/proc/{s.launcher}/root",
        "the source tree": lib.ROOT / "README.md",
    }
    with case("outside, the same files can be read and written"):
        s.gets_through_outside("read-path", s.canary)
        s.gets_through_outside("climb", s.canary)
        s.gets_through_outside("by-magic-link", s.canary)
        s.gets_through_outside("write-path", s.outside / "by-test")
        (s.outside / "by-test").unlink()
    for name, path in places.items():
        with case(f"reading {name}"):
            s.stopped("read-path", path)
    with case("writing a file outside"):
        s.stopped("write-path", s.canary)
    with case("climbing with .."):
        s.stopped("climb", s.canary)
    with case("climbing through links of /proc"):
        s.stopped("by-magic-link", s.canary)


def links(case, s):
    planted = {
        "planted-file": s.canary,
        "planted-folder": s.outside,
        "planted-relative": "../outside",
        "planted-root": "/",
        "planted-proc": f"/proc/{s.gate.pid}/root",
    }
    for name, target in planted.items():
        os.symlink(target, s.workspace / name)
    for path in ("planted-file", "planted-folder/canary", "planted-relative/canary", f"planted-root{s.canary}",
                 f"planted-proc{s.canary}"):
        with case(f"reading and writing through a link: {path.split('/')[0]}"):
            s.stopped("read-path", path)
            s.stopped("write-path", path)
    with case("a link that a command made"):
        s.gate.ok("run_command", command=f"ln -s {s.outside} made && ! cat made/canary && ! touch made/new; rm made")
        s.unchanged()
    for name in planted:
        with case(f"a working directory that is a link: {name}"):
            codes = "SYMLINK_OUTSIDE_WORKSPACE NOT_FOUND NOT_A_DIRECTORY"
            s.gate.refused(codes, "run_command", argv=["/workspace/attempts", "list"], cwd=name)
    s.clear(*planted)


def planted_rights(case, s):
    """What only the machine's root can put there."""
    with case("a set-user-ID program gives no rights"):
        path = s.place("planted-setuid", mode=0o6755, owner=0)
        if lib.AM_ROOT and not os.statvfs(path).f_flag & os.ST_NOSUID:
            done = subprocess.run([path, "by-file"], capture_output=True, check=False, **s.plain())
            check(done.returncode == THROUGH, f"outside it gives none either: {done}")
        result = s.gate.ok("run_command", argv=["./planted-setuid", "by-file"])
        check(result["exit_code"] == STOPPED, f"{result}")
    s.clear("planted-setuid")
    if lib.AM_ROOT:
        with case("a device file cannot be used"):
            path = s.workspace / "planted-device"
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            path.chmod(0o666)
            s.stopped("read-path", "planted-device")
            s.stopped("write-path", "planted-device")
        s.clear("planted-device")
    for command in ("su -c 'id -u' root", "sudo -n id -u", "pkexec id -u", "newgrp root", "mount -t tmpfs none /tmp",
                    "umount -l /workspace", "chroot / id -u", "unshare -U id -u", "nsenter -t 1 -m id -u",
                    "setpriv --reuid=0 id -u", "capsh --uid=0 -- -c id", "setcap cap_sys_admin+ep attempts"):
        with case(f"`{command}`"):
            result = s.gate.ok("run_command", command=f"{command} </dev/null")
            check(result.get("exit_code") != 0, f"it worked: {result}")
            s.unchanged()


def environment(case, s):
    with case("secrets of the gate's environment"):
        command = "env; set; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'"
        shown = s.gate.ok("run_command", command=command)
        check("HOME=/home/agent" in shown["stdout"], f"it printed nothing: {lib.short(shown)}")
        check("canary-" not in shown["stdout"] + shown["stderr"], "a secret is there")
    with case("/proc tells no paths of the machine but the workspace's"):
        command = "cat /proc/self/mountinfo /proc/mounts /proc/self/cgroup /proc/1/cmdline"
        shown = s.gate.ok("run_command", command=command)
        text = shown["stdout"].replace(str(s.workspace), "")
        check(str(s.workspace) in shown["stdout"] and str(s.base) not in text, f"{shown['stdout']}")
    with case("a crash leaves no file"):
        before = set(os.listdir(s.workspace))
        result = s.gate.ok("run_command", command="ulimit -c unlimited; kill -SEGV $$")
        check(result.get("signal") == "SIGSEGV", f"{result}")
        check(set(os.listdir(s.workspace)) == before, f"{set(os.listdir(s.workspace)) - before}")


def inherited(case, s):
    """What the gate was given by whoever started it."""
    with case("descriptors that the gate inherited"), open(s.canary, "rb") as file:
        order = json.dumps({"argv": ["./attempts", "inherited"]})
        done = subprocess.run(
            [s.form.binary, "call", "run_command", order, "--workspace", s.workspace], capture_output=True, text=True,
            timeout=lib.SECONDS, check=False, cwd="/", pass_fds=[file.fileno()], stdin=file,
            env=lib.environment(s.base / "home"), **s.form.identity(),
        )
        check('"exit_code":0' in done.stdout, f"{done}")


# --- services and processes of the machine


def services(case, s):
    l = s.listeners
    for address in l.addresses:
        for kind in ("tcp", "udp") if ":" not in address else ("tcp",):
            name = {"127.0.0.1": "the machine's loopback", "::1": "its loopback with IPv6"}.get(address, "its address")
            with case(f"{kind} to {name}"):
                s.gets_through_outside(f"to-{kind}", address, l.port)
                result = s.result(f"to-{kind}", address, l.port)
                # The cell's own loopback takes a datagram and then says that nobody is there.
                check(kind == "udp" or result["exit_code"] == STOPPED, f"{result}")
                s.unchanged()
    for name, where in (("an abstract socket", f"@{l.name}"), ("a socket in a folder", l.path)):
        with case(f"{name} of the machine"):
            s.gets_through_outside("to-unix", where)
            s.stopped("to-unix", where)
    with case("the machine's sockets are not listed"):
        s.gets_through_outside("find-socket", l.name)
        s.stopped("find-socket", l.name)
    with case("names cannot be looked up"):
        result = s.gate.ok("run_command", command="getent hosts example.com")
        check(result["exit_code"] != 0, f"{result}")
    # Landlock has no right for this, and no filter can see the address: it is covered.
    with case("a socket of the machine in the workspace, whatever its mode"):
        path = s.workspace / "planted.sock"
        inner = Listeners.listen(socket.AF_UNIX, str(path))
        s.give(path, s.owner)
        for mode in (0, 0o777):
            path.chmod(mode)
            s.stopped("to-unix", "planted.sock")
        inner.close()
    s.clear("planted.sock")


def numbers(case, s):
    known = {"the gate": s.gate.pid, "the launcher": s.launcher, "the worker": s.worker, "this test": os.getpid()}
    for name, pid in known.items():
        with case(f"signals to {name} by its number"):
            s.stopped("signal-number", pid)
    with case("shared memory of the machine"):
        key = 0x5A170000 | os.getpid() & 0xFFFF
        memory = lib.libc.shmget(key, 4096, 0o1666)
        check(memory >= 0, f"the test could not make it: {os.strerror(ctypes.get_errno())}")
        try:
            s.gets_through_outside("memory-of-host", key)
            s.stopped("memory-of-host", key)
        finally:
            lib.libc.shmctl(memory, 0, None)


def terminal(case, s):
    """The gate started by hand: its terminal is not the command's."""
    with case("the terminal of whoever started the gate"):
        pid, master = pty.fork()
        if pid == 0:
            try:
                if lib.AM_ROOT and s.form.uid:
                    os.setgroups([])
                    os.setresgid(s.form.uid, s.form.uid, s.form.uid)
                    os.setresuid(s.form.uid, s.form.uid, s.form.uid)
                order = json.dumps({"argv": ["./attempts", "type-into-callers"]})
                argv = [s.form.binary, "call", "run_command", order, "--workspace", s.workspace]
                os.execve(s.form.binary, list(map(str, argv)), lib.environment(s.base / "home"))
            finally:
                os._exit(99)
        text = b""
        with contextlib.suppress(OSError):  # EIO: the other end is closed
            while piece := os.read(master, 65536):
                text += piece
        status = os.waitpid(pid, 0)[1]
        os.close(master)
        check(status == 0 and b'"exit_code":0' in text, f"status {status}: {text.decode('utf-8', 'replace')}")


# --- staying, forging, and others at the same time


def is_free(path):
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def staying(case, s):
    with case("daemons are gone when the answer comes"):
        started = time.monotonic()
        result = s.result("outlive", "lock")
        check("they stay" in result["stdout"] and result["exit_code"] == STOPPED, f"{result}")
        check(is_free(s.workspace / "lock"), "somebody still holds the lock")
        check(time.monotonic() - started < lib.SECONDS / 2, "the answer waited for them")
        s.unchanged()
    with case("those who ignore every signal are gone after the time limit"):
        result = s.result("ignore-the-end", "lock", timeout_ms=200)
        check(result["ended_by"] == "timeout", f"{result}")
        check(is_free(s.workspace / "lock"), "somebody still holds the lock")
        s.unchanged()
    with case("nothing is left of them"):
        s.nothing_left()
    with case("nor when the gate is killed"), s.start() as gate:
        s.clear("lock")
        gate.send("run_command", argv=["./attempts", "ignore-the-end", "lock"])
        wait_until(lambda: (s.workspace / "lock").exists() and not is_free(s.workspace / "lock"), "the command")
        gate.kill()
        wait_until(lambda: is_free(s.workspace / "lock"), "the command to be gone")


def forging(case, s):
    account = b'{"kind":0,"status":0,"error":0,"user_ms":0,"system_ms":0,"peak_memory":1,"written":0,"violations":[]}'
    with case("an account of its own end is not taken from a command"):
        for kind in range(1, 24):
            frame = struct.pack("=IIQII", 0x53474631, kind, 1, len(account), 0) + account
            s.form.write(s.workspace / "frame", frame)
            s.give(s.workspace / "frame", s.owner)
            result = s.result("forge", "frame")
            check(result.get("exit_code") == 7, f"a frame of type {kind} was taken: {lib.short(result)}")
        s.unchanged()
    s.clear("frame")


def connected(result):
    return None if result["exit_code"] == 2 else result


def handing_over(case, s):
    with case("standard output that another command holds does not keep the answer"):
        # In the workspace the socket would be covered.
        socket = "/home/agent/handed.sock"
        second = s.gate.send("run_command", argv=["./attempts", "take-over", socket, "go"])
        result = wait_until(lambda: connected(s.result("hand-over", socket)), "the one who listens")
        check(result["exit_code"] == STOPPED and "forged" not in result["stdout"], f"{result}")
        s.form.write(s.workspace / "go", "")
        s.give(s.workspace / "go", s.owner)
        late = s.gate.wait(second)["result"]
        check(late["exit_code"] == STOPPED, f"what it wrote later went somewhere: {late}")
        s.unchanged()
    s.clear("go")


def neighbours(case, s):
    other = s.gate.send("run_command", argv=["./attempts", "neighbour", "ready", "go"])
    wait_until((s.workspace / "ready").exists, "the neighbour")
    with case("a command as the machine sees it: another user, no rights, filtered"):
        firsts = [p for p in s.commands() if lib.children(p)]
        check(len(firsts) == 1, f"{firsts}")
        for pid in (firsts[0], *lib.children(firsts[0])):
            fields = lib.status(pid)
            check(set(fields["Uid"].split() + fields["Gid"].split()) == {str(s.cell_uid)}, f"{fields['Uid']}")
            check(not int(fields["CapEff"], 16) | int(fields["CapPrm"], 16) | int(fields["CapBnd"], 16), f"{fields}")
            check((fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2"), f"{fields}")
            check(not lib.AM_ROOT or not fields["Groups"].split(), f"groups {fields['Groups']}")
        check(os.stat(f"/proc/{firsts[0]}/fd").st_uid == 0, "the first process can be looked into")
    for name in ("files", "memory", "name"):
        with case(f"of a command at the same time: {name}"):
            s.stopped(f"neighbour-{name}", "x")
    for name in ("other-processes", "inherited", "first-descriptors"):
        with case(f"of a command at the same time: {name}"):
            s.stopped(name)
    with case("what commands of one cell share: the loopback and the home"):
        check(s.result("neighbour-port", "x")["exit_code"] == THROUGH, "not the loopback")
        s.gate.ok("run_command", command="echo shared > ~/note")
        shared = s.gate.ok("run_command", command="cat ~/note; rm ~/note; find /tmp -maxdepth 1 -type f")
        check(shared["stdout"] == "shared\n", f"{shared}")
    s.form.write(s.workspace / "go", "")
    s.give(s.workspace / "go", s.owner)
    with case("the neighbour noticed nothing"):
        check(s.gate.wait(other)["result"]["exit_code"] == STOPPED, "it ended otherwise")
        s.nothing_left()
    s.clear("ready", "go")


def limits(case, s):
    """A limit on all processes together cannot be got around by keeping busy or blind who adds up."""
    config = s.base / "small.json"
    s.form.write(config, json.dumps({"commands": {"memory": 64 * MIB}}))
    with s.start(SANDGATE_CONFIG=str(config)) as gate:
        for how in ("quiet", "busy", "blind"):
            with case(f"more memory than allowed, the first process {how}"):
                result = gate.ok("run_command", argv=["./attempts", "have-more", how])
                ended = result["ended_by"] == "memory_limit" or result.get("exit_code") == STOPPED
                check(ended, f"{result}")


# --- whether the attempts are any good


def remove_left():
    """What attempts make in the machine's /tmp where nothing stops them: another user's would be in their way."""
    with contextlib.suppress(OSError):
        os.unlink("/tmp/copy")
    with contextlib.suppress(OSError):
        os.rmdir("/tmp/jail")


def bare(tap):
    """Each must get through where only the kernel's rules hold, or it would say nothing."""
    form = lib.forms()[-1]
    folder = form.folder("bare")
    program = form.base / "attempts"
    shutil.copy(PROGRAM, program)
    program.chmod(0o755)
    for attempt in attempts():
        if attempt.kind != "bare":
            continue
        remove_left()
        with tap.case(f"without a sandbox it gets through: {attempt.name}"):
            done = subprocess.run(
                [program, "bare", attempt.name], capture_output=True, text=True, timeout=lib.SECONDS, check=False,
                cwd=folder, stdin=subprocess.DEVNULL, **form.identity(),
            )
            check(done.returncode == THROUGH, f"status {done.returncode}: {done.stdout}{done.stderr}")
    remove_left()


def settings():
    for form in lib.forms():
        if form.is_root:
            yield Setting(form, "root in its own folder", 0, SPARE)
            yield Setting(form, "root in a user's folder", OWNER, OWNER)
        else:
            yield Setting(form, "user", form.uid, form.uid)


def main():
    tap = lib.Tap()
    bare(tap)
    for s in settings():
        def case(name, setting=s):
            return tap.case(f"{setting.name}: {name}")

        parts = (all_attempts, paths, links, planted_rights, environment, inherited, services, numbers, terminal,
                 staying, forging, handing_over, neighbours, limits)
        for part in parts:
            part(case, s)
        with case("at the end"):
            s.unchanged()
            s.nothing_left()
        s.close()
    tap.done()


if __name__ == "__main__":
    main()
