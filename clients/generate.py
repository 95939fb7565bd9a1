#!/usr/bin/env python3
"""Writes the typed methods of both clients from the tools' own schemas.

    clients/generate.py [--check] [--program SANDGATE]

With --check nothing is written; the status is 1 when a file is not what would be written.
"""

import argparse
import json
import keyword
import os
import pathlib
import subprocess
import sys
import textwrap

CLIENTS = pathlib.Path(__file__).resolve().parent
PYTHON = CLIENTS / "python/src/sandgate/_tools.py"
TYPESCRIPT = CLIENTS / "typescript/src/tools.ts"
WIDTH = 120
# Every native result has these beside what its schema lists.
COMMON = {"tier": {"type": "string"}, "duration_ms": {"type": "integer"}}
REPLACES = "_b64"


def pascal(name):
    return "".join(part.capitalize() for part in name.replace(".", "_").split("_"))


def wrapped(text, indent, first=""):
    return textwrap.fill(text, WIDTH, initial_indent=indent + first, subsequent_indent=indent)


class Tool:
    def __init__(self, row):
        self.name = row["name"]
        self.method = row["alias"] or row["name"]
        self.doc = row["description"]
        self.result_name = pascal(self.method) + "Result"
        self.result = row["output_schema"]
        # A tool that runs commands: what they print can be heard as it comes.
        self.prints = "stdout" in self.result["properties"]
        self.required = row["input_schema"].get("required", [])
        listed = row["input_schema"]["properties"]
        # `path_b64` is the same argument as `path`, for paths that are not UTF-8.
        self.paths = {n for n in listed if n + REPLACES in listed}
        self.args = {n: s for n, s in listed.items() if n.removesuffix(REPLACES) not in self.paths or n in self.paths}

    def ordered(self):
        """Required arguments first."""
        return sorted(self.args.items(), key=lambda item: item[0] not in self.required)


def one_of(name):
    """The type of one item of the list that is called so."""
    return name.removesuffix("es") if name.endswith("Matches") else name.removesuffix("Entries") + "Entry"


class Types:
    """Collects the named object types that a tool's schemas need, innermost first."""

    def __init__(self, words):
        self.words = words
        self.objects = []

    def of(self, schema, name):
        if not isinstance(schema, dict):
            return self.words["any"]
        if "enum" in schema:
            return self.words["enum"]([json.dumps(v) for v in schema["enum"]])
        kind = schema.get("type")
        if isinstance(kind, list):
            return self.words["union"]([self.of({**schema, "type": k}, name) for k in kind])
        if kind == "array":
            return self.words["array"](self.of(schema.get("items"), one_of(name)))
        if kind == "object" and schema.get("properties"):
            return self.add(name, schema["properties"], schema.get("required", []))
        return self.words.get(kind, self.words["any"])

    def add(self, name, properties, required):
        fields = [(f, self.of(s, name + pascal(f)), f in required, docs(s)) for f, s in properties.items()]
        self.objects.append((name, fields))
        return name


def docs(schema):
    return schema.get("description", "") if isinstance(schema, dict) else ""


def result_type(types, tool):
    required = [*tool.result.get("required", []), *COMMON]
    types.add(tool.result_name, {**tool.result["properties"], **COMMON}, required)


# --- Python

PYTHON_WORDS = {
    "any": "Any",
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "Dict[str, Any]",
    "array": "List[{}]".format,
    "enum": lambda values: f"Literal[{', '.join(values)}]",
    "union": lambda kinds: f"Union[{', '.join(kinds)}]",
}

PYTHON_HEAD = '''"""The native tools with types. Written by clients/generate.py from the tools' own schemas: do not edit."""

from __future__ import annotations

from typing import {names}

from ._wire import OnOutput, PathArgument, path_argument

{exported}

def _given(arguments: Dict[str, Any]) -> Dict[str, Any]:
    return {{name: value for name, value in arguments.items() if value is not None}}
'''


def python_name(name):
    return name + "_" if keyword.iskeyword(name) or name in ("self", "timeout", "on_output") else name


def python_words(doc):
    """As it is written in a string."""
    return doc.replace("\\", "\\\\")


def python_object(name, fields):
    """Keys that may be missing come from a base class: typing.NotRequired is not in Python 3.9."""
    optional = [f for f in fields if not f[2]]
    required = [f for f in fields if f[2]]
    out = []
    bases = "TypedDict"
    words = [f for f in required if keyword.iskeyword(f[0])]
    if words:  # which a class cannot have as names
        bases = f"_{name}Words"
        pairs = ", ".join(f'"{field}": {kind}' for field, kind, _, _ in words)
        out += ["", "", f'{bases} = TypedDict("{bases}", {{{pairs}}})']
        required = [f for f in required if f not in words]
    if optional:
        base, bases = bases, f"_{name}Optional"
        out += ["", "", f"class {bases}({base}, total=False):", *python_fields(optional)]
    return out + ["", "", f"class {name}({bases}):", *(python_fields(required) or ["    pass"])]


def python_fields(fields):
    lines = []
    for name, kind, _, doc in fields:
        line = f"    {name}: {kind}"
        if len(line) > WIDTH:
            line = line.replace("[", "[\n        ", 1)[:-1] + "\n    ]"
        lines.append(line)
        if doc:
            lines.append(f'    """{python_words(doc)}"""')
    return lines


def python_doc(tool):
    lines = [wrapped(python_words(tool.doc), " " * 8, '"""')]
    for number, (name, schema) in enumerate(tool.ordered()):
        text = f"{python_name(name)}: {python_words(docs(schema))}"
        if "default" in schema:
            text += f" Default: {json.dumps(schema['default'])}."
        lines += [""] * (number == 0)
        lines.append(textwrap.fill(text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12))
    if tool.prints:
        lines.append("        on_output: Takes what is printed as it comes: `stdout` or `stderr`, and the text.")
    if len(lines) == 1 and "\n" not in lines[0] and len(lines[0]) + 3 <= WIDTH:
        return [lines[0] + '"""']
    return [*lines, '        """']


def python_method(tool, types, prefix, wait):
    params, keyworded, paths, values = ["self"], [], [], []
    for name, schema in tool.ordered():
        kind = "PathArgument" if name in tool.paths else types.of(schema, pascal(tool.method) + pascal(name))
        py = python_name(name)
        if name in tool.required:
            params.append(f"{py}: {kind}")
        else:
            # Where nothing is required, the first is what one means without a word: run_command("make").
            leads = not tool.required and len(params) == 1
            bucket = params if name in tool.paths or leads else keyworded
            bucket.append(f"{py}: Optional[{kind}] = None")
        if name in tool.paths:
            paths.append(f'**path_argument("{name}", {py})')
        else:
            values.append(f'"{name}": {py}')
    keyworded.append("timeout: Optional[float] = None")
    if tool.prints:
        keyworded.append("on_output: Optional[OnOutput] = None")
    out = ["", f"    {prefix}def {tool.method}("]
    out += [f"        {p}," for p in [*params, "*", *keyworded]]
    out += [f"    ) -> {tool.result_name}:"]
    out += python_doc(tool)
    if paths or values:
        out += ["        arguments = _given(", "            {"]
        out += [f"                {item}," for item in paths + values]
        out += ["            }", "        )"]
    else:
        out += ["        arguments: Dict[str, Any] = {}"]
    given = "arguments, timeout, on_output" if tool.prints else "arguments, timeout"
    out += [f'        return cast({tool.result_name}, {wait}self._tool("{tool.method}", {given}))']
    return out


def python_base(prefix):
    return [f"    {prefix}def _tool(", "        self,", "        name: str,", "        arguments: Dict[str, Any],",
            "        timeout: Optional[float],", "        on_output: Optional[OnOutput] = None,", "    ) -> Any:",
            "        raise NotImplementedError"]


def python_text(tools):
    types = Types(PYTHON_WORDS)
    for tool in tools:
        result_type(types, tool)
    sync, coroutine = [], []
    for tool in tools:
        sync += python_method(tool, types, "", "")
        coroutine += python_method(tool, Types(PYTHON_WORDS), "async ", "await ")
    body = []
    for name, fields in types.objects:
        body += python_object(name, fields)
    base = ["", "", "class Tools:", '    """Typed methods that wait."""', "",
            *python_base(""), *sync]
    base += ["", "", "class AsyncTools:", '    """Typed methods to await."""', "",
             *python_base("async "), *coroutine]
    text = "\n".join(body + base) + "\n"
    names = [n for n in ("Any", "Dict", "List", "Literal", "Optional", "TypedDict", "Union")
             if n + "[" in text or n in ("Any", "Dict", "Optional", "TypedDict")]
    exported = "__all__ = [\n" + "".join(f'    "{name}",\n' for name, _ in types.objects) + "]\n"
    return PYTHON_HEAD.format(names=", ".join([*names, "cast"]), exported=exported) + text


# --- TypeScript

TYPESCRIPT_WORDS = {
    "any": "unknown",
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "Record<string, unknown>",
    "array": "Array<{}>".format,
    "enum": " | ".join,
    "union": " | ".join,
}

TYPESCRIPT_HEAD = """// The native tools with types. Written by clients/generate.py from the tools' own schemas: do not edit.

import { pathArgument, type CallOptions, type PathArgument } from "./wire.js";
"""


def typescript_comment(doc, indent):
    lines = textwrap.wrap(doc.replace("*/", "*\\/"), WIDTH - len(indent) - 6)
    if len(lines) == 1:
        return [f"{indent}/** {lines[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}" for line in lines), f"{indent} */"]


def typescript_object(name, fields):
    out = ["", f"export interface {name} {{"]
    for field, kind, required, doc in fields:
        if doc:
            out += typescript_comment(doc, "  ")
        out.append(f"  {field}{'' if required else '?'}: {kind};")
    return [*out, "}"]


def typescript_method(tool):
    camel = tool.method.split("_")[0] + "".join(p.capitalize() for p in tool.method.split("_")[1:])
    arguments = pascal(tool.method) + "Arguments"
    default = "" if tool.required else " = {}"
    if not tool.args:
        head, value = "", "{}"
    elif tool.paths:
        names = "".join(f"{name}, " for name in sorted(tool.paths))
        paths = "".join(f'...pathArgument("{name}", {name}), ' for name in sorted(tool.paths))
        head, value = f"{{ {names}...rest }}: {arguments}{default}, ", f"{{ {paths}...rest }}"
    else:
        head, value = f"arguments_: {arguments}{default}, ", "arguments_"
    return ["", *typescript_comment(tool.doc, "  "),
            f"  {camel}({head}options?: CallOptions): Promise<{tool.result_name}> {{",
            f'    return this.call<{tool.result_name}>("{tool.method}", {value}, options);', "  }"]


def typescript_text(tools):
    types = Types(TYPESCRIPT_WORDS)
    methods = []
    for tool in tools:
        result_type(types, tool)
        if tool.args:
            name = pascal(tool.method) + "Arguments"
            fields = [(a, "PathArgument" if a in tool.paths else types.of(s, name + pascal(a)), a in tool.required,
                       docs(s)) for a, s in tool.args.items()]
            types.objects.append((name, fields))
        methods += typescript_method(tool)
    out = [TYPESCRIPT_HEAD.rstrip("\n")]
    for name, fields in types.objects:
        out += typescript_object(name, fields)
    out += ["", "/** Typed methods. */", "export abstract class Tools {",
            "  abstract call<T>(name: string, arguments_: object, options?: CallOptions): Promise<T>;", *methods, "}"]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--program", default=os.environ.get("SANDGATE", CLIENTS.parent / "build/sandgate"))
    arguments = parser.parse_args()
    listed = subprocess.run([str(arguments.program), "tools", "--format", "full"], capture_output=True, check=True)
    tools = [Tool(row) for row in json.loads(listed.stdout)]
    compile(python_text(tools), str(PYTHON), "exec")  # a field may not be called as a word of the language
    stale = []
    for path, text in ((PYTHON, python_text(tools)), (TYPESCRIPT, typescript_text(tools))):
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(str(path.relative_to(CLIENTS.parent)))
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
    if stale and arguments.check:
        print(f"{' and '.join(stale)}: not as the tools are now; run clients/generate.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
