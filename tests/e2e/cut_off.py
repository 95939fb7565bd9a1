#!/usr/bin/env python3
"""A command that is cut off before what it made was judged: its gate is killed or hung up, its cell dies, the scan behind
it fails. What it made for programs of the user to obey is told and taken out of the project by the next command; what the
user made, or had before, is left alone.
"""

import contextlib
import json
import os
import signal
import subprocess
import time

import lib
import ran
from boundary import in_a_child
from lib import check, wait_until
from made import Project, whats
from ran import Place

EVIL = "git init -q . && git config core.fsmonitor {program}; mkdir -p .vscode sub; echo x > .vscode/tasks.json; "
EVIL += "echo x > sub/.envrc; git init -q new; touch up; "
TOLD = {"quarantined:.git", "quarantined:.vscode", "created:sub/.envrc", "created:new/.git"}


class Cut(Project):
    """A workspace without a repository, with files that its user has."""

    def __init__(self, form, name):
        super().__init__(form, name, repository=False)
        self.put("mine/.envrc", "mine\n")
        self.put("mine/.vscode/settings.json", "{}")
        self.git("init", "-q", "--bare", "mine/bare")
        self.git("-C", "mine/bare", "config", "core.fsmonitor", "x")
        self.mark = ran.mark()

    def line(self, end=None):
        """A command that has made all of it by the time that `up` is there."""
        return EVIL.format(program=self.program) + (end or f"exec sleep {self.mark}")

    def wait_up(self):
        wait_until((self.workspace / "up").exists, "the command is under way")
        (self.workspace / "up").unlink()

    def start(self, gate, end=None):
        call = gate.send("run_command", command=self.line(end))
        self.wait_up()
        return call

    def popen(self, *arguments, **more):
        options = ["--workspace", self.workspace]
        return subprocess.Popen(
            [str(word) for word in (self.form.binary, arguments[0], *options, *arguments[1:])],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
            env=lib.environment(self.home), **self.form.identity(), **more)

    def kept_mine(self):
        for path in ("mine/.envrc", "mine/.vscode/settings.json", "mine/bare/HEAD"):
            check((self.workspace / path).exists(), f"{path} is gone")

    def check_told(self, value, more=("cut_off",), again=False):
        """`again`: another gate may still know the places of files that were there before, and were removed."""
        told = set(whats(value))
        if again:
            told = {what.replace("replaced:", "created:") for what in told}
        check(told == TOLD | set(more), f"told: {sorted(told)}")
        self.check_clean()

    def check_clean(self):
        check(not (self.workspace / ".git").exists(), ".git is still there")
        check(not (self.workspace / ".vscode/tasks.json").exists(), ".vscode/tasks.json is still there")
        self.kept_mine()
        ran.check_gone(self.mark)
        self.git("status", check_status=False)
        check(not self.bait.exists(), "git ran what an agent chose")

    def check_next(self, again=False):
        """The next gate tells it, once."""
        with self.gate() as gate:
            self.check_told(gate.call("run_command", command="true")["result"], again=again)
            check("quarantine" in gate.said(), gate.said())
            check(whats(gate.call("run_command", command="true")["result"]) == [], "told twice")
            gate.close_input()
            check(gate.wait_exit() == 0, gate.said())

    def check_nothing_left(self):
        left = [str(p) for p in self.store().glob("*.running/*")]
        check(not left, f"left in the state folder: {left}")

    def replace_indexes(self, content):
        """Those of markers; None: they are gone. They are links: what they are links to stays as it is."""
        paths = list(self.store().glob("*.running/*.*"))
        check(paths, "there are no indexes")
        for path in paths:
            path.unlink()
            if content is not None:
                self.form.write(path, content)
        return paths

    def recorded(self):
        records = lib.audit_records(self.home / "sandgate")
        return [r["violations"] for r in records if r.get("violations")]


def killed_gate(form):
    """a gate is killed while a command runs: the next one tells what it made, and takes it out"""
    place = Cut(form, "killed")
    with place.gate() as gate:
        place.start(gate)
        gate.kill()
        gate.wait_exit()
    place.check_next()
    place.check_nothing_left()
    check(any(TOLD <= set(v) for v in place.recorded()), f"recorded: {place.recorded()}")


def as_before_a_restart(marker):
    """As if the machine had been started anew since the marker was set."""
    text = marker.read_bytes()
    boot = open("/proc/sys/kernel/random/boot_id", "rb").read().strip()
    check(text.endswith(boot), text)
    marker.write_bytes(text[:-len(boot)] + b"0" * len(boot))
    os.utime(marker, (1e9, 1e9))


def markers(place):
    return [p for p in place.store().glob("*.running/*") if "." not in p.name]


def restarted(form):
    """what was made since the machine was started anew is no work of a command that was cut off before"""
    place = Cut(form, "restarted")
    with place.gate() as gate:
        place.start(gate)
        gate.kill()
        gate.wait_exit()
    ran.wait_gone(lib.SECONDS, place.mark)
    (marker,) = markers(place)
    as_before_a_restart(marker)
    place.put(".envrc", "mine\n")
    with place.gate() as gate:
        value = gate.call("run_command", command="echo x > .npmrc")["result"]
        check(whats(value) == ["quarantined:.npmrc"], whats(value))
        check("cut off" not in gate.said(), gate.said())
        check(whats(gate.call("run_command", command="true")["result"]) == [], "told later")
        gate.close_input()
        check(gate.wait_exit() == 0, gate.said())
    for path in (".envrc", ".git", ".vscode/tasks.json", "sub/.envrc"):
        check((place.workspace / path).exists(), f"{path} is gone")
    place.kept_mine()
    place.check_nothing_left()


@contextlib.contextmanager
def small_store(place):
    """The workspaces' folder of the state is a small disk."""
    store = place.home / "sandgate/workspaces"
    with place.form.acting():
        store.mkdir(mode=0o700, parents=True)
        (place.home / "sandgate").chmod(0o700)
    with lib.tmpfs(place.form, store, "1m"):
        if lib.AM_ROOT:
            os.chown(store, place.form.uid, place.form.uid)
        store.chmod(0o700)
        yield store


def fill(path):
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass


def settle(place, store):
    """Gates run commands until none of them writes the index anew: folders that changed just before are looked at again."""
    before = None
    for _ in range(lib.SECONDS):
        with place.gate() as gate:
            ran.bash(gate, "true")
            gate.close_input()
            gate.wait_exit()
        now = [(path, path.stat().st_ino) for path in store.glob("*/guards-*")]
        if now and now == before:
            return
        before = now
    raise AssertionError(f"the index is written again and again: {now}")


def refused_for_the_disk(place, gate, code, words):
    """The refusal of a command, which has not run; `words` are in its message."""
    result = gate.call("run_command", command="touch ran")
    error = lib.expect_error(result, code)
    check(all(word in error["message"] for word in words), error)
    check(not (place.workspace / "ran").exists(), "it ran")
    return result["error"]["retryable"]


def full_disk(form):
    """no room for the marker or the index: no command runs, and the answer says which file, what to do, and that it may be repeated"""
    lib.own_mounts()
    place = Cut(form, "full-disk")
    with small_store(place) as store:
        settle(place, store)
        with place.gate() as gate:
            gate.ok("stat", path=".")
            fill(store / "filler")
            check(refused_for_the_disk(place, gate, "DISK_FULL", (".running", "make room")), "not to be repeated")
            (store / "filler").unlink()
            ran.bash(gate, "true")
            fill(store / "filler")
            place.put("sub/.env", "TOKEN=1\n")
            check(refused_for_the_disk(place, gate, "DISK_FULL", ("guards-0", "make room")), "not to be repeated")
            (store / "filler").unlink()
            ran.bash(gate, "true")


def read_only_disk(form):
    """the same where the disk cannot be written: repeating is of no use"""
    lib.own_mounts()
    place = Cut(form, "read-only-disk")
    with small_store(place) as store:
        settle(place, store)
        with place.gate() as gate:
            gate.ok("stat", path=".")
            lib.make_read_only(store)
            check(not refused_for_the_disk(place, gate, "INTERNAL", (".running", "can be written")), "to be repeated")
            place.put("sub/.env", "TOKEN=1\n")
            check(not refused_for_the_disk(place, gate, "INTERNAL", ("guards-0", "can be written")), "to be repeated")


def restarted_and_killed(form):
    """where a command of this start of the machine was cut off, too, nothing can be told apart"""
    place = Cut(form, "both")
    for number in range(2):
        with place.gate() as gate:
            gate.send("run_command", command=place.line() if number else f"touch up; exec sleep {place.mark}")
            place.wait_up()
            gate.kill()
            gate.wait_exit()
        ran.wait_gone(lib.SECONDS, place.mark)
        if number == 0:
            # Kept aside, so that the second gate does not take it over.
            (first,) = markers(place)
            as_before_a_restart(first)
            aside = first.rename(place.home / "aside")
            index = [(p, p.rename(place.home / p.name)) for p in place.store().glob(f"*.running/{first.name}.*")]
    aside.rename(first)
    for at, kept in index:
        kept.rename(at)
    place.check_next()


def killed_later(form):
    """the same behind commands that were judged"""
    place = Cut(form, "later")
    with place.gate() as gate:
        value = gate.call("run_command", command="mkdir a; echo x > a/.envrc")["result"]
        check(whats(value) == ["created:a/.envrc"], whats(value))
        check(whats(gate.call("run_command", command="true")["result"]) == [], "told twice")
        place.start(gate)
        gate.kill()
        gate.wait_exit()
    place.check_next()


def killed_twice(form):
    """a second gate is killed before its first command was answered"""
    place = Cut(form, "twice")
    for line in (place.line(), f"touch up; exec sleep {place.mark}"):
        with place.gate() as gate:
            gate.send("run_command", command=line)
            place.wait_up()
            gate.kill()
            gate.wait_exit()
    place.check_next()
    place.check_nothing_left()


def killed_one_shots(form):
    """`run` and `call` are killed"""
    for number, arguments in enumerate((
        lambda place: ("run", "--", "sh", "-c", place.line()),
        lambda place: ("call", "run_command", json.dumps({"command": place.line()})),
    )):
        place = Cut(form, f"shot{number}")
        process = place.popen(*arguments(place))
        place.wait_up()
        process.kill()
        process.communicate(timeout=lib.SECONDS)
        done = place.run("--", "true")
        check(done.returncode == 0 and b"sub/.envrc" in done.stderr and b"cut off" in done.stderr, f"{done.stderr}")
        check(b"made by the command" not in done.stderr and b"made by a command," not in done.stderr, f"{done.stderr}")
        place.check_clean()


def hung_up_run(form):
    """`run` is hung up: what its command made is taken out before it ends"""
    place = Cut(form, "hup")
    process = place.popen("run", "--", "sh", "-c", place.line())
    place.wait_up()
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=lib.SECONDS)
    check(process.returncode > 128 and b"quarantine" in errors, f"{process.returncode}: {errors}")
    place.check_clean()
    # Its answer had no room for what stays where it is.
    with place.gate() as gate:
        value = gate.call("run_command", command="true")["result"]
        check(set(whats(value)) == {"created:sub/.envrc", "created:new/.git", "cut_off"}, whats(value))


def asked_to_end(form):
    """`run` and `call` are asked to end: what the command made is taken out and told before they do"""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        for kind in ("run", "call"):
            place = Cut(form, f"{kind}{number.name}")
            call = ("run_command", json.dumps({"command": place.line()}))
            process = place.popen(kind, *(("--", "sh", "-c", place.line()) if kind == "run" else call))
            place.wait_up()
            process.send_signal(number)
            output, errors = process.communicate(timeout=lib.SECONDS)
            check(process.returncode > 0, f"{kind} {number.name}: {process.returncode}")
            check(b"sandgate quarantine restore" in errors, f"{kind} {number.name}: {errors}")
            check(kind == "run" or json.loads(output)["error"]["code"] == "CANCELLED", f"{output}")
            place.check_clean()


def ended_gate(form):
    """a serving gate is hung up or told to quit: it answers and ends as with SIGTERM"""
    for number in (signal.SIGHUP, signal.SIGQUIT):
        place = Cut(form, f"gate{number.name}")
        with place.gate() as gate:
            call = place.start(gate)
            gate.kill(number)
            lib.expect_error(gate.wait(call), "CANCELLED")
            check(gate.wait_exit() == 0, gate.said())
            check("quarantine" in gate.said(), gate.said())
        place.check_clean()


def not_hung_up(form):
    """who is started with SIGHUP ignored goes on"""
    place = Cut(form, "nohup")
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    process = place.popen("run", "--", "sh", "-c", "touch up; until [ -e go ]; do sleep 0.05; done; exit 7",
                          preexec_fn=ignore)
    place.wait_up()
    process.send_signal(signal.SIGHUP)
    place.put("go", "")
    process.communicate(timeout=lib.SECONDS)
    check(process.returncode == 7, f"`run` ended with {process.returncode}")
    with place.gate(under=["nohup"]) as gate:
        gate.call("run_command", command="true")
        gate.kill(signal.SIGHUP)
        check(gate.call("run_command", command="exit 8")["result"]["exit_code"] == 8, "the gate")


def failed_scan(form):
    """the scan behind a command fails, and its gate ends"""
    if not lib.AM_ROOT:
        lib.note("only root gives folders away")
        return
    place = Cut(form, "failed")
    with place.gate() as gate:
        call = place.start(gate, "until [ -e go ]; do sleep 0.05; done")
        os.chown(place.workspace, 12345, 12345)
        place.workspace.chmod(0o711)
        (place.workspace / "go").touch()
        value = gate.wait(call)["result"]
        check(whats(value) == ["scan:failed"], whats(value))
        gate.close_input()
        check(gate.wait_exit() == 0, gate.said())
    os.chown(place.workspace, form.uid, form.uid)
    place.workspace.chmod(0o755)
    place.check_next()


def dead_cell(form):
    """the cell dies in the middle of a command: the next command of the gate tells"""
    for number, victim in enumerate((ran.launcher, ran.worker)):
        place = Cut(form, f"cell{number}")
        with place.gate() as gate:
            call = place.start(gate)
            os.kill(victim(gate), signal.SIGKILL)
            lib.expect_error(gate.wait(call), "INTERRUPTED")
            place.check_told(gate.call("run_command", command="true")["result"])
            check(whats(gate.call("run_command", command="true")["result"]) == [], "told twice")


def two_gates(form):
    """what a command of a living gate made is that gate's to judge; when that is killed, the next one's"""
    place = Cut(form, "two")
    with place.gate() as first, place.gate() as second:
        call = place.start(first, "until [ -e go ]; do sleep 0.05; done")
        check(whats(second.call("run_command", command="true")["result"]) == [], "the second gate told")
        check((place.workspace / ".git").exists(), "the second gate took it out")
        place.put("go", "")
        place.check_told(first.wait(call)["result"], ())
        (place.workspace / "go").unlink()
        subprocess.run(["rm", "-r", "sub", "new"], cwd=place.workspace, check=True)
        check(whats(first.call("run_command", command="true")["result"]) == [], "told twice")
        place.start(first)
        first.kill()
        first.wait_exit()
        place.check_next(again=True)
        check(whats(second.call("run_command", command="true")["result"]) == [], "told by the other gate, too")


def other_gate_lives(form):
    """a gate is killed while another one lives: that one tells"""
    place = Cut(form, "lives")
    with place.gate() as first, place.gate() as second:
        second.call("run_command", command="mkdir a; echo x > a/.envrc")
        place.start(first)
        # A command of the second one tells of it if it came up since the last scan there.
        told = whats(second.call("run_command", command="true")["result"])
        first.kill()
        first.wait_exit()

        def ask():
            told.extend(whats(second.call("run_command", command="true")["result"]))
            return "cut_off" in told

        wait_until(ask, "it is told")
        check(set(told) == TOLD | {"cut_off"}, f"told: {sorted(told)}")
        check(whats(second.call("run_command", command="true")["result"]) == [], "told twice")
        place.check_clean()


def resting_gate(form):
    """a gate is killed while no command runs: what its user makes then is left alone"""
    place = Cut(form, "rest")
    with place.gate() as gate:
        check(whats(gate.call("run_command", command="true")["result"]) == [], "nothing was made")
        gate.kill()
        gate.wait_exit()
    place.put(".envrc", "mine\n")
    place.git("init", "-q", ".")
    place.git("config", "core.fsmonitor", "false")
    with place.gate() as gate:
        check(whats(gate.call("run_command", command="true")["result"]) == [], "told")
    check((place.workspace / ".git").exists() and (place.workspace / ".envrc").exists(), "it was taken out")


def nothing_made(form):
    """a command that made nothing of that kind is cut off: nothing is told"""
    place = Cut(form, "nothing")
    with place.gate() as gate:
        gate.send("run_command", command=f"echo x > plain.txt; touch up; exec sleep {place.mark}")
        place.wait_up()
        gate.kill()
        gate.wait_exit()
    with place.gate() as gate:
        check(whats(gate.call("run_command", command="true")["result"]) == [], "told")
        check("cut off" not in gate.said(), gate.said())


def no_index(form):
    """what was there before is not known: all protected names are told and none is moved"""
    for number, content in enumerate((None, b"x" * 500, b"")):
        place = Cut(form, f"index{number}")
        with place.gate() as gate:
            place.start(gate)
            gate.kill()
            gate.wait_exit()
        place.replace_indexes(content)
        with place.gate() as gate:
            told = set(whats(gate.call("run_command", command="true")["result"]))
            wanted = {"cut_off", "unjudged:.git", "unjudged:mine/.envrc", "unjudged:mine/bare", "unjudged:sub/.envrc"}
            check(wanted <= told and not any(w.startswith("quarantined") for w in told), f"told: {sorted(told)}")
            check("cut off" in gate.said(), gate.said())
            check(whats(gate.call("run_command", command="true")["result"]) == [], "told twice")
        check((place.workspace / ".git").exists(), "it was taken out")
        place.kept_mine()


def processes_that_live(form):
    """processes of a dead gate's cell have not ended: a command waits for them, and other calls do not wait with it"""
    place = Cut(form, "living")
    with place.gate() as gate:
        place.start(gate)
        gate.kill()
        gate.wait_exit()
    wait_until(lambda: not ran.marked(place.mark), "the command is gone")
    other = subprocess.Popen(["sleep", ran.mark()], start_new_session=True)
    with contextlib.ExitStack() as last, place.gate() as gate:
        last.callback(other.wait)
        last.callback(other.kill)
        noted = f"{other.pid} {int(time.clock_gettime(time.CLOCK_BOOTTIME)) * os.sysconf('SC_CLK_TCK') + 1000}\n"
        (marker,) = [p for p in place.store().glob("*.running/*") if "." not in p.name]
        with open(marker, "r+b") as file:
            file.seek(1)
            file.write(noted.encode().ljust(48, b"\0"))
        gate.ok("stat", path=".")
        call = gate.send("run_command", command="touch began")
        cancelled = gate.send("run_command", command="touch never", call_id="never")
        for _ in range(300):
            gate.ok("stat", path="mine/bare")
        check(not (place.workspace / "began").exists(), "the command did not wait")
        gate.send_raw(b'{"cancel":"never"}\n')
        lib.expect_error(gate.wait(cancelled), "CANCELLED")
        last.close()
        place.check_told(gate.wait(call)["result"])
        check((place.workspace / "began").exists(), "the command did not run")
        check(not (place.workspace / "never").exists(), "the cancelled command ran")


def large_index(form):
    """an index as large as one may be takes no memory of the gate"""
    place = Cut(form, "large")
    with place.gate() as gate:
        place.start(gate)
        gate.kill()
        gate.wait_exit()
    for path in place.replace_indexes(b""):
        os.truncate(path, 1 << 30)
    with place.gate() as gate:
        told = whats(gate.call("run_command", command="true")["result"])
        check("cut_off" in told and "unjudged:.git" in told, f"told: {told}")
        gate.check_memory()


def other_rules(form):
    """the command itself changed the rules about files: what it made is taken out, what is older is told"""
    place = Cut(form, "rules")
    with place.gate() as gate:
        call = """echo '{"files": {"secret": ["made-up-name"]}}' > sandgate.json; """ + place.line()
        gate.send("run_command", command=call)
        place.wait_up()
        gate.kill()
        gate.wait_exit()
    with place.gate() as gate:
        told = set(whats(gate.call("run_command", command="true")["result"]))
        check(TOLD | {"cut_off", "quarantined:sandgate.json", "unjudged:mine/.envrc"} <= told, f"told: {sorted(told)}")
    place.check_clean()


def another_folder(form):
    """the folder was replaced by its user: what is in the new one is told and left alone"""
    place = Cut(form, "folder")
    with place.gate() as gate:
        place.start(gate)
        gate.kill()
        gate.wait_exit()
    wait_until(lambda: not ran.marked(place.mark), "the command is gone")
    os.rename(place.workspace, f"{place.workspace}-old")
    place.workspace.mkdir()
    form.own(place.workspace)
    place.put(".envrc", "mine\n")
    with place.gate() as gate:
        told = whats(gate.call("run_command", command="true")["result"])
        check(told == ["cut_off", "unjudged:.envrc"], f"told: {told}")
    check((place.workspace / ".envrc").exists(), "it was taken out")


if __name__ == "__main__":
    ran.main(
        killed_gate,
        restarted,
        restarted_and_killed,
        killed_later,
        killed_twice,
        killed_one_shots,
        hung_up_run,
        asked_to_end,
        ended_gate,
        not_hung_up,
        failed_scan,
        dead_cell,
        two_gates,
        other_gate_lives,
        resting_gate,
        nothing_made,
        no_index,
        processes_that_live,
        large_index,
        other_rules,
        another_folder,
        in_a_child(full_disk),
        in_a_child(read_only_disk),
    )
