#!/usr/bin/env python3
"""Stands in for `sandgate stdio` where a test needs what a real gate does not do on request. $FAKE says what."""

import itertools
import json
import os
import signal
import sys

KIND = os.environ["FAKE"]


def say(data):
    os.write(1, data)


def lines():
    for line in sys.stdin.buffer:
        yield json.loads(line)


def answer(call):
    """As format `tool_call`; the result tells what was asked."""
    return json.dumps({"id": call.get("id"), "result": {"ok": True, "result": {"asked": call.get("tool_call")}}})


def pieces():
    """Every answer in pieces of a few bytes, cut inside characters too."""
    for call in lines():
        result = {"ok": True, "result": {"asked": call["tool_call"], "text": "é" * 50}}
        data = json.dumps({"id": call["id"], "result": result}, ensure_ascii=False).encode() + b"\n"
        for at in range(0, len(data), 3):
            say(data[at : at + 3])


def junk():
    next(lines())
    say(b"this is no JSON\n")
    signal.pause()


def silent():
    """Answers nothing and does not want to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("ready", file=sys.stderr, flush=True)
    while True:
        signal.pause()


def dies():
    next(lines())
    for number in range(30):
        print(f"line {number}", file=sys.stderr)
    print("no newline at the end", end="", file=sys.stderr, flush=True)
    os._exit(3)


def leaves_child():
    """Dies, but a child keeps its pipes open for a while."""
    if os.fork() == 0:
        signal.alarm(20)
        signal.pause()
    next(lines())
    os.kill(os.getpid(), signal.SIGKILL)


def unreadable():
    """Answers the calls `bad` first and without an id, as a gate does with lines it cannot read."""
    calls = list(itertools.islice(lines(), 4))
    for call in calls:
        if call["tool_call"]["name"] == "bad":
            error = {"code": "TOO_LARGE", "message": call["tool_call"]["arguments"]["n"]}
            say(json.dumps({"id": None, "result": {"ok": False, "error": error}}).encode() + b"\n")
    for call in reversed(calls):
        if call["tool_call"]["name"] != "bad":
            say(answer(call).encode() + b"\n")
    for _ in lines():
        pass


def counts():
    """Answers no call before as many are there as $FAKE_CALLS says; then tells how many came at once."""
    seen = []
    for call in lines():
        if "cancel" in call:
            continue
        seen.append(call)
        if len(seen) == int(os.environ["FAKE_CALLS"]):
            break
    for call in seen:
        say(answer(call).encode() + b"\n")
    for call in lines():
        say(answer(call).encode() + b"\n")


def events():
    """Before each answer what is known, what is not, and what is about no call."""
    for call in lines():
        for owner in ({"id": call["id"]}, {"id": "none"}, {"id": None}, {"id": []}, {}):
            say(json.dumps({**owner, "event": "news", "of": {}}).encode() + b"\n")
            say(json.dumps({**owner, "event": "output", "stream": "stdout", "data": "é\0"}).encode() + b"\n")
        skipped = {"id": call["id"], "event": "output", "stream": "stderr", "skipped": 7, "data": "end"}
        say(json.dumps(skipped).encode() + b"\n")
        say(answer(call).encode() + b"\n")


def questions():
    """Asks in every wrong way, then in the right one. The answer has the line that was said to it. The second call's
    question outlives the gate."""
    whole = {"tool": "t", "summary": "s", "detail": "", "rule": "r", "expiresAt": "2026-11-15T23:01:29.226Z"}
    whole = {"event": "approval", "requestId": "good", "id": None, **whole}
    source = lines()
    call = next(source)
    for key in whole:
        for value in (None, 7, [], {}, "") if key in ("requestId", "event", "expiresAt") else (None, 7, [], {}):
            if key != "id":
                say(json.dumps({**whole, "requestId": "bad", key: value}).encode() + b"\n")
    for id in ("a b", "a" * 16, "a" * 5000, 'a"}', "\u00e9"):
        say(json.dumps({**whole, "requestId": id}).encode() + b"\n")
    for event in ("approved", "approve", "question"):
        say(json.dumps({**whole, "event": event, "requestId": "bad"}).encode() + b"\n")
    for id in ("bad", None, 7, [], "good"):
        say(json.dumps({"event": "approval_over", "requestId": id, "state": "approved", "by": "me"}).encode() + b"\n")
        say(json.dumps({"event": "error", "requestId": id, "message": []}).encode() + b"\n")
    say(json.dumps(whole).encode() + b"\n" + json.dumps({**whole, "new": []}).encode() + b"\n")
    said = next(source)
    say(json.dumps({"event": "approval_over", "requestId": "good", "state": "vanished"}).encode() + b"\n")
    say(json.dumps({"id": call["id"], "result": {"ok": True, "result": {"said": said}}}).encode() + b"\n")
    call = next(source)
    say(json.dumps({**whole, "requestId": "late", "id": call["id"]}).encode() + b"\n")
    next(source)
    os._exit(3)


def contrary():
    """Of every answer the opposite comes true."""
    question = {"tool": "t", "summary": "s", "detail": "", "rule": "r", "expiresAt": "2026-11-15T23:01:29.226Z"}
    source = lines()
    for call in source:
        request = {"requestId": f"q{call['id']}"}
        say(json.dumps({"event": "approval", **request, "id": call["id"], **question}).encode() + b"\n")
        state = "denied" if "approve" in next(source) else "approved"
        say(json.dumps({"event": "approval_over", **request, "state": state, "by": "another"}).encode() + b"\n")
        say(answer(call).encode() + b"\n")


def openai():
    """Two calls at a time, answered in the other order."""
    source = lines()
    for first in source:
        for call in (next(source), first):
            message = {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(call["function"])}
            say(json.dumps(message).encode() + b"\n")


def anthropic():
    source = lines()
    for first in source:
        for call in (next(source), first):
            content = json.dumps(call["input"], ensure_ascii=False)
            message = {"type": "tool_result", "tool_use_id": call["id"], "content": content, "is_error": False}
            say(json.dumps(message).encode() + b"\n")


def ollama():
    source = lines()
    for first in source:
        for call in (next(source), first):
            function = call["function"]
            message = {"role": "tool", "tool_name": function["name"], "tool_call_id": call["id"]}
            say(json.dumps({**message, "content": json.dumps(function["arguments"])}).encode() + b"\n")


globals()[KIND]()
