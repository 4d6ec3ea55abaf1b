"""A selection split into shards of about equal cost, the same on every machine."""

from collections.abc import Iterable

from perf.cases import Case
from perf.grids import Entry
from perf.work import flop

KEY_S = 1.0
CASE_S = 1.0
CALLS = 300
FLOP_PER_S = 3e14
"""Weights, not promises: what a key and a case cost beside their kernels, how often a kernel runs with its
pause, and at what rate. On one H200 a gate of 79 keys took 104 s a process run."""


def split(entries: Iterable[Entry], count: int) -> list[tuple[Entry, ...]]:
    """Deal the cases, the costliest first, each to the shard that has least; order stays the grids'.

    All keys of a case stay together: they share its arrays and its reference.
    """
    entries = tuple(entries)
    costs = {case: cost_s(case, entries) for case in dict.fromkeys(entry.case for entry in entries)}
    loads, owner = [0.0] * count, dict[Case, int]()
    for case, cost in sorted(costs.items(), key=lambda pair: (-pair[1], pair[0].id)):
        least = loads.index(min(loads))
        owner[case] = least
        loads[least] += cost
    return [tuple(e for e in entries if owner[e.case] == shard) for shard in range(count)]


def cost_s(case: Case, entries: Iterable[Entry]) -> float:
    """Expected seconds of a case with all its keys."""
    mine = [entry for entry in entries if entry.case == case]
    kernels_s = sum(CALLS * flop(case, entry.key.direction) / FLOP_PER_S for entry in mine)
    return CASE_S + KEY_S * len(mine) + kernels_s
