#!/usr/bin/env python3
"""`sandgate tool`: from nothing to a tool that runs, by the commands of docs/TOOLS_AUTHORING.md as they stand there; what is
wrong with one is told with its field; the compiler is a command of the user's and nothing else starts it."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys

import lib
from lib import check

PAGE = (lib.ROOT / "docs/TOOLS_AUTHORING.md").read_text(encoding="utf-8")
ZEROS = "0" * 64
numbers = itertools.count()


class Author:
    """Someone with a home, who types."""

    def __init__(self, form):
        self.form = form
        self.home = form.folder(f"author-{next(numbers)}")
        bin_ = form.folder(f"{self.home.name}/bin")
        form.link(bin_ / "sandgate", form.binary)
        self.at = form.folder(f"{self.home.name}/work")
        self.env = lib.environment(self.home)
        self.env["PATH"] = f"{bin_}:{self.env['PATH']}"

    def run(self, *words, umask=0o022, cwd=None, **env):
        return subprocess.run(words, cwd=cwd or self.at, env={**self.env, **env}, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=lib.SECONDS, umask=umask, **self.form.identity())  # fmt: skip

    def tool(self, *words, status=0, **more):
        done = self.run("sandgate", "tool", *words, **more)
        check(done.returncode == status, f"{words}: {done}")
        return done

    def change(self, folder, **fields):
        path = self.at / folder / "manifest.json"
        manifest = json.loads(path.read_text()) | fields
        self.form.write(path, json.dumps({k: v for k, v in manifest.items() if v is not None}))


def built(form):
    author = Author(form)
    author.tool("new", "word.count")
    author.tool("build", "word.count")
    return author


def the_page_runs(form):
    """its commands in their order, pasted into a shell that ends at the first failure"""
    author = Author(form)
    start = PAGE[PAGE.index("## From nothing") : PAGE.index("\n## ", PAGE.index("## From nothing") + 3)]
    blocks = re.findall(r"(<!-- not run: [^\n]+ -->\n)?```(\w+)\n(.*?)```\n", start, re.S)
    check([bool(skipped) for skipped, *_ in blocks] == [True, False], "one block is left out, the compiler's installation")
    done = author.run("bash", "-euc", blocks[1][2], cwd=author.home)
    check(done.returncode == 0, done)
    check("ok 3 - {}" in done.stdout and "not ok" not in done.stdout, done.stdout)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"ok"')]
    check([a["result"]["output"] for a in answers] == [{"words": 3}, {"words": 2}], answers)
    check(" ms, " in done.stderr and "runs as you, outside any sandbox: clang " in done.stderr, done.stderr)


def new_makes_a_folder(form):
    """that others cannot change, and never into one that is there"""
    author = Author(form)
    author.tool("new", "word.count", umask=0)
    for path in (author.at / "word.count", *(author.at / "word.count").iterdir()):
        check(path.stat().st_mode & 0o022 == 0, f"{path} can be changed by others")
    before = {path.name: path.read_bytes() for path in (author.at / "word.count").iterdir()}
    check("exists" in author.tool("new", "word.count", status=1).stderr, "there already")
    check({path.name: path.read_bytes() for path in (author.at / "word.count").iterdir()} == before, "as it was")
    for name in ("../up", "a b", "1st", 'a","x":"', "", "a" * 49):
        check("name" in author.tool("new", name, status=2).stderr, name)
    check("there is c" in author.tool("new", "other", "--lang", "rust", status=2).stderr, "language")
    check([path.name for path in author.at.iterdir()] == ["word.count"], "nothing else was made")


def build_says_what_lacks(form):
    """a compiler, or what it says of the program; then module and manifest stay as they were"""
    author = built(form)
    here = author.at / "word.count"
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    done = author.tool("build", "word.count", status=1, PATH=str(author.home / "bin"))
    check("there is no compiler `clang`" in done.stderr and "apt install clang lld wasi-libc" in done.stderr, done)
    source = before.pop("tool.c")
    form.write(here / "tool.c", b"#error so it is\n")
    done = author.tool("build", status=1, cwd=here)
    check("so it is" in done.stderr and "clang failed" in done.stderr, done)
    check({path.name: path.read_bytes() for path in here.iterdir() if path.name != "tool.c"} == before, "as it was")
    form.write(here / "tool.c", source.replace(b"words += ", b"words += 0 * "))
    author.change("word.count", sha256=ZEROS, examples=[{"input": {"text": ZEROS}, "output": {"words": 0}}])
    author.tool("build", "word.count")
    manifest = json.loads((here / "manifest.json").read_text())
    check(manifest["examples"][0]["input"]["text"] == ZEROS and manifest["sha256"] != ZEROS, "only the field itself")
    author.tool("test", "word.count")


def check_names_each_finding(form):
    """with its field, all that can be seen at once"""
    author = built(form)
    whole = json.loads((author.at / "word.count/manifest.json").read_text())
    check("word.count: 0 errors" in author.tool("check", "word.count").stdout, "nothing")
    example = {"input": {"text": ""}, "output": {"words": 0}}
    for fields, said in (
        ({"version": 3}, ["error  version: must be"]),
        ({"colour": "red"}, ["error  colour: is not known"]),
        ({"name": "other"}, ["error  name: must be `word.count`"]),
        ({"output": {"pattern": "x"}}, ["error  output.pattern"]),
        ({"capabilities": {"network": {}, "env": {}}}, ["error  capabilities.env: ", "error  capabilities.network: "]),
        ({"sha256": ZEROS, "examples": [example, {"input": {"text": 1}, "output": {"words": "x"}}]},
         ["error  sha256: ", "error  examples[1].input: argument `text` must be", "error  examples[1].output: output `words` must be"]),
        ({"examples": [{"input": {"text": ""}, "error": "NO_SUCH"}, {**example, "error": "TRAP"}]},
         ["error  examples[0].error: ", "error  examples[1].error: "]),
        ({"module": "gone.wasm"}, ["error  module: "]),
    ):  # fmt: skip
        author.form.write(author.at / "word.count/manifest.json", json.dumps(whole))
        author.change("word.count", **fields)
        out = author.tool("check", "word.count", status=1).stdout
        check(all(one in out for one in said) and out.count("error  ") == len(said), f"{fields}: {out}")
    author.form.write(author.at / "word.count/manifest.json", json.dumps(whole))


def check_reads_the_module(form):
    """its imports against what the manifest asks for, and whether it is a program"""
    author = Author(form)
    author.tool("new", "reader")
    source = '#include <stdio.h>\nint main(void) { return fopen("/a", "r") ? 0 : 1; }\n'
    form.write(author.at / "reader/tool.c", source)
    author.tool("build", "reader")
    out = author.tool("check", "reader").stdout
    check("note   module: imports wasi_snapshot_preview1.path_" in out and "`filesystem`" in out, out)
    foreign = '__attribute__((import_module("env"), import_name("run"))) int run(void);\nint main(void) { return run(); }\n'
    form.write(author.at / "reader/tool.c", foreign)
    author.tool("build", "reader")
    check("error  module: imports env.run, which is not there" in author.tool("check", "reader", status=1).stdout, "foreign")
    form.write(author.at / "reader/tool.wasm", b"\0asm\1\0\0\0")
    check("no function `_start`" in author.tool("check", "reader", status=1).stdout, "no program")
    form.write(author.at / "reader/tool.wasm", b"\0asm\r\0\1\0")
    check("a component is none" in author.tool("check", "reader", status=1).stdout, "a component")


def run_is_a_call(form):
    """held by the same rules, of what is built; nothing is left behind"""
    author = built(form)
    temp = form.folder(f"{author.home.name}/temp")
    done = author.tool("run", "./word.count", '{"text": "a b"}', TMPDIR=str(temp))
    check(json.loads(done.stdout)["result"]["output"] == {"words": 2} and " ms, " in done.stderr, done)
    check(not list(temp.iterdir()), "the folder of its session is gone")
    check(json.loads(author.tool("run", "word.count", status=1).stdout)["error"]["code"] == "INVALID_ARGUMENTS", "none")
    check("are no JSON" in author.tool("run", "word.count", "{", status=2).stderr, "no JSON")
    check("is a builtin tool" in author.tool("run", "read_file", status=2).stderr, "another's name")
    config = form.write(author.home / "config.json", json.dumps({"policy": {"enabled": {"word.count": False}}}))
    check(author.tool("run", "word.count", '{"text": ""}', "--config", str(config), status=3).stdout.find("POLICY_DENIED") > 0, "switched off")
    form.write(author.at / "word.count/tool.wasm", b"\0asm\1\0\0\0")
    for verb in ("run", "test"):
        check("not the one that its manifest names" in author.tool(verb, "word.count", status=1).stderr, verb)


def test_compares(form):
    """what came with what the manifest says; a difference fails, and so does having nothing to test"""
    author = built(form)
    author.change("word.count", examples=[{"input": {"text": "a"}, "output": {"words": 2}}, {"input": {"text": "a"}, "output": {"words": 1}},
                                          {"input": {"text": "a"}, "error": "TRAP"}])  # fmt: skip
    out = author.tool("test", "word.count", status=1).stdout
    check(re.findall(r"^(ok|not ok) \d", out, re.M) == ["not ok", "ok", "not ok"], out)
    check('# wanted output {"words":2}' in out and '"output":{"words":1}' in out, out)
    author.change("word.count", examples=None)
    check("there are none" in author.tool("test", "word.count", status=2).stderr, "no examples")


def the_example_is_right(form):
    """tools/number.sum, built anew"""
    author = Author(form)
    form.folder(f"{author.home.name}/work/number.sum")
    for name in ("manifest.json", "tool.c"):
        form.write(author.at / "number.sum" / name, (lib.ROOT / "tools/number.sum" / name).read_bytes())
    author.tool("build", "number.sum")
    check("0 errors" in author.tool("check", "number.sum").stdout, "checked")
    check(author.tool("test", "number.sum").stdout.startswith("1..4\nok 1"), "tested")


def others_folders_are_refused(form):
    """a folder that someone else could change is neither built nor run"""
    author = built(form)
    os.chmod(author.at / "word.count", 0o777)
    for verb in ("build", "run"):
        check("chmod go-w" in author.tool(verb, "word.count", status=2).stderr, verb)
    check("chmod go-w" in author.tool("check", "word.count", status=1).stdout, "check")


if not shutil.which("clang") or not (lib.BUILD / "src/roles/wasm").exists():
    print("1..0 # skip no clang, or built without Wasmtime")
    sys.exit(0)
lib.run_cases(
    [
        ("the page runs", the_page_runs),
        ("new makes a folder", new_makes_a_folder),
        ("build says what lacks", build_says_what_lacks),
        ("check names each finding", check_names_each_finding),
        ("check reads the module", check_reads_the_module),
        ("run is a call", run_is_a_call),
        ("test compares", test_compares),
        ("the example is right", the_example_is_right),
        ("others' folders are refused", others_folders_are_refused),
    ]
)
