"""cuDNN's FP8 attention through JAX's own entry (``use_fp8=True``): the public API has no FP8 argument.

What is stored is scale × value, and ``descale`` is its inverse. The softmax weights and the output take the
one scale that the inputs come with: weights are at most 1 and the output's rows are weighted means of V, so
neither can overflow. The gradients and the score gradient share one scale, from a calibrating call that reads
cuDNN's amax outputs, as delayed scaling does in training.

The sharing has a reason. JAX hands the scaling factors of the gradient to XLA in another order than XLA reads
them: with JAX 0.11.2 and cuDNN 9.19, changing ``scale_dP`` alone scales dV, and changing ``descale_s`` alone
scales dP. With factors that differ, the gradients are silently wrong by those ratios; with equal ones the
order does not matter, and the check before timing holds whichever side is mended.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from perf.backends.base import Program
from perf.backends.jax_program import Promise, compiled, directed
from perf.backends.limits import HOPPER, Limits
from perf.capability import Capability, Machine
from perf.cases import AttentionCase, Direction
from perf.inputs import FP8_MAX, Inputs
from perf.reference import quantities

AMAX_MARGIN = 2.0
"""The calibrating call works with a gradient scale of 1, so its amax is only about right."""

FORWARD = Promise(
    what="a fused cuDNN FP8 forward kernel",
    kernel=r"cudnn.*sdpa.*fprop.*(f8|e4m3|fp8)",
    custom_call=r"cudnn\$fmha\w*F8",
)
_BACKWARD = Promise(
    what="a fused cuDNN FP8 backward kernel",
    kernel=r"cudnn.*sdpa.*bprop.*(f8|e4m3|fp8)",
    custom_call=r"cudnn\$fmha\w*BackwardF8",
)


def _head_sizes(machine: Machine, direction: Direction) -> range:
    del machine
    return range(16, 257, 16) if direction == "forward" else range(128, 129)


LIMITS = Limits(
    gpu=HOPPER,
    cudnn=(9, 1, 0),
    dtypes=("float8_e4m3fn",),
    head_sizes=_head_sizes,
    length_step=lambda direction: 1 if direction == "forward" else 128,
)

Params = dict[str, Float[Array, "1 1 1 1"]]


class JaxCudnnFp8:
    """See the module; the arrays are (B, L, heads, H) of float8_e4m3fn."""

    name = "jax_cudnn_fp8"
    summary = "cuDNN FP8 attention through JAX's internal entry, per-tensor scaling"

    def supports(self, case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
        """The limits are those of ``check_is_flash_attention`` in JAX (``is_fp8``)."""
        return LIMITS.answer(case, direction, machine)

    def build(self, case: AttentionCase, direction: Direction, inputs: Inputs) -> Program:
        """See `perf.backends.base.Backend`."""
        params = _params(inputs) if direction == "forward" else _calibrated(case, inputs)
        function, arguments = _directed(case, direction, inputs, params)
        return compiled(function, arguments, partial(_outputs, direction, params))

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """See `perf.backends.base.Backend`."""
        promises = {
            "forward": (FORWARD,),
            "backward": (_BACKWARD,),
            "training_step": (FORWARD, _BACKWARD),
        }[direction]
        broken = (promise.broken(kernels, custom_calls) for promise in promises)
        return next(filter(None, broken), None)


BACKEND = JaxCudnnFp8()


def _attention(case: AttentionCase) -> Callable[..., tuple[Array, Array, Array]]:
    from jax._src.cudnn.fused_attention_stablehlo import MaskType, dot_product_attention

    mask = MaskType.CAUSAL if case.mask == "causal" else MaskType.NO_MASK

    def fp8(q: Array, k: Array, v: Array, params: Params) -> tuple[Array, Array, Array]:
        out, amax_weight, amax_out = dot_product_attention(
            q,
            k,
            v,
            scale=case.head_dim**-0.5,
            mask_type=mask,
            use_fp8=True,
            fp8_params=params,  # type: ignore[arg-type]  # a plain dict, as JAX's own tests pass
        )
        return out, amax_weight, amax_out

    return fp8


def _params(inputs: Inputs, gradient_scale: Array | None = None) -> Params:
    from jax._src.cudnn.fused_attention_stablehlo import fp8_params_keys

    scale, gradient = inputs["scale"], jnp.float32(1) if gradient_scale is None else gradient_scale
    values = {name: 1 / scale for name in fp8_params_keys if name.startswith("descale")}
    values |= {name: gradient for name in fp8_params_keys if name.startswith("scale_d")}
    values |= {"scale_s": scale, "scale_o": scale, "descale_dP": 1 / gradient}
    values |= {name: jnp.float32(0) for name in fp8_params_keys if name.startswith("amax")}
    return {name: jnp.reshape(value, (1, 1, 1, 1)) for name, value in values.items()}


def _directed(
    case: AttentionCase, direction: Direction, inputs: Inputs, params: Params
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    amax = jnp.zeros((1, 1, 1, 1), jnp.float32)
    primals = (*(inputs[name] for name in "qkv"), params)
    return directed(_attention(case), direction, primals, (inputs["g"], amax, amax))


def _calibrated(case: AttentionCase, inputs: Inputs) -> Params:
    function, arguments = _directed(case, "backward", inputs, _params(inputs))
    amax = jax.jit(function)(*arguments)[3]
    largest = jnp.max(jnp.stack([amax[f"amax_{name}"] for name in ("dQ", "dK", "dV", "dP")]))
    return _params(inputs, FP8_MAX / (AMAX_MARGIN * largest))


def _outputs(direction: Direction, params: Params, result: Any) -> dict[str, Array]:
    if direction == "training_step":
        stored = (result[0][0], *result[1:4])
    else:
        stored = result[:1] if direction == "forward" else result[:3]
    scale_of = {"out": "scale_o", "dq": "scale_dQ", "dk": "scale_dK", "dv": "scale_dV"}
    return {
        name: array.astype(jnp.float32) / params[scale_of[name]]
        for name, array in zip(quantities(direction), stored, strict=True)
    }
