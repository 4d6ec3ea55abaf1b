"""Measuring again: undecided keys in fresh processes, until they are decided or the budget is spent."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from perf.baseline import samples
from perf.compare import Comparison, Reason
from perf.compare.thresholds import Budget
from perf.process_run import measure_run
from perf.records.schema import KeyRecord, Outcome
from perf.records.store import Record, RecordError
from perf.suite import Suite

FOLDER = Path(".perf") / "again"


class Decide(Protocol):
    """Compare everything measured so far."""

    def __call__(self, *, look: int, looks: int) -> Comparison:
        """Args: which of how many comparisons this may become; the error level is shared by all."""


def settle(suite: Suite, decide: Decide, budget: Budget, *, say: Callable[[str], None]) -> Comparison:
    """Compare; while keys are undecided, measure them again and compare all of it again.

    Args:
        budget: How many comparisons at most, process runs before each, and seconds in all.
        say: Takes a line of progress.
    """
    looks = 1 if suite.config.getoption("no_remeasure") else budget.looks
    start_s = time.monotonic()
    comparison = decide(look=1, looks=looks)
    for look in range(2, looks + 1):
        keys = [v.key for v in comparison.verdicts if v.reason is Reason.UNCLEAR]
        if not keys or not _measured(suite, keys, budget, look=look, start_s=start_s, say=say):
            break
        comparison = decide(look=look, looks=looks)
    return comparison


def _measured(  # noqa: PLR0913 - one argument of each kind
    suite: Suite, keys: list[str], budget: Budget, *, look: int, start_s: float, say: Callable[[str], None]
) -> bool:
    """Take the process runs of one look; False when the budget or a process run ended it."""
    for number in range(1, budget.processes_per_look + 1):
        if not keys:  # all of them failed in the process run before
            break
        spent_s = time.monotonic() - start_s
        if spent_s > budget.seconds:
            say(f"the budget of {budget.seconds:.0f} s is spent: {len(keys)} of the keys stay undecided")
            return False
        say(
            f"undecided: {len(keys)}; measuring again, look {look} of {budget.looks}, "
            f"process run {number} of {budget.processes_per_look} ({spent_s:.0f} s so far)"
        )
        try:
            record = _process_run(suite, keys, name=f"look-{look}-run-{number}")
        except RecordError as error:
            say(f"measuring again stopped: {error}")
            return False
        suite.remeasured.note(keys, seconds=time.monotonic() - start_s - spent_s)
        _lose(suite, [o for o in record.session.outcomes if o.outcome != "measured"], say)
        keys = [key for key in keys if key in record.keys]
        for key in keys:
            _add(suite, key, record.keys[key])
    return True


def _process_run(suite: Suite, keys: list[str], *, name: str) -> Record:
    folder = suite.config.rootpath / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / "keys.txt"
    listed.write_text("\n".join(keys) + "\n", encoding="ascii")
    option = suite.config.getoption
    arguments = [
        f"--keys={listed}",
        f"--clock={suite.clock}",
        f"--l2={option('l2')}",
        f"--seed={option('seed')}",
    ]
    arguments += [f"-p{plugin}" for plugin in suite.config.option.plugins]
    return measure_run(folder / f"{name}.json", arguments, log=folder / f"{name}.txt")


def _lose(suite: Suite, outcomes: Iterable[Outcome], say: Callable[[str], None]) -> None:
    """A key that passed its check at first and fails in a fresh process has no time."""
    for outcome in outcomes:
        say(f"{outcome.key}: measured at first, {outcome.outcome} in a fresh process: {outcome.text}")
        suite.outcomes[outcome.key] = outcome
        del suite.records[outcome.key]
        suite.discard(outcome.key)


def _add(suite: Suite, key: str, record: KeyRecord) -> None:
    """Put the process runs of a key together, in our record and in pytest-benchmark's table and file."""
    old = suite.records[key]
    merged = old.model_copy(update={"processes": [*old.processes, *record.processes]})
    suite.records[key] = merged
    for benchmark in suite.benchmarks():
        if benchmark.fullname == key:
            benchmark.extra_info["perf"] = merged.model_dump(mode="json")
            benchmark.stats = samples(merged)
