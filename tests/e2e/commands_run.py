#!/usr/bin/env python3
"""`sandgate run`: the exit status, input and output of one command are those of the program in the sandbox."""

import hashlib
import os
import pty
import select
import signal
import subprocess
import time

import lib
import ran
from lib import check, wait_until
from ran import PYTHON, Place

CANNOT_RUN, NOT_FOUND, OF_SIGNAL = 126, 127, 128


def start(place, *words, **more):
    """The program, in a process group of its own."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "process_group": 0}
    return subprocess.Popen(
        place.popen_arguments(*words), cwd="/", env=lib.environment(place.home),
        **{**options, **more}, **place.form.identity()
    )


def ends(process, seconds=lib.SECONDS):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def done(place, status, *words, **more):
    found = place.run(*words, **more)
    check(found.returncode == status, f"{words}: status {found.returncode}, expected {status}: {found.stderr}")
    return found


def statuses(form):
    """the exit status is the program's; 126, 127 and 128 + N as shells have it"""
    place = Place(form, "status")
    form.write(place.workspace / "plain", "")
    form.write(place.workspace / "text", "text").chmod(0o755)
    for code in (0, 1, 3, 125, 126, 255):
        found = done(place, code, "--", "sh", "-c", f"exit {code}")
        check((found.stdout, found.stderr) == (b"", b""), f"it says nothing of its own: {found}")
    for name in ("KILL", "TERM", "SEGV"):
        done(place, OF_SIGNAL + signal.Signals[f"SIG{name}"], "--", "sh", "-c", f"kill -{name} $$")
    for words in (["nosuchprogram"], ["./none"], ["ls -l"]):
        found = done(place, NOT_FOUND, "--", *words)
        check(found.stderr.startswith(b"sandgate: ") and b"commands.show" in found.stderr, found)
    for words in (["./plain"], ["./text"], ["/etc"]):
        check(b"cannot be run" in done(place, CANNOT_RUN, "--", *words).stderr, words)


def options(form):
    """options before the command, nothing of it is taken for one"""
    place = Place(form, "options", {"commands": {"fileSize": "1m"}})
    form.folder("options-ws/sub")
    check(done(place, 0, "--", "echo", "--help", "--", "-x").stdout == b"--help -- -x\n", "behind --")
    check(done(place, 0, "echo", "--help", "-x").stdout == b"--help -x\n", "without --")
    sub = os.fsencode(place.workspace / "sub") + b"\n"
    check(done(place, 0, "--cwd", "sub", "--", "pwd").stdout == sub, "--cwd")
    check(done(place, 0, "--cwd=sub", "pwd").stdout == sub, "--cwd=")
    done(place, CANNOT_RUN, "--cwd", "none", "--", "pwd")
    check(b"file_size_limit" in done(place, 153, "--", "sh", "-c", "exec yes > file").stderr, "--config counts")
    for words in ([], ["--"], ["--nosuch", "--", "true"], ["--session", "x", "--", "true"], ["--cwd"]):
        check(b"sandgate: " in done(place, 2, *words).stderr, words)
    shown = done(place, 0, "--help").stdout
    check(b"usage: sandgate run" in shown and b"--cwd" in shown and b"127" in shown, shown)


def any_bytes(form):
    """words and folders that are not UTF-8 are passed, and repeated from the log, byte for byte"""
    for number, tail in enumerate((b"\xff", b"\xfe", "\ufffd".encode())):
        name = os.fsdecode(b"n" + tail)
        place = Place(form, "bytes%d" % number, workspace=form.folder("bytes-" + name))
        for word in (b"n\xff", b"n\xfe", "n\ufffd".encode()):
            form.write(place.workspace / os.fsdecode(word), "")
        form.folder(f"bytes-{name}/d{name}")
        done(place, 0, "--", "rm", name)
        left = {os.fsencode(p.name) for p in place.workspace.iterdir()}
        check(b"n" + tail not in left and len(left) == 3, left)
        printed = done(place, 0, "--cwd", "d" + name, "--", "touch", "t")
        check((place.workspace / ("d" + name) / "t").exists(), printed)
        script = form.run(place.home, "audit", "show", "--as", "sh").stdout
        (place.workspace / ("d" + name) / "t").unlink()
        form.write(place.workspace / name, "")
        subprocess.run(["bash"], input=script, check=True)
        check((place.workspace / ("d" + name) / "t").exists(), script)
        check(not (place.workspace / name).exists(), script)


def no_time_limit(form):
    """neither the call's time limit nor that of the configuration ends it"""
    place = Place(form, "time", {"commands": {"maxTimeoutMs": 60_000}, "runtime": {"timeoutSecs": 1}})
    found = done(place, 0, "--", "sh", "-c", "sleep 2.2; echo end")
    check(found.stdout == b"end\n", found)


def standard_input(form):
    """standard input is the program's own: a pipe, a file, nothing, but no folder"""
    place = Place(form, "stdin")
    data = os.urandom(1 << 20) * 8
    found = done(place, 0, "--", "sha256sum", stdin=data)
    check(found.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest(), "8 MiB through a pipe")
    with open("/etc/hostname", "rb") as file:
        check(ends(start(place, "--", "cat", stdin=file))[1] == open("/etc/hostname", "rb").read(), "a file")
    process = start(place, "--", "head", "-1", stdin=subprocess.PIPE)
    process.stdin.write(b"one\n")
    process.stdin.flush()
    check(process.stdout.readline() == b"one\n", "the answer comes while the pipe is open")
    check(process.wait(lib.SECONDS) == 0, "its end does not wait for the pipe's")
    ends(process)
    folder = os.open("/etc", os.O_RDONLY)
    status, _, said = ends(start(place, "--", "true", stdin=folder))
    os.close(folder)
    check(status == 2 and b"folder" in said, said)


def no_descriptors(form):
    """no descriptor but the three comes along"""
    place = Place(form, "fds")
    more = [os.open(path, os.O_RDONLY) for path in ("/etc", "/etc/hostname")]
    status, out, said = ends(start(place, "--", "ls", "/proc/self/fd", pass_fds=more))
    check((status, out.split()) == (0, [b"0", b"1", b"2", b"3"]), f"{status} {out} {said}")
    for fd in more:
        os.close(fd)


def large_output(form):
    """20 MB come through whole, on both streams at once, to a slow reader too"""
    place = Place(form, "large")
    make = "import os, sys; r = os.urandom(1 << 20); [(os.write(1, r), os.write(2, r[::-1])) for i in range(20)]"
    digest = "import hashlib, sys; print(hashlib.md5(sys.stdin.buffer.read()).hexdigest())"
    status, out, said = ends(start(place, "--", PYTHON, "-c", make))
    check((status, len(out), len(said)) == (0, 20 << 20, 20 << 20), f"{status} {len(out)} {len(said)}")
    check(out == out[: 1 << 20] * 20 and said == out[: 1 << 20][::-1] * 20, "contents")
    inside = done(place, 0, "--", PYTHON, "-c", digest, stdin=out).stdout.decode().strip()
    check(inside == hashlib.md5(out).hexdigest(), "md5")
    process = start(place, "--", "seq", "1", "300000")
    lines = 0
    for line in process.stdout:
        lines += 1
        check(line == b"%d\n" % lines, line)
    check(lines == 300_000 and ends(process)[0] == 0, f"{lines} lines")
    check(done(place, 0, "--", "printf", r"\377\0\n\r").stdout == b"\xff\0\n\r", "bytes as they are")


def closed_output(form):
    """`| head -1` ends it, at once and with everything it started"""
    place = Place(form, "closed")
    mark = ran.mark()
    for line in (f"sleep {mark} & yes", f"trap '' PIPE; sleep {mark} & while :; do echo y; done"):
        began = time.monotonic()
        with ran.leaves_nothing(form):
            process = start(place, "--", "bash", "-c", line)
            check(process.stdout.readline() == b"y\n", "the first line")
            process.stdout.close()
            check(process.wait(lib.SECONDS) in (OF_SIGNAL + 15, OF_SIGNAL + 13), f"status {process.returncode}")
            process.stderr.close()
            ran.check_gone(mark)
        check(time.monotonic() - began < 4, "at once")


def full_output(form):
    """output that cannot be written is an error of its own, whatever the command's status"""
    place = Place(form, "full")
    for line in ("echo x", "echo x; exit 3", f"echo x; sleep {ran.mark()}"):
        for where in (">/dev/full", ">&-"):
            words = place.popen_arguments("--", "sh", "-c", line)
            process = subprocess.run(["sh", "-c", f'exec "$@" {where}', "sh", *words], capture_output=True, check=False,
                                     timeout=lib.SECONDS, env=lib.environment(place.home), cwd="/", **form.identity())
            check(process.returncode == 1, f"{line} {where}: {process.returncode} {process.stderr}")
            check(b"standard output cannot be written" in process.stderr, f"{line} {where}: {process.stderr}")


def interrupted(form):
    """Ctrl-C: the command gets SIGTERM, its last words come through, and all is gone"""
    for number in (signal.SIGINT, signal.SIGTERM):
        place = Place(form, f"interrupt-{number}")
        mark = ran.mark()
        with ran.leaves_nothing(form):
            line = f"trap 'echo last words; exit 9' TERM; echo up; sleep {mark} & wait"
            process = start(place, "--", "bash", "-c", line)
            check(process.stdout.readline() == b"up\n", "it runs")
            os.killpg(process.pid, number)
            status, out, said = ends(process, 4)
            check(out == b"last words\n", f"{status} {out} {said}")
            check(status == OF_SIGNAL + signal.SIGTERM, f"status {status}")
            ran.check_gone(mark)


def interrupted_twice(form):
    """who asks twice does not wait for a deaf command"""
    place = Place(form, "twice")
    mark = ran.mark()
    with ran.leaves_nothing(form):
        process = start(place, "--", "bash", "-c", f"trap '' TERM INT; echo up; sleep {mark}")
        check(process.stdout.readline() == b"up\n", "it runs")
        began = time.monotonic()

        def ask():  # two that come together are one
            os.killpg(process.pid, signal.SIGINT)
            return process.poll() is not None

        wait_until(ask, "its end", 4)
        ends(process)
        check(time.monotonic() - began < 3, "at once")
        ran.check_gone(mark)


def killed(form):
    """`sandgate run` itself is killed: nothing of the command is left a second later"""
    place = Place(form, "killed")
    mark = ran.mark()
    process = start(place, "--", "bash", "-c", f"trap '' TERM; setsid -f sleep {mark}; echo up; sleep {mark}")
    check(process.stdout.readline() == b"up\n", "it runs")
    process.kill()
    ran.wait_gone(1, mark)
    process.wait()
    process.stdout.close()
    process.stderr.close()


def terminal(form):
    """started from a terminal: it can be read from and printed to, and Ctrl-C typed there ends the command"""
    place = Place(form, "terminal")
    mark = ran.mark()
    pid, master = pty.fork()
    if pid == 0:
        try:
            if lib.AM_ROOT and not form.is_root:
                os.setgroups([])
                os.setgid(form.uid)
                os.setuid(form.uid)
            words = place.popen_arguments("--", "bash", "-c", f"read line; echo got $line; sleep {mark}")
            os.execve(words[0], words, lib.environment(place.home))
        finally:
            os._exit(99)
    seen = b""

    def read_until(text):
        nonlocal seen
        end = time.monotonic() + lib.SECONDS
        while text not in seen:
            check(time.monotonic() < end, f"{text} did not come: {seen}")
            if select.select([master], [], [], 0.1)[0]:
                seen += os.read(master, 4096)

    wait_until(lambda: ran.marked(mark), "it runs")
    os.write(master, b"typed\n")
    read_until(b"got typed")
    os.write(master, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(master)
    check(os.waitstatus_to_exitcode(status) == OF_SIGNAL + signal.SIGINT, status)
    ran.check_gone(mark)


def violations_told(form):
    """what the sandbox refused is told when the command failed, and only then"""
    place = Place(form, "told")
    packet = f"{PYTHON} -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)' 2>/dev/null"
    check(b"socket:AF_PACKET" in done(place, 1, "--", "sh", "-c", packet).stderr, "told")
    check(done(place, 0, "--", "sh", "-c", f"{packet}; true").stderr == b"", "not told")


if __name__ == "__main__":
    ran.main(
        statuses,
        options,
        any_bytes,
        no_time_limit,
        standard_input,
        no_descriptors,
        large_output,
        closed_output,
        full_output,
        interrupted,
        interrupted_twice,
        killed,
        terminal,
        violations_told,
    )
