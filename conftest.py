"""What a reader looks for first: the fixtures of checks and benchmarks, and the single place that skips.

Options are in `perf.options`, hooks in `perf.plugin`.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from perf.ahead import cached, compile_ahead
from perf.backends import BY_NAME
from perf.backends.base import Backend
from perf.capability import Unsupported
from perf.cases import Case, Direction
from perf.grids import Entry
from perf.inputs import Inputs
from perf.measure import Setup, measure
from perf.reference import Expected
from perf.suite import COMPILED, REFUSAL, Suite, suite_of
from perf.workloads import make_inputs, quantities, workload

pytest_plugins = ["perf.plugin", "pytester"]


@pytest.fixture(scope="session")
def suite(pytestconfig: pytest.Config) -> Suite:
    """The session's state."""
    return suite_of(pytestconfig)


@pytest.fixture
def case(entry: Entry) -> Case:
    """Shape, dtype and mask of the key."""
    return entry.case


@pytest.fixture
def backend(entry: Entry, suite: Suite, request: pytest.FixtureRequest) -> Backend:
    """The backend of the key; skips when it refuses the case. Nothing else in the suite skips."""
    capability = suite.capability(entry)
    if isinstance(capability, Unsupported):
        request.node.stash[REFUSAL] = (str(capability.code), str(capability))
        pytest.skip(str(capability))
    return BY_NAME[entry.key.backend]


@lru_cache(maxsize=1)  # items come sorted by case
def _inputs(case: Case, seed: int) -> Inputs:
    return make_inputs(case, seed=seed)


@lru_cache(maxsize=1)
def _expected(case: Case, direction: Direction, seed: int) -> Expected:
    return workload(case).expected(case, direction, _inputs(case, seed))


@pytest.fixture
def qkv(case: Case, backend: Backend, suite: Suite, compiled_ahead: None) -> Inputs:
    """The arrays of the case: Q, K, V and the output gradient, for attention."""
    del backend, compiled_ahead  # a refused case makes no arrays
    return _inputs(case, suite.config.getoption("seed"))


@pytest.fixture(scope="session")
def compiled_ahead(suite: Suite) -> None:
    """Inputs and references of all keys of this session, compiled before the first measurement."""
    suite.refuse_other_platform()
    with cached(suite.config.rootpath / COMPILED):
        if not suite.is_worker:  # a worker of xdist runs a few keys; nobody knows yet which
            compile_ahead(suite.runnable, suite.reference_direction)


@pytest.fixture
def oracle(entry: Entry, qkv: Inputs, suite: Suite) -> Expected:
    """What is right for the key, from the float32 reference."""
    del qkv
    seed = suite.config.getoption("seed")
    direction = suite.reference_direction(entry.case)
    return _expected(entry.case, direction, seed).only(quantities(entry.case, entry.key.direction))


@pytest.fixture(scope="session")
def setup(suite: Suite) -> Setup:
    """Clock, cache mode, seed and GPU reader of this session."""
    return suite.setup()


@pytest.fixture
def timed(
    entry: Entry, qkv: Inputs, oracle: Expected, setup: Setup, suite: Suite, benchmark: Any
) -> Callable[[], None]:
    """A call that measures the key and keeps its record."""
    benchmark.name = benchmark.fullname = benchmark.param = str(entry.key)
    benchmark.params = {
        "backend": entry.key.backend,
        "direction": entry.key.direction,
        "case": entry.key.case_id,
    }

    def measure_key() -> None:
        repeat = suite.repeat(str(entry.key), folder="perf")
        try:
            record = measure(
                entry, inputs=qkv, expected=oracle, setup=setup, benchmark=benchmark, repeat=repeat
            )
        except BaseException:
            benchmark.has_error = True  # pytest-benchmark would save and show the time of a failed key
            suite.discard(str(entry.key))
            raise
        if record:
            benchmark.extra_info["perf"] = record.model_dump(mode="json")
            suite.keep(record)

    return measure_key
