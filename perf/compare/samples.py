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
HELD_BACK = frozenset(
    {"power-cap", "hw-slowdown", "sw-thermal-slowdown", "hw-thermal-slowdown", "hw-power-brake"}
)
"""Clock event reasons under which some samples of a process run are slower than the code is."""
MIDDLE, LOW = 0.5, 0.1
"""Quantile of the samples that stands for a process run; the low one where the clock was held back."""
_UNEVEN = 0.02
"""Relative scatter within a process run from which a held-back clock shows in its samples."""
_SD_FROM_QUARTILES = float(np.ptp(stats.norm.ppf([0.25, 0.75])))


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison, one row a key.

    Args:
        medians: Natural logarithm of the process runs' medians in seconds, all keys one after another.
        owner: For every process run the row of its key.
        runs: Process runs per key.
        centre: Median of the key's process runs (logarithm).
        error: Relative error of a process run's median, from its samples.
        step: Relative size of the clock's step: a median is off by up to half of it.
        enough: Whether some process run has enough samples.
    """

    medians: Array
    owner: Index
    runs: Index
    centre: Array
    error: Array
    step: Array
    enough: NDArray[np.bool_]

    def residuals(self) -> Array:
        """Distance of every process run's median from its key's centre."""
        return np.abs(self.medians - self.centre[self.owner])

    def block(self, rows: Index) -> Array:
        """Medians of keys with equally many process runs: a row a key."""
        starts = _starts(self.runs)[rows]
        return self.medians[starts[:, None] + np.arange(self.runs[rows[0]])]


def side(records: Sequence[KeyRecord], share: Array) -> Side:
    """Summarise the records of one side, in their order.

    Args:
        share: For every key which quantile of its samples stands for a process run: 0.5, or less where the
            clock was held back.
    """
    runs = np.array([len(record.processes) for record in records], dtype=np.intp)
    owner = np.repeat(np.arange(len(records)), runs)
    medians_s, error, count = _process_medians(records, share[owner])
    medians = np.log(medians_s)
    centre = _grouped_median(medians, runs)
    step_s = np.array([STEP_S[record.clock] for record in records])
    return Side(
        medians=medians,
        owner=owner,
        runs=runs,
        centre=centre,
        error=_grouped_median(error, runs),
        step=step_s * np.exp(-centre),
        enough=np.maximum.reduceat(count, _starts(runs)) >= ENOUGH_SAMPLES,
    )


def held_back(records: Sequence[KeyRecord]) -> NDArray[np.bool_]:
    """Whether a key's samples are uneven because the GPU held its clock back, in some of its process runs."""
    return np.array([_is_held_back(record) for record in records], dtype=np.bool_)


def _is_held_back(record: KeyRecord) -> bool:
    limited = any(run.gpu and HELD_BACK.intersection(run.gpu.throttle) for run in record.processes)
    return limited and any(_scatter(run.data_s) > _UNEVEN for run in record.processes)


def _scatter(samples: Sequence[float]) -> float:
    low, middle, high = np.quantile(samples, (0.25, 0.5, 0.75))
    return float((high - low) / _SD_FROM_QUARTILES / middle)


def _process_medians(records: Sequence[KeyRecord], share: Array) -> tuple[Array, Array, Index]:
    """Median or other quantile, its relative standard error, and number of samples of every process run."""
    samples = [run.data_s for record in records for run in record.processes]
    count = np.fromiter(map(len, samples), dtype=np.intp, count=len(samples))
    flat = np.fromiter(chain.from_iterable(samples), dtype=np.float64, count=int(count.sum()))
    starts = _starts(count)
    medians, error = np.empty(len(samples)), np.empty(len(samples))
    for size, part in {(int(n), float(s)) for n, s in zip(count, share, strict=True)}:
        rows = np.flatnonzero((count == size) & (share == part))
        block = flat[starts[rows][:, None] + np.arange(size)]
        medians[rows], error[rows] = _quantile_with_error(block, part)
    return medians, error, count


def _quantile_with_error(block: Array, share: float) -> tuple[Array, Array]:
    """A quantile of every row and its relative standard error, whatever the samples' distribution.

    The number of samples below the true quantile is binomial: one standard deviation of it up and down, read
    off the ordered samples, is the error (Woodruff 1952).
    """
    step = np.sqrt(share * (1 - share) / block.shape[1])
    low, middle, high = np.quantile(block, np.clip((share - step, share, share + step), 0, 1), axis=1)
    return middle, (high - low) / 2 / middle


def _starts(counts: Index) -> Index:
    return np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)


def _grouped_median(values: Array, counts: Index) -> Array:
    """Median of each group of neighbours."""
    owner = np.repeat(np.arange(len(counts)), counts)
    ordered = values[np.lexsort((values, owner))]
    starts = _starts(counts)
    lower, upper = starts + (counts - 1) // 2, starts + counts // 2
    return np.asarray((ordered[lower] + ordered[upper]) / 2)
