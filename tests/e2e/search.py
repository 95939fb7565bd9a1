#!/usr/bin/env python3
"""What can go wrong in a search: hard and broken patterns, odd texts and names, links, and what is no file. Each gets the
right answer or a clear error, soon, in bounded memory, and the next call works."""
# tier: any
# timeout: 400

import base64
import collections
import contextlib
import json
import os
import random
import shutil
import socket
import stat
import time

import lib
from lib import Gate, check, wait_until

INVALID, PATTERN = "INVALID_ARGUMENTS", "INVALID_PATTERN"
SECRET = "a secret that lies outside"
MIB = 1 << 20


class Area:
    """A workspace with a gate; after each case the gate must still work and be small."""

    def __init__(self, tap, form, name, *options, env=None):
        self.tap, self.form = tap, form
        self.folder = form.folder(f"{name}/ws")
        self.write("good", "good\n")
        self.gate = Gate(form, *options, workspace=self.folder, env=env)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gate.end()

    def path(self, name):
        return self.folder / name

    def write(self, name, content):
        return self.form.write(self.folder / name, content)

    def make(self, name):
        return self.form.folder(self.folder / name)

    def works(self):
        found = self.search("^good$", path="good")
        check([m["text"] for m in found["matches"]] == ["good"], f"the next call: {found}")

    @contextlib.contextmanager
    def case(self, name):
        with self.tap.case(f"{self.form.name}: {name}"):
            yield
            self.works()
            self.gate.check_memory()

    def search(self, pattern, **args):
        return self.gate.ok("search", pattern=pattern, **args)

    def refused(self, codes, word, pattern, **args):
        error = self.gate.refused(codes, "search", pattern=pattern, **args)
        check(word in error["message"], f"no `{word}` in: {error['message']}")
        check(SECRET not in json.dumps(error), f"the secret is told: {error}")
        return error

    def lines(self, pattern, **args):
        """The lines found, by number, in one file."""
        found = self.search(pattern, max_results=10000, **args)
        check(not found["truncated"], "cut")
        return [m["line"] for m in found["matches"]]

    def start(self, call_id, **args):
        """A search that is under way: returns once the worker has worked at it for a while."""
        self.works()
        worker = self.gate.worker()
        before = lib.cpu_ticks(worker)
        self.gate.send("search", call_id, **args)
        wait_until(lambda: lib.cpu_ticks(worker) > before + 10, "the search begins")


def skipped(found):
    """What was left out, without zeros."""
    return {k: v for k, v in found["stats"]["skipped"].items() if v}


# --- patterns

BROKEN = {
    "(": "unclosed group",
    "(a": "unclosed group",
    "a)": "no `(`",
    "[": "unclosed character class",
    "[a": "unclosed character class",
    "[a-": "unclosed character class",
    "[[:alpha:]": "unclosed character class",
    "(?": "unclosed",
    "(?P<n": "unclosed",
    "(?P<n>a)(?P<n>b)": "duplicate",
    "a{": "unclosed",
    "a{2,1}": "start must be",
    "a{99999999999}": "decimal",
    "*": "missing expression",
    "\\": "incomplete escape",
    "\\p{Klingon}": "property",
    "\\x{110000}": "hexadecimal",
    "[z-a]": "range",
    "(?z)": "flag",
    "(?=a)": "look-around",
    "(?<!a)b": "look-around",
    "(a)\\1": "back-references",
    "a\\nb": "one line",
    "a\nb": "one line",
}


def exponential(area):
    count = 2000 if lib.SOAK else 400
    area.write("a", "".join("a" * 5000 + "!" * (n % 2) + "\n" for n in range(1, count + 1)))
    area.write("x", "".join("x" * 5000 + "y" * (n % 2) + "\n" for n in range(1, count + 1)))
    with area.case("patterns that take exponential time elsewhere"):
        even, odd = list(range(2, count + 1, 2)), list(range(1, count + 1, 2))
        for pattern in ("(a+)+$", "^(a+)+$", "^(?:a|a|aa)+$", "^(a*)*$"):
            check(area.lines(pattern, path="a") == even, f"{pattern}: the wrong lines")
        for pattern in ("(x+x+)+y", "^(?:x*)*y$", "(?:x|xx)+y"):
            check(area.lines(pattern, path="x") == odd, f"{pattern}: the wrong lines")
        check(area.lines("(x+x+)+[yz]q", path="x") == [], "lines that do not match")


def nested(area):
    area.write("nested", "one\ntwo\n")
    with area.case("brackets in one another"):
        for depth in (100, 240):
            for before, after in (("(", ")"), ("(?:", ")"), ("(?i:", ")"), ("[", "]")):
                pattern = before * depth + "w" + after * depth
                check(area.lines(pattern, path="nested") == [2], f"{depth} of {before}")
        for pattern in ("(?:" * 80 + "w" + ")*" * 80 + "o$", "(?:w|" * 120 + "w" + ")" * 120):
            check(area.lines(pattern, path="nested")[-1:] == [2], lib.short(pattern))
        for depth in (250, 260, 5_000):
            for before, after in (("(", ")"), ("(?:", ")"), ("[", "]"), ("(", ")*")):
                area.refused(PATTERN, "nested", before * depth + "w" + after * depth)
        area.refused(INVALID, "32768", "(" * 100_000 + "w" + ")" * 100_000)
        area.refused(PATTERN, "unclosed", "(" * 30_000)
        area.refused(PATTERN, "unclosed", "[" * 30_000)


def large_patterns(area):
    with area.case("patterns that are too long or get too large"):
        area.refused(INVALID, "32768", "a" * 1_000_000)
        area.refused(PATTERN, "too large", ".{1,1000}{1,1000}")
        area.refused(PATTERN, "too large", r"\w{1000}")
        area.refused(PATTERN, "too large", "(?:a{100}){100}{100}")
    with area.case("sets of letters that are large, thousands of them"):
        for part in (r"\pL", r"\w", r"[\PL]", r"\pL|", "[!-\U0010ffff]"):
            for ignore_case in (False, True):
                area.refused(PATTERN, "large sets", part * 2000 + "a", ignore_case=ignore_case)
    with area.case("a plain text of 30,000 bytes"):
        text = "".join(random.Random(1).choices("abcdefgh", k=30_000))
        area.write("long-text", f"x\n{text[:-1]}\ny{text}z\n")
        for args in ({}, {"literal": True}, {"ignore_case": True}, {"word": True}):
            check(area.lines(text, path="long-text", **args) == ([] if "word" in args else [3]), f"{args}")


def alternation(area):
    words = [f"word{n}q" for n in range(2000)]
    area.write("words", "".join(f"{word.upper() if n % 100 == 7 else word}\n" for n, word in enumerate(words)))
    with area.case("one of 2,000 words"):
        wanted = "|".join(words[::2])
        check(area.lines(wanted, path="words") == list(range(1, 2001, 2)), "the wrong lines")
        wanted = "|".join(words[1::2])
        odd = list(range(2, 2001, 2))
        check(area.lines(wanted, path="words", ignore_case=True) == odd, "the wrong lines, ignoring case")
        check(area.lines(wanted, path="words") == [n for n in odd if n % 100 != 8], "the wrong lines")


def empty_matches(area):
    area.write("empty", "a" * 100_000 + "\n\nxx\n" + "b" * 100_000)
    with area.case("patterns that match the empty text"):
        for pattern in ("x*", "^", "$", "^|$", "a*?", "(?:)", "(|x)", "x{0}", "()*"):
            check(area.lines(pattern, path="empty") == [1, 2, 3, 4], f"{pattern}: the wrong lines")
        check(area.lines("^$", path="empty") == [2], "empty lines")
        check(area.lines(r"\b", path="empty") == [1, 3, 4], "edges of words")
        spans = {p: [m["spans"] for m in area.search(p, path="empty")["matches"]] for p in ("^", "$", "x*")}
        check(spans["^"] == [[[0, 0]]] * 4, f"{spans['^']}")
        check(spans["$"] == [[[n, n]] for n in (100_000, 0, 2, 100_000)], f"{spans['$']}")
        check(spans["x*"][0] == [[n, n] for n in range(64)] and spans["x*"][2] == [[0, 2]], f"{spans['x*']}")


def patterns(tap, form):
    with Area(tap, form, "patterns") as area:
        exponential(area)
        nested(area)
        large_patterns(area)
        alternation(area)
        empty_matches(area)
        with area.case("patterns that are broken"):
            for pattern, word in BROKEN.items():
                area.refused(PATTERN, word, pattern)
        with area.case("an empty pattern, or none, or one that is no text"):
            area.refused(INVALID, "empty", "")
            area.gate.refused(INVALID, "search")
            for value in (7, None, [], {}, True):
                area.refused(INVALID, "pattern", value)
        with area.case("a NUL in a pattern"):
            area.write("nul", b"line\na\0b\n")
            for pattern in ("a\0b", r"a\x00b", r"[\x00]", r"\0", "a\0*b|good"):
                if pattern == r"\0":
                    area.refused(PATTERN, "not supported", pattern)
                else:
                    found = area.search(pattern, exclude="[!gn]*")
                    check([m["path"] for m in found["matches"]] == ["good"] * pattern.endswith("d"), f"{found}")
                    check(skipped(found) == {"binary": 1}, f"{found}")
            check(area.search("a\0b", literal=True, path="nul")["matches"] == [], "found in what is binary")
        with area.case("a pattern that only makes sense as plain text"):
            area.write("plain", "f(x[0]){*\n")
            found = area.search("f(x[0]){*", literal=True, path="plain")
            check(found["matches"][0]["spans"] == [[0, 9]], f"{found}")


def dialects(tap, form):
    """The other names of the same search."""
    for dialect, tool, fixed, broken in (
        ("runner", "grep", {}, "("),
        ("sidecar", "search_files", {}, "("),
        ("toolhost", "fs.search", {"path": "@project"}, "/(/"),
    ):
        folder = form.folder(f"dialect-{dialect}")
        form.write(folder / "a", "".join("a" * 5000 + "!\n" for _ in range(40)) + "a" * 30)
        wanted = "(a+)+$" if dialect != "toolhost" else "/(a+)+$/"
        with tap.case(f"{form.name}: {tool} of {dialect} with hard and broken patterns"):
            with Gate(form, "--dialect", dialect, workspace=folder) as gate:
                for pattern, word in ((broken, "unclosed group"), ("", "pattern"), ("x" * MIB, "pattern")):
                    answer = json.dumps(gate.call(tool, pattern=pattern, **fixed))
                    check("rror" in answer and word in answer, f"{lib.short(pattern)}: {lib.short(answer)}")
                answer = gate.call(tool, pattern=wanted, **fixed)
                if dialect == "runner":
                    check(answer == "a:41:" + "a" * 30, f"{lib.short(answer)}")
                    form.write(folder / "two\nb:7:lines", "needle\n")
                    answer = gate.call(tool, pattern="needle")
                    check(answer == "two\\nb:7:lines:1:needle", f"a name with a line break: {answer!r}")
                else:
                    found = answer.get("result") or answer.get("output") or answer
                    check([m["line"] for m in found["matches"]] == [41], f"{lib.short(answer)}")


# --- what files hold


def odd_texts():
    """Bytes of a file, and what a search for `needle` shows of it: line, column, text."""
    le, be = ((mark + "one\r\ncaf\u00e9 needle \U0001f600\nend").encode(code) for mark, code in ENCODINGS)
    return {
        "crlf": (b"one\r\nneedle\r\n\r\n", [(2, 1, "needle")]),
        "crlf at the end": (b"one\r\nneedle\r", [(2, 1, "needle\r")]),
        "lone cr": (b"one\rneedle\rtwo\n", [(1, 5, "one\rneedle\rtwo")]),
        "mark": (b"\xef\xbb\xbfneedle\n", [(1, 1, "needle")]),
        "mark only": (b"\xef\xbb\xbf", []),
        "two marks": (b"\xef\xbb\xbf\xef\xbb\xbfneedle\n", [(1, 4, "\ufeffneedle")]),
        "no end": (b"one\nneedle", [(2, 1, "needle")]),
        "one byte": (b"n", []),
        "nothing": (b"", []),
        "only ends": (b"\n\n\n", []),
        "utf-16 little": (le, [(2, 7, "caf\u00e9 needle \U0001f600")]),
        "utf-16 big": (be, [(2, 7, "caf\u00e9 needle \U0001f600")]),
        "utf-16 mark only": (b"\xff\xfe", []),
        "utf-16 odd": ("\ufeffneedle\n".encode("utf-16-le") + b"x", [(1, 1, "needle")]),
        "utf-16 half a pair": ("\ufeffneedle".encode("utf-16-le") + b"\x00\xd8", [(1, 1, "needle" + "\ufffd" * 3)]),
        "latin": (b"caf\xe9 needle\n", [(1, 6, "caf\ufffd needle")]),
        "not utf-8": (b"\xff\xfe\xfd needle \xc3\x28\n\x80needle\xed\xa0\x80", None),
        "nul behind": (b"needle\n" + b"x\n" * 100_000 + b"\0\nneedle\n", [(1, 1, "needle")]),
        "control": (b"\x01\x1b[31mneedle\x7f\n", [(1, 7, "\x01\x1b[31mneedle\x7f")]),
    }


ENCODINGS = (("\ufeff", "utf-16-le"), ("\ufeff", "utf-16-be"))


def texts(tap, form):
    with Area(tap, form, "texts") as area:
        samples = odd_texts()
        for name, (content, _) in samples.items():
            area.write(name, content)
        with area.case("line ends, marks, UTF-16 and bytes that are no text"):
            whole = collections.defaultdict(list)
            for m in area.search("needle", max_results=1000)["matches"]:
                whole[m["path"]].append((m["line"], m["column"], m["text"]))
            for name, (_, expected) in samples.items():
                if expected is not None:
                    check(whole[name] == expected, f"{name}: {whole[name]}, expected {expected}")
        with area.case("bytes that are no UTF-8 are searched as they are"):
            # With its first two bytes it says to be UTF-16, and is none: no line, but no failure either.
            area.search("needle", path="not utf-8")
            check(area.lines("caf. needle", path="latin") == [], "one byte taken for a character")
            check(area.lines("(?-u:caf. needle)", path="latin") == [1], "a byte that is any byte")
            check(area.lines(r"(?-u:\xe9)", path="latin") == [1], "a byte by its number")
        with area.case("a line without its end: $ and context"):
            found = area.search("needle$", path="no end", before=2, after=2)["matches"]
            check([(m["line"], m["before"], m["after"]) for m in found] == [(2, ["one"], [])], f"{found}")


NAMES = [
    b"new\nline",
    b"a\n1:needle: b",
    b'quote"s',
    b"it's",
    b"back\\slash",
    b"tab\t",
    b" blank ",
    b"-rf",
    b"*",
    b"[a]",
    b"{a,b}",
    b"$(id)",
    b"%s%n",
    b"bell\x07\x1b[31m\x7f",
    b"caf\xe9",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    "\u00e9\u4e2d\U0001f600".encode(),
    b"x" * 255,
    b"C:\\name",
]


def names(tap, form):
    with Area(tap, form, "names") as area:
        for number, name in enumerate(NAMES):
            folder = os.fsencode(area.folder) + b"/d-" + name[:200]
            os.mkdir(folder, 0o755)
            for path in (os.fsencode(area.folder) + b"/" + name, folder + b"/" + name):
                with open(path, "wb") as file:
                    file.write(b"needle %d %s" % (number, b"in" if path.startswith(folder) else b"out"))
        with area.case("odd names: what a match says leads to its file"):
            found = area.search("^needle", max_results=1000)["matches"]
            check(len(found) == 2 * len(NAMES), f"{len(found)} matches")
            for m in found:
                by = {"path_b64": m["path_b64"]} if "path_b64" in m else {"path": m["path"]}
                check(area.gate.ok("read_file", **by)["content"] == m["text"], f"another file: {m}")
                again = area.search("^needle", **by)["matches"]
                check([x["text"] for x in again] == [m["text"]], f"{m} and then {again}")
            shown = {base64.b64decode(m["path_b64"]) if "path_b64" in m else m["path"].encode() for m in found}
            check(shown == {p for n in NAMES for p in (n, b"d-" + n[:200] + b"/" + n)}, f"{sorted(shown)}")
        with area.case("files come in the order of their names"):
            paths = [m["path"] for m in area.search("^needle", max_results=1000)["matches"] if "path_b64" not in m]
            check(paths == sorted(paths, key=lambda p: p.encode().split(b"/")), f"{paths}")


# --- what is no file, or not ours


def links(tap, form):
    outside = form.folder("outside/inner")
    for path in (outside / "secret", outside.parent / "secret"):
        form.write(path, SECRET + "\n")
    with Area(tap, form, "links") as area:
        area.make("d")
        area.write("d/file", "inside\n")
        targets = {"out": outside / "secret", "out-relative": "../../outside/secret", "out-folder": outside.parent}
        targets |= {"loop-a": "loop-b", "loop-b": "loop-a", "d/up": "..", "d/self": ".", "root": "/", "proc": "/proc"}
        targets |= {"in": "d/file", "in-folder": "d", "dangling": "nowhere"}
        for name, target in targets.items():
            form.link(area.path(name), target)
        with area.case("links are not gone into, and nothing from outside shows"):
            for args in ({}, {"hidden": True, "ignore": False}, {"include": "**/secret"}, {"mode": "count"}):
                check(area.search("secret|root:", **args)["matches"] == [], f"{args}")
            found = area.search("inside")
            check([m["path"] for m in found["matches"]] == ["d/file"], f"{found}")
            check(found["stats"]["files"] == 2 and not skipped(found), f"{found}")
        with area.case("a link that is asked for leads out or nowhere"):
            for path in ("out", "out-relative", "out-folder", "out-folder/inner", "out-folder/secret", "root", "proc"):
                area.refused("SYMLINK_OUTSIDE_WORKSPACE", "leads out", "secret|root:", path=path)
            for path in ("../outside", str(outside), "/etc"):
                area.refused("PATH_OUTSIDE_WORKSPACE", "outside", "secret|root:", path=path)
            for path in ("loop-a", "loop-b", "dangling", "d/up/nowhere"):
                area.refused("NOT_FOUND", path.split("/")[0], "secret", path=path)
            for path in ("in", "in-folder", "d/up/d", "d/self/self/file"):
                found = area.search("inside", path=path)["matches"]
                check([m["text"] for m in found] == ["inside"], f"{path}: {found}")
                check(area.gate.ok("read_file", path=found[0]["path"])["content"] == "inside\n", f"{found}")
        with area.case("rules that are links, FIFOs or folders are none"):
            form.write(outside / "rules", "*\n")
            area.make("r").chmod(0o755)
            for kind in (os.mkfifo, os.mkdir, lambda path: os.symlink(outside / "rules", path)):
                for name in (".gitignore", ".ignore"):
                    kind(area.path(f"r/{name}"))
                area.write("r/file", "inside\n")
                check(len(area.search("inside", path="r", seconds=5)["matches"]) == 1, "left out")
                shutil.rmtree(area.path("r"))
                area.make("r")


def special(tap, form):
    with Area(tap, form, "special") as area, socket.socket(socket.AF_UNIX) as listener:
        area.write("file", "needle\n")
        os.mkfifo(area.path("fifo"))
        form.own(area.path("fifo"))
        folder = os.open(area.folder, os.O_PATH)
        listener.bind(f"/proc/self/fd/{folder}/socket")
        os.close(folder)
        os.chmod(area.path("socket"), 0o777)
        found = ["fifo", "socket"]
        with contextlib.suppress(PermissionError):
            os.mknod(area.path("zero"), stat.S_IFCHR | 0o666, os.makedev(1, 5))
            form.own(area.path("zero"))
            found.append("zero")
        with area.case(f"what is no file is passed by: {', '.join(found)}"):
            for args in ({}, {"hidden": True, "ignore": False}, {"include": "*"}):
                shown = area.search("needle|^", **args)
                check([m["path"] for m in shown["matches"]] == ["file", "good"] and not skipped(shown), f"{shown}")
            for path in found:
                area.refused("NOT_A_FILE", path, "needle", path=path)
            area.refused("NOT_FOUND", "missing", "needle", path="missing")
            area.refused("NOT_A_DIRECTORY", "file", "needle", path="file/inner")
        with area.case("files and folders that may not be read are counted"):
            for name in ("locked", "listed-only", "entered-only"):
                area.make(name)
                area.write(f"{name}/file", "needle\n")
            area.write("locked-file", "needle\n").chmod(0)
            for name, mode in (("locked", 0), ("listed-only", 0o444), ("entered-only", 0o111)):
                area.path(name).chmod(mode)
            shown = area.search("needle")
            check([m["path"] for m in shown["matches"]] == ["file"], f"{shown}")
            check(skipped(shown) == {"unreadable": 4}, f"{shown}")
            area.refused("PERMISSION_DENIED", "locked-file", "needle", path="locked-file")
            area.refused("PERMISSION_DENIED", "locked", "needle", path="locked")
            check(len(area.search("needle", path="entered-only/file")["matches"]) == 1, "by its path")
            for name in ("locked", "listed-only", "entered-only"):
                area.path(name).chmod(0o755)
            check(len(area.search("needle")["matches"]) == 4, "not found when they may be read")


def run(parts):
    tap = lib.Tap()
    for form in lib.forms():
        for part in parts:
            started = time.monotonic()
            part(tap, form)
            lib.note(f"{part.__name__}: {time.monotonic() - started:.1f} s")
    tap.done()


if __name__ == "__main__":
    run([patterns, dialects, texts, names, links, special])
