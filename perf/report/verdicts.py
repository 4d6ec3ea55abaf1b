"""The verdict section: regressions first, then improvements, then what else was found, then the counts."""

from collections.abc import Iterable, Sequence

from perf.compare import Code, Comparison, Kind, Reason, Verdict
from perf.environment import stack_lines
from perf.records.schema import Environment
from perf.report.table import table
from perf.units import kernel_name, percent, seconds

COLUMNS = ("verdict", "key", "base", "now", "change", "noise", "reason")
QUIET = frozenset({Kind.SAME})


def verdict_lines(comparison: Comparison, base: Environment, head: Environment) -> list[str]:
    """The section as lines: what differs between the stacks, the changed keys, the findings, the counts."""
    lines = [*environment_lines(base, head), *change_lines(comparison)]
    lines += [comparison.stale_text] if comparison.stale_text else []
    return [*lines, comparison.minimum_detectable_text, count_line(comparison)]


def change_lines(comparison: Comparison) -> list[str]:
    """The changed keys as a table, and what the exact comparisons found."""
    lines = [comparison.shift.text] if comparison.shift else []
    shown = [v for v in comparison.verdicts if v.fails or v.verdict not in QUIET]
    if shown:
        lines.append(table(COLUMNS, [_row(v) for v in shown], right=(2, 3, 4, 5)))
    return [*lines, *finding_lines(comparison.verdicts)]


def environment_lines(base: Environment, head: Environment) -> list[str]:
    """What differs between the two stacks, or that nothing does."""
    return stack_lines(base, head) or ["environment: no difference"]


def finding_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """What the exact comparisons found, failures first; other kernels at the same speed are only counted."""
    told = [
        (not f.fails, f"{v.key}: {f.text}")
        for v in verdicts
        for f in v.findings
        if f.code is not Code.KERNELS
    ]
    quiet = [
        v.key for v in verdicts if v.verdict in QUIET and any(f.code is Code.KERNELS for f in v.findings)
    ]
    lines = [text for _, text in sorted(told)]
    if quiet:
        lines.append(
            f"other kernels at the same speed: {len(quiet)}, such as {quiet[0]} (--explain names them)"
        )
    return lines


def count_line(comparison: Comparison) -> str:
    """How many keys have which verdict."""
    summary = comparison.summary
    counts = ", ".join(f"{summary.verdicts.get(kind.value, 0)} {kind.value}" for kind in Kind)
    return f"{summary.compared} of {summary.keys} keys compared: {counts}; {summary.failing} fail"


def _row(verdict: Verdict) -> tuple[str, ...]:
    return (
        _label(verdict),
        verdict.key,
        _time(verdict.base_s),
        _time(verdict.head_s),
        "–" if verdict.change is None else percent(verdict.change, signed=True),
        "–" if verdict.noise is None else f"{100 * verdict.noise:.1f} %",
        _reason(verdict),
    )


def _label(verdict: Verdict) -> str:
    """The verdict, or what became of a key without a time; capitals when it fails the run."""
    lost = verdict.verdict is Kind.UNKNOWN and verdict.fails
    label = verdict.reason.value if lost else verdict.verdict.value
    return label.upper() if verdict.fails else label


def _time(value_s: float | None) -> str:
    return "–" if value_s is None else seconds(value_s)


def _reason(verdict: Verdict) -> str:
    if verdict.change is None or verdict.reason is Reason.WHOLE_SHIFT:
        return verdict.text.splitlines()[0]
    reason = verdict.reason.value
    if verdict.shared:
        own = (1 + verdict.change) / (1 + verdict.shared) - 1
        reason += f", {percent(own, signed=True)} beside what all share"
    old, new = (_kernels(names) for names in (verdict.kernels_base, verdict.kernels_head))
    gone, come = ([name for name in a if name not in b] for a, b in ((old, new), (new, old)))
    if not gone and not come:
        return reason
    return f"{reason}; ran {', '.join(come) or 'fewer'} instead of {', '.join(gone) or 'fewer'}"


def _kernels(names: Iterable[str]) -> list[str]:
    """Each kernel once; memory sets and copies are left out."""
    return list(dict.fromkeys(kernel_name(name) for name in names if not name.startswith("[")))
