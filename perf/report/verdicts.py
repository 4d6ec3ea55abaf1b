"""The verdict section: regressions first, then improvements, then what else was found, then the counts."""

from collections.abc import Iterable

from perf.compare import Comparison, Kind, Reason, Verdict
from perf.environment import difference, portable
from perf.records.schema import Environment
from perf.report.table import table
from perf.report.units import kernel_name, percent, seconds

COLUMNS = ("verdict", "key", "base", "now", "change", "noise", "reason")
QUIET = frozenset({Kind.SAME})


def verdict_lines(comparison: Comparison, base: Environment, head: Environment) -> list[str]:
    """The section as lines: what differs between the stacks, the changed keys, the findings, the counts."""
    lines = environment_lines(base, head)
    if comparison.shift:
        lines.append(comparison.shift.text)
    shown = [v for v in comparison.verdicts if v.fails or v.verdict not in QUIET]
    if shown:
        lines.append(table(COLUMNS, [_row(v) for v in shown], right=(2, 3, 4, 5)))
    lines += finding_lines(comparison.verdicts)
    lines += [comparison.stale_text] if comparison.stale_text else []
    return [*lines, comparison.minimum_detectable_text, count_line(comparison)]


def environment_lines(base: Environment, head: Environment) -> list[str]:
    """What differs between the two stacks, a line each; folders and the GPU's serial are none of that."""
    changed = [d for d in difference(portable(base), portable(head)) if d.field != "gpu.uuid"]
    if not changed:
        return ["environment: no difference"]
    return [f"{d.field}: {d.a or 'none'} → {d.b or 'none'}" for d in changed]


def finding_lines(verdicts: Iterable[Verdict]) -> list[str]:
    """What the exact comparisons found, failures first."""
    found = [(not f.fails, f"{v.key}: {f.text}") for v in verdicts for f in v.findings]
    return [text for _, text in sorted(found)]


def count_line(comparison: Comparison) -> str:
    """How many keys have which verdict."""
    summary = comparison.summary
    counts = ", ".join(f"{summary.verdicts.get(kind.value, 0)} {kind.value}" for kind in Kind)
    return f"{summary.compared} of {summary.keys} keys compared: {counts}; {summary.failing} fail"


def _row(verdict: Verdict) -> tuple[str, ...]:
    return (
        "SLOWER" if verdict.verdict is Kind.SLOWER else verdict.verdict.value,
        verdict.key,
        _time(verdict.base_s),
        _time(verdict.head_s),
        "–" if verdict.change is None else percent(verdict.change, signed=True),
        "–" if verdict.noise is None else f"{100 * verdict.noise:.1f} %",
        _reason(verdict),
    )


def _time(value_s: float | None) -> str:
    return "–" if value_s is None else seconds(value_s)


def _reason(verdict: Verdict) -> str:
    if verdict.change is None or verdict.reason is Reason.WHOLE_SHIFT:
        return verdict.text
    if verdict.kernels_base == verdict.kernels_head:
        return verdict.reason.value
    old, new = (" ".join(map(kernel_name, k)) for k in (verdict.kernels_base, verdict.kernels_head))
    return f"{verdict.reason.value}, other kernels: {old} → {new}"
