"""The study: false alarms, power against planted slow-downs, and real slow-downs found, for every rule."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import stats

from perf.calibrate.recorded import Recording
from perf.calibrate.rule import judge
from perf.calibrate.trials import ELSEWHERE, INTERLEAVED, STORED, Design, Trial, real, resampled
from perf.calibrate.usual import USUAL
from perf.compare import Thresholds
from perf.compare.wording import percent
from perf.records.schema import KeyRecord

PLANTED = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.10, 0.20)
"""Slow-downs of the power curve, relative."""
_TOUCHED = 4
"""A planted change touches one key in so many, as a real one touches a part of the kernels."""
_POPULATION = 8
"""Fewest process runs that are resampled: from fewer, the same atoms come on both sides again and again."""
_FEWER = 200
"""Trials for the power curve, the real changes and the usual rules, where the answer is no rare event."""
OURS = "perf"

Slower = Callable[[Trial], frozenset[str]]
Draw = Callable[..., Iterator[Trial]]


@dataclass(kw_only=True)
class Share:
    """How often something happened."""

    hits: int = 0
    total: int = 0

    def add(self, hits: int, total: int) -> None:
        """Count some more."""
        self.hits += hits
        self.total += total

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95 % interval (Clopper-Pearson)."""
        interval = stats.binomtest(self.hits, self.total).proportion_ci(method="exact")
        return float(interval.low), float(interval.high)

    @property
    def text(self) -> str:
        """The share alone."""
        return percent(self.hits / self.total) if self.total else "–"

    @property
    def text_with_interval(self) -> str:
        """The share, its interval and what it rests on."""
        if not self.total:
            return "–"
        low, high = map(percent, self.interval)
        return f"{self.text} ({low} to {high}; {self.hits} of {self.total})"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One rule in one design on one pair of recordings.

    Args:
        false: Whether its false alarms are counted; not where few processes were resampled.
    """

    rule: str
    design: Design
    base: Recording
    head: Recording
    draw: Draw
    slower: Slower
    false: bool = True

    @property
    def data(self) -> str:
        """Where the trials come from, in words."""
        how = "real processes" if self.draw is real else "resampled"
        names = self.base.name if self.base is self.head else f"{self.base.name} → {self.head.name}"
        return f"{names}, {how}"

    def trials(self, count: int, seed: int) -> Iterator[Trial]:
        """Fresh trials; the same for every rule of a design."""
        return self.draw(self.base, self.head, self.design, rng=np.random.default_rng(seed), count=count)


@dataclass(kw_only=True)
class Row:
    """What one rule did in one setting.

    Args:
        power: For every planted size the fused keys in which it was found.
        others: The same for all other keys.
        real: For every key that a real upgrade slowed down, the trials in which it was found.
    """

    setting: Setting
    false_runs: Share = field(default_factory=Share)
    false_keys: Share = field(default_factory=Share)
    power: dict[float, Share] = field(default_factory=dict)
    others: dict[float, Share] = field(default_factory=dict)
    real: dict[str, Share] = field(default_factory=dict)


def study(recordings: Sequence[Recording], thresholds: Thresholds, *, trials: int) -> Iterator[Row]:
    """Every rule in every design that the recordings allow.

    Args:
        trials: Imagined runs for a false-alarm rate; power takes fewer.
    """
    for setting in settings(recordings, thresholds):
        row = Row(setting=setting)
        usual = setting.rule != OURS
        if setting.false:
            _false_alarms(row, trials=_FEWER if usual else trials)
        _power(row, thresholds, trials=_FEWER // 2 if usual else _FEWER)
        _real_changes(row, recordings, thresholds)
        yield row


def settings(recordings: Sequence[Recording], thresholds: Thresholds) -> Iterator[Setting]:
    """Our rule in its three designs, then the usual ones."""

    def ours(design: Design, base: Recording, head: Recording, draw: Draw, *, false: bool = True) -> Setting:
        def slower(trial: Trial) -> frozenset[str]:
            return judge(trial, design, thresholds).failing

        return Setting(rule=OURS, design=design, base=base, head=head, draw=draw, slower=slower, false=false)

    for one in recordings:
        spare = len(one.processes) - STORED.base_runs
        for design in (STORED, INTERLEAVED):
            if spare >= design.looks[0]:
                yield ours(design.within(spare), one, one, real)
            if len(one.processes) >= _POPULATION:
                yield ours(design, one, one, resampled)
    for base, head in _machines(recordings):
        yield ours(ELSEWHERE.within(len(head.processes)), base, head, real)
        yield ours(ELSEWHERE, base, head, resampled, false=len(head.processes) >= _POPULATION)
    yield from _usual_settings(recordings)


def _machines(recordings: Sequence[Recording]) -> Iterator[tuple[Recording, Recording]]:
    """Pairs of one stack on two machines, the base with enough processes for a baseline."""
    for base in recordings:
        for head in recordings:
            other = base.machine != head.machine and base.stack == head.stack
            if other and len(base.processes) >= ELSEWHERE.base_runs:
                yield base, head


def _usual_settings(recordings: Sequence[Recording]) -> Iterator[Setting]:
    most = max(recordings, key=lambda recording: len(recording.processes))
    for rule in USUAL:
        if len(most.processes) >= 2 * rule.design.base_runs:
            yield Setting(
                rule=rule.name, design=rule.design, base=most, head=most, draw=real, slower=rule.judge
            )


def _false_alarms(row: Row, *, trials: int) -> None:
    for trial in row.setting.trials(trials, seed=1):
        alarms = row.setting.slower(trial)
        row.false_runs.add(bool(alarms), 1)
        row.false_keys.add(len(alarms), len(trial.base))


def _power(row: Row, thresholds: Thresholds, *, trials: int) -> None:
    for size in PLANTED:
        rng = np.random.default_rng(2)
        row.power[size], row.others[size] = Share(), Share()
        for trial in row.setting.trials(trials, seed=3):
            chosen = rng.choice(list(trial.base), size=max(1, len(trial.base) // _TOUCHED), replace=False)
            found = row.setting.slower(trial.with_planted(dict.fromkeys(map(str, chosen), 1 + size)))
            for key in map(str, chosen):
                share = row.power if _is_fused(trial.keys[key], thresholds) else row.others
                share[size].add(key in found, 1)


def _is_fused(record: KeyRecord, thresholds: Thresholds) -> bool:
    return thresholds.for_key(record.key, backend=record.backend, clock=record.clock).name == "fused"


def _real_changes(row: Row, recordings: Sequence[Recording], thresholds: Thresholds) -> None:
    """An upgrade on the same machine, judged by the same rule in the same design."""
    setting = row.setting
    if setting.base is not setting.head or setting.draw is not real:
        return
    for old in recordings:
        upgrade = old.machine == setting.head.machine and old.stack < setting.head.stack
        if not upgrade or len(old.processes) < setting.design.base_runs:
            continue
        slowed = slower_keys(old, setting.head, thresholds)
        row.real |= {key: Share() for key in slowed}
        for trial in replace(setting, base=old).trials(_FEWER, seed=4):
            found = setting.slower(trial)
            for key in slowed:
                row.real[key].add(key in found, 1)


def slower_keys(old: Recording, new: Recording, thresholds: Thresholds) -> list[str]:
    """Keys that an upgrade really slowed down: by an interesting amount, and no process runs overlap."""
    found = []
    for key, record in old.processes[0].items():
        limits = thresholds.for_key(key, backend=record.backend, clock=record.clock)
        before, after = (
            np.array([np.median(process[key].processes[0].data_s) for process in recording.processes])
            for recording in (old, new)
        )
        grown = np.median(after) / np.median(before) - 1
        if grown >= limits.interest and after.min() > before.max():
            found.append(key)
    return found
