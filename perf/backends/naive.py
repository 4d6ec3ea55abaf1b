"""Attention from scratch: scores, scale, softmax, values, each its own JAX operation; O(T·S) memory."""

import math

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from perf.backends.jax_program import Attention, JaxBackend
from perf.backends.limits import BIASES, MASKS, SCORES, WIDE, Limits
from perf.capability import Capability, Code, Machine, Unsupported
from perf.cases import AttentionCase, Direction
from perf.reference import alibi, score_step, visible

LIMITS = Limits(dtypes=WIDE, masks=MASKS, window=True, biases=BIASES, scores=SCORES)


def _attention(case: AttentionCase) -> Attention:
    def scratch(
        q: Float[Array, "B T N H"],
        k: Float[Array, "B S K H"],
        v: Float[Array, "B S K H"],
        bias: Float[Array, "1 N T S"] | None = None,
    ) -> Float[Array, "B T N H"]:
        groups = case.q_heads // case.kv_heads
        k, v = (jnp.repeat(x, groups, axis=2) for x in (k, v))
        score = score_step(case)(jnp.einsum("btnh,bsnh->bnts", q, k) / math.sqrt(case.head_dim))
        if case.bias != "none":
            score += (alibi(case) if bias is None else bias).astype(score.dtype)
        if case.mask != "none":
            score = jnp.where(_seen(case), score, jnp.finfo(score.dtype).min)
        weight = jax.nn.softmax(score, axis=-1)
        return jnp.einsum("bnts,bsnh->btnh", weight, v)

    return scratch


def _seen(case: AttentionCase) -> Array:
    if not case.padded:
        return visible(case)
    used = jnp.arange(case.kv_len) < jnp.asarray(case.lengths)[:, None, None, None]
    return visible(case) & used


def _refuse(case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
    """On a CPU the products of a bfloat16 gradient are summed in bfloat16.

    XLA does so from JAX 0.12 on where the processor multiplies bfloat16 itself: dK then errs 2.5 times as
    much as with sums in float32, which is what every other backend and the tolerance mean.
    """
    if not machine.has_gpu and case.dtype == "bfloat16" and direction != "forward":
        return Unsupported(code=Code.NO_GPU, needed="a GPU for gradients in bfloat16", found="a CPU")
    return LIMITS.answer(case, direction, machine)


BACKEND = JaxBackend(
    name="naive",
    summary="attention from scratch: scores, softmax and values as separate JAX operations",
    attention=_attention,
    refuse=_refuse,
)
