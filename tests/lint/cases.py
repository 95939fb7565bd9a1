#!/usr/bin/env python3
"""docs/CONTRACT_CASES.md names contract cases that exist, and leaves none of the dialects' and the policy's own out.
Prints TAP."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs/CONTRACT_CASES.md"
CASES = ROOT / "tests/contract/cases"
SUBJECTS = ("native", "sidecar", "system", "toolhost", "runner", "policy")


def cases_there():
    """As run.py prints them: file, colon, name."""
    return {f"{path.stem}: {case['name']}" for path in CASES.glob("*.json") for case in json.loads(path.read_text())}


def rows():
    """Section, requirement and cases of every line of the tables."""
    section = ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        if line.startswith("| ") and not line.startswith("| requirement |"):
            requirement, cases = (cell.strip() for cell in line.strip("|").split("|"))
            yield section, requirement, cases.split("<br>")


def checks():
    there = cases_there()
    table = list(rows())
    named = {case for _, _, cases in table for case in cases}
    own = {case for case in there if case.split("_", 1)[0] in SUBJECTS}
    lacking = [name for name in SUBJECTS if not any(s.lower() == f"{name} requirements" for s, _, _ in table)]
    return [
        ("every case that is named exists", sorted(named - there)),
        ("every case of a dialect's or the policy's own is named", sorted(own - named)),
        ("every dialect and the policy have their requirements", lacking),
        ("every requirement has a case", [r for _, r, cases in table if not any(cases)]),
    ]


def main():
    failed = 0
    found = checks()
    print(f"1..{len(found)}")
    for number, (name, problems) in enumerate(found, 1):
        failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"#   {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
