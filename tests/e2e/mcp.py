#!/usr/bin/env python3
"""`sandgate mcp`: the rules of JSON-RPC and of the protocol, line by line, with answers as objects. tests/e2e/mcp_text.py
has the answers that models get, tests/e2e/sdk_mcp.py real clients."""
# timeout: 400

import json
import os
import signal

import jsonschema
import lib
from lib import check, short, wait_until

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
STRUCTURED_FROM = "2025-06-18"
TWICE_MAX = 256 << 10


class Server(lib.Gate):
    """A running `sandgate mcp`."""

    command = "mcp"

    def __init__(self, form, *options, **more):
        super().__init__(form, "--structured", *options, **more)

    def ask_raw(self, line):
        """Sends a line; the next message that comes."""
        self.send_raw((line if isinstance(line, bytes) else line.encode()) + b"\n")
        return self.any_answer()

    def ask(self, method, params=None, call_id=None):
        """The whole answer to a request."""
        self.post(method, params, call_id)
        return self.answer_to(self.next_id if call_id is None else call_id)

    def post(self, method, params=None, call_id=None):
        if call_id is None:
            self.next_id += 1
            call_id = self.next_id
        message = {"jsonrpc": "2.0", "id": call_id, "method": method}
        self.send_raw(json.dumps(message if params is None else {**message, "params": params}).encode() + b"\n")

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        self.send_raw(json.dumps(message if params is None else {**message, "params": params}).encode() + b"\n")

    def answer_to(self, call_id):
        self.pump(until=lambda: any(same(a.get("id"), call_id) for a in self.answers))
        for at, answer in enumerate(self.answers):
            if same(answer["id"], call_id):
                check(answer["jsonrpc"] == "2.0" and ("result" in answer) != ("error" in answer), short(answer))
                return self.answers.pop(at)
        raise AssertionError("not reached")

    def start(self, version=VERSIONS[0]):
        client = {"name": "test", "version": "1"}
        self.version = version
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})
        self.notify("notifications/initialized")
        return answer["result"]

    def tool(self, name, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def content(self, name, **arguments):
        """The structured content of a call that succeeds; the text must be the same, or say where a long one is."""
        result = self.tool(name, **arguments).get("result", {})
        check(not result.get("isError"), f"{name}: {short(result)}")
        (block,) = result["content"]
        check(block["type"] == "text", short(block))
        if self.version < STRUCTURED_FROM:
            check("structuredContent" not in result, f"{name}: {short(result)}")
            return json.loads(block["text"])
        found = result["structuredContent"]
        # Written as the gate does, to know its length.
        if len(json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode()) > TWICE_MAX:
            check("structuredContent" in block["text"] and len(block["text"]) < 300, short(block))
        else:
            check(json.loads(block["text"]) == found, short(block))
        return found

    def tool_error(self, name, **arguments):
        """The error of a call that fails as a tool."""
        answer = self.tool(name, **arguments)
        result = answer.get("result", {})
        check(result.get("isError") is True and "structuredContent" not in result, short(answer))
        return json.loads(result["content"][0]["text"])["error"]

    def silent(self):
        """Nothing has come but the answer to this ping."""
        check(self.ask("ping")["result"] == {}, "ping")
        check(not self.answers, f"unexpected: {short(self.answers)}")


def same(a, b):
    return a == b and type(a) is type(b)


def expect_code(answer, code, call_id=None):
    check(same(answer["id"], call_id), f"answered to {answer['id']!r}, not {call_id!r}: {short(answer)}")
    check(answer.get("error", {}).get("code") == code, f"expected {code}: {short(answer)}")
    check(len(answer["error"]["message"]) > 10, f"no message to act on: {short(answer)}")


class Suite:
    def __init__(self, tap, form):
        self.tap, self.form = tap, form
        self.folder = form.folder("ws")
        form.write(self.folder / "good", "good\n")
        self.server = self.new()
        self.server.start()

    def new(self, *options, **more):
        return Server(self.form, *options, workspace=self.folder, **more)

    def case(self, name):
        return self.tap.case(f"{self.form.name}: {name}")

    def works(self, server=None):
        check((server or self.server).content("read_file", path="good")["content"] == "good\n", "the next call")


# --- the beginning


def beginning(suite):
    for version in VERSIONS:
        with suite.case(f"a client of revision {version}"), suite.new() as server:
            check(server.start(version)["protocolVersion"] == version, "the revision")
            suite.works(server)
    with suite.case("a client of another revision is offered the newest"), suite.new() as server:
        result = server.start("2199-01-01")
        check(result["protocolVersion"] == VERSIONS[0], short(result))
        check(result["capabilities"] == {"tools": {"listChanged": False}}, short(result))
        check(set(result["serverInfo"]) == {"name", "title", "version"}, short(result))
        check("PATH_OUTSIDE_WORKSPACE" in result["instructions"], short(result))
    with suite.case("before initialize only ping is answered"), suite.new() as server:
        check(server.ask("ping")["result"] == {}, "ping")
        expect_code(server.ask("tools/list", call_id="a"), REQUEST, "a")
        expect_code(server.ask("tools/call", {"name": "write_file", "arguments": {"path": "early", "content": ""}},
                               call_id="b"), REQUEST, "b")
        expect_code(server.ask("server/discover", call_id="c"), METHOD, "c")
        for params in (None, {}, {"protocolVersion": 1}, {"protocolVersion": None}, []):
            expect_code(server.ask("initialize", params, call_id="d"), PARAMS, "d")
        server.start()
        suite.works(server)
        check(not (suite.folder / "early").exists(), "a call before initialize was carried out")
    with suite.case("initialize comes once"):
        expect_code(suite.server.ask("initialize", {"protocolVersion": VERSIONS[0]}, call_id="again"), REQUEST, "again")
        suite.works()


# --- what is wrong with a line


def bad_lines(suite):
    server = suite.server
    deep = "[" * 100 + "]" * 100
    for name, line in [
        ("no JSON", "nonsense"),
        ("half a message", '{"jsonrpc":"2.0","id":1,"method":"ping"'),
        ("two messages on one line", '{"jsonrpc":"2.0","id":1,"method":"ping"}{}'),
        ("nested too deeply", '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + deep + "}}"),
        ("a million brackets", "[" * 1000000),
        ("a key twice", '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'),
        ("bytes that are not UTF-8", b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}'),
        ("a NUL byte", b'{"jsonrpc":"2.0",\0"id":1}'),
    ]:
        with suite.case(f"{PARSE}: {name}"):
            expect_code(server.ask_raw(line), PARSE)
            suite.works()
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    for name, line, call_id in [
        ("a batch", f"[{ping},{ping}]", None),
        ("an empty batch", "[]", None),
        ("a string", '"ping"', None),
        ("a number", "1", None),
        ("null", "null", None),
        ("an empty object", "{}", None),
        ("no jsonrpc", '{"id":7,"method":"ping"}', 7),
        ("another jsonrpc", '{"jsonrpc":"1.0","id":7,"method":"ping"}', 7),
        ("jsonrpc as a number", '{"jsonrpc":2.0,"id":7,"method":"ping"}', 7),
        ("no method", '{"jsonrpc":"2.0","id":7}', 7),
        ("a method that is no string", '{"jsonrpc":"2.0","id":7,"method":5}', 7),
        ("id null", '{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
        ("id true", '{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
        ("id 1.5", '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
        ("id of 30 digits", '{"jsonrpc":"2.0","id":' + "9" * 30 + ',"method":"ping"}', None),
        ("id as an object", '{"jsonrpc":"2.0","id":{},"method":"ping"}', None),
        ("id as a list", '{"jsonrpc":"2.0","id":[1],"method":"ping"}', None),
        ("a long id", json.dumps({"jsonrpc": "2.0", "id": "x" * 1025, "method": "ping"}), None),
    ]:
        with suite.case(f"{REQUEST}: {name}"):
            expect_code(server.ask_raw(line), REQUEST, call_id)
            suite.works()
    for method in ("logging/setLevel", "resources/list", "prompts/list", "tools/call2", "", "initialized\0",
                   "notifications/initialized", "notifications/cancelled", "x" * 10000):
        with suite.case(f"{METHOD}: {method[:30]!r}"):
            expect_code(server.ask(method, {}, call_id="m"), METHOD, "m")
    for name, method, params in [
        ("parameters as a list", "tools/list", [1]),
        ("parameters as a string", "ping", "x"),
        ("a cursor that is no string", "tools/list", {"cursor": 1}),
        ("a call without parameters", "tools/call", None),
        ("a call that names no tool", "tools/call", {"arguments": {}}),
        ("a tool's name that is no string", "tools/call", {"name": ["stat"]}),
        ("arguments as a list", "tools/call", {"name": "stat", "arguments": ["good"]}),
        ("arguments as text", "tools/call", {"name": "stat", "arguments": '{"path":"good"}'}),
        ("an unknown tool", "tools/call", {"name": "format_disk"}),
        ("a tool's name with a NUL", "tools/call", {"name": "stat\0", "arguments": {"path": "good"}}),
        ("a tool of another dialect", "tools/call", {"name": "fs_read", "arguments": {"path": "@project/good"}}),
    ]:
        with suite.case(f"{PARAMS}: {name}"):
            expect_code(server.ask(method, params, call_id="p"), PARAMS, "p")
            suite.works()


def notifications(suite):
    server = suite.server
    with suite.case("what has no id has no answer, and does nothing"):
        server.notify("notifications/unknown", {"a": 1})
        server.notify("notifications/cancelled")
        server.notify("notifications/cancelled", {"requestId": None})
        server.notify("notifications/cancelled", {"requestId": 123456})
        server.notify("notifications/progress", [1])
        server.notify("ping")
        server.notify("tools/call", {"name": "write_file", "arguments": {"path": "unasked", "content": "x"}})
        server.notify("initialize", {})
        server.silent()
        check(not (suite.folder / "unasked").exists(), "a notification was carried out as a call")
    with suite.case("answers are not answered"):
        for text in ('{"jsonrpc":"2.0","id":1,"result":{}}', '{"jsonrpc":"2.0","id":null,"error":{"code":1}}',
                     '{"error":{}}', '{"id":[],"result":1}'):
            server.send_raw(text.encode() + b"\n")
        server.silent()
    with suite.case("empty lines and carriage returns"):
        server.send_raw(b"\n  \n\r\n")
        answer = server.ask_raw('{"jsonrpc":"2.0","id":"crlf","method":"ping"}\r')
        check(answer == {"jsonrpc": "2.0", "id": "crlf", "result": {}}, short(answer))
        server.silent()


def ids(suite):
    server = suite.server
    forms = [0, 1, -1, 2**53, 2**64 - 1, -(2**63), "", "1", "x" * 1024, "ü \"quoted\" \\ \u2028 \0 \n 😀"]
    with suite.case("ids come back as they were"):
        for call_id in forms:
            check(server.ask("ping", call_id=call_id)["result"] == {}, repr(call_id))
            result = server.ask("tools/call", {"name": "stat", "arguments": {"path": "good"}}, call_id)["result"]
            check(result["structuredContent"]["size"] == 5, repr(call_id))
    with suite.case("1 and \"1\" are two requests; the same one twice is not"):
        lines = b""
        for call_id in (1, "1", 1):
            message = {"jsonrpc": "2.0", "id": call_id, "method": "tools/call",
                       "params": {"name": "stat", "arguments": {"path": "good"}}}
            lines += json.dumps(message).encode() + b"\n"
        server.send_raw(lines)
        answers = [server.any_answer() for _ in range(3)]
        refused = [a for a in answers if "error" in a]
        check(len(refused) == 1, short(answers))
        expect_code(refused[0], REQUEST, 1)
        check(sorted(map(repr, (a["id"] for a in answers if "result" in a))) == ["'1'", "1"], short(answers))
        server.silent()


# --- tools


def tools(suite):
    server = suite.server
    with suite.case("the list is one page, whatever the cursor") as _:
        first = server.ask("tools/list")["result"]
        check("nextCursor" not in first, short(first))
        for params in ({}, {"cursor": "x"}, {"_meta": {"progressToken": 1}}):
            check(server.ask("tools/list", params)["result"] == first, short(params))
    listed = {tool["name"]: tool for tool in first["tools"]}
    with suite.case("names, schemas and hints"):
        for name, tool in listed.items():
            check(name.replace("_", "").isalnum(), f"the name {name!r}")
            check(tool["title"] and len(tool["description"]) > 20, short(tool))
            for key in ("inputSchema", "outputSchema"):
                jsonschema.Draft7Validator.check_schema(tool[key])
                check(tool[key]["type"] == "object", short(tool[key]))
            hints = tool["annotations"]
            check(hints["title"] == tool["title"] and hints["openWorldHint"] is False, short(hints))
            reads = name in ("read_file", "list_files", "search", "stat", "time_now", "read_output")
            if reads or name in ("write_file", "run_command"):
                # write_file can append, and appending twice is not appending once. A command can do anything but
                # reach the world outside.
                expected = {"readOnlyHint": reads, "destructiveHint": not reads, "idempotentHint": reads}
                check(expected.items() <= hints.items(), f"{name}: {short(hints)}")
    with suite.case("results fit their schemas"):
        for name, arguments in [
            ("write_file", {"path": "made", "content": "1\n2\n"}),
            ("read_file", {"path": "made", "start_line": 2}),
            ("read_file", {"path": "made", "max_bytes": 1}),
            ("list_files", {}),
            ("search", {"pattern": "[12]", "before": 1}),
            ("search", {"pattern": "1", "mode": "count"}),
            ("stat", {"path": "made"}),
            ("time_now", {}),
            ("run_command", {"command": "echo out; echo err >&2; exit 3"}),
            ("run_command", {"argv": ["sh", "-c", "kill -KILL $$"]}),
            ("run_command", {"command": "seq 1 1000", "max_output": 100}),
        ]:
            jsonschema.validate(server.content(name, **arguments), listed[name]["outputSchema"])
    with suite.case("a command: its exit code is no failure, and long output is read in pages"):
        found = server.content("run_command", command="seq 1 1000; exit 3", max_output=100)
        check(found["exit_code"] == 3 and found["truncated"], short(found))
        page = server.content("read_output", output_id=found["output_id"], offset=3884)
        jsonschema.validate(page, listed["read_output"]["outputSchema"])
        check(page["content"] == "999\n1000\n" and page["truncated"] is False, short(page))
        check(server.tool_error("run_command", command="true", cwd="..")["code"] == "PATH_OUTSIDE_WORKSPACE", "cwd")
    with suite.case("a call without arguments, with null, and by the other name"):
        for params in ({"name": "time_now"}, {"name": "time_now", "arguments": None}, {"name": "time.now"}):
            check("structuredContent" in server.ask("tools/call", params)["result"], short(params))
    with suite.case("what the model can correct is a failed tool, not a failed request"):
        error = server.tool_error("read_file")
        check(error["code"] == "INVALID_ARGUMENTS" and error["details"]["field"] == "path", short(error))
        check(server.tool_error("stat", path=1)["code"] == "INVALID_ARGUMENTS", "a wrong type")
        check(server.tool_error("stat", path="good", nonsense=1)["code"] == "INVALID_ARGUMENTS", "an unknown one")
        check(server.tool_error("read_file", path="missing")["code"] == "NOT_FOUND", "a missing file")
        check(server.tool_error("read_file", path="../x")["code"] == "PATH_OUTSIDE_WORKSPACE", "a path out")
    with suite.case("contents that need escaping, small and large"):
        nasty = "\"\\\n\t\r\b\f\0\x1f\x7f \u2028 ü 😀 \ufffd \\u0041 {\"a\":[\"\\\\\"]}"
        for text in (nasty, nasty * 20000, "\\" * 300000, '"' * 300000, "plain " * 200000, ""):
            server.content("write_file", path="nasty", content=text)
            check(server.content("read_file", path="nasty", max_bytes=4000000)["content"] == text, short(text))
        suite.form.write(suite.folder / "binary", bytes(range(256)) * 300)
        check("\ufffd" in server.content("read_file", path="binary")["content"], "bytes that are not UTF-8")


def toolhost(suite):
    with suite.case("the toolhost dialect"), Server(suite.form, "--dialect", "toolhost", "--project",
                                                    suite.folder) as server:
        check("@project" in server.start()["instructions"], "the instructions")
        listed = {tool["name"]: tool for tool in server.ask("tools/list")["result"]["tools"]}
        check(listed["fs_write"]["annotations"]["idempotentHint"] is True, short(listed["fs_write"]))
        for name, arguments in [("fs_read", {"path": "@project/good"}), ("fs_list", {"path": "@project"}),
                                ("fs_write", {"path": "@project/by-host", "content": "x"})]:
            content = server.content(name, **arguments)
            jsonschema.validate(content, listed[name]["outputSchema"])
            check(content["ok"] is True, short(content))
        check(server.tool_error("fs_read", path="@project/../x")["code"] == "E_SANDBOX_VIOLATION", "a path out")


def sidecar(suite):
    with suite.case("the sidecar's envelope is around results and failures"), suite.new("--dialect", "sidecar") as server:
        server.start()
        listed = {tool["name"]: tool for tool in server.ask("tools/list")["result"]["tools"]}
        for name, arguments in [
            ("read_file", {"path": "good"}),
            ("list_directory", {}),
            ("search_files", {"pattern": "good"}),
            ("run_command", {"command": "echo out"}),
        ]:
            found = server.content(name, **arguments)
            jsonschema.validate(found, listed[name]["outputSchema"])
            check(found["success"] is True and found["tool"] == name and found["error"] is None, short(found))
        check(found["output"]["stdout"] == "out\n", short(found))
        result = server.tool("read_file", path="missing")["result"]
        failed = json.loads(result["content"][0]["text"])
        check(result["isError"] is True and failed["error"].pop("message"), short(result))
        expected = {"success": False, "tool": "read_file", "output": None, "error": {"code": "NOT_FOUND"}}
        check(failed == expected, short(failed))


def asks(suite):
    with suite.case("over MCP every dialect asks before something is changed, unless the operator says otherwise"):
        file = suite.form.write(suite.form.base / "asks.json", json.dumps({"approval": {"timeoutMs": 100}}))
        with suite.new("--dialect", "sidecar", "--config", file, env={"SANDGATE_APPROVAL_DEFAULT": None}) as server:
            server.start()
            error = server.tool_error("write_file", path="asked", content="x")
            check(error["code"] == "POLICY_DENIED" and "approval.default" in error["message"], short(error))
            check(not (suite.folder / "asked").exists(), "it was written")


def offered(suite):
    config = {"policy": {"enabled": {"move": False}}, "agents": {"reader": {"capabilities": {"command": False}}}}
    file = suite.form.write(suite.form.base / "offered.json", json.dumps(config))
    for options, missing in ((("--config", file), {"move"}),
                             (("--config", file, "--agent", "reader"), {"move", "run_command"})):
        with suite.case(f"the list has only what is left to the caller, without {sorted(missing)}"):
            everything = {tool["name"] for tool in suite.server.ask("tools/list")["result"]["tools"]}
            with suite.new(*options) as server:
                server.start()
                listed = {tool["name"] for tool in server.ask("tools/list")["result"]["tools"]}
                check(everything - listed == missing and listed < everything, short(sorted(listed)))
                check(server.tool_error("move", **{"from": "good", "to": "b"})["code"] == "POLICY_DENIED", "a call")


def long_failure(suite):
    with suite.case("a failure with much that was printed is whole"), suite.new("--dialect", "runner") as server:
        server.start()
        command = "head -c 90000 /dev/zero | tr '\\0' '\\001'; sleep 20"
        result = server.tool("shell", command=command, timeout=1)["result"]
        text = result["content"][0]["text"]
        check(result["isError"] is True and text.startswith("Error: command timed out"), short(text))
        check(text.count("\x01") == 90000, f"{text.count(chr(1))} of 90000")


# --- many, long, cancelled, ended


def flow(suite):
    with suite.case("3,000 calls without waiting"), suite.new() as server:
        server.start()
        lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call",
                             "params": {"name": "read_file", "arguments": {"path": "good"}}}) for n in range(3000)]
        for n in range(0, 3000, 100):
            lines[n] = json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"})
        server.send_raw("\n".join(lines).encode() + b"\n")
        seen = [server.any_answer() for _ in lines]
        check(sorted(a["id"] for a in seen) == list(range(3000)), "not every call was answered once")
        check(all("result" in a and not a["result"].get("isError") for a in seen), "not every call succeeded")
        server.check_memory()
    with suite.case("calls, pings and lists by a client that does not read"), suite.new() as server:
        server.start()
        server.content("write_file", path="big", content="x" * 1000000)
        read = {"name": "read_file", "arguments": {"path": "big", "max_bytes": 1000000}}
        count = 0
        os.set_blocking(server.into, False)
        for n in range(4000):
            method, params = [("tools/call", read), ("tools/list", {}), ("ping", {})][n % 3]
            line = json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params}).encode() + b"\n"
            if server.write(line) < len(line):
                break
            count += 1
        check(count > 100, f"only {count} lines were taken")
        # Sixty-four megabytes of answers may wait, and buffers grow by doubling.
        server.check_memory(400)
    with suite.case("a request cancelled while it runs has no answer"), suite.new() as server:
        server.start()
        os.truncate(suite.form.write(suite.folder / "sparse", ""), 64 << 30)
        suite.works(server)
        worker = server.worker()
        before = lib.cpu_ticks(worker)
        server.post("tools/call", {"name": "read_file", "arguments": {"path": "sparse", "hash": True}}, "long")
        wait_until(lambda: lib.cpu_ticks(worker) > before + 4, "the read begins")
        server.notify("notifications/cancelled", {"requestId": "other"})
        server.notify("notifications/cancelled", {"requestId": "long", "reason": "no longer needed"})

        def recorded():
            return [r for r in lib.audit_records(server.state) if r.get("code") == "CANCELLED"]

        wait_until(recorded, "the record of the cancelled call")
        suite.works(server)
        server.silent()
        server.close_input()
        check(server.drain() == [] and server.wait_exit() == 0, "it answered after all")
    with suite.case("a request cancelled before it started"), suite.new() as server:
        server.start()
        call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "time_now"}}
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
        server.send_raw("".join(json.dumps(m) + "\n" for m in (call, cancel)).encode())
        server.silent()
        suite.works(server)


def limits(suite):
    config = suite.form.write(suite.form.base / "small.json", json.dumps({"limits": {"maxRequestBytes": 5000}}))
    with suite.case("a line over the limit is skipped"), suite.new("--config", config) as server:
        server.start()
        long = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y" * 6000}})
        expect_code(server.ask_raw(long), REQUEST)
        expect_code(server.ask_raw("x" * 1000000), REQUEST)
        suite.works(server)
        server.silent()
    with suite.case("a line of 40 MB"):
        suite.server.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 40000000 + b'"}\n')
        expect_code(suite.server.any_answer(), REQUEST)
        suite.works()
        suite.server.check_memory()


def ending(suite):
    with suite.case("the end of input: what came is answered, a last line without its end too"), suite.new() as server:
        server.start()
        call = {"jsonrpc": "2.0", "id": "last", "method": "tools/call",
                "params": {"name": "read_file", "arguments": {"path": "good"}}}
        server.send_raw(json.dumps(call).encode())
        server.close_input()
        (answer,) = server.drain()
        check(answer["id"] == "last" and "result" in answer and server.wait_exit() == 0, short(answer))
    for number in (signal.SIGTERM, signal.SIGINT):
        with suite.case(f"{signal.Signals(number).name} ends it"), suite.new() as server:
            server.start()
            suite.works(server)
            server.kill(number)
            check(server.wait_exit() == 0, "the exit status")


def sessions(suite):
    with suite.case("a session: mcp owns it and serves others, but is nobody's guest"):
        home = suite.form.folder("sessions")
        made = suite.form.run(home, "session", "create", "--workspace", suite.folder)
        session = made.stdout.decode().strip()
        with Server(suite.form, "--session", session, state=home) as server:
            server.start()
            suite.works(server)
            call = suite.form.run(home, "call", "read_file", '{"path":"good"}', "--session", session)
            check(json.loads(call.stdout)["result"]["content"] == "good\n", short(call.stdout.decode()))
            second = suite.form.run(home, "mcp", "--session", session)
            check(second.returncode == 2 and b"in use" in second.stderr and not second.stdout, short(str(second)))


def main():
    tap = lib.Tap()
    for form in lib.forms():
        suite = Suite(tap, form)
        with suite.server:
            for part in (beginning, bad_lines, notifications, ids, tools, toolhost, sidecar, asks, offered, long_failure, flow,
                         limits, ending, sessions):
                part(suite)
    tap.done()


main()
