"""One row for each way to compute a transformer block; flax and Transformer Engine are imported to build.

`block_*` is one flax model with attention by XLA, cuDNN or Transformer Engine; `block_te_fp8` has Transformer
Engine's FP8 products in every projection besides. `te_layer*` is Transformer Engine's own module: its
`TransformerLayer`, or its `MultiHeadAttention` where the case has no feed-forward layer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax

from perf.backends import jax_cudnn, te
from perf.backends.base import Program
from perf.backends.jax_program import Promise
from perf.backends.limits import HOPPER, refuse_grouped, refuse_machine
from perf.capability import Capability, Code, Machine, Supported, Unsupported, Version
from perf.cases import BlockCase, Direction
from perf.inputs import Inputs

Attention = Literal["xla", "cudnn", "te"]

_FLAX = ("flax", "optax")
_FP8_PRODUCT = Promise(
    what="FP8 products in the projections",
    kernel="e4m3|fp8|f8|qmma|nvjet_qq",
    custom_call="te_gemm|te_.*quantize",
)


@dataclass(frozen=True, kw_only=True)
class BlockBackend:
    """One way to compute a block.

    Args:
        model: Builds the program.
        gpu: Oldest compute capability; None when a CPU will do.
        fp8: Whether the projections are FP8, which is the case's dtype then.
        grouped: Whether there may be fewer key heads than query heads.
        promises: What must run in every call.
    """

    name: str
    summary: str
    model: Callable[[BlockCase, Direction, Inputs], Program]
    packages: tuple[str, ...] = _FLAX
    gpu: Version | None = None
    cudnn: Version | None = None
    fp8: bool = False
    grouped: bool = True
    promises: tuple[Promise, ...] = ()

    def supports(self, case: BlockCase, direction: Direction, machine: Machine) -> Capability:
        """See `perf.backends.base.Backend`."""
        missing = refuse_machine(machine, gpu=self.gpu, cudnn=self.cudnn, packages=self.packages)
        if missing:
            return missing
        dtype = "float8_e4m3fn" if self.fp8 else "bfloat16"
        if case.dtype != dtype:
            return Unsupported(code=Code.DTYPE, needed=dtype, found=case.dtype)
        if direction == "backward":
            return Unsupported(code=Code.DIRECTION, needed="forward or training_step", found=direction)
        return (None if self.grouped else refuse_grouped(case)) or Supported()

    def build(self, case: BlockCase, direction: Direction, inputs: Inputs) -> Program:
        """See `perf.backends.base.Backend`."""
        return self.model(case, direction, inputs)

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """See `perf.backends.base.Backend`."""
        del direction
        return next(filter(None, (p.broken(kernels, custom_calls) for p in self.promises)), None)


def _flax(attention: Attention, *, fp8: bool = False) -> Callable[[BlockCase, Direction, Inputs], Program]:
    def model(case: BlockCase, direction: Direction, inputs: Inputs) -> Program:
        from perf.backends.flax_block import Blocks, build

        return build(Blocks(case, _attend(attention, case), _product(fp8=fp8)), case, direction, inputs)

    return model


def _attend(attention: Attention, case: BlockCase) -> Any:
    if attention == "te":
        return te.attention(case.attention)
    return lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation=attention)


def _product(*, fp8: bool) -> Any:
    if not fp8:
        return None
    from perf.backends.te_fp8 import recipe

    te.transformer_engine()
    from transformer_engine.jax.flax import make_dot_general_cls

    return make_dot_general_cls(recipe())


def _layer(*, fp8: bool) -> Callable[[BlockCase, Direction, Inputs], Program]:
    def model(case: BlockCase, direction: Direction, inputs: Inputs) -> Program:
        from perf.backends.te_layer import build

        return build(case, direction, inputs, fp8=fp8)

    return model


_TE: dict[str, Any] = {
    "packages": (*te.PACKAGES, "optax"),
    "gpu": (8, 0),
    "cudnn": te.LIMITS.cudnn,
    "promises": (te.PROMISE,),
}
_TE_FP8: dict[str, Any] = _TE | {"gpu": HOPPER, "fp8": True, "promises": (te.PROMISE, _FP8_PRODUCT)}

XLA = BlockBackend(
    name="block_xla",
    summary="transformer block in flax, attention by XLA",
    model=_flax("xla"),
)
CUDNN = BlockBackend(
    name="block_cudnn",
    summary="transformer block in flax, attention by cuDNN",
    model=_flax("cudnn"),
    gpu=jax_cudnn.LIMITS.gpu,
    cudnn=jax_cudnn.LIMITS.cudnn,
    promises=(jax_cudnn.PROMISE,),
)
TE = BlockBackend(
    name="block_te",
    summary="transformer block in flax, attention by Transformer Engine",
    model=_flax("te"),
    **_TE,
)
TE_FP8 = BlockBackend(
    name="block_te_fp8",
    summary="transformer block in flax, attention and FP8 projections by Transformer Engine (DelayedScaling)",
    model=_flax("te", fp8=True),
    **_TE_FP8,
)
LAYER = BlockBackend(
    name="te_layer",
    summary="Transformer Engine's TransformerLayer or MultiHeadAttention",
    model=_layer(fp8=False),
    grouped=False,
    **_TE,
)
LAYER_FP8 = BlockBackend(
    name="te_layer_fp8",
    summary="Transformer Engine's TransformerLayer or MultiHeadAttention under FP8 autocast (DelayedScaling)",
    model=_layer(fp8=True),
    grouped=False,
    **_TE_FP8,
)
