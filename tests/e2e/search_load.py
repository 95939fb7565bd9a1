#!/usr/bin/env python3
"""Searches in what changes, is huge or is many, several at once, and searches that are stopped: the right answer, soon,
in bounded memory, and the next call works."""
# timeout: 400

import collections
import contextlib
import itertools
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import time

import lib
from lib import check, expect_error, wait_until
from search import Area, run, skipped

MIB = 1 << 20
# No character of the text lets it end early, and its states are too many to keep.
SLOW = r"(?:[a-m][a-z0-9]{1,300}){3}[^a-z0-9]"


# --- what changes meanwhile


@contextlib.contextmanager
def meanwhile(work, *args):
    """work(*args) again and again in a process of its own."""

    def forever():
        for number in itertools.count():
            if os.getppid() == 1:
                return
            work(number, *args)

    process = multiprocessing.get_context("fork").Process(target=forever, daemon=True)
    process.start()
    try:
        yield
        check(process.is_alive(), "what should change the files has ended")
    finally:
        process.kill()
        process.join()


def fill(folder, files=20):
    for n in range(files):
        (folder / f"sub{n % 4}").mkdir(exist_ok=True)
        (folder / f"sub{n % 4}/f{n}").write_text(f"needle {n} {n}\n" * 5, encoding="ascii")


def shuffle_folder(number, folder):
    """Renames, deletes and makes it again."""
    os.rename(folder / "live", folder / "live2")
    if number % 2:
        os.rename(folder / "live2/sub1", folder / "live2/moved")
        os.rename(folder / "live2", folder / "live")
        os.rename(folder / "live/moved", folder / "live/sub1")
    else:
        shutil.rmtree(folder / "live2")
        (folder / "new").mkdir()
        fill(folder / "new")
        os.rename(folder / "new", folder / "live")


def shake_files(number, folder):
    """Cuts, grows and replaces files."""
    path = folder / f"shaken{number % 8}"
    line = b"needle %06d %06d end\n"
    if number % 3 == 0:
        os.truncate(path, random.randrange(path.stat().st_size + 1))
    elif number % 3 == 1:
        with open(path, "ab") as file:
            file.write(b"\n" + b"".join(line % (n, n) for n in range(number % 300)))
    else:
        new = folder / f"new{number % 8}"
        new.write_bytes(b"".join(line % (n, n) for n in range(number % 700)))
        os.rename(new, path)


def many_searches(area, count, in_flight, **args):
    """The answers of so many searches, each of which must succeed."""
    pending, left, answers = [], count, []
    while pending or left:
        while left and len(pending) < in_flight:
            pending.append(area.gate.send("search", **args))
            left -= 1
        result = area.gate.wait(pending.pop(0))
        check(result["ok"], f"a search failed: {lib.short(result)}")
        answers.append(result["result"])
    return answers


def changing(tap, form):
    count = 2000 if lib.SOAK else 200
    with Area(tap, form, "moving") as area:
        area.write("stays", "needle 0 0\n")
        area.make("live")
        fill(area.path("live"))
        with area.case(f"{count} searches while a folder is renamed, deleted and made again"):
            with meanwhile(shuffle_folder, area.folder):
                answers = many_searches(area, count, 8, pattern="^needle .*$", max_results=1000)
            sizes = collections.Counter(len(a["matches"]) for a in answers)
            lib.note(f"matches: {dict(sorted(sizes.items()))}")
            check(len(sizes) > 1, "nothing changed meanwhile")
            for answer in answers:
                check(not skipped(answer) and not answer["truncated"], f"{lib.short(answer)}")
                check(sum(m["path"] == "stays" for m in answer["matches"]) == 1, "a file that stays is not found once")
                for m in answer["matches"]:
                    check(re.fullmatch(r"needle (\d+) \1", m["text"]) and m["line"] <= 5, f"no such line: {m}")
    with Area(tap, form, "shaken") as area:
        for n in range(8):
            area.write(f"shaken{n}", "needle 000000 000000 end\n")
        with area.case(f"{count} searches while files are cut, grown and replaced"):
            with meanwhile(shake_files, area.folder):
                answers = many_searches(area, count, 8, pattern="^needle .* end$", max_results=1000)
            found = {json.dumps(answer["matches"]) for answer in answers}
            check(len(found) > 1, f"nothing changed meanwhile: {len(answers[0]['matches'])} matches")
            for answer in answers:
                check(not skipped(answer), f"{lib.short(answer)}")
                for m in answer["matches"]:
                    check(re.fullmatch(r"needle (\d{6}) \1 end", m["text"]), f"no such line: {m}")


def written(tap, form):
    rounds = 300 if lib.SOAK else 60
    with Area(tap, form, "written") as area:
        content = "".join(f"version %d line {n}\n" for n in range(500))
        area.write("file", content.replace("%d", "0"))
        with area.case("searches while the same file is written: it is the old or the new one"):
            ids = []
            for n in range(1, rounds + 1):
                area.gate.send("write_file", f"w{n}", path="file", content=content.replace("%d", str(n)))
                ids.append(area.gate.send("search", pattern=r"^version \d+ ", max_results=1000))
                if n > 8:
                    check(area.gate.wait(f"w{n - 8}")["ok"], "a write failed")
            for n in range(max(1, rounds - 7), rounds + 1):
                check(area.gate.wait(f"w{n}")["ok"], "a write failed")
            seen = set()
            for call_id in ids:
                matches = area.gate.wait(call_id)["result"]["matches"]
                versions = {m["text"].split()[1] for m in matches}
                check(len(matches) == 500 and len(versions) == 1, f"{len(matches)} lines of {versions}")
                seen |= versions
            lib.note(f"{len(seen)} versions seen")
            check(len(seen) > 1, "never a new one")


# --- large


def fill_long(path, size, rest=b""):
    with open(path, "wb") as file:
        for _ in range(size // MIB):
            file.write(b"a" * MIB)
        file.write(rest)


def long_lines(tap, form):
    size = 1024 * MIB if lib.SOAK else 128 * MIB
    with Area(tap, form, "long") as area:
        fill_long(area.path("one-line"), size)
        area.write("sparse", "")
        os.truncate(area.path("sparse"), size)
        with area.case(f"a line of {size // MIB} MB without an end"):
            for pattern, mode in itertools.product(("a", "b$", "^", r"\w+x"), ("lines", "files", "count")):
                found = area.search(pattern, path="one-line", mode=mode)
                check(skipped(found) == {"long_lines": 1} and not found["matches"], f"{pattern}: {found}")
            found = area.search("^good", ignore_case=True)
            check(skipped(found) == {"long_lines": 1, "binary": 1}, f"{found}")
            check([m["path"] for m in found["matches"]] == ["good"], f"{found}")
        with area.case(f"a sparse file of {size // MIB} MB is binary"):
            for pattern in ("a", "^", "\0"):
                found = area.search(pattern, path="sparse")
                check(skipped(found) == {"binary": 1} and not found["matches"], f"{found}")
    with Area(tap, form, "long-first") as area:
        fill_long(area.path("readable"), 8 * MIB, b"b\nneedle\nlast")
        fill_long(area.path("too-long"), 40 * MIB, b"b\nneedle\nlast")
        area.write("before", "needle\n" + "x" * (40 * MIB) + "\nneedle\n")
        with area.case("a first line of 8 MB, and what stands behind it"):
            check(area.lines("needle|b$", path="readable") == [1, 2], "the wrong lines")
            first = area.search("b$", path="readable", after=1)["matches"][0]
            check(first["cut"] and first["spans"] == [[8 * MIB, 8 * MIB + 1]], f"{lib.short(first)}")
            check(len(first["text"]) < 5000 and first["after"] == ["needle"], f"{lib.short(first)}")
            found = area.search("needle", path="readable", before=100)["matches"][0]
            check(len(found["before"][0]) < 5000 and found["before"][0].endswith("cut ...]"), f"{lib.short(found)}")
        with area.case("a file is left where a line of 40 MB begins, and that is said"):
            for path, lines in (("too-long", []), ("before", [1])):
                found = area.search("needle", path=path)
                check([m["line"] for m in found["matches"]] == lines, f"{found}")
                check(skipped(found) == {"long_lines": 1}, f"{found}")


@contextlib.contextmanager
def few_descriptors(count):
    """For what is started in it: as many as most systems give a program."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, before[1]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def many_files(tap, form):
    count = 100_000 if lib.SOAK else 20_000
    with Area(tap, form, "many") as area:
        folder = os.open(area.make("flat"), os.O_PATH)
        for n in range(count):
            fd = os.open(f"f{n:06}", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder)
            os.write(fd, b"last needle\n" if n == count - 1 else b"some needle\n")
            os.close(fd)
        os.close(folder)
        with area.case(f"{count} files in a folder"):
            found = area.search("last needle", path="flat")
            check([m["path"] for m in found["matches"]] == [f"flat/f{count - 1:06}"], f"{found}")
            check(found["stats"]["files"] == count and not found["truncated"], f"{found}")
            for mode in ("files", "count", "lines"):
                found = area.search("needle", path="flat", mode=mode, max_results=10_000)
                paths = [m["path"] for m in found["matches"]]
                check(paths == [f"flat/f{n:06}" for n in range(10_000)], f"{mode}: not the first")
                check(found["truncated"] and "more" in found["hint"], "not said to be cut")
            found = area.search("needle", path="flat", include="f*77")
            check(len(found["matches"]) == 100 and found["truncated"], "include")


def many_folders(tap, form):
    with few_descriptors(1024), Area(tap, form, "folders") as area:
        area.make("wide")
        for n in range(5000):
            os.mkdir(area.path(f"wide/d{n:04}"), 0o755)
            area.path(f"wide/d{n:04}/file").write_bytes(b"needle\n")
        paths = [f"wide/d{n:04}/file" for n in range(5000)]
        with area.case("5,000 folders, sixteen searches at once, 1,024 descriptors"):
            for answer in many_searches(area, 16, 16, pattern="needle", mode="files", max_results=10_000):
                check(not skipped(answer), f"not all were searched: {answer['stats']}")
                check([m["path"] for m in answer["matches"]] == paths, f"{len(answer['matches'])} files")
        deep = area.make("deep")
        for _ in range(300):
            (deep / "file").write_bytes(b"needle\n")
            deep = deep / "d"
            deep.mkdir(mode=0o755)
        with area.case("300 folders in one another: cut, and said"):
            found = area.search("needle", path="deep", max_results=1000)
            depths = sorted(m["path"].count("/") for m in found["matches"])
            check(depths == list(range(1, len(depths) + 1)) and 100 < len(depths) < 300, f"{depths}")
            check(found["truncated"] and "too deep" in found["hint"], f"not said to be cut: {found.get('hint')}")
            rest = area.search("needle", path="deep" + "/d" * 150, max_results=1000)
            check(len(rest["matches"]) == 150 and not rest["truncated"], f"{len(rest['matches'])} of the rest")


# --- the same answer, and several at once


def make_tree(area):
    rng = random.Random(7)
    for n in range(300):
        folder = area.path(f"t/{n % 7}/{n % 5}")
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{rng.choice(('needle', 'nothing'))} {line}\n" for line in range(rng.randrange(300)))
        (folder / f"f{n}").write_text(text, encoding="ascii")


LIMITED = [
    {"pattern": "needle", "max_results": 50},
    {"pattern": "needle", "max_results": 777, "before": 2, "after": 1},
    {"pattern": "needle [0-9]*7$", "max_results": 1000},
    {"pattern": "nothing 9", "max_results": 33, "mode": "files"},
    {"pattern": "needle", "max_results": 150, "mode": "count"},
]


def repeated(tap, form):
    seen = {}
    for threads in (1, 4):
        config = form.write(form.base / f"threads-{threads}.json", json.dumps({"limits": {"workerThreads": threads}}))
        with Area(tap, form, f"repeated-{threads}", "--config", config) as area:
            make_tree(area)
            with area.case(f"cut at max_results it is the same 30 times, with {threads} threads and all of 30 at once"):
                for n, args in enumerate(LIMITED):
                    for answer in many_searches(area, 30, 15 if threads > 1 else 1, **args):
                        shown = json.dumps([answer["matches"], answer["truncated"]])
                        check(answer["truncated"], "not cut: it tells nothing")
                        check(len(answer["matches"]) == args["max_results"], f"{len(answer['matches'])} matches")
                        check(seen.setdefault(n, shown) == shown, f"{args}: not the same answer")


def at_once(tap, form):
    with Area(tap, form, "at-once") as area:
        for n in range(200):
            area.write(f"f{n}", "".join(f"word{n % 16} line {i}\n" for i in range(500)))
        with area.case("sixteen different searches at once"):
            for _ in range(20 if lib.SOAK else 3):
                ids = [area.gate.send("search", pattern=rf"^word{n} line \d*9$", max_results=1000) for n in range(16)]
                for n, call_id in enumerate(ids):
                    found = area.gate.wait(call_id)["result"]
                    lines = {m["text"].split()[0] for m in found["matches"]}
                    files = len(range(n, 200, 16))
                    check(lines == {f"word{n}"}, f"{lines}")
                    check(len(found["matches"]) == min(1000, 50 * files), f"{len(found['matches'])} of {files} files")


# --- stopped in the middle


def write_slow_texts(area):
    letters = bytes(b"abcdefghijklmnopqrstuvwxyz0123456789"[n % 36] for n in range(256))
    text = random.Random(3).randbytes(MIB).translate(letters)
    lines = b"\n".join(text[i : i + 2000] for i in range(0, MIB, 2000)) + b"\n"
    area.write("lines", lines * 20)
    area.write("line", text * 8)
    for n in range(64):
        os.link(area.path("lines"), area.path(f"copy{n}"))


SLOW_CALLS = {"a file of 20 MB": "lines", "one line of 8 MB": "line", "a folder": "."}


def cancel(area, ids):
    started = time.monotonic()
    area.gate.send_raw(b"".join(json.dumps({"cancel": call_id}).encode() + b"\n" for call_id in ids))
    for call_id in ids:
        expect_error(area.gate.wait(call_id), "CANCELLED")
    lib.note(f"{len(ids)} cancelled after {(time.monotonic() - started) * 1000:.0f} ms")


def cancelled(tap, form):
    with Area(tap, form, "cancelled") as area:
        write_slow_texts(area)
        for name, path in SLOW_CALLS.items():
            with area.case(f"cancelling a slow search in {name}"):
                area.start("slow", pattern=SLOW, path=path)
                cancel(area, ["slow"])
        with area.case("cancelling one of four leaves the others alone"):
            area.start("first", pattern=SLOW, path="lines")
            worker = area.gate.worker()
            others = [area.gate.send("search", pattern=SLOW, path="lines") for _ in range(3)]
            before = lib.cpu_ticks(worker)
            wait_until(lambda: lib.cpu_ticks(worker) > before + 40, "all four are at work")
            cancel(area, ["first"])
            check(area.gate.worker() == worker, "the others ended too")
            cancel(area, others)
        with area.case("cancelling twelve searches at once, most of which did not begin"):
            area.start("slow", pattern=SLOW, path="lines")
            cancel(area, ["slow"] + [area.gate.send("search", pattern=SLOW, path="lines") for _ in range(11)])
    with Area(tap, form, "timed", env={"TOOL_TIMEOUT_SECS": "1"}) as area:
        write_slow_texts(area)
        for name, path in SLOW_CALLS.items():
            with area.case(f"the time limit in {name}"):
                started = time.monotonic()
                area.refused("TIMEOUT", "time limit", SLOW, path=path)
                spent = time.monotonic() - started
                lib.note(f"{name}: TIMEOUT after {spent * 1000:.0f} ms")
                check(spent > 0.9, "too early")


PARTS = [changing, written, long_lines, many_files, many_folders, repeated, at_once, cancelled]

if __name__ == "__main__":
    run(PARTS)
