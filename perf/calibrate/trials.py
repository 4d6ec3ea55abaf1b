"""Trials: a base, a head in the order of its measuring, and what was planted into the head.

From real processes (all keys of a side come from the same processes) or resampled (every key draws its own
process runs, with replacement): the first keep what keys of a process have in common, the second give as
many trials as wanted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from perf.calibrate.recorded import Recording
from perf.records.schema import KeyRecord, ProcessRun

Runs = tuple[ProcessRun, ...]


@dataclass(frozen=True, kw_only=True)
class Design:
    """How a comparison is laid out.

    Args:
        base_runs: Process runs of the base.
        looks: Process runs of the head at every look; more than one look measures undecided keys again.
    """

    name: str
    base_runs: int
    looks: tuple[int, ...]
    same_machine: bool = True

    def within(self, head_runs: int) -> "Design":
        """The same with no more process runs of the head than there are."""
        return replace(self, looks=tuple(look for look in self.looks if look <= head_runs))


STORED = Design(name="1 run, stored baseline of 5", base_runs=5, looks=(1, 3, 5))
ELSEWHERE = Design(
    name="1 run, baseline from another machine", base_runs=5, looks=(1, 3, 5), same_machine=False
)
INTERLEAVED = Design(name="5 + 5 interleaved", base_runs=5, looks=(5,))


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One imagined comparison.

    Args:
        keys: What is compared, without process runs of its own.
        base: For every key its process runs.
        head: The same in the order of measuring; a rule may not look at all of them.
        planted: For the keys that were slowed down the factor, above 1.
    """

    keys: Mapping[str, KeyRecord]
    base: Mapping[str, Runs]
    head: Mapping[str, Runs]
    planted: Mapping[str, float] = field(default_factory=dict)

    def with_planted(self, planted: Mapping[str, float]) -> "Trial":
        """The same trial with a head that is slower in some keys."""
        head = {
            key: tuple(slowed(run, planted[key]) for run in runs) if key in planted else runs
            for key, runs in self.head.items()
        }
        return Trial(keys=self.keys, base=self.base, head=head, planted=planted)


def slowed(run: ProcessRun, factor: float) -> ProcessRun:
    """The same process run with all times longer."""
    data_s, wall_s = ([value * factor for value in times] for times in (run.data_s, run.wall_s))
    return run.model_copy(update={"data_s": data_s, "wall_s": wall_s})


def real(
    base: Recording, head: Recording, design: Design, *, rng: np.random.Generator, count: int
) -> Iterator[Trial]:
    """Splits of real processes into base and head; of one recording, no process is on both sides."""
    for _ in range(count):
        order = rng.permutation(len(base.processes))
        chosen = [base.processes[number] for number in order]
        if head is base:
            rest = chosen[design.base_runs :]
        else:
            rest = [head.processes[number] for number in rng.permutation(len(head.processes))]
        yield Trial(
            keys=chosen[0],
            base=_runs(chosen[: design.base_runs]),
            head=_runs(rest[: design.looks[-1]]),
        )


def _runs(processes: Sequence[Mapping[str, KeyRecord]]) -> dict[str, Runs]:
    common = [key for key in processes[0] if all(key in process for process in processes)]
    return {key: tuple(process[key].processes[0] for process in processes) for key in common}


def resampled(
    base: Recording, head: Recording, design: Design, *, rng: np.random.Generator, count: int
) -> Iterator[Trial]:
    """Every key draws its process runs by itself, with replacement."""
    every_base, every_head = _runs(base.processes), _runs(head.processes)
    for _ in range(count):
        yield Trial(
            keys=base.processes[0],
            base={key: _draw(runs, design.base_runs, rng) for key, runs in every_base.items()},
            head={key: _draw(runs, design.looks[-1], rng) for key, runs in every_head.items()},
        )


def _draw(runs: Runs, count: int, rng: np.random.Generator) -> Runs:
    return tuple(runs[number] for number in rng.integers(len(runs), size=count))
