#!/usr/bin/env python3
"""What no file of the project may hold, and how long a file and a function of src may be. Prints TAP."""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import checks  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE_LINES = 500
FUNCTION_LINES = 80

# A path of one developer's machine works nowhere else; a registry's host name goes around the mirror that a machine
# is set up with. A Cargo lock file calls the public registry by its index's address, which a mirror takes over like a
# name. The expressions are written so that they do not match themselves.
BANNED = {
    "paths of one machine": re.compile(rb"/work/(?:main|shared|\.library)\b|/root/\.(?:pyenv|cargo|rustup|npm|nvm)\b"),
    "host names of package registries": re.compile(
        rb"\b(?:pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org|(?:static\.|index\.)?crates\.io(?!-index\")"
        rb"|deb\.debian\.org|security\.debian\.org|proxy\.golang\.org)\b",
        re.I,
    ),
}


# Functions of C that cannot be told how much room there is.
UNSAFE = re.compile(rb"\b(?:strcpy|strcat|strncpy|strncat|sprintf|vsprintf|gets|strtok|alloca)\s*\(")


def files_by_git():
    done = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    return [ROOT / os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def files_by_walk():
    """For a tree that is not a repository, such as an unpacked release."""
    for folder, below, names in os.walk(ROOT):
        if pathlib.Path(folder) == ROOT:
            below[:] = [d for d in below if d not in (".git", ".deps", "dist") and not d.startswith("build")]
        below[:] = [d for d in below if d != "__pycache__"]
        yield from (pathlib.Path(folder, name) for name in names)


def all_files():
    try:
        found = files_by_git() if (ROOT / ".git").exists() else files_by_walk()
    except (OSError, subprocess.CalledProcessError):  # no git, or the repository belongs to someone else
        found = files_by_walk()
    return sorted(p for p in found if p.is_file() and not p.is_symlink())


def banned_text(files, pattern):
    for path in files:
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            if match := pattern.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {match[0].decode('utf-8', 'replace')}"


def sources(files):
    return [p for p in files if p.suffix in (".c", ".h") and ROOT / "src" in p.parents]


def lines_of(path):
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def long_files(files):
    for path in files:
        count = len(lines_of(path))
        if count > FILE_LINES:
            yield f"{path.relative_to(ROOT)}: {count} lines, at most {FILE_LINES}"


def functions(lines):
    """Line number and length of each function body: '{' at the margin (or ending a head there) to '}' at the margin."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{") or (re.match(r"\w", line) and line.rstrip().endswith(") {")):
            start = number
        elif line.rstrip() == "}" and start is not None:
            yield start, number - start + 1
            start = None


def long_functions(files):
    for path in files:
        for number, count in functions(lines_of(path)):
            if count > FUNCTION_LINES:
                yield f"{path.relative_to(ROOT)}:{number}: a function of {count} lines, at most {FUNCTION_LINES}"


def nothing_read(files):
    if not sources(files):
        yield "no C file of src among the project's files: nothing was checked"


def main():
    files = all_files()
    found = [("the project's files are found", nothing_read(files))]
    found += [(f"no {what}", banned_text(files, pattern)) for what, pattern in BANNED.items()]
    found += [
        ("no function that cannot be told its room", banned_text(sources(files), UNSAFE)),
        (f"no file of src over {FILE_LINES} lines", long_files(sources(files))),
        (f"no function of src over {FUNCTION_LINES} lines", long_functions(sources(files))),
    ]
    return checks.run(found)


if __name__ == "__main__":
    sys.exit(main())
