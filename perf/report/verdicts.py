"""The verdict section: regressions first, then improvements, then counts."""

from perf.compare import Comparison
from perf.environment import difference
from perf.records.schema import Environment
from perf.report.table import table
from perf.report.units import percent, seconds

COLUMNS = ("verdict", "key", "base", "now", "change", "noise", "why")


def verdict_lines(comparison: Comparison, base: Environment, head: Environment) -> list[str]:
    """The section as lines: what differs between the two stacks, the table, the counts."""
    changed = difference(base, head)
    lines = [f"{field}: {old} → {new}" for field, old, new in changed]
    lines = lines or ["environment: no difference"]
    shown = [v for v in comparison.verdicts if v.verdict != "same" or v.findings]
    if comparison.shift:
        lines.append(comparison.shift.text)
    if shown:
        lines.append(table(COLUMNS, [_row(v) for v in shown], right=(2, 3, 4, 5)))
    lines += [f.text for v in comparison.verdicts for f in v.findings if f.fails]
    return [*lines, comparison.text]
