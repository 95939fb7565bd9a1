#!/usr/bin/env python3
"""Each row of tests/mutants/table.txt still changes its file, and the tests that it names exist. Prints TAP."""

import collections
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/mutants"))

import table  # noqa: E402

FEWEST = 100


def main():
    mutants = table.read()
    counts = collections.Counter(mutant.name for mutant in mutants)
    wrong = [problem for mutant in mutants for problem in table.problems(mutant)]
    names = [f"{name}: {count} rows of this name" for name, count in counts.items() if count > 1]
    if len(mutants) < FEWEST:
        names.append(f"{len(mutants)} rows, which are fewer than {FEWEST}")
    checks = [("each mutant changes one place and names its tests", wrong), ("the table is whole", names)]
    print(f"1..{len(checks)}")
    for number, (name, problems) in enumerate(checks, 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    return 1 if wrong or names else 0


if __name__ == "__main__":
    sys.exit(main())
