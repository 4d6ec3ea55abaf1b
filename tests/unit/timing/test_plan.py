"""How many rounds, how far apart, and which samples cannot be true."""

import math

import pytest

from perf.timing.plan import Plan, SampleError, plan, refuse_impossible, refuse_uneven


@pytest.mark.parametrize(
    ("call_s", "wall_s", "rounds"),
    [
        (4e-6, 2e-4, 100),  # short: as many as are taken at most
        (5e-5, 3e-4, 40),  # 2 ms of measured time
        (1e-3, 2e-3, 30),  # long enough in the fewest rounds that are taken
        (0.1, 0.1, 10),  # 2 s of wall time, pauses counted
        (3.0, 3.0, 5),  # never fewer
    ],
)
def test_the_rule_of_rounds(call_s: float, wall_s: float, rounds: int) -> None:
    """Enough time, between the fewest and the most rounds, within the wall time."""
    assert plan([call_s] * 3, [wall_s] * 3, paced=True) == Plan(rounds=rounds, pause_s=call_s)


def test_the_host_clock_is_not_paced() -> None:
    """A pause belongs to the device clock; without it twice as many rounds fit."""
    assert plan([0.1] * 3, [0.1] * 3, paced=False) == Plan(rounds=20, pause_s=0.0)


def test_one_slow_pilot_call_does_not_decide() -> None:
    """The middle pilot call counts: the first is often slow."""
    assert plan([9.0, 1e-3, 1e-3], [9.0, 2e-3, 2e-3], paced=True).rounds == 30


def test_no_work_seen_is_an_error() -> None:
    """No kernels is invalid, never 0 ms."""
    with pytest.raises(SampleError, match="no kernel ran, or none was seen"):
        plan([0.0] * 3, [1e-3] * 3, paced=True)


@pytest.mark.parametrize("sample", [0.0, -1e-6, math.nan, math.inf])
def test_a_time_that_is_none_is_refused(sample: float) -> None:
    """The round is named with what was found."""
    with pytest.raises(SampleError, match="round 1: expected a positive time"):
        refuse_impossible([1e-6, sample], [1e-3, 1e-3])


def test_longer_than_the_wall_time_around_it_is_refused() -> None:
    """A kernel cannot take longer than the call that waited for it."""
    with pytest.raises(SampleError, match=r"round 0: 0\.002000000 s measured within 0\.001000000 s"):
        refuse_impossible([2e-3], [1e-3])


def test_rounds_of_one_program_launch_the_same_kernels() -> None:
    """Another count is a lost record."""
    refuse_uneven([3, 3, 3])
    with pytest.raises(SampleError, match=r"different numbers of kernels \(\[2, 3\]\)"):
        refuse_uneven([3, 2, 3])
