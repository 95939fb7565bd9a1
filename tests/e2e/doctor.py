#!/usr/bin/env python3
"""`sandgate doctor` tells what the sandbox enforces, what is missing and why; the error of a gate that has no sandbox
names the same cause; `sandbox.require` refuses a start. Prints TAP."""

import json
import os
import pty
import re
import subprocess

import lanes
import lib
from lib import check

CELL = ["landlock", "seccomp"]
FULL = ["user_namespaces", "namespaces", "mounts", "root_mounts", "proc", "openat2"]
GROUPS = ["cgroup_memory", "cgroup_processes", "cgroup_cpu"]
IN_NAMESPACES = ["namespaces", "mounts", "proc", "overlay"]
REQUIRED = {"sandbox": {"require": "full"}}


class Place:
    def __init__(self, form, name):
        self.form = form
        self.workspace = form.folder(f"{name}/ws")
        self.home = form.folder(f"{name}/home", 0o700)
        self.kept = self.home / "sandgate" / "sandbox.json"
        form.write(self.workspace / "a.txt", "hello\n")

    def run(self, *argv, lane=None, env=None):
        return subprocess.run(
            [str(self.form.binary), *map(str, argv)],
            capture_output=True, text=True, timeout=lib.SECONDS, cwd=self.workspace, check=False,
            env=lib.environment(self.home, env), preexec_fn=lane, stdin=subprocess.DEVNULL,
            **self.form.identity(),
        )

    def doctor(self, lane=None, **more):
        done = self.run("doctor", "--json", lane=lane, **more)
        check(not done.stderr, done.stderr)
        told = json.loads(done.stdout)
        check(told["status"] == done.returncode, f"status {told['status']}, exit {done.returncode}")
        told["mechanisms"] = {one["name"]: one for one in told["mechanisms"]}
        return told

    def call(self, tool="read_file", arguments=None, lane=None):
        done = self.run("call", tool, json.dumps(arguments or {"path": "a.txt"}), lane=lane)
        check(done.stdout, f"no answer: {done.stderr}")
        return json.loads(done.stdout)

    def config(self, config):
        return self.form.write(self.home / "config.json", json.dumps(config))


def missing(told):
    return {name for name, one in told["mechanisms"].items() if one["available"] == "no"}


COMMAND = ("run_command", {"command": "true"})


def check_refused(place, lane, told, names, cause, fix):
    """Nothing runs: doctor and the error of a call say the same."""
    check(told["tier"] == "none" and told["status"] == 2, told)
    check(missing(told) - set(GROUPS) == set(names), missing(told))
    first = told["mechanisms"][names[0]]
    check(cause in first["cause"] and (fix or "") in (first["fix"] or ""), first)
    check(bool(fix) == bool(first["fix"]), first)
    answer = place.call(lane=lane)
    check(answer["ok"] is False and answer["error"]["code"] == "SANDBOX_UNAVAILABLE", answer)
    check(answer["error"]["details"]["tier"] == "none", answer)
    message = answer["error"]["message"]
    check(message.startswith(first["cause"]) and "sandgate doctor" in message, message)
    check(not fix or f"run: {first['fix']}" in message, message)


def check_weaker(place, lane, told, names, cause, fix, tier="landlock"):
    """Files can be read and written in the tier `landlock`; a command's error and doctor say the same."""
    check(told["tier"] == "landlock" and told["status"] == 1 and told["problem"] is None, told)
    # A lane in a user namespace leaves root without rights over the machine's mounts.
    check(missing(told) - {*GROUPS, "root_mounts"} == set(names) - {"root_mounts"}, missing(told))
    enforces = told["enforces"]
    held = [enforces[key] for key in ("files", "network", "processes", "seccomp")]
    check(held == ["landlock", "seccomp", "seccomp", True] and enforces["landlock"] > 0, enforces)
    check(enforces["limits"] == {"memory": "nothing", "processes": "nothing", "cpu": "nothing"}, enforces)
    first = told["mechanisms"][names[0]]
    check(cause in first["cause"] and (fix or "") in (first["fix"] or ""), first)
    check(bool(fix) == bool(first["fix"]), first)
    for number in range(2):  # what was found before counts the second time
        answer = place.call(lane=lane)
        check(answer["ok"] and answer["result"]["tier"] == tier, f"call {number}: {answer}")
    answer = place.call(*COMMAND, lane=lane)
    check(answer["ok"] is False and answer["error"]["code"] == "SANDBOX_UNAVAILABLE", answer)
    check(answer["error"]["details"]["tier"] == "none", answer)
    message = answer["error"]["message"]
    check(message.startswith(first["cause"]) and "`landlock`" in message and "sandgate doctor" in message, message)
    check(not fix or f"run: {first['fix']}" in message, message)


def as_it_is(form):
    """tells the sandbox of this machine, and calls run in it"""
    place = Place(form, "plain")
    told = place.doctor()
    check(told["tier"] == "full" and told["problem"] is None, told)
    check(missing(told) <= {*GROUPS, "overlay", "idmapped_mounts"}, missing(told))
    check(told["status"] == (1 if missing(told) else 0), told["status"])
    enforces = told["enforces"]
    held = [enforces[key] for key in ("files", "guards", "network", "processes", "seccomp")]
    check(held == ["mounts", "mount covers", "namespace", "namespace", True], enforces)
    check(enforces["landlock"] == told["mechanisms"]["landlock"]["version"] > 0, enforces)
    idmap = told["mechanisms"]["idmapped_mounts"]["available"]
    check((idmap == "not needed") == (not form.is_root), idmap)
    answer = place.call()
    check(answer["ok"] and answer["result"]["tier"] == "full", answer)
    limits = place.call(*COMMAND)["result"].get("limits")
    by_groups = told["enforces"]["limits"]["memory"] != "watched"
    check((limits != "watched") == by_groups, f"{limits}, {told['enforces']['limits']}")


def in_docker(form):
    """a filter as Docker's is named"""
    place = Place(form, "docker")
    told = place.doctor(lane=lanes.docker_filter)
    fix = "docker run" if os.path.exists("/.dockerenv") else None
    check_weaker(place, lanes.docker_filter, told, ["user_namespaces", *IN_NAMESPACES, *idmap_of(form)],
                  "system call filter", fix)


def idmap_of(form):
    """Root's owner mapping takes a user namespace."""
    return ["idmapped_mounts"] if form.is_root else []


def no_user_namespaces(form):
    """user.max_user_namespaces of 0 is named, and the command that changes it"""
    place = Place(form, "userns")
    told = place.doctor(lane=lanes.no_user_namespaces)
    check_weaker(place, lanes.no_user_namespaces, told, ["user_namespaces", *IN_NAMESPACES, *idmap_of(form)],
                  "user namespaces are switched off (user.max_user_namespaces is 0)",
                  "sysctl -w user.max_user_namespaces=")


def no_network_namespaces(form):
    """so are the limits of other namespaces"""
    place = Place(form, "netns")
    told = place.doctor(lane=lanes.no_network_namespaces)
    extra = idmap_of(form) if "idmapped_mounts" in missing(told) else []
    check_weaker(place, lanes.no_network_namespaces, told, [*IN_NAMESPACES, *extra],
                  "network namespaces are switched off (user.max_net_namespaces is 0)",
                  "sysctl -w user.max_net_namespaces=")


def no_landlock(form):
    """a filter that hides or refuses Landlock is named"""
    for number, lane in enumerate((lanes.no_landlock, lanes.landlock_refused)):
        place = Place(form, f"landlock{number}")
        told = place.doctor(lane=lane)
        fix = "docker run" if os.path.exists("/.dockerenv") else None
        check_refused(place, lane, told, ["landlock"], "filter refuses this (Landlock", fix)
        check(told["enforces"]["landlock"] == 0, told["enforces"])


def masked_proc(form):
    """a /proc with covered parts is named; a single call of a file tool needs none"""
    place = Place(form, "proc")
    told = place.doctor(lane=lanes.masked_proc)
    # The owner mapping of root does not need it.
    extra = sorted(missing(told) & {"overlay", "idmapped_mounts"})
    fix = "docker run" if os.path.exists("/.dockerenv") else None
    check_weaker(place, lanes.masked_proc, told, ["proc", *extra], f"({lanes.MASKED})", fix, tier="full")


def rights_of_containers(form):
    """root with the capabilities that a container leaves it has the weaker tier; a user needs none"""
    place = Place(form, "rights")
    told = place.doctor(lane=lanes.container_rights)
    if form.is_root:
        check_weaker(place, lanes.container_rights, told, ["root_mounts", "idmapped_mounts"], "CAP_SYS_ADMIN", None)
    else:
        check(told["tier"] == "full" and place.call(lane=lanes.container_rights)["result"]["tier"] == "full", told)


def no_listener(form):
    """files can be read without a listener for filtered calls; commands say why they do not start"""
    place = Place(form, "listener")
    told = place.doctor(lane=lanes.listener_taken)
    check(told["tier"] == "full" and told["status"] == 1, told)
    lacks = told["mechanisms"]["seccomp_notify"]
    check(lacks["available"] == "no" and "answers filtered calls already" in lacks["cause"], lacks)
    check(place.call(lane=lanes.listener_taken)["ok"], "a file tool")
    answer = place.call(*COMMAND, lane=lanes.listener_taken)
    check(answer["ok"] is False and answer["error"]["code"] == "SANDBOX_UNAVAILABLE", answer)
    check(answer["error"]["message"].startswith(lacks["cause"]), answer)


def no_cgroups(form):
    """limits without control groups are told as watched, and everything runs"""
    place = Place(form, "cgroups")
    told = place.doctor(lane=lanes.no_cgroups)
    check(told["tier"] == "full" and told["status"] == 1, told)
    check(set(GROUPS) <= missing(told), missing(told))
    check(told["enforces"]["limits"] == {"memory": "watched", "processes": "watched", "cpu": "nothing"}, told)
    answer = place.call(*COMMAND, lane=lanes.no_cgroups)
    check(answer["ok"] and answer["result"]["limits"] == "watched", answer)


def keeping(form):
    """only doctor and sandbox.require look; what they find is kept for the user alone"""
    place = Place(form, "kept")
    check(place.call()["ok"] and not place.kept.exists(), "an ordinary call looked")
    place.doctor()
    check(place.kept.stat().st_mode & 0o7777 == 0o600, oct(place.kept.stat().st_mode))
    first = place.kept.stat().st_ino, place.kept.stat().st_mtime_ns
    config = place.config(REQUIRED)
    done = place.run("call", "time.now", "{}", "--config", config)
    check(done.returncode == 0, done)
    check((place.kept.stat().st_ino, place.kept.stat().st_mtime_ns) == first, "it was tried again")
    for damage in ("", "{", "[]", '{"for":1}', place.kept.read_text().replace('"yes"', '"maybe"')):
        form.write(place.kept, damage)
        done = place.run("call", "time.now", "{}", "--config", config)
        check(done.returncode == 0 and len(place.kept.read_text()) > 500, f"{damage[:40]}: {done}")


def required(form):
    """a gate that cannot have the required sandbox does not start, whatever was kept"""
    place = Place(form, "required")
    config = place.config(REQUIRED)
    check(place.run("call", "time.now", "{}", "--config", config).returncode == 0, "it can be had")
    for argv in (["call", "time.now", "{}"], ["stdio"], ["mcp"], ["run"]):
        more = ["--", "true"] if argv == ["run"] else []
        done = place.run(*argv, "--config", config, *more, lane=lanes.no_landlock)
        check(done.returncode == 2 and not done.stdout, f"{argv}: {done}")
        check("Landlock" in done.stderr and "sandbox.require is full" in done.stderr, done.stderr)
    check(place.run("call", "time.now", "{}", "--config", config).returncode == 0, "it can be had again")
    done = place.run("call", "time.now", "{}", "--config", config, lane=lanes.docker_filter)
    check(done.returncode == 2 and "sandbox.require is full, and this machine allows landlock" in done.stderr, done)
    enough = place.config({"sandbox": {"require": "landlock"}})
    for lane in (None, lanes.docker_filter):
        check(place.run("call", "time.now", "{}", "--config", enough, lane=lane).returncode == 0, f"landlock: {lane}")
    place.kept.unlink()  # of another filter, which looks the same from inside
    check(place.run("call", "time.now", "{}", "--config", enough, lane=lanes.no_landlock).returncode == 2, "none")
    done = place.run("call", "time.now", "{}", "--config", place.config({"sandbox": {"require": "none"}}))
    check(done.returncode == 2 and "sandbox.require is none" in done.stderr, done)
    told = place.run("doctor", "--json", "--config", place.home / "config.json")
    check(told.returncode == 2 and "none" in json.loads(told.stdout)["problem"], told)
    form.write(place.workspace / "sandgate.json", json.dumps({"sandbox": {"require": "none"}}))
    done = place.run("call", "read_file", '{"path":"a.txt"}', "--config", place.config(REQUIRED))
    check(done.returncode == 0 and "sandbox.require" in done.stderr, f"the workspace's file was not left out: {done}")


def agents(form):
    """agents and their settings are found; what they are called does nothing to a terminal"""
    place = Place(form, "agents")
    bad = form.folder("agents/bin\x1b]0;x\x07\u202e")
    for name in ("claude", "codex", "qwen"):
        form.write(bad / name, "#!/bin/sh\n").chmod(0o755)
    (bad / "qwen").chmod(0o644)
    form.write(place.home / ".claude.json", '{"mcpServers":{"sandgate":{"command":"sandgate"}}}')
    form.folder("agents/home/.codex")
    form.write(place.home / ".codex" / "config.toml", "[mcp_servers.other]\n")
    env = {"PATH": f"relative:{bad}"}
    found = {one["name"]: one for one in place.doctor(env=env)["agents"]}
    check(set(found) == {"claude", "codex"}, found)
    check(found["claude"]["settings"] == str(place.home / ".claude.json"), found)
    check(found["codex"]["settings"] is None and found["codex"]["program"] == str(bad / "codex"), found)
    text = place.run("doctor", env=env).stdout
    check("\x1b" not in text and "\u202e" not in text and "bin\\e]0;x\\x07" in text, text)
    check("its settings name sandgate" in text and "do not name sandgate" in text, text)


def on_a_terminal(place, env):
    ours, theirs = pty.openpty()
    started = subprocess.Popen([str(place.form.binary), "doctor"], stdin=theirs, stdout=theirs, stderr=theirs,
                               cwd="/", env=lib.environment(place.home, env), **place.form.identity())
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:  # how the end of a terminal is told
        pass
    os.close(ours)
    started.wait(lib.SECONDS)
    return text.decode()


def for_people(form):
    """colours only on a terminal that has them; help; a state folder that cannot be used"""
    place = Place(form, "text")
    text = place.run("doctor").stdout
    check(text.startswith("Sandbox: full\n") and "\x1b" not in text, text)
    check("\x1b[32myes\x1b[0m" in on_a_terminal(place, {"TERM": "xterm"}), "no colours")
    for env in ({"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}):
        check("\x1b[3" not in on_a_terminal(place, env), env)
    done = place.run("doctor", "--help")
    check(done.returncode == 0 and "usage: sandgate doctor" in done.stdout, done)
    check(place.run("doctor", "more").returncode == 2, "a word too many")
    (place.home / "sandgate").chmod(0o755)
    told = place.doctor()
    check(told["status"] == 2 and "must be yours alone" in told["problem"], told)


def documented(form):
    """the rows are those of docs/THREATS.md, in that order"""
    text = (lib.ROOT / "docs/THREATS.md").read_text(encoding="utf-8")
    table = re.search(r"<!-- mechanisms:begin -->\n(.*?)<!-- mechanisms:end -->", text, re.S)[1]
    rows = [line.split("|")[2].strip(" `") for line in table.splitlines()[2:]]
    told = Place(form, "rows").doctor()
    check(rows == list(told["mechanisms"]), f"{rows}, {list(told['mechanisms'])}")
    for need, names in (("cell", CELL), ("full", FULL)):
        needed = [name for name, one in told["mechanisms"].items() if one["needed_for"] == need]
        check(needed == names, needed)


CASES = [as_it_is, in_docker, no_user_namespaces, no_network_namespaces, no_landlock, masked_proc, rights_of_containers, no_listener,
         no_cgroups, keeping, required, agents, for_people, documented]


if __name__ == "__main__":
    lib.run_cases([(case.__doc__, case) for case in CASES])
