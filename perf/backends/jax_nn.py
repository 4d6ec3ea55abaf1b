"""`jax.nn.dot_product_attention` as the three `jax_*` backends call it."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import jax

from perf.backends.jax_program import Attention
from perf.backends.naive import refuse_fp8
from perf.capability import Capability, Code, Machine, Unsupported
from perf.cases import AttentionCase, Direction

Implementation = Literal["xla", "cudnn"] | None


def attention(implementation: Implementation) -> Callable[[AttentionCase], Attention]:
    """The call for a named implementation, or for the open choice (None)."""

    def for_case(case: AttentionCase) -> Attention:
        return partial(
            jax.nn.dot_product_attention,
            is_causal=case.mask == "causal",
            implementation=implementation,
        )

    return for_case


def refuse(case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
    """JAX asks for products of float16 summed in float32, which XLA has on GPUs alone."""
    if case.dtype == "float16" and not machine.has_gpu:
        return Unsupported(code=Code.NO_GPU, needed="a GPU for float16", found="a CPU")
    return refuse_fp8(case, direction, machine)
