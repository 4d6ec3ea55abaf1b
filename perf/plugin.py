"""Every hook of pytest and pytest-benchmark.

Whatever runs before the first test reads the GPU through NVML and package metadata: no CUDA context and no
JAX backend, so that workers and subprocesses start clean.
"""

import random
from collections.abc import Generator, Sequence
from typing import Any, cast

import pytest

from perf import release, usage
from perf.capability import Supported
from perf.environment import machine_info
from perf.failures import failure_code
from perf.folders import BASELINES
from perf.grids import Entry
from perf.options import add_options
from perf.records.schema import Outcome
from perf.report import terminal
from perf.selection import SelectionError
from perf.suite import REFUSAL, SUITE, Suite, make_suite, pin_worker, suite_of


def entry_of(item: pytest.Item) -> Entry:
    """The key that an item checks or times."""
    return cast("Entry", cast("pytest.Function", item).callspec.params["entry"])


def key_of(item: pytest.Item) -> str:
    """The name of that key."""
    return str(entry_of(item).key)


def is_bench(item: pytest.Item) -> bool:
    """Whether an item times a key (and not only checks it)."""
    return isinstance(item, pytest.Function) and {"entry", "benchmark"} <= set(item.fixturenames)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare our options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read the machine, refuse contradicting options, and choose the baseline before anything runs."""
    worker = getattr(config, "workerinput", {}).get("workerid")
    pin_worker(worker)
    suite = config.stash[SUITE] = make_suite(config)
    usage.refuse_contradictions(config, suite)
    config.addinivalue_line("markers", "keys(direction, tag): which keys of the grids an item runs")
    config.option.benchmark_storage = usage.storage(config, BASELINES)
    suite.base = usage.base_record(config, suite)


def pytest_sessionstart(session: pytest.Session) -> None:
    """File what pytest-benchmark saves under the GPU's slug, and write it all or not at all."""
    suite = suite_of(session.config)
    host = session.config.pluginmanager.get_plugin("pytest-benchmark")
    if host is not None:
        usage.adopt_storage(host, suite.environment.slug)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is measured on, with which clock, and against what."""
    return terminal.header(suite_of(config))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise by the selected keys: all directions, or those of the function's ``keys`` mark."""
    if "entry" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("keys")
    wanted = mark.kwargs if mark else {}
    suite = suite_of(metafunc.config)
    try:
        entries = suite.selection(default_tag=wanted.get("tag")).entries()
    except SelectionError as error:
        suite.nothing_selected, entries = str(error), ()
    chosen = [e for e in entries if wanted.get("direction") in (None, e.key.direction)]
    metafunc.parametrize("entry", chosen, ids=[str(e.key) for e in chosen])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Group the items by case, shuffle the cases if asked, and attach clock and known failures.

    Raises:
        pytest.UsageError: Nothing is selected, or nothing that could be compared.
    """
    suite = suite_of(config)
    if suite.nothing_selected:  # said here: an error while collecting would be a traceback for every file
        raise pytest.UsageError(suite.nothing_selected)
    keyed = [item for item in items if _has_entry(item)]
    timed = {key_of(item) for item in keyed if is_bench(item)}
    if suite.wants_comparison and not timed and not session.testsfailed:
        raise pytest.UsageError("nothing to compare: no benchmark is among what was named; say pytest perf")
    _note_not_named(suite, timed)
    order = list(dict.fromkeys(entry_of(item).key.case_id for item in keyed))
    seed = config.getoption("order_seed")
    if seed is not None:
        random.Random(seed).shuffle(order)  # noqa: S311 - an order, no secret
    keyed.sort(key=lambda item: order.index(entry_of(item).key.case_id))
    # A function for whose direction no key is selected is left out: pytest would show it as a skip.
    items[:] = [*(item for item in items if "entry" not in _parameters(item)), *keyed]
    for item in keyed:
        _mark(item, suite)
    suite.collected = [key_of(item) for item in keyed if is_bench(item)]
    found = {key_of(item): entry_of(item) for item in keyed}
    suite.runnable = [e for e in found.values() if isinstance(suite.capability(e), Supported)]


def _note_not_named(suite: Suite, timed: set[str]) -> None:
    """A run of some files or tests alone is partial: the other keys of its options have not vanished."""
    selected = {str(entry.key) for entry in suite.selection().entries()} if timed else set()
    suite.asked_keys = selected | timed
    if selected - timed:
        suite.partial.append(f"{len(selected - timed)} keys of files or tests that were not named")


def _parameters(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _has_entry(item: pytest.Item) -> bool:
    return isinstance(_parameters(item).get("entry"), Entry)


def _mark(item: pytest.Item, suite: Suite) -> None:
    key = entry_of(item).key
    failure = suite.known_failure(str(key))
    if failure:
        reason = f"known failure ({failure.link}): {failure.seen}; right: {failure.right}"
        item.add_marker(pytest.mark.xfail(strict=True, reason=reason))
    if is_bench(item):
        item.add_marker(pytest.mark.benchmark(timer=suite.timer, group=f"{key.direction}/{key.case_id}"))


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """A run from which keys were taken by -k, --lf or the like is partial."""
    gone = [item for item in items if is_bench(item)]
    if gone:
        suite = suite_of(gone[0].config)
        suite.partial.append(f"{len(gone)} keys deselected (-k, --lf or the like)")
        names = {key_of(item) for item in gone}
        suite.collected = [key for key in suite.collected if key not in names]
        suite.runnable = [entry for entry in suite.runnable if str(entry.key) not in names]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what became of each key, with code and text."""
    report = yield
    if is_bench(item):
        outcome = _outcome(item, call, report)
        if outcome:
            suite = suite_of(item.config)
            suite.outcomes[outcome.key] = outcome
            suite.journal.ended(outcome)
        if outcome and outcome.code == "gpu-lost":
            item.session.shouldstop = f"the GPU is gone: {outcome.text}"
    return report


def _outcome(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Outcome | None:
    key = key_of(item)
    if hasattr(report, "wasxfail") and report.skipped:
        return Outcome(key=key, outcome="known-failure", code="known-failure", text=report.wasxfail)
    if report.skipped:
        code, text = item.stash.get(REFUSAL, ("skipped", str(report.longrepr)))
        return Outcome(key=key, outcome="unsupported", code=code, text=text)
    if report.failed:
        error = call.excinfo.value if call.excinfo else None
        code, text = failure_code(error) if error else ("xpass", str(report.longrepr))
        return Outcome(key=key, outcome="failed", code=code, text=text)
    if report.when == "call" and key in suite_of(item.config).records:
        return Outcome(key=key, outcome="measured", code="measured", text="")
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Note which key begins, and hold back its report until its verdict is known."""
    suite = suite_of(item.config)
    if not is_bench(item):
        return None
    suite.journal.started(key_of(item))
    if suite.base is None:
        return None
    suite.withheld.extend(release.run_withheld(item, nextitem, key=key_of(item)))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Compare after the last key, then publish the reports: a regressed key is a failed item."""
    suite = suite_of(session.config)
    finished = False
    try:
        result = yield
        finished = True
    except BaseException as error:
        suite.partial.append(f"stopped by {type(error).__name__}")
        raise
    finally:
        if suite.base is not None and not session.config.option.collectonly:
            release.publish(suite, finished=finished)
    return result


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Exit 3 when something could not be decided, 1 when the baseline that is required is missing."""
    session.exitstatus = release.exit_status(suite_of(session.config), exitstatus)


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None, object, object]:
    """Print our table, the verdicts and the counts after pytest-benchmark's own table.

    Also when that ends with an exception, as ``--benchmark-compare-fail`` does.
    """
    try:
        return (yield)
    finally:
        terminal.summary(terminalreporter, suite_of(terminalreporter.config))


def pytest_benchmark_generate_machine_info(config: pytest.Config) -> dict[str, Any]:
    """Only what identifies the stack: no host name, no live clock."""
    return machine_info(suite_of(config).environment)


@pytest.hookimpl(tryfirst=True)
def pytest_benchmark_compare_machine_info(
    machine_info: dict[str, Any], compared_benchmark: dict[str, Any]
) -> None:
    """Keep pytest-benchmark's own warning quiet: our verdict section prints the difference, in words.

    Its text needs the storage below the working folder, and ends the session with an internal error
    when it is elsewhere.
    """
    compared_benchmark["machine_info"] = machine_info


def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Add the session's fields; called once for each file that is saved."""
    output_json["perf"] = suite_of(config).session().model_dump(mode="json", by_alias=True)
