"""The transformer block's reference against NumPy in float64."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from perf.block import weight_shapes
from perf.cases import BlockCase
from perf.reference import rounded_fp8
from perf.workloads import make_inputs, workload

Array = Any
CASE = BlockCase(layers=2, batch=2, length=6, hidden=16, q_heads=4, kv_heads=2, head_dim=4, ffn=24)


def forward(case: BlockCase, w: dict[str, Array], x: Array) -> Array:
    """All layers, token by token where that is plainest."""
    for layer in range(case.layers):
        mine = {name.split("/", 1)[1]: a for name, a in w.items() if name.startswith(f"layer{layer}/")}
        attended = attend(case, mine, norm(x) * mine["attention_norm/scale"])
        if not case.ffn:
            x = attended
            continue
        x = x + attended
        y = norm(x) * mine["mlp_norm/scale"]
        gate = y @ mine["gate/kernel"]
        x = x + (gate / (1 + np.exp(-gate)) * (y @ mine["up/kernel"])) @ mine["down/kernel"]
    return x


def norm(x: Array) -> Array:
    """RMSNorm without its scale."""
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6)


def attend(case: BlockCase, w: dict[str, Array], x: Array) -> Array:
    """Causal attention, head by head, with the output projection."""
    out = np.zeros_like(x)
    for n in range(case.q_heads):
        m = n // (case.q_heads // case.kv_heads)
        q, k, v = x @ w["query/kernel"][:, n], x @ w["key/kernel"][:, m], x @ w["value/kernel"][:, m]
        score = q @ k.transpose(0, 2, 1) / np.sqrt(case.head_dim)
        score = np.where(np.tril(np.ones(score.shape[-2:], bool)), score, -np.inf)
        power = np.exp(score - score.max(axis=-1, keepdims=True))
        out = out + (power / power.sum(axis=-1, keepdims=True)) @ v @ w["out/kernel"][n]
    return out


@pytest.mark.parametrize("case", [CASE, replace(CASE, layers=1, ffn=0, kv_heads=4)], ids=lambda case: case.id)
def test_agrees_with_float64(case: BlockCase) -> None:
    """The output, and the gradient along a random direction of every weight."""
    inputs = make_inputs(case, seed=3)
    exact = {name: np.asarray(a, np.float64) for name, a in inputs.items()}
    weights = {name: exact[name] for name in weight_shapes(case)}
    found = workload(case).expected(case, "training_step", inputs).values
    np.testing.assert_allclose(found["out"], forward(case, weights, exact["x"]), atol=2e-5)
    random = np.random.default_rng(0)
    for name, weight in weights.items():
        direction, step = random.normal(size=weight.shape), 1e-5
        ahead, behind = (
            (forward(case, weights | {name: weight + sign * step * direction}, exact["x"]) * exact["g"]).sum()
            for sign in (1, -1)
        )
        slope = (np.asarray(found[f"d.{name}"], np.float64) * direction).sum()
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-3, abs=1e-3), name


def test_fp8_projections_err_more_than_bf16() -> None:
    """Three bits of mantissa where there were seven."""
    case = replace(CASE, layers=1, hidden=64, head_dim=16, ffn=96, length=32)
    errors = [
        workload(case).expected(case, "training_step", make_inputs(case, seed=0)).naive_rms
        for case in (case, replace(case, dtype="float8_e4m3fn"))
    ]
    for name in (name for name in errors[0] if name.endswith("kernel")):
        assert 2 < errors[1][name] / errors[0][name] < 40, name


@pytest.mark.parametrize(("bits", "step"), [({}, 2**-4), ({"exponent_bits": 5, "mantissa_bits": 2}, 2**-3)])
def test_rounding_to_fp8_is_that_of_the_type(bits: dict[str, int], step: float) -> None:
    """The largest value stays; another errs by half a step of its own binade at most."""
    x = jnp.linspace(0.5, 100.0, 997)
    rounded = np.asarray(rounded_fp8(x, **bits))
    assert rounded[-1] == pytest.approx(100.0, rel=1e-6)
    relative = np.abs(rounded / np.asarray(x) - 1)
    assert step / 2 < relative.max() <= step
