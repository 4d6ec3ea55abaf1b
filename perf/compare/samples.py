"""From records to arrays: the median of every process run and the error of that median.

A process run is the unit of every statistic; its samples only tell how well its median is known. All keys
are handled in a few numpy calls, since a record may hold thousands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from perf.records.schema import Clock, KeyRecord

Array = NDArray[np.float64]
Index = NDArray[np.intp]

STEP_S: dict[Clock, float] = {"device": 32e-9, "host": 1e-9}
"""Smallest difference that a clock shows: CUPTI's time stamps on data-centre GPUs, Python's perf_counter."""
ENOUGH_SAMPLES = 3
"""In a process run: fewer say nothing about the error of their median."""
_SD_FROM_QUARTILES = float(np.ptp(stats.norm.ppf([0.25, 0.75])))
_MEDIAN_TO_MEAN_ERROR = float(np.sqrt(np.pi / 2))
"""Standard error of a median over that of a mean, for normal samples."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison, one row a key.

    Args:
        medians: Natural logarithm of the process runs' medians in seconds, all keys one after another.
        owner: For every process run the row of its key.
        runs: Process runs per key.
        centre: Median of the key's process runs (logarithm).
        error: Relative error of a process run's median, from its samples and the clock's step.
        enough: Whether some process run has enough samples.
    """

    medians: Array
    owner: Index
    runs: Index
    centre: Array
    error: Array
    enough: NDArray[np.bool_]

    def residuals(self) -> Array:
        """Distance of every process run's median from its key's centre."""
        return np.abs(self.medians - self.centre[self.owner])


def side(records: Sequence[KeyRecord]) -> Side:
    """Summarise the records of one side, in their order."""
    runs = np.array([len(record.processes) for record in records], dtype=np.intp)
    owner = np.repeat(np.arange(len(records)), runs)
    medians_s, error, count = _process_medians(records)
    step = np.array([STEP_S[record.clock] for record in records])[owner] / medians_s
    # A value rounded to steps is off by a uniform error, whose standard deviation is step / sqrt(12).
    error = np.sqrt(error**2 + step**2 / 12)
    medians = np.log(medians_s)
    return Side(
        medians=medians,
        owner=owner,
        runs=runs,
        centre=_grouped_median(medians, runs),
        error=_grouped_median(error, runs),
        enough=np.maximum.reduceat(count, _starts(runs)) >= ENOUGH_SAMPLES,
    )


def _process_medians(records: Sequence[KeyRecord]) -> tuple[Array, Array, Index]:
    """Median, its relative standard error, and number of samples of every process run."""
    samples = [run.data_s for record in records for run in record.processes]
    count = np.fromiter(map(len, samples), dtype=np.intp, count=len(samples))
    flat = np.fromiter(chain.from_iterable(samples), dtype=np.float64, count=int(count.sum()))
    starts = _starts(count)
    medians, error = np.empty(len(samples)), np.empty(len(samples))
    for size in np.unique(count):
        rows = np.flatnonzero(count == size)
        block = flat[starts[rows][:, None] + np.arange(size)]
        low, medians[rows], high = np.quantile(block, (0.25, 0.5, 0.75), axis=1)
        spread = (high - low) / _SD_FROM_QUARTILES / medians[rows]
        error[rows] = _MEDIAN_TO_MEAN_ERROR * spread / np.sqrt(size)
    return medians, error, count


def _starts(counts: Index) -> Index:
    return np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)


def _grouped_median(values: Array, counts: Index) -> Array:
    """Median of each group of neighbours."""
    owner = np.repeat(np.arange(len(counts)), counts)
    ordered = values[np.lexsort((values, owner))]
    starts = _starts(counts)
    lower, upper = starts + (counts - 1) // 2, starts + counts // 2
    return np.asarray((ordered[lower] + ordered[upper]) / 2)
