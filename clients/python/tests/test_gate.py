"""The gate for threads."""

from __future__ import annotations

import base64
import concurrent.futures
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List, Tuple

import sandgate
from places import FAKE, Case, main
from sandgate import CallTimeout, Gate, GateClosed, GateDied, GateError, GateNotFound, ToolError


class Calls(Case):
    def test_typed_methods(self) -> None:
        with Gate(self.workspace) as gate:
            written = gate.write_file("new/b.txt", "béta\n", create_only=True)
            self.assertEqual((written["bytes_written"], written["created"]), (6, True))
            read = gate.read_file("new/b.txt", start_line=1, end_line=1)
            self.assertEqual((read["content"], read.get("sha256")), ("béta\n", written["sha256"]))
            self.assertEqual([entry["path"] for entry in gate.list_files()["entries"]], ["a.txt", "new"])
            self.assertEqual(gate.stat("new")["type"], "directory")
            self.assertLess(abs(gate.time_now()["unix_ms"] / 1000 - time.time()), 60)
        self.zombies()

    def test_a_failed_call_raises(self) -> None:
        with Gate(self.workspace) as gate:
            with self.assertRaises(ToolError) as caught:
                gate.call("read_file", path="missing")
            self.assertEqual(caught.exception.code, "NOT_FOUND")
            self.assertIn("missing", caught.exception.message)
            self.assertIs(caught.exception.retryable, False)
            self.assertEqual(caught.exception.details["tier"], "full")
            raw = gate.call_raw("read_file", path="missing")
            self.assertEqual((raw["ok"], raw["error"]["code"]), (False, "NOT_FOUND"))
            self.assertEqual(gate.call_raw("stat", {"path": "a.txt"})["result"]["size"], 6)
            with self.assertRaises(ToolError) as caught:
                gate.call("stat", {"path": "a.txt", "timeout": 1})
            self.assertEqual(caught.exception.details["field"], "timeout")

    def test_another_dialect(self) -> None:
        with Gate(dialect="toolhost", project=self.workspace) as gate:
            self.assertEqual(gate.call("fs.read", path="@project/a.txt")["content"], "alpha\n")
            with self.assertRaises(ToolError) as caught:
                gate.call("fs.read", path="@project/none")
            self.assertEqual(caught.exception.code, "ENOENT")

    def test_many_threads(self) -> None:
        for number in range(50):
            (self.workspace / str(number)).write_text(f"file {number}\n" * 500)

        def read(number: int) -> None:
            text = gate.read_file(str(number % 50))["content"]
            self.assertEqual(text, f"file {number % 50}\n" * 500)

        with Gate(self.workspace, max_in_flight=16) as gate, concurrent.futures.ThreadPoolExecutor(40) as pool:
            list(pool.map(read, range(1500)))

    def test_large_content_both_ways(self) -> None:
        text = "".join(chr(0x4E00 + number % 5000) for number in range(5 << 20)) + "\0\n"
        with Gate(self.workspace) as gate:
            started = [gate.start("write_file", path=f"large{n}", content=text) for n in range(2)]
            for call in started:
                self.assertEqual(call.result()["bytes_written"], len(text.encode()))
            reads = [gate.start("read_file", path="large0", max_bytes=16 << 20) for _ in range(3)]
            for call in reads:
                self.assertEqual(call.result()["content"], text)
            data = os.urandom(16 << 20)
            (self.workspace / "bytes").write_bytes(data)
            read = gate.read_file("bytes", max_bytes=16 << 20, encoding="base64", hash=True)
            self.assertEqual(base64.b64decode(read["content"]), data)
            self.assertEqual(read.get("sha256"), hashlib.sha256(data).hexdigest())

    def test_paths_that_are_not_utf8(self) -> None:
        raw = b"caf\xe9.txt"
        with Gate(self.workspace) as gate:
            gate.write_file(raw, "x")
            self.assertIn(raw, os.listdir(os.fsencode(self.workspace)))
            self.assertEqual(gate.read_file(os.fsdecode(raw))["content"], "x")
            self.assertEqual(gate.read_file(self.workspace / "a.txt")["content"], "alpha\n")

    def test_what_cannot_be_sent_is_refused_and_the_next_call_works(self) -> None:
        loop: List[Any] = []
        loop.append(loop)
        with Gate(self.workspace) as gate:
            for arguments in ({"path": "a\ud800"}, {"path": float("nan")}, {"path": loop}, {"\udc00": "x"}):
                with self.assertRaises(ValueError):
                    gate.call("read_file", arguments)
            with self.assertRaises(TypeError):
                gate.call("read_file", path=object())
            self.assertEqual(gate.read_file("a.txt")["content"], "alpha\n")
            smile = "\N{GRINNING FACE}\u2028\x7f"
            gate.write_file(f"{smile}.txt", smile)
            self.assertEqual((self.workspace / f"{smile}.txt").read_text(), smile)

    def test_requests_whose_id_the_gate_cannot_read(self) -> None:
        deep: Any = "x"
        for _ in range(100):
            deep = [deep]
        with Gate(self.workspace) as gate:
            slow = gate.start("read_file", path=self.endless(), hash=True)
            calls = [gate.start("stat", path=deep), gate.start("stat", path="y" * (33 << 20))]
            self.assertEqual(gate.read_file("a.txt")["content"], "alpha\n")
            slow.cancel()
            for call, code in zip([slow, *calls], ("CANCELLED", "INVALID_ARGUMENTS", "TOO_LARGE")):
                with self.assertRaises(ToolError) as caught:
                    call.result(timeout=15)
                self.assertEqual(caught.exception.code, code)
            self.assertEqual(gate.read_file("a.txt")["content"], "alpha\n")

    def test_cancel(self) -> None:
        with Gate(self.workspace, max_in_flight=1) as gate:
            call = gate.start("read_file", path=self.endless(), hash=True)
            behind = gate.start("read_file", path="a.txt")
            unsent = gate.start("read_file", path="a.txt")
            unsent.cancel()
            self.assertTrue(unsent.done())
            self.assertFalse(call.done())
            call.cancel()
            for one in (call, unsent):
                with self.assertRaises(ToolError) as caught:
                    one.result(timeout=15)
                self.assertEqual(caught.exception.code, "CANCELLED")
            self.assertEqual(behind.result()["content"], "alpha\n")
            behind.cancel()
            self.assertEqual(behind.result()["content"], "alpha\n")

    def test_timeout(self) -> None:
        name = self.endless()
        with Gate(self.workspace, max_in_flight=1) as gate:
            started = time.monotonic()
            with self.assertRaises(CallTimeout):
                gate.read_file(name, hash=True, timeout=0.1)
            self.assertLess(time.monotonic() - started, 5)
            self.assertEqual(gate.read_file("a.txt", timeout=15)["content"], "alpha\n")  # the first was cancelled
            call = gate.start("read_file", path=name, hash=True)
            with self.assertRaises(TimeoutError):
                call.result(timeout=0.01)
            with self.assertRaises(CallTimeout):
                call.result()

    def test_tools(self) -> None:
        with Gate(self.workspace) as gate:
            self.assertIn("read_file", [tool["name"] for tool in gate.tools()])
            self.assertEqual(gate.tools("openai")[0]["type"], "function")
            self.assertIn("output_schema", gate.tools("full")[0])
            with self.assertRaisesRegex(GateError, "no format `nonsense`"):
                gate.tools("nonsense")


class Output(Case):
    """What commands print, as it comes."""

    WAITS = "printf 'a\\303'; until [ -e go ]; do sleep 0.01; done; printf '\\251\\377\\n'; echo wrong >&2"

    @staticmethod
    def listener(heard: List[Tuple[str, str]]) -> sandgate.OnOutput:
        return lambda stream, text: heard.append((stream, text))

    def test_it_comes_before_the_answer(self) -> None:
        heard: List[Tuple[str, str]] = []
        with Gate(self.workspace) as gate:
            call = gate.start("run_command", command=self.WAITS, on_output=self.listener(heard))
            self.eventually(lambda: bool(heard))
            self.assertFalse(call.done())
            self.assertEqual(heard, [("stdout", "a")])
            (self.workspace / "go").touch()
            result = call.result(timeout=15)
            self.assertEqual((result["stdout"], result["stderr"]), ("aé\ufffd\n", "wrong\n"))
            for stream in ("stdout", "stderr"):
                self.assertEqual("".join(text for name, text in heard if name == stream), result[stream])

    def test_typed_and_not_asked_for(self) -> None:
        heard: List[str] = []
        with Gate(self.workspace) as gate:
            self.assertEqual(gate.run_command("echo one")["stdout"], "one\n")
            self.assertEqual(gate.run_command(argv=["printf", "%s", "a b"])["stdout"], "a b")
            result = gate.run_command("echo two", on_output=lambda stream, text: heard.append(stream + text))
            self.assertEqual((result["stdout"], heard), ("two\n", ["stdouttwo\n"]))
            raw = gate.call_raw("run_command", {"command": "echo three"}, on_output=lambda _, text: heard.append(text))
            self.assertEqual((raw["ok"], heard[1]), (True, "three\n"))

    def test_what_it_raises_ends_the_call(self) -> None:
        def stop(_: str, text: str) -> None:
            raise KeyError(text)

        with Gate(self.workspace, max_in_flight=1) as gate:
            with self.assertRaisesRegex(KeyError, "begun"):
                gate.run_command("echo begun; sleep 100; echo more", on_output=stop)
            self.assertEqual(gate.read_file("a.txt", timeout=15)["content"], "alpha\n")  # it was cancelled

    def test_events_that_are_not_known(self) -> None:
        heard: List[Tuple[str, str]] = []
        with Gate(**self.fake("events")) as gate:
            self.assertEqual(gate.call("x", n=1, timeout=15)["asked"]["arguments"], {"n": 1})
            gate.call("x", n=2, timeout=15, on_output=self.listener(heard))
        self.assertEqual(heard, [("stdout", "é\0"), ("stderr", "\n[... 7 bytes left out ...]\nend")])


class PydanticLike:
    def __init__(self, value: Dict[str, Any]) -> None:
        self.value = value

    def model_dump(self, *, mode: str, exclude_none: bool) -> Dict[str, Any]:
        assert mode == "json" and exclude_none
        return self.value


def openai_call(id: Any, path: str) -> Dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "read_file", "arguments": json.dumps({"path": path})}}


class Handle(Case):
    def test_openai(self) -> None:
        with Gate(self.workspace, format="openai") as gate:
            self.assertEqual(gate.tools()[0]["function"]["name"], "read_file")
            message = gate.handle(openai_call("call_1", "a.txt"))
            self.assertEqual((message["role"], message["tool_call_id"]), ("tool", "call_1"))
            self.assertEqual(json.loads(message["content"])["result"]["content"], "alpha\n")
            message = gate.handle(PydanticLike(openai_call("call_1", "none")))
            self.assertEqual(json.loads(message["content"])["error"]["code"], "NOT_FOUND")
            item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "stat", "arguments": '{"path":"."}'}
            message = gate.handle(item)
            self.assertEqual((message["type"], message["call_id"]), ("function_call_output", "c"))
            self.assertEqual(item["call_id"], "c")
            with self.assertRaisesRegex(ValueError, "handle"):
                gate.call("read_file", path="a.txt")
            with self.assertRaises(TypeError):
                gate.handle("read_file")

    def test_ids_that_are_alike_or_cannot_be_sent(self) -> None:
        with Gate(format="openai", **self.fake("openai")) as gate:
            for pair in (("same", "same"), (None, ""), ("x" * 5000, True), (1, "1"), ("\ud800", "\0")):
                calls = [gate.start_handle(openai_call(id, str(n))) for n, id in enumerate(pair)]
                for number, (call, id) in enumerate(zip(calls, pair)):
                    message = call.result(timeout=15)
                    self.assertEqual(repr(message["tool_call_id"]), repr(id))
                    self.assertIn(f'{{\\"path\\": \\"{number}\\"}}', message["content"])

    def test_anthropic(self) -> None:
        with Gate(format="anthropic", **self.fake("anthropic")) as gate:
            calls = [
                gate.start_handle({"type": "tool_use", "id": f"toolu_{n}", "name": "x", "input": {"n": f"{n}\ud83d"}})
                for n in range(2)
            ]
            for number, call in enumerate(calls):
                message = call.result(timeout=15)
                self.assertEqual(message["tool_use_id"], f"toolu_{number}")
                self.assertEqual(json.loads(message["content"]), {"n": f"{number}\ufffd"})

    def test_ollama(self) -> None:
        with Gate(format="ollama", **self.fake("ollama")) as gate:
            calls = [gate.start_handle({"function": {"name": "x", "arguments": {"n": n}}}) for n in range(20)]
            for number, call in enumerate(calls):
                expected = {"role": "tool", "tool_name": "x", "content": json.dumps({"n": number})}
                self.assertEqual(call.result(timeout=15), expected)

    def test_the_formats_that_this_gate_knows(self) -> None:
        arguments = {"path": "a.txt"}
        calls: Dict[str, Dict[str, Any]] = {
            "openai": openai_call("c", "a.txt"),
            "anthropic": {"type": "tool_use", "id": "c", "name": "read_file", "input": arguments},
            "ollama": {"function": {"name": "read_file", "arguments": arguments}},
            "tool_call": {"tool_call": {"name": "read_file", "arguments": arguments}},
        }
        known = 0
        with Gate(self.workspace) as any_gate:
            for format, call in calls.items():
                try:
                    any_gate.tools(format)
                except GateError as error:
                    self.assertIn("there is no format", str(error))
                    continue
                known += 1
                with Gate(self.workspace, format=format) as gate:
                    started = [gate.start_handle(call) for _ in range(5)]
                    for one in started:
                        message = one.raw(timeout=15)
                        self.assertIn("alpha", str(message))
                        self.assertNotIn("error", message)
                        self.assertEqual([message[k] for k in message if k.endswith("_id")], ["c"] if "id" in call else [])
        self.assertGreaterEqual(known, 2)


class Faults(Case):
    def test_no_program(self) -> None:
        with self.assertRaisesRegex(GateNotFound, "/nonexistent/sandgate"):
            Gate(self.workspace, program="/nonexistent/sandgate")
        kept = {name: os.environ.pop(name, "") for name in ("SANDGATE", "PATH")}
        os.environ["PATH"] = str(self.workspace)
        try:
            with self.assertRaisesRegex(GateNotFound, "SANDGATE"):
                Gate(self.workspace)
            os.symlink(kept["SANDGATE"], self.workspace / "sandgate")
            with Gate(self.workspace) as gate:
                self.assertEqual(gate.read_file("a.txt")["content"], "alpha\n")
        finally:
            os.environ.update(kept)

    def test_a_gate_that_cannot_start(self) -> None:
        with self.assertLogs("sandgate", "WARNING"), Gate(self.workspace / "missing") as gate:
            with self.assertRaisesRegex(GateDied, "(?s)exit status 2.*missing") as caught:
                gate.read_file("a.txt")
            self.assertEqual(caught.exception.returncode, 2)
            with self.assertRaises(GateDied):
                gate.read_file("a.txt")
        self.zombies()

    def test_a_killed_gate(self) -> None:
        with Gate(self.workspace, max_in_flight=2) as gate:
            calls = [gate.start("read_file", path=self.endless(), hash=True) for _ in range(4)]
            gate.start("time_now")
            os.kill(gate.pid, signal.SIGKILL)
            for call in calls:
                with self.assertRaisesRegex(GateDied, "signal 9"):
                    call.result(timeout=15)
            with self.assertRaises(GateDied):
                gate.time_now()
        self.zombies()

    def test_a_gate_that_dies_with_words(self) -> None:
        with self.assertLogs("sandgate", "WARNING"), Gate(**self.fake("dies")) as gate:
            with self.assertRaises(GateDied) as caught:
                gate.call("x")
            self.assertEqual(caught.exception.returncode, 3)
            self.assertEqual(caught.exception.stderr[-2:], ["line 29", "no newline at the end"])
            self.assertEqual(len(caught.exception.stderr), 20)
            self.assertIn("line 29\nno newline at the end", str(caught.exception))

    def test_a_child_that_keeps_the_pipes(self) -> None:
        with Gate(**self.fake("leaves_child")) as gate:
            with self.assertRaisesRegex(GateDied, "signal 9"):
                gate.call("x", timeout=10)

    def test_lines_in_pieces(self) -> None:
        with Gate(**self.fake("pieces")) as gate:
            calls = [gate.start("x", n=n) for n in range(20)]
            for number, call in enumerate(calls):
                self.assertEqual(call.result(timeout=15)["asked"]["arguments"], {"n": number})
            self.assertEqual(gate.call("é")["text"], "é" * 50)

    def test_no_json(self) -> None:
        with Gate(**self.fake("junk")) as gate:
            with self.assertRaisesRegex(GateDied, "no answer: b'this is no JSON'"):
                gate.call("x", timeout=15)
        self.zombies()

    def test_answers_without_an_id_find_their_calls(self) -> None:
        with Gate(**self.fake("unreadable")) as gate:
            calls = [gate.start(name, n=str(n)) for n, name in enumerate(("bad", "good", "bad", "good"))]
            for number, call in enumerate(calls):
                raw = call.raw(timeout=15)
                if number % 2:
                    self.assertEqual(raw["result"]["asked"]["arguments"], {"n": str(number)})
                else:
                    self.assertEqual(raw["error"]["message"], str(number))

    def test_no_more_in_flight_than_allowed(self) -> None:
        with Gate(max_in_flight=5, **self.fake("counts", FAKE_CALLS="5")) as gate:
            calls = [gate.start("x", n=n) for n in range(50)]
            for call in calls:
                call.result(timeout=15)
        with Gate(max_in_flight=4, **self.fake("counts", FAKE_CALLS="5")) as gate:
            calls = [gate.start("x", n=n) for n in range(5)]
            with self.assertRaises(CallTimeout):
                calls[0].result(timeout=0.3)  # the fifth never came


class Closing(Case):
    def test_calls_under_way_are_cancelled(self) -> None:
        gate = Gate(self.workspace, max_in_flight=1)
        gate.read_file("a.txt")
        running = gate.start("read_file", path=self.endless(), hash=True)
        waiting = gate.start("read_file", path="a.txt")
        failures: List[Exception] = []

        def wait() -> None:
            try:
                running.result()
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        gate.close()
        thread.join(15)
        self.assertEqual(len(failures), 1)
        self.assertIsInstance(failures[0], (ToolError, GateClosed))
        self.assertIn("CANCELLED" if isinstance(failures[0], ToolError) else "closed", str(failures[0]))
        with self.assertRaises(GateClosed):
            waiting.result(timeout=15)
        with self.assertRaises(GateClosed):
            gate.time_now()
        gate.close()
        self.zombies()

    def test_drain(self) -> None:
        gate = Gate(self.workspace, max_in_flight=3)
        calls = [gate.start("write_file", path=f"w{n}", content=str(n) * 100000) for n in range(30)]
        gate.close(drain=True)
        for number, call in enumerate(calls):
            self.assertTrue(call.result()["created"])
            self.assertEqual((self.workspace / f"w{number}").read_text(), str(number) * 100000)
        self.zombies()

    def test_a_gate_that_does_not_want_to_end(self) -> None:
        with self.assertLogs("sandgate", "WARNING") as said:
            gate = Gate(**self.fake("silent"))
            self.eventually(lambda: bool(said.records))
        call = gate.start("x")
        gate.close(timeout=0.3)
        with self.assertRaises(GateClosed):
            call.result()
        self.zombies()

    def test_a_forgotten_gate_ends(self) -> None:
        gate = Gate(self.workspace)
        gate.read_file("a.txt")
        thread = gate._core.thread
        del gate
        thread.join(15)
        self.assertFalse(thread.is_alive())
        self.zombies()

    def program(self, text: str) -> None:
        """A program that ends without close() ends soon, and its gate with it."""
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", f"import sandgate, sys\ngate = sandgate.Gate(sys.argv[1])\n{text}", self.workspace],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLess(time.monotonic() - started, 10)
        self.eventually(lambda: not os.path.exists(f"/proc/{done.stdout.strip()}"))

    def test_the_interpreter_ends_without_close(self) -> None:
        self.program("gate.time_now(); print(gate.pid)")

    def test_the_interpreter_ends_during_a_call(self) -> None:
        name = self.endless()
        self.program(f"gate.time_now(); call = gate.start('read_file', path={name!r}, hash=True); print(gate.pid)")


if __name__ == "__main__":
    assert sandgate.__version__ and FAKE
    main()
