"""Our part of pytest's output: the header, the table of measured keys, the verdicts and the counts."""

import os
import sys
from collections import Counter
from statistics import median, pstdev
from typing import TYPE_CHECKING

from perf.records.schema import KeyRecord, ProcessRun
from perf.report.table import table
from perf.units import kernel_name, percent, seconds, tera
from perf.work import roofline_s

if TYPE_CHECKING:
    import pytest

    from perf.suite import Suite

COLUMNS = ("key", "time", "±", "wall", "TFLOP/s", "roofline", "kernels")


def header(suite: "Suite") -> list[str]:
    """What is measured on, with which clock, and against what."""
    here = suite.environment
    stack = [f"jax {here.packages.get('jax', 'missing')}"]
    stack += [f"cuDNN {here.cudnn}"] if here.cudnn else []
    stack += [f"driver {here.driver}"] if here.driver else []
    lines = [f"attention: {here.slug}, {', '.join(stack)}, {suite.clock} clock"]
    if suite.base:
        lines.append(f"baseline: {suite.base.path}")
    return [*lines, *(f"WARNING: {text}" for text in suite.spoilers)]


def summary(reporter: "pytest.TerminalReporter", suite: "Suite") -> None:
    """The table, the verdicts, and the counts as the last of our lines."""
    if suite.records:
        reporter.section("attention", sep="-")
        reporter.write_line(measured_table(list(suite.records.values()), suite.environment.slug))
    for line in not_measured(suite):
        reporter.write_line(line)
    if suite.comparison and suite.base:
        from perf.report.verdicts import verdict_lines  # SciPy takes a second to import

        reporter.section("verdict", sep="-")
        for line in verdict_lines(suite.comparison, suite.base.session.environment, suite.environment):
            reporter.write_line(line)
        if suite.remeasured.process_runs:
            reporter.write_line(str(suite.remeasured))
    if suite.collected:
        reporter.write_line(counts(suite))
        for line in no_baseline(suite):
            reporter.write_line(line, yellow=True)


def measured_table(records: list[KeyRecord], slug: str) -> str:
    """One row a key: time with its variation within the process, wall time, rate, and what ran."""
    return table(COLUMNS, [_row(record, slug) for record in records], right=(1, 2, 3, 4, 5))


def _row(record: KeyRecord, slug: str) -> tuple[str, ...]:
    run = record.processes[-1]
    time_s = median(run.data_s)
    least_s = roofline_s(str(record.case["dtype"]), record.flop, record.bytes, slug)
    return (
        record.key,
        seconds(time_s),
        f"{100 * pstdev(run.data_s) / time_s:.1f} %",
        seconds(median(run.wall_s)),
        tera(record.flop / time_s),
        percent(least_s / time_s) if least_s else "–",
        what_ran(run),
    )


def what_ran(run: ProcessRun) -> str:
    """The kernel that takes longest, and how many others there are; custom calls where none was seen."""
    kernels = [k for k in run.kernels if not k.name.startswith("[")]
    if not kernels:
        return ", ".join(run.custom_calls) or "not seen"
    longest = max(kernels, key=lambda kernel: kernel.s)
    others = f" +{len(kernels) - 1}" if len(kernels) > 1 else ""
    return kernel_name(longest.name) + others


def not_measured(suite: "Suite") -> list[str]:
    """Why the other keys have no time: failures one by one, refusals counted by reason."""
    outcomes = suite.outcomes.values()
    refused = Counter(o.text for o in outcomes if o.outcome == "unsupported")
    lines = [f"not run: {count} × {text}" for text, count in refused.most_common()]
    lines += [f"{o.outcome}: {o.key}: {o.text}" for o in outcomes if o.outcome == "known-failure"]
    return lines


def counts(suite: "Suite") -> str:
    """Measured, compared, skipped by reason, failed: the last line of a run."""
    kinds = Counter(o.outcome for o in suite.outcomes.values())
    codes = Counter(o.code for o in suite.outcomes.values() if o.outcome == "unsupported")
    compared = suite.comparison.summary.compared if suite.comparison else 0
    reasons = ", ".join(f"{code} {count}" for code, count in codes.most_common())
    parts = [
        f"{len(suite.collected)} keys: {kinds['measured']} measured",
        f"{compared} compared",
        f"{kinds['unsupported']} not supported{f' ({reasons})' if reasons else ''}",
        f"{kinds['known-failure']} known failures",
        f"{kinds['failed']} failed",
    ]
    return ", ".join(parts)


def _python() -> str:
    """This interpreter, as it can be typed here."""
    own = os.path.relpath(sys.executable)
    return sys.executable if own.startswith("..") else own


def no_baseline(suite: "Suite") -> list[str]:
    """What to say when a comparison was asked for and there is nothing to compare with."""
    if suite.comparison or not suite.wants_comparison:
        return []
    if suite.base:
        return ["NOTHING WAS COMPARED: the run was stopped, or it only collected."]
    return [
        f"NOTHING WAS COMPARED: there is no baseline for {suite.environment.slug}.",
        f"Make one from five fresh process runs: {_python()} -m perf baseline record --runs 5",
    ]
