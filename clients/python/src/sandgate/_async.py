"""The gate for asyncio."""

from __future__ import annotations

import asyncio
import weakref
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, cast

from . import _core, _wire
from ._approvals import ApprovalOver, Approvals, AsyncApprover, LoopAsker, OnApprovalOver, Scope, check_scope
from ._options import Options, Request, tool_call
from ._tools import AsyncTools
from .errors import ApprovalError, CallTimeout


class AsyncGate(AsyncTools):
    """Like `Gate`, with the same options, for asyncio. Cancelling a task cancels its call.

    `approver` may be a coroutine function. It is called in the event loop that makes calls, and not one after the other.
    """

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
        approver: Optional[AsyncApprover] = None,
        on_approval_over: Optional[OnApprovalOver] = None,
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
        self._options = Options(workspace, program, dialect, format, more, options, env, cwd, max_in_flight, approver is not None)
        self._asker = LoopAsker(approver, on_approval_over) if approver is not None else None
        self._approvals = Approvals(self._asker) if self._asker else None
        self._core = self._options.start(self._approvals)
        self._end = weakref.finalize(self, self._core.terminate)

    @property
    def format(self) -> str:
        return self._options.format

    @property
    def pid(self) -> int:
        return self._core.process.pid

    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if self._asker:
            self._asker.loop = loop
        return loop

    async def _run(
        self,
        call: Dict[str, Any],
        timeout: Optional[float],
        mended: bool,
        on_output: Optional[_wire.OnOutput] = None,
    ) -> Any:
        loop = self._loop()
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

    async def approve(self, id: str, scope: Scope = "once") -> ApprovalOver:
        """Answers a question with yes. Raises ApprovalError where that cannot be done: it is over, or no rule can be
        made of the call for `session` or `always`; then it still waits.
        """
        check_scope(scope)
        return await self._decide(id, scope)

    async def deny(self, id: str) -> ApprovalOver:
        """Answers a question with no. Raises ApprovalError when it is over."""
        return await self._decide(id, "no")

    async def _decide(self, id: str, decision: str) -> ApprovalOver:
        if self._approvals is None:
            raise ApprovalError("this gate has no approver=: it cannot approve")
        loop = self._loop()
        decided: asyncio.Future[ApprovalOver] = loop.create_future()

        def settle(over: Optional[ApprovalOver], error: Optional[Exception]) -> None:
            if decided.done():
                return
            if error is not None:
                decided.set_exception(error)
            else:
                decided.set_result(cast(ApprovalOver, over))

        def done(over: Optional[ApprovalOver], error: Optional[Exception]) -> None:
            try:
                loop.call_soon_threadsafe(settle, over, error)
            except RuntimeError:  # the loop is closed: nobody waits
                pass

        self._approvals.answer(id, decision, done)
        return await decided

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
