"""What the benchmarks print: tables in Markdown, targets and whether they were met, sections of a page."""

import operator
import os
import platform
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass

COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
TARGET_HEADER = ["Sandgate", "target", "measured", "met"]


@dataclass(frozen=True)
class Target:
    title: str
    unit: str
    better: str
    limit: float
    values: Callable

    def met(self, value):
        return COMPARE[self.better](value, self.limit)


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def target_row(target, values):
    measured = statistics.median(values)
    spread = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
    limit = f"{target.better} {target.limit:g}{target.unit}"
    met = "yes" if target.met(measured) else "no"
    return [target.title, limit, f"{measured:.2f}{target.unit}{spread}", met]


def target_table(judged):
    """`judged`: pairs of a target and its values."""
    return table(TARGET_HEADER, [target_row(target, values) for target, values in judged])


def describe_machine():
    kernel = ".".join(platform.release().split(".")[:2])
    cores = f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} cores"
    return f"{cores}, Linux {kernel}, {platform.machine()}"


def write_section(path, text, marks):
    begin, end = marks
    old = path.read_text() if path.exists() else f"# Benchmarks\n\n{begin}\n{end}\n"
    if begin not in old or end not in old.partition(begin)[2]:
        sys.exit(f"{path} has no {begin} and {end}")
    before, _, rest = old.partition(begin)
    path.write_text(f"{before}{begin}\n{text}{end}{rest.partition(end)[2]}")


def show(text, path, marks):
    """Prints it; with a path, also puts it between the marks there."""
    print(text, end="")
    if path:
        write_section(path, text, marks)


def publish(text, options, marks, judged):
    """Shows it; the exit status: 1 with --check where a target was missed."""
    show(text, options.markdown, marks)
    missed = [target for target, values in judged if not target.met(statistics.median(values))]
    return 1 if options.check and missed else 0
