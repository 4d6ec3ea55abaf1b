"""Baselines: several fresh process runs pooled into one approved record. Imports neither jax nor torch."""

import getpass
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_benchmark.stats import Stats

from perf.environment import portable
from perf.process_run import measure_run, refuse_failed
from perf.records.schema import Acceptance, KeyRecord
from perf.records.store import Record, RecordError, load, next_number, write_new

FEWEST_RUNS = 5
"""Between-process spread cannot be told from fewer; autotuning differs from process to process."""

RUNS = Path(".perf") / "runs"


def measure_runs(folder: Path, arguments: Sequence[str], *, runs: int) -> list[Record]:
    """Take process runs until the folder holds enough; runs of an interrupted attempt are used again."""
    folder.mkdir(parents=True, exist_ok=True)
    records = []
    for number in range(1, runs + 1):
        path = folder / f"run-{number}.json"
        if path.exists():
            print(f"process run {number} of {runs}: kept from before ({path})")
            records.append(load(path))
            continue
        start_s = time.monotonic()
        print(f"process run {number} of {runs} …", flush=True)
        try:
            records.append(measure_run(path, [f"--order-seed={number}", *arguments]))
            refuse_failed(records[-1])
        except RecordError as error:
            text = f"process run {number}: {error}; its samples are in .perf/journal.jsonl"
            raise RecordError(text) from error
        print(f"process run {number} of {runs}: {time.monotonic() - start_s:.0f} s", flush=True)
    return records


def pooled(records: Sequence[Record], *, reason: str) -> dict[str, Any]:
    """One record from several process runs of the same keys on the same stack.

    Raises:
        RecordError: Too few runs, a partial run, failed keys, other keys, or another stack.
    """
    first = records[0]
    _refuse_unfit(records)
    return baseline(first, [_merged(key, records) for key in first.keys], accepted_now(reason))


def accepted_now(reason: str) -> Acceptance:
    """Approval by this user at this time."""
    return Acceptance(by=approver(), at=datetime.now(UTC).isoformat(timespec="seconds"), reason=reason)


def baseline(first: Record, keys: Sequence[KeyRecord], acceptance: Acceptance) -> dict[str, Any]:
    """A baseline's content: one record's session, and keys whose process runs are pooled.

    Args:
        first: Gives everything that is not a number; it has every key.
    """
    here = portable(first.session.environment)
    changed = {"kind": "baseline", "acceptance": acceptance, "environment": here}
    session = first.session.model_copy(update=changed).model_dump(mode="json", by_alias=True)
    return {**first.raw, "benchmarks": [entry(first, key) for key in keys], "perf": session}


def approver() -> str:
    """Who approves: the name that git commits under, else the user's."""
    command = ["git", "config", "user.name"]
    with suppress(OSError):
        name = subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()  # noqa: S603
        if name:
            return name
    return getpass.getuser()


def _refuse_unfit(records: Sequence[Record]) -> None:
    first = records[0]
    if len(records) < FEWEST_RUNS:
        raise RecordError(f"a baseline needs at least {FEWEST_RUNS} process runs, found {len(records)}")
    for record in records:
        if record.session.partial:
            raise RecordError(f"{record.path}: partial run: {record.session.partial}")
        failed = [o.key for o in record.session.outcomes if o.outcome == "failed"]
        if failed:
            raise RecordError(f"{record.path}: {len(failed)} failed keys, first {failed[0]}")
        if set(record.keys) != set(first.keys):
            odd = sorted(set(record.keys) ^ set(first.keys))
            raise RecordError(f"{record.path}: other keys than {first.path}: {', '.join(odd[:5])}")
        if stack(record) != stack(first):
            raise RecordError(f"{record.path}: another stack than {first.path}")


def stack(record: Record) -> dict[str, Any]:
    """What must be equal in all process runs of a baseline."""
    return record.session.environment.model_dump(exclude={"libraries"})


def _merged(key: str, records: Sequence[Record]) -> KeyRecord:
    runs = [run for record in records for run in record.keys[key].processes]
    return records[0].keys[key].model_copy(update={"processes": runs})


def entry(source: Record, key: KeyRecord) -> dict[str, Any]:
    """pytest-benchmark's entry of a key, with the statistics of all its process runs."""
    old = next(b for b in source.raw["benchmarks"] if b["extra_info"]["perf"]["key"] == key.key)
    pooled = samples(key)
    stats = old["stats"] | {**pooled.as_dict(), "data": list(pooled.data)}
    extra_info = old["extra_info"] | {"perf": key.model_dump(mode="json")}
    return {**old, "stats": stats, "extra_info": extra_info}


def samples(key: KeyRecord) -> Stats:
    """pytest-benchmark's own statistics over the samples of all process runs."""
    stats = Stats()
    for sample in (s for run in key.processes for s in run.data_s):
        stats.update(sample)
    return stats


def stack_name(record: Record) -> str:
    """The stack in a file name: ``jax0.11.2-cudnn9.19.0``."""
    here = record.session.environment
    parts = [f"jax{here.packages.get('jax', 'none')}"]
    return "-".join([*parts, *([f"cudnn{here.cudnn}"] if here.cudnn else [])])


def write_baseline(root: Path, records: Sequence[Record], *, reason: str) -> Path:
    """Pool the runs and write the next number of this GPU's folder."""
    return write_next(root, records[0], pooled(records, reason=reason))


def write_next(root: Path, first: Record, content: dict[str, Any]) -> Path:
    """Write a baseline under the next number of its GPU's folder, named by its stack."""
    folder = root / first.session.environment.slug
    path = folder / f"{next_number(folder):04}_{stack_name(first)}.json"
    write_new(path, content)
    return path


def describe(records: Iterable[Record]) -> str:
    """How many keys and process runs, in words."""
    listed = list(records)
    return f"{len(listed[0].keys)} keys, {len(listed)} process runs"
