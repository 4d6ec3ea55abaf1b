"""Shards put together: one record from runs that took a part each, on GPUs of one model and one stack."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perf.environment import stack_lines
from perf.records.schema import Selected, Shard
from perf.records.store import Record, RecordError, load, write_new

OF_THE_HOST = ("machine:", "gpu.count:")
"""What may differ between the machines of a fleet, as `stack_lines` names it."""


def merge(paths: Sequence[Path], out: Path) -> Record:
    """Read the shards and write the whole.

    Raises:
        RecordError: See `merged`; or a file that cannot be read or written.
    """
    write_new(out, merged([load(path) for path in paths]))
    return load(out)


def merged(records: Sequence[Record]) -> dict[str, Any]:
    """One record's content.

    Raises:
        RecordError: No shard, a missing or doubled one, another selection, or another stack.
    """
    shards = _by_number(records)
    first = records[0]
    for record in records[1:]:
        _refuse_other(first, record)
    ordered = [shards[number] for number in sorted(shards)]
    partial = [f"{r.path.name}: {r.session.partial}" for r in ordered if r.session.partial]
    changed = {
        "outcomes": [outcome for record in ordered for outcome in record.session.outcomes],
        "partial": "; ".join(partial) or None,
        "selected": _whole(first),
    }
    session = first.session.model_copy(update=changed).model_dump(mode="json", by_alias=True)
    benchmarks = [benchmark for record in ordered for benchmark in record.raw["benchmarks"]]
    return {**first.raw, "benchmarks": benchmarks, "perf": session}


def _by_number(records: Sequence[Record]) -> dict[int, Record]:
    found: dict[int, Record] = {}
    for record in records:
        number = _shard(record).number
        if number in found:
            raise RecordError(f"{record.path}: shard {number} again; {found[number].path} has it")
        found[number] = record
    count = max(_shard(record).count for record in records)
    missing = [str(number) for number in range(1, count + 1) if number not in found]
    if missing:
        raise RecordError(f"expected {count} shards, found {len(found)}: missing {', '.join(missing)}")
    return found


def _shard(record: Record) -> Shard:
    shard = record.session.selected.shard if record.session.selected else None
    if shard is None:
        raise RecordError(f"{record.path}: perf.selected.shard: expected a shard, found a whole run")
    return shard


def _whole(record: Record) -> Selected | None:
    selected = record.session.selected
    return selected.model_copy(update={"shard": None}) if selected else None


def _refuse_other(first: Record, record: Record) -> None:
    if _shard(record).count != _shard(first).count or _whole(record) != _whole(first):
        raise RecordError(f"{record.path}: a shard of another selection than {first.path}")
    lines = stack_lines(first.session.environment, record.session.environment)
    other = [line for line in lines if not line.startswith(OF_THE_HOST)]
    if other:
        raise RecordError(f"{record.path}: another stack than {first.path}: {'; '.join(other)}")
