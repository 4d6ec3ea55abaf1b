"""What chance alone does: the distribution of a difference of two medians of process runs.

The model: the logarithm of a process run's median scatters around the side's true value like Student's t
with few degrees of freedom (jumps are normal, not outliers), times a spread that is itself known only up
to a factor. Everything is computed, not simulated: order statistics of t, one integral for the difference,
one for the spread. Knows nothing of records.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Array = NDArray[np.float64]

_FAR = 1e6
"""In spreads; the chance beyond it is below 1e-17 for three degrees of freedom and two process runs."""
_GRID: Array = np.sinh(np.linspace(0.0, np.arcsinh(_FAR), 900))
"""From 0 outwards: even steps in the middle, ever larger ones in the tail."""
_NODES, _WEIGHTS = special.roots_hermitenorm(25)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def quantile(level: float, *, runs: tuple[int, int], doubt: float, tail_df: float) -> float:
    """How far apart two medians are with this one-sided chance, in spreads, when nothing differs.

    Args:
        runs: Process runs of the two sides; their order does not matter.
        doubt: Standard deviation of the logarithm of the spread, from what is not known of it.
        tail_df: Degrees of freedom of the scatter of process runs.
    """
    few, many = sorted(runs)
    # Rounded so that keys share the result; upwards, so that rounding never makes a verdict bolder.
    return _quantile(level, few, many, float(np.ceil(doubt * 50) / 50), tail_df)


def chance(distance: float, *, runs: tuple[int, int], doubt: float, tail_df: float) -> float:
    """One-sided chance that two medians are at least this many spreads apart when nothing differs."""
    few, many = sorted(runs)
    tail = _tail(few, many, tail_df)
    upper = float(_WEIGHTS @ tail(abs(distance) * np.exp(-doubt * _NODES)))
    return upper if distance >= 0 else 1.0 - upper


@lru_cache(maxsize=100_000)
def _quantile(level: float, few: int, many: int, doubt: float, tail_df: float) -> float:
    tail = _tail(few, many, tail_df)
    factors = np.exp(-doubt * _NODES)

    def excess(log_distance: float) -> float:
        chance_there = float(_WEIGHTS @ tail(np.exp(log_distance) * factors))
        return float(np.log(chance_there) - np.log(level))

    # Levels are below one half, so the distance is positive; beyond the grid the answer is "never".
    if excess(np.log(_FAR)) > 0:
        return _FAR
    return float(np.exp(optimize.brentq(excess, np.log(1e-9), np.log(_FAR), xtol=1e-6)))


@lru_cache(maxsize=10_000)
def _tail(few: int, many: int, tail_df: float) -> Callable[[Array], Array]:
    """Chance that the difference of the medians exceeds a positive distance, as a function of it."""
    first, second = _median_tail(few, tail_df), _median_tail(many, tail_df)
    edges = first(_GRID)
    mass = edges[:-1] - edges[1:]
    middle = (_GRID[:-1] + _GRID[1:]) / 2
    # The first median lies as often below zero as above it: its lower half is the upper one, mirrored.
    distances = _GRID[::3, None]
    tails = second(distances + middle) @ mass + second(distances - middle) @ mass
    logs = np.log(np.maximum(tails, 1e-300))
    at = np.arcsinh(_GRID[::3])
    return lambda distance: np.exp(np.interp(np.arcsinh(distance), at, logs))


@lru_cache(maxsize=1_000)
def _median_tail(runs: int, tail_df: float) -> Callable[[Array], Array]:
    """Chance that the median of some process runs exceeds a value of either sign."""
    if runs % 2:
        half = (runs + 1) / 2
        return lambda value: np.asarray(special.betainc(half, half, special.stdtr(tail_df, -value)))
    logs = np.log(np.maximum(_even_median_tail(_GRID, runs, tail_df), 1e-300))
    at = np.arcsinh(_GRID)

    def tail(value: Array) -> Array:
        upper = np.exp(np.interp(np.arcsinh(np.abs(value)), at, logs))
        return np.where(value >= 0, upper, 1.0 - upper)

    return tail


def _even_median_tail(values: Array, runs: int, tail_df: float) -> Array:
    """The same for the mean of the two middle values x ≤ y of an even number, integrated over x.

    With h = runs / 2 the joint density of the two is c f(x) F(x)^(h-1) f(y) S(y)^(h-1), c = (2h)! / (h-1)!².
    """
    half = runs // 2
    grid = np.concatenate([-_GRID[:0:-1], _GRID])
    mass = np.diff(special.stdtr(tail_df, grid) ** half)
    middle = (grid[:-1] + grid[1:]) / 2
    log_scale = special.gammaln(runs + 1) - 2 * special.gammaln(half) - 2 * np.log(half)
    least = np.maximum(middle, 2 * values[:, None] - middle)
    inner = special.stdtr(tail_df, -least) ** half @ mass
    return np.asarray(np.exp(log_scale + np.log(np.maximum(inner, 1e-300))))
