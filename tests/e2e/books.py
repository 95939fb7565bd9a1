"""What a state folder says of the calls that were made: approvals and counters in `state.db`, and the audit log, whose
chain of hashes is checked here without the program.
"""

import contextlib
import hashlib
import json
import re
import sqlite3

import lib
from lib import check, short

NOTHING = "0" * 64  # stands for the hash before the first record
TAIL = re.compile(rb'"hash":"([0-9a-f]{64})"}')
TAIL_BYTES = 74
OVER = ("used", "denied", "timed_out", "cancelled", "gone")


def ask(state, sql, *values):
    """Rows of state.db, as dictionaries. Nothing stays open: what a killed gate left is the next gate's to mend."""
    name = f"file:{state / 'state.db'}?mode=rw"
    with lib.acting(state.stat().st_uid), contextlib.closing(sqlite3.connect(name, uri=True, timeout=20)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA query_only = 1")
        return [dict(row) for row in connection.execute(sql, values)]


def approvals(state):
    return {row["id"]: row for row in ask(state, "SELECT * FROM approval ORDER BY seq")}


# --- the chain


def check_torn(where, lines, record):
    """Bytes that a kill cut off are named, with their hash, by the record behind them."""
    data = b"\n".join(lines)
    check(record.get("torn") == len(data), f"{where}: {len(data)} bytes are no record, and {short(record)} follows")
    check(record["torn_sha256"] == hashlib.sha256(data).hexdigest(), f"{where}: other bytes than {short(record)} says")


def follow(where, data, before, seen):
    """The records of one file, each proved to follow the one before it; the last one's hash."""
    records, torn = [], []
    check(data.endswith(b"\n") or not data, f"{where}: it ends within a line")
    for line in data.split(b"\n")[:-1]:
        tail = TAIL.fullmatch(line[-TAIL_BYTES:])
        if not tail or hashlib.sha256(before.encode() + line[:-TAIL_BYTES]).hexdigest() != tail[1].decode():
            torn.append(line)
            continue
        record = json.loads(line)
        if torn:
            check_torn(where, torn, record)
            torn = []
        gate = record["gate"]
        check(record["seq"] == seen.get(gate, 0) + 1, f"{where}: {short(record)} after number {seen.get(gate)}")
        check("missing_seq" not in record, f"{where}: records are missing: {short(record)}")
        seen[gate] = record["seq"]
        before = tail[1].decode()
        records.append(record)
    check(not torn, f"{where}: these are no records: {torn[:3]}")
    return records, before


def log(state):
    """All records, slot by slot. The gates have ended, and the last of them found what the others left."""
    records, hashes = [], set()
    folder = state / "audit"
    for slot in sorted({path.name[:3] for path in folder.iterdir()}):
        before = NOTHING
        # The rotated ones first, by the time in their names; then the one in use.
        for path in sorted(folder.glob(f"{slot}*.jsonl"), key=lambda p: (p.name == f"{slot}.jsonl", p.name)):
            seen = {}
            found, before = follow(path.name, path.read_bytes(), before, seen)
            records += found
            hashes |= {record["hash"] for record in found}
    for head in ask(state, "SELECT * FROM audit_head"):
        # The number 0: a gate that was killed before its first record, and what it would have followed.
        first = head["seq"] == 0 and head["hash"] == NOTHING
        check(first or head["hash"] in hashes, f"the log lacks a record that state.db knows of: {head}")
    return records


def verify(form, home):
    """The program's own word about the log."""
    if b"verify" in form.run(home, "audit", "--help").stdout:
        done = form.run(home, "audit", "verify")
        check(done.returncode == 0, f"audit verify: {done.stdout!r} {done.stderr!r}")


# --- calls


class Calls:
    """What the log has of each call, by its caller's id; ids are used once."""

    def __init__(self, records):
        self.intents = {}
        self.refused = {}
        self.ends = {}
        self.asked = {}  # by the request's id
        self.decided = {}
        ids = {}
        for record in records:
            kind, uid = record["kind"], record.get("call")
            if kind == "call.intent":
                check(record["id"] not in self.intents, f"two beginnings of one call: {short(record)}")
                self.intents[record["id"]] = record
                ids[uid] = record["id"]
            elif kind == "call.refused":
                check(record["id"] not in self.refused, f"refused twice: {short(record)}")
                self.refused[record["id"]] = record
            elif kind in ("approval.asked", "approval.decided"):
                table = self.asked if kind == "approval.asked" else self.decided
                check(record["approval"] not in table, f"twice: {short(record)}")
                table[record["approval"]] = record
        for record in records:
            if record["kind"] in ("call.outcome", "call.interrupted"):
                check(record["call"] in ids, f"an end without a beginning: {short(record)}")
                check(ids[record["call"]] not in self.ends, f"two ends of one call: {short(record)}")
                self.ends[ids[record["call"]]] = record
        open_ones = set(self.intents) - set(self.ends)
        check(not open_ones, f"calls without an end: {sorted(open_ones)[:5]}")
        both = set(self.intents) & set(self.refused)
        check(not both, f"begun and refused: {sorted(both)[:5]}")

    def check_answer(self, call_id, code):
        """The caller was told what is recorded; code is `ok` or an error's."""
        record = self.ends.get(call_id) or self.refused.get(call_id)
        check(record, f"{call_id} was answered {code} but is not in the log")
        check(record["kind"] != "call.interrupted", f"{call_id} was answered {code}, recorded is {short(record)}")
        check(record.get("code", "ok") == code, f"{call_id} was answered {code}, recorded is {short(record)}")

    def check_approvals(self, rows):
        """The log and the table of approvals say the same. What was decided while its gate died is in the table only."""
        for request, record in self.asked.items():
            check(request in rows, f"asked, and yet not in the table: {short(record)}")
        for request, record in self.decided.items():
            state = rows[request]["state"]
            same = state in ("approved", "used") if record["state"] == "approved" else state == record["state"]
            check(same, f"the log has {short(record)}, the table {short(rows[request])}")
            check(record.get("by") == rows[request]["decided_by"], f"{short(record)} but {short(rows[request])}")
        for request, row in rows.items():
            if row["state"] == "used":
                check(self.decided.get(request, {}).get("state") == "approved", f"used, and no yes in the log: {row}")
        users = {}
        for call_id, record in self.intents.items():
            request = record.get("approval")
            if request is None:
                continue
            check(request not in users, f"{call_id} and {users.get(request)} ran by one approval {request}")
            users[request] = call_id
            row = rows[request]
            check(row["state"] == "used" and row["caller_id"] == call_id and row["call"] == record["call"],
                  f"{call_id} ran by {short(row)}")  # fmt: skip
