"""The gate for asyncio."""

from __future__ import annotations

import asyncio
import weakref
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, cast

from . import _core, _wire
from ._options import Options, Request, tool_call
from ._tools import AsyncTools
from .errors import CallTimeout


class AsyncGate(AsyncTools):
    """Like `Gate`, with the same options, for asyncio. Cancelling a task cancels its call."""

    def __init__(
        self,
        workspace: Optional[_wire.PathArgument] = None,
        *,
        program: Optional[_wire.PathArgument] = None,
        dialect: str = "native",
        format: str = "tool_call",
        session: Optional[str] = None,
        project: Optional[_wire.PathArgument] = None,
        pkg: Optional[_wire.PathArgument] = None,
        state: Optional[_wire.PathArgument] = None,
        agent: Optional[str] = None,
        run: Optional[str] = None,
        config: Optional[_wire.PathArgument] = None,
        options: Sequence[str] = (),
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[_wire.PathArgument] = None,
        max_in_flight: int = 128,
    ) -> None:
        more = {
            "session": session,
            "project": project,
            "pkg": pkg,
            "state": state,
            "agent": agent,
            "run": run,
            "config": config,
        }
        self._options = Options(workspace, program, dialect, format, more, options, env, cwd, max_in_flight)
        self._core = self._options.start()
        self._end = weakref.finalize(self, self._core.terminate)

    @property
    def format(self) -> str:
        return self._options.format

    @property
    def pid(self) -> int:
        return self._core.process.pid

    async def _run(
        self,
        call: Dict[str, Any],
        timeout: Optional[float],
        mended: bool,
        on_output: Optional[_wire.OnOutput] = None,
    ) -> Any:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Dict[str, Any]] = loop.create_future()

        def settle(answer: Optional[Dict[str, Any]], error: Optional[Exception]) -> None:
            if answered.done():
                return
            if error is not None:
                answered.set_exception(error)
            else:
                answered.set_result(cast(Dict[str, Any], answer))

        def done(answer: Optional[Dict[str, Any]], error: Optional[Exception]) -> None:
            try:
                loop.call_soon_threadsafe(settle, answer, error)
            except RuntimeError:  # the loop is closed: nobody waits
                pass

        def show(stream: str, text: str) -> None:
            try:
                if on_output and not answered.done():
                    on_output(stream, text)
            except Exception as error:  # the caller's own: the call ends with it
                self._core.abandon(flight)
                settle(None, error)

        def heard(stream: str, text: str) -> None:
            try:
                loop.call_soon_threadsafe(show, stream, text)
            except RuntimeError:
                pass

        request = Request(self._core, self._options.format, call, mended)
        flight = _core.Flight(request.id, request.line, done, heard if on_output else None)
        self._core.submit(flight, None, block=False)
        try:
            await asyncio.wait({answered}, timeout=timeout)
        finally:
            if not answered.done():  # timed out, or this task was cancelled
                self._core.abandon(flight)
                answered.cancel()
        if answered.cancelled():
            raise CallTimeout("no answer in time; the call was cancelled")
        return request.answer(answered.result())

    async def call(
        self,
        name: str,
        arguments: Optional[Mapping[str, Any]] = None,
        /,
        *,
        timeout: Optional[float] = None,
        on_output: Optional[_wire.OnOutput] = None,
        **more: Any,
    ) -> Dict[str, Any]:
        """Calls a tool and returns its result. A failed call raises ToolError.

        `on_output` is given what a command prints, `stdout` or `stderr` and the text, as it comes. What it
        raises ends the call.
        """
        raw = await self.call_raw(name, arguments, timeout=timeout, on_output=on_output, **more)
        return cast(Dict[str, Any], _wire.outcome(raw))

    async def call_raw(
        self,
        name: str,
        arguments: Optional[Mapping[str, Any]] = None,
        /,
        *,
        timeout: Optional[float] = None,
        on_output: Optional[_wire.OnOutput] = None,
        **more: Any,
    ) -> Any:
        """Calls a tool and returns the dialect's answer as it is, failed or not."""
        self._options.check_callable()
        return await self._run(tool_call(name, arguments, more), timeout, mended=False, on_output=on_output)

    async def handle(self, call: Any, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Runs a tool call as the model's SDK gave it and returns the message to append. Failures are in it."""
        return cast(Dict[str, Any], await self._run(_wire.plain_call(call), timeout, mended=True))

    async def tools(self, format: Optional[str] = None) -> List[Dict[str, Any]]:
        """The tools with their schemas, in this gate's format or another; `full` has everything."""
        return await asyncio.to_thread(self._options.tools, format)

    async def _tool(
        self,
        name: str,
        arguments: Dict[str, Any],
        timeout: Optional[float],
        on_output: Optional[_wire.OnOutput] = None,
    ) -> Any:
        return await self.call(name, arguments, timeout=timeout, on_output=on_output)

    async def close(self, *, drain: bool = False, timeout: Optional[float] = None) -> None:
        """Ends the gate. Calls under way are cancelled; with `drain` they are waited for. A gate that has not ended
        after `timeout` seconds (5, with `drain` no limit) is killed. May be called twice.
        """
        await asyncio.to_thread(self._core.close, drain, timeout)
        self._end.detach()

    async def __aenter__(self) -> AsyncGate:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()
