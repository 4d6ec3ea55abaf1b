"""Q, K, V and the output gradient of a case, made from a seed. Owns the input distribution.

The distribution is part of a number's identity (`INPUTS`): a matrix product on zeros can run 13 % faster
than on random data, so arrays are never constant.
"""

from collections.abc import Callable
from functools import cache, partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from perf.cases import AttentionCase

INPUTS = "normal-1"
"""Independent standard normal values in float32, rounded to the case's dtype; 1 is the version."""

FP8_MAX = 448.0
"""Largest finite float8_e4m3fn."""

Inputs = dict[str, Array]
"""``q`` (B, T, N, H), ``k`` and ``v`` (B, S, K, H), ``g`` (B, T, N, H): the gradient of the output.

``bias`` (1, N, T, S) where the case has a dense one. Under padding ``g`` is zero where a query is padding.

FP8 arrays come with one float32 scalar ``scale``: stored = round(scale × value), so that the largest value of
the four meets the largest FP8 number. One scale loses nothing: the four have the same distribution.
"""


@cache
def compiled_maker(case: AttentionCase) -> Callable[[Array], Inputs]:
    """The program that makes a case's arrays from a random key."""
    return jax.jit(partial(_make, case)).lower(jax.random.key(0)).compile()


def array_shapes(case: AttentionCase) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a case's arrays, the scale of FP8 apart."""
    shapes = {"q": case.query_shape, "k": case.key_shape, "v": case.key_shape, "g": case.query_shape}
    if case.bias == "dense":
        return {**shapes, "bias": (1, case.q_heads, case.q_len, case.kv_len)}
    return {**shapes}


def rows_used(case: AttentionCase) -> Bool[Array, "B T"]:
    """Which positions are no padding."""
    used: Array = jnp.arange(case.q_len) < jnp.asarray(case.lengths)[:, None]
    return used


def _make(case: AttentionCase, key: Array) -> Inputs:
    shapes = array_shapes(case)
    keys = jax.random.split(key, len(shapes))
    normal = {
        name: jax.random.normal(one, shape, jnp.float32)
        for (name, shape), one in zip(shapes.items(), keys, strict=True)
    }
    if case.padded:
        normal["g"] = jnp.where(rows_used(case)[..., None, None], normal["g"], 0)
    if case.dtype != "float8_e4m3fn":
        return {name: x.astype(case.dtype) for name, x in normal.items()}
    scale = FP8_MAX / jnp.max(jnp.stack([jnp.max(jnp.abs(x)) for x in normal.values()]))
    # Clipped: scale × the largest value can round to just above FP8_MAX, which would become NaN.
    stored = {name: jnp.clip(x * scale, -FP8_MAX, FP8_MAX) for name, x in normal.items()}
    return {name: x.astype(case.dtype) for name, x in stored.items()} | {"scale": scale}


def widened(inputs: Inputs, name: str) -> Float[Array, "B L N H"]:
    """The exact values that a stored array stands for, as float32."""
    exact: Array = inputs[name].astype(jnp.float32) / inputs.get("scale", jnp.float32(1))
    return exact
