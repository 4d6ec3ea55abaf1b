"""JAX's own attention kernels in Pallas, with the block sizes of their own benchmarks; neither is tuned."""

from jax import Array

from perf.backends.jax_program import Attention, JaxBackend, Promise
from perf.backends.limits import HALF, HOPPER, Limits
from perf.cases import AttentionCase

WIDEST_WITH_LARGE_BLOCKS = 128
"""Head size up to which 128 keys a block fit in shared memory."""


def _mosaic(case: AttentionCase) -> Attention:
    from jax.experimental.pallas.ops.gpu.attention_mgpu import TuningConfig
    from jax.experimental.pallas.ops.gpu.attention_mgpu import attention as kernel

    config = TuningConfig(
        block_q=64,
        block_kv=128 if case.head_dim <= WIDEST_WITH_LARGE_BLOCKS else 64,
        max_concurrent_steps=2,
        causal=case.causal,
    )

    def call(q: Array, k: Array, v: Array) -> Array:
        # The kernel does not scale the scores.
        out: Array = kernel(q * q.dtype.type(case.head_dim**-0.5), k, v, config)
        return out

    return call


def _triton(case: AttentionCase) -> Attention:
    from jax.experimental.pallas.ops.gpu.attention import mha

    def call(q: Array, k: Array, v: Array) -> Array:
        out: Array = mha(q, k, v, None, sm_scale=case.head_dim**-0.5, causal=case.causal)
        return out

    return call


MOSAIC = JaxBackend(
    name="pallas_mosaic",
    summary="JAX's Pallas attention for Hopper (Mosaic GPU), block sizes of its benchmark",
    attention=_mosaic,
    refuse=Limits(
        gpu=HOPPER,
        dtypes=HALF,
        directions=("forward",),
        head_sizes=lambda *_: range(64, 257, 64),
        length_step=lambda _: 128,
        unequal=("none",),
    ).answer,
    promise=Promise(what="a Mosaic GPU kernel", kernel="attention|mosaic|kernel", custom_call="mosaic_gpu"),
)

TRITON = JaxBackend(
    name="pallas_triton",
    summary="JAX's Pallas attention (Triton), default block sizes",
    attention=_triton,
    refuse=Limits(
        gpu=(8, 0),
        dtypes=HALF,
        grouped=False,
        unequal=("none",),
        head_sizes=lambda *_: range(16, 129, 16),
        length_step=lambda _: 128,
    ).answer,
    promise=Promise(what="a Triton kernel", kernel="mha", custom_call="triton"),
)
