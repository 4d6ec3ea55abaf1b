"""Attention from scratch: scores, scale, softmax, values, each its own JAX operation; O(T·S) memory."""

import math

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from perf.backends.jax_program import Attention, JaxBackend
from perf.capability import Capability, Code, Machine, Supported, Unsupported
from perf.cases import AttentionCase, Direction


def _attention(case: AttentionCase) -> Attention:
    def scratch(
        q: Float[Array, "B T N H"], k: Float[Array, "B S K H"], v: Float[Array, "B S K H"]
    ) -> Float[Array, "B T N H"]:
        groups = case.q_heads // case.kv_heads
        k, v = (jnp.repeat(x, groups, axis=2) for x in (k, v))
        score = jnp.einsum("btnh,bsnh->bnts", q, k) / math.sqrt(case.head_dim)
        if case.mask == "causal":
            visible = jnp.tril(jnp.ones(score.shape[-2:], bool))
            score = jnp.where(visible, score, jnp.finfo(score.dtype).min)
        weight = jax.nn.softmax(score, axis=-1)
        return jnp.einsum("bnts,bsnh->btnh", weight, v)

    return scratch


def refuse_fp8(case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
    """Unfused attention has no per-tensor scaling, so FP8 arrays mean nothing to it."""
    del direction, machine
    if case.dtype == "float8_e4m3fn":
        return Unsupported(code=Code.DTYPE, needed="float32, bfloat16 or float16", found=case.dtype)
    return Supported()


def _refuse(case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
    """On a CPU the products of a bfloat16 gradient are summed in bfloat16.

    XLA does so from JAX 0.12 on where the processor multiplies bfloat16 itself: dK then errs 2.5 times as
    much as with sums in float32, which is what every other backend and the tolerance mean.
    """
    if not machine.has_gpu and case.dtype == "bfloat16" and direction != "forward":
        return Unsupported(code=Code.NO_GPU, needed="a GPU for gradients in bfloat16", found="a CPU")
    return refuse_fp8(case, direction, machine)


BACKEND = JaxBackend(
    name="naive",
    summary="attention from scratch: scores, softmax and values as separate JAX operations",
    attention=_attention,
    refuse=_refuse,
)
