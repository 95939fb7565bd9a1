"""The gate for threads."""

from __future__ import annotations

import threading
import time
import weakref
from types import TracebackType
from typing import Any, Dict, Generic, List, Mapping, Optional, Sequence, Type, TypeVar, cast

from . import _core, _wire
from ._approvals import ApprovalOver, Approvals, Approver, OnApprovalOver, Scope, ThreadAsker, check_scope
from ._options import Options, Request, tool_call
from ._tools import Tools
from .errors import ApprovalError, CallTimeout

T = TypeVar("T")


class Call(Generic[T]):
    """A call under way, made by `Gate.start` or `Gate.start_handle`."""

    def __init__(
        self,
        core: _core.Core,
        request: Request,
        deadline: Optional[float],
        on_output: Optional[_wire.OnOutput] = None,
    ) -> None:
        self._core = core
        self._request = request
        self._deadline = deadline
        self._ready = threading.Event()
        self._answer: Optional[Dict[str, Any]] = None
        self._error: Optional[Exception] = None
        self._raw: Any = None
        self._flight = _core.Flight(request.id, request.line, self._done, on_output)
        core.submit(self._flight, deadline, block=True)

    def _done(self, answer: Optional[Dict[str, Any]], error: Optional[Exception]) -> None:
        if answer is not None:
            self._raw = self._request.answer(answer)
        self._error = error
        self._ready.set()

    def done(self) -> bool:
        """Whether `raw` and `result` return at once."""
        return self._ready.is_set()

    def cancel(self) -> None:
        """Asks the gate to stop it. It is still answered: as CANCELLED, or with its result if that came first."""
        self._core.cancel(self._flight)

    def raw(self, timeout: Optional[float] = None) -> Any:
        """Waits for the answer and returns it as it is. After `timeout` seconds, cancels and raises CallTimeout."""
        deadline = self._deadline if timeout is None else time.monotonic() + timeout
        try:
            if deadline is None:
                self._ready.wait()
            elif not self._ready.wait(max(0.0, deadline - time.monotonic())):
                raise CallTimeout("no answer in time; the call was cancelled")
        except BaseException as error:  # KeyboardInterrupt too: nobody waits any more
            if not self._ready.is_set():
                self._core.abandon(self._flight)
                self._error = error if isinstance(error, CallTimeout) else CallTimeout("the call was given up")
                self._ready.set()
            raise
        if self._error is not None:
            raise self._error
        return self._raw

    def result(self, timeout: Optional[float] = None) -> T:
        """Like `raw`, but a failed call raises ToolError, and a successful one returns only its result."""
        raw = self.raw(timeout)
        return cast(T, _wire.outcome(raw) if self._request.format == "tool_call" else raw)


class Gate(Tools):
    """A running `sandgate stdio`. Any number of threads may call at once.

    workspace       folder to work in (default: the current one)
    program         the sandgate program (default: $SANDGATE, then PATH)
    dialect         which tools, and how results look: `native`, `toolhost`
    format          `tool_call` for `call` and the typed methods; `openai` and others for `handle`
    session, project, pkg, state, agent, run, config
                    the options of `sandgate stdio` with these names
    options         more words for its command line
    env, cwd        the environment and working directory of the gate (default: this program's own)
    max_in_flight   calls sent at once; more wait here. Keep it below the gate's `limits.maxInFlight`, or a cancel may
                    have to wait until a call is done.
    approver        is asked about each call that needs a yes, in a thread of its own, one after the other. It returns
                    how far its yes reaches (`once`, `session`, `always`), `no` or False, or None to answer later with
                    `approve` or `deny`. What it raises denies the call and comes out of it. It speaks for a person:
                    keep the model's text away from what it decides by.
    on_approval_over
                    is told of each question that is over, whoever decided it; called as `on_output` is

    What the gate writes to standard error goes to the logger `sandgate` as warnings.
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
        approver: Optional[Approver] = None,
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
        self._approvals = Approvals(ThreadAsker(approver, on_approval_over)) if approver is not None else None
        self._core = self._options.start(self._approvals)
        # Also when this is forgotten, or the interpreter ends, without close().
        self._end = weakref.finalize(self, self._core.terminate)

    @property
    def format(self) -> str:
        return self._options.format

    @property
    def pid(self) -> int:
        return self._core.process.pid

    def _start(
        self,
        call: Dict[str, Any],
        timeout: Optional[float],
        mended: bool,
        on_output: Optional[_wire.OnOutput] = None,
    ) -> Call[Dict[str, Any]]:
        deadline = None if timeout is None else time.monotonic() + timeout
        return Call(self._core, Request(self._core, self._options.format, call, mended), deadline, on_output)

    def start(
        self,
        name: str,
        arguments: Optional[Mapping[str, Any]] = None,
        /,
        *,
        timeout: Optional[float] = None,
        on_output: Optional[_wire.OnOutput] = None,
        **more: Any,
    ) -> Call[Dict[str, Any]]:
        """Begins a call. Arguments are given by name, or in a mapping where a name is taken (`timeout`).

        `on_output` is given what a command prints, `stdout` or `stderr` and the text, as it comes. It is called in
        the gate's own thread, so it must not wait for another call of this gate. What it raises ends the call.
        """
        self._options.check_callable()
        return self._start(tool_call(name, arguments, more), timeout, mended=False, on_output=on_output)

    def call(
        self,
        name: str,
        arguments: Optional[Mapping[str, Any]] = None,
        /,
        *,
        timeout: Optional[float] = None,
        on_output: Optional[_wire.OnOutput] = None,
        **more: Any,
    ) -> Dict[str, Any]:
        """Calls a tool and returns its result. A failed call raises ToolError."""
        return self.start(name, arguments, timeout=timeout, on_output=on_output, **more).result()

    def call_raw(
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
        return self.start(name, arguments, timeout=timeout, on_output=on_output, **more).raw()

    def start_handle(self, call: Any, *, timeout: Optional[float] = None) -> Call[Dict[str, Any]]:
        """Begins what `handle` does."""
        return self._start(_wire.plain_call(call), timeout, mended=True)

    def handle(self, call: Any, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Runs a tool call as the model's SDK gave it and returns the message to append. Failures are in it."""
        return cast(Dict[str, Any], self.start_handle(call, timeout=timeout).raw())

    def approve(self, id: str, scope: Scope = "once") -> ApprovalOver:
        """Answers a question with yes. Raises ApprovalError where that cannot be done: it is over, or no rule can be
        made of the call for `session` or `always`; then it still waits.
        """
        check_scope(scope)
        return self._decide(id, scope)

    def deny(self, id: str) -> ApprovalOver:
        """Answers a question with no. Raises ApprovalError when it is over."""
        return self._decide(id, "no")

    def _decide(self, id: str, decision: str) -> ApprovalOver:
        if self._approvals is None:
            raise ApprovalError("this gate has no approver=: it cannot approve")
        if threading.current_thread() is self._core.thread:
            raise RuntimeError("not in the gate's own thread: on_output and on_approval_over cannot wait for the gate")
        ready = threading.Event()
        outcome: List[Any] = []

        def done(over: Optional[ApprovalOver], error: Optional[Exception]) -> None:
            outcome[:] = [over, error]
            ready.set()

        self._approvals.answer(id, decision, done)
        ready.wait()
        if outcome[1] is not None:
            raise cast(Exception, outcome[1])
        return cast(ApprovalOver, outcome[0])

    def tools(self, format: Optional[str] = None) -> List[Dict[str, Any]]:
        """The tools with their schemas, in this gate's format or another; `full` has everything."""
        return self._options.tools(format)

    def _tool(
        self,
        name: str,
        arguments: Dict[str, Any],
        timeout: Optional[float],
        on_output: Optional[_wire.OnOutput] = None,
    ) -> Any:
        return self.call(name, arguments, timeout=timeout, on_output=on_output)

    def close(self, *, drain: bool = False, timeout: Optional[float] = None) -> None:
        """Ends the gate. Calls under way are cancelled; with `drain` they are waited for. A gate that has not ended
        after `timeout` seconds (5, with `drain` no limit) is killed. May be called twice.
        """
        self._core.close(drain, timeout)
        self._end.detach()

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()
