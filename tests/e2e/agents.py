#!/usr/bin/env python3
"""Agents that nobody here wrote work through `sandgate mcp`, connected by `sandgate setup`: Claude Code, Codex, Gemini CLI and
opencode, each as it comes from npm, with a model on the loopback that calls the tools a session's work needs."""
# timeout: 900

import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import lib
from lib import check, short

sys.path.insert(0, str(lib.ROOT / "tests/sdk/agents"))
import model  # noqa: E402

PROMPT = "look"
# What a run of an agent may take on a busy machine.
RUN_SECONDS = 240
WAIT_MS = 10000
CALC = "def add(a, b):\n    return a - b\n"
TEST = "import calc, unittest\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n"
COUNT = 10000  # lines of 20 bytes or so


class Claude:
    name = "claude"
    program = "@anthropic-ai/claude-code-linux-x64/claude"
    # What it keeps: lists of things to do, messages to itself.
    own = {"CronDelete", "CronList", "ReportFindings", "ScheduleWakeup", "SendMessage", "TaskCreate", "TaskGet", "TaskList",
           "TaskOutput", "TaskStop", "TaskUpdate"}  # fmt: skip
    has_dialogs = False

    def prepare(self, place, _url):
        trusted = {"projects": {str(place.project): {"hasTrustDialogAccepted": True}}, "hasCompletedOnboarding": True}
        place.put(".claude.json", json.dumps(trusted))
        return {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def start(self, url):
        return ["-p", PROMPT], {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"}


class Codex:
    name = "codex"
    program = "@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex"
    own = {"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource", "request_user_input"}
    has_dialogs = True

    def prepare(self, place, url):
        place.put(".codex/config.toml", f"""model = "m"
model_provider = "t"
check_for_update_on_startup = false

[model_providers.t]
name = "t"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "KEY"

[projects."{place.project}"]
trust_level = "trusted"
""")
        return {}

    def start(self, _url):
        return ["exec", "--skip-git-repo-check", PROMPT], {"KEY": "none"}


class Gemini:
    name = "gemini"
    program = ".bin/gemini"
    own = set()
    has_dialogs = False

    def prepare(self, place, _url):
        place.put(".gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true}}')
        return {}

    def start(self, url):
        env = {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        return ["-m", "gemini-2.5-pro", "-p", PROMPT], env


class Opencode:
    name = "opencode"
    program = "opencode-linux-x64/bin/opencode"
    own = set()
    has_dialogs = False

    def prepare(self, place, url):
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "t", "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
                    "models": {"m": {"name": "m"}}}  # fmt: skip
        place.put(".config/opencode/opencode.json", json.dumps({"provider": {"t": provider}}))
        return {}

    def start(self, _url):
        env = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
               "OPENCODE_DISABLE_FFF": "1", "OPENCODE_PURE": "1"}  # fmt: skip
        return ["run", "-m", "t/m", PROMPT], env


class Place:
    """A home and a project of one agent."""

    def __init__(self, base, agent, what):
        self.base = base / f"{agent.name}-{what}"
        self.home = self.base / "home"
        self.project = self.base / "project"
        self.tools = self.base / "bin"
        for folder in (self.home, self.project, self.tools):
            folder.mkdir(parents=True)
        (self.tools / "sandgate").symlink_to(lib.BINARY)
        (self.project / "calc.py").write_text(CALC)
        (self.project / "test_calc.py").write_text(TEST)

    def put(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def env(self, more=None):
        path = f"{self.tools}:{os.environ.get('PATH', '')}"
        own = {"PATH": path, "TERM": "dumb", "XDG_CONFIG_HOME": str(self.home / ".config"), "SANDGATE_APPROVAL_DEFAULT": None}
        return lib.environment(self.home, {**own, **(more or {})})

    def sandgate(self, *words):
        return subprocess.run([str(lib.BINARY), *words], env=self.env(), cwd=self.project, capture_output=True, text=True,
                              timeout=lib.SECONDS, check=False, stdin=subprocess.DEVNULL)  # fmt: skip


def work(agent, programs, place, calls, env=None, beside=None, **more_of_model):
    """The agent's run to its end, and the model that it talked with. `beside` is called with its process."""
    with model.serving(calls, **more_of_model) as served:
        more = agent.prepare(place, served.url)
        done = place.sandgate("setup", agent.name, "--write")
        check(done.returncode == 0, done)
        words, own_env = agent.start(served.url)
        argv = [str(programs / agent.program), *words]
        with open(place.base / "out", "w+", encoding="utf-8") as out:
            process = subprocess.Popen(argv, env=place.env({**more, **own_env, **(env or {})}), cwd=place.project,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)  # fmt: skip
            try:
                if beside:
                    beside(process)
                process.wait(RUN_SECONDS)
            finally:
                end_all(place)
                process.wait()
            out.seek(0)
            said = out.read()
    check(process.returncode == 0 and model.DONE in said, f"status {process.returncode}: {said[-3000:]}")
    check(not served.faults, served.faults)
    check(len(served.results) == len(calls), f"{len(served.results)} results: {short(served.results)}\n{said[-2000:]}")
    return served


# --- what a session needs

CALLS = [
    ("list_files", {}),
    ("read_file", {"path": "calc.py"}),
    ("run_command", {"command": "python3 -B -m unittest -q 2>&1 | tail -n 1"}),
    ("edit_file", {"path": "calc.py", "old_string": "a - b", "new_string": "a + b"}),
    ("search", {"pattern": "return a"}),
    ("run_command", {"command": "python3 -B -m unittest -q 2>&1 | tail -n 1"}),
    ("read_file", {"path": "none.txt"}),
    ("run_command", {"command": f"seq -f 'line %g of very many' 1 {COUNT}"}),
    ("read_file", {"path": "/etc/passwd"}),
]


def check_tools(agent, served):
    ours = [name for name in served.tools if "sandgate" in name]
    check(set(served.tools) - set(ours) <= agent.own, f"its own tools: {set(served.tools) - set(ours)}")
    check(len(ours) >= 10, served.tools)


def check_long(agent, text):
    """What the model gets of 200 KB: their beginning and end, and how to go on; nothing that was cut off by the agent."""
    check("line 1 of" in text and "line 2 of" in text and f"line {COUNT} of" in text, f"{agent.name}: {text[:300]} ... {text[-300:]}")
    check("read_output" in text and len(text) < 25000, f"{agent.name}: {len(text)} bytes, {text[-300:]}")


def session(agent, programs, base):
    place = Place(base, agent, "work")
    served = work(agent, programs, place, CALLS, {"SANDGATE_APPROVAL_DEFAULT": "approve"})
    check_tools(agent, served)
    texts = [text for text, _ in served.results]
    check("calc.py" in texts[0] and "test_calc.py" in texts[0], texts[0])
    check("1\tdef add(a, b):" in texts[1], texts[1])
    check("FAILED (failures=1)" in texts[2], texts[2])
    check("+    return a + b" in texts[3], texts[3])
    check("calc.py" in texts[4] and "a + b" in texts[4], texts[4])
    check("OK" in texts[5] and "FAILED" not in texts[5], texts[5])
    check("NOT_FOUND: `none.txt` does not exist; list_files shows what is there" in texts[6], texts[6])
    check_long(agent, texts[7])
    check("root:" not in texts[8] and "OUTSIDE" in texts[8], texts[8])
    for number in (6, 8):
        check(served.results[number][1] in (True, None), f"no error: {served.results[number]}")


# --- approvals

ASKED = [("write_file", {"path": f"{name}.txt", "content": f"{name}\n"}) for name in ("first", "second")]


def approvals(agent, programs, base):
    """A call that `sandgate approve` lets run, then one that nobody answers."""
    place = Place(base, agent, "asked")
    place.put(".config/sandgate/config.json", json.dumps(
        {"approval": {"timeoutMs": WAIT_MS, "rules": [{"toolName": "write_file", "action": "prompt"}]}}))

    def answer(process):
        end = time.monotonic() + RUN_SECONDS
        while time.monotonic() < end and process.poll() is None:
            waiting = [line.split()[0] for line in place.sandgate("approvals").stdout.splitlines() if "first.txt" in line]
            if waiting and place.sandgate("approve", waiting[0]).returncode == 0:
                return
            time.sleep(0.1)

    served = work(agent, programs, place, ASKED, beside=answer)
    (first, _), (second, failed) = served.results
    check("first.txt" in first and "APPROVAL" not in first, first)
    check("APPROVAL_TIMEOUT: " in second and failed in (True, None), second)
    check(not (place.project / "second.txt").exists(), "it ran without a yes")
    log = place.sandgate("audit", "show").stdout
    check(log.count("APPROVAL_TIMEOUT") == 1, log)


# --- what stays


class CodexThatPatches(Codex):
    """With a model that it has a tool of its own for."""

    def start(self, url):
        words, env = super().start(url)
        return [words[0], "-c", 'model="gpt-5.5"', *words[1:]], env


def own_patches(agent, programs, base):
    """Codex's apply_patch cannot be switched off: `sandbox_mode` makes it ask, and without a terminal that is a no."""
    place = Place(base, agent, "patches")
    patch = "*** Begin Patch\n*** Add File: own.txt\n+hello\n*** End Patch\n"
    served = work(CodexThatPatches(), programs, place, [("apply_patch", patch)], ours="apply_patch")
    check("rejected" in served.results[0][0], served.results)
    check(not (place.project / "own.txt").exists(), "it wrote beside Sandgate")


# --- a dialog of the client


def shown(output):
    """What a terminal was sent, as text: spaces where the cursor moved."""
    text = re.sub(r"\x1b\][^\x07\x1b]*(\x07|\x1b\\\\)", "", output.decode("utf-8", "replace"))
    return " ".join(re.sub(r"\x1b\[[0-9;?<>=]*[A-Za-z]", " ", text).split())


class Screen:
    """An agent on a terminal that answers what programs ask of one."""

    ASKED = ((b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62c"), (b"]11;?", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
             (b"]10;?", b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"))  # fmt: skip

    def __init__(self, argv, env, cwd):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(["setsid", "-c", *argv], env=env, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.output = b""

    def wait(self, what, said):
        end = time.monotonic() + RUN_SECONDS
        while not what():
            check(time.monotonic() < end and self.process.poll() is None, f"{said}: {shown(self.output)[-2000:]}")
            if not select.select([self.ours], [], [], 0.2)[0]:
                continue
            piece = os.read(self.ours, 65536)
            self.output += piece
            for asked, reply in self.ASKED:
                if asked in piece:
                    os.write(self.ours, reply)


def end_all(place):
    """Whatever was started with this home, a daemon in a session of its own too."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.fsencode(f"HOME={place.home}") in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                os.kill(int(pid), signal.SIGKILL)


def dialog(agent, programs, base):
    """On a terminal the agent asks itself; the second of its answers lets this call run."""
    place = Place(base, agent, "dialog")
    place.put(".config/sandgate/config.json", json.dumps(
        {"approval": {"rules": [{"toolName": "write_file", "action": "prompt"}]}}))
    with model.serving(ASKED[:1]) as served:
        more = agent.prepare(place, served.url)
        check(place.sandgate("setup", agent.name, "--write").returncode == 0, "setup")
        env = place.env({**more, **agent.start(served.url)[1], "TERM": "xterm-256color"})
        screen = Screen([str(programs / agent.program), PROMPT], env, place.project)
        try:
            screen.wait(lambda: "2. Yes, this call" in shown(screen.output), "no dialog")
            for part in ("write_file: first.txt (6 bytes) +1 -0", "whole call: sandgate approvals", "1. No"):
                check(part in shown(screen.output), shown(screen.output)[-2000:])
            check(not served.results and not (place.project / "first.txt").exists(), "before an answer")
            time.sleep(0.5)  # an answer that comes sooner is not a person's
            os.write(screen.ours, b"2")
            screen.wait(lambda: served.results, "no result")
        finally:
            end_all(place)
            screen.process.wait()
            os.close(screen.ours)
    check("first.txt" in served.results[0][0] and "APPROVAL" not in served.results[0][0], served.results)
    check("approved" in place.sandgate("audit", "show", "--json").stdout, "the record")


def main():
    tap = lib.Tap()
    folders, why = lib.install_sdk("agents")
    if not folders:
        print(f"1..0 # SKIP {why}")
        sys.exit(1 if os.environ.get("SANDGATE_MUST_WORK") == "1" and os.uname().machine == "x86_64" else 0)
    programs = folders["npm"] / "node_modules"
    base = lib.scratch("agents-")
    # One core each: an agent takes seconds of it to start.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        started = [(agent, what, pool.submit(what, agent, programs, base))
                   for agent in (Opencode(), Claude(), Codex(), Gemini())
                   for what in (session, approvals, *((dialog, own_patches) if agent.has_dialogs else ()))]  # fmt: skip
        for agent, what, running in started:
            with tap.case(f"{agent.name}: {what.__name__}"):
                running.result()
    tap.done()


main()
