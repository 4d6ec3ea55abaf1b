"""Time the output alone: every selected backend and case."""

from collections.abc import Callable

import pytest


@pytest.mark.keys(direction="forward")
def bench_forward(timed: Callable[[], None]) -> None:
    """Check the key against the reference, then time it."""
    timed()
