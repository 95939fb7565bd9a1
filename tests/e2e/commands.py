#!/usr/bin/env python3
"""Commands as a caller sees them: how they end, what they read, print, find and see; many at once; whose files they
make; and workspaces with names of all kinds.
"""

import hashlib
import os
import signal
import subprocess
import time

import lib
import ran
from lib import check, wait_until
from ran import PYTHON, Place, bash, ended, output

ALWAYS = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "SANDGATE", "LANG"}
# Nothing is tried again where there is no network.
ALWAYS |= {"npm_config_fetch_retries", "npm_config_update_notifier", "PIP_RETRIES", "PIP_DISABLE_PIP_VERSION_CHECK"}
ALWAYS |= {"CARGO_NET_RETRY", "UV_HTTP_RETRIES"}
OTHER_UID = 54777  # somebody who is neither root nor the plain user


def argv(gate, *words, by="exit", code=0, **more):
    return ended(gate.call("run_command", argv=list(words), **more), by, code)


def how_it_ends(form):
    """exit codes and signals"""
    with Place(form, "ends").gate() as gate:
        for code in (0, 1, 42, 127, 137, 255):
            bash(gate, f"exit {code}", code=code)
            argv(gate, "/bin/sh", "-c", f"exit {code}", code=code)
        for name in ("SEGV", "KILL", "TERM", "USR1", "ABRT", "PIPE", "INT", "HUP"):
            value = bash(gate, f"kill -{name} $$", "signal", f"SIG{name}")
            check("exit_code" not in value, value)
        bash(gate, "kill -40 $$", "signal", "SIG40")
        # What a shell says about its child is an exit code.
        bash(gate, "sh -c 'kill -USR1 $$'; exit $?", code=128 + 10)
        value = bash(gate, "while :; do i=$((i + 1)); [ $i -lt 50000 ] || break; done")
        check(value["cpu_ms"] >= 10 and value["peak_memory"] > 1 << 20 and value["duration_ms"] >= 10, value)


def standard_input(form):
    """standard input: given, empty, absent, 5 MB, unread"""
    with Place(form, "stdin").gate() as gate:
        check(output(gate, "cat", stdin="grüße\n\0") == "grüße\n\0", "as given")
        for more in ({}, {"stdin": ""}):
            check(output(gate, "cat; wc -c", **more) == "0\n", f"{more}: nothing to read")
        big = "".join(f"{i:09d}\n" for i in range(500_000))
        value = bash(gate, "md5sum; cat | wc -c", stdin=big)
        check(value["stdout"].split()[0] == hashlib.md5(big.encode()).hexdigest(), value)
        bash(gate, "true", stdin=big)
        check(output(gate, "head -c 10; exec head -c 10", stdin=big)[:10] == big[:10], "a part of it")
        check(output(gate, "read a; read b; echo $b $a", stdin="one\ntwo\n") == "two one\n", "line by line")
        value = bash(gate, "echo x >&0", code=1, stdin="given")
        check("write error" in value["stderr"], f"nobody writes there: {value}")


def without_a_shell(form):
    """argv: no shell looks at it"""
    place = Place(form, "argv")
    words = ["$HOME `id` $(id) ; | & > x < y * ? ~", " a  b ", "", "'\"\\", "grüße", "-n"]
    with place.gate() as gate:
        value = argv(gate, PYTHON, "-c", "import sys; print(sys.argv[1:])", *words)
        check(value["stdout"] == f"{words}\n", value)
        argv(gate, "true", *["x" * 100] * 500)
        check(not list(place.workspace.iterdir()), "no file")
        form.write(place.workspace / "script", "#!/bin/sh\necho script $1\n").chmod(0o755)
        check(argv(gate, "./script", "one")["stdout"] == "script one\n", "a script of the workspace")
        check(argv(gate, "/workspace/script", "one", cwd=".")["stdout"] == "script one\n", "by its whole path")
        gate.refused("INVALID_ARGUMENTS", "run_command", argv=["true"], command="true")
        gate.refused("INVALID_ARGUMENTS", "run_command", argv=[])


def not_run(form):
    """programs that cannot be run are told apart, with what to do"""
    place = Place(form, "not-run")
    folder = place.workspace
    for name, text, mode in (
        ("text", "no first line\n", 0o755),
        ("plain", "#!/bin/sh\n", 0o644),
        ("strange", "#!/no/such\n", 0o755),
        ("in-workspace", "#!/bin/sh\n", 0o755),
    ):
        form.write(folder / name, text).chmod(mode)
    with place.gate() as gate:

        def refused(codes, word, *words):
            error = gate.refused(codes, "run_command", argv=list(words))
            check(word in error["message"], error)

        refused("NOT_FOUND", "commands.show", "nosuchprogram")
        refused("NOT_FOUND", "commands.show", "in-workspace")
        refused("NOT_FOUND", "commands.show", "ls -l")
        refused("NOT_FOUND", "commands.show", "./none")
        refused("NOT_FOUND", "#!", "./strange")
        refused("NOT_SUPPORTED", "#!", "./text")
        refused("PERMISSION_DENIED", "chmod", "./plain")
        refused("PERMISSION_DENIED", "folder", "/etc")
        value = bash(gate, "nosuchprogram", code=127)
        check("commands.show" in value["hint"] and "not found" in value["stderr"], value)
        error = gate.refused("NETWORK_DENIED", "run_command", command="true", network=["example.com"])
        check("network" in error["message"], error)


def environment(form):
    """the environment is exactly what is documented; the gate's own secrets are nowhere"""
    secret = "only-the-gate-knows"
    given = {"AWS_SECRET_ACCESS_KEY": secret, "LD_LIBRARY_PATH": f"/{secret}", "XDG_RUNTIME_DIR": f"/{secret}"}
    given |= {"BASH_ENV": f"/{secret}", "SSH_AUTH_SOCK": f"/{secret}", "HOMEX": secret, "PYTHONPATH": f"/{secret}"}
    passed = {"LANG": "C", "LC_TIME": "C", "TZ": "UTC", "NO_COLOR": "1", "CI": "1", "GIT_AUTHOR_NAME": "me"}

    def names(gate, **more):
        return dict(line.split("=", 1) for line in argv(gate, "env", **more)["stdout"].splitlines())

    with Place(form, "env").gate(env={**given, **passed}) as gate:
        found = names(gate)
        check(set(found) == ALWAYS | set(passed), f"{sorted(found)}")
        check(all(found[name] == value for name, value in passed.items()), found)
        check((found["HOME"], found["USER"], found["TERM"]) == ("/home/agent", "agent", "dumb"), found)
        found = names(gate, env={"A": "b=c", "HOME": "/tmp", "EMPTY": ""})
        check((found["A"], found["HOME"], found["EMPTY"]) == ("b=c", "/tmp", ""), found)
        look = "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; env; set; mount; ls -la /proc/*/fd"
        text = bash(gate, f"({look}) 2>&1; true")["stdout"]
        check(secret not in text, "the secret is there")
        for name in ("", "A=B", "A\0B"):
            gate.refused("INVALID_ARGUMENTS", "run_command", command="true", env={name: "x"})
    with Place(form, "env-own", {"commands": {"env": ["HOMEX", "AWS_*"]}}).gate(env={**given, **passed}) as gate:
        found = names(gate)
        check(set(found) == ALWAYS | {"HOMEX", "AWS_SECRET_ACCESS_KEY"} and found["LANG"] == "C.UTF-8", f"{sorted(found)}")
    with Place(form, "env-none", {"commands": {"env": []}}).gate(env={"PATH": "/nowhere", "HOME": "/nowhere"}) as gate:
        check(names(gate)["PATH"].startswith("/usr/local/sbin:"), "PATH is the system's")


def working_directory(form):
    """cwd: folders of the workspace, by name and by link, and nothing else"""
    place = Place(form, "cwd")
    folder = place.workspace
    form.folder("cwd-ws/a")
    form.folder("cwd-ws/a/grüße du")
    form.folder("cwd-ws/closed", 0o000)
    form.write(folder / "file", "")
    for link, target in (("in", "a/grüße du"), ("out", "/etc"), ("up", ".."), ("gone", "none"), ("loop", "loop")):
        form.link(folder / link, target)
    with place.gate() as gate:
        for cwd, where in (
            (".", ""),
            ("a", "/a"),
            ("a/grüße du", "/a/grüße du"),
            ("in", "/a/grüße du"),
            ("a/../a", "/a"),
            ("/workspace/a", "/a"),
            (f"{place.workspace}/a", "/a"),
        ):
            check(argv(gate, "pwd", "-P", cwd=cwd)["stdout"] == f"{place.workspace}{where}\n", cwd)
        for cwd, code in (
            ("..", "PATH_OUTSIDE_WORKSPACE"),
            ("/etc", "PATH_OUTSIDE_WORKSPACE"),
            ("/", "PATH_OUTSIDE_WORKSPACE"),
            ("out", "SYMLINK_OUTSIDE_WORKSPACE"),
            ("up", "SYMLINK_OUTSIDE_WORKSPACE"),
            ("none", "NOT_FOUND"),
            ("gone", "NOT_FOUND"),
            ("loop", "NOT_FOUND"),
            ("file", "NOT_A_DIRECTORY"),
            ("closed", "PERMISSION_DENIED"),
        ):
            try:
                gate.refused(code, "run_command", argv=["pwd"], cwd=cwd)
            except AssertionError as error:
                raise AssertionError(f"{cwd}: {error}") from None
        went = output(gate, "cd /; pwd; cd; pwd; cd /workspace/a; pwd; pwd -P").split()
        check(went == ["/", "/home/agent", "/workspace/a", f"{place.workspace}/a"], went)


def path_lookup(form):
    """programs are found along PATH, the call's own where it gives one, and never by an empty or relative entry"""
    place = Place(form, "path")
    form.folder("path-ws/bin")
    for name in ("mine", "ls", "bin/mine", "bin/true"):
        form.write(place.workspace / name, f"#!/bin/sh\necho {name}\n").chmod(0o755)
    with place.gate() as gate:
        check(argv(gate, "mine", env={"PATH": "/none:/workspace/bin:/bin"})["stdout"] == "bin/mine\n", "an own PATH")
        check(argv(gate, "true", env={"PATH": "/workspace/bin:/bin"})["stdout"] == "bin/true\n", "the first one")
        for path in (":/none", ".:/none", "bin", ""):
            gate.refused("NOT_FOUND", "run_command", argv=["mine"], env={"PATH": path})
        check("bin/" not in argv(gate, "ls", "bin")["stdout"], "the system's own comes from PATH")
        check(output(gate, "type -P ls python3 git | head -1").startswith("/"), "in a shell")


def streams(form):
    """stdout keeps its order, stderr is apart, bytes that are no text are replaced"""
    with Place(form, "streams").gate() as gate:
        value = bash(gate, "for i in {1..2000}; do echo $i; [ $((i % 5)) = 0 ] && echo e$i >&2; done; true")
        check(value["stdout"].split() == [str(i) for i in range(1, 2001)], "stdout")
        check(value["stderr"].split() == [f"e{i}" for i in range(5, 2001, 5)], "stderr")
        value = bash(gate, "for i in {1..200}; do sh -c \"echo $i\"; done")
        check(value["stdout"].split() == [str(i) for i in range(1, 201)], "of several processes")
        value = bash(gate, "(echo one; echo two >&2; echo three) 2>&1")
        check(value["stdout"] == "one\ntwo\nthree\n" and value["stderr"] == "", value)
        value = bash(gate, "printf 'a\\377b\\0c\\303'")
        check(value["stdout"] == "a\ufffdb\0c\ufffd", repr(value["stdout"]))
        check(output(gate, "printf 'no newline'") == "no newline", "as it is")
        value = bash(gate, "exec >&- 2>&-; exit 5", code=5)
        check((value["stdout"], value["stderr"]) == ("", ""), value)
        value = bash(gate, "[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none; echo x > /dev/stdout; echo y > /dev/stderr")
        check((value["stdout"], value["stderr"]) == ("none\nx\n", "y\n"), value)
        # The wait for the rest is over when the program is, whoever else could still write.
        began = time.monotonic()
        check(output(gate, "(sleep 30; echo late) & echo now") == "now\n", "what was there")
        check(time.monotonic() - began < 5, "nobody waits for it")


def at_the_same_time(form):
    """32 commands at once: each has its own /tmp, numbers and environment, and they share workspace and home"""
    count = 32
    line = (
        "echo $N > /tmp/mine; touch at-$N; while [ ! -e go ]; do sleep 0.05; done;"
        " echo $(cat /tmp/mine) $(find /tmp -maxdepth 1 -type f) $$ $(ls /proc | grep -c '^[0-9]'); ls -A ~ | wc -l"
    )
    place = Place(form, "many")
    with ran.leaves_nothing(form) as gates, place.gate() as gate:
        gates.add(gate)
        bash(gate, "touch ~/kept")
        calls = {n: gate.send("run_command", command=line, env={"N": str(n)}) for n in range(count)}
        wait_until(lambda: all((place.workspace / f"at-{n}").exists() for n in calls), "all of them run")
        form.write(place.workspace / "go", "")
        for n, call in calls.items():
            mine, files, pid, seen, kept = ended(gate.wait(call))["stdout"].split()
            check((mine, files, kept) == (str(n), "/tmp/mine", "1"), f"{n}: {mine} {files} {kept}")
            check(int(pid) < 10 and int(seen) <= 6, f"{n}: its number is {pid}, it sees {seen} processes")
        check(output(gate, "echo next") == "next\n", "next")
        gate.close_input()
        gate.wait_exit()


def back_to_back(form):
    """200 commands in a row leave no process and no descriptor in gate and launcher"""

    def held(pid):
        return len(os.listdir(f"/proc/{pid}/fd")) if lib.AM_ROOT else 0  # they are not to be looked into

    place = Place(form, "row")
    with ran.leaves_nothing(form) as gates, place.gate() as gate:
        gates.add(gate)
        for _ in range(20):
            argv(gate, "true")
        before = held(gate.pid), held(ran.launcher(gate))
        began = time.monotonic()
        for i in range(200):
            check(argv(gate, "echo", str(i))["stdout"] == f"{i}\n", f"{i}")
        took = time.monotonic() - began
        lib.note(f"{form.name}: {took / 200 * 1000:.1f} ms each")
        wait_until(lambda: len(lib.children(ran.launcher(gate))) <= 2, "no process is left")
        after = held(gate.pid), held(ran.launcher(gate))
        # A few control groups more may be kept for later, but not one a command.
        check(all(a <= b + 40 for a, b in zip(after, before)), f"descriptors: from {before} to {after}")
        gate.close_input()
        gate.wait_exit()


def beside_file_calls(form):
    """file calls and commands at once, each sees what the other did"""
    place = Place(form, "beside")
    with place.gate() as gate:
        lines, ids = [], []
        for i in range(40):
            for name, args in (
                ("write_file", {"path": f"f{i}", "content": f"{i}\n"}),
                ("run_command", {"command": f"echo {i} > c{i}; sleep 0.05; cat c{i}"}),
                ("search", {"pattern": "^1", "path": "."}),
            ):
                call_id, line = gate.line(name, args)
                ids.append(call_id)
                lines.append(line)
        gate.send_raw(b"".join(lines))
        for call_id in ids:
            check(gate.wait(call_id)["ok"], call_id)
        check(output(gate, "cat f? f??").split() == [str(i) for i in range(40)], "files of the tool")
        for i in range(40):
            check(gate.ok("read_file", path=f"c{i}")["content"] == f"{i}\n", "files of commands")


def all_processors(form):
    """commands have all processors, whatever the gate did for calls one at a time, also in a second cell"""
    place = Place(form, "processors")
    place.form.write(place.workspace / "file", "x")
    here = f"{len(os.sched_getaffinity(0))}\n"
    with place.gate() as gate:
        for _ in range(3):
            for _ in range(300):
                gate.ok("read_file", path="file")
            launcher = gate.launcher()
            os.kill(launcher, signal.SIGKILL)
            wait_until(lambda old=launcher: set(lib.children(gate.pid)) - {old}, "the next cell's process")
            check(output(gate, "nproc") == here, "fewer than there are")


def two_gates(form):
    """two gates on one workspace: the same files, nothing else in common"""
    place, other = Place(form, "two"), Place(form, "two-b")
    other.workspace = place.workspace
    mark = ran.mark()
    with place.gate() as a, other.gate() as b:
        bash(a, "echo a > a; touch ~/of-a")
        bash(b, "echo b >> a; touch ~/of-b")
        check(output(a, "cat a; ls ~") == "a\nb\nof-a\n", "one workspace, two homes")
        server = "import socket; s = socket.create_server(('127.0.0.1', 7077)); open('up', 'w').close(); s.accept()"
        call = a.send("run_command", command=f"{PYTHON} -c \"{server}\" {mark}", timeout_ms=20000)
        wait_until((place.workspace / "up").exists, "the server of one")
        client = f"{PYTHON} -c \"import socket; socket.create_connection(('127.0.0.1', 7077))\""
        value = bash(b, f"ls /proc | grep -c '^[0-9]'; {client}", code=1)
        check(int(value["stdout"]) <= 4 and "refused" in value["stderr"], value)
        bash(a, client)
        ended(a.wait(call))


def own_toolchain(form):
    """commands.show and commands.path: a toolchain in a private home is found, read-only; the rest is not"""
    home = form.folder("me", 0o711)
    tools = form.folder("me/.tools")
    form.folder("me/.tools/bin")
    form.write(tools / "bin/compile", "#!/bin/sh\necho compiled by $0\n").chmod(0o755)
    form.write(home / "private", "private")
    shown = {"commands": {"show": [str(tools), str(home / "missing")], "path": [str(tools / "bin")]}}
    with Place(form, "tools", shown).gate() as gate:
        for value in (argv(gate, "compile"), bash(gate, "compile")):
            check(value["stdout"] == f"compiled by {tools}/bin/compile\n", value)
        check(output(gate, "echo $PATH").startswith(f"{tools}/bin:"), "PATH")
        value = bash(gate, f"echo x > {tools}/new; echo x >> {tools}/bin/compile; rm {tools}/bin/compile; ls -A {home}")
        check(value["stdout"] == ".tools\n" and value["stderr"].count("\n") == 3, value)
        check("Read-only file system" in value["stderr"], value)
        check("missing" in gate.said(), "what is not there is told")
    with Place(form, "no-tools").gate() as gate:
        gate.refused("NOT_FOUND", "run_command", argv=["compile"])
        bash(gate, f"ls {home}", code=2)


def whose_files(form):
    """what a command makes belongs to the workspace's owner, with the umask of the gate"""
    owners = [form.uid] if not form.is_root else [0, OTHER_UID]
    for owner in owners:
        place = Place(form, f"owner-{owner}")
        folder = place.workspace
        if form.is_root:
            os.chown(folder, owner, owner)
        with place.gate() as gate:
            bash(gate, "echo x > file; mkdir sub; echo x > sub/file; ln -s file link; cp file copy; chmod 750 copy")
            value = bash(gate, "stat -c '%u %U' . file sub; id -u; touch sub/file; echo y >> file; rm copy")
            check(len({line.split()[0] for line in value["stdout"].splitlines()}) == 1, f"its own, inside: {value}")
            gate.ok("write_file", path="tool", content="x")
            bash(gate, "echo y >> tool; mv tool moved")
            bash(gate, "chmod u+s file; chown 0 file; mknod dev c 1 3", code=1)
        for path in sorted(folder.rglob("*")):
            found = path.lstat()
            whose = found.st_uid, found.st_gid
            check(whose == (owner, owner), f"{path.name} belongs to {whose}, not to {owner}")
        modes = {name: oct((folder / name).stat().st_mode & 0o7777) for name in ("file", "sub", "sub/file")}
        check(modes == {"file": "0o644", "sub": "0o755", "sub/file": "0o644"}, modes)
        check((folder / "file").read_text() == "x\ny\n" and not (folder / "dev").exists(), "contents")


def umask(form):
    """the gate's umask is the command's"""
    place = Place(form, "umask")
    for mask, mode in ((0o077, 0o600), (0o002, 0o664), (0o027, 0o640)):
        done = subprocess.run(
            place.popen_arguments("--", "sh", "-c", f"umask; echo x > file-{mode}"),
            env=lib.environment(place.home),
            umask=mask,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=lib.SECONDS,
            check=True,
            **form.identity(),
        )
        check(done.stdout == f"{mask:04o}\n".encode(), done)
        check((place.workspace / f"file-{mode}").stat().st_mode & 0o777 == mode, f"{mode:o}")


def names_of_workspaces(form):
    """a workspace by a link, with blanks, UTF-8, quotes and a newline in its path"""
    names = "with blanks  two", "grüße-日本", "it's \"$HOME\" `id`", "line\nbreak", "-dash", "a=b,c:d"
    for number, name in enumerate(names):
        place = Place(form, f"names-{number}", workspace=form.folder(f"names/{name}"))
        with place.gate() as gate:
            check(output(gate, "pwd; echo x > file; cat file") == f"{place.workspace}\nx\n", name)
        check((place.workspace / "file").read_text() == "x\n", name)
    real = form.folder("real")
    form.link(form.base / "link-a", "real")
    form.link(form.base / "link-b", form.base / "link-a")
    place = Place(form, "linked", workspace=form.base / "link-b")
    with place.gate() as gate:
        bash(gate, "echo x > through-link")
    check((real / "through-link").read_text() == "x\n", "through two links")
    done = place.run("--", "cat", "through-link")
    check((done.returncode, done.stdout) == (0, b"x\n"), done)


def what_it_sees(form):
    """the system's programs and nothing of the host's homes, processes, devices or network"""
    host_file = form.write(form.base / "host-file", "host")
    with Place(form, "sees").gate() as gate:
        look = "ls /home; ls -A /root 2>&1; ls /dev | sort | xargs; cat /proc/1/comm; ls /sys 2>&1 | head -1"
        lines = output(gate, look).splitlines()
        check(lines[0] == "agent", lines)
        check(not any(word in lines[-3] for word in ("sda", "vda", "kvm", "fuse", "mem ")), lines)
        bash(gate, f"cat {host_file}", code=1)
        bash(gate, "cat /etc/shadow", code=1)
        value = bash(gate, "echo x > /etc/new; echo x > /usr/new; mkdir /new; touch /proc/sys/kernel/hostname", code=1)
        check(value["stderr"].count("\n") == 4, value)
        links = output(gate, f"{PYTHON} -c 'import socket; print([n for _, n in socket.if_nameindex()])'")
        check(links == "['lo']\n", links)
        bash(gate, f"kill -9 {gate.pid}; kill -9 {os.getpid()}; kill -9 1; exit 4", code=4)
        check(gate.process.poll() is None, "the gate lives")
    check(host_file.read_text() == "host", "the host's file")


if __name__ == "__main__":
    ran.main(
        how_it_ends,
        standard_input,
        without_a_shell,
        not_run,
        environment,
        working_directory,
        path_lookup,
        streams,
        at_the_same_time,
        back_to_back,
        beside_file_calls,
        all_processors,
        two_gates,
        own_toolchain,
        whose_files,
        umask,
        names_of_workspaces,
        what_it_sees,
    )
