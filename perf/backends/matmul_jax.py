"""The mixed-input matrix product as JAX writes it: cast the int8 operand, then multiply."""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array

from perf.backends.base import Program
from perf.backends.jax_program import compiled
from perf.capability import Capability, Code, Machine, Supported, Unsupported
from perf.cases import Direction, MatmulCase
from perf.inputs import Inputs


class MatmulJax:
    """See the module; (M, K) × (K, N) → (M, N) in the wide type."""

    name = "matmul_jax"
    summary = "mixed-input matrix product in JAX: cast, then multiply"

    def supports(self, case: MatmulCase, direction: Direction, machine: Machine) -> Capability:
        """XLA has float16 products summed in float32 on GPUs alone."""
        del direction
        if case.dtype == "float16" and not machine.has_gpu:
            return Unsupported(code=Code.NO_GPU, needed="a GPU for float16", found="a CPU")
        return Supported()

    def build(self, case: MatmulCase, direction: Direction, inputs: Inputs) -> Program:
        """See `perf.backends.base.Backend`."""
        del direction

        def product(a: Array, b: Array) -> Array:
            return jnp.matmul(a.astype(case.dtype), b.astype(case.dtype))

        return compiled(product, (inputs["a"], inputs["b"]), lambda out: {"out": out.astype(jnp.float32)})

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """Whatever XLA chooses is right."""
        del direction, kernels, custom_calls
        return None


BACKEND = MatmulJax()
