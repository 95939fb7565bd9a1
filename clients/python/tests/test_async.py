"""The gate for asyncio."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any, Awaitable, Callable, List

from places import Case, main
from sandgate import AsyncGate, CallTimeout, GateClosed, GateDied, ToolError


def run(coroutine: Callable[..., Awaitable[None]]) -> Callable[[Any], None]:
    def test(self: Any) -> None:
        async def bounded() -> None:
            await asyncio.wait_for(coroutine(self), 30)

        asyncio.run(bounded())
        self.zombies()

    test.__name__ = coroutine.__name__
    return test


class Async(Case):
    @run
    async def test_typed_methods(self) -> None:
        async with AsyncGate(self.workspace) as gate:
            written = await gate.write_file("b", "beta")
            self.assertEqual((await gate.read_file("b")).get("sha256"), written["sha256"])
            self.assertEqual((await gate.call("stat", path="b"))["size"], 4)
            with self.assertRaises(ToolError):
                await gate.call("stat", path="none")
            self.assertEqual((await gate.call_raw("stat", path="none"))["error"]["code"], "NOT_FOUND")
            self.assertEqual((await gate.tools("openai"))[0]["type"], "function")

    @run
    async def test_many_at_once(self) -> None:
        async with AsyncGate(self.workspace) as gate:
            results = await asyncio.gather(*(gate.write_file(f"f{n}", str(n)) for n in range(600)))
            self.assertEqual(len({result["path"] for result in results}), 600)

    @run
    async def test_output_as_it_comes(self) -> None:
        heard: List[str] = []
        begun = asyncio.Event()

        def hear(stream: str, text: str) -> None:
            heard.append(f"{stream} {text}")
            begun.set()

        async with AsyncGate(self.workspace) as gate:
            command = "echo one; until [ -e go ]; do sleep 0.01; done; echo two >&2"
            task = asyncio.create_task(gate.run_command(command, on_output=hear))
            await begun.wait()
            self.assertFalse(task.done())
            (self.workspace / "go").touch()
            self.assertEqual((await task)["stderr"], "two\n")
            self.assertEqual(heard, ["stdout one\n", "stderr two\n"])

    @run
    async def test_what_on_output_raises_ends_the_call(self) -> None:
        def stop(_: str, text: str) -> None:
            raise KeyError(text)

        async with AsyncGate(self.workspace, max_in_flight=1) as gate:
            with self.assertRaises(KeyError):
                await gate.call("run_command", command="echo begun; sleep 100", on_output=stop)
            self.assertEqual((await gate.read_file("a.txt", timeout=15))["content"], "alpha\n")

    @run
    async def test_a_cancelled_task_cancels_its_call(self) -> None:
        async with AsyncGate(self.workspace, max_in_flight=1) as gate:
            await gate.time_now()
            task = asyncio.create_task(gate.read_file(self.endless(), hash=True))
            behind = asyncio.create_task(gate.read_file("a.txt"))
            never = asyncio.create_task(gate.write_file("never", "x"))
            await asyncio.sleep(0.05)
            self.assertFalse(task.done() or behind.done())
            never.cancel()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual((await behind)["content"], "alpha\n")  # the gate had only room for one
            self.assertFalse((self.workspace / "never").exists())

    @run
    async def test_timeout(self) -> None:
        async with AsyncGate(self.workspace) as gate:
            started = time.monotonic()
            with self.assertRaises(CallTimeout):
                await gate.read_file(self.endless(), hash=True, timeout=0.1)
            self.assertLess(time.monotonic() - started, 5)
            self.assertEqual((await gate.read_file("a.txt", timeout=10))["content"], "alpha\n")

    @run
    async def test_a_killed_gate(self) -> None:
        async with AsyncGate(self.workspace) as gate:
            await gate.time_now()
            tasks = [asyncio.create_task(gate.read_file(self.endless(), hash=True)) for _ in range(3)]
            await asyncio.sleep(0)
            os.kill(gate.pid, signal.SIGKILL)
            for outcome in await asyncio.gather(*tasks, return_exceptions=True):
                self.assertIsInstance(outcome, GateDied)

    @run
    async def test_close_while_calls_run(self) -> None:
        gate = AsyncGate(self.workspace)
        await gate.time_now()
        task = asyncio.create_task(gate.read_file(self.endless(), hash=True))
        await asyncio.sleep(0.05)
        await gate.close()
        with self.assertRaises((ToolError, GateClosed)):
            await task
        with self.assertRaises(GateClosed):
            await gate.time_now()

    @run
    async def test_handle(self) -> None:
        async with AsyncGate(self.workspace, format="openai") as gate:
            function = {"name": "read_file", "arguments": '{"path":"a.txt"}'}
            calls = [{"id": f"call_{n % 2}", "type": "function", "function": function} for n in range(10)]
            messages = await asyncio.gather(*map(gate.handle, calls))
            self.assertEqual([m["tool_call_id"] for m in messages], [f"call_{n % 2}" for n in range(10)])
            self.assertTrue(all("alpha" in m["content"] for m in messages))

    def test_a_loop_that_ends_without_close(self) -> None:
        gates: List[AsyncGate] = []

        async def use() -> None:
            gate = AsyncGate(self.workspace)
            gates.append(gate)
            await gate.time_now()
            asyncio.create_task(gate.read_file(self.endless(), hash=True))
            await asyncio.sleep(0)

        asyncio.run(use())
        asyncio.run(gates.pop().close())
        self.zombies()


if __name__ == "__main__":
    main()
