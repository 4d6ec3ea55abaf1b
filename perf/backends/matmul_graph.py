"""The mixed-input matrix product as a cuDNN graph: the int8 operand is converted inside the kernel."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array

from perf.backends.base import Program
from perf.backends.cudnn_program import PACKAGES, Bound, data_type, new_graph, program
from perf.backends.limits import refuse_machine
from perf.capability import Capability, Machine, Supported
from perf.cases import Direction, MatmulCase
from perf.inputs import Inputs


class MatmulGraph:
    """See the module; (M, K) × (K, N) → (M, N) in the wide type."""

    name = "matmul_graph"
    summary = "mixed-input matrix product as a cuDNN graph, int8 converted in the kernel"

    def supports(self, case: MatmulCase, direction: Direction, machine: Machine) -> Capability:
        """CuDNN's mixed-input products need Ampere."""
        del case, direction
        return refuse_machine(machine, gpu=(8, 0), cudnn=(9, 0), packages=PACKAGES) or Supported()

    def build(self, case: MatmulCase, direction: Direction, inputs: Inputs) -> Program:
        """See `perf.backends.base.Backend`.

        Raises:
            GraphError: cuDNN does not take the graph.
        """
        del direction
        out = jnp.zeros((case.m, case.n), case.dtype)
        return program(
            [_product(case, inputs, out)],
            {"out": out},
            lambda results: {"out": results["out"].astype(jnp.float32)},
        )

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """One kernel converts and multiplies; a second would be the cast that the graph is there to save."""
        del direction, custom_calls
        if len(kernels) > 1:
            return f"promised one kernel that converts and multiplies, ran {', '.join(kernels)}"
        return None


BACKEND = MatmulGraph()


def _product(case: MatmulCase, inputs: Inputs, out: Array) -> Bound:
    graph = new_graph(data_type(case.dtype))
    left, right = (_matrix(graph, inputs[name], name) for name in "ab")
    operands = [
        _converted(graph, tensor, case) if dtype == "int8" else tensor
        for tensor, dtype in ((left, case.left), (right, case.right))
    ]
    result = graph.matmul(*operands, compute_data_type=data_type("float32"))
    result.set_output(True).set_data_type(data_type(case.dtype))
    return Bound(graph=graph, arrays={left: inputs["a"], right: inputs["b"], result: out})


def _matrix(graph: Any, array: Array, name: str) -> Any:
    rows, columns = array.shape
    return graph.tensor(
        name=name,
        dim=[1, rows, columns],
        stride=[rows * columns, columns, 1],
        data_type=data_type(str(array.dtype)),
    )


def _converted(graph: Any, tensor: Any, case: MatmulCase) -> Any:
    wide = graph.identity(tensor, compute_data_type=data_type("float32"))
    wide.set_data_type(data_type(case.dtype))
    return wide
