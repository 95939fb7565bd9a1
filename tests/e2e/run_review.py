#!/usr/bin/python3
"""`sandgate run --review`: a command works in a session's layer, and what becomes of its changes is asked at the end."""
import json
import re
import time

import lib
from lib import check
from overlay import Place, tree
from terminals import Terminal

UNSET = {"SANDGATE_APPROVAL_DEFAULT": None}
WORK = "echo more >> a.txt; printf '#!/bin/sh\\n' > tool.sh; chmod 755 tool.sh; rm sub/b.txt; exit 3"


def argv_of(place, command):
    return [place.form.binary, "run", "--review", "--workspace", place.project, "--", "sh", "-c", command]


def sessions(place):
    return [one["id"] for one in json.loads(place.run("session", "list", "--json").stdout)]


def reviewed(place, command=WORK, width=80):
    time.sleep(0.05)  # what the project changed in the last 20 ms counts as changed meanwhile
    return Terminal(place.form, place.home, argv_of(place, command), width=width)


def until_asked(terminal):
    """The pager, or the question."""
    while not (found := re.search(rb"Enter for more, q back: |discard \[x\]", terminal.shown[terminal.at:])):
        check(terminal.read(lib.SECONDS), "it ended")
    return terminal.until(found[0].decode())


def unattended(place):
    """Without a terminal the session is kept, and its id said."""
    before = tree(place.project)
    done = place.run(*argv_of(place, WORK)[1:], env=UNSET)
    check(done.returncode == 3, f"the status is the command's: {done}")
    check(tree(place.project) == before, "the project changed")
    [session] = sessions(place)
    check(f"session {session} keeps 3 changes" in done.stderr.decode(), done.stderr)
    check(set(place.changes(session)) == {"a.txt", "tool.sh", "sub/b.txt"}, place.changes(session))
    check(place.run("session", "discard", session).returncode == 0, "nobody has it")
    done = place.run(*argv_of(place, "cat a.txt; git init -q . 2>&1; rm -rf .git")[1:])
    check((done.returncode, done.stdout, done.stderr, sessions(place)) == (0, b"alpha\n", b"", []), f"nothing changed: {done}")
    done = place.run(*argv_of(place, "kill -TERM $$")[1:])
    check(done.returncode == 143, done)
    done = place.run("run", "--review", "--workspace", place.project, "--", "no-such-program")
    check(done.returncode == 127 and sessions(place) == [], done)


def kept(place):
    with reviewed(place) as terminal:
        shown = terminal.until("discard [x]")
        for words in ("3 changes", "1 added, 1 modified, 1 deleted", "(+2 -1 lines)", "new programs: tool.sh", "deleted   sub/b.txt"):
            check(words in shown, f"{words}: {shown}")
        terminal.type("k\n")
        check(terminal.end() == 3, "the command's status")
    [session] = sessions(place)
    check(f"session {session} keeps 3" in terminal.rest(), terminal.rest())
    check((place.project / "sub/b.txt").exists() and not (place.project / "tool.sh").exists(), "the project changed")


def left_alone(place):
    """The end of the input is no answer: nothing is lost."""
    with reviewed(place) as terminal:
        terminal.until("discard [x]")
        terminal.type("\x04")
        check(terminal.end() == 3 and len(sessions(place)) == 1, "kept")


def shown(place):
    """The patch is coloured, paged, and cannot play with the terminal."""
    place.write("long.txt", "".join(f"line {i}\n" for i in range(400)))
    with reviewed(place, "printf 'new\\033]0;title\\007\\n' > odd; sed -i s/line/LINE/ long.txt") as terminal:
        terminal.until("discard [x]")
        terminal.type("d\n")
        first = terminal.until("Enter for more, q back: ")
        check("\x1b[31m-line 0\x1b[m" in first and "LINE" not in first, first)
        terminal.type("q\n")
        terminal.until("discard [x]")
        terminal.type("d\n")
        pages = 1
        while "Enter for more" in until_asked(terminal):
            pages += 1
            terminal.type("\n")
        check(pages > 20, f"{pages} pages")
        check("+new\\e]0;title\\x07" in terminal.shown.decode(), "it is written out")
        check("\x1b]0;" not in terminal.shown.decode(), "the title was set")
        terminal.type("what\n")
        terminal.until("discard [x]")
        terminal.type("k\n")
        terminal.end()


def discarded(place):
    before = tree(place.project)
    with reviewed(place) as terminal:
        terminal.until("discard [x]")
        terminal.type("x\n")
        terminal.until("3 changes will be lost")
        terminal.type("n\n")
        terminal.until("discard [x]")
        terminal.type("x\n")
        terminal.until("[y/n]")
        terminal.type("y\n")
        check(terminal.end() == 3 and sessions(place) == [], "it is gone")
    check(tree(place.project) == before, "the project changed")


def committed(place):
    """All of it, and what would run on the machine after a yes of its own."""
    with reviewed(place) as terminal:
        check("would run code on this machine, or steer programs: tool.sh" in terminal.until("discard [x]"), "it is named")
        terminal.type("c\n")
        check("tool.sh" in terminal.until("take them over, too? [y]es"), "asked apart")
        terminal.type("b\n")
        terminal.until("discard [x]")
        check((place.project / "sub/b.txt").exists(), "nothing was done yet")
        terminal.type("c\n")
        terminal.until("take them over, too? [y]es")
        terminal.type("y\n")
        terminal.until("3 changes taken over")
        check(terminal.end() == 3 and sessions(place) == [], "nothing is left")
    check((place.project / "a.txt").read_text() == "alpha\nmore\n" and not (place.project / "sub/b.txt").exists(), "as it was there")
    check((place.project / "tool.sh").stat().st_mode & 0o777 == 0o755, "with its mode")


def committed_in_part(place):
    """By number and by path; the rest waits for another answer, and is kept."""
    with reviewed(place, "echo 1 > one; echo 2 > two; mkdir d; echo 3 > d/three; echo 4 > 'a [b]'; echo x > .envrc") as terminal:
        shown = terminal.until("discard [x]")
        number = re.search(r"(\d+)  added +a \[b\]", shown)[1]
        terminal.type("s\n")
        terminal.until("Enter: back: ")
        terminal.type("99\n")
        terminal.until("there are changes 1 to 6")
        terminal.until("discard [x]")
        terminal.type("s\n")
        terminal.until("Enter: back: ")
        terminal.type(f"{number}, d t*\n")
        terminal.until("4 changes taken over")
        terminal.until("keeps 2 changes")
        terminal.until("discard [x]")
        terminal.type("c\n")
        terminal.until("take them over, too? [y]es")
        terminal.type("n\n")
        terminal.until("1 change taken over, 1 left")
        terminal.until("discard [x]")
        terminal.type("k\n")
        check(terminal.end() == 0, "the command's status")
    [session] = sessions(place)
    check(set(place.changes(session)) == {".envrc"}, place.changes(session))
    check(sorted(path.name for path in place.project.iterdir()) == ["a [b]", "a.txt", "d", "one", "sub", "two"], "in the project")


def conflicts(place):
    """What the user changed meanwhile is overwritten by no answer but that one."""
    with reviewed(place, "echo session > a.txt; echo new > n") as terminal:
        terminal.until("discard [x]")
        place.write("a.txt", "user\n")
        terminal.type("c\n")
        check("a.txt" in terminal.until("[p]roject's  [b]ack: "), "listed")
        terminal.type("b\n")
        terminal.until("discard [x]")
        check((place.project / "a.txt").read_text() == "user\n" and not (place.project / "n").exists(), "nothing was done")
        terminal.type("c\n")
        terminal.until("[b]ack: ")
        terminal.type("p\n")
        terminal.until("1 change taken over, 1 given up for the project's")
        check(terminal.end() == 0 and sessions(place) == [], "nothing is left")
    check((place.project / "a.txt").read_text() == "user\n" and (place.project / "n").exists(), "the project's counts")


CASES = [
    ("nobody is there to ask", unattended),
    ("kept for later", kept),
    ("committed, and asked about what would run", committed),
    ("committed in part", committed_in_part),
    ("conflicts are decided by the person", conflicts),
    ("the end of the input keeps it", left_alone),
    ("the changes are shown", shown),
    ("discarded after a second question", discarded),
]


def main():
    tap = lib.Tap()
    for form in lib.forms():
        for name, case in CASES:
            with tap.case(f"{form.name}: {name}"):
                case(Place(form, case.__name__))
    tap.done()


main()
