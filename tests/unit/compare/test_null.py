"""The distribution of a difference of two medians, against simulation and known values."""

import numpy as np
import pytest
from scipy import stats

from perf.compare.null import chance, quantile


@pytest.mark.parametrize("runs", [(1, 1), (1, 5), (2, 4), (5, 5)])
@pytest.mark.parametrize("doubt", [0.0, 0.3])
def test_chance_agrees_with_simulation(runs: tuple[int, int], doubt: float) -> None:
    """The computed chance of a distance is that of 200,000 simulated differences."""
    rng = np.random.default_rng(0)
    few, many = (
        np.median(stats.t.rvs(3.0, size=(200_000, count), random_state=rng), axis=1) for count in runs
    )
    simulated = (few - many) * np.exp(doubt * rng.normal(size=200_000))
    for distance in (0.5, 1.5, 3.0):
        expected = float((simulated > distance).mean())
        assert chance(distance, runs=runs, doubt=doubt, tail_df=3.0) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("level", [0.1, 1e-3, 1e-6])
def test_quantile_inverts_chance(level: float) -> None:
    """The chance at the quantile is the level."""
    distance = quantile(level, runs=(3, 5), doubt=0.2, tail_df=3.0)
    assert chance(distance, runs=(3, 5), doubt=0.2, tail_df=3.0) == pytest.approx(level, rel=1e-3)


def test_more_runs_less_noise() -> None:
    """Each further process run of a side narrows what chance makes, with odd and even counts."""
    widths = [quantile(1e-4, runs=(5, runs), doubt=0.2, tail_df=3.0) for runs in (1, 3, 5, 7)]
    assert widths == sorted(widths, reverse=True)


def test_order_of_sides_is_irrelevant() -> None:
    """Five against three is as wide as three against five."""
    assert quantile(1e-4, runs=(5, 3), doubt=0.1, tail_df=3.0) == quantile(
        1e-4, runs=(3, 5), doubt=0.1, tail_df=3.0
    )
