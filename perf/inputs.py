"""Q, K, V and the output gradient of a case, made from a seed. Owns the input distribution.

The distribution is part of a number's identity (`INPUTS`): a matrix product on zeros can run 13 % faster
than on random data, so arrays are never constant.
"""

from collections.abc import Callable
from functools import cache, partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from perf.cases import AttentionCase

INPUTS = "normal-1"
"""Independent standard normal values in float32, rounded to the case's dtype; 1 is the version."""

FP8_MAX = 448.0
"""Largest finite float8_e4m3fn."""

Inputs = dict[str, Array]
"""``q`` (B, T, N, H), ``k`` and ``v`` (B, S, K, H), ``g`` (B, T, N, H): the gradient of the output.

FP8 arrays come with one float32 scalar ``scale``: stored = round(scale × value), so that the largest value of
the four meets the largest FP8 number. One scale loses nothing: the four have the same distribution.
"""


def make_inputs(case: AttentionCase, *, seed: int) -> Inputs:
    """Make the arrays of a case on the default device; the same case and seed give the same values."""
    made: Inputs = compiled_maker(case)(jax.random.key(seed))
    return made


@cache
def compiled_maker(case: AttentionCase) -> Callable[[Array], Inputs]:
    """The program that makes a case's arrays from a random key."""
    return jax.jit(partial(_make, case)).lower(jax.random.key(0)).compile()


def _make(case: AttentionCase, key: Array) -> Inputs:
    shapes = {"q": case.query_shape, "k": case.key_shape, "v": case.key_shape, "g": case.query_shape}
    keys = jax.random.split(key, len(shapes))
    normal = {
        name: jax.random.normal(one, shape, jnp.float32)
        for (name, shape), one in zip(shapes.items(), keys, strict=True)
    }
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
