"""The mixed-input matrix product: operands, the float32 answer, and what rounding it loses."""

from collections.abc import Callable
from functools import cache, partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from perf.cases import Direction, MatmulCase
from perf.inputs import Inputs
from perf.reference import Expected, Shapes

INT8_LIMIT = 128


@cache
def compiled_maker(case: MatmulCase) -> Callable[[Array], Inputs]:
    """The program that makes ``a`` (M, K) and ``b`` (K, N) from a random key.

    The wide operand is standard normal; int8 is uniform over all its values, as a quantised weight is.
    """
    return jax.jit(partial(_make, case)).lower(jax.random.key(0)).compile()


def _make(case: MatmulCase, key: Array) -> Inputs:
    left, right = jax.random.split(key)
    return {
        "a": _operand(left, (case.m, case.k), case.left),
        "b": _operand(right, (case.k, case.n), case.right),
    }


def _operand(key: Array, shape: tuple[int, int], dtype: str) -> Array:
    if dtype == "int8":
        return jax.random.randint(key, shape, -INT8_LIMIT, INT8_LIMIT, jnp.int8)
    return (jax.random.normal(key, shape, jnp.float32)).astype(dtype)


def output_shapes(case: MatmulCase, direction: Direction) -> Shapes:
    """The product ``out`` (M, N); there is no gradient."""
    del direction
    return (("out", (case.m, case.n)),)


def expected(case: MatmulCase, direction: Direction, inputs: Inputs) -> Expected:
    """The product in float32, and the error of rounding it to the wide type."""
    del direction
    exact = {name: x.astype(jnp.float32) for name, x in inputs.items()}
    value, rms, largest = compiled_reference(case)(exact)
    return Expected(values={"out": value}, naive_rms={"out": float(rms)}, naive_max={"out": float(largest)})


@cache
def compiled_reference(
    case: MatmulCase, *, with_gradients: bool = False
) -> Callable[[Inputs], tuple[Float[Array, "M N"], Array, Array]]:
    """The program that multiplies without TF32 and measures the rounding of the result."""
    del with_gradients

    def product(exact: Inputs) -> tuple[Array, Array, Array]:
        value = jnp.matmul(exact["a"], exact["b"], precision="highest")
        exponent_bits, mantissa_bits = {"bfloat16": (8, 7), "float16": (5, 10)}[case.dtype]
        narrow = jax.lax.reduce_precision(value, exponent_bits, mantissa_bits)
        error = narrow - value
        return value, jnp.sqrt(jnp.mean(error * error)), jnp.max(jnp.abs(error))

    shapes = {"a": (case.m, case.k), "b": (case.k, case.n)}
    arguments = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}
    return jax.jit(product).lower(arguments).compile()
