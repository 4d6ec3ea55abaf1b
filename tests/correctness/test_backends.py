"""Every backend, case and direction against the float32 reference."""

import pytest

from perf.backends.base import Backend
from perf.grids import Entry
from perf.inputs import Inputs
from perf.measure import checked_errors
from perf.reference import Expected
from perf.suite import Suite


@pytest.mark.keys(tag="correctness")
def test_backend_agrees_with_the_reference(
    entry: Entry, backend: Backend, qkv: Inputs, oracle: Expected, suite: Suite
) -> None:
    """Output and gradients are within the tolerance of the case's dtype, and what ran was promised."""
    program = backend.build(entry.case, entry.key.direction, qkv)
    found = checked_errors(
        program,
        oracle,
        entry.key,
        seed=suite.config.getoption("seed"),
        repeat=suite.repeat(str(entry.key), folder="tests/correctness"),
    )
    assert [error.quantity for error in found] == list(oracle.values)
    assert backend.broken_promise(entry.key.direction, (), program.custom_calls) is None
