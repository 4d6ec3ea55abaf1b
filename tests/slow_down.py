"""A pytest plug-in for tests alone: makes the clock of some keys run fast, so that they look slower.

``ATTENTION_PERF_TEST_SLOWER='jax_cudnn/forward/*T4096*' ATTENTION_PERF_TEST_FACTOR=1.05
python -m pytest perf -p tests.slow_down --benchmark-compare`` must fail and name those keys.
``ATTENTION_PERF_TEST_STEP=0.001`` in place of the factor makes every sample last one millisecond.
"""

import itertools
import os
from collections.abc import Callable
from fnmatch import fnmatchcase

import pytest


def _faster(clock: Callable[[], float], factor: float) -> Callable[[], float]:
    return lambda: factor * clock()


def _stepping(step: float) -> Callable[[], float]:
    ticks = itertools.count()
    return lambda: step * next(ticks)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put another timer before the one that the suite gave the chosen keys."""
    from perf.plugin import is_bench, key_of  # -p loads this module before pytest can rewrite that one
    from perf.suite import suite_of

    glob = os.environ["ATTENTION_PERF_TEST_SLOWER"]
    step = os.environ.get("ATTENTION_PERF_TEST_STEP")
    factor = float(os.environ.get("ATTENTION_PERF_TEST_FACTOR", "1"))
    chosen = [item for item in items if is_bench(item) and fnmatchcase(key_of(item), glob)]
    if not chosen and not config.getoption("keys"):
        raise pytest.UsageError(f"ATTENTION_PERF_TEST_SLOWER: {glob!r} matches no key of this run")
    for item in chosen:
        timer = _stepping(float(step)) if step else _faster(suite_of(config).timer, factor)
        group = next(item.iter_markers("benchmark")).kwargs["group"]
        item.add_marker(pytest.mark.benchmark(timer=timer, group=group), append=False)
