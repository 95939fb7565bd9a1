#!/usr/bin/env python3
"""Searches give what ripgrep gives: the same lines, spans, context, files and counts.

Patterns and options are made by chance, but the same ones on each run; with SANDGATE_SOAK=1 fifteen times as many.
SEARCH_RG_SEED chooses others. Where the two differ on purpose is written at `rg_options` and `ON_PURPOSE`.
"""
# timeout: 600

import base64
import collections
import itertools
import json
import os
import platform
import random
import re
import subprocess
import sys

import lib
import search_trees
from lib import check, short

SEED = int(os.environ.get("SEARCH_RG_SEED", "1"))
FACTOR = 15 if lib.SOAK else 1
MAX_RESULTS = 10000
SHOWN_BYTES = 4096  # of a longer line only a part is told
SPANS_MAX = 64  # of a line
SHOWN_DIFFERENCES = 6

# --- patterns

SETS = r""". . . \w \w \d \s \S \W \D [a-z] [A-Z_] [^a] [^\s] [^\w\n] [\w.-] [a-f0-9] [[:alpha:]] [[:^space:]]
    [^[:punct:]] [a-z&&[^aeiou]] [\w--\d] [^\r] \p{Greek} \p{L} \p{Lu} \pN \P{L} [\p{Cyrillic}x] [äöüß] [^ä] [k-s]
    \x41 \x{6f} \u{e4} \t \. \- \( (?-u:\w) (?-u:.) (?-u:\xe4) (?i:k) (?i:ß) (?i:σ) []a] [^]a] [-a] [a-]""".split()
EDGES = r"""^ $ ^ $ \b \b \B \A \z \< \> \b{start} \b{end} \b{start-half} \b{end-half} (?m:^) (?-m:^) (?-m:$)
    (?-u:\b)""".split()
REPEATS = "* + ? *? +? ?? {2} {1,3} {2,} {0,2} {0} {3}?".split()
FLAGS = ["(?i)", "(?i)", "(?s)", "(?s)", "(?x)", "(?-u)", "(?U)", "(?m)", "(?-m)", "(?R)", "(?is)", "(?i-u)", "(?sU-m)"]
# Each is tried on every tree that is not too large for it.
PLAIN = r"""x* ^ $ ^$ ^\s*$ .* .+ . \s \s+ \s$ \S \W \w+ [^a] [^a]+ [^a]*$ (?s).* (?s)o. (?-u). (?-u:[\x80-\xff])
    .*foo.* ^.*foo$ foo$ ^foo foo\s foo\s*$ \bfoo\b \Bfoo foo|bar foo|^$ (foo|fo|f)o? (?i)foo (?i)k (?i)ſ (?i)straße
    (?i)λόγος (?x)f\x20o\x20#c (?x:f(?#)o) f(o)\b (o|)* (a*)* (a|b)*? \p{Greek}+ [\p{L}--a] \pL+\s\pL \d{2}
    [[:upper:]]{2,} \r \r$ o\r?$ foo\r [\r] [^\r]$ \x0d \x0a foo\n bar [\n] [^\n] \A. .\z \Afoo foo\z (?R)foo$ (?R:^)b
    (?m)^b (?-m)^b (?-m)o$ (?-m:^b) ^b \bб \bМ Мир \x{41c} 日 \b日 (?-u)\xc3 (?-u:\bМ) \x00 [\x00-\x1f] \t| ( ) [ [a
    foo( *a a** a{2 a{1,2}{3} (?=a) (?<!a) (a)\1 \k<a> \p{Nope} (?z) [z-a] \ a{9999999} (?P<n>foo) (?<n>fo)o
    (?P<n>a)(?P<n>b) \Qfoo\E (?:) () () () {2} (|foo) foo||bar .{0} \b{start}foo foo\b{end} \<foo \bfoo\> ^^foo foo$$
    (^|\s)foo($|\s) ^(?:foo|bar) (?i:F)oo (?i)[k] (?i)[^k]+$ K \u{212a} (?i)\x{17f} .(?s:.). $^ $. \n? [\s\S]+
    [\w\W]foo [\d\D] (?s:.)foo foo(?s:.) \s?foo foo\s? \W?foo (?:\s|^)bar\b o$|^f z\b|\bx foo.*bar foo.*?bar \s*foo
    (?:foo\s*)+$ (?:foo ?){2} \bfoo.{0,20}bar \w+_\w+ [[:alpha:]]+\d+ ^\w+ \w+$ ^\W*\w+\W*$""".split()


def escape(text):
    return re.sub(r"[^\w\s]", lambda found: "\\" + found[0] if found[0].isascii() else found[0], text)


def piece(rng, words):
    word = rng.choice(words)
    start = rng.randrange(len(word))
    return escape(rng.choice([word, word, word, word[start:], word[: start + 1], word.swapcase()]))


def atom(rng, words, depth):
    kind = rng.random()
    if kind < 0.45:
        return piece(rng, words)
    if kind < 0.7:
        return rng.choice(SETS)
    if kind < 0.82:
        return rng.choice(EDGES)
    if depth == 0:
        return rng.choice(words)[:1]
    inner = expression(rng, words, depth - 1)
    name = f"n{rng.randrange(1 << 20)}"
    return f"({rng.choice(['', '?:', f'?P<{name}>', '?i:', '?s:', '?-u:'])}{inner})"


def expression(rng, words, depth):
    choices = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        atoms = [atom(rng, words, depth) for _ in range(rng.choice([1, 1, 2, 2, 3, 4]))]
        choices.append("".join(a + (rng.choice(REPEATS) if rng.random() < 0.2 else "") for a in atoms))
    return "|".join(choices)


def make_pattern(rng, words):
    if rng.random() < 0.15:
        return rng.choice(words)
    if rng.random() < 0.1:
        return " ".join(escape(word) for word in rng.choices(words, k=2))
    flags = rng.choice(FLAGS) if rng.random() < 0.25 else ""
    return flags + expression(rng, words, 2)


# --- calls

TEXTS = ["foo", "(", ".", "a.b", "*", "K", "ß", "]", "\\", "o\r", " foo ", "$", "^", "[a", "s-"]
GLOBS = ["*.c", "*.txt", "*.{h,py}", "**/*.md", "d[12]/*", "{d0,d3}/**", "*a*", "[!a-m]*.txt", "**/d1/**", "plain?.txt"]
EXCLUDES = ["*.c", "d1", "*.{md,h}", "{d2,*.py}", "**/plain*", "d0/*.txt"]


def make_call(rng, tree):
    args = {"pattern": make_pattern(rng, tree.words), "path": tree.folder}
    for name, chance in [("ignore_case", 0.2), ("word", 0.12), ("hidden", 0.15)]:
        if rng.random() < chance:
            args[name] = True
    if rng.random() < 0.12:
        args.update(literal=True, pattern=rng.choice([*TEXTS, *rng.choices(tree.words, k=9)]))
    if rng.random() < 0.15:
        args["ignore"] = False
    if rng.random() < 0.1:
        args["include"] = rng.choice(GLOBS)
    if rng.random() < 0.1:
        args["exclude"] = rng.choice(EXCLUDES)
    if tree.files and rng.random() < 0.15:
        file = rng.choice(tree.files)
        args["path"] = rng.choice([file, os.path.dirname(file)])
    args["mode"] = rng.choice(["lines"] * 6 + ["files", "count"])
    if args["mode"] == "lines" and rng.random() < 0.25:
        args.update(before=rng.choice([0, 1, 2, 5]), after=rng.choice([0, 1, 3, 40]))
    return args


# --- ripgrep

# What a pattern that names the carriage return means: there it is a character of the line like others, since nobody
# could look for one otherwise. ripgrep refuses it together with --crlf.
NAMES_CR = re.compile(r"\\r|\r|\\x0d|\\x\{0*d\}|\\u\{0*d\}", re.I)


def keeps_cr(args):
    return bool(("\r" in args["pattern"]) if args.get("literal") else NAMES_CR.search(args["pattern"]))


def rg_options(args):
    """Sandgate's rules: ignore files count without a repository, only beneath the workspace; `.git` and `node_modules`
    are not entered; a carriage return before the line end belongs to that."""
    yield from "--no-config --no-require-git --no-ignore-global --no-messages --color=never".split()
    yield from "-g !.git -g !node_modules".split()
    if not keeps_cr(args):
        yield "--crlf"
    for name, option in [("literal", "-F"), ("ignore_case", "-i"), ("word", "-w"), ("hidden", "--hidden")]:
        if args.get(name):
            yield option
    if not args.get("ignore", True):
        yield "--no-ignore"
    if "exclude" in args:
        yield from ["-g", "!" + args["exclude"]]
    for name in ("before", "after"):
        if args.get(name):
            yield f"--{name}-context={args[name]}"


class Refused(Exception):
    """The pattern is none."""


class Ripgrep:
    def __init__(self, program, workspace, home):
        self.program, self.workspace, self.home = program, workspace, home
        self.included = {}

    def run(self, args, *argv):
        """From within the folder that is searched: seen from there are globs meant."""
        place = self.workspace / args["path"]
        folder, path = (place, "./") if place.is_dir() else (place.parent, place.name)
        done = subprocess.run(
            [self.program, *argv, "--", path],
            cwd=folder,
            env=lib.environment(self.home),
            capture_output=True,
            timeout=60,
            check=False,
        )
        if done.returncode == 2:
            raise Refused(done.stderr.decode("utf-8", "replace"))
        return done.stdout

    def path(self, args, name):
        if not (self.workspace / args["path"]).is_dir():
            return args["path"]
        return os.path.normpath(os.path.join(args["path"], os.fsdecode(name)))

    def is_included(self, args, path):
        """By ripgrep's own globs, but not within the search: there they also undo what ignore files say."""
        if "include" not in args or path == args["path"]:
            return True
        key = args["path"], args["include"]
        if key not in self.included:
            names = self.run(args, "--files", "--no-config", "--no-ignore", "--hidden", "-0", "-g", args["include"])
            self.included[key] = {self.path(args, name) for name in names.split(b"\0")[:-1]}
        return path in self.included[key]

    def search(self, args):
        if args["mode"] != "lines" and args.get("word"):
            counts = collections.Counter(path for path, _, _, spans, ended in self.lines(args) if spans or not ended)
            found = [(path,) for path in counts] if args["mode"] == "files" else list(counts.items())
        elif args["mode"] == "files":
            names = self.run(args, *rg_options(args), "-l", "-0", "-e", args["pattern"]).split(b"\0")[:-1]
            found = [(self.path(args, name),) for name in names]
        elif args["mode"] == "count":
            counts = self.run(args, *rg_options(args), "-c", "-H", "-0", "-e", args["pattern"])
            found = [(self.path(args, n), int(count)) for n, count in re.findall(rb"([^\0]*)\0(\d+)\r?\n", counts)]
        else:
            found = list(self.lines(args))
        return [entry for entry in found if self.is_included(args, entry[0])]

    def lines(self, args):
        """Path, number, text and spans of each line, and whether it has an end; of context the spans are None."""
        for event in map(json.loads, self.run(args, *rg_options(args), "--json", "-e", args["pattern"]).splitlines()):
            if event["type"] not in ("match", "context"):
                continue
            data = event["data"]
            line = bytes_of(data["lines"])
            end = line_end(line, keeps_cr(args))
            line = line[: -len(end) or None]
            spans = tuple((match["start"], match["end"]) for match in data["submatches"][:SPANS_MAX])
            path = self.path(args, bytes_of(data["path"]))
            yield path, data["line_number"], line, spans if event["type"] == "match" else None, bool(end)


def bytes_of(field):
    return field["text"].encode() if "text" in field else base64.b64decode(field["bytes"])


def line_end(line, with_cr):
    return re.search(rb"\n?\Z" if with_cr else rb"(?:\r?\n)?\Z", line)[0]


# --- Sandgate


def sandgate_search(gate, args):
    """The same form as Ripgrep.search gives it, and whether there was more."""
    answer = gate.call("search", seconds=60, max_results=MAX_RESULTS, **args)
    if not answer["ok"]:
        raise Refused(f"{answer['error']['code']}: {answer['error']['message']}")
    result = answer["result"]
    if args["mode"] != "lines":
        names = ("path", "count") if args["mode"] == "count" else ("path",)
        return [tuple(match[name] for name in names) for match in result["matches"]], result["truncated"]
    return [line for match in result["matches"] for line in match_lines(match)], result["truncated"]


def match_lines(match):
    """With its context, which has no numbers of its own."""
    before, after = match.get("before", []), match.get("after", [])
    for number, text in enumerate(before, match["line"] - len(before)):
        yield match["path"], number, text, None
    spans = tuple(map(tuple, match["spans"]))
    if match.get("column") != (spans[0][0] + 1 if spans else None):  # many thousands: no message where it holds
        raise AssertionError(f"not the first span's column: {short(match)}")
    yield match["path"], match["line"], match["text"], spans
    for number, text in enumerate(after, match["line"] + 1):
        yield match["path"], number, text, None


# --- comparison


def shown(line):
    """What Sandgate tells of a line: UTF-8, and a part of what is long."""
    if len(line) <= SHOWN_BYTES:
        return line.decode("utf-8", "replace")
    return f"[long: {len(line)}]"


CUT = re.compile(r"(?:\[\.\.\. (\d+) bytes cut\] )?(.*?)(?: \[(\d+) bytes cut \.\.\.\])?", re.S)


def as_shown(text):
    before, shown_text, after = CUT.fullmatch(text).groups()
    if before is None and after is None:
        return text
    return f"[long: {int(before or 0) + len(shown_text.encode()) + int(after or 0)}]"


def comparable(entries, own):
    for entry in entries:
        if len(entry) < 4:
            yield entry
            continue
        path, number, text, spans = entry
        yield path, number, as_shown(text) if own else shown(text), spans


def without_quirks(expected, found):
    """Both without what comes of two of ripgrep's. It leaves out an empty match at the end of a last line that has no
    end. It tells of lines that have no match in them, for an empty match within their end, and of context around."""
    own = {entry[:2]: entry[3] for entry in found if entry[3]}
    lines = []
    for path, number, line, spans, ended in expected:
        mine = own.get((path, number))
        if spans is not None and not ended and mine == (*spans, (len(line), len(line)))[:SPANS_MAX]:
            spans = mine
        lines.append((path, number, line, spans))
    if any(line[3] == () for line in lines):
        return [line for line in lines if line[3]], [line for line in found if line[3]]
    return lines, found


def is_told(entry, wanted):
    """Where the answer was cut, context of the last match may be a line that matches."""
    return entry in wanted or (len(entry) > 3 and entry[3] is None and entry[:3] in {line[:3] for line in wanted})


def compare(gate, rg, args):
    """What differs, one line each."""
    refused = {}
    expected = found = truncated = None
    try:
        expected = rg.search(args)
    except Refused as why:
        refused["ripgrep"] = str(why)
    try:
        found, truncated = sandgate_search(gate, args)
    except Refused as why:
        refused["sandgate"] = str(why)
    if len(refused) == 1:
        return 0, [f"only {who} refuses it: {short(why)}" for who, why in refused.items()]
    if refused:
        check(refused["sandgate"].startswith("INVALID_PATTERN"), f"{short(args)}: {refused['sandgate']}")
        return 0, []
    if args["mode"] == "lines":
        expected, found = without_quirks(expected, found)
    wanted, got = collections.Counter(comparable(expected, False)), collections.Counter(comparable(found, True))
    surplus = [entry for entry in got - wanted if not truncated or not is_told(entry, wanted)]
    differences = [f"should not be there: {entry}" for entry in surplus]
    if truncated:
        check(len(found) >= MAX_RESULTS or len(json.dumps(found)) > 1 << 20, f"cut without need: {short(args)}")
    else:
        differences += [f"is missing: {entry}" for entry in wanted - got]
    return len(expected), differences


BY_LINE = re.compile(r"\(\?(?:\w*[sxR]|\w*-\w*[umR])")
# What differs and is meant to, with how to tell it: by the call and the line that `compare` gives.
ON_PURPOSE = [
    (
        "\\A, \\z, and ^ and $ without the flag m are the ends of the line; to ripgrep those of what it has read",
        lambda args, difference: re.search(r"\\[Az]|\(\?\w*-\w*m", args["pattern"]),
    ),
    (
        "a pattern that can only match a NUL is taken, and finds nothing: files with one are left out",
        lambda args, difference: 'pattern contains "\\0"' in difference,
    ),
    (
        "with the flags s, x or R, or without u or m, a carriage return within a line is a character like others",
        lambda args, difference: BY_LINE.search(args["pattern"])
        and ("\\r" in difference or "None)" in difference or args["mode"] != "lines"),
    ),
    (
        "a comment may stand at the end of a pattern",
        lambda args, difference: "unclosed group" in difference and "(?x)" in args["pattern"],
    ),
    (
        "a set that holds only line ends is taken, and finds nothing",
        lambda args, difference: 'the literal "\\n" is not allowed' in difference and "[\\n]" in args["pattern"],
    ),
    (
        "half of a pair in UTF-16 stays as it is, half of a unit at the end is left out; to ripgrep both are U+FFFD",
        lambda args, difference: re.search(r"utf16-(half|odd)", difference),
    ),
    (
        "of a file whose NUL comes late the lines before it are counted; ripgrep tells them, but as a count gives none",
        lambda args, difference: args["mode"] == "count" and re.search(r"not be there.*/late\d+'", difference),
    ),
]


def is_on_purpose(args, difference):
    return any(rule(args, difference) for _, rule in ON_PURPOSE)


def describe(args, differences):
    return "\n    ".join([json.dumps(args, ensure_ascii=False), *map(short, differences[:SHOWN_DIFFERENCES])])


def run_calls(tap, name, gate, rg, calls):
    with tap.case(f"{name}: {len(calls)} searches are ripgrep's"):
        wrong, found_some = [], 0
        for args in calls:
            count, differences = compare(gate, rg, args)
            found_some += count > 0
            differences = [d for d in differences if not is_on_purpose(args, d)]
            if differences:
                wrong.append((args, differences))
        lib.note(f"{found_some} of {len(calls)} found something")
        if wrong:
            wrong.sort(key=lambda w: len(w[0]["pattern"]))
            raise AssertionError("\n".join([f"{len(wrong)} differ", *itertools.starmap(describe, wrong)]))
        check(found_some >= len(calls) / 3, "too many that find nothing")


def find_ripgrep():
    folders, why = lib.install_sdk("ripgrep")
    if not folders:
        return None, why
    machine = {"x86_64": "x64", "aarch64": "arm64", "armv7l": "arm"}.get(platform.machine(), platform.machine())
    program = folders["npm"] / f"node_modules/@vscode/ripgrep-linux-{machine}/bin/rg"
    return (program, "") if program.exists() else (None, f"no ripgrep for {machine}")


def main():
    program, why = find_ripgrep()
    if not program:
        print(f"1..0 # SKIP {why}")
        sys.exit(0)
    tap = lib.Tap()
    rng = random.Random(SEED)
    form = lib.forms()[-1]
    workspace = form.folder("ws")
    real = list(search_trees.real_trees(form))
    odd = search_trees.odd_tree(form, rng)
    late = search_trees.late_tree(form, rng)
    ruled = list(search_trees.ruled_trees(form, rng, 60 * FACTOR))
    search_trees.own_all(form, workspace)
    rg = Ripgrep(program, workspace, form.folder("rg-home"))
    lib.note(rg.run({"path": "."}, "--version").decode().splitlines()[0])
    with lib.Gate(form, workspace=workspace) as gate:
        calls = [{"pattern": p, "path": "odd", "mode": "lines"} for p in PLAIN]
        run_calls(tap, "odd files, patterns one by one", gate, rg, calls)
        calls = [{**args, "before": 1, "after": 2} for args in calls[:60]]
        run_calls(tap, "odd files, with context", gate, rg, calls)
        calls = [{"pattern": p, "path": "odd", "mode": "lines", "word": True} for p in PLAIN]
        run_calls(tap, "odd files, words", gate, rg, calls)
        calls = [{**make_call(rng, late), "before": 0, "after": 0} for _ in range(30 * FACTOR)]
        run_calls(tap, "NULs, by chance", gate, rg, calls)
        for tree, count in [(odd, 240), *((tree, 60) for tree in real)]:
            calls = [make_call(rng, tree) for _ in range(count * FACTOR)]
            run_calls(tap, f"{tree.folder}, by chance", gate, rg, calls)
        options = [{}, {"hidden": True}, {"ignore": False}, {"hidden": True, "ignore": False}]
        calls = [{"pattern": "foo", "path": t.folder, "mode": "files", **o} for t in ruled for o in options]
        run_calls(tap, "ignore files", gate, rg, calls)
    tap.done()


if __name__ == "__main__":
    main()
