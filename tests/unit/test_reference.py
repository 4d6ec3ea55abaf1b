"""The float32 oracle against attention written out in float64 NumPy."""

from typing import Any

import numpy as np
import pytest

from perf.cases import AttentionCase, Direction, Dtype, Mask
from perf.inputs import widened
from perf.reference import expected, quantities, visible
from perf.workloads import make_inputs

Array = Any


def case(**fields: object) -> AttentionCase:
    """A small case of two sequences."""
    base = {"batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 8, "dtype": "float32", "mask": "none"}
    return AttentionCase(**(base | fields))  # type: ignore[arg-type]  # a table of fields


def hidden(wanted: AttentionCase, length: int) -> Array:
    """Which key each query does not see."""
    t, s = np.arange(wanted.q_len)[:, None], np.arange(wanted.kv_len)[None, :]
    if wanted.mask == "causal_br":
        t = t + wanted.kv_len - wanted.q_len
    after = (s > t) if wanted.causal else (s < 0)
    before = (t - s > wanted.window) if wanted.window else (s < 0)
    return after | before | (s >= length)


def biases(wanted: AttentionCase, n: int, dense: Array) -> Array:
    """What is added to the scores of head n."""
    t, s = np.arange(wanted.q_len)[:, None], np.arange(wanted.kv_len)[None, :]
    slope = {2: (1 / 16, 1 / 256), 4: (1 / 4, 1 / 16, 1 / 64, 1 / 256)}
    if wanted.bias == "alibi":
        return -slope[wanted.q_heads][n] * (t - s)
    return dense[0, n] if wanted.bias == "dense" else 0.0 * (t - s)


def stepped(wanted: AttentionCase, score: Array) -> tuple[Array, Array]:
    """The step on the scores, capped at 2, and its derivative."""
    if wanted.score == "softcap":
        return 2 * np.tanh(score / 2), 1 - np.tanh(score / 2) ** 2
    if wanted.score == "softsign":
        return score / (1 + np.abs(score) / 2), (1 + np.abs(score) / 2) ** -2
    return score, np.ones_like(score)


def plain(  # noqa: PLR0913, PLR0917 - the arrays of attention
    wanted: AttentionCase, q: Array, k: Array, v: Array, g: Array, dense: Array
) -> dict[str, Array]:
    """Attention and its gradients, head by head, in the precision of the arrays."""
    out, dq = np.zeros_like(q), np.zeros_like(q)
    dk, dv = np.zeros_like(k), np.zeros_like(v)
    groups = wanted.q_heads // wanted.kv_heads
    for b in range(wanted.batch):
        for n in range(wanted.q_heads):
            m = n // groups
            score, slope = stepped(wanted, q[b, :, n] @ k[b, :, m].T / np.sqrt(wanted.head_dim))
            score = score + biases(wanted, n, dense)
            score = np.where(hidden(wanted, wanted.lengths[b]), -np.inf, score)
            power = np.exp(score - score.max(axis=-1, keepdims=True))
            weight = power / power.sum(axis=-1, keepdims=True)
            out[b, :, n] = weight @ v[b, :, m]
            dv[b, :, m] += weight.T @ g[b, :, n]
            dweight = g[b, :, n] @ v[b, :, m].T
            dscore = weight * (dweight - (weight * dweight).sum(axis=-1, keepdims=True)) * slope
            dq[b, :, n] = dscore @ k[b, :, m] / np.sqrt(wanted.head_dim)
            dk[b, :, m] += dscore.T @ q[b, :, n] / np.sqrt(wanted.head_dim)
    for b, length in enumerate(wanted.lengths if wanted.padded else ()):
        out[b, length:] = dq[b, length:] = 0
    return {"out": out, "dq": dq, "dk": dk, "dv": dv}


def compare_with_float64(wanted: AttentionCase) -> None:
    """Fail where the reference differs from `plain`."""
    inputs = make_inputs(wanted, seed=1)
    q, k, v, g = (np.asarray(widened(inputs, name), np.float64) for name in "qkvg")
    dense = np.asarray(inputs["bias"], np.float64) if wanted.bias == "dense" else np.zeros(())
    right = plain(wanted, q, k, v, g, dense)
    found = expected(wanted, "training_step", inputs)
    for name, value in found.values.items():
        np.testing.assert_allclose(np.asarray(value), right[name], atol=5e-6, err_msg=name)


@pytest.mark.parametrize(
    "fields",
    [
        {"mask": "causal_br", "q_len": 4, "kv_len": 7},
        {"mask": "causal", "window": 2},
        {"mask": "padding"},
        {"mask": "padding_causal", "kv_heads": 4},
        {"bias": "dense"},
        {"bias": "alibi", "mask": "causal"},
        {"bias": "alibi", "q_heads": 2, "score": "softcap"},
        {"score": "softsign", "mask": "causal", "window": 3, "bias": "dense"},
    ],
    ids=str,
)
def test_every_kind_agrees_with_float64(fields: dict[str, object]) -> None:
    """Masks, windows, padding, biases and steps on the scores, with their gradients."""
    compare_with_float64(case(**({"q_len": 6, "kv_len": 6} | fields)))


@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize(
    ("t", "s", "n", "k"), [(5, 5, 4, 4), (6, 6, 4, 2), (6, 6, 4, 1), (4, 7, 2, 2), (7, 4, 2, 1)]
)
def test_agrees_with_float64(t: int, s: int, n: int, k: int, mask: Mask) -> None:
    """Output and gradients, causal and not, MHA, GQA and MQA, more keys and fewer keys than queries."""
    compare_with_float64(case(q_len=t, kv_len=s, q_heads=n, kv_heads=k, mask=mask))


def test_causal_counts_both_lengths_from_the_first_position() -> None:
    """Top-left: the first query sees the first key alone, however many keys there are."""
    seen = np.asarray(visible(case(q_len=2, kv_len=4, mask="causal")))
    assert seen.tolist() == [[True, False, False, False], [True, True, False, False]]


def test_a_coarser_dtype_errs_more() -> None:
    """What the naive computation loses is in the order of the dtypes' steps, and nothing in float32."""
    names: tuple[Dtype, ...] = ("float32", "float16", "bfloat16", "float8_e4m3fn")
    losses = []
    for dtype in names:
        wanted = case(q_len=32, kv_len=32, head_dim=16, dtype=dtype, mask="causal")
        losses.append(expected(wanted, "training_step", make_inputs(wanted, seed=0)).naive_rms)
    for quantity in ("out", "dq", "dk", "dv"):
        values = [loss[quantity] for loss in losses]
        assert values[0] < 1e-6
        assert values == sorted(values)
        assert values[2] / values[1] == pytest.approx(8, rel=0.5)  # three bits of mantissa


@pytest.mark.parametrize("direction", ["forward", "backward", "training_step"])
def test_a_direction_has_its_quantities(direction: Direction) -> None:
    """Values and errors are those that a backend returns, in its order."""
    wanted = case(q_len=4, kv_len=4)
    found = expected(wanted, direction, make_inputs(wanted, seed=0))
    assert tuple(found.values) == tuple(found.naive_rms) == tuple(found.naive_max) == quantities(direction)
