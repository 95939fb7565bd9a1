"""What an answer must look like: expected by its case, and in any case by the schemas."""

import pathlib
import re
import subprocess

import jsonschema

from places import LOG
from program import SECONDS, Failed
from values import mismatches, parse, shown
from wire import call_in, wire_of

HERE = pathlib.Path(__file__).resolve().parent
ANSWERS = {
    path.stem: jsonschema.Draft202012Validator(parse(path.read_text()))
    for path in sorted((HERE / "schemas").glob("*.json"))
}
RUN_FACTS = ("tier", "duration_ms")
# Depends on the machine: there where a command ran without control groups.
LIMITS = "limits"
WEAKER = "weaker"
DIALECTS = ("native", "sidecar", "system", "toolhost", "runner")
# What the policy answers, and how a message names the rule that it was.
REFUSALS = ("POLICY_DENIED", "CAPABILITY_DENIED", "RATE_LIMITED", "BUDGET_EXCEEDED")
NOT_APPROVED = ("APPROVAL_DENIED", "APPROVAL_TIMEOUT")
RULE = re.compile(r"\b(approval|policy|tools|agents|files)\.[\w*]|\bhooks\[\d+\]|\bsandgate\.json\b")
# How a refusal for the shape of an argument reads where there is no field that says so.
SHAPE_WORDS = re.compile(r"(missing required|invalid type|must be an? \w+, not |unknown argument)")


def broken(validator, value):
    errors = sorted(validator.iter_errors(value), key=lambda e: list(map(str, e.absolute_path)))
    return [f"{'.'.join(map(str, e.absolute_path)) or 'the value'}: {e.message[:300]}" for e in errors]


class Tools:
    """The tools of a dialect by name and by alias, each with its two schemas."""

    def __init__(self, program, dialect):
        argv = [program, "tools", "--dialect", dialect, "--format", "full"]
        done = subprocess.run(argv, capture_output=True, timeout=SECONDS, check=True)
        self.rows = {}
        for row in parse(done.stdout.decode()):
            schemas = {}
            for key in ("input", "output"):
                jsonschema.Draft202012Validator.check_schema(row[f"{key}_schema"])
                schemas[key] = jsonschema.Draft202012Validator(row[f"{key}_schema"])
            self.rows[row["name"]] = schemas
            if row["alias"]:
                self.rows[row["alias"]] = schemas


# --- the answer a case expects


def done(dialect, case, result):
    if dialect == "runner":
        return result
    if dialect == "sidecar":
        return {"success": True, "tool": case["tool"], "output": result, "error": None}
    if dialect == "system":
        return {"success": True, **result}
    return {"ok": True, "result": result} if dialect == "native" else {"ok": True, **result}


def decision_of(error):
    """What stands beside the error of a call that the policy refused, where the case does not say."""
    if error["code"] in NOT_APPROVED:
        asked = {"requiresPrompt": True, "requestId": {"$regex": "^[0-9A-Za-z]+$"}}
        return {"decision": {"approved": False, **asked, "message": error["message"]}}
    return {"decision": {"allowed": False, "reason": error["message"]}} if error["code"] in REFUSALS else {}


def printed_of(outcome):
    """What stands beside the error of a program that was stopped: nothing was printed where the case does not say."""
    if outcome["error"]["code"] != "TIMEOUT":
        return outcome.get("printed", {})
    nothing = {"stdout": "", "stderr": "", "truncated": False, "duration": {"$type": "integer"}}
    return {**nothing, **outcome.get("printed", {})}


def refused(dialect, case, outcome):
    error = outcome["error"]
    if dialect == "runner":
        return error
    if dialect == "sidecar":
        return {"success": False, "tool": case.get("tool"), "output": None, "error": error}
    if dialect == "system":
        said = {"decision": outcome["decision"]} if "decision" in outcome else decision_of(error)
        return {"success": False, "error": error, **said, **printed_of(outcome)}
    usual = {"details": {}, "retryable": False, "retry_after_ms": None} if dialect == "native" else {"details": {}}
    return {"ok": False, "error": {**usual, **error}}


def whole_answer(case, ident, name, outcome):
    """An answer of the wire format, from what a case says in short: `result` or `error`."""
    dialect = case.get("dialect", "native")
    ok = "result" in outcome
    inner = done(dialect, case, outcome["result"]) if ok else refused(dialect, case, outcome)
    return wire_of(case).answer(ident, name, inner, ok)


def in_full(case, answer):
    """One of `answers`: in short where it has `error` or `done`."""
    if "event" in answer or not {"error", "done"} & set(answer):
        return answer
    outcome = {"result": answer["done"]} if "done" in answer else answer
    return whole_answer(case, answer["id"], answer.get("tool_name"), outcome)


def expected_answers(case, count):
    """A list for each line: empty where it has no answer, of several where events come too."""
    if "answers" not in case:
        ident = wire_of(case).bare_id if case.get("front") == "call" else case.get("id", "1")
        return [[whole_answer(case, ident, case["tool"], case)]]
    if len(case["answers"]) != count:
        raise Failed(f"the case has {count} lines and {len(case['answers'])} answers")
    several = [a if isinstance(a, list) else [a] if a else [] for a in case["answers"]]
    return [[in_full(case, answer) for answer in line] for line in several]


# --- what holds for every answer


def without_run_facts(dialect, inner):
    """Native answers say how they were run: checked, then left out, so that cases need not repeat it."""
    if dialect != "native":
        return inner
    holder = inner["result"] if inner["ok"] else inner["error"]["details"]
    if problems := broken(ANSWERS["run_facts"], {key: holder.get(key) for key in RUN_FACTS}):
        raise Failed(f"tier and duration_ms: {problems}")
    if holder.get(LIMITS, "watched") != "watched":
        raise Failed(f"limits: {shown(holder[LIMITS])}")
    if (LIMITS in holder) != bool(holder.get(WEAKER)):
        raise Failed(f"limits without what is weaker, or the other way round: {shown(holder)}")
    left = {key: value for key, value in holder.items() if key not in (*RUN_FACTS, LIMITS, WEAKER)}
    if inner["ok"]:
        return {**inner, "result": left}
    return {**inner, "error": {**inner["error"], "details": left}}


def fields_of(dialect, inner):
    """What the tool itself answered, without what its dialect puts around it."""
    if dialect == "runner":
        return {"text": inner}
    if dialect in ("native", "sidecar"):
        return inner["result" if dialect == "native" else "output"]
    return {key: value for key, value in inner.items() if key not in ("ok", "success")}


def check_result(case, tools, call, inner):
    """A success must fit the tool's output schema, and what was asked its input schema."""
    fields = fields_of(case.get("dialect", "native"), inner)
    row = tools.rows.get(call[0])
    if not row:
        return [f"done, though there is no tool {call[0]!r}"]
    problems = [f"output schema: {p}" for p in broken(row["output"], fields)]
    refused = broken(row["input"], call[1])
    if case.get("beyond_schema"):
        return problems if refused else [*problems, "beyond_schema, but the input schema allows the arguments"]
    return problems + [f"input schema: {p}" for p in refused]


def shape_reason(dialect, inner):
    """Why the arguments were refused, if for their shape."""
    if dialect in ("native", "toolhost"):
        return inner["error"]["details"].get("reason")
    found = SHAPE_WORDS.search(inner if dialect == "runner" else inner["error"]["message"])
    return {"missing required": "missing", "unknown argument": "unknown"}.get(found[1], "type") if found else None


def check_refusal(dialect, inner):
    """Whoever is refused by the policy is told by which rule."""
    error = {} if dialect == "runner" else inner["error"]
    if error.get("code") not in REFUSALS + NOT_APPROVED or RULE.search(error["message"]):
        return []
    return [f"the refusal names no rule: {error['message']}"]


def check_error(case, tools, call, reason):
    """Where arguments are refused for their shape, the schema the caller was given must refuse them too."""
    if reason not in ("missing", "type", "range", "unknown") or not call or call[0] not in tools.rows:
        return []
    if broken(tools.rows[call[0]]["input"], call[1]) or case.get("beyond_schema"):
        return []
    return [f"refused as `{reason}`, but the input schema allows {shown(call[1])}"]


def is_ok(dialect, inner):
    if dialect == "runner":
        return not inner.startswith("Error: ")
    return inner.get("success" if dialect in ("sidecar", "system") else "ok") is True


def check_inner(case, tools, call, inner):
    dialect = case.get("dialect", "native")
    ok = is_ok(dialect, inner)
    shape = f"{dialect}_{'result' if ok else 'error'}"
    if problems := broken(ANSWERS[shape], inner):
        raise Failed(f"not a {shape}: {problems}")
    inner = without_run_facts(dialect, inner)
    if not ok:
        problems = check_refusal(dialect, inner)
        return inner, problems + check_error(case, tools, call, shape_reason(dialect, inner))
    return inner, check_result(case, tools, call, inner) if call else ["done, though the request is not a call"]


def read_answer(case, tools, line, raw):
    """One raw line of output as a value, and what is wrong with it by the schemas."""
    wire_format = case.get("format", "tool_call")
    try:
        answer = parse(raw.decode("utf-8"))
    except ValueError as error:
        raise Failed(f"the answer is not JSON: {error}") from error
    if problems := broken(ANSWERS[f"wire_{wire_format.partition('-')[0]}"], answer):
        raise Failed(f"not an answer of {wire_format}: {problems}")
    wire = wire_of(case)
    inner, problems = check_inner(case, tools, call_in(wire, line), wire.unwrap(answer))
    return wire.rewrap(answer, inner), problems


def asked_for(case, lines, expected):
    """All that must come, each with the request it answers: a line that is no call lets one go on that waits."""
    asked = []
    waiting = []
    for line, wanted in zip(lines, expected):
        is_call = call_in(wire_of(case), line) is not None
        own = [one for one in wanted if "event" not in one]
        if is_call and not own:
            waiting.append(line)
        for one in wanted:
            late = "event" not in one and not is_call and waiting
            asked.append((waiting.pop(0) if late else line, one))
    return asked


def pair_up(case, lines, expected, raw):
    """Which request an answer belongs to: the next one, or in `together` the one whose expectation it fits best."""
    asked = asked_for(case, lines, expected)
    if len(raw) != len(asked):
        raise Failed(f"{len(raw)} answers, not {len(asked)}")
    pairs = []
    for answer in raw:
        best = asked[0]
        if case.get("together"):
            value = loosely(case, answer)
            best = min(asked, key=lambda one: len(mismatches(one[1], value)))
        asked.remove(best)
        pairs.append((*best, answer))
    return pairs


def loosely(case, raw):
    """An answer as it would be compared, without checks: only to find its request."""
    try:
        answer = parse(raw.decode("utf-8"))
        inner = without_run_facts(case.get("dialect", "native"), wire_of(case).unwrap(answer))
        return wire_of(case).rewrap(answer, inner)
    except (Failed, KeyError, TypeError, ValueError):
        return None


# --- the run's own log


def has_log(case):
    mounted = "@state" in case.get("mounts", ["@state"]) and "--run" not in case.get("options", [])
    return case.get("dialect") == "toolhost" and mounted


def outcome_of(inner):
    return "ok" if inner["ok"] else inner["error"]["code"]


def check_records(case, places, answers):
    """Exactly one line a call, which agrees with the answer."""
    if not has_log(case):
        return []
    path = places.root / LOG / "execution.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    records = [parse(line) for line in text.splitlines()]
    problems = [f"record: {p}: {shown(r)}" for r in records for p in broken(ANSWERS["execution_record"], r)]
    if problems:
        return problems
    told = sorted(outcome_of(answer) for answer in answers)
    recorded = sorted(outcome_of(record["output"]) for record in records)
    if told != recorded:
        problems.append(f"the answers are {told}, the records say {recorded}")
    if "records" in case:
        problems += [f"records{p}" for p in mismatches(case["records"], records)]
    return problems + [f"the log holds {shown(word)}" for word in case.get("records_lack", []) if word in text]


# --- the gate's log

AUDIT = "xdg/sandgate/audit"
COMMON = ("ts", "seq", "gate", "call", "hash")  # of every record about a call


def check_audit(case, places):
    """What the gate recorded about calls, where a case says something about it."""
    if not {"audit", "audit_lacks"} & set(case):
        return []
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((places.root / AUDIT).glob("*.jsonl")))
    kinds = {expected["kind"].partition(".")[0] for expected in case.get("audit", [])} | {"call"}
    records = [r for r in map(parse, text.splitlines()) if r["kind"].partition(".")[0] in kinds]
    if not records:
        return ["nothing was recorded"]
    problems = [f"a record lacks {key}: {shown(r)}" for r in records for key in COMMON if key not in r]
    if "audit" in case:
        own = [{key: value for key, value in record.items() if key not in COMMON} for record in records]
        for record in own:  # by which rule it runs, where the case does not ask
            if not any("rule" in expected for expected in case["audit"]):
                record.pop("rule", None)
        problems += [f"audit{p}" for p in mismatches(case["audit"], own)]
    return problems + [f"the log holds {shown(word)}" for word in case.get("audit_lacks", []) if word in text]
