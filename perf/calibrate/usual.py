"""The rules that people use, on the same trials: which keys each of them calls slower.

Single runs are compared with single runs, as these tools do; benchmatrix's wants several process runs a side.
Each rule takes the samples of all keys at once, a row a key.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from perf.calibrate.trials import Design, Runs, Trial

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
PAIR = Design(name="1 run against 1", base_runs=1, looks=(1,))
SEVERAL = Design(name="5 runs against 5", base_runs=5, looks=(5,))

_FIVE = 1.05
_CRITERION_NOISE = 0.01
_ASV_ALPHA, _ASV_FACTOR = 0.002, 1.1
_NVBENCH_GAP = 0.005
_RESAMPLES = 1_000
_BENCHMATRIX_LEVEL, _BENCHMATRIX_THRESHOLD, _BENCHMATRIX_RESAMPLES = 0.05, 0.05, 10_000


@dataclass(frozen=True, kw_only=True)
class Usual:
    """One rule and what it looks at."""

    name: str
    clock: Literal["data_s", "wall_s"]
    design: Design
    slower: Callable[[Array, Array], Flags]

    def judge(self, trial: Trial) -> frozenset[str]:
        """Keys that the rule calls slower."""
        keys = list(trial.base)
        base, head = (self._samples(side, keys) for side in (trial.base, trial.head))
        return frozenset(np.array(keys)[self.slower(base, head)].tolist())

    def _samples(self, side: Mapping[str, Runs], keys: list[str]) -> Array:
        runs = [side[key][: self.design.base_runs] for key in keys]
        if self.design is PAIR:
            return np.array([getattr(run[0], self.clock) for run in runs])
        return np.array([[np.median(getattr(one, self.clock)) for one in run] for run in runs])


def _more(statistic: Callable[..., Array]) -> Callable[[Array, Array], Flags]:
    """pytest-benchmark's ``--benchmark-compare-fail=FIELD:5%``."""
    return lambda base, head: statistic(head, axis=1) > _FIVE * statistic(base, axis=1)


def mann_whitney(base: Array, head: Array, alpha: float = 0.05) -> Flags:
    """Google Benchmark's compare.py: Mann-Whitney's U, two-sided, and the head's median above."""
    p = stats.mannwhitneyu(base, head, axis=1, method="asymptotic").pvalue
    return np.asarray((p < alpha) & (np.median(head, axis=1) > np.median(base, axis=1)))


def welch(base: Array, head: Array) -> Flags:
    """Welch's t at 0.05, two-sided."""
    result = stats.ttest_ind(np.log(head), np.log(base), axis=1, equal_var=False)
    return np.asarray((result.pvalue < 0.05) & (result.statistic > 0))  # noqa: PLR2004 - the usual level


def nvbench(base: Array, head: Array) -> Flags:
    """Nvbench's robust comparison: the intervals [min, Q3] leave a gap of half a per cent."""
    return np.asarray(head.min(axis=1) > (1 + _NVBENCH_GAP) * np.quantile(base, 0.75, axis=1))


def asv(base: Array, head: Array) -> Flags:
    """Airspeed velocity's: Mann-Whitney's U at 0.002 and a factor of 1.1."""
    factor = np.median(head, axis=1) / np.median(base, axis=1)
    return np.asarray(mann_whitney(base, head, _ASV_ALPHA) & (factor > _ASV_FACTOR))


def criterion(base: Array, head: Array) -> Flags:
    """Criterion's: the bootstrap interval of the change of the mean lies above its noise threshold of 1 %."""
    interval = stats.bootstrap(
        (base, head),
        lambda b, h, axis: h.mean(axis=axis) / b.mean(axis=axis) - 1,
        axis=1,
        n_resamples=_RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return np.asarray(interval.low > _CRITERION_NOISE)


def benchmatrix(base: Array, head: Array) -> Flags:
    """benchmatrix's: BCa interval of the ratio of medians of process runs, Bonferroni, beyond 5 %.

    Not the package itself, which compares only collections that its own runner has made.
    """
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        # Resamples that are all alike have no acceleration: the interval is NaN there, and the rule silent.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        interval = stats.bootstrap(
            (base, head),
            lambda b, h, axis: np.median(h, axis=axis) / np.median(b, axis=axis) - 1,
            axis=1,
            n_resamples=_BENCHMATRIX_RESAMPLES,
            confidence_level=1 - _BENCHMATRIX_LEVEL / len(base),
            method="BCa",
            rng=np.random.default_rng(0),
        ).confidence_interval
    return np.asarray(interval.low > _BENCHMATRIX_THRESHOLD)


def _usual() -> tuple[Usual, ...]:
    fields: dict[str, Callable[..., Array]] = {"median": np.median, "min": np.min, "mean": np.mean}
    clocks: tuple[tuple[str, Literal["data_s", "wall_s"]], ...] = (
        ("wall time", "wall_s"),
        ("kernel time", "data_s"),
    )
    found = [
        Usual(name=f"pytest-benchmark {field}:5%, {name}", clock=clock, design=PAIR, slower=_more(statistic))
        for name, clock in clocks
        for field, statistic in fields.items()
    ]
    tests: dict[str, Callable[[Array, Array], Flags]] = {
        "Mann-Whitney 0.05": mann_whitney,
        "Welch's t 0.05": welch,
        "nvbench [min, Q3]": nvbench,
        "asv (0.002 and 1.1)": asv,
        "Criterion (bootstrap, 1 %)": criterion,
    }
    found += [
        Usual(name=f"{name}, kernel time", clock="data_s", design=PAIR, slower=rule)
        for name, rule in tests.items()
    ]
    several = Usual(
        name="benchmatrix (BCa, Bonferroni, 5 %), kernel time",
        clock="data_s",
        design=SEVERAL,
        slower=benchmatrix,
    )
    return (*found, several)


USUAL = _usual()
