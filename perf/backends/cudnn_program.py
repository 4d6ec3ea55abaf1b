"""Programs that are cuDNN graphs of the Python front end, run on JAX's buffers without another framework.

The steps are those of the front end's own example: validate, build the operation graph, create execution
plans (heuristic mode A, then the fallback), check support, build plans, execute with a workspace. Outputs are
arrays that JAX owns and cuDNN writes; every wait is for the whole device, since JAX and cuDNN use streams of
their own.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from perf.backends.base import Program

PACKAGES = ("nvidia-cudnn-frontend", "cuda-bindings")


class GraphError(RuntimeError):
    """cuDNN does not take a graph; the text has its category and cuDNN's last error text."""


@cache
def handle() -> Any:
    """The one cuDNN handle of this process, on the default stream."""
    import cudnn

    return cudnn.create_handle()


def new_graph(io_type: Any) -> Any:
    """An empty graph: products and softmax in float32."""
    import cudnn

    return cudnn.pygraph(
        io_data_type=io_type,
        intermediate_data_type=cudnn.data_type.FLOAT,
        compute_data_type=cudnn.data_type.FLOAT,
        handle=handle(),
    )


def data_type(dtype: str) -> Any:
    """CuDNN's name of a dtype."""
    import cudnn

    names = {
        "bfloat16": "BFLOAT16",
        "float16": "HALF",
        "float32": "FLOAT",
        "float8_e4m3fn": "FP8_E4M3",
        "int8": "INT8",
        "int32": "INT32",
    }
    return getattr(cudnn.data_type, names[dtype])


@dataclass(kw_only=True)
class Bound:
    """A graph with the arrays that its tensors stand for.

    Args:
        arrays: By the graph's own tensors.
        workspace: Made when the plans are built.
    """

    graph: Any
    arrays: dict[Any, Array]
    workspace: Array | None = None

    def build(self) -> None:
        """Build the plans.

        Raises:
            GraphError: cuDNN does not take the graph.
        """
        import cudnn

        graph = self.graph
        try:
            graph.validate()
            graph.build_operation_graph()
            graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
            graph.check_support()
            graph.build_plans()
        except (cudnn.cudnnGraphNotSupportedError, RuntimeError, ValueError) as error:
            raise GraphError(graph_error_text(error, cudnn.get_last_error_string())) from error
        self.workspace = jnp.zeros(max(1, graph.get_workspace_size()), jnp.uint8)
        jax.block_until_ready((self.workspace, *self.arrays.values()))

    def pointers(self) -> dict[Any, int]:
        """The device address of every array."""
        return {tensor: array.unsafe_buffer_pointer() for tensor, array in self.arrays.items()}


def graph_error_text(error: Exception, last: str) -> str:
    """Why cuDNN refuses, in its own words.

    Args:
        last: What cuDNN says of its last error; its status code is the category.
    """
    status = re.search(r"CUDNN_STATUS_\w+", f"{last} {error}")
    category = status[0] if status else type(error).__name__
    return f"cuDNN does not take this graph ({category}): {error}\ncuDNN's last error: {last or 'none'}"


def program(
    graphs: Sequence[Bound],
    results: dict[str, Array],
    outputs: Callable[[dict[str, Array]], dict[str, Array]],
    *,
    kept_bytes: int = 0,
) -> Program:
    """Build the graphs and bind them to their arrays; a call runs them one after another.

    Args:
        results: The arrays that the graphs write, by name.
        outputs: Turns them into float32 under the reference's names.
        kept_bytes: What is neither input nor result, beside the workspaces: the softmax statistics.
    """
    start_s = time.perf_counter()
    for bound in graphs:
        bound.build()
    compile_s = time.perf_counter() - start_s
    calls = [_call(bound) for bound in graphs]

    def run() -> dict[str, Array]:
        for call in calls:
            call()
        return results

    workspaces = [bound.workspace.nbytes for bound in graphs if bound.workspace is not None]
    return Program(
        run=run,
        wait=lambda _: synchronize(),
        outputs=outputs,  # type: ignore[arg-type]  # what `run` returns
        compile_s=compile_s,
        temp_bytes=max(workspaces) + kept_bytes,
        custom_calls=(),
        keep=(graphs, results),
    )


def _call(bound: Bound) -> Callable[[], None]:
    pointers, graph = bound.pointers(), bound.graph
    workspace = None if bound.workspace is None else bound.workspace.unsafe_buffer_pointer()
    return lambda: graph.execute(pointers, workspace, handle=handle())


def synchronize() -> None:
    """Wait for everything on the device.

    Raises:
        RuntimeError: The device reports an error.
    """
    from cuda.bindings import runtime

    (status,) = runtime.cudaDeviceSynchronize()
    if status != runtime.cudaError_t.cudaSuccess:
        raise RuntimeError(f"cudaDeviceSynchronize: {status.name}")
