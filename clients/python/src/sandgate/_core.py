"""A running `sandgate stdio` and the calls under way in it. Shared by the two gates; knows lines and ids, no tools.

One thread a gate reads its answers and writes what could not be written at once. `Core.lock` guards everything that
callers touch; callbacks run in that thread without the lock.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import selectors
import subprocess
import threading
import time
from typing import Any, Callable, Deque, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, cast

from . import _wire
from ._approvals import Approvals
from ._log import log
from .errors import CallTimeout, GateClosed, GateDied, GateError, GateNotFound, ToolError

READ_BYTES = 1 << 20
ANSWER_BYTES = 256 << 20  # 16 MiB of content, every byte escaped as six, and again inside a string
WAITING_BYTES = 64 << 20  # requests not yet sent; then start() blocks
STDERR_LINES = 20
STDERR_LINE_BYTES = 1000
END_SECONDS = 5.0  # the gate itself gives a call 2 s to stop

Done = Callable[[Optional[Dict[str, Any]], Optional[Exception]], None]


class Flight:
    """One call from its submission to its answer."""

    __slots__ = ("id", "line", "done", "heard")

    def __init__(self, id: _wire.Id, line: bytes, done: Done, heard: Optional[_wire.OnOutput] = None) -> None:
        self.id = id
        self.line = line
        self.done: Optional[Done] = done
        self.heard = heard


class Lines:
    """Cuts a stream into lines. A line that comes in many pieces is joined once."""

    def __init__(self) -> None:
        self.pieces: List[bytes] = []
        self.bytes = 0

    def feed(self, data: bytes) -> List[bytes]:
        if b"\n" not in data:
            self.pieces.append(data)
            self.bytes += len(data)
            return []
        *lines, rest = b"".join([*self.pieces, data]).split(b"\n")
        self.pieces = [rest] if rest else []
        self.bytes = len(rest)
        return lines

    def rest(self) -> bytes:
        return b"".join(self.pieces)


class Core:
    def __init__(
        self,
        argv: Sequence[str],
        env: Optional[Mapping[str, str]],
        cwd: Optional[_wire.PathArgument],
        max_in_flight: int,
        approvals: Optional[Approvals],
    ) -> None:
        self.approvals = approvals
        if approvals:
            approvals.lines = self
        self.lock = threading.Lock()
        self.room = threading.Condition(self.lock)
        self.max_in_flight = max_in_flight
        self.numbers = itertools.count(1)
        self.ids: Set[_wire.Id] = set()
        self.waiting: Deque[Flight] = collections.deque()
        self.waiting_bytes = 0
        self.pending: Dict[_wire.Id, Flight] = {}  # sent, in this order
        self.orphans: List[Dict[str, Any]] = []  # answers that do not say whose they are
        self.suspects: Set[_wire.Id] = set()  # whose they can be
        self.out: Deque[memoryview] = collections.deque()
        self.want_write = False
        self.closing = False
        self.draining = False
        self.ended: Optional[GateError] = None
        self.breach = ""
        self.answers = Lines()
        self.said = Lines()
        self.stderr: Deque[str] = collections.deque(maxlen=STDERR_LINES)
        try:
            # A session of its own: Ctrl-C in a terminal is for this program to handle.
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise GateNotFound(f"cannot start {argv[0]!r}: {error}") from error
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin, self.stdout, self.stderr_pipe = self.process.stdin, self.process.stdout, self.process.stderr
        self.wake_out, self.wake_in = os.pipe()
        for fd in (self.stdin.fileno(), self.stdout.fileno(), self.stderr_pipe.fileno(), self.wake_in, self.wake_out):
            os.set_blocking(fd, False)
        self.thread = threading.Thread(target=self.run, name="sandgate", daemon=True)
        self.thread.start()

    # for callers

    def reserve(self, wanted: Optional[_wire.Id]) -> _wire.Id:
        """An id nobody else uses: the wanted one if it is free."""
        with self.lock:
            id: _wire.Id = str(next(self.numbers)) if wanted is None else wanted
            while id in self.ids:
                id = str(next(self.numbers))
            self.ids.add(id)
            return id

    def release(self, id: _wire.Id) -> None:
        with self.lock:
            self.ids.discard(id)

    def submit(self, flight: Flight, deadline: Optional[float], block: bool) -> None:
        """Sends a call, or keeps it until there is room for it. `done` is called once, unless this raises."""
        with self.lock:
            while block and self.waiting_bytes > WAITING_BYTES and not self.closing and not self.ended:
                rest = None if deadline is None else deadline - time.monotonic()
                if rest is not None and rest <= 0:
                    self.ids.discard(flight.id)
                    raise CallTimeout("timed out before the call could be sent: too many are waiting")
                self.room.wait(rest)
            if self.ended or self.closing:
                self.ids.discard(flight.id)
                raise self.reason()
            self.waiting.append(flight)
            self.waiting_bytes += len(flight.line)
            self.pump()

    def cancel(self, flight: Flight) -> None:
        """Asks the gate to stop a call; `done` still comes."""
        with self.lock:
            if self.pending.get(flight.id) is flight:
                self.send_cancel(flight)
                return
            dropped = self.drop(flight)
        if dropped and flight.done:
            flight.done(None, ToolError("CANCELLED", "the call was cancelled before it was sent"))

    def abandon(self, flight: Flight) -> None:
        """Stops a call whose answer nobody waits for any more. Its id stays taken until the gate has answered."""
        with self.lock:
            flight.done = flight.heard = None
            if self.pending.get(flight.id) is flight:
                self.send_cancel(flight)
            else:
                self.drop(flight)

    def send(self, line: bytes) -> None:
        """A line that is no call."""
        with self.lock:
            if self.ended or (self.closing and not self.draining) or self.stdin.closed:
                raise self.reason()
            self.out.append(memoryview(line))
            self.write()

    def detach(self, call_id: Optional[_wire.Id]) -> Optional[Callable[[Exception], None]]:
        """From now on a call's answer means nothing; what is returned cancels it and ends it with the caller's own
        failure. None: nobody waits for it."""
        with self.lock:
            flight = None if call_id is None else self.pending.get(call_id)
            if not flight or not flight.done:
                return None
            done, flight.done, flight.heard = flight.done, None, None

        def end(error: Exception) -> None:
            self.abandon(flight)
            done(None, error)

        return end

    def close(self, drain: bool, timeout: Optional[float]) -> None:
        with self.lock:
            self.closing = True
            self.draining = self.draining or drain
            self.room.notify_all()
            self.wake()
        if not drain:
            self.terminate()
            timeout = END_SECONDS if timeout is None else timeout
        self.thread.join(timeout)
        if self.thread.is_alive():
            with contextlib.suppress(OSError):
                self.process.kill()
            self.thread.join()

    def terminate(self) -> None:
        """Takes no lock: also runs as a finalizer, wherever that may be."""
        with contextlib.suppress(OSError):
            self.process.terminate()

    # with the lock held

    def reason(self) -> GateError:
        if isinstance(self.ended, GateDied):
            return GateDied(str(self.ended), self.ended.returncode, self.ended.stderr)
        return GateClosed("the gate is closed")

    def drop(self, flight: Flight) -> bool:
        try:
            self.waiting.remove(flight)
        except ValueError:
            return False
        self.waiting_bytes -= len(flight.line)
        self.ids.discard(flight.id)
        self.room.notify_all()
        return True

    def send_cancel(self, flight: Flight) -> None:
        self.out.append(memoryview(_wire.encode({"cancel": flight.id})))
        self.write()

    def pump(self) -> None:
        # Fewer than the gate takes at once (256): so it goes on reading, and a cancel is seen.
        while self.waiting and len(self.pending) < self.max_in_flight:
            flight = self.waiting.popleft()
            self.waiting_bytes -= len(flight.line)
            self.pending[flight.id] = flight
            self.out.append(memoryview(flight.line))
            flight.line = b""
            self.room.notify_all()
        self.write()

    def write(self) -> None:
        try:
            while self.out and not self.stdin.closed:
                sent = os.write(self.stdin.fileno(), self.out[0])
                self.out[0] = self.out[0][sent:]
                if not self.out[0]:
                    self.out.popleft()
        except BlockingIOError:
            pass
        except OSError:  # it no longer reads: the end of its output will say why
            self.out.clear()
        if bool(self.out) != self.want_write:
            self.want_write = bool(self.out)
            self.wake()
        # Calls may wait for an answer that goes this way.
        asking = self.approvals is not None and bool(self.pending)
        if self.draining and not self.out and not self.waiting and not asking:
            self.stdin.close()

    def wake(self) -> None:
        if self.ended is None:
            with contextlib.suppress(BlockingIOError):
                os.write(self.wake_in, b"w")

    def arrived(self, answer: Dict[str, Any]) -> List[Callable[[], None]]:
        """Takes one answer; what is to be called for it once the lock is free."""
        flight = self.pending.pop(_wire.answer_id(answer)[1], None)
        if flight:
            self.suspects.discard(flight.id)
            calls = [self.completion(flight, answer)]
        else:
            self.orphans.append(answer)
            self.suspects.update(self.pending)
            calls = []
        # The gate could not read the id of some requests: those that stay unanswered when all others are answered.
        # Requests are refused in the order in which they were sent.
        if self.orphans and len(self.suspects) <= len(self.orphans):
            left = [self.pending.pop(id) for id in list(self.pending) if id in self.suspects]
            calls += [self.completion(flight, orphan) for flight, orphan in zip(left, self.orphans)]
            self.orphans, self.suspects = [], set()
        return calls

    def happened(self, event: Dict[str, Any]) -> List[Callable[[], None]]:
        """Takes what is told about a call while it runs; events that are not known are passed over."""
        approvals = self.approvals
        if approvals and event["event"] != "output":
            return [lambda: approvals.happened(event)]
        id: Any = event.get("id")
        flight = self.pending.get(id) if isinstance(id, (str, int)) else None
        piece = _wire.printed(event)
        return [lambda: self.tell(flight, piece)] if flight and piece else []

    def completion(self, flight: Flight, answer: Dict[str, Any]) -> Callable[[], None]:
        self.ids.discard(flight.id)
        done = flight.done
        return lambda: done(answer, None) if done else None

    # in the thread

    def tell(self, flight: Flight, piece: Tuple[str, str]) -> None:
        heard, done = flight.heard, flight.done
        try:
            if heard:
                heard(*piece)
        except Exception as error:  # the caller's own: the call ends with it
            self.abandon(flight)
            if done:
                done(None, error)

    def run(self) -> None:
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self.stdout, selectors.EVENT_READ)
                selector.register(self.stderr_pipe, selectors.EVENT_READ)
                selector.register(self.wake_out, selectors.EVENT_READ)
                with self.watched_end(selector):
                    self.serve(selector)
        except Exception as error:  # a bug must not leave callers waiting
            self.breach = f"the client failed: {error!r}"
        self.finish()

    @contextlib.contextmanager
    def watched_end(self, selector: selectors.BaseSelector) -> Iterator[None]:
        """Its end is seen even when a child of it keeps its output open. Not on kernels that cannot tell."""
        try:
            pidfd = os.pidfd_open(self.process.pid)
        except (AttributeError, OSError):
            yield
            return
        selector.register(pidfd, selectors.EVENT_READ, "end")
        try:
            yield
        finally:
            os.close(pidfd)

    def serve(self, selector: selectors.BaseSelector) -> None:
        watched = False
        while not self.breach:
            with self.lock:
                want = self.want_write and not self.stdin.closed
            if want != watched:
                watched = want
                if want:
                    selector.register(self.stdin, selectors.EVENT_WRITE)
                else:
                    selector.unregister(self.stdin)
            for key, _ in selector.select():
                if key.fileobj is self.stdout or key.data == "end":
                    data = self.read(self.stdout.fileno())
                    if data == b"" or (data is None and key.data == "end"):
                        return
                    self.take_answers(data or b"")
                elif key.fileobj is self.stderr_pipe:
                    data = self.read(self.stderr_pipe.fileno())
                    if data == b"":
                        selector.unregister(self.stderr_pipe)
                    self.take_stderr(data or b"")
                elif key.fileobj is self.stdin:
                    with self.lock:
                        self.write()
                        if self.stdin.closed:
                            selector.unregister(self.stdin)
                            watched = False
                else:
                    self.read(self.wake_out)
                    with self.lock:
                        if not self.stdin.closed:
                            self.write()

    @staticmethod
    def read(fd: int) -> Optional[bytes]:
        """None: nothing there after all. Empty: the end."""
        try:
            return os.read(fd, READ_BYTES)
        except BlockingIOError:
            return None

    def take_answers(self, data: bytes) -> None:
        for line in self.answers.feed(data):
            try:
                answer: Any = json.loads(line)
            except (ValueError, RecursionError):
                answer = None
            if type(answer) is not dict:
                self.breach = f"it wrote a line that is no answer: {line[:200]!r}"
                return
            with self.lock:
                message = cast(Dict[str, Any], answer)
                calls = self.happened(message) if "event" in message else self.arrived(message)
                if not self.closing or self.draining:
                    self.pump()
            for call in calls:
                call()
        if self.answers.bytes > ANSWER_BYTES:
            self.breach = f"it wrote an answer of more than {ANSWER_BYTES} bytes"

    def take_stderr(self, data: bytes) -> None:
        lines = self.said.feed(data)
        if self.said.bytes > STDERR_LINE_BYTES:
            lines.append(self.said.rest())
            self.said = Lines()
        for line in lines:
            text = line[:STDERR_LINE_BYTES].decode("utf-8", "replace")
            self.stderr.append(text)
            log.warning("%s", text)

    def finish(self) -> None:
        """Ends the process, if it has not ended, and every call."""
        if self.breach:
            with contextlib.suppress(OSError):
                self.process.kill()
        try:
            returncode = self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            returncode = self.process.wait()
        with contextlib.suppress(OSError):
            while True:
                data = self.read(self.stderr_pipe.fileno())
                if not data:
                    break
                self.take_stderr(data)
        if self.said.bytes:
            self.take_stderr(b"\n")
        with self.lock:
            left = [*self.pending.values(), *self.waiting]
            self.ended = GateClosed("the gate was closed") if self.closing else self.obituary(returncode)
            self.pending.clear()
            self.waiting.clear()
            self.out.clear()
            self.waiting_bytes = 0
            self.ids.clear()
            for pipe in (self.stdin, self.stdout, self.stderr_pipe):
                pipe.close()
            os.close(self.wake_in)
            os.close(self.wake_out)
            self.room.notify_all()
            reasons = [(flight.done, self.reason()) for flight in left]
            ending = self.reason()
        for done, reason in reasons:
            if done:
                done(None, reason)
        if self.approvals:
            self.approvals.end(ending)

    def obituary(self, returncode: int) -> GateDied:
        how = self.breach or (f"exit status {returncode}" if returncode >= 0 else f"signal {-returncode}")
        said = "\n".join(self.stderr)
        text = f"the gate ended ({how})" + (f"; it said:\n{said}" if said else "; it said nothing")
        return GateDied(text, returncode, list(self.stderr))
