"""`jax.nn.dot_product_attention(implementation="cudnn")`: cuDNN's fused kernel; O(T) memory.

The limits are those that JAX checks before it calls cuDNN
(``jax/_src/cudnn/fused_attention_stablehlo.py``).
"""

from perf.backends.jax_nn import attention
from perf.backends.jax_program import JaxBackend, Promise
from perf.backends.limits import HALF, HOPPER, Limits
from perf.capability import Machine
from perf.cases import Direction


def cudnn_head_sizes(machine: Machine, direction: Direction) -> range:
    """Multiples of 8; up to 256 from Hopper on."""
    del direction
    largest = 256 if machine.compute_capability and machine.compute_capability >= HOPPER else 128
    return range(8, largest + 1, 8)


LIMITS = Limits(
    gpu=(8, 0),
    cudnn=(8, 9, 4),
    dtypes=HALF,
    masks=("none", "causal", "padding", "padding_causal"),
    window=True,
    biases=("none", "dense"),
    head_sizes=cudnn_head_sizes,
)

PROMISE = Promise(
    what="a fused cuDNN attention kernel", kernel=r"cudnn.*(sdpa|fmha)", custom_call=r"cudnn\$fmha"
)

BACKEND = JaxBackend(
    name="jax_cudnn",
    summary='jax.nn.dot_product_attention(implementation="cudnn")',
    attention=attention("cudnn"),
    refuse=LIMITS.answer,
    promise=PROMISE,
)
