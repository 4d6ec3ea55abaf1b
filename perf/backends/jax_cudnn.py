"""`jax.nn.dot_product_attention(implementation="cudnn")`: cuDNN's fused kernel; O(T) memory.

The limits are those that JAX checks before it calls cuDNN
(``jax/_src/cudnn/fused_attention_stablehlo.py``).
"""

from perf.backends.jax_nn import attention
from perf.backends.jax_program import JaxBackend, Promise
from perf.capability import (
    Capability,
    Code,
    Machine,
    Supported,
    Unsupported,
    Version,
    dotted,
)
from perf.cases import AttentionCase, Direction

OLDEST_CUDNN: Version = (8, 9, 4)
OLDEST_GPU: Version = (8, 0)
HOPPER: Version = (9, 0)


def refuse_without_cudnn(machine: Machine, *, gpu: Version, cudnn: Version) -> Unsupported | None:
    """What both cuDNN backends need of a machine; None when it has it."""
    if machine.compute_capability is None:
        needed = f"an NVIDIA GPU of compute capability {dotted(gpu)} or newer"
        return Unsupported(code=Code.NO_GPU, needed=needed, found="a CPU")
    if machine.compute_capability < gpu:
        return Unsupported(
            code=Code.COMPUTE_CAPABILITY,
            needed=f"{dotted(gpu)} or newer",
            found=dotted(machine.compute_capability),
        )
    if machine.cudnn is None or machine.cudnn < cudnn:
        return Unsupported(
            code=Code.CUDNN_TOO_OLD,
            needed=f"cuDNN {dotted(cudnn)} or newer",
            found=dotted(machine.cudnn),
        )
    return None


def _refuse(case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
    del direction
    missing = refuse_without_cudnn(machine, gpu=OLDEST_GPU, cudnn=OLDEST_CUDNN)
    if missing or machine.compute_capability is None:
        return missing or Supported()
    if case.dtype not in ("bfloat16", "float16"):
        return Unsupported(code=Code.DTYPE, needed="bfloat16 or float16", found=case.dtype)
    largest = 256 if machine.compute_capability >= HOPPER else 128
    if case.head_dim > largest or case.head_dim % 8:
        return Unsupported(
            code=Code.HEAD_SIZE,
            needed=f"a multiple of 8 up to {largest} on this GPU",
            found=str(case.head_dim),
        )
    return Supported()


BACKEND = JaxBackend(
    name="jax_cudnn",
    summary='jax.nn.dot_product_attention(implementation="cudnn")',
    attention=attention("cudnn"),
    refuse=_refuse,
    promise=Promise(
        what="a fused cuDNN attention kernel", kernel=r"cudnn.*(sdpa|fmha)", custom_call=r"cudnn\$fmha"
    ),
)
