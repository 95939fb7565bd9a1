#!/usr/bin/env python3
"""`sandgate mcp` and calls that wait for a yes: a dialog of the client, beside it `sandgate approve`; the first answer
counts. Without a dialog progress says what to type, and the wait ends before the client gives up."""
# timeout: 300

import contextlib
import json
import sqlite3
import time

import lib
from lib import check, short, wait_until

FORM = {"elicitation": {"form": {}, "url": {}}}
HUMAN = 0.4  # an answer that comes sooner than a person's is nobody's


class Server(lib.Gate):
    command = "mcp"

    def __init__(self, place, capabilities, version="2025-11-25", **more):
        super().__init__(place.form, workspace=place.folder, env={"SANDGATE_APPROVAL_DEFAULT": None}, **more)
        self.seen = []
        self.post("initialize", {"protocolVersion": version, "capabilities": capabilities,
                                 "clientInfo": {"name": "test", "version": "1"}}, 0)  # fmt: skip
        self.message(lambda m: m.get("id") == 0)

    def line(self, message):
        self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def post(self, method, params, call_id):
        self.line({"id": call_id, "method": method, "params": params})

    def message(self, fits):
        """The next message that fits; those before it stay."""
        self.pump(until=lambda: any(fits(m) for m in self.answers))
        at = next(n for n, m in enumerate(self.answers) if fits(m))
        return self.answers.pop(at)

    def call(self, call_id, name, token=None, **arguments):
        params = {"name": name, "arguments": arguments}
        self.post("tools/call", {**params, "_meta": {"progressToken": token}} if token else params, call_id)

    def dialog(self):
        return self.message(lambda m: m.get("method") == "elicitation/create")

    def reply(self, dialog, action, decision=None, wait=HUMAN):
        time.sleep(wait)
        content = {"content": {"decision": decision}} if decision is not None else {}
        self.line({"id": dialog["id"], "result": {"action": action, **content}})

    def result(self, call_id):
        result = self.message(lambda m: m.get("id") == call_id and "result" in m)["result"]
        return result["content"][0]["text"], bool(result.get("isError"))

    def withdrawn(self, dialog):
        message = self.message(lambda m: m.get("method") == "notifications/cancelled")
        check(message["params"]["requestId"] == dialog["id"], short(message))


class Place:
    def __init__(self, tap, form):
        self.tap, self.form, self.number = tap, form, 0
        self.folder = form.folder("asked")
        self.home = form.base / "home"

    def case(self, name):
        return self.tap.case(f"{self.form.name}: {name}")

    def name(self):
        self.number += 1
        return f"file{self.number}"

    def waiting(self):
        done = self.form.run(self.home, "approvals", "--json")
        return [waiting["id"] for waiting in json.loads(done.stdout)]

    def decided(self):
        return [r for r in lib.audit_records(self.home / "sandgate") if r["kind"] == "approval.decided"]


def request_of(dialog):
    """The id in the pointer to the whole call."""
    (line,) = [x for x in dialog["params"]["message"].splitlines() if x.startswith("whole call: ")]
    return line.split()[-1]


def yes(place):
    with place.case("once: the question, and the call is done"), Server(place, FORM) as server:
        name = place.name()
        server.call(1, "write_file", path=name, content="1\n2\n3\n4\n")
        dialog = server.dialog()
        check(set(dialog["params"]) == {"message", "requestedSchema"}, short(dialog))
        schema = dialog["params"]["requestedSchema"]
        check(schema["required"] == ["decision"] and list(schema["properties"]) == ["decision"], short(schema))
        field = schema["properties"]["decision"]
        check(field["type"] == "string" and "default" not in field, short(field))
        check([c["const"] for c in field["oneOf"]] == ["no", "once", "session", "always"], short(field))
        lines = dialog["params"]["message"].splitlines()
        check(lines[0] == f"write_file: {name} (8 bytes) +4 -0" and lines[1] == "+1", short(lines))
        check(lines[2].startswith("whole call: sandgate approvals ") and all(len(x) <= 100 for x in lines), short(lines))
        check(not (place.folder / name).exists(), "it was written before the answer")
        server.reply(dialog, "accept", "once")
        check(server.result(1) == (f"created {name}, 8 bytes", False), "the result")
    with place.case("what is not shown is counted, a long line is not cut, and no rule is offered then"), Server(place, FORM) as server:
        for number, (call, shown) in enumerate((
            ({"command": "true\n" * 29 + "rm -rf src"}, ["[15 more lines of the call are not shown here]"]),
            ({"command": "true " + "x" * 300 + " ; rm -rf src"}, ["rm -rf src"]),
        ), 1):
            server.call(number, "run_command", **call)
            dialog = server.dialog()
            text = dialog["params"]["message"]
            check(all(part in text for part in shown) and f"sandgate approvals {request_of(dialog)}" in text, text)
            check(all(len(x) <= 100 for x in text.splitlines()), text)
            offered = [c["const"] for c in dialog["params"]["requestedSchema"]["properties"]["decision"]["oneOf"]]
            check("always" not in offered or number == 2, offered)
            server.reply(dialog, "accept", "no")
            check(server.result(number)[1], "it was done")
    with place.case("session: the next one like it is not asked"), Server(place, FORM) as server:
        for number in (1, 2):
            server.call(number, "write_file", path="same", content="x\n")
            if number == 1:
                server.reply(server.dialog(), "accept", "session")
            check(not server.result(number)[1], "it failed")
    with place.case("a client of an older revision gets an enum"), Server(place, {"elicitation": {}}, "2025-06-18") as server:
        server.call(1, "write_file", path=place.name(), content="x\n")
        dialog = server.dialog()
        field = dialog["params"]["requestedSchema"]["properties"]["decision"]
        check(field["enum"] == ["no", "once", "session", "always"] and len(field["enumNames"]) == 4, short(field))
        server.reply(dialog, "accept", "once")
        check(not server.result(1)[1], "it failed")


def locked(place):
    """An answer is written down when the other process lets go of state.db."""
    for decision, done in (("once", True), ("no", False)):
        with place.case(f"state.db is locked when the answer comes: {decision}"), Server(place, FORM) as server:
            name = place.name()
            server.call(1, "write_file", path=name, content="x\n")
            dialog = server.dialog()
            with contextlib.closing(sqlite3.connect(place.home / "sandgate" / "state.db", isolation_level=None)) as db:
                db.execute("BEGIN IMMEDIATE")
                server.reply(dialog, "accept", decision)
                time.sleep(2.5)  # longer than the gate waits at once
                db.execute("ROLLBACK")
            text, failed = server.result(1)
            check(failed != done and (place.folder / name).exists() == done, text)
            check(done or text.startswith("APPROVAL_DENIED: "), text)


def no(place):
    for action, decision, by in (("accept", "no", "dialog"), ("accept", "rm", "dialog"), ("accept", "Once", "dialog"),
                                 ("accept", "once\0", "dialog"), ("accept", None, "dialog"), ("accept", "x" * 100, "dialog"),
                                 ("decline", "once", "declined"), ("cancel", None, "closed without an answer")):
        with place.case(f"{action} {(decision or '')[:5]!r} is a no"), Server(place, FORM) as server:
            name = place.name()
            server.call(1, "write_file", path=name, content="x\n")
            server.reply(server.dialog(), action, decision)
            text, failed = server.result(1)
            check(failed and text.startswith("APPROVAL_DENIED: "), text)
            check(not (place.folder / name).exists(), "it was written")
            last = place.decided()[-1]
            check(last["state"] == "denied" and last["by"].endswith(by), short(last))


def nobody(place):
    for reply in ({"result": {"action": "decline"}}, {"error": {"code": -32601, "message": "no"}}):
        with place.case(f"an answer at once is nobody's: {next(iter(reply))}"), Server(place, FORM) as server:
            for number in range(1, 9):
                name = place.name()
                server.call(number, "write_file", path=name, content="1\n2\n3\n")
                dialog = server.dialog()
                server.line({"id": dialog["id"], **reply})
                # A machine that is busy can make any answer a late one.
                server.post("ping", {}, f"ping{number}")
                server.message(lambda m, n=number: m.get("id") == f"ping{n}")
                if place.waiting():
                    break
                check("result" in reply and server.result(number)[1], "an error is no answer")
            check(place.form.run(place.home, "approve", request_of(dialog)).returncode == 0, "approve")
            check(not server.result(number)[1] and (place.folder / name).exists(), "it was not done")
            check(not server.answers, f"the dialog was over: {short(server.answers)}")


def others(place):
    with place.case("approved in a terminal: the dialog is withdrawn"), Server(place, FORM) as server:
        server.call(1, "write_file", path=place.name(), content="1\n2\n3\n")
        dialog = server.dialog()
        check(place.form.run(place.home, "approve", request_of(dialog)).returncode == 0, "approve")
        server.withdrawn(dialog)
        check(not server.result(1)[1], "it failed")
        server.reply(dialog, "accept", "no", wait=0)
        server.post("ping", {}, 2)
        server.message(lambda m: m.get("id") == 2)
        check(not server.answers, short(server.answers))
    with place.case("cancelled by the client: the dialog is withdrawn, and its answer does nothing"):
        with Server(place, FORM) as server:
            name = place.name()
            server.call(1, "write_file", path=name, content="x\n")
            dialog = server.dialog()
            server.line({"method": "notifications/cancelled", "params": {"requestId": 1}})
            server.withdrawn(dialog)
            server.reply(dialog, "accept", "once")
            server.post("ping", {}, 2)
            server.message(lambda m: m.get("id") == 2)
            check(not (place.folder / name).exists() and not place.waiting(), "it was done")
    with place.case("what is not shown whole can be approved once only"), Server(place, FORM) as server:
        for number, decision in enumerate(("session", "once"), 1):
            server.call(number, "write_file", path=place.name(), content="".join(f"{n}\n" for n in range(100)))
            dialog = server.dialog()
            field = dialog["params"]["requestedSchema"]["properties"]["decision"]
            check([c["const"] for c in field["oneOf"]] == ["no", "once"], short(field))
            server.reply(dialog, "accept", decision)
            check(server.result(number)[1] == (decision == "session"), decision)
    with place.case("answers to what was never asked"), Server(place, FORM) as server:
        for call_id in (1, "sandgate-1", "sandgate-99", None, {}):
            server.line({"id": call_id, "result": {"action": "accept", "content": {"decision": "once"}}})
        server.post("ping", {}, 2)
        server.message(lambda m: m.get("id") == 2)
        check(not server.answers, short(server.answers))


def without(place):
    with place.case("without a dialog: progress now and again, with what to type"), Server(place, {}) as server:
        server.call(1, "write_file", token="t", path=place.name(), content="x\n")
        told = [server.message(lambda m: m.get("method") == "notifications/progress")["params"] for _ in range(2)]
        check(told[0]["progress"] < told[1]["progress"], short(told))
        (request,) = place.waiting()
        check(all(f"`sandgate approve {request}`" in t["message"] for t in told), short(told))
        check(place.form.run(place.home, "approve", request).returncode == 0, "approve")
        check(not server.result(1)[1], "it failed")
    with place.case("without progress too: the wait ends before the client gives up"), Server(place, {}) as server:
        name = place.name()
        server.call(1, "write_file", path=name, content="x\n")
        wait_until(place.waiting, "it waits")
        (request,) = place.waiting()
        server.pump(until=lambda: server.answers, seconds=100)
        text, failed = server.result(1)
        check(failed and text.startswith("APPROVAL_TIMEOUT: nobody approved") and request in text, text)
        check(place.form.run(place.home, "approve", request).returncode != 0, "it can still be approved")
        check(not (place.folder / name).exists() and not place.waiting(), "it was done")


def main():
    tap = lib.Tap()
    for form in lib.forms():
        place = Place(tap, form)
        for part in (yes, locked, no, nobody, others):
            part(place)
    without(place)
    tap.done()


main()
