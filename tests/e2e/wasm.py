#!/usr/bin/env python3
"""Tools in WebAssembly, run for real: what they answer, and every way in which one can end. A hostile one is stopped, the
error says by what, and the next call is answered.
"""

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys

import lib
from lib import check, status

# Does as it is told by the first word of its input, and else says how long that was.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char in[70000];
static volatile int sink;
static int deep(int n) { volatile char room[1024]; room[n & 1023] = 1; return n < 0 ? 0 : room[n & 1023] + deep(n + 1); }
static int is(const char *mode) { return strstr(in, mode) != NULL; }
int main(void)
{
    size_t n = fread(in, 1, sizeof in - 1, stdin);
    if (is("\"loop\""))
        for (;;)
            sink++;
    if (is("\"sleep\""))
        sleep(3600);
    if (is("\"deep\""))
        return deep(0);
    if (is("\"memory\""))
        for (;;) {
            static char *volatile kept; /* or the compiler leaves it out */
            kept = malloc(1 << 20);
            if (!kept)
                abort();
            memset(kept, 1, 1 << 20);
        }
    if (is("\"output\""))
        for (;;)
            puts("0123456789");
    if (is("\"log\""))
        for (int i = 0; i < 100000; i++)
            fputs("0123456789", stderr);
    if (is("\"partial\"")) {
        printf("{\"a\":[1,");
        return 0;
    }
    if (is("\"silent\""))
        return 0;
    if (is("\"binary\"")) {
        printf("\"\xff\"");
        return 0;
    }
    if (is("\"exit\"")) {
        fputs("cannot\n", stderr);
        return 7;
    }
    if (is("\"abort\""))
        abort();
    if (is("\"null\""))
        sink = *(volatile int *)0x7ffffff0;
    if (is("\"file\""))
        return fopen("/etc/passwd", "r") ? 0 : 3;
    if (is("\"lines\"")) {
        printf("\n[1,\n2]\n\n");
        return 0;
    }
    if (is("\"wrong\"")) {
        printf("{\"bytes\":\"many\"}");
        return 0;
    }
    printf("{\"bytes\":%zu}", n);
    return 0;
}
"""
SCHEMA = {"type": "object", "additionalProperties": False, "properties": {"mode": {"type": "string"}}}
LIMITS = {"timeoutMs": 20000, "memory": 16 << 20, "output": 100000}
numbers = itertools.count()


def compile_tool():
    folder = lib.scratch("wasm-")
    source = folder / "tool.c"
    source.write_text(SOURCE, encoding="utf-8")
    module = folder / "tool.wasm"
    subprocess.run(["clang", "--target=wasm32-wasi", "-O1", "-o", module, source], check=True)
    return module.read_bytes()


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder(f"wasm-{next(numbers)}")
        self.tools = form.folder(self.home.name + "/tools")
        self.workspace = form.folder(self.home.name + "/workspace")

    def add(self, name, module, **more):
        folder = self.form.folder(f"{self.home.name}/tools/{name}")
        self.form.write(folder / "tool.wasm", module)
        text = {"manifest": 1, "name": name, "version": "1", "description": "Does as told.", "input": SCHEMA}
        text |= {"limits": LIMITS, "module": "tool.wasm", "sha256": hashlib.sha256(module).hexdigest(), **more}
        self.form.write(folder / "manifest.json", json.dumps(text))

    def gate(self, *options, **runtime):
        config = self.home / "config.json"
        self.form.write(config, json.dumps({"runtime": {"toolFolders": [str(self.tools)], **runtime}}))
        return lib.Gate(self.form, "--config", config, *options, workspace=self.workspace, state=self.home)


@contextlib.contextmanager
def one(form, **more):
    at = Place(form)
    at.add("told", MODULE, **more)
    with at.gate() as gate:
        yield gate


def processes(gate, name="sandgate-wasm"):
    """Those that run tools in this gate's cells."""
    of_cells = [p for cell in lib.children(gate.pid) for p in lib.children(cell)]
    return [p for p in of_cells if status(p).get("Name", "").strip() == name]


def answers(form):
    """what it wrote, checked against its schema, with its log; JSON on several lines stays one line"""
    schema = {"type": "object", "properties": {"bytes": {"type": "integer"}}}
    with one(form, output=schema) as gate:
        check(gate.ok("told", mode="a")["output"] == {"bytes": 12}, "output")
        result = gate.ok("told", mode="log")
        check(len(result["log"]) == 16384 and result["log_dropped"] == 1000000 - 16384, result)
        error = gate.refused("BAD_OUTPUT", "told", mode="wrong")
        check("`bytes` must be an integer" in error["message"], error)
    with one(form) as gate:
        check(gate.ok("told", mode="lines")["output"] == [1, 2], "lines")
        for _ in range(300):
            check(gate.ok("told")["output"] == {"bytes": 2}, "no arguments are an empty object")
        check(len(processes(gate)) == 1, "the process is kept")


ENDS = (
    ("deep", "TRAP", "in `deep`"),
    ("memory", "MEMORY_LIMIT", "16777216 bytes"),
    ("output", "OUTPUT_LIMIT", "100000 bytes"),
    ("partial", "BAD_OUTPUT", "no JSON"),
    ("silent", "BAD_OUTPUT", "no JSON"),
    ("binary", "BAD_OUTPUT", "no JSON"),
    ("exit", "TRAP", "exit status 7 and wrote `cannot`"),
    ("abort", "TRAP", "aborted"),
    ("null", "TRAP", "memory that it does not have, in `"),
    ("file", "CAPABILITY_DENIED", "`/etc/passwd`"),
)


def each_end_has_its_name(form):
    """and the next call of the same process is answered"""
    at = Place(form)
    at.add("told", MODULE)
    at.add("brief", MODULE, limits={"timeoutMs": 400})
    with at.gate() as gate:
        gate.ok("told")
        before = processes(gate)
        for mode in ("loop", "sleep"):
            check("400 ms" in gate.refused("TIMEOUT", "brief", mode=mode)["message"], mode)
        check(len(processes(gate)) == 2, "each tool has a process of its own")
        for mode, code, words in ENDS:
            error = gate.refused(code, "told", mode=mode)
            check(words in error["message"], f"{mode}: {error}")
            check(gate.ok("told", mode="x")["output"] == {"bytes": 12}, f"after {mode}")
        check(set(before) < set(processes(gate)), "it is still the same process")
    with one(form, limits={"fuel": 1000000}) as gate:
        check("fuel of 1000000" in gate.refused("FUEL_LIMIT", "told", mode="loop")["message"], "fuel")


def a_call_is_cancelled(form):
    """with its process; the next call has another"""
    with one(form, limits={"timeoutMs": 60000}) as gate:
        gate.ok("told")
        before = processes(gate)
        call = gate.send("told", mode="loop")
        lib.wait_until(lambda: lib.cpu_ticks(before[0]) > 20, "the loop runs")
        gate.send_raw(json.dumps({"cancel": call}).encode() + b"\n")
        check(gate.wait(call)["error"]["code"] == "CANCELLED", "cancelled")
        check(gate.ok("told")["output"] == {"bytes": 2}, "the next")
        check(processes(gate) != before, "another process")


def the_process_is_locked(form):
    """no capability, a filter, nothing of the machine in its root"""
    with one(form) as gate:
        gate.ok("told")
        (pid,) = processes(gate)
        fields = status(pid)
        check(fields["Seccomp"].strip() == "2" and fields["NoNewPrivs"].strip() == "1", fields)
        check(int(fields["CapEff"], 16) == 0 and int(fields["CapBnd"], 16) == 0, fields)
        check(fields["Threads"].strip() == "1", fields)
        if os.geteuid() == 0:
            root = sorted(os.listdir(f"/proc/{pid}/root"))
            check(set(root) <= {"program", "libraries", "lib", "lib64", "usr", "dev", "proc", "tmp"}, root)


def the_compiler_may_end(form):
    """by what a module does to it, or with a call that is cancelled: each call is answered, and others' modules are compiled"""
    at = Place(form)
    for n, name in enumerate(("first", "second", "third", "fourth")):
        at.add(name, MODULE + b"\0\2\1" + bytes([n]))
    with at.gate() as gate:
        gate.ok("first")

        def stop(*names):
            (compiler,) = processes(gate, "sandgate-wasm_c")
            os.kill(compiler, signal.SIGSTOP)
            calls = [gate.send(name) for name in names]
            lib.wait_until(lambda: all(f"compiling the tool {name}" in gate.said() for name in names), "they wait for it")
            return compiler, calls

        compiler, (call,) = stop("second")
        os.kill(compiler, signal.SIGKILL)
        check(gate.wait(call)["result"]["output"] == {"bytes": 2}, "with another compiler")
        _, (cancelled, other) = stop("third", "fourth")
        gate.send_raw(json.dumps({"cancel": cancelled}).encode() + b"\n")
        check(gate.wait(cancelled)["error"]["code"] == "CANCELLED", "cancelled")
        check(gate.wait(other)["result"]["output"] == {"bytes": 2}, "the other")


def start_functions_are_locked_in(form):
    """what a module runs while its instance is made meets the same lock as the rest"""
    at = Place(form)
    # (func (export "_start") (loop (br 0))) (start 0)
    body = b"\1\4\1\x60\0\0" b"\3\2\1\0" b"\7\x0a\1\6_start\0\0" b"\x08\1\0" b"\x0a\x09\1\7\0\3\x40\x0c\0\x0b\x0b"
    at.add("starts", b"\0asm\1\0\0\0" + body, limits={"timeoutMs": 60000})
    with at.gate() as gate:
        call = gate.send("starts")
        lib.wait_until(lambda: any(lib.cpu_ticks(p) > 20 for p in processes(gate)), "it runs")
        check(all(status(p)["Seccomp"].strip() == "2" for p in processes(gate)), "without its filter")
        gate.send_raw(json.dumps({"cancel": call}).encode() + b"\n")
        check(gate.wait(call)["error"]["code"] == "CANCELLED", "it is ended")


def kept_code_is_checked(form):
    """what was compiled is used again, and made anew where anything else changed it"""
    at = Place(form)
    at.add("told", MODULE)
    with at.gate() as gate:
        gate.ok("told")
    (kept,) = (at.home / "sandgate/modules").iterdir()
    made = kept.stat().st_mtime_ns
    with at.gate() as gate:
        gate.ok("told")
        check(kept.stat().st_mtime_ns == made and "compiling" not in gate.said(), "used again")
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 1
    kept.write_bytes(data)
    with at.gate() as gate:
        check(gate.ok("told")["output"] == {"bytes": 2}, "with a flipped bit")
        check("was changed by something else" in gate.said(), gate.said())
    kept.write_bytes(bytes(data[: len(data) // 2]))
    with at.gate() as gate:
        check(gate.ok("told")["output"] == {"bytes": 2}, "cut")
    check(kept.read_bytes() != bytes(data), "made anew")


def what_is_no_tool_is_refused(form):
    """by its name: another module than the manifest means, none at all, broken ones, imports that are not there"""
    at = Place(form)
    at.add("other", MODULE, sha256="0" * 64)
    at.add("gone", MODULE)
    (at.tools / "gone/tool.wasm").unlink()
    at.add("cut", MODULE[: len(MODULE) // 2])
    at.add("text", b"not a module")
    at.add("library", b"\0asm\1\0\0\0")
    with at.gate() as gate:
        check("not the one that its manifest names" in gate.refused("PRECONDITION_FAILED", "other")["message"], "other")
        gate.refused("NOT_FOUND", "gone")
        for name in ("cut", "text"):
            error = gate.refused("NOT_SUPPORTED", name)
            check("not valid WebAssembly" in error["message"], error)
        check("`_start`" in gate.refused("NOT_SUPPORTED", "library")["message"], "library")


def capabilities_are_refused(form):
    """by their names; and with TOOL_RUNTIME=builtin nothing is run"""
    at = Place(form)
    for name in ("filesystem", "env", "network", "model_access"):
        at.add(f"wants-{name}", MODULE, capabilities={name: {}})
    at.add("told", MODULE)
    with at.gate() as gate:
        for name in ("env", "network", "model_access"):
            error = gate.refused("CAPABILITY_DENIED POLICY_DENIED", f"wants-{name}")
            check(name in json.dumps(error), error)
    with at.gate(tools="builtin") as gate:
        check("TOOL_RUNTIME" in gate.refused("NOT_SUPPORTED", "told")["message"], "builtin")


def works_in_an_overlay(form):
    """as in host mode: it sees no files in either"""
    at = Place(form)
    at.add("told", MODULE)
    with at.gate() as gate:
        gate.ok("told")
    made = form.run(at.home, "session", "create", "--overlay", "--workspace", at.workspace)
    check(made.returncode == 0, made.stderr)
    session = made.stdout.decode().split()[0]
    config = at.home / "config.json"
    with lib.Gate(form, "--config", config, "--session", session, state=at.home) as gate:
        check(gate.ok("told")["output"] == {"bytes": 2}, "in an overlay session")


if not shutil.which("clang") or not (lib.BUILD / "src/roles/wasm").exists():
    print("1..0 # skip no clang, or built without Wasmtime")
    sys.exit(0)
MODULE = compile_tool()
lib.run_cases(
    [
        ("answers", answers),
        ("each end has its name", each_end_has_its_name),
        ("a call is cancelled", a_call_is_cancelled),
        ("the process is locked", the_process_is_locked),
        ("the compiler may end", the_compiler_may_end),
        ("start functions are locked in", start_functions_are_locked_in),
        ("kept code is checked", kept_code_is_checked),
        ("what is no tool is refused", what_is_no_tool_is_refused),
        ("capabilities are refused", capabilities_are_refused),
        ("works in an overlay", works_in_an_overlay),
    ]
)
