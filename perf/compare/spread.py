"""How much process runs of an unchanged key differ: each key's own spread, shrunk towards its backend's.

An empirical Bayes estimate on the logarithm of the spread (the idea of limma's moderated t, Smyth 2004, with
a heavy-tailed scatter): spreads of a backend's keys are normal around the backend's typical spread; a key's
few process runs are weighed against that. What a key's samples say about the error of its medians is
taken out, since it is normal where process runs jump, and added again by the decision. Both sides count
alike.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from perf.compare.samples import Array, Index, Side

_DRAWS = 400_000
_SMALLEST = 1e-5
"""Relative spread below which nothing is believed: no clock and no GPU repeats better."""
_SPREADS: Array = np.log(np.geomspace(1e-5, 0.5, 60))
_BETWEEN: Array = np.geomspace(0.1, 1.5, 12)
"""Candidates for the typical spread (logarithm), and for the scatter of keys around it."""
_TYPICAL_SD = 0.7
_BETWEEN_MIDDLE, _BETWEEN_SD = np.log(0.5), 0.5
"""What is expected of both before any data: within a factor of two of the class's, of a half."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """One row a key.

    Args:
        own: The key's own spread between process runs; NaN without two runs on a side.
        pooled: The typical spread of its backend.
        scale: The two weighed, without measuring error: the scale of the Student's t that process runs
            scatter by.
        doubt: Standard deviation of the logarithm of `scale`.
        error: Relative measuring error of a process run's median, of both sides.
    """

    own: Array
    pooled: Array
    scale: Array
    doubt: Array
    error: Array


@lru_cache(maxsize=10_000)
def _log_spread_moments(few: int, many: int, tail_df: float) -> tuple[float, float]:
    """Mean and variance of the logarithm of `_own`'s estimate, for a true scale of 1.

    Simulated from a fixed seed: the mean deviation from a median of t variates has no closed form.
    """
    rng = np.random.default_rng(0)
    draws = max(2_000, _DRAWS // (few + many))
    total = np.zeros(draws)
    for runs in (few, many):
        sample = stats.t.rvs(tail_df, size=(draws, runs), random_state=rng)
        total += np.abs(sample - np.median(sample, axis=1, keepdims=True)).sum(axis=1)
    logs = np.log(total / _freedom(few, many))
    return float(logs.mean()), float(logs.var())


def _freedom(first: int, second: int) -> int:
    return max(first - 1, 0) + max(second - 1, 0)


def estimate(base: Side, head: Side, *, groups: Index, typical: Array, tail_df: float) -> Spread:
    """Spread of every key.

    Args:
        groups: For every key the number of its backend.
        typical: For every key the spread to expect where the records tell little.
        tail_df: Degrees of freedom of the scatter.
    """
    # A value rounded to steps is off by a uniform error, whose standard deviation is step / sqrt(12).
    rounding = np.maximum(base.step, head.step) / np.sqrt(12)
    error = np.sqrt((base.error**2 + head.error**2) / 2)
    blur = np.hypot(error, rounding)
    log_own, variance = _own(base, head, floor=np.hypot(rounding, _SMALLEST), tail_df=tail_df)
    centre, uncertainty, between = (np.empty(len(groups)) for _ in range(3))
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        fitted = _fit(log_own[rows], variance[rows], blur[rows], float(typical[rows[0]]))
        centre[rows], uncertainty[rows], between[rows] = fitted
    log_scale, doubt = _weighed(log_own, variance, blur, centre=centre, sd=np.hypot(between, uncertainty))
    return Spread(
        own=np.exp(log_own), pooled=np.exp(centre), scale=np.exp(log_scale), doubt=doubt, error=error
    )


def _weighed(
    log_own: Array, variance: Array, blur: Array, *, centre: Array, sd: Array
) -> tuple[Array, Array]:
    """Log spread of every key, given its own and what its backend's is: middle, and how far up it may be.

    The second is half the distance from the median to the 97.7th percentile, a standard deviation of the
    upper half: where measuring error hides a small spread, the lower half is wide and does no harm.
    """
    known = np.isfinite(log_own)
    distance = np.where(known, log_own, 0.0)[:, None] - _with_error(_SPREADS, blur[:, None])
    logs = -0.5 * ((_SPREADS - centre[:, None]) / sd[:, None]) ** 2
    logs -= np.where(known[:, None], 0.5 * distance**2 / variance[:, None], 0.0)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    below = np.cumsum(weights, axis=1) - weights / 2
    middle, high = (_crossing(below, share) for share in (0.5, float(stats.norm.cdf(2.0))))
    return middle, (high - middle) / 2


def _crossing(below: Array, share: float) -> Array:
    """Where a distribution function over the candidates, one row a key, reaches a share."""
    after = np.clip((below < share).sum(axis=1), 1, below.shape[1] - 1)
    rows = np.arange(len(below))
    low, high = below[rows, after - 1], below[rows, after]
    part = np.clip((share - low) / np.maximum(high - low, 1e-12), 0.0, 1.0)
    return np.asarray(_SPREADS[after - 1] + part * (_SPREADS[after] - _SPREADS[after - 1]))


def _own(base: Side, head: Side, *, floor: Array, tail_df: float) -> tuple[Array, Array]:
    """Logarithm of every key's own spread, without bias, and the variance of that."""
    total = sum(
        np.bincount(side.owner, weights=side.residuals(), minlength=len(floor)) for side in (base, head)
    )
    mean, variance = np.full(len(floor), np.nan), np.full(len(floor), np.inf)
    freedom = np.ones(len(floor))
    pairs = np.sort(np.column_stack([base.runs, head.runs]), axis=1)
    for few, many in np.unique(pairs, axis=0):
        if _freedom(few, many):
            rows = (pairs == (few, many)).all(axis=1)
            mean[rows], variance[rows] = _log_spread_moments(int(few), int(many), tail_df)
            freedom[rows] = _freedom(few, many)
    # Medians rounded to the clock's steps are often all equal: their spread is no less than the rounding's.
    own = np.hypot(total / freedom, floor)
    return np.log(own) - mean, variance


def _with_error(log_spread: Array, error: Array) -> Array:
    return np.asarray(np.log(np.sqrt(np.exp(2 * log_spread) + error**2)))


def _fit(log_own: Array, variance: Array, error: Array, typical: float) -> tuple[float, float, float]:
    """Typical log spread of a backend, its standard deviation, and the scatter of keys around it.

    Means over a grid of candidates, weighed by prior and likelihood: with one key the prior decides, with
    many the data do.
    """
    known = np.isfinite(log_own)
    log_own, variance, error = log_own[known], variance[known], error[known]
    distance = log_own - _with_error(_SPREADS[:, None], error)
    logs = stats.norm.logpdf(_SPREADS, np.log(typical), _TYPICAL_SD)[:, None] + stats.norm.logpdf(
        np.log(_BETWEEN), _BETWEEN_MIDDLE, _BETWEEN_SD
    )
    for column, between in enumerate(_BETWEEN):
        total = variance + between**2
        logs[:, column] -= 0.5 * (distance**2 / total + np.log(total)).sum(axis=1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    centre = float(weights.sum(axis=1) @ _SPREADS)
    uncertainty = float(np.sqrt(weights.sum(axis=1) @ (_SPREADS - centre) ** 2))
    return centre, uncertainty, float(np.sqrt(weights.sum(axis=0) @ _BETWEEN**2))
