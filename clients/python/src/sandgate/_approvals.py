"""Calls that wait for a yes, and whoever is asked about them.

Nothing but an answer that was understood whole approves: all that goes wrong here denies, or leaves the question to its
timeout.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
import re
import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Awaitable, Callable, Dict, Literal, Mapping, Optional, Protocol, Set, Union

from . import _wire
from ._log import log
from .errors import ApprovalError, SandgateError

Scope = Literal["once", "session", "always"]
"""How far a yes reaches: this call, what is like it as long as the gate or its session lasts, or for good."""

Decision = Literal["once", "session", "always", "no", False]
"""What an approver says."""

SCOPES = ("once", "session", "always")
REQUEST_ID = re.compile(r"[0-9A-Za-z]{1,15}")  # as the gate makes them, and takes them back
STATES = ("approved", "denied", "timed_out", "cancelled")


@dataclass(frozen=True)
class Approval:
    """A call that waits for a yes. Its texts have no control characters, but for the line ends in `detail` and
    `proposal`."""

    id: str
    """By which it is answered."""
    call_id: Optional[_wire.Id]
    """The id with which the call was sent; None for one of another program over the same session."""
    tool: str
    rule: str
    """Why it is asked."""
    summary: str
    """What would be done, in one line."""
    detail: str
    """More of it, a diff for example; may be empty."""
    expires_at: datetime
    """When it counts as denied."""
    proposal: Optional[str]
    """The rule that "always" writes, to be shown before; None: none can be made of the call, and only "once" works."""


@dataclass(frozen=True)
class ApprovalOver:
    """The end of a wait, whoever brought it about."""

    id: str
    state: Literal["approved", "denied", "timed_out", "cancelled"]
    by: Optional[str]
    """Who decided, where that is known."""


Approver = Callable[[Approval], Optional[Decision]]
"""Is asked about a call. None: the answer comes later, by `approve` or `deny`."""

AsyncApprover = Callable[[Approval], Union[Optional[Decision], Awaitable[Optional[Decision]]]]
"""The same for asyncio; may be a coroutine function."""

OnApprovalOver = Callable[[ApprovalOver], None]
"""Is told that a question needs no answer any more."""

Done = Callable[[Optional[ApprovalOver], Optional[Exception]], None]


class Answer:
    """One that the gate was sent and has not reacted to."""

    __slots__ = ("decision", "done")

    def __init__(self, decision: str, done: Done) -> None:
        self.decision = decision
        self.done = done


class Lines(Protocol):
    """What is needed of the core."""

    def send(self, line: bytes) -> None: ...

    def detach(self, call_id: Optional[_wire.Id]) -> Optional[Callable[[Exception], None]]: ...


class Asker(Protocol):
    """How the approver is reached from the gate's thread."""

    def ask(self, approvals: Approvals, approval: Approval) -> None: ...

    def tell(self, over: ApprovalOver) -> None: ...

    def end(self) -> None: ...


def read_approval(event: Mapping[str, Any]) -> Optional[Approval]:
    texts = [event.get(name) for name in ("requestId", "tool", "rule", "summary", "detail", "expiresAt")]
    call_id: Any = event.get("id")
    proposal: Any = event.get("proposal")
    if not all(isinstance(text, str) for text in texts) or not isinstance(proposal, (str, type(None))):
        return None
    id, tool, rule, summary, detail, expires = (str(text) for text in texts)
    if not REQUEST_ID.fullmatch(id):
        return None
    if isinstance(call_id, bool) or not isinstance(call_id, (str, int)):
        call_id = None
    try:
        expires_at = datetime.fromisoformat(expires.replace("Z", "+00:00"))
    except ValueError:
        return None
    return Approval(id, call_id, tool, rule, summary, detail, expires_at, proposal)


def read_over(event: Mapping[str, Any]) -> Optional[ApprovalOver]:
    id, state, by = event.get("requestId"), event.get("state"), event.get("by")
    if not isinstance(id, str) or state not in STATES:
        return None
    return ApprovalOver(id, state, by if isinstance(by, str) else None)


class Approvals:
    """The questions of one gate. `happened` and `end` are called in its thread, all else in any."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.lock = threading.Lock()  # taken before the core's
        self.open: Set[str] = set()
        self.answers: Dict[str, Answer] = {}
        self.lines: Lines
        self.ended: Optional[Exception] = None

    def is_open(self, id: str) -> bool:
        with self.lock:
            return id in self.open

    # what the gate says

    def happened(self, event: Mapping[str, Any]) -> None:
        kind = event.get("event")
        if kind == "approval":
            self.asked(event)
        elif kind == "approval_over":
            self.over(event)
        elif kind == "error":
            self.refused(event)

    def asked(self, event: Mapping[str, Any]) -> None:
        approval = read_approval(event)
        if approval is None:
            log.warning("a question that cannot be read is left to others: %.200r", event)
            return
        with self.lock:
            if approval.id in self.open:
                return
            self.open.add(approval.id)
        try:
            self.asker.ask(self, approval)
        except Exception as error:
            self.failed(approval, error)

    def over(self, event: Mapping[str, Any]) -> None:
        over = read_over(event)
        id: Any = event.get("requestId")
        if not isinstance(id, str):
            return
        with self.lock:
            if id not in self.open:
                return
            self.open.discard(id)
            answer = self.answers.pop(id, None)
        if answer:
            wanted = "denied" if answer.decision == "no" else "approved"
            if over and over.state == wanted:
                answer.done(over, None)
            else:
                answer.done(None, ApprovalError(f"{id} was not {wanted} by this answer: {what_became(over)}"))
        if over:
            self.asker.tell(over)

    def refused(self, event: Mapping[str, Any]) -> None:
        id: Any = event.get("requestId")
        with self.lock:
            answer = self.answers.pop(id, None) if isinstance(id, str) else None
        if answer:
            answer.done(None, ApprovalError(str(event.get("message"))))
        else:
            log.info("%s: %s", id, event.get("message"))

    def end(self, reason: Exception) -> None:
        """The gate has ended."""
        with self.lock:
            self.ended = reason
            left = list(self.answers.values())
            self.answers.clear()
            self.open.clear()
        for answer in left:
            answer.done(None, reason)
        self.asker.end()

    # what the approver says

    def answer(self, id: str, decision: str, done: Done) -> None:
        """Sends an answer. `done` is called once, unless this raises."""
        line = _wire.encode({"deny": id} if decision == "no" else {"approve": id, "scope": decision})
        with self.lock:
            if self.ended:
                raise self.ended
            if id not in self.open:
                raise ApprovalError(f"no call waits for the answer to {id!r}: it was decided, timed out or cancelled")
            if id in self.answers:
                raise ApprovalError(f"{id} is being answered already")
            self.lines.send(line)
            self.answers[id] = Answer(decision, done)

    def decided(self, approval: Approval, decision: object) -> None:
        """The approver has returned."""
        if decision is None:
            return
        if decision is False:
            decision = "no"
        if not isinstance(decision, str) or decision not in (*SCOPES, "no"):
            words = "an approver returns 'once', 'session', 'always', 'no', False or None"
            self.failed(approval, ValueError(f"{words}, not {decision!r}"))
            return

        def done(over: Optional[ApprovalOver], error: Optional[Exception]) -> None:
            if isinstance(error, ApprovalError):
                log.warning("the answer %r to %s was not taken: %s", decision, approval.summary, error)
                self.deny(approval)  # nobody would answer it any more

        try:
            self.answer(approval.id, decision, done)
        except SandgateError as error:  # it is over, or the gate is
            log.info("the answer to %s comes too late: %s", approval.summary, error)

    def failed(self, approval: Approval, error: BaseException) -> None:
        """The approver has raised: that is a no, and the call ends with it."""
        end = self.lines.detach(approval.call_id)  # before the no, else the call could end with that
        self.deny(approval)
        if not isinstance(error, Exception):
            error = ApprovalError(f"the approver was stopped: {error!r}")
        if end:
            end(error)
        else:
            log.error("the approver failed, %s was denied", approval.summary, exc_info=error)

    def deny(self, approval: Approval) -> None:
        try:
            self.answer(approval.id, "no", lambda over, error: None)
        except SandgateError:  # it is over, or the gate is
            pass


def what_became(over: Optional[ApprovalOver]) -> str:
    if over is None:
        return "it is over"
    return f"it was {over.state.replace('_', ' ')}" + (f" by {over.by}" if over.by else "")


def check_scope(scope: str) -> None:
    if scope not in SCOPES:
        raise ValueError(f"a scope is 'once', 'session' or 'always', not {scope!r}")


class ThreadAsker:
    """Asks in a thread of its own, one question after the other: other calls go on while someone thinks."""

    def __init__(self, approver: Approver, on_over: Optional[OnApprovalOver]) -> None:
        self.approver = approver
        self.on_over = on_over
        self.queue: queue.SimpleQueue[Optional[Approval]] = queue.SimpleQueue()
        self.thread: Optional[threading.Thread] = None

    def ask(self, approvals: Approvals, approval: Approval) -> None:
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, args=(approvals,), name="sandgate-approver", daemon=True)
            self.thread.start()
        self.queue.put(approval)

    def run(self, approvals: Approvals) -> None:
        for approval in iter(self.queue.get, None):
            if not approvals.is_open(approval.id):
                continue
            try:
                decision = self.approver(approval)
            except BaseException as error:
                approvals.failed(approval, error)
            else:
                approvals.decided(approval, decision)

    def tell(self, over: ApprovalOver) -> None:
        try:
            if self.on_over:
                self.on_over(over)
        except Exception:
            log.exception("on_approval_over failed")

    def end(self) -> None:
        self.queue.put(None)


class LoopAsker:
    """Asks in the event loop that uses the gate, all questions at once."""

    def __init__(self, approver: AsyncApprover, on_over: Optional[OnApprovalOver]) -> None:
        self.approver = approver
        self.on_over = on_over
        self.loop: Optional[asyncio.AbstractEventLoop] = None
        self.tasks: Set[asyncio.Task[None]] = set()

    def ask(self, approvals: Approvals, approval: Approval) -> None:
        if self.loop is None:
            raise ApprovalError("no event loop has used this gate: nobody can be asked")
        self.loop.call_soon_threadsafe(self.begin, approvals, approval)

    def begin(self, approvals: Approvals, approval: Approval) -> None:
        task = asyncio.ensure_future(self.run(approvals, approval))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def run(self, approvals: Approvals, approval: Approval) -> None:
        if not approvals.is_open(approval.id):
            return
        try:
            decision: Any = self.approver(approval)
            if inspect.isawaitable(decision):
                decision = await decision
        except BaseException as error:
            approvals.failed(approval, error)
            if not isinstance(error, Exception):
                raise
        else:
            approvals.decided(approval, decision)

    def tell(self, over: ApprovalOver) -> None:
        if self.loop is None or self.on_over is None:
            return
        try:
            self.loop.call_soon_threadsafe(self.on_over, over)
        except RuntimeError:  # the loop is closed: nobody listens
            pass

    def end(self) -> None:
        pass
