#!/usr/bin/env python3
"""`sandgate mcp` as a model sees it: one block of plain text a result, sized for the client, and what was cut is said in
the first and the last line."""
# timeout: 300

import base64
import json
import zlib

import lib
from lib import check, short

USUAL, CLINE, MOST = 20000, 7500, 100000


class Server(lib.Gate):
    command = "mcp"

    def __init__(self, place, *options, client="test", **more):
        super().__init__(place.form, *options, workspace=place.folder, **more)
        start = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
        self.started = self.ask("initialize", start)["result"]
        self.send_raw(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def ask(self, method, params):
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        self.send_raw(json.dumps(message).encode() + b"\n")
        return self.any_answer()

    def result(self, name, **arguments):
        result = self.ask("tools/call", {"name": name, "arguments": arguments})["result"]
        check("structuredContent" not in result, short(result))
        return result

    def text(self, name, **arguments):
        result = self.result(name, **arguments)
        (block,) = result["content"]
        check(block["type"] == "text" and not result.get("isError"), short(result))
        return block["text"]

    def error(self, name, **arguments):
        result = self.result(name, **arguments)
        check(result.get("isError") is True, short(result))
        return result["content"][0]["text"]

    def tools(self):
        return {tool["name"]: tool for tool in self.ask("tools/list", {})["result"]["tools"]}


class Place:
    def __init__(self, tap, form):
        self.tap, self.form = tap, form
        self.folder = form.folder("text")
        form.folder("text/src")
        form.folder("text/src/in")
        form.write(self.folder / "a.txt", "one\ntwo\nthree")
        form.write(self.folder / "src/b.c", "int one;\nint two;\n")
        form.write(self.folder / "src/in/c.c", "one\n\n\n\n\none again\n")

    def case(self, name):
        return self.tap.case(f"{self.form.name}: {name}")


def png():
    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = b"\0\0\0\1\0\0\0\1\x08\0\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def equal(found, expected):
    check(found == expected, f"{found!r}\nnot\n{expected!r}")


def listing(place):
    with place.case("the list: short schemas, no output schema, how long results may be"), Server(place) as server:
        tools = server.tools()
        check(12 <= len(tools) <= 13, short(sorted(tools)))
        for name, tool in tools.items():
            check("outputSchema" not in tool and len(tool["description"]) < 4000, short(tool))
            check(not {"anyOf", "oneOf", "allOf"} & set(tool["inputSchema"]), f"{name}: refused by model providers")
            check("path_b64" not in tool["inputSchema"]["properties"], name)
        edit = tools["edit_file"]["inputSchema"]
        check({"old_string", "new_string", "replace_all", "edits"} <= set(edit["properties"]), short(edit))
        equal(edit["required"], ["path"])
        check("required" not in tools["run_command"]["inputSchema"], short(tools["run_command"]))
        for name in ("read_file", "run_command", "read_output", "search", "list_files"):
            equal(tools[name]["_meta"], {"anthropic/maxResultSizeChars": MOST})
        check("CODE: what to do" in server.started["instructions"], short(server.started))


def reading(place):
    with place.case("read_file"), Server(place) as server:
        equal(server.text("read_file", path="a.txt"), "a.txt: 3 lines, 13 bytes\n1\tone\n2\ttwo\n3\tthree")
        equal(server.text("read_file", path="a.txt", line_numbers=False), "a.txt: 3 lines, 13 bytes\none\ntwo\nthree")
        equal(server.text("read_file", path="a.txt", start_line=2, end_line=2),
              "a.txt: 3 lines, 13 bytes; lines 2-2\n2\ttwo\n")
        equal(server.text("read_file", path="a.txt", start_line=9), "a.txt: 3 lines, 13 bytes; line 9 is behind the end\n")
        equal(server.text("read_file", path="a.txt", encoding="base64"),
              "a.txt: 3 lines, 13 bytes; base64 of 13 bytes\n" + base64.b64encode(b"one\ntwo\nthree").decode())
        place.form.write(place.folder / "latin", b"caf\xe9\n")
        equal(server.text("read_file", path="latin"),
              "latin: 1 lines, 5 bytes; what is not UTF-8 is replaced, encoding base64 keeps it\n1\tcaf\ufffd\n")
        place.form.write(place.folder / "empty", "")
        equal(server.text("read_file", path="empty"), "empty: 0 lines, 0 bytes\n")
        check("sha256 " in server.text("read_file", path="a.txt", hash=True), "the hash that was asked for")


def long_reading(place):
    lines = [f"line {n} of the long file" for n in range(1, 5001)]
    place.form.write(place.folder / "long", "\n".join(lines) + "\n")
    for client, most in (("test", USUAL), ("Cline", CLINE)):
        with place.case(f"a long file, page by page, for {client}"), Server(place, client=client) as server:
            found, start = [], 1
            while start:
                text = server.text("read_file", path="long", start_line=start)
                check(len(text) <= most, f"{len(text)} characters")
                head, *rest = text.splitlines()
                go_on = f"go on with start_line {start + len(rest) - 1}"
                if start + len(rest) - 1 < 5001 and rest[-1].startswith("["):
                    check(head.endswith(go_on) and rest.pop() == f"[cut: {go_on}]", f"{head} … {rest[-1:]}")
                    check(len(text) > most - 600, f"only {len(text)} characters")
                found += [line.split("\t", 1) for line in rest]
                start = len(found) + 1 if len(found) < 5000 else 0
            equal([text for _, text in found], lines)
            equal([int(number) for number, _ in found], list(range(1, 5001)))
    with place.case("more is shown where it is asked for, but not to a client that would cut it"):
        with Server(place) as server, Server(place, client="cline") as small:
            check(90000 < len(server.text("read_file", path="long", max_bytes=95000)) < 96000, "what was asked for")
            check(len(server.text("read_file", path="long", max_bytes=10**7)) < MOST + 1000, "the most there is")
            check(len(small.text("read_file", path="long", max_bytes=95000)) < 8000, "for the small one")
    with place.case("lines are counted for the client that counts them"):
        place.form.write(place.folder / "short", "x\n" * 2500)
        with Server(place) as server, Server(place, client="opencode") as counting:
            check(server.text("read_file", path="short").count("\tx") == 2500, "all for others")
            for more in ({}, {"max_bytes": 95000}, {"line_numbers": False}):
                text = counting.text("read_file", path="short", **more)
                check(text.count("x\n") == 1900 and text.endswith("[cut: go on with start_line 1901]"), f"{more}: {text[-80:]}")
            text = counting.text("read_file", path="short", start_line=1901)
            check(text.count("x\n") == 600 and "cut" not in text, text[:80])
    with place.case("a line that is too long for an answer"), Server(place) as server:
        place.form.write(place.folder / "wide", "ü" * 30000 + "\nnext\n")
        first, middle, last = server.text("read_file", path="wide").split("\n")
        check("cut inside line 1: max_bytes" in first and last == "[cut inside line 1]", first)
        check(set(middle[2:]) == {"ü"}, "cut between characters")
        place.form.write(place.folder / "wider", "x" * 200000 + "\nnext\n")
        first = server.text("read_file", path="wider", max_bytes=10**7).split("\n")[0]
        check("longer than an answer can be" in first and "start_line 2 what follows" in first, first)
        check(server.text("read_file", path="wider", start_line=2).endswith("\tnext\n"), "what follows")


def images(place):
    place.form.write(place.folder / "dot.png", png())
    place.form.write(place.folder / "not.png", "text\n")
    place.form.write(place.folder / "large.png", png() + bytes(4 << 20))
    with place.case("images"), Server(place) as server:
        text, image = server.result("read_file", path="dot.png")["content"]
        check(text["type"] == "text" and text["text"].endswith("; image/png"), short(text))
        equal(image, {"type": "image", "data": base64.b64encode(png()).decode(), "mimeType": "image/png"})
        equal(server.text("read_file", path="not.png"), "not.png: 1 lines, 5 bytes\n1\ttext\n")
        check("image/png, not shown" in server.text("read_file", path="large.png"), "one that is too large")
        check("base64 of" in server.text("read_file", path="dot.png", encoding="base64"), "as text where that is asked for")
    with place.case("other binary files are not shown"), Server(place) as server:
        place.form.write(place.folder / "bin", b"\x7fELF\0\0")
        check(server.text("read_file", path="bin").endswith("application/x-elf, not shown: encoding base64 gives its bytes"),
              server.text("read_file", path="bin"))


def lists(place):
    with place.case("list_files and search"), Server(place) as server:
        equal(server.text("list_files", path="src", recursive=True), "src/\n b.c\n in/\n  c.c\n")
        equal(server.text("list_files", recursive=True, glob="**/*.c"), "src/b.c\nsrc/in/c.c\n")
        equal(server.text("list_files", glob="*.nothing"), "nothing matches")
        sized = server.text("list_files", path="src", names_only=False)
        check(sized.startswith("src/\n b.c  18  20"), sized)
        equal(server.text("search", pattern="one", path="src"), "src/b.c\n1:int one;\n\nsrc/in/c.c\n1:one\n6:one again\n")
        equal(server.text("search", pattern="one", path="src/in", after=1),
              "src/in/c.c\n1:one\n2-\n--\n6:one again\n")
        equal(server.text("search", pattern="one", path="src", mode="count"), "src/b.c:1\nsrc/in/c.c:2\n")
        check(server.text("search", pattern="nowhere").startswith("no matches in "), "nothing")
    with place.case("names that break a line or are not UTF-8"), Server(place) as server:
        place.form.folder("text/odd")
        for name in (b"two\nlines", b"not \xff utf8"):
            with open(bytes(place.folder / "odd") + b"/" + name, "wb") as file:
                file.write(b"found\n")
        encoded = base64.b64encode(b"odd/not \xff utf8").decode()
        text = server.text("list_files", path="odd")
        equal(text, f'odd/\n"odd/not \ufffd utf8" path_b64 {encoded}\n "two\\nlines"\n')
        check("found" in server.text("read_file", path_b64=encoded, path=""), "by what the list said")
        check(f'path_b64 {encoded}\n1:found\n' in server.text("search", pattern="found"), "in a search")
    with place.case("long lists are cut at a line"), Server(place) as server:
        place.form.folder("text/many")
        for number in range(900):
            place.form.write(place.folder / f"many/{'name' * 8}-{number:04}", f"found {'name ' * 50}it\n")
        for text in (server.text("list_files", path="many"), server.text("search", pattern="found", path="many")):
            lines = text.split("\n")
            check(lines[0].startswith("[cut") and lines[0] == lines[-1] and len(text) <= USUAL, short(text))
            check(all("name" in line for line in lines[2:-1] if line), "whole lines")


def changes(place):
    with place.case("what changes something says so in a line, or shows the difference"), Server(place) as server:
        equal(server.text("write_file", path="new", content="1\n"), "created new, 2 bytes")
        equal(server.text("write_file", path="new", content="2\n"), "replaced new, 2 bytes")
        equal(server.text("edit_file", file_path="new", old_string="2", new_string="3"),
              "--- a/new\n+++ b/new\n@@ -1 +1 @@\n-2\n+3\n")
        check(server.text("edit_file", path="new", old_string="3", new_string="4", dry_run=True)
              .startswith("dry run, nothing was changed:\n---"), "a dry run")
        equal(server.text("move", source="new", destination="newer"), "moved file new to newer")
        equal(server.text("delete", path="newer"), "deleted file newer")
        equal(server.text("make_directory", path="made"), "created folder made")
        check(server.text("stat", path="a.txt").startswith("a.txt: file, 13 bytes, mode 0644, changed 20"), "stat")
    with place.case("errors say what to do"), Server(place) as server:
        equal(server.error("read_file", path="missing"), "NOT_FOUND: `missing` does not exist; list_files shows what is there")
        check(server.error("read_file", path="../x").startswith("PATH_OUTSIDE_WORKSPACE: "), "a path out")
        check(server.error("run_command").startswith("INVALID_ARGUMENTS: missing required argument: `command`"), "no command")
        check("or one item of it: `old_string`" in server.error("edit_file", path="a.txt"), "no edits")


def commands(place):
    with place.case("run_command: output first, its end in the last line"), Server(place) as server:
        equal(server.text("run_command", command="echo out; echo err >&2; exit 3"), "out\n--- stderr\nerr\nexit 3")
        equal(server.text("run_command", command="true"), "exit 0")
        equal(server.text("run_command", argv=["printf", "no end"]), "no end\nexit 0")
        equal(server.text("run_command", command="kill -KILL $$"), "killed by SIGKILL")
        text = server.text("run_command", command="echo so far; sleep 50", timeout_ms=1000)
        check(text.startswith("so far\nhint: it did not end in time") and text.endswith("\nkilled by SIGTERM, timed out"), text)
    with place.case("run_command: long output, and the rest of it"), Server(place) as server:
        for command, shares in (("seq 20000", 1), ("seq 20000 >&2", 1), ("seq 20000; seq 20000 >&2", 2)):
            text = server.text("run_command", command=command)
            first, *lines, last = text.split("\n")
            check(first == last and first.startswith("[exit 0; output cut: std"), f"{first}\n{last}")
            check(USUAL - 1500 < len(text) <= USUAL, f"{len(text)} characters")
            check(lines.count("20000") == shares, "the end of each stream")
        output = last.rsplit(" ", 1)[1].rstrip("]")
        page = server.text("read_output", output_id=output, stream="stderr", offset=50000)
        first, *lines, last = page.split("\n")
        check(first == last and first.startswith("[stderr: bytes 50000 to ") and "go on with offset" in first, first)
        check(len(page) <= USUAL, f"{len(page)} characters")
    with place.case("run_command: two streams that are together too long are both kept whole elsewhere"), Server(place) as server:
        text = server.text("run_command", command="seq 2500; seq 2500 >&2")
        output = text.rsplit(" ", 1)[1].rstrip("]")
        for stream in ("stdout", "stderr"):
            page = server.text("read_output", output_id=output, stream=stream)
            equal([line for line in page.split("\n") if line.isdigit()], [str(n) for n in range(1, 2501)])


def options(place):
    with place.case("--tools"), Server(place, "--tools", "read_file,time_now") as server:
        equal(sorted(server.tools()), ["read_file", "time_now"])
        answer = server.ask("tools/call", {"name": "write_file", "arguments": {"path": "no", "content": ""}})
        check(answer["error"]["code"] == -32602 and "--tools" in answer["error"]["message"], short(answer))
        check(not (place.folder / "no").exists(), "it was written")
        check("one" in server.text("read_file", path="a.txt"), "one that is offered")
    with place.case("--read-only"), Server(place, "--read-only") as server:
        equal(sorted(server.tools()), ["list_files", "read_file", "read_output", "search", "stat", "time_now"])
        for name, arguments in (("write_file", {"path": "no", "content": ""}), ("run_command", {"command": "touch no"})):
            answer = server.ask("tools/call", {"name": name, "arguments": arguments})
            check(answer["error"]["code"] == -32602 and "--read-only" in answer["error"]["message"], short(answer))
        check(not (place.folder / "no").exists(), "it was written")
    with place.case("--tools with a name that is none"):
        done = place.form.run(place.form.folder("none"), "mcp", "--tools", "read_file,reed", "--workspace", place.folder)
        check(done.returncode == 2 and b"reed" in done.stderr and not done.stdout, short(str(done)))


def main():
    tap = lib.Tap()
    for form in lib.forms():
        place = Place(tap, form)
        for part in (listing, reading, long_reading, images, lists, changes, commands, options):
            part(place)
    tap.done()


main()
