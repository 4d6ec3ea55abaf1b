"""Time output and gradients under one jit: every selected backend and case."""

from collections.abc import Callable

import pytest


@pytest.mark.keys(direction="training_step")
def bench_training_step(timed: Callable[[], None]) -> None:
    """Check the key against the reference, then time it."""
    timed()
