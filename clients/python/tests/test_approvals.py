"""Programs that answer for their gate, with threads and with asyncio."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import threading
from typing import Any, Callable, Dict, List, Optional

import sandgate
from places import Case, main
from sandgate import (
    Approval,
    ApprovalError,
    ApprovalOver,
    AsyncGate,
    Decision,
    Gate,
    GateClosed,
    GateDied,
    Scope,
    ToolError,
)

SCOPES: List[Scope] = ["once", "session", "always"]


class Asked:
    """Answers all questions alike and remembers them."""

    def __init__(self, decision: Optional[Decision]) -> None:
        self.decision: Optional[Decision] = decision
        self.questions: List[Approval] = []
        self.overs: List[ApprovalOver] = []

    def __call__(self, approval: Approval) -> Optional[Decision]:
        self.questions.append(approval)
        return self.decision


class Asking(Case):
    def setUp(self) -> None:
        super().setUp()
        self.config = pathlib.Path(self.scratch.name, "config")
        self.env = {name: value for name, value in os.environ.items() if name != "SANDGATE_APPROVAL_DEFAULT"}
        self.env["XDG_CONFIG_HOME"] = str(self.config)
        self.env["XDG_STATE_HOME"] = str(pathlib.Path(self.scratch.name, "state"))
        os.mkdir(self.env["XDG_STATE_HOME"], 0o700)

    def hasty(self) -> str:
        path = pathlib.Path(self.scratch.name, "hasty.json")
        path.write_text(json.dumps({"approval": {"timeoutMs": 200}}))
        path.chmod(0o644)
        return str(path)

    def gate(self, approver: sandgate.Approver, **more: Any) -> Gate:
        if isinstance(approver, Asked):
            more.setdefault("on_approval_over", approver.overs.append)
        return Gate(self.workspace, env=self.env, approver=approver, **more)

    def elsewhere(self, verb: str, id: str) -> None:
        """As from another terminal."""
        subprocess.run([os.environ["SANDGATE"], verb, id], env=self.env, check=True, capture_output=True, timeout=30)

    def denied(self, call: Callable[[], Any], code: str = "APPROVAL_DENIED") -> ToolError:
        with self.assertRaises(ToolError) as caught:
            call()
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def wrote(self, name: str) -> bool:
        return (self.workspace / name).exists()


class Threads(Asking):
    def test_once(self) -> None:
        asked = Asked("once")
        with self.gate(asked) as gate:
            self.assertEqual(gate.read_file("a.txt")["content"], "alpha\n")
            self.assertEqual(asked.questions, [])
            gate.write_file("b", "one\n")
            gate.write_file("b", "two\n")
            self.assertEqual([over.state for over in asked.overs], ["approved", "approved"])
        first, second = asked.questions
        self.assertEqual((first.tool, first.call_id), ("write_file", "2"))
        self.assertIn("write_file: b", first.summary)
        self.assertIn("-one\n+two\n", second.detail)
        self.assertEqual(first.rule, "approval.default")
        self.assertEqual(json.loads(str(first.proposal))["toolName"], "write_file")
        self.assertEqual(first.expires_at.utcoffset().__str__(), "0:00:00")
        self.assertIn("stdio --approver", str(asked.overs[0].by))
        self.zombies()

    def test_no(self) -> None:
        decisions: List[Decision] = ["no", False]
        for decision in decisions:
            asked = Asked(decision)
            with self.gate(asked) as gate:
                error = self.denied(lambda: gate.write_file("b", "x"))
                self.assertEqual(error.details["request_id"], asked.questions[0].id)
                self.assertEqual(asked.overs[0].state, "denied")
            self.assertFalse(self.wrote("b"))

    def test_for_the_session(self) -> None:
        for _ in range(2):
            asked = Asked("session")
            with self.gate(asked) as gate:
                gate.write_file("b", "x")
                gate.write_file("b", "y")
                self.assertEqual(len(asked.questions), 1)

    def test_always(self) -> None:
        asked = Asked("always")
        with self.gate(asked) as gate:
            gate.write_file("b", "x")
        self.assertIn("write_file", (self.config / "sandgate/approved.json").read_text())
        with self.gate(asked) as gate:
            gate.write_file("b", "y")
        self.assertEqual(len(asked.questions), 1)

    def test_nobody_answers_in_time(self) -> None:
        asked = Asked(None)
        with self.gate(asked, config=self.hasty()) as gate:
            self.denied(lambda: gate.write_file("b", "x"), "APPROVAL_TIMEOUT")
            self.assertEqual([(over.state, over.by) for over in asked.overs], [("timed_out", None)])
            for scope in SCOPES:
                with self.assertRaisesRegex(ApprovalError, "no call waits"):
                    gate.approve(asked.questions[0].id, scope)
            with self.assertRaises(ApprovalError):
                gate.deny(asked.questions[0].id)
            self.assertEqual(gate.read_file("a.txt")["content"], "alpha\n")
        self.assertFalse(self.wrote("b"))

    def test_decided_elsewhere(self) -> None:
        """Before the client hears of it, it gives an answer of its own."""
        overs: List[ApprovalOver] = []

        def approver(approval: Approval) -> Decision:
            self.elsewhere("approve", approval.id)
            return "no"

        with self.gate(approver, on_approval_over=overs.append) as gate:
            gate.write_file("b", "x")
            self.assertEqual(overs[0].state, "approved")
            self.assertIn("by sandgate approve", str(overs[0].by))

        def late(approval: Approval) -> None:
            self.elsewhere("deny", approval.id)
            try:
                gate.approve(approval.id)
            except ApprovalError as error:
                errors.append(str(error))

        errors: List[str] = []
        with self.gate(late) as gate:
            self.denied(lambda: gate.write_file("c", "x"))
            self.eventually(lambda: len(errors) == 1)
            # A gate that has already heard of the answer says that nobody waits for this one.
            self.assertRegex(errors[0], "denied|was decided")
        self.assertFalse(self.wrote("c"))

    def test_one_that_raises_denies(self) -> None:
        def approver(approval: Approval) -> Decision:
            raise KeyError(approval.summary)

        with self.gate(approver, max_in_flight=1) as gate:
            with self.assertRaisesRegex(KeyError, "write_file: b"):
                gate.write_file("b", "x")
            self.assertEqual(gate.read_file("a.txt", timeout=15)["content"], "alpha\n")
        self.assertFalse(self.wrote("b"))

        def leaves(_: Approval) -> Decision:
            raise SystemExit(0)

        with self.gate(leaves) as gate:
            for _ in range(2):  # it is asked again
                with self.assertRaisesRegex(ApprovalError, "SystemExit"):
                    gate.write_file("b", "x")
        self.assertFalse(self.wrote("b"))

    def test_what_is_no_decision_denies(self) -> None:
        words: Any = [True, 1, 0, "yes", "", "Once", "approve", ["once"], object()]
        for word in words:
            with self.gate(Asked(word)) as gate, self.assertRaisesRegex(ValueError, "an approver returns"):
                gate.write_file("b", "x")
        self.assertFalse(self.wrote("b"))

    def test_two_at_once_answered_later(self) -> None:
        asked = Asked(None)
        with self.gate(asked) as gate:
            calls = [gate.start("write_file", path=name, content="x") for name in "bc"]
            self.eventually(lambda: len(asked.questions) == 2)
            self.assertEqual(gate.read_file("a.txt")["content"], "alpha\n")
            ids = {approval.call_id: approval.id for approval in asked.questions}
            self.assertEqual(gate.deny(ids["2"]).state, "denied")
            self.denied(calls[1].result)
            self.assertFalse(calls[0].done())
            self.assertEqual(gate.approve(ids["1"]).state, "approved")
            self.assertEqual(calls[0].result()["bytes_written"], 1)
            with self.assertRaises(ApprovalError):
                gate.approve("never")
            scope: Any = "no"
            with self.assertRaises(ValueError):
                gate.approve(ids["1"], scope)
        self.assertFalse(self.wrote("c"))

    def test_others_go_on_while_someone_thinks(self) -> None:
        thought = threading.Event()

        def approver(_: Approval) -> Decision:
            thought.wait(20)
            return "once"

        with self.gate(approver) as gate:
            calls = [gate.start("write_file", path=f"f{n}", content=str(n)) for n in range(64)]
            for _ in range(10):
                self.assertEqual(gate.read_file("a.txt", timeout=15)["content"], "alpha\n")
            self.assertFalse(any(call.done() for call in calls))
            thought.set()
            for call in calls:
                self.assertEqual(call.result()["created"], True)

    def test_one_that_is_over_is_not_asked_any_more(self) -> None:
        asked: List[str] = []
        busy, go_on = threading.Event(), threading.Event()

        def approver(approval: Approval) -> Decision:
            asked.append(approval.summary)
            busy.set()
            go_on.wait(20)
            return "once"

        overs: List[ApprovalOver] = []
        with self.gate(approver, on_approval_over=overs.append) as gate:
            first = gate.start("write_file", path="b", content="x")
            busy.wait(20)
            second = gate.start("write_file", path="c", content="x")
            questions = gate._approvals
            self.eventually(lambda: questions is not None and len(questions.open) == 2)
            second.cancel()
            self.denied(second.result, "CANCELLED")
            go_on.set()
            first.result()
            gate.write_file("d", "x")
        self.assertEqual(len(asked), 2)

    def test_no_rule_can_be_made(self) -> None:
        """Of a name that is not UTF-8."""
        asked = Asked("always")
        with self.gate(asked) as gate:
            with self.assertLogs("sandgate", "WARNING") as logged:
                self.denied(lambda: gate.write_file(b"caf\xe9", "x"))
            self.assertIn("approve it once", logged.output[0])
            asked.decision = None
            call = gate.start("write_file", path_b64="Y2Fm6Q==", content="x")
            self.eventually(lambda: len(asked.questions) == 2)
            with self.assertRaisesRegex(ApprovalError, "approve it once"):
                gate.approve(asked.questions[1].id, "session")
            gate.approve(asked.questions[1].id)
            self.assertEqual(call.result()["created"], True)

    def test_a_killed_gate(self) -> None:
        asked = Asked(None)
        with self.gate(asked) as gate:
            call = gate.start("write_file", path="b", content="x")
            self.eventually(lambda: len(asked.questions) == 1)
            os.kill(gate.pid, signal.SIGKILL)
            with self.assertRaises(GateDied):
                call.result()
            self.eventually(lambda: not gate._core.thread.is_alive())
            with self.assertRaises(GateDied):
                gate.approve(asked.questions[0].id)
        with self.gate(asked) as gate:
            call = gate.start("write_file", path="b", content="x")
            self.eventually(lambda: len(asked.questions) == 2)
        with self.assertRaises((GateClosed, ToolError)):
            call.result()
        with self.assertRaises(GateClosed):
            gate.approve(asked.questions[1].id)
        self.assertFalse(self.wrote("b"))

    def test_drain_waits_for_answers(self) -> None:
        asked = Asked(None)
        gate = self.gate(asked)
        calls = {id: gate.start("write_file", path=f"b{id}", content="x") for id in ("1", "2")}
        self.eventually(lambda: len(asked.questions) == 2)
        closing = threading.Thread(target=lambda: gate.close(drain=True))
        closing.start()
        self.eventually(lambda: gate._core.draining)
        for question in asked.questions:
            gate.approve(question.id)
            self.assertEqual(calls[str(question.call_id)].result()["created"], True)
        closing.join(20)
        self.assertFalse(closing.is_alive())

    def test_a_model_s_calls(self) -> None:
        asked = Asked("once")
        with self.gate(asked, format="openai") as gate:
            function = {"name": "write_file", "arguments": '{"path":"b","content":"x"}'}
            call = {"id": "call_1", "type": "function", "function": function}
            self.assertIn('"ok":true', gate.handle(call)["content"])
            self.assertEqual(asked.questions[0].call_id, "call_1")
            asked.decision = "no"
            self.assertIn("APPROVAL_DENIED", gate.handle(call)["content"])

    def test_a_listener_that_raises_does_no_harm(self) -> None:
        def listener(_: ApprovalOver) -> None:
            raise KeyError

        with self.gate(Asked("once"), on_approval_over=listener) as gate:
            with self.assertLogs("sandgate", "ERROR"):
                gate.write_file("b", "x")
            self.assertEqual(gate.read_file("b")["content"], "x")

        def waits(over: ApprovalOver) -> None:
            try:
                gate.deny(over.id)
            except RuntimeError as error:
                refused.append(str(error))

        refused: List[str] = []
        with self.gate(Asked("once"), on_approval_over=waits) as gate:
            gate.write_file("b", "y")
            self.assertEqual(len(refused), 1)

    def test_without_an_approver_nothing_is_approved(self) -> None:
        with Gate(self.workspace, env=self.env, config=self.hasty()) as gate:
            self.denied(lambda: gate.write_file("b", "x"), "APPROVAL_TIMEOUT")
            with self.assertRaisesRegex(ApprovalError, "approver"):
                gate.approve("abc")

    def test_questions_that_cannot_be_read(self) -> None:
        asked = Asked("once")
        with Gate(**self.fake("questions"), approver=asked, on_approval_over=asked.overs.append) as gate:
            with self.assertLogs("sandgate", "WARNING") as logged:
                said = gate.call("x")["said"]
            self.assertEqual(said, {"approve": "good", "scope": "once"})
            self.assertEqual([approval.id for approval in asked.questions], ["good"])
            self.assertEqual(asked.overs, [])  # in a way that nobody knows
            self.assertGreater(len(logged.output), 20)
            asked.decision = None
            call = gate.start("x")
            self.eventually(lambda: len(asked.questions) == 2)
            with self.assertRaises(GateDied):  # it ends with the answer
                gate.approve("late")
            with self.assertRaises(GateDied):
                call.result()


    def test_someone_else_was_faster(self) -> None:
        asked = Asked(None)
        with Gate(**self.fake("contrary"), approver=asked, on_approval_over=asked.overs.append) as gate:
            answers: List[Callable[[str], ApprovalOver]] = [gate.approve, gate.deny]
            for number, answer in enumerate(answers, 1):
                call = gate.start("x")
                self.eventually(lambda: len(asked.questions) == number)
                with self.assertRaisesRegex(ApprovalError, "by another"):
                    answer(asked.questions[-1].id)
                call.result()
            self.assertEqual([over.state for over in asked.overs], ["denied", "approved"])


def run(coroutine: Callable[..., Any]) -> Callable[[Any], None]:
    def test(self: Any) -> None:
        asyncio.run(asyncio.wait_for(coroutine(self), 30))
        self.zombies()

    test.__name__ = coroutine.__name__
    return test


class Async(Asking):
    def async_gate(self, approver: sandgate.AsyncApprover, **more: Any) -> AsyncGate:
        return AsyncGate(self.workspace, env=self.env, approver=approver, **more)

    @run
    async def test_asyncio_functions_of_both_kinds(self) -> None:
        overs: List[ApprovalOver] = []

        async def approver(approval: Approval) -> Decision:
            await asyncio.sleep(0.01)
            return "once" if "yes" in approval.summary else "no"

        async with self.async_gate(approver, on_approval_over=overs.append) as gate:
            calls = [gate.write_file(f"{'yes' if n % 2 else 'not'}{n}", "x") for n in range(64)]
            for n, result in enumerate(await asyncio.gather(*calls, return_exceptions=True)):
                self.assertEqual(isinstance(result, ToolError), n % 2 == 0, result)
            self.assertEqual(len(overs), 64)
        async with self.async_gate(Asked("session")) as gate:
            await gate.write_file("b", "x")
            await gate.write_file("b", "y")

    @run
    async def test_asyncio_what_is_raised_denies(self) -> None:
        async def raises(approval: Approval) -> Decision:
            raise KeyError(approval.id)

        async def nonsense(_: Approval) -> Any:
            return True

        async def cancelled(_: Approval) -> Decision:
            raise asyncio.CancelledError

        kinds: Dict[Any, Any] = {raises: KeyError, nonsense: ValueError, cancelled: ApprovalError}
        for approver, error in kinds.items():
            async with self.async_gate(approver) as gate:
                with self.assertRaises(error):
                    await gate.write_file("b", "x")
                self.assertEqual((await gate.read_file("a.txt"))["content"], "alpha\n")
        self.assertFalse(self.wrote("b"))

    @run
    async def test_asyncio_later(self) -> None:
        questions: asyncio.Queue[Approval] = asyncio.Queue()
        async with self.async_gate(questions.put_nowait) as gate:
            calls = [asyncio.create_task(gate.write_file(name, "x")) for name in "bc"]
            first, second = await questions.get(), await questions.get()
            self.assertEqual((await gate.deny(second.id)).state, "denied")
            self.assertEqual((await gate.approve(first.id, "session")).state, "approved")
            results = await asyncio.gather(*calls, return_exceptions=True)
            self.assertEqual(sorted(isinstance(result, ToolError) for result in results), [False, True])
            with self.assertRaises(ApprovalError):
                await gate.approve(first.id)
            last = asyncio.create_task(gate.write_file("d", "x"))
            third = await questions.get()
            os.kill(gate.pid, signal.SIGKILL)
            with self.assertRaises(GateDied):
                await last
            await asyncio.to_thread(gate._core.thread.join)
            with self.assertRaises(GateDied):
                await gate.approve(third.id)
        async with AsyncGate(self.workspace, env=self.env) as gate:
            with self.assertRaises(ApprovalError):
                await gate.deny(third.id)


if __name__ == "__main__":
    main()
