#!/usr/bin/env python3
"""What the tools of `sandgate mcp` cost a model, in tokens (o200k): the list, and results beside those of the usual
programs for the same job. The tokenizer is an npm package that has its data inside."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "e2e"))

import lib
from report import TARGET_HEADER, show, table

BEGIN, END = "<!-- tokens:begin -->", "<!-- tokens:end -->"
LIST_MOST, RATIO_MOST = 2000, 1.15
COUNT = """
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
let input = "";
for await (const piece of process.stdin) input += piece;
console.log(JSON.stringify(JSON.parse(input).map((text) => countTokens(text))));
"""


def count_tokens(texts):
    folders, why = lib.install_sdk("tokens")
    if not folders:
        sys.exit(f"tokens.py: {why}")
    with tempfile.TemporaryDirectory(prefix="sandgate-tokens-") as name:
        Path(name, "node_modules").symlink_to(folders["npm"] / "node_modules")
        script = Path(name, "count.mjs")
        script.write_text(COUNT)
        done = subprocess.run(["node", script], input=json.dumps(texts), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


class Server:
    def __init__(self, sandgate, workspace, state):
        self.process = subprocess.Popen([sandgate, "mcp", "--host", "--workspace", workspace], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "XDG_STATE_HOME": str(state),
                                             "SANDGATE_APPROVAL_DEFAULT": "approve"})  # fmt: skip
        self.next_id = 0
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})

    def ask(self, method, params):
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def text(self, name, arguments):
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        if result.get("isError"):
            sys.exit(f"tokens.py: {name}: {result}")
        return result["content"][0]["text"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


# Title, tool, arguments, and the command for the same job. Files of the project itself, so that the text is text.
JOBS = [
    ("a file of 170 lines", "read_file", {"path": "src/core/call.h"}, "cat -n src/core/call.h"),
    ("the same without numbers", "read_file", {"path": "src/core/call.h", "line_numbers": False}, "cat src/core/call.h"),
    ("a page of text", "read_file", {"path": "README.md", "max_bytes": 50000}, "cat -n README.md"),
    ("a search with many matches", "search", {"pattern": "err_set\\(", "path": "src", "max_results": 400},
     "grep -rnE 'err_set\\(' src"),
    ("a search with few matches", "search", {"pattern": "call_free\\(", "path": "src"}, "grep -rnE 'call_free\\(' src"),
    ("a search with context", "search", {"pattern": "base64_decode\\(", "path": "src", "before": 2, "after": 2},
     "grep -rnE -C2 'base64_decode\\(' src"),
    ("names of files with a match", "search", {"pattern": "struct call", "path": "src", "mode": "files", "max_results": 500},
     "grep -rlE 'struct call' src"),
    ("all files of a tree", "list_files", {"path": "src", "recursive": True, "max_results": 3000}, "find src"),
    ("files by their name", "list_files", {"path": "tests", "recursive": True, "glob": "**/*.py"},
     "find tests -name '*.py'"),
    ("one folder", "list_files", {"path": "src/core"}, "ls src/core"),
    ("a command with output", "run_command", {"command": "seq 200; ls src/core"}, "seq 200; ls src/core"),
    ("a failing command", "run_command", {"command": "cat nothing"}, "cat nothing 2>&1; echo exit $?"),
]  # fmt: skip


def make_workspace(folder):
    root = Path(__file__).resolve().parent.parent
    for name in ("src", "tests/e2e", "tests/contract"):
        shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "README.md", folder)


def model_list(tools):
    """What a client sends of them to a model."""
    return json.dumps([{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools],
                      separators=(",", ":"), ensure_ascii=False)


def measure(sandgate):
    with tempfile.TemporaryDirectory(prefix="sandgate-tokens-") as name:
        workspace = Path(name, "workspace")
        make_workspace(workspace)
        server = Server(sandgate, workspace, Path(name, "state"))
        tools = server.ask("tools/list", {})["tools"]
        texts = [model_list(tools), *(model_list([tool]) for tool in tools)]
        for _, tool, arguments, command in JOBS:
            texts.append(server.text(tool, arguments))
            done = subprocess.run(["bash", "-c", command], cwd=workspace, capture_output=True, text=True, check=False)
            texts.append(done.stdout)
        server.end()
    counts = count_tokens(texts)
    return tools, counts[: len(tools) + 1], counts[len(tools) + 1 :]


def rows(listed, tools, results):
    yield [f"list of {len(tools)} tools", "", str(listed[0]), "", f"<= {LIST_MOST}", "yes" if listed[0] <= LIST_MOST else "no"]
    for at, (title, tool, _, command) in enumerate(JOBS):
        ours, theirs = results[2 * at], results[2 * at + 1]
        ratio = ours / theirs
        # A head line of ten tokens is more than that of a very short text.
        met = ratio <= RATIO_MOST or ours - theirs <= 15
        yield [f"{title}: `{tool}`", f"`{command.replace('|', chr(92) + '|')}`: {theirs}", str(ours), f"{ratio:.2f}x",
               f"<= {RATIO_MOST}x", "yes" if met else "no"]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sandgate", type=Path, default=Path(os.environ.get("SANDGATE", "build/sandgate")))
    parser.add_argument("--tools", action="store_true", help="also the tokens of each tool in the list")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help=f"rewrite FILE between {BEGIN} and {END}")
    options = parser.parse_args()
    tools, listed, results = measure(options.sandgate.resolve())
    if options.tools:
        for tool, count in zip(tools, listed[1:]):
            print(f"{count:6} {tool['name']}")
    lines = table(["tokens", "beside", "sandgate mcp", "ratio", *TARGET_HEADER[1:2], TARGET_HEADER[-1]],
                  rows(listed, tools, results))
    show("\n".join(lines) + "\n", options.markdown, (BEGIN, END))


if __name__ == "__main__":
    main()
