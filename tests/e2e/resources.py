#!/usr/bin/env python3
"""What is used up is an ordinary error, and nothing is lost by it: cancels in any number, few descriptors, few processes,
little memory. The cell lives on, other calls are answered, and no answer claims to be complete that is not.
"""
# timeout: 400

import contextlib
import os
import pathlib
import signal
import subprocess

import beside
import lib
import ran
from lib import Gate, check, expect_error, wait_until
from ran import Place
from repository import Repository

BUSY = "SESSION_BUSY"


class Limited(Gate):
    """A gate that is started with limits, as `ulimit` names them, and in a control group."""

    def __init__(self, place, limits=None, group=None):
        words = [f"ulimit -{letter} {value}" for letter, value in (limits or {}).items()]
        words += [f"echo $$ >{group}"] if group else []
        text = "\n".join(["#!/bin/bash", *words, f'exec {place.form.binary} "$@"', ""])
        wrapper = place.form.write(place.form.base / f"{place.home.name}.sh", text)
        wrapper.chmod(0o755)
        super().__init__(place.form, *place.options, workspace=place.workspace, state=place.home, binary=wrapper)


# Refuses EPOLL_CTL_ADD with ENOSPC, as the kernel does where the user's watches are used up, and starts a program.
NO_WATCHES = """
import ctypes, os, struct, sys
number = {"x86_64": 233, "aarch64": 21}[os.uname().machine]
code = [(0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 24), (0x15, 0, 1, 1), (6, 0, 0, 0x50000 | 28), (6, 0, 0, 0x7FFF0000)]
rows = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(rows)))
c = ctypes.CDLL(None)
assert c.prctl(38, 1, 0, 0, 0) == 0 and c.prctl(22, 2, program) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def no_watches(form):
    """epoll takes no descriptor any more: a gate starts, answers all its clients, and ends as always"""
    place = Place(form, "watches")
    form.write(place.workspace / "large", "x" * 1000000)
    under = [ran.PYTHON, "-c", NO_WATCHES]
    with place.gate(under=under) as gate:
        # More answers than a pipe holds, before any of them is read.
        calls = [gate.line("read_file", {"path": "large", "max_bytes": 1000000}, f"r{i}") for i in range(5)]
        gate.pump(b"".join(line for _, line in calls), reading=False)
        for call, _ in calls:
            check(len(gate.wait(call)["result"]["content"]) == 1000000, "the whole file")
        check(ran.output(gate, "head -c 300000 /dev/zero | tr '\\0' x | tail -c 3") == "xxx", "a command's output")
        check(ran.output(gate, "head -c 60000 /dev/zero | tr '\\0' x") == "x" * 60000, "a command's output")
        os.kill(gate.cell()[0], 9)
        wait_until(lambda: gate.call("stat", path="large")["ok"], "another cell")
        gate.close_input()
        check(gate.wait_exit() == 0, gate.said())


def make_tree(place, folders, files):
    """Files to search in, for a call that takes a while."""
    with place.form.acting():
        for i in range(folders):
            folder = place.workspace / f"d{i}"
            folder.mkdir()
            for k in range(files):
                (folder / f"f{k}").write_text("nothing to be found here\n" * 20)


def cancels(form):
    """hundreds of calls are cancelled at once: each is answered, the cell and its commands go on"""
    place = Place(form, "cancels", {"limits": {"maxInFlight": 1024}})
    make_tree(place, 40, 250)
    with place.gate() as gate:
        gate.ok("read_file", path="d0/f0")
        cell = gate.cell()
        other = gate.send("run_command", command="read -t 30 <>wait; echo unharmed")
        with form.acting():
            os.mkfifo(place.workspace / "wait")
        calls = [gate.line("search", {"pattern": f"no{i}"}, f"s{i}") for i in range(600)]
        gone = b'{"cancel":"never"}\n' * 100
        stops = b"".join(b'{"cancel":"%s"}\n' % i.encode() for i, _ in calls)
        gate.send_raw(b"".join(line for _, line in calls))
        # All of them are in the cell once the first is done.
        check(gate.wait("s0")["ok"], "the first is answered")
        gate.send_raw(gone + stops + stops)
        codes = [gate.wait(i).get("error", {}).get("code") for i, _ in calls[1:]]
        check(set(codes) <= {"CANCELLED", None}, f"{set(codes)}")
        check(codes.count("CANCELLED") > 400, f"{codes.count('CANCELLED')} of {len(codes)} were cancelled")
        # After their end.
        gate.send_raw(stops)
        check(gate.ok("read_file", path="d0/f0")["total_lines"] == 20, "the next call works")
        check(gate.cell() == cell, "the cell is the same")
        gate.send_raw(b'{"cancel":"%s"}\n' % other.encode())
        expect_error(gate.wait(other), "CANCELLED")


def deep_write(form):
    """a write 100 folders deep, with 64 descriptors: an error that may be tried again, and the cell lives on"""
    place = Place(form, "deep")
    with Limited(place, {"n": 64}) as gate:
        form.write(place.workspace / "near", "near\n")
        gate.ok("read_file", path="near")
        cell = gate.cell()
        error = gate.refused(BUSY, "write_file", path="d/" * 100 + "file", content="x")
        check(error["retryable"] is True and "ulimit -n" in error["message"], error)
        check(gate.ok("read_file", path="near")["content"] == "near\n", "the next call works")
        gate.ok("write_file", path="one/two/three", content="x")
        check(gate.cell() == cell, "the cell is the same")


def deep_list(form):
    """lists and searches that cannot see everything fail, or say so"""
    place = Place(form, "lists")
    with form.acting():
        deep = place.workspace
        for _ in range(120):
            deep /= "d"
            deep.mkdir()
        (deep / "file").write_text("needle\n")
        (place.workspace / "top").write_text("needle\n")
    with Limited(place, {"n": 64}) as gate:
        gate.refused(BUSY, "list_files", path=".", recursive=True)
        gate.refused(BUSY, "search", pattern="needle")
        check(len(gate.ok("list_files", path=".")["entries"]) == 2, "what needs less is listed")
    with place.gate() as gate:
        check(len(gate.ok("list_files", path=".", recursive=True)["entries"]) == 122, "all of it")
        check(len(gate.ok("search", pattern="needle")["matches"]) == 2, "all of it")


def large_content(form):
    """content that goes as a descriptor, where the worker or the gate has few of them"""
    place = Place(form, "large")
    with Limited(place, {"n": 48}) as gate:
        text = "x" * 300000
        for i in range(20):
            result = gate.call("write_file", path=f"f{i}", content=text)
            check(result["ok"] or result["error"]["retryable"], result)
        gate.ok("write_file", path="small", content="x")
        check((place.workspace / "small").read_text() == "x", "the next call works")


def many_commands(form):
    """256 commands at once with 1,024, 128 and 96 descriptors: all of them run, some later"""
    for limit in (1024, 128, 96):
        place = Place(form, f"many{limit}")
        with Limited(place, {"n": limit}) as gate:
            calls = [gate.line("run_command", {"command": f"echo {i}", "timeout_ms": 120000}, f"c{i}") for i in range(256)]
            gate.send_raw(b"".join(line for _, line in calls))
            for i, (call, _) in enumerate(calls):
                result = gate.wait(call, seconds=120)
                check(result["ok"] and result["result"]["stdout"] == f"{i}\n", f"command {i} of 256 with {limit}: {lib.short(result)}")


def waiting_commands(form):
    """commands that wait for room can be cancelled, and their time limit holds"""
    place = Place(form, "wait")
    with form.acting():
        os.mkfifo(place.workspace / "go")
    with Limited(place, {"n": 96}) as gate:
        calls = [gate.line("run_command", {"command": "read x <go"}, f"c{i}") for i in range(60)]
        gate.send_raw(b"".join(line for _, line in calls))
        # On a busy machine its time may be over before it is tried for the first time.
        for seconds in (2, 10, 60):
            late = gate.send("run_command", command="echo never", timeout_ms=1000 * seconds)
            error = expect_error(gate.wait(late, seconds=seconds + lib.SECONDS), "TIMEOUT")
            if "room" in error["message"]:
                break
        check("room" in error["message"], error)
        gate.send_raw(b"".join(b'{"cancel":"%s"}\n' % call.encode() for call, _ in calls))
        for call, _ in calls:
            expect_error(gate.wait(call), "CANCELLED")
        check(ran.output(gate, "echo next") == "next\n", "the next command runs")


def waiting_for_git(form):
    """a command that may write to git directories has its layers when there is room at last"""
    rule = {"toolName": "run_command", "action": "approve"}
    granting = {**rule, "grants": ["git"], "condition": {"command": {"program": "git commit"}}}
    place = Repository(form, "git", {"approval": {"rules": [granting, rule]}})
    with form.acting():
        os.mkfifo(place.workspace / "go")
    with Limited(place, {"n": 96}) as gate:
        calls = [gate.line("run_command", {"command": "read x <go"}, f"c{i}") for i in range(60)]
        gate.send_raw(b"".join(line for _, line in calls))
        commit = gate.send("run_command", command="git commit -q --allow-empty -m late")
        # Tried again several times by then, and each time after a scan.
        late = gate.send("run_command", command="echo never", timeout_ms=1000)
        expect_error(gate.wait(late), "TIMEOUT")
        gate.send_raw(b"".join(b'{"cancel":"%s"}\n' % call.encode() for call, _ in calls))
        ran.ended(gate.wait(commit))
    check(place.git("log", "-1", "--format=%s") == "late\n", place.git("log", "--oneline"))
    place.check_sound()


def no_room_at_all(form):
    """where no command can ever start, each is told so, with what to do, before its time is over"""
    place = Place(form, "none")
    with Limited(place, {"n": 32 if form.is_root else 26}) as gate:
        calls = [gate.send("run_command", command="echo x", timeout_ms=600000) for _ in range(8)]
        for call in calls:
            error = expect_error(gate.wait(call, seconds=60), BUSY)
            check(error["retryable"] is True and error["details"]["reason"] == "no_resources", error)
        check(gate.call("list_files", path=".")["ok"], "files still work")


def memory(form):
    """little memory for data: the cell starts, and what does not fit is an error"""
    place = Place(form, "memory")
    with Limited(place, {"d": 200000}) as gate:
        gate.ok("write_file", path="a", content="x")
        check(ran.output(gate, "echo x") == "x\n", "a command runs")


def large_lines(form):
    """lines for which there is no memory: each is answered under its id, and may be sent again"""
    place = Place(form, "lines")
    seen = {}
    for kilobytes in (3000, 4000, 5000, 6000):
        with Limited(place, {"d": kilobytes}) as gate:
            calls = [gate.line("write_file", {"path": "big", "content": "y" * 300000}, f"c{i}") for i in range(30)]
            gate.send_raw(b"".join(line for _, line in calls))
            for call, _ in calls:
                result = gate.wait(call)
                code = "ok" if result["ok"] else result["error"]["code"]
                seen[code] = seen.get(code, 0) + 1
                check(result["ok"] or result["error"]["retryable"], f"with {kilobytes} kB: {result}")
    check(seen.get(BUSY), f"no call found too little memory: {seen}")


def file_size(form):
    """content that goes as a file is over the limit of a file's size: the message names the limit"""
    place = Place(form, "fsize")
    with Limited(place, {"f": 200}) as gate:
        error = gate.refused("TOO_LARGE", "write_file", path="f", content="x" * 300000)
        check("RLIMIT_FSIZE" in error["message"], error)
        gate.ok("write_file", path="f", content="x" * 1000)


def after_a_command(form):
    """a command that finds too few descriptors: what it took is given back, and what worked before it works again"""
    places = [(Place(form, f"after{files}"), files) for files in range(20, 30)]
    at_rest = descriptors_at_rest(Place(form, "rest"))
    beside.together(one_after_a_command, [(place, files, at_rest) for place, files in places])
    failed = [files for place, files in places if (place.home / "only-the-command-failed").exists()]
    check(failed, "no number of descriptors is too low for a command alone")


def descriptors_at_rest(place):
    """What a gate has open a while after its first call, when it has looked into `state.db` a second time beside its calls.
    With no more than that, writes may stop to work without any command."""
    with place.gate() as gate:
        gate.ok("write_file", path="f", content="1")
        folder = pathlib.Path(f"/proc/{gate.pid}/fd")
        wait_until(lambda: sum(os.readlink(fd).endswith("state.db-wal") for fd in folder.iterdir()) == 2, "both connections")
        return len(list(folder.iterdir()))


def one_after_a_command(place, files, at_rest):
    with Limited(place, {"n": files}) as gate:
        try:
            before = gate.call("write_file", path="f", content="1")["ok"]
            command = gate.call("run_command", command="echo")
        except lib.Gone:  # too few to start
            return
        check(command["ok"] or command["error"]["code"] == BUSY, command)
        if not before or command["ok"] or files <= at_rest:
            return
        (place.home / "only-the-command-failed").touch()
        for number in range(5):
            gate.ok("write_file", path="f", content=f"{number}")
        check(gate.call("run_command", command="echo")["ok"] is False, f"{files} are enough now")
        gate.ok("write_file", path="f", content="last")


def over_the_file_size(form):
    """a write, an append or an edit over the limit of a file's size: it fails alone, and a command beside it goes on"""
    place = Place(form, "over")
    before = "QQ\n" + "z" * 90000
    for name in ("whole", "more", "edited"):
        place.put(name, before)
    with Limited(place, {"f": 90}) as gate:
        beside = gate.send("run_command", command="sleep 2; echo unharmed")
        cell = gate.cell()
        for name, args in (
            ("write_file", {"path": "new", "content": "x" * 100000}),
            ("write_file", {"path": "whole", "content": "x" * 100000}),
            ("write_file", {"path": "more", "content": "x" * 10000, "append": True}),
            ("edit_file", {"path": "edited", "edits": [{"old_text": "QQ", "new_text": "x" * 10000}]}),
        ):
            error = gate.refused("DISK_FULL", name, **args)
            check("RLIMIT_FSIZE" in error["message"] and error["retryable"], error)
        check(all((place.workspace / name).read_text() == before for name in ("whole", "more", "edited")), "unchanged")
        check(sorted(os.listdir(place.workspace)) == ["edited", "more", "whole"], os.listdir(place.workspace))
        check(gate.wait(beside)["result"]["stdout"] == "unharmed\n", "the command beside")
        check(gate.cell() == cell, "another cell")
        # Programs of commands have the signal as they always do.
        value = gate.ok("run_command", argv=["dd", "if=/dev/zero", "of=big", "bs=1k", "count=300"])
        check(value["ended_by"] == "file_size_limit", value)
        ignored = int(ran.output(gate, "grep SigIgn /proc/self/status").split()[1], 16)
        check(not ignored & (1 << (signal.SIGXFSZ - 1)), f"ignored signals: {ignored:x}")


def locked_folder(form):
    """writes that wait for the lock of a folder leave threads to reads; those that wait in line can be cancelled"""
    for threads in (1, 2, 3, 4):
        locked_with(form, threads)


def locked_with(form, threads):
    place = Place(form, f"locked{threads}", {"limits": {"workerThreads": threads}})
    with form.acting():
        (place.workspace / "other").mkdir()
        (place.workspace / "other/x").write_text("x")
    hold = "import os,fcntl,time\nfcntl.flock(os.open('.',0),2)\nopen('held','w')\ntime.sleep(100)"
    with place.gate() as gate:
        holder = gate.send("run_command", argv=["/usr/bin/python3", "-c", hold], timeout_ms=200000)
        wait_until((place.workspace / "held").exists, "the lock is held")
        cell = gate.cell()
        writes = [gate.send("write_file", path="f", content=f"{i}\n", append=True) for i in range(40)]
        for _ in range(3):  # the first may overtake the writes on their way to the cell
            check(gate.ok("read_file", path="other/x")["content"] == "x", "a read is done")
        check(not any(a["id"] in writes for a in gate.answers), "the read came after a write that had to wait")
        gate.send_raw(b"".join(b'{"cancel":"%s"}\n' % call.encode() for call in writes))
        for call in writes:
            expect_error(gate.wait(call), "CANCELLED")
        refused = gate.call("write_file", path="f", content="x", append=True)
        expect_error(refused, "CONFLICT")
        error = refused["error"]
        check(error["details"]["reason"] == "locked" and error["retryable"], error)
        gate.send_raw(b'{"cancel":"%s"}\n' % holder.encode())
        expect_error(gate.wait(holder), "CANCELLED")
        gate.ok("write_file", path="f", content="x", append=True)
        check(gate.cell() == cell, "the cell is the same")


def no_proc(form):
    """without /proc: an error, not a crash"""
    env = lib.environment(form.folder("noproc-home", 0o700))
    script = 'mount -t tmpfs none /proc && exec "$0" "$@"'
    for words in (["stats"], ["audit", "verify"], ["approvals"]):
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script, str(form.binary), *words],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=lib.SECONDS,
            **form.identity(),
        )
        check(done.returncode > 0 and "/proc" in done.stderr, f"{words}: {done.returncode} {done.stderr}")


@contextlib.contextmanager
def pids_group(most):
    """A control group for this many processes and threads; None where there is none to be had."""
    for top in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
        folder = pathlib.Path(top) / f"sandgate-test-{os.getpid()}-{most}"
        try:
            folder.mkdir()
            (folder / "pids.max").write_text(str(most))
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        try:
            yield folder / "cgroup.procs"
        finally:
            # The gate makes groups of its own in it.
            inside = [path for path, _, _ in os.walk(folder, topdown=False)]
            for path in inside:
                procs = pathlib.Path(path) / "cgroup.procs"
                wait_until(lambda procs=procs: not procs.exists() or not procs.read_text(), "the group is empty")
                with contextlib.suppress(FileNotFoundError):
                    os.rmdir(path)
        return
    yield None


def check_answers(gate, most):
    """Each call is answered, by what it does or by an error that may be tried again."""
    for i in range(3):
        for result in (
            gate.call("write_file", path=f"f{i}", content="x"),
            gate.call("search", pattern="x"),
            gate.call("run_command", command="echo x", timeout_ms=4000, seconds=30),
        ):
            check(result.get("ok") or result["error"]["retryable"], f"with {most} processes: {result}")
    check(gate.process.poll() is None, f"the gate ended with {most} processes: {gate.said()}")


def few_processes(form):
    """few processes and threads, in a control group or of a user: each call is answered, and the gate lives"""
    rows = [(Place(form, f"pids{most}", {"audit": {"sync": "always"}}), most) for most in (3, 4, 5, 6, 7, 8, 9, 10, 12, 16)]
    if form.is_root:
        beside.together(few_in_a_group, rows)
        return
    for place, most in rows:  # of all that the user has, so one after the other
        with Limited(place, {"u": most}) as gate:
            check_answers(gate, most)


def few_in_a_group(place, most):
    with pids_group(most) as group:
        check(group, "no control group for processes can be made here")
        with Limited(place, group=group) as gate:
            check_answers(gate, most)


def long_account(form):
    """a command that makes 16 protected names of control characters: its outcome comes whole"""
    program = """
names = [chr(i) * 60 for i in range(14, 26)] + [f"{i}{chr(0x20ac) * 25}" for i in range(4)]
for name in names:
    open(name, "w").close()
print("made")
"""
    names = [chr(i) * 60 for i in range(14, 26)] + [f"{i}{chr(0x20ac) * 25}" for i in range(4)]
    place = Place(form, "account", {"files": {"protected": names}})
    form.write(place.workspace / "make.py", program)
    with place.gate() as gate:
        value = gate.ok("run_command", argv=[ran.PYTHON, "make.py"])
        check(value["stdout"] == "made\n" and value["exit_code"] == 0, value)
        told = {v["call"] for v in value["violations"]}
        check(told == {f"quarantined:{name}" for name in names}, value["violations"])


CASES = [
    (case.__doc__, case)
    for case in (
        cancels,
        deep_write,
        deep_list,
        large_content,
        many_commands,
        waiting_commands,
        waiting_for_git,
        no_room_at_all,
        memory,
        large_lines,
        file_size,
        over_the_file_size,
        after_a_command,
        locked_folder,
        long_account,
        no_proc,
        few_processes,
        no_watches,
    )
]

if __name__ == "__main__":
    lib.run_cases(CASES)
