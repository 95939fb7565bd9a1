#!/usr/bin/env python3
"""A warm call of a tool in WebAssembly, through the whole pipeline of a gate, against posix_spawn of a native program of the
same source, with pipes. In turns, so that a machine that gets slower is slower for both.

    bench/wasm.py [CALLS]     default: 500 of each
"""

import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SANDGATE = pathlib.Path(os.environ.get("SANDGATE", ROOT / "build/sandgate"))
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


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    base = pathlib.Path(tempfile.mkdtemp(prefix="bench-wasm-"))
    config = make(base)
    line = b'{"id":"1","tool_call":{"name":"hello","arguments":%s}}\n' % INPUT
    gate = subprocess.Popen(
        [SANDGATE, "stdio", "--config", config, "--workspace", base / "work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env={**os.environ, "XDG_STATE_HOME": str(base / "state")},
    )
    out = gate.stdout.fileno()

    def call():
        gate.stdin.write(line)
        text = os.read(out, 65536)
        return json.loads(text)["result"]["result"]["output"]

    took = {"wasm": [], "native": []}
    begin = time.perf_counter()
    assert call() == {"hello": 16} == spawn(str(base / "hello"))
    first = time.perf_counter() - begin
    for _ in range(calls):
        for name, do in (("wasm", call), ("native", lambda: spawn(str(base / "hello")))):
            begin = time.perf_counter()
            do()
            took[name].append(time.perf_counter() - begin)
    gate.stdin.close()
    gate.wait()
    shutil.rmtree(base)
    p50 = {name: statistics.median(times) * 1e6 for name, times in took.items()}
    print(f"first call, compiling included: {first * 1e3:.1f} ms")
    for name, words in (("wasm", "warm call through the gate"), ("native", "posix_spawn of a static native program")):
        print(f"{words}: p50 {p50[name]:.0f} us, p99 {sorted(took[name])[calls * 99 // 100] * 1e6:.0f} us")
    print(f"{p50['native'] / p50['wasm']:.1f}x")


if __name__ == "__main__":
    main()
