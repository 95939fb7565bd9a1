#!/usr/bin/env python3
"""A warm call of a tool in WebAssembly, through the whole pipeline of a gate, against posix_spawn of a native program of the
same source, with pipes. In turns, so that a machine that gets slower is slower for both."""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import files
from report import Target, describe_machine, number, publish, table, target_table

MARKS = ("<!-- wasm:begin -->", "<!-- wasm:end -->")
SOURCE = r"""
#include <stdio.h>
int main(void)
{
    char in[4096];
    size_t n = fread(in, 1, sizeof in, stdin);
    printf("{\"hello\":%zu}\n", n);
    return 0;
}
"""
INPUT = b'{"name":"world"}'


def make(base):
    tool = base / "tools/hello"
    tool.mkdir(parents=True)
    (base / "work").mkdir()
    source = base / "hello.c"
    source.write_text(SOURCE, encoding="ascii")
    subprocess.run(["clang", "--target=wasm32-wasi", "-O2", "-o", tool / "tool.wasm", source], check=True)
    subprocess.run(["cc", "-O2", "-static", "-o", base / "hello", source], check=True)
    manifest = {
        "manifest": 1,
        "name": "hello",
        "version": "1",
        "description": "Says how long its input is.",
        "input": {"type": "object", "additionalProperties": False, "properties": {"name": {"type": "string"}}},
        "module": "tool.wasm",
        "sha256": hashlib.sha256((tool / "tool.wasm").read_bytes()).hexdigest(),
    }
    (tool / "manifest.json").write_text(json.dumps(manifest), encoding="ascii")
    config = base / "config.json"
    config.write_text(json.dumps({"runtime": {"toolFolders": [str(base / "tools")]}}), encoding="ascii")
    return config


def spawn(program):
    into, out = os.pipe(), os.pipe()
    actions = [
        (os.POSIX_SPAWN_DUP2, into[0], 0),
        (os.POSIX_SPAWN_DUP2, out[1], 1),
        (os.POSIX_SPAWN_CLOSE, into[1]),
        (os.POSIX_SPAWN_CLOSE, out[0]),
    ]
    pid = os.posix_spawn(program, [program], {}, file_actions=actions)
    os.close(into[0])
    os.close(out[1])
    os.write(into[1], INPUT)
    os.close(into[1])
    text = b""
    while piece := os.read(out[0], 4096):
        text += piece
    os.close(out[0])
    os.waitpid(pid, 0)
    return json.loads(text)


class Tool:
    """A gate that has answered a call, and the tool through it."""

    def __init__(self, sandgate, base, config):
        self.gate = subprocess.Popen(
            [sandgate, "stdio", "--config", config, "--workspace", base / "work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, "XDG_STATE_HOME": str(base / "state")},
        )
        self.ask("list_files", b"{}")

    def ask(self, name, arguments):
        self.gate.stdin.write(b'{"id":"1","tool_call":{"name":"%s","arguments":%s}}\n' % (name.encode(), arguments))
        return json.loads(os.read(self.gate.stdout.fileno(), 65536))["result"]["result"]

    def __call__(self):
        return self.ask("hello", INPUT)["output"]

    def end(self):
        self.gate.stdin.close()
        self.gate.wait()


def milliseconds(do):
    begin = time.perf_counter()
    assert do() == {"hello": len(INPUT)}
    return (time.perf_counter() - begin) * 1e3


TARGETS = [
    Target("posix_spawn of a native program / warm call, p50", "x", ">=", 4, lambda s: s["ratio"]),
    Target("first call with a module that was compiled before", " ms", "<", 8, lambda s: s["cached"]),
]
NAMES = {"compiled": "first call, compiling included", "cached": "first call of a gate, compiled before",
         "wasm": "warm call through the gate", "native": "posix_spawn of a static native program"}


def one_round(options, base, config, samples):
    tool, native = Tool(options.sandgate, base, config), lambda: spawn(str(base / "hello"))
    samples["cached" if samples["compiled"] else "compiled"].append(milliseconds(tool))
    took = {"wasm": [], "native": []}
    for _ in range(options.calls):
        for name, do in (("wasm", tool), ("native", native)):
            took[name].append(milliseconds(do))
    tool.end()
    samples["ratio"].append(statistics.median(took["native"]) / statistics.median(took["wasm"]))
    for name, times in took.items():
        samples[name] += times


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sandgate", type=Path, default=Path(os.environ.get("SANDGATE", "build/sandgate")),
        help="the program to measure (%(default)s)")
    add("--rounds", type=int, default=9, help="a gate each (%(default)s)")
    add("--calls", type=int, default=300, help="of each in a round (%(default)s)")
    add("--check", action="store_true", help="exit with 1 when a target is missed")
    add("--markdown", type=Path, metavar="FILE", help=f"rewrite FILE between {MARKS[0]} and {MARKS[1]}")
    options = parser.parse_args()
    options.sandgate = options.sandgate.resolve()
    return options


def main():
    options = parse_arguments()
    samples = {name: [] for name in (*NAMES, "ratio")}
    with tempfile.TemporaryDirectory(prefix="sandgate-bench-") as folder:
        base = Path(folder)
        config = make(base)
        files.warn_if_busy()
        for _ in range(options.rounds):
            one_round(options, base, config, samples)
    rows = []
    for name, title in NAMES.items():
        times = sorted(samples[name])
        rows.append([title, number(statistics.median(times)), number(times[len(times) * 99 // 100]), str(len(times))])
    judged = [(target, target.values(samples)) for target in TARGETS]
    text = "\n".join([f"{options.rounds} gates, one after the other; {describe_machine()}.", "",
                      *table(["", "p50 ms", "p99 ms", "calls"], rows), "", ""])
    return publish(text + "\n".join(target_table(judged)) + "\n", options, MARKS, judged)


if __name__ == "__main__":
    sys.exit(main())
