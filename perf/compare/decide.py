"""The decision on times, for all keys at once: from medians, spreads and limits to one of four answers.

Knows arrays only. The tree, in the words of ``README.md``:

1. *slower* or *faster*: the change is of practical interest, above the noise at the run's level, and nearly
   all pairs of process runs lie in its order.
2. *same*: a change of the size that must not be missed would look larger than what is seen, and what is
   seen is not suspicious.
3. *undecided*: everything else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from perf.compare.null import quantile
from perf.compare.samples import Array, Index, Side
from perf.compare.spread import Spread
from perf.compare.thresholds import BackendClass, Thresholds

ORDERED = 0.95
"""Share of pairs, a process run of each side, that must lie in the order of the change.

Where an unchanged program has two modes in different processes, medians move as far as the modes are apart,
but some process runs of one side lie among the other's.
"""
MARGIN = 2.0
"""In units of `same_within`: a key that not even a full budget resolves so far is never called same."""
POWER = 0.95
"""How often a change of the minimum detectable size is found."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits in force, one row a key; relative ones as logarithms of ratios."""

    interest: Array
    floor_s: Array
    same_within: Array
    typical: Array
    machine: Array


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Which of how many looks this is, at how many keys, and what a chance verdict may cost.

    Args:
        keys: Keys that are compared, whether or not they were measured again for this look.
        look: From 1 to looks.
        full_runs: Process runs of a side that a full budget leads to.
    """

    thresholds: Thresholds
    keys: int
    look: int
    looks: int
    full_runs: int

    @property
    def alarm(self) -> float:
        """One-sided chance of a false alarm for one key at this look."""
        return self.alarm_at(self.look)

    def alarm_at(self, look: int) -> float:
        """The same at another look.

        Later looks, which rest on more process runs, get more of the level: (k/K)³ of it is spent by the
        k-th of K looks (the power family of Kim and DeMets 1987). Summed over looks and keys it is the run's.
        """
        share = (look / self.looks) ** 3 - ((look - 1) / self.looks) ** 3
        return self.thresholds.level.run * share / self.keys

    @property
    def suspicion(self) -> float:
        """One-sided chance below which a key is not called same."""
        return self.thresholds.level.suspicion / self.keys

    @property
    def miss(self) -> float:
        """Chance for one look to call a change same that must not be missed."""
        return self.thresholds.level.miss / self.looks


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One row a key; changes and widths are logarithms of ratios.

    Args:
        change: Head against base, positive when slower.
        offset: Part of it that all keys share and that is not held against this key.
        noise: What chance alone makes at the run's level.
        missed: How much less than its true size a change may look.
        margin: Size of change that must not be called same: the class's, or what a full budget resolves.
        detectable: Smallest change that is found with the process runs there are.
        agreement: Share of pairs of process runs that lie in the order of the change.
        moved: Slower or faster.
        same: Not moved, and nothing of the margin's size can be there.
    """

    change: Array
    offset: Array
    noise: Array
    suspicious: Array
    missed: Array
    margin: Array
    detectable: Array
    of_interest: NDArray[np.bool_]
    agreement: Array
    moved: NDArray[np.bool_]
    same: NDArray[np.bool_]


def limits(classes: Sequence[BackendClass], *, same_machine: bool) -> Limits:
    """Arrays of the limits; the machine term is zero on one machine."""
    table = np.array(
        [(c.interest, c.floor_us, c.same_within, c.typical_spread, c.machine_spread) for c in classes]
    ).reshape(-1, 5)
    return Limits(
        interest=np.log1p(table[:, 0]),
        floor_s=table[:, 1] * 1e-6,
        same_within=np.log1p(table[:, 2]),
        typical=table[:, 3],
        machine=table[:, 4] * (not same_machine),
    )


def decide(  # noqa: PLR0913  all that a decision depends on, and named
    base: Side, head: Side, *, spread: Spread, limits: Limits, plan: Plan, offset: Array
) -> Decision:
    """Decide every key."""

    def width(level: float, base_runs: Index, head_runs: Index) -> Array:
        jumps = spread.scale * _quantiles(level, base_runs, head_runs, spread.doubt, plan.thresholds.tail_df)
        normal = np.hypot(limits.machine, _median_error(spread.error, base_runs, head_runs))
        rounding = np.maximum(base.step, head.step)  # of two rounded medians the difference is off by a step
        # Independent parts add in squares; exact for normal ones, close for heavy tails.
        return np.asarray(np.sqrt(jumps**2 + (normal * stats.norm.isf(level)) ** 2 + rounding**2))

    change = head.centre - base.centre
    seen = np.abs(change - offset)
    noise = width(plan.alarm, base.runs, head.runs)
    of_interest = _of_interest(base, head, change=change - offset, limits=limits)
    least = _least_interesting(base, head, limits)
    detectable = np.maximum(noise, least) + width(1 - POWER, base.runs, head.runs)
    full = np.maximum(base.runs, plan.full_runs), np.maximum(head.runs, plan.full_runs)
    resolved = np.maximum(width(plan.alarm_at(plan.looks), *full), least) + width(1 - POWER, *full)
    margin = np.clip(resolved, limits.same_within, MARGIN * limits.same_within)
    missed = width(plan.miss, base.runs, head.runs)
    suspicious = width(plan.suspicion, base.runs, head.runs)
    agreement = ordered(base, head, offset)
    moved = of_interest & (seen > noise) & (agreement >= ORDERED)
    same = ~moved & (seen <= margin - missed) & (~of_interest | (seen <= suspicious))
    return Decision(
        change=change,
        offset=offset,
        noise=noise,
        suspicious=suspicious,
        missed=missed,
        margin=margin,
        detectable=detectable,
        of_interest=of_interest,
        agreement=agreement,
        moved=moved,
        same=same,
    )


def _median_error(error: Array, base_runs: Index, head_runs: Index) -> Array:
    """Error of the difference of two medians of process runs whose own medians have this error."""
    return error * np.sqrt(np.pi / 2 * (1 / base_runs + 1 / head_runs))


def ordered(base: Side, head: Side, offset: Array) -> Array:
    """Share of pairs of process runs, one of each side, that lie in one order; ties count half."""
    share = np.empty(len(base.runs))
    kinds, kind = np.unique(np.column_stack([base.runs, head.runs]), axis=0, return_inverse=True)
    for number in range(len(kinds)):
        rows = np.flatnonzero(kind.ravel() == number)
        distance = head.block(rows)[:, None, :] - base.block(rows)[:, :, None] - offset[rows, None, None]
        share[rows] = (np.sign(distance).mean(axis=(1, 2)) + 1) / 2
    return np.asarray(np.maximum(share, 1 - share))


def _of_interest(base: Side, head: Side, *, change: Array, limits: Limits) -> NDArray[np.bool_]:
    middle_s = np.exp((base.centre + head.centre) / 2)
    # The difference in seconds that belongs to this change; written so that swapping the sides cannot matter.
    difference_s = 2 * middle_s * np.sinh(np.abs(change) / 2)
    return (np.abs(change) >= limits.interest) & (difference_s >= limits.floor_s)


def _least_interesting(base: Side, head: Side, limits: Limits) -> Array:
    middle_s = np.exp((base.centre + head.centre) / 2)
    floor = 2 * np.arcsinh(limits.floor_s / middle_s / 2)
    return np.asarray(np.maximum(limits.interest, floor))


def _quantiles(level: float, base_runs: Index, head_runs: Index, doubt: Array, tail_df: float) -> Array:
    rounded = np.ceil(doubt * 50).astype(np.intp)
    rows = np.column_stack([np.minimum(base_runs, head_runs), np.maximum(base_runs, head_runs), rounded])
    kinds, kind = np.unique(rows, axis=0, return_inverse=True)
    values = [
        quantile(level, runs=(int(few), int(many)), doubt=int(steps) / 50, tail_df=tail_df)
        for few, many, steps in kinds
    ]
    return np.asarray(values)[kind.ravel()]
