"""`jax.nn.dot_product_attention` as the three `jax_*` backends call it."""

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array

from perf.backends.jax_program import Attention
from perf.backends.limits import WIDE, Limits
from perf.capability import Capability, Code, Machine, Unsupported
from perf.cases import AttentionCase, Direction

Implementation = Literal["xla", "cudnn"] | None

LIMITS = Limits(
    dtypes=WIDE,
    masks=("none", "causal", "padding", "padding_causal"),
    window=True,
    biases=("none", "dense"),
)


def attention(implementation: Implementation) -> Callable[[AttentionCase], Attention]:
    """The call for a named implementation, or for the open choice (None)."""

    def for_case(case: AttentionCase) -> Attention:
        def call(q: Array, k: Array, v: Array, bias: Array | None = None) -> Array:
            out: Array = jax.nn.dot_product_attention(
                q, k, v, bias, implementation=implementation, **mask_options(case)
            )
            return out

        return call

    return for_case


def mask_options(case: AttentionCase) -> dict[str, Any]:
    """The mask as this API, and tokamax's after it, takes it."""
    lengths = jnp.asarray(case.lengths, jnp.int32) if case.padded else None
    return {
        "is_causal": case.causal,
        "query_seq_lengths": lengths,
        "key_value_seq_lengths": lengths,
        "local_window_size": (case.window, 0) if case.window else None,
    }


def refuse(case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
    """JAX asks for products of float16 summed in float32, which XLA has on GPUs alone."""
    if case.dtype == "float16" and not machine.has_gpu:
        return Unsupported(code=Code.NO_GPU, needed="a GPU for float16", found="a CPU")
    return LIMITS.answer(case, direction, machine)
