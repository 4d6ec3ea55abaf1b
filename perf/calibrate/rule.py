"""Our own rule on a trial, with the measuring again that it asks for."""

from collections.abc import Mapping
from dataclasses import dataclass

from perf.calibrate.trials import Design, Trial
from perf.compare import Comparison, Kind, Thresholds, compare
from perf.records.schema import KeyRecord


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the rule said in the end.

    Args:
        again: Key runs that were measured again, over all keys.
    """

    failing: frozenset[str]
    faster: frozenset[str]
    undecided: frozenset[str]
    again: int


def judge(trial: Trial, design: Design, thresholds: Thresholds) -> Judged:
    """Compare, measure undecided keys again, compare, until nothing is undecided or the looks are spent."""
    used = dict.fromkeys(trial.head, design.looks[0])
    comparison = _compare(trial, used, design, thresholds, look=1)
    for look, runs in enumerate(design.looks[1:], 2):
        if not comparison.undecided_keys:
            break
        used |= dict.fromkeys(comparison.undecided_keys, runs)
        comparison = _compare(trial, used, design, thresholds, look=look)
    return Judged(
        failing=frozenset(v.key for v in comparison.verdicts if v.fails),
        faster=frozenset(v.key for v in comparison.verdicts if v.verdict is Kind.FASTER),
        undecided=frozenset(comparison.undecided_keys),
        again=sum(used.values()) - design.looks[0] * len(used),
    )


def _compare(
    trial: Trial, used: Mapping[str, int], design: Design, thresholds: Thresholds, *, look: int
) -> Comparison:
    return compare(
        [_with_runs(trial, key, runs) for key, runs in trial.base.items()],
        [_with_runs(trial, key, trial.head[key][:count]) for key, count in used.items()],
        thresholds=thresholds,
        base_machine="base",
        head_machine="base" if design.same_machine else "head",
        look=look,
        looks=len(design.looks),
    )


def _with_runs(trial: Trial, key: str, runs: tuple[object, ...]) -> KeyRecord:
    return trial.keys[key].model_copy(update={"processes": list(runs)})
