"""The float32 oracle against attention written out in float64 NumPy."""

from typing import Any

import numpy as np
import pytest

from perf.cases import AttentionCase, Direction, Dtype, Mask
from perf.inputs import widened
from perf.reference import expected, quantities, visible
from perf.workloads import make_inputs

Array = Any


def case(  # noqa: PLR0913 - the fields of a case
    *, t: int, s: int, n: int, k: int, h: int = 8, dtype: Dtype = "float32", mask: Mask = "none"
) -> AttentionCase:
    """A small case of two sequences."""
    return AttentionCase(
        batch=2, q_len=t, kv_len=s, q_heads=n, kv_heads=k, head_dim=h, dtype=dtype, mask=mask
    )


def plain(wanted: AttentionCase, q: Array, k: Array, v: Array, g: Array) -> dict[str, Array]:
    """softmax(Q Kᵀ / √H) V and its gradients, head by head, in the precision of the arrays."""
    out, dq = np.zeros_like(q), np.zeros_like(q)
    dk, dv = np.zeros_like(k), np.zeros_like(v)
    groups = wanted.q_heads // wanted.kv_heads
    for b in range(wanted.batch):
        for n in range(wanted.q_heads):
            m = n // groups
            score = q[b, :, n] @ k[b, :, m].T / np.sqrt(wanted.head_dim)
            if wanted.mask == "causal":
                hidden = np.arange(wanted.kv_len)[None, :] > np.arange(wanted.q_len)[:, None]
                score[hidden] = -np.inf
            power = np.exp(score - score.max(axis=-1, keepdims=True))
            weight = power / power.sum(axis=-1, keepdims=True)
            out[b, :, n] = weight @ v[b, :, m]
            dv[b, :, m] += weight.T @ g[b, :, n]
            dweight = g[b, :, n] @ v[b, :, m].T
            dscore = weight * (dweight - (weight * dweight).sum(axis=-1, keepdims=True))
            dq[b, :, n] = dscore @ k[b, :, m] / np.sqrt(wanted.head_dim)
            dk[b, :, m] += dscore.T @ q[b, :, n] / np.sqrt(wanted.head_dim)
    return {"out": out, "dq": dq, "dk": dk, "dv": dv}


@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize(
    ("t", "s", "n", "k"), [(5, 5, 4, 4), (6, 6, 4, 2), (6, 6, 4, 1), (4, 7, 2, 2), (7, 4, 2, 1)]
)
def test_agrees_with_float64(t: int, s: int, n: int, k: int, mask: Mask) -> None:
    """Output and gradients, causal and not, MHA, GQA and MQA, more keys and fewer keys than queries."""
    wanted = case(t=t, s=s, n=n, k=k, mask=mask)
    inputs = make_inputs(wanted, seed=1)
    exact = [np.asarray(widened(inputs, name), np.float64) for name in "qkvg"]
    right = plain(wanted, *exact)
    found = expected(wanted, "training_step", inputs)
    for name, value in found.values.items():
        np.testing.assert_allclose(np.asarray(value), right[name], atol=5e-6, err_msg=name)


def test_causal_counts_both_lengths_from_the_first_position() -> None:
    """Top-left: the first query sees the first key alone, however many keys there are."""
    seen = np.asarray(visible(case(t=2, s=4, n=1, k=1, mask="causal")))
    assert seen.tolist() == [[True, False, False, False], [True, True, False, False]]


def test_a_coarser_dtype_errs_more() -> None:
    """What the naive computation loses is in the order of the dtypes' steps, and nothing in float32."""
    names: tuple[Dtype, ...] = ("float32", "float16", "bfloat16", "float8_e4m3fn")
    losses = []
    for dtype in names:
        wanted = case(t=32, s=32, n=2, k=2, h=16, dtype=dtype, mask="causal")
        losses.append(expected(wanted, "training_step", make_inputs(wanted, seed=0)).naive_rms)
    for quantity in ("out", "dq", "dk", "dv"):
        values = [loss[quantity] for loss in losses]
        assert values[0] < 1e-6
        assert values == sorted(values)
        assert values[2] / values[1] == pytest.approx(8, rel=0.5)  # three bits of mantissa


@pytest.mark.parametrize("direction", ["forward", "backward", "training_step"])
def test_a_direction_has_its_quantities(direction: Direction) -> None:
    """Values and errors are those that a backend returns, in its order."""
    wanted = case(t=4, s=4, n=1, k=1)
    found = expected(wanted, direction, make_inputs(wanted, seed=0))
    assert tuple(found.values) == tuple(found.naive_rms) == tuple(found.naive_max) == quantities(direction)
