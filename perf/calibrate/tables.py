"""The study as a table in text or Markdown, and as a plot of power curves."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from perf.calibrate.study import OURS, PLANTED, Row
from perf.compare.wording import percent
from perf.report.table import table

_SHOWN = (0.015, 0.03, 0.05, 0.10)
COLUMNS = (
    "rule",
    "design",
    "false alarm in a run",
    "per key",
    *(f"finds {percent(size)}" for size in _SHOWN),
    "real slow-downs",
)


def text_table(rows: Sequence[Row]) -> str:
    """Aligned columns; power is that for fused kernels."""
    return table(COLUMNS, [_cells(row) for row in rows])


def markdown_table(rows: Sequence[Row]) -> str:
    """The same for a README."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(_cells(row) for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _cells(row: Row) -> tuple[str, ...]:
    found = sum(share.hits for share in row.real.values())
    asked = sum(share.total for share in row.real.values())
    return (
        row.setting.rule,
        f"{row.setting.design.name}; {row.setting.data}"
        if row.setting.rule == OURS
        else row.setting.design.name,
        row.false_runs.text_with_interval,
        row.false_keys.text,
        *(row.power[size].text for size in _SHOWN),
        f"{percent(found / asked)} of {len(row.real)}" if asked else "–",
    )


def power_table(rows: Sequence[Row]) -> str:
    """Power of our own rule at every size, fused kernels and the others."""
    columns = ("design", "keys", *(percent(size) for size in PLANTED))
    lines = [
        (f"{row.setting.design.name}; {row.setting.data}", name, *(shares[size].text for size in PLANTED))
        for row in rows
        if row.setting.rule == OURS
        for name, shares in (("fused", row.power), ("other", row.others))
    ]
    return table(columns, lines)


def real_table(rows: Sequence[Row]) -> str:
    """Every key that a real upgrade slowed down, and how often our rule found it."""
    lines = [
        (row.setting.design.name, key, share.text)
        for row in rows
        if row.setting.rule == OURS
        for key, share in row.real.items()
    ]
    return table(("design", "really slower key", "found"), lines)


def plot(rows: Iterable[Row], path: Path) -> None:
    """Draw power against the planted slow-down: our designs as lines, the usual rules as dashes.

    Raises:
        ValueError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError("a plot needs matplotlib: pip install 'attention-perf[plot]'") from error
    figure = Figure(figsize=(9, 9), layout="constrained")
    axes = figure.subplots()
    for row in rows:
        ours = row.setting.rule == OURS
        false = f"{row.false_runs.text} false runs" if row.false_runs.total else "false runs not counted"
        name = f"{row.setting.design.name}; {row.setting.data}" if ours else row.setting.rule
        found = [row.power[size].hits / max(row.power[size].total, 1) for size in PLANTED]
        sizes = [size * 100 for size in PLANTED]
        axes.plot(sizes, found, "o-" if ours else ".--", lw=2 if ours else 1, label=f"{name} ({false})")
    axes.set(xscale="log", xlabel="planted slow-down of fused kernels, %", ylabel="found, share of keys")
    axes.set_xticks([size * 100 for size in PLANTED], [f"{size * 100:g}" for size in PLANTED])
    figure.legend(fontsize=6, loc="outside lower center", ncols=2)
    figure.savefig(path)
