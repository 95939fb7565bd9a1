"""Checks of the tree, printed as TAP."""


def run(checks):
    """Pairs of a name and the problems that were found. The exit status."""
    failed = 0
    print(f"1..{len(checks)}")
    for number, (name, problems) in enumerate(checks, 1):
        problems = list(problems)
        failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        print("".join(f"# {problem}\n" for problem in problems), end="")
    return 1 if failed else 0
