#!/usr/bin/env python3
"""`sandgate mcp` as real clients see it: the npm SDK and the Python SDK list the tools and call them."""
# timeout: 600

import json
import os
import pathlib
import shutil
import subprocess
import sys

import jsonschema
import lib
from lib import check, short

SDK = lib.ROOT / "tests" / "sdk" / "mcp"
TEXT = 'a "b"\n\\ü\n'
TOOLS = {"read_file", "write_file", "list_files", "stat", "time_now"}


def fill(form, name):
    folder = form.folder(name)
    many = form.folder(f"{name}/many")
    for number in range(200):
        form.write(many / str(number), f"file {number}\n")
    os.truncate(form.write(folder / "sparse", ""), 8 << 30)
    return folder


def run_client(form, argv, env):
    home = form.folder(f"home-{argv[-1].name}")
    done = subprocess.run([*map(str, argv)], env={**lib.environment(home), **env}, capture_output=True, text=True,
                          timeout=60, check=False, cwd="/")
    check(done.returncode == 0, f"status {done.returncode}\n{done.stderr[-3000:]}")
    check(not done.stderr.strip(), f"it said: {done.stderr[-3000:]}")
    return json.loads(done.stdout)


def check_server(report):
    check(report["version"] == "2025-11-25", report["version"])
    check(report["server"]["name"] == "sandgate" and report["server"]["title"] == "Sandgate", short(report["server"]))
    check(report["capabilities"] == {"tools": {"listChanged": False}}, short(report["capabilities"]))
    check("workspace" in report["instructions"], report["instructions"])
    check({tool["name"] for tool in report["tools"]} >= TOOLS, short(report["tools"]))


def check_results(report):
    schemas = {tool["name"]: tool["outputSchema"] for tool in report["tools"]}
    calls = report["calls"]
    names = {"write": "write_file", "read": "read_file", "list": "list_files", "stat": "stat", "time": "time_now"}
    for what, tool in names.items():
        result = calls[what].get("result") or {}
        check("structuredContent" in result and not result.get("isError"), f"{what}: {short(calls[what])}")
        jsonschema.validate(result["structuredContent"], schemas[tool])
        (block,) = result["content"]
        check(block["type"] == "text" and json.loads(block["text"]) == result["structuredContent"], short(block))
    check(calls["read"]["result"]["structuredContent"]["content"] == TEXT, short(calls["read"]))
    check(calls["write"]["result"]["structuredContent"]["created"] is True, short(calls["write"]))
    (entry,) = calls["list"]["result"]["structuredContent"]["entries"]
    check(entry["path"] == "made/by sdk.txt", short(entry))


def check_failures(report):
    for what, code in (("missing", "NOT_FOUND"), ("wrong", "INVALID_ARGUMENTS")):
        result = report["calls"][what]["result"]
        check(result["isError"] is True and "structuredContent" not in result, short(result))
        error = json.loads(result["content"][0]["text"])["error"]
        check(error["code"] == code and len(error["message"]) > 10, short(error))
    unknown = report["calls"]["unknown"]
    check(unknown.get("code") == -32602 and "no_such_tool" in unknown["message"], short(unknown))


def check_rest(report, folder):
    check(report["many"] == [f"file {n}\n" for n in range(200)], short(report["many"]))
    check(report["cancelled"] is True, "the long read was not cancelled")
    check(report["calls"]["after"]["result"]["structuredContent"]["content"] == "file 7\n", "the call after it")
    check((folder / "made/by sdk.txt").read_text(encoding="utf-8") == TEXT, "the file on disk")


def check_text(report):
    """What a model gets: one block of text each, and nothing beside it."""
    check(not any("outputSchema" in tool for tool in report["tools"]), "an output schema")
    calls = report["calls"]
    expected = {
        "write": "created made/by sdk.txt, 10 bytes",
        "read": 'made/by sdk.txt: 2 lines, 10 bytes\n1\ta "b"\n2\t\\ü\n',
        "list": "made/\n by sdk.txt\n",
        "missing": "NOT_FOUND: `missing` does not exist; list_files shows what is there",
    }
    for what, text in expected.items():
        result = calls[what]["result"]
        check("structuredContent" not in result, f"{what}: {short(result)}")
        check([block["text"] for block in result["content"]] == [text], f"{what}: {short(result)}")
        check(bool(result.get("isError")) == (what == "missing"), f"{what}: {short(result)}")
    check(calls["wrong"]["result"]["content"][0]["text"].startswith("INVALID_ARGUMENTS: "), short(calls["wrong"]))
    check(calls["unknown"].get("code") == -32602, short(calls["unknown"]))
    check(report["many"] == [f"many/{n}: 1 lines, {len(f'file {n}') + 1} bytes\n1\tfile {n}\n" for n in range(200)],
          short(report["many"]))
    check(report["cancelled"] is True, "the long read was not cancelled")


def cases(tap, form, name, argv, env):
    folder = fill(form, f"{name}-text")
    with tap.case(f"{name}: answers as text"):
        report = run_client(form, [*argv, form.binary, "mcp", "--host", "--workspace", folder], env)
        check_server(report)
        check_text(report)
    folder = fill(form, name)
    report = {}
    with tap.case(f"{name}: connects, lists, calls"):
        report = run_client(form, [*argv, form.binary, "mcp", "--host", "--structured", "--workspace", folder], env)
        check_server(report)
    with tap.case(f"{name}: results fit their schemas, text is the same"):
        check_results(report)
    with tap.case(f"{name}: failed calls and unknown tools"):
        check_failures(report)
    with tap.case(f"{name}: many at once, one cancelled"):
        check_rest(report, folder)


def main():
    folders, why = lib.install_sdk("mcp")
    if not folders:
        print(f"1..0 # SKIP {why}")
        return
    tap = lib.Tap()
    # Only as who we are: another user need not be able to start this Python or this node.
    form = lib.forms()[0]
    # Node looks for packages beside the program.
    (form.base / "node_modules").symlink_to(pathlib.Path(folders["npm"], "node_modules"))
    client = shutil.copy(SDK / "client.mjs", form.base)
    cases(tap, form, "npm", [shutil.which("node"), client], {})
    library = {"PYTHONPATH": folders["python"], "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    for mode in ("auto", "legacy"):
        cases(tap, form, f"python-{mode}", [sys.executable, SDK / "client.py", mode], library)
    tap.done()


main()
