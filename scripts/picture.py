#!/usr/bin/env python3
"""Draws docs/picture.svg from what the program really prints.

    scripts/picture.py [--check] [--program SANDGATE]

With --check nothing is written; the status is 1 when the picture is not what would be drawn. Ids, times and folders of the
run are replaced, so that the same program draws the same picture.
"""

import argparse
import html
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/picture.svg"
WIDTH, LINE, SIZE = 860, 19, 14
SECONDS = 60
REPLACED = ((r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()].|[\x00-\x09\x0b-\x1f]", ""), (r"\b\d min \d+ s left", "4 min 59 s left"), (r"\(\w{8},", "(k7pm3xq9,"),
            (r"\w{8}: approved by \S+ on \S+", "k7pm3xq9: approved by you on /dev/pts/0"),
            (r"\d{4}-\d\d-\d\dT[\d:.]+Z +", ""), (r"\d+ms", "2ms"), (r" +(\S+project)\$ ", r"  \1$ "))  # fmt: skip
COLOURS = {"$": "#7ee787", "+": "#7ee787", "-": "#ff7b72", "#": "#8b949e"}
SCENES = (
    ("# A command sees the project and the system's programs: no keys, no network, nothing of yours.",
     "sandgate run -- sh -c 'ls; cat ~/.ssh/id_rsa; ls /home'"),
    ("# What changes something asks, and shows what it would do.",
     "sandgate call write_file '{\"path\":\"notes.txt\",\"content\":\"Buy milk and bread.\\n\"}'"),
    ("# All of it is in a log of which no line can be changed unseen.", "sandgate audit show --failed"),
    (None, "sandgate audit verify"),
)  # fmt: skip


def typed(command, place, env):
    """What a terminal shows of it, where a question is answered with y."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(["setsid", "-c", "sh", "-c", command], cwd=place, env=env, stdin=theirs, stdout=theirs,
                               stderr=theirs)  # fmt: skip
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], SECONDS)[0]:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # how the end of a terminal is told
            break
        if shown.rstrip().endswith(b"[?]:"):
            os.write(ours, b"y\n")
    process.wait(SECONDS)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def tidy(text, place):
    text = text.replace(str(place), "~/project")
    for pattern, by in REPLACED:
        text = re.sub(pattern, by, text)
    text = re.sub(r"whole: \d+ records of \d+ gates in 1 files", "whole: 9 records of 4 gates in 1 files", text)
    text = re.sub(r'"sha256":"[0-9a-f]{64}"', '"sha256":"7303ffe1..."', text)
    return [line[:104] for line in text.strip("\n").splitlines()]


def scene_lines(program):
    base = pathlib.Path(tempfile.mkdtemp(prefix="picture-"))
    try:
        place, home, tools = base / "project", base / "home", base / "bin"
        for folder in (place, home, tools):
            folder.mkdir()
        base.chmod(0o755)
        (place / "notes.txt").write_text("Buy milk.\n")
        (tools / "sandgate").symlink_to(program)
        env = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(home), "XDG_STATE_HOME": str(home), "LANG": "C.UTF-8",
               "TERM": "xterm", "NO_COLOR": "1"}  # fmt: skip
        # A refusal for the log, as an agent makes them.
        subprocess.run([program, "call", "read_file", '{"path":"../secret"}'], cwd=place, env=env, capture_output=True, check=False)
        for remark, command in SCENES:
            if remark:
                yield ""
                yield remark
            yield f"$ {command}"
            yield from tidy(typed(command, place, env), place)
    finally:
        shutil.rmtree(base)


def draw(lines):
    height = LINE * len(lines) + 56
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
           "<title>sandgate at work in a terminal</title>",
           f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#0d1117"/>',
           *(f'<circle cx="{22 + 20 * n}" cy="20" r="6" fill="{c}"/>' for n, c in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))),
           f'<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="{SIZE}" xml:space="preserve">']  # fmt: skip
    for number, line in enumerate(lines):
        mark = line[:1] if line[:1] in "$#" else (line.partition("| ")[2] or " ")[:1]
        colour = COLOURS.get(mark, "#e6edf3") if line else "#e6edf3"
        out.append(f'<text x="16" y="{54 + LINE * number}" fill="{colour}">{html.escape(line)}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--program", default=str(ROOT / "build/sandgate"))
    args = parser.parse_args()
    drawn = draw(list(scene_lines(os.path.abspath(args.program)))[1:])
    if args.check:
        same = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == drawn
        print("docs/picture.svg is as it is drawn" if same else f"docs/picture.svg is not what is drawn:\n{drawn}")
        return 0 if same else 1
    PICTURE.write_text(drawn, encoding="utf-8")
    return 0


sys.exit(main())
