"""Baselines for people who review them: what is in one, why it was accepted, what is wrong with a folder."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from perf.baseline import FEWEST_RUNS, samples, stack_name
from perf.records.schema import Acceptance, KeyRecord
from perf.records.store import Record, RecordError, load, numbered
from perf.report.table import table
from perf.units import percent, seconds

COLUMNS = ("key", "runs", "time", "spread", "clock")
_HOME = re.compile(r'"/(?:home|root|Users|opt|srv|mnt|work)[^"]*/')


def show(record: Record) -> str:
    """Stack, approval, and every key with the spread between its process runs."""
    here = record.session.environment
    stack = [
        f"jax {here.packages.get('jax', 'none')}",
        f"cuDNN {here.cudnn or 'none'}",
        f"driver {here.driver or 'none'}",
    ]
    rows = [_row(key) for key in record.keys.values()]
    return "\n".join(
        [
            f"{record.path}: {record.session.kind} of {here.slug}, {', '.join(stack)}, Python {here.python}",
            *acceptance_lines(record.session.acceptance),
            table(COLUMNS, rows, right=(1, 2, 3)),
        ]
    )


def _row(key: KeyRecord) -> tuple[str, ...]:
    medians = [median(run.data_s) for run in key.processes]
    spread = f"{100 * (max(medians) / min(medians) - 1):.1f} %"
    return key.key, str(len(medians)), seconds(median(medians)), spread, key.clock


def acceptance_lines(acceptance: Acceptance | None) -> list[str]:
    """Who, when and why; then what changed, the worst first."""
    if acceptance is None:
        return ["nobody accepted it"]
    lines = [f"accepted by {acceptance.by} at {acceptance.at}: {acceptance.reason}"]
    if acceptance.replaces:
        part = f", keys {acceptance.only} alone" if acceptance.only else ""
        lines.append(f"replaces {acceptance.replaces}{part}")
    lines += acceptance.stack
    worst_first = sorted(acceptance.steps, key=lambda s: s.before_s / s.after_s)
    return [
        *lines,
        *(
            f"{step.key}: {seconds(step.before_s)} → {seconds(step.after_s)} "
            f"({percent(step.after_s / step.before_s - 1, signed=True)})"
            for step in worst_first
        ),
    ]


def faults(folder: Path) -> Iterator[str]:
    """What a reviewer must not let pass, a line each with the file's name."""
    numbers = [int(path.name[:4]) for path in numbered(folder)]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"{folder}: expected the numbers 1 to {len(numbers)}, found {numbers}"
    for path in numbered(folder):
        try:
            record = load(path)
        except RecordError as error:
            yield str(error)
            continue
        yield from (f"{path}: {fault}" for fault in _faults(record, folder))


def _faults(record: Record, folder: Path) -> Iterator[str]:
    if record.session.environment.slug != folder.name:
        yield f"of {record.session.environment.slug}, in the folder of {folder.name}"
    if record.session.kind != "baseline" or record.session.acceptance is None:
        yield "not an accepted baseline"
    if not record.path.name.endswith(f"_{stack_name(record)}.json"):
        yield f"expected a name that ends in _{stack_name(record)}.json"
    if record.session.partial:
        yield f"partial: {record.session.partial}"
    few = [key.key for key in record.keys.values() if len(key.processes) < FEWEST_RUNS]
    if few:
        yield f"{len(few)} keys with fewer than {FEWEST_RUNS} process runs, first {few[0]}"
    if _HOME.search(record.path.read_text(encoding="utf-8")):
        yield "holds a path of the machine that it was recorded on"
    yield from _false_statistics(record)


def _false_statistics(record: Record) -> Iterator[str]:
    """An edited sample, or an edited median: pytest-benchmark's statistics are those of the samples."""
    for benchmark in record.raw["benchmarks"]:
        key = record.keys[benchmark["extra_info"]["perf"]["key"]]
        expected, found = samples(key).median, benchmark["stats"]["median"]
        if not math.isclose(found, expected, rel_tol=1e-6):
            yield f"{key.key}: stats.median: expected {expected!r} from the samples, found {found!r}"
