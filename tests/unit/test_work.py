"""FLOP and bytes against numbers worked out by hand."""

import pytest

from perf.cases import AttentionCase, Direction, Dtype, Mask
from perf.grids import entries
from perf.work import PEAKS, flop, least_bytes, roofline_s


def _case(  # noqa: PLR0913 - the fields of a case
    *, b: int, t: int, s: int, n: int, k: int, h: int, dtype: Dtype = "bfloat16", mask: Mask = "none"
) -> AttentionCase:
    return AttentionCase(
        batch=b, q_len=t, kv_len=s, q_heads=n, kv_heads=k, head_dim=h, dtype=dtype, mask=mask
    )


TINY = _case(b=2, t=3, s=5, n=4, k=2, h=8)
B1 = _case(b=4, t=4096, s=4096, n=16, k=16, h=128, mask="causal")


@pytest.mark.parametrize(
    ("case", "direction", "expected"),
    [
        (TINY, "forward", 4 * 2 * 4 * 3 * 5 * 8),  # two products of 2·T·S·H for each of B·N heads
        (TINY, "backward", 10 * 2 * 4 * 3 * 5 * 8),
        (TINY, "training_step", 14 * 2 * 4 * 3 * 5 * 8),
        (B1, "forward", 274_877_906_944),  # half of 4·B·N·T²·H
    ],
)
def test_flop(case: AttentionCase, direction: Direction, expected: float) -> None:
    """Key heads do not count: every query head multiplies."""
    assert flop(case, direction) == expected


def test_flop_as_the_published_rates_count() -> None:
    """The H200's 0.474 ms for B1's shape are 580 TFLOP/s, half the square counted."""
    assert flop(B1, "forward") / 0.474e-3 / 1e12 == pytest.approx(580, abs=1)


@pytest.mark.parametrize("case", [TINY, B1])
def test_the_gradient_is_two_and_a_half_forwards(case: AttentionCase) -> None:
    """Five products to two; a training step is both."""
    forward = flop(case, "forward")
    assert flop(case, "backward") == 2.5 * forward
    assert flop(case, "training_step") == 3.5 * forward


@pytest.mark.parametrize(
    ("dtype", "size"), [("float32", 4), ("bfloat16", 2), ("float16", 2), ("float8_e4m3fn", 1)]
)
@pytest.mark.parametrize(
    ("direction", "queries", "keys"), [("forward", 2, 2), ("backward", 4, 4), ("training_step", 4, 4)]
)
def test_bytes(dtype: Dtype, size: int, direction: Direction, queries: int, keys: int) -> None:
    """Forward moves Q, K, V, O; the others move dO, dQ, dK, dV besides; a mask moves nothing."""
    query, key = 2 * 3 * 4 * 8, 2 * 5 * 2 * 8
    case = _case(b=2, t=3, s=5, n=4, k=2, h=8, dtype=dtype, mask="causal")
    assert least_bytes(case, direction) == size * (queries * query + keys * key)


def test_a_training_step_reads_no_output() -> None:
    """It reads Q, K, V, dO and writes O, dQ, dK, dV: 8 arrays, as the gradient alone with its own output."""
    square = _case(b=1, t=10, s=10, n=1, k=1, h=10)
    assert least_bytes(square, "training_step") == 8 * 100 * 2


@pytest.mark.parametrize(
    ("flop_count", "byte_count", "expected"),
    [(989e12, 1.0, 1.0), (1.0, 4.8e12, 1.0), (989e12, 9.6e12, 2.0)],
)
def test_the_roofline_is_the_slower_of_the_two(flop_count: float, byte_count: float, expected: float) -> None:
    """Either the matrix units or the memory bound the time."""
    assert roofline_s("bfloat16", flop_count, byte_count, "nvidia-h200") == pytest.approx(expected)


def test_a_gpu_without_peaks_has_no_roofline() -> None:
    """Nothing is made up for it."""
    assert roofline_s("bfloat16", 1.0, 1.0, "nvidia-b300") is None


@pytest.mark.parametrize("slug", PEAKS)
def test_no_case_of_the_grids_lacks_a_peak(slug: str) -> None:
    """Every dtype that is timed has a ceiling; FP8's is twice bfloat16's."""
    assert {entry.case.dtype for entry in entries()} <= set(PEAKS[slug].flop_per_s)
    peak = PEAKS[slug].flop_per_s
    assert peak["float8_e4m3fn"] / peak["bfloat16"] == pytest.approx(2, rel=1e-3)
    assert PEAKS[slug].source
