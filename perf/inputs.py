"""Q, K, V and the output gradient of a case, made from a seed. Owns the input distribution.

The distribution is part of a number's identity (`INPUTS`): a matrix product on zeros can run 13 % faster
than on random data, so arrays are never constant.
"""

from functools import partial

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

FP8 arrays come with float32 scalars ``scale_q`` … ``scale_g``: stored = round(scale × value), so that the
largest value of each tensor meets the largest FP8 number (per-tensor current scaling).
"""


def make_inputs(case: AttentionCase, *, seed: int) -> Inputs:
    """Make the arrays of a case on the default device; the same case and seed give the same values."""
    return _make(case, jax.random.key(seed))


@partial(jax.jit, static_argnums=0)
def _make(case: AttentionCase, key: Array) -> Inputs:
    query = (case.batch, case.q_len, case.q_heads, case.head_dim)
    value = (case.batch, case.kv_len, case.kv_heads, case.head_dim)
    shapes = {"q": query, "k": value, "v": value, "g": query}
    keys = jax.random.split(key, len(shapes))
    arrays: Inputs = {}
    for (name, shape), one in zip(shapes.items(), keys, strict=True):
        normal = jax.random.normal(one, shape, jnp.float32)
        if case.dtype == "float8_e4m3fn":
            scale = FP8_MAX / jnp.max(jnp.abs(normal))
            arrays[f"scale_{name}"] = scale
            normal = jnp.clip(normal * scale, -FP8_MAX, FP8_MAX)
        arrays[name] = normal.astype(case.dtype)
    return arrays


def widened(inputs: Inputs, name: str) -> Float[Array, "B L N H"]:
    """The exact values that a stored array stands for, as float32."""
    return inputs[name].astype(jnp.float32) / inputs.get(f"scale_{name}", jnp.float32(1))
