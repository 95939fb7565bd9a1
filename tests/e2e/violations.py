#!/usr/bin/env python3
"""Every answer to a command names what the sandbox refused it and what it made that programs would obey: in each dialect,
where a limit of the output is reached, and where the call was cancelled or took too long. The audit record names them too,
without secrets.
"""

import json

import lib
import ran
from lib import Gate, check, wait_until
from ran import Place

MADE = "mkdir -p d && echo x > d/.envrc"
TOLD = "[violation: created:d/.envrc]\n"
ENABLED = {"tools": {"bash": {"enabled": True}}}


def gate_of(place, dialect):
    return Gate(place.form, *place.options, "--dialect", dialect, workspace=place.workspace, state=place.home)


def in_objects(form):
    """system and sidecar: at the end of standard error, behind what the command printed"""
    for dialect, tool, arguments in (
        ("system", "bash", {"command": "sh", "args": ["make.sh"]}),
        ("sidecar", "run_command", {"command": "sh make.sh"}),
    ):
        place = Place(form, f"objects-{dialect}", ENABLED if dialect == "system" else None)
        place.put("make.sh", f"{MADE}; printf said >&2\n")
        with gate_of(place, dialect) as gate:
            answer = gate.call(tool, **arguments)
            check(f'"stderr": {json.dumps("said" + chr(10) + TOLD)}' in json.dumps(answer), lib.short(answer))


def in_text(form):
    """runner: behind both streams and before the exit code"""
    place = Place(form, "text")
    with gate_of(place, "runner") as gate:
        answer = gate.call("shell", command=f"{MADE}; echo out; echo bad >&2; exit 3")
        check(json.dumps(f"out\n[stderr]\nbad\n{TOLD}[exit code: 3]") in json.dumps(answer), lib.short(answer))
        answer = gate.call("shell", command="echo quiet")
        check("violation" not in json.dumps(answer), lib.short(answer))


def many(form):
    """more than an answer names: the first of them, and the number of the others"""
    place = Place(form, "many")
    with gate_of(place, "runner") as gate:
        answer = json.dumps(gate.call("shell", command="for i in $(seq 100); do mkdir d$i; echo > d$i/.envrc; done"))
        check(answer.count("[violation: created:") == 64 and "[more violations: 36]" in answer, answer[:300])


def failed(form):
    """a call that is cancelled, or takes too long, names them in its message"""
    place = Place(form, "failed")
    with place.gate() as gate:
        number = gate.send("run_command", command=f"{MADE}; touch ready; sleep {ran.mark()}")
        wait_until((place.workspace / "ready").exists, "it runs")
        gate.send_raw(b'{"cancel":"%s"}\n' % number.encode())
        error = lib.expect_error(gate.wait(number), "CANCELLED")
        check("violations: created:d/.envrc" in error["message"], error)
    place = Place(form, "late")
    with gate_of(place, "runner") as gate:
        answer = json.dumps(gate.call("shell", command=f"{MADE}; sleep {ran.mark()}", timeout=1))
        check("timed out after 1 seconds; violations: created:d/.envrc" in answer, answer)


def recorded(form):
    """the record of a call hides what looks like a secret in them"""
    place = Place(form, "recorded")
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    with place.gate() as gate:
        value = ran.bash(gate, f'n=ghp_; n="$n"{secret[4:]}; mkdir $n; echo x > $n/.envrc')
        check(value["violations"] == [{"call": f"created:{secret}/.envrc", "count": 1}], lib.short(value))
    text = "".join(f.read_text(encoding="utf-8") for f in (place.home / "sandgate" / "audit").glob("*.jsonl"))
    found = [r["violations"] for r in map(json.loads, text.splitlines()) if r.get("violations")]
    check(len(found) == 1 and found[0][0].startswith("created:[redacted]"), found)
    check(secret not in text, "the secret is in the log")


if __name__ == "__main__":
    ran.main(in_objects, in_text, many, failed, recorded)
