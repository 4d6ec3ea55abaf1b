"""Transformer Engine's `DotProductAttention` under FP8 autocast, as the codelab asks for it.

The recipe is the text's: DelayedScaling, HYBRID (E4M3 forward, E5M2 backward), 1024 values of history, "max".
Whether FP8 happened is asked of the numbers: an output that equals bf16's bit for bit was not rounded to FP8.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
from jax import Array

from perf.backends import te
from perf.backends.base import Program
from perf.backends.jax_program import Attention, Promise
from perf.capability import Capability, Machine
from perf.cases import AttentionCase, Direction
from perf.inputs import Inputs

LIMITS = replace(te.LIMITS, gpu=(9, 0), dtypes=("bfloat16",), directions=("forward",))

_PROMISE = Promise(
    what="an FP8 attention kernel",
    kernel=r"sdpa.*(f8|e4m3|fp8)",
    custom_call=r"te_fused_attn",
)


class NotFp8Error(AssertionError):
    """FP8 was asked for, and something else ran."""


def recipe() -> object:
    """The codelab's recipe."""
    te.transformer_engine()
    from transformer_engine.common.recipe import DelayedScaling, Format

    return DelayedScaling(fp8_format=Format.HYBRID, amax_history_len=1024, amax_compute_algo="max")


def _attention(case: AttentionCase) -> Attention:
    wide, engine = te.attention(case), te.transformer_engine()

    def call(q: Array, k: Array, v: Array, bias: Array | None = None) -> Array:
        with engine.autocast(enabled=True, recipe=recipe()):
            return wide(q, k, v, bias)

    return call


class TeFp8:
    """See the module; the arrays are (B, L, heads, H) of bfloat16, to be rounded inside."""

    name = "te_fp8"
    summary = "Transformer Engine's DotProductAttention under FP8 autocast (DelayedScaling)"

    def supports(self, case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
        """Those of the bf16 module, on Hopper."""
        return LIMITS.answer(case, direction, machine)

    def build(self, case: AttentionCase, direction: Direction, inputs: Inputs) -> Program:
        """See `perf.backends.base.Backend`.

        Raises:
            NotFp8Error: The outputs under autocast and without it are equal bit for bit.
        """
        asked = replace(te.BACKEND, attention=_attention).build(case, direction, inputs)
        refuse_equal(asked, te.BACKEND.build(case, direction, inputs))
        return asked

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """See `perf.backends.base.Backend`."""
        del direction
        return _PROMISE.broken(kernels, custom_calls)


def refuse_equal(asked: Program, wide: Program) -> None:
    """Compare what two programs return.

    Raises:
        NotFp8Error: All of it is equal bit for bit.
    """
    found, plain = (program.outputs(program.run()) for program in (asked, wide))
    largest = max(float(jnp.max(jnp.abs(found[name] - plain[name]))) for name in found)
    if largest == 0:
        raise NotFp8Error(
            "asked FP8, ran bf16: the output under FP8 autocast equals the output without it bit for bit "
            f"(largest difference {largest:g})"
        )


BACKEND = TeFp8()
