"""FP8 attention, forward, as a cuDNN graph; per-tensor scaling as in `perf.backends.jax_cudnn_fp8`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
from jax import Array

from perf.backends.base import Program
from perf.backends.cudnn_graph import dense, described, written
from perf.backends.cudnn_program import PACKAGES, Bound, data_type, new_graph, program
from perf.backends.jax_cudnn_fp8 import FORWARD
from perf.backends.limits import HOPPER, Limits
from perf.capability import Capability, Machine
from perf.cases import AttentionCase, Direction
from perf.inputs import Inputs

LIMITS = Limits(
    gpu=HOPPER,
    cudnn=(9, 1, 0),
    packages=PACKAGES,
    dtypes=("float8_e4m3fn",),
    directions=("forward",),
    head_sizes=lambda *_: range(16, 257, 16),
)

_PROMISE = replace(FORWARD, custom_call=None)


class CudnnGraphFp8:
    """See the module; the arrays are (B, L, heads, H) of float8_e4m3fn."""

    name = "cudnn_graph_fp8"
    summary = "cuDNN graph of the Python front end in FP8, per-tensor scaling"

    def supports(self, case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
        """See `perf.backends.base.Backend`."""
        return LIMITS.answer(case, direction, machine)

    def build(self, case: AttentionCase, direction: Direction, inputs: Inputs) -> Program:
        """See `perf.backends.base.Backend`.

        Raises:
            GraphError: cuDNN does not take the graph.
        """
        del direction
        out = jnp.zeros(case.query_shape, case.dtype)

        def outputs(results: dict[str, Array]) -> dict[str, Array]:
            return {"out": results["out"].astype(jnp.float32) / inputs["scale"]}

        return program([_forward(case, inputs, out)], {"out": out}, outputs)

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """See `perf.backends.base.Backend`."""
        del direction
        return _PROMISE.broken(kernels, custom_calls)


BACKEND = CudnnGraphFp8()


def _forward(case: AttentionCase, inputs: Inputs, out: Array) -> Bound:
    graph = new_graph(data_type(case.dtype))
    tensors = {name: described(graph, inputs[name], name) for name in "qkv"}
    arrays: dict[Any, Array] = {tensors[name]: inputs[name] for name in "qkv"}
    for name, value in _scales(inputs).items():
        tensors[name] = dense(graph, value, name)
        arrays[tensors[name]] = value
    options = {}
    if case.causal:
        options = {"diagonal_band_right_bound": 0}
    result, _, *largest = graph.sdpa_fp8(
        **tensors, attn_scale=case.head_dim**-0.5, generate_stats=False, **options
    )
    written(result, out)
    arrays[result] = out
    for tensor in largest:  # the largest weight and output: written whether one wants them or not
        tensor.set_output(True).set_dim([1, 1, 1, 1])
        tensor.set_stride([1, 1, 1, 1]).set_data_type(data_type("float32"))
        arrays[tensor] = jnp.zeros((1, 1, 1, 1), jnp.float32)
    return Bound(graph=graph, arrays=arrays)


def _scales(inputs: Inputs) -> dict[str, Array]:
    """One scale serves all: weights are at most 1, and the output's rows are weighted means of V."""
    scale = inputs["scale"]
    values = {f"descale_{name}": 1 / scale for name in "qkvs"} | {"scale_s": scale, "scale_o": scale}
    return {name: jnp.reshape(value, (1, 1, 1, 1)) for name, value in values.items()}
