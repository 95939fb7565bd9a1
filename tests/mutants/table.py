"""Reads tests/mutants/table.txt: one change of a security decision a row, and the tests that must notice it.

    [name]
    src/core/pipeline.c       the file
    -exact text               several lines with - are one text of several lines
    +what stands there then   no such line: nothing
    unit/test_pipeline        a test, by its name in tests/run.py; one line for each

Lines that begin with # are comments. The text must occur exactly once in the file.
"""

import os
import pathlib
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/mutants/table.txt"


@dataclass
class Mutant:
    name: str
    file: str = ""
    old: list = field(default_factory=list)
    new: list = field(default_factory=list)
    tests: list = field(default_factory=list)

    def apply(self, text):
        """The mutated text of the file; a ValueError where the old text is not there exactly once."""
        old = "\n".join(self.old)
        count = text.count(old) if old else 0
        if count != 1:
            raise ValueError(f"the old text occurs {count} times in {self.file}")
        return text.replace(old, "\n".join(self.new))


def add_line(mutant, line):
    if line[0] in "-+":
        (mutant.old if line[0] == "-" else mutant.new).append(line[1:])
    elif not mutant.file:
        mutant.file = line
    else:
        mutant.tests.append(line)


def read():
    mutants = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            mutants.append(Mutant(line.strip("[]")))
        else:
            add_line(mutants[-1], line)
    return mutants


def has_test(name):
    if name.startswith("unit/"):
        words = (ROOT / "tests/unit/meson.build").read_text(encoding="utf-8")
        return f"'{name.removeprefix('unit/')}'" in words and (ROOT / "tests" / f"{name}.c").is_file()
    return name.startswith("tests/") and os.access(ROOT / name, os.X_OK)


def problems(mutant):
    """What is wrong with a row, without building anything."""
    path = ROOT / mutant.file
    if not mutant.file or not path.is_file():
        return [f"{mutant.name}: no file `{mutant.file}`"]
    found = []
    try:
        if mutant.apply(path.read_text(encoding="utf-8")) == path.read_text(encoding="utf-8"):
            found.append(f"{mutant.name}: changes nothing")
    except ValueError as error:
        found.append(f"{mutant.name}: {error}")
    if not mutant.tests:
        found.append(f"{mutant.name}: names no test")
    return found + [f"{mutant.name}: no test `{test}`" for test in mutant.tests if not has_test(test)]
