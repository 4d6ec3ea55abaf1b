"""Scaled dot-product attention as a cuDNN graph: masks, window, bias, alibi, and a free step on the scores.

Logical dims are (B, heads, L, H) over memory laid out as (B, L, heads, H). Dropout is off.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import Array

from perf.backends.base import Program
from perf.backends.cudnn_program import (
    PACKAGES,
    Bound,
    data_type,
    new_graph,
    program,
    synchronize,
)
from perf.backends.jax_cudnn import PROMISE, cudnn_head_sizes
from perf.backends.jax_program import named
from perf.backends.limits import BIASES, HALF, MASKS, SCORES, Limits
from perf.capability import Capability, Code, Machine, Unsupported
from perf.cases import SCORE_CAP, AttentionCase, Direction
from perf.inputs import Inputs

LIMITS = Limits(
    gpu=(8, 0),
    cudnn=(9, 0),
    packages=PACKAGES,
    dtypes=HALF,
    masks=MASKS,
    window=True,
    biases=BIASES,
    scores=SCORES,
    head_sizes=cudnn_head_sizes,
)

_PROMISE = replace(PROMISE, custom_call=None)


class CudnnGraph:
    """See the module; the arrays are (B, L, heads, H)."""

    name = "cudnn_graph"
    summary = "cuDNN graph of the Python front end, on JAX's buffers"

    def supports(self, case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
        """The limits of cuDNN's flash attention; a free step has no gradient unless one is written too."""
        if case.score != "plain" and direction != "forward":
            return Unsupported(
                code=Code.DIRECTION, needed=f"forward under the step {case.score}", found=direction
            )
        if case.bias == "alibi" and case.mask not in ("causal", "padding_causal"):
            return Unsupported(code=Code.MASK, needed="a causal mask under alibi", found=case.mask)
        return LIMITS.answer(case, direction, machine)

    def build(self, case: AttentionCase, direction: Direction, inputs: Inputs) -> Program:
        """See `perf.backends.base.Backend`.

        Raises:
            GraphError: cuDNN does not take the graph.
        """
        out = jnp.zeros(case.query_shape, case.dtype)
        if direction == "forward":
            graphs, results = [_forward(case, inputs, out, None)], {"out": out}
            return program(graphs, results, partial(_named, case, direction))
        stats = jnp.zeros((case.batch, case.q_heads, case.q_len, 1), jnp.float32)
        gradients = {n: jnp.zeros(inputs[n[1:]].shape, case.dtype) for n in ("dq", "dk", "dv")}
        forward = _forward(case, inputs, out, stats)
        backward = _backward(case, inputs, out, stats, gradients)
        if direction == "training_step":
            graphs, results = [forward, backward], {"out": out, **gradients}
        else:
            once = program([forward], {}, dict)
            once.run()
            synchronize()
            graphs, results = [backward], gradients
        return program(graphs, results, partial(_named, case, direction), kept_bytes=stats.nbytes)

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """See `perf.backends.base.Backend`."""
        del direction
        return _PROMISE.broken(kernels, custom_calls)


BACKEND = CudnnGraph()


def _named(case: AttentionCase, direction: Direction, results: dict[str, Array]) -> dict[str, Array]:
    return named(case, direction, list(results.values()))


def described(graph: Any, array: Array, name: str) -> Any:
    """The tensor (B, heads, L, H) of an array (B, L, heads, H)."""
    dims, strides = _layout(array)
    return graph.tensor(name=name, dim=dims, stride=strides, data_type=data_type(str(array.dtype)))


def written(tensor: Any, array: Array) -> None:
    """Declare an output whose memory is an array (B, L, heads, H)."""
    dims, strides = _layout(array)
    tensor.set_output(True).set_dim(dims).set_stride(strides).set_data_type(data_type(str(array.dtype)))


def _layout(array: Array) -> tuple[list[int], list[int]]:
    """Dims (B, heads, L, H) and their strides over the memory of an array (B, L, heads, H)."""
    batch, length, heads, size = array.shape
    return [batch, heads, length, size], [length * heads * size, size, heads * size, 1]


def dense(graph: Any, array: Array, name: str) -> Any:
    """The tensor of an array in its own row-major layout, four-dimensional."""
    strides = [math.prod(array.shape[axis + 1 :]) for axis in range(array.ndim)]
    return graph.tensor(
        name=name, dim=list(array.shape), stride=strides, data_type=data_type(str(array.dtype))
    )


def _forward(case: AttentionCase, inputs: Inputs, out: Array, stats: Array | None) -> Bound:
    graph = new_graph(data_type(case.dtype))
    arrays = {described(graph, inputs[name], name): inputs[name] for name in "qkv"}
    q, k, v = arrays
    options = _options(graph, case, inputs, arrays)
    result, statistics = graph.sdpa(
        q=q, k=k, v=v, attn_scale=case.head_dim**-0.5, generate_stats=stats is not None, **options
    )
    written(result, out)
    arrays[result] = out
    if stats is not None:
        statistics.set_output(True).set_data_type(data_type("float32"))
        statistics.set_dim(list(stats.shape)).set_stride([stats[0].size, case.q_len, 1, 1])
        arrays[statistics] = stats
    return Bound(graph=graph, arrays=arrays)


def _backward(
    case: AttentionCase, inputs: Inputs, out: Array, stats: Array, gradients: dict[str, Array]
) -> Bound:
    graph = new_graph(data_type(case.dtype))
    given = {"q": inputs["q"], "k": inputs["k"], "v": inputs["v"], "o": out, "dO": inputs["g"]}
    tensors = {name: described(graph, array, name) for name, array in given.items()}
    tensors["stats"] = dense(graph, stats, "stats")
    arrays = {tensors[name]: array for name, array in (given | {"stats": stats}).items()}
    options = _options(graph, case, inputs, arrays)
    found = graph.sdpa_backward(**tensors, attn_scale=case.head_dim**-0.5, **options)
    for tensor, array in zip(found, gradients.values(), strict=True):
        written(tensor, array)
        arrays[tensor] = array
    return Bound(graph=graph, arrays=arrays)


def _options(graph: Any, case: AttentionCase, inputs: Inputs, arrays: dict[Any, Array]) -> dict[str, Any]:
    """Mask, bias and step as the attention node takes them; arrays that they need are added to ``arrays``."""
    options: dict[str, Any] = {}
    if case.bias == "dense":
        options["bias"] = dense(graph, inputs["bias"], "bias")
        arrays[options["bias"]] = inputs["bias"]
    if case.padded:
        lengths = jnp.asarray(case.lengths, jnp.int32).reshape(-1, 1, 1, 1)
        options |= {"use_padding_mask": True}
        for name in ("seq_len_q", "seq_len_kv"):
            options[name] = dense(graph, lengths, name)
            arrays[options[name]] = lengths
    if case.score != "plain":  # the node takes no mask beside a step: the step writes it
        return options | {"score_mod": partial(_step, case, _constants(graph, case))}
    if case.causal:
        options |= _band(case)
    if case.bias == "alibi":
        options["use_alibi_mask"] = True
    return options


def _band(case: AttentionCase) -> dict[str, Any]:
    """Causal as a diagonal band, counted from the top left or the bottom right corner."""
    import cudnn

    corner = cudnn.diagonal_alignment
    band: dict[str, Any] = {
        "diagonal_alignment": corner.BOTTOM_RIGHT if case.mask == "causal_br" else corner.TOP_LEFT,
        "diagonal_band_right_bound": 0,
    }
    # The left bound is exclusive: a query sees itself and bound − 1 keys before it.
    return band | ({"diagonal_band_left_bound": case.window + 1} if case.window else {})


Constants = dict[str, Any]


def _constants(graph: Any, case: AttentionCase) -> Constants:
    """Numbers that the step reads, by value."""
    import cudnn

    numbers = {"cap": SCORE_CAP, "per_cap": 1 / SCORE_CAP, "one": 1.0}
    numbers |= {"hidden": -1e9} if case.causal else {}
    return {name: graph.tensor_scalar(x, cudnn.scalar_type.COMPILE_TIME_CONST) for name, x in numbers.items()}


def _step(case: AttentionCase, constants: Constants, graph: Any, score: Any) -> Any:
    """The pointwise step on the scaled scores, in the nodes of the front end; then the causal mask."""
    steps: dict[str, Callable[[], Any]] = {
        "softcap": lambda: graph.mul(graph.tanh(graph.mul(score, constants["per_cap"])), constants["cap"]),
        "softsign": lambda: graph.div(
            score, graph.add(graph.mul(graph.abs(score), constants["per_cap"]), constants["one"])
        ),
    }
    stepped = steps[case.score]()
    return _causal(graph, stepped, constants["hidden"]) if case.causal else stepped


def _causal(graph: Any, score: Any, hidden: Any) -> Any:
    import cudnn

    row, column = (graph.gen_index(score, axis=axis) for axis in (2, 3))
    for index in (row, column):
        index.set_data_type(cudnn.data_type.INT32)
    seen = graph.cmp_ge(row, column, compute_data_type=cudnn.data_type.BOOLEAN)
    seen.set_data_type(cudnn.data_type.BOOLEAN)
    return graph.binary_select(score, hidden, seen)
