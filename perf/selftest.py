"""A check of the suite by itself: equal stacks must be called the same, a planted slow-down must be found.

Noisy: process runs of one stack, taken in turn as base and head, give a verdict other than same. Blind: the
same process runs, with the head's samples made longer, are not called slower.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perf.compare import Comparison, Kind, Thresholds, compare
from perf.compare.sides import FileSide, ask
from perf.process_run import measure_run, refuse_failed
from perf.records.schema import KeyRecord

PLANTED = 4.0
"""The planted slow-down, in changes that must not be called same: a healthy machine shows it."""

LEAST_FOUND = 0.95


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """What was found.

    Args:
        equal: The verdicts when nothing differs.
        missed: Keys whose planted slow-down was not called slower.
    """

    equal: Comparison
    missed: tuple[str, ...]

    @property
    def alarms(self) -> tuple[str, ...]:
        """Keys that moved although nothing changed, in words."""
        moved = (v for v in self.equal.verdicts if v.verdict in (Kind.SLOWER, Kind.FASTER) or v.fails)
        return tuple(f"{v.key}: {v.text}" for v in moved)

    @property
    def passed(self) -> bool:
        """Neither noisy nor blind."""
        keys = self.equal.summary.compared
        return keys > 0 and not self.alarms and len(self.missed) <= (1 - LEAST_FOUND) * keys


def measure_in_turn(folder: Path, arguments: Sequence[str], *, runs: int) -> tuple[list[Path], list[Path]]:
    """Take process runs for two equal sides: base, head, head, base, base, … so that drift meets both alike.

    Raises:
        RecordError: A process run failed or a key is wrong in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sides: tuple[list[Path], list[Path]] = ([], [])
    for number in range(2 * runs):
        side = (number + 1) // 2 % 2
        path = folder / f"{'base' if side == 0 else 'head'}-{number + 1}.json"
        start_s = time.monotonic()
        refuse_failed(measure_run(path, [f"--order-seed={number}", *arguments], log=path.with_suffix(".txt")))
        print(f"process run {number + 1} of {2 * runs}: {time.monotonic() - start_s:.0f} s", flush=True)
        sides[side].append(path)
    return sides


def judge(base: Sequence[Path], head: Sequence[Path], *, thresholds: Thresholds) -> SelfTest:
    """Compare as they are, and with a slow-down planted in the head."""
    question = ask(base, head, thresholds=thresholds)
    slower = [_planted(record, thresholds) for record in question.head.records]
    verdicts = _compared(question.base, slower, thresholds).verdicts
    missed = tuple(v.key for v in verdicts if v.verdict is not Kind.SLOWER)
    return SelfTest(equal=question.comparison(), missed=missed)


def _compared(base: FileSide, head: Sequence[KeyRecord], thresholds: Thresholds) -> Comparison:
    return compare(
        base.records, head, thresholds=thresholds, base_machine=base.machine, head_machine=base.machine
    )


def _planted(record: KeyRecord, thresholds: Thresholds) -> KeyRecord:
    limits = thresholds.for_key(record.key, backend=record.backend, clock=record.clock)
    factor = 1 + PLANTED * limits.same_within
    runs = [run.model_copy(update={"data_s": [factor * s for s in run.data_s]}) for run in record.processes]
    return record.model_copy(update={"processes": runs})
