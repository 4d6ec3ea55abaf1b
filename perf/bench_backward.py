"""Time the gradient alone, from stored residuals: every selected backend and case."""

from collections.abc import Callable

import pytest


@pytest.mark.keys(direction="backward")
def bench_backward(timed: Callable[[], None]) -> None:
    """Check the key against the reference, then time it."""
    timed()
