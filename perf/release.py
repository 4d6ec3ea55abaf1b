"""Reports of timed keys are held back until their verdicts are known.

A regressed key is so one failed item: in the terminal, in JUnit XML and for ``--lf``.
"""

from functools import partial
from typing import TYPE_CHECKING

import pytest
from _pytest.runner import runtestprotocol  # what pytest-rerunfailures and pytest-xdist build on too

from perf.folders import BASELINES
from perf.records.store import Record
from perf.suite import Suite, Withheld

if TYPE_CHECKING:
    from perf.compare import Comparison, Thresholds

OK, REGRESSION = 0, 1


def run_withheld(item: pytest.Item, nextitem: pytest.Item | None, *, key: str) -> list[Withheld]:
    """Run one item; publish its reports at once unless a verdict on it is still to come."""
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if all(report.passed for report in reports):
        return [Withheld(key=key, item=item, reports=reports)]
    _publish(item, reports)
    return []


def publish(suite: Suite, *, finished: bool) -> None:
    """Compare, turn regressed keys into failed reports, and hand every held report to pytest.

    Args:
        finished: False after Ctrl-C or another abort: what was measured is reported without verdicts.
    """
    if finished and suite.base:
        suite.comparison = _settled(suite, suite.base)
    texts = _failure_texts(suite.comparison) if suite.comparison else {}
    while suite.withheld:
        held = suite.withheld.pop(0)
        for report in held.reports:
            if report.when == "call" and held.key in texts:
                report.outcome, report.longrepr = "failed", texts[held.key]
        _publish(held.item, held.reports)


def _settled(suite: Suite, base: Record) -> "Comparison":
    """Compare, and measure again what is undecided."""
    from perf.again import settle  # SciPy takes a second to import
    from perf.compare import load_thresholds

    thresholds = load_thresholds(BASELINES / "thresholds.toml")
    reporter = suite.config.pluginmanager.get_plugin("terminalreporter")

    def say(line: str) -> None:
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(line)

    return settle(suite, partial(compare_run, suite, base, thresholds), thresholds.budget, say=say)


def compare_run(
    suite: Suite, base: Record, thresholds: "Thresholds", *, look: int, looks: int
) -> "Comparison":
    """Compare this run with a record; only keys that the options ask for can vanish."""
    from perf.compare import compare

    selection = suite.selection()
    asked = [record for key, record in base.keys.items() if selection.asks_for(key)]
    deselected = suite.asked_keys - set(suite.collected)
    gpus = (base.session.environment.gpu, suite.environment.gpu)
    base_machine, head_machine = (gpu.uuid if gpu else None for gpu in gpus)
    return compare(
        [record for record in asked if record.key not in deselected],
        list(suite.records.values()),
        thresholds=thresholds,
        base_machine=base_machine,
        head_machine=head_machine,
        head_outcomes=suite.outcomes,
        look=look,
        looks=looks,
    )


def _failure_texts(comparison: "Comparison") -> dict[str, str]:
    return {v.key: v.text for v in comparison.verdicts if v.fails}


def _publish(item: pytest.Item, reports: list[pytest.TestReport]) -> None:
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def exit_status(suite: Suite, status: int) -> int:
    """Our exit code where pytest's own would hide something.

    A required baseline that is missing fails; a vanished key has no item that could fail; undecided keys
    and a comparison of nothing are 3.
    """
    if status != OK:
        return status
    if suite.comparison:
        return suite.comparison.exit_code
    return REGRESSION if suite.config.getoption("require_baseline") and suite.base is None else OK
