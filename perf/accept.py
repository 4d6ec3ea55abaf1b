"""Accepting a change: the next baseline from records that somebody decided to take, with who, why and what.

Imports neither jax nor torch: a change is accepted wherever its review happens.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import Any

from perf.baseline import FEWEST_RUNS, accepted_now, baseline, entry, write_next
from perf.compare.sides import FileSide, read_side
from perf.environment import stack_lines
from perf.records.schema import Acceptance, KeyRecord, Step
from perf.records.store import Record, RecordError, in_force

HELD_BACK = frozenset({"sw-thermal-slowdown", "hw-thermal-slowdown", "hw-slowdown", "hw-power-brake"})
"""Throttle reasons of a GPU in trouble. The software power cap is none: long kernels meet it in daily use."""


def accept(root: Path, paths: Sequence[Path], *, reason: str, only: str | None, first: bool) -> Path:
    """Write the next baseline of the records' GPU.

    Args:
        root: Folder of all baselines.
        paths: Records of one stack, pooled.
        only: Glob of the keys to accept; the others stay as they are in force. None accepts the record whole.
        first: Whether this GPU is meant to get its first baseline.

    Raises:
        RecordError: No reason, a failed or throttled key, too few process runs, a partial record, a GPU
            without a baseline, or a glob that matches nothing.
        CompareError: The records do not belong together.
    """
    if not reason.strip():
        raise RecordError("--reason: expected why the change is accepted, found an empty text")
    side = read_side(paths, "record")
    before = in_force(root / side.environment.slug)
    if (before is None) != first:
        raise RecordError(_which_gpu(root, side, before))
    chosen = [record for record in side.records if fnmatchcase(record.key, only or "*")]
    _refuse_unfit(side, chosen, only)
    content = _content(side, before, chosen, _acceptance(side, before, chosen, reason, only))
    return write_next(root, side.files[0], content)


def _which_gpu(root: Path, side: FileSide, before: Record | None) -> str:
    if before:
        return f"--first: {before.path} is in force already; leave the option out"
    known = ", ".join(sorted(p.name for p in root.iterdir() if p.is_dir())) or "none"
    return (
        f"{side.files[0].path} is of {side.environment.slug}, which has no baseline (there are: {known}); "
        "--first begins one"
    )


def _refuse_unfit(side: FileSide, chosen: Sequence[KeyRecord], only: str | None) -> None:
    if side.partial:
        raise RecordError(f"a partial record is not accepted: {side.partial[0]}")
    failed = [o for o in side.outcomes.values() if o.outcome == "failed" and fnmatchcase(o.key, only or "*")]
    if failed:
        raise RecordError(
            f"{len(failed)} failed keys, first {failed[0].key}: {failed[0].text.splitlines()[0]}"
        )
    if not chosen:
        raise RecordError(f"--only: {only!r} matches none of the {len(side.records)} keys")
    for record in chosen:
        if len(record.processes) < FEWEST_RUNS:
            raise RecordError(
                f"{record.key}: expected at least {FEWEST_RUNS} process runs, found {len(record.processes)}; "
                "give several records, or record anew: python -m perf baseline record"
            )
        held = {name for run in record.processes if run.gpu for name in run.gpu.throttle} & HELD_BACK
        if held:
            raise RecordError(
                f"{record.key}: the GPU was held back ({', '.join(sorted(held))}); measure again"
            )


def _acceptance(
    side: FileSide, before: Record | None, chosen: Sequence[KeyRecord], reason: str, only: str | None
) -> Acceptance:
    now = accepted_now(reason)
    if before is None:
        return now
    stack = stack_lines(before.session.environment, side.environment)
    known = [(before.keys[record.key], record) for record in chosen if record.key in before.keys]
    steps = [Step(key=new.key, before_s=middle_s(old), after_s=middle_s(new)) for old, new in known]
    return now.model_copy(update={"replaces": before.path.name, "only": only, "stack": stack, "steps": steps})


def _content(
    side: FileSide, before: Record | None, chosen: Sequence[KeyRecord], acceptance: Acceptance
) -> dict[str, Any]:
    source = side.files[0]
    if before is None or acceptance.only is None:
        return baseline(source, chosen, acceptance)
    content = baseline(before, list(before.keys.values()), acceptance)
    fresh = {record.key: entry(source, record) for record in chosen}
    kept = [b for b in content["benchmarks"] if b["extra_info"]["perf"]["key"] not in fresh]
    return {**content, "benchmarks": [*kept, *fresh.values()]}


def middle_s(record: KeyRecord) -> float:
    """Median of the medians of the process runs."""
    return median(median(run.data_s) for run in record.processes)
