#!/usr/bin/python3
"""The model providers' own libraries take Sandgate's lists of tools, and their call objects and its answers fit.

Each library talks to a provider on the loopback (tests/sdk/models/providers.py): the tools go out in a first request, the
library makes its call objects of the reply, `sandgate stdio` answers those, and the answers go out in a second one.
"""
# timeout: 300
import contextlib
import json
import os
import shutil
import subprocess
import sys

import lib
from lib import check, short

SDK = lib.ROOT / "tests" / "sdk" / "models"
TEXT = 'say "hi"\\n – ünï 😀\n'
# What a first request is answered with, by dialect: the tool by its dotted name or the only one, the arguments, and
# whether that works.
CALLS = {
    "native": [
        ("read_file", {"path": "notes.txt"}, True),
        ("read_file", {"path": "missing.txt"}, False),
        ("time.now", {}, True),
        ("write_file", {"path": "new.txt", "content": TEXT}, True),
    ],
    "toolhost": [
        ("fs.read", {"path": "@project/notes.txt"}, True),
        ("fs.read", {"path": "@project/../../etc/passwd"}, False),
        ("fs.write", {"path": "@project/new.txt", "content": TEXT}, True),
    ],
}


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


FOLDERS, WHY = lib.install_sdk("models")
if not FOLDERS:
    skip_all(WHY)
PYTHON, NODE = FOLDERS["python"], FOLDERS["npm"]
# Whoever runs this may have a proxy, a key or another address set: none of it may count.
for name in list(os.environ):
    if name.lower().endswith("_proxy") or name.startswith(("OPENAI_", "ANTHROPIC_", "OLLAMA_", "NODE_")):
        del os.environ[name]
sys.path[:0] = [str(PYTHON), str(SDK)]

# ruff: noqa: E402
import jsonschema
import pydantic
import python_clients
from providers import DONE, PROVIDERS, Server


# --- Sandgate's side


class Sandgate:
    """The program in one form, with a folder that both dialects work in."""

    def __init__(self, form):
        self.form = form
        self.home = form.folder("home-sdk", 0o700)
        self.count = 0

    def tools(self, dialect, wire_format):
        done = self.form.run(self.home, "tools", "--dialect", dialect, "--format", wire_format)
        check(done.returncode == 0, f"tools: {done.stderr}")
        return json.loads(done.stdout)

    @contextlib.contextmanager
    def gate(self, dialect, wire_format):
        """A running gate and its folder."""
        self.count += 1
        work = self.form.folder(f"sdk-{self.count}")
        self.form.write(work / "notes.txt", TEXT)
        options = ["--dialect", dialect, "--format", wire_format]
        options += ["--project", work] if dialect == "toolhost" else ["--workspace", work]
        with lib.Gate(self.form, *options, state=self.home) as gate:
            yield gate, work


def answers(gate, provider, calls):
    """Answers in the order of the calls: by their ids where the client keeps them, else asked one by one."""
    ids = [call.get("call_id") or call.get("id") for call in calls]
    lines = [json.dumps(call).encode() + b"\n" for call in calls]
    if None in ids:
        found = []
        for line in lines:
            gate.send_raw(line)
            found.append(gate.any_answer())
        return found
    gate.send_raw(b"".join(lines))
    by_id = {answer[provider.reply_id]: answer for answer in (gate.any_answer() for _ in calls)}
    return [by_id[ident] for ident in ids]


def check_outcome(provider, dialect, results, work):
    """The results say what happened, and it did."""
    check(len(results) == len(CALLS[dialect]), f"{len(results)} results")
    for (name, arguments, works), result in zip(CALLS[dialect], results):
        answer = json.loads(result[provider.reply_text])
        check(answer["ok"] is works, f"{name} {short(arguments)}: {short(answer)}")
        check(result.get("is_error", not works) is (not works), f"{short(result)}")
        if "read" in name and works:
            content = answer.get("result", answer)["content"]
            check(content == TEXT, f"{name} gave {content!r}")
    check((work / "new.txt").read_text(encoding="utf-8") == TEXT, "the file was not written")


# --- clients


class Npm:
    """The npm libraries in a process of Node.js, in a folder where they are found."""

    def __init__(self):
        self.folder = lib.scratch("npm-")
        for path in SDK.glob("*"):
            if path.suffix in (".mjs", ".ts", ".json"):
                shutil.copy(path, self.folder)
        (self.folder / "node_modules").symlink_to(NODE.resolve() / "node_modules")
        self.process = subprocess.Popen(
            ["node", "client.mjs"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def say(self, value):
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        check(line, "the Node.js process ended")
        heard = json.loads(line)
        check("error" not in heard, heard.get("error"))
        return heard

    def exchange(self, name, url, tools, run):
        self.say({"sdk": name, "url": url, "tools": tools})
        self.say({"results": run(self.hear()["calls"])})
        return self.hear()["text"]

    def compile(self, text):
        """Status and output of the TypeScript compiler over a file with this text, and over the exchanges."""
        (self.folder / "checks.ts").write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["node", "node_modules/typescript/bin/tsc", "--project", "."],
            cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def close(self):
        self.process.stdin.close()
        self.process.wait(lib.SECONDS)
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def python_exchange(name, url, tools, run):
    return python_clients.EXCHANGES[name](url, tools, run)


def exchange(sandgate, server, provider, dialect, client, seen):
    """The whole way, once. Results are added to `seen`."""
    listed = sandgate.tools(dialect, provider.format)
    aliases = {row["name"]: row["alias"] for row in sandgate.tools(dialect, "full")}
    dotted = provider.format == "ollama"
    calls = [
        (f"call_{number}", name if dotted else aliases[name] or name, arguments)
        for number, (name, arguments, _) in enumerate(CALLS[dialect])
    ]
    server.expect(provider.path, [provider.first(calls), provider.second()])
    with sandgate.gate(dialect, provider.format) as (gate, work):
        results = []

        def run(objects):
            check(len(objects) == len(calls), f"the library made {len(objects)} calls: {short(objects)}")
            results.extend(answers(gate, provider, objects))
            return results

        text = client(provider.name, server.url, listed, run)
        check(text == DONE, f"the second answer is {text!r}")
        first, second = server.bodies
        provider.check_tools(first["tools"], listed)
        provider.check_results(second, calls, results)
        check_outcome(provider, dialect, results, work)
    seen.setdefault(provider.name, []).extend(results)


# --- types and schemas


def schema_of(tool):
    inner = tool.get("function", tool)
    return inner.get("parameters") or inner["input_schema"]


def check_types(sandgate, provider):
    for dialect in CALLS:
        for tool in sandgate.tools(dialect, provider.format):
            python_clients.TOOL_TYPES[provider.name].validate_python(tool, strict=True)
            jsonschema.Draft202012Validator.check_schema(schema_of(tool))


def check_refused(adapter, value):
    try:
        adapter.validate_python(value)
    except pydantic.ValidationError:
        return
    raise AssertionError(f"taken: {short(value)}")


def is_strict(schema):
    """Whether OpenAI's strict mode would take it: every argument required, and no default."""
    properties = schema["properties"]
    return (
        schema.get("additionalProperties") is False
        and sorted(schema.get("required", [])) == sorted(properties)
        and not any("default" in one for one in properties.values())
    )


def note_strict(sandgate):
    for dialect in CALLS:
        rows = sandgate.tools(dialect, "openai-responses")
        fitting = [row["name"] for row in rows if is_strict(row["parameters"])]
        lib.note(f"{dialect}: strict mode would take {', '.join(fitting) or 'none'} of {len(rows)}")


def typescript(lists, seen):
    """Every value as a constant of its type. With Ollama's two steps keys that its types lack are no mistake:
    keywords of JSON Schema, and the id that newer servers have."""
    lines = ["import type { Results, Tools } from './types.js';"]
    values = [("Tools", name, item) for name, items in lists.items() for item in items]
    values += [("Results", name, item) for name, items in seen.items() for item in items]
    for number, (kind, name, item) in enumerate(values):
        if name == "ollama":
            lines.append(f"const plain{number} = {json.dumps(item)};")
        source = f"plain{number}" if name == "ollama" else json.dumps(item)
        lines.append(f"export const typed{number}: {kind}['{name}'] = {source};")
    return "\n".join(lines) + "\n"


def check_compiler(npm, lists, seen):
    status, said = npm.compile(typescript(lists, seen))
    check(status == 0, said)


def check_compiler_refuses(npm, lists):
    """Otherwise its consent would say nothing: a tool of each list as one of another library's."""
    turned = [("openai chat", "anthropic"), ("openai responses", "openai chat"), ("anthropic", "openai responses"),
              ("ollama", "openai responses")]
    for name, other in turned:
        status, said = npm.compile(typescript({name: lists[other][:1]}, {}))
        check(status != 0 and "checks.ts" in said and "error TS" in said, f"{other} as {name}: {said or 'taken'}")


def main():
    tap = lib.Tap()
    sandgate = Sandgate(lib.forms()[-1])
    server = Server()
    npm = Npm()
    lists = {p.name: [tool for d in CALLS for tool in sandgate.tools(d, p.format)] for p in PROVIDERS}
    seen = {}
    lib.note(python_clients.VERSIONS)
    for provider in PROVIDERS:
        with tap.case(f"{provider.name}: the Python types take every tool, and its schema is JSON Schema"):
            check_types(sandgate, provider)
        for dialect in CALLS:
            for language, client in (("Python", python_exchange), ("npm", npm.exchange)):
                with tap.case(f"{provider.name}, {language}, {dialect}: tools, calls and results go the whole way"):
                    exchange(sandgate, server, provider, dialect, client, seen)
        with tap.case(f"{provider.name}: the Python types take every result"):
            check(len(seen.get(provider.name, [])) == 2 * sum(map(len, CALLS.values())), "results are missing")
            for result in seen[provider.name]:
                python_clients.RESULT_TYPES[provider.name].validate_python(result, strict=True)
    with tap.case("the Python types refuse another library's tools"):
        check_refused(python_clients.TOOL_TYPES["openai chat"], lists["anthropic"][0])
        check_refused(python_clients.TOOL_TYPES["openai responses"], lists["openai chat"][0])
        check_refused(python_clients.TOOL_TYPES["anthropic"], lists["openai chat"][0])
    with tap.case("npm: the compiler takes every tool, every result and the exchanges"):
        check_compiler(npm, lists, seen)
    with tap.case("npm: the compiler refuses another library's tools"):
        check_compiler_refuses(npm, lists)
    note_strict(sandgate)
    npm.close()
    server.close()
    tap.done()


main()
