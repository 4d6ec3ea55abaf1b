"""What each kind of case needs beyond its scalars: inputs, the right answer, shapes of what is returned."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax import Array

from perf import block, inputs, matmul, reference
from perf.cases import AttentionCase, BlockCase, Case, Direction, MatmulCase
from perf.inputs import Inputs
from perf.reference import Expected, Shapes


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One kind of case; the functions take a case of that kind.

    Args:
        maker: The compiled program that makes a case's arrays from a random key.
        reference: Compiles the reference, with or without gradients.
        expected: The right answer and the naive error.
        output_shapes: Names and shapes of what a direction returns.
    """

    maker: Callable[[Any], Callable[[Array], Inputs]]
    reference: Callable[..., object]
    expected: Callable[[Any, Direction, Inputs], Expected]
    output_shapes: Callable[[Any, Direction], Shapes]


_WORKLOADS: dict[type, Workload] = {
    AttentionCase: Workload(
        maker=inputs.compiled_maker,
        reference=reference.compiled_reference,
        expected=reference.expected,
        output_shapes=reference.output_shapes,
    ),
    MatmulCase: Workload(
        maker=matmul.compiled_maker,
        reference=matmul.compiled_reference,
        expected=matmul.expected,
        output_shapes=matmul.output_shapes,
    ),
    BlockCase: Workload(
        maker=block.compiled_maker,
        reference=block.compiled_reference,
        expected=block.expected,
        output_shapes=block.output_shapes,
    ),
}


def workload(case: Case) -> Workload:
    """The kind of a case."""
    return _WORKLOADS[type(case)]


def make_inputs(case: Case, *, seed: int) -> Inputs:
    """Make the arrays of a case on the default device; the same case and seed give the same values."""
    return workload(case).maker(case)(jax.random.key(seed))


def quantities(case: Case, direction: Direction) -> tuple[str, ...]:
    """Names of what a direction returns, in the order in which backends return them."""
    return tuple(name for name, _ in workload(case).output_shapes(case, direction))
