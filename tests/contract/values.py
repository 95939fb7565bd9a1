"""Values written by rule in a case file, and matchers for what is expected."""

import base64
import hashlib
import json
import re

TYPES = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "null": lambda v: v is None,
}


class Absent:
    """Stands for a key that is not there."""

    def __repr__(self):
        return "(absent)"


ABSENT = Absent()


# --- reading JSON


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key stands twice among {keys}")
    return dict(pairs)


def no_constant(word):
    raise ValueError(f"{word} is not JSON")


def parse(text):
    """Strict: no key twice, no NaN, nothing behind the value."""
    return json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_constant)


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- values by rule


def as_bytes(value):
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")


RULES = {
    "$repeat": lambda v: v[0] * v[1],
    "$numbered": lambda v: "".join(v[0].replace("{n}", str(n)) for n in range(1, v[1] + 1)),
    "$concat": lambda v: (b"" if any(isinstance(p, bytes) for p in v) else "").join(
        as_bytes(p) if any(isinstance(q, bytes) for q in v) else p for p in v
    ),
    "$bytes": base64.b64decode,
    "$base64_of": lambda v: base64.b64encode(as_bytes(v)).decode(),
    "$sha256_of": lambda v: hashlib.sha256(as_bytes(v)).hexdigest(),
}


def rule_of(value):
    if isinstance(value, dict) and len(value) == 1:
        (key,) = value
        return key if key.startswith("$") else None
    return None


def expand(value, places):
    """The value with its rules carried out and %PLACE% replaced by the place's path."""
    if isinstance(value, str):
        for name, path in places.items():
            if f"%{name}%" in value:
                value = value.replace(f"%{name}%", path() if callable(path) else path)
        return value
    if isinstance(value, list):
        return [expand(item, places) for item in value]
    if isinstance(value, dict):
        rule = rule_of(value)
        inner = {expand(key, places): expand(item, places) for key, item in value.items()}
        return RULES[rule](inner[rule]) if rule in RULES else inner
    return value


# --- matchers


def contains(wanted, actual):
    missing = [w for w in wanted if not isinstance(actual, str) or w.lower() not in actual.lower()]
    return [f"lacks {missing}"] if missing else []


def lacks(unwanted, actual):
    found = [w for w in unwanted if isinstance(actual, str) and w.lower() in actual.lower()]
    return [f"must not hold {found}"] if found else []


def every(wanted, actual):
    return [problem for one in wanted for problem in mismatches(one, actual)]


def any_of(wanted, actual):
    return [] if any(not mismatches(one, actual) for one in wanted) else [f"none of {wanted}"]


def has(wanted, actual):
    """Each of the wanted is somewhere in the list; others may be there too."""
    if not isinstance(actual, list):
        return ["not a list"]
    problems = []
    for one in wanted:
        if all(mismatches(one, item) for item in actual):
            problems.append(f"has no item like {dump(one)[:200]}")
    return problems


def length(wanted, actual):
    return [] if len(actual) == wanted else [f"has length {len(actual)}, not {wanted}"]


def between(wanted, actual):
    least, most = wanted
    return [] if TYPES["integer"](actual) and least <= actual <= most else [f"is not from {least} to {most}"]


def json_text(wanted, actual):
    try:
        return mismatches(wanted, parse(actual))
    except (TypeError, ValueError) as error:
        return [f"is not JSON text: {error}"]


MATCHERS = {
    "$type": lambda w, a: [] if TYPES[w](a) else [f"is not of type {w}"],
    "$regex": lambda w, a: [] if isinstance(a, str) and re.search(w, a) else [f"does not match {w}"],
    "$contains": contains,
    "$lacks": lacks,
    "$all": every,
    "$any_of": any_of,
    "$any": lambda _, a: ["is absent"] if a is ABSENT else [],
    "$absent": lambda _, a: [] if a is ABSENT else ["must be absent"],
    "$has": has,
    "$length": length,
    "$between": between,
    "$json": json_text,
}


def shown(value, most=300):
    text = value if isinstance(value, str) else repr(value) if value is ABSENT else dump(value)
    return text if len(text) <= most else f"{text[: most * 2 // 3]}…({len(text)} characters)…{text[-most // 6 :]}"


def match_object(expected, actual):
    for key in sorted({*expected, *actual}):
        for problem in mismatches(expected.get(key, ABSENT), actual.get(key, ABSENT)):
            yield f".{key}{problem}" if problem[0] in ".[" else f".{key}: {problem}"


def match_list(expected, actual):
    if len(expected) != len(actual):
        yield f": {len(actual)} items, not {len(expected)}: {shown(actual)}"
        return
    for index, (one, other) in enumerate(zip(expected, actual)):
        for problem in mismatches(one, other):
            yield f"[{index}]{problem}" if problem[0] in ".[" else f"[{index}]: {problem}"


def mismatches(expected, actual):
    """What differs, as a list of texts; empty when the value is as expected."""
    rule = rule_of(expected)
    if rule:
        problems = MATCHERS[rule](expected[rule], actual)
        return [f"{p} ({shown(actual)})" if p[0] not in ".[" else p for p in problems]
    if isinstance(expected, dict) and isinstance(actual, dict):
        return list(match_object(expected, actual))
    if isinstance(expected, list) and isinstance(actual, list):
        return list(match_list(expected, actual))
    if type(expected) is type(actual) and expected == actual:
        return []
    return [f"{shown(actual)}, not {shown(expected)}"]
