"""How many rounds, and how far apart: the stated rule, and the checks that samples must pass.

Rounds: enough for `LEAST_TIME_S` of measured time, between `LEAST_ROUNDS` and `MOST_ROUNDS`; fewer, but
never under `FEWEST_ROUNDS`, where that would take longer than `MOST_WALL_S`. On the device clock every
round is preceded by a pause as long as the kernel ("equal-pause"): long kernels then stay below the power
cap (B2 T16384 N16 H128 causal on an H200: 4 % variation back to back, under 0.5 % paced).
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

WARM_UP_CALLS = 3
PILOT_CALLS = 3
WALL_CALLS = 20
LEAST_TIME_S = 2e-3
LEAST_ROUNDS = 30
MOST_ROUNDS = 100
FEWEST_ROUNDS = 5
MOST_WALL_S = 2.0


class SampleError(RuntimeError):
    """A sample that cannot be true."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Rounds of one key in one process, and the pause before each."""

    rounds: int
    pause_s: float


def plan(pilot_s: Sequence[float], pilot_wall_s: Sequence[float], *, paced: bool) -> Plan:
    """Apply the rule to a few pilot calls.

    Args:
        pilot_s: Time of each pilot call by the clock in use, seconds.
        pilot_wall_s: Wall time of each, seconds.
        paced: Whether a pause as long as a call precedes each round.

    Raises:
        SampleError: The clock saw no work.
    """
    call_s, wall_s = statistics.median(pilot_s), statistics.median(pilot_wall_s)
    if call_s <= 0:
        raise SampleError("the clock saw no work in the pilot calls: no kernel ran, or none was seen")
    pause_s = call_s if paced else 0.0
    wanted = min(max(math.ceil(LEAST_TIME_S / call_s), LEAST_ROUNDS), MOST_ROUNDS)
    affordable = max(int(MOST_WALL_S / (wall_s + pause_s)), FEWEST_ROUNDS)
    return Plan(rounds=min(wanted, affordable), pause_s=pause_s)


def refuse_impossible(data_s: Sequence[float], wall_s: Sequence[float]) -> None:
    """Check every sample against the wall time around it.

    Raises:
        SampleError: Zero, negative, not finite, or longer than its wall time.
    """
    for number, (sample, wall) in enumerate(zip(data_s, wall_s, strict=True)):
        if not (math.isfinite(sample) and sample > 0):
            raise SampleError(f"round {number}: expected a positive time, found {sample!r} s")
        if sample > wall:
            raise SampleError(f"round {number}: {sample:.9f} s measured within {wall:.9f} s of wall time")


def refuse_uneven(kernels_per_round: Sequence[int]) -> None:
    """Every round of one program launches the same number of kernels; anything else is a lost record.

    Raises:
        SampleError: The counts differ.
    """
    counts = sorted(set(kernels_per_round))
    if len(counts) > 1:
        raise SampleError(f"rounds with different numbers of kernels ({counts}): records were lost")
