"""The one tolerance policy, the summary of an error, and the text of a failure.

A backend may err twice as much (root mean square) and three times as much (largest element) as the naive
computation in the same dtype errs on the same inputs, plus a floor for what float32 itself cannot resolve.
The factors are those of FlashAttention's own tests (Dao-AILab/flash-attention, ``test_flash_attn.py``:
twice the error of the PyTorch computation), with one more for the extreme of many elements. The floor is
16 float32 epsilons of the reference's size: sums over S terms in another order differ by a few.

A wrong mask, a wrong scale, a swapped head or a dropped tile moves the root mean square by 10 % or more
of the output, ten times the limit of bfloat16.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from perf.reference import Expected, Shapes

RMS_FACTOR = 2.0
MAX_FACTOR = 3.0
FLOOR_EPSILONS = 16.0


@dataclass(frozen=True, kw_only=True)
class Published:
    """A tolerance that a published text states for its example: |got − want| ≤ atol + rtol × |want|."""

    source: str
    atol: float
    rtol: float


A2 = Published(source="JAX attention codelab, float32", atol=1e-3, rtol=0.0)
A3 = Published(source="JAX attention codelab, bfloat16 against XLA", atol=1e-2, rtol=0.0)
C2 = Published(source="cuDNN front end's SDPA example, float16", atol=5e-3, rtol=3e-3)


@dataclass(frozen=True, kw_only=True)
class QuantityError:
    """How far one quantity is from the reference, and how far it may be."""

    quantity: str
    rms: float
    rms_limit: float
    max: float
    max_limit: float
    worst: tuple[int, ...]
    got: float
    want: float

    @property
    def ok(self) -> bool:
        """Within both limits; NaN never is."""
        return self.rms <= self.rms_limit and self.max <= self.max_limit

    def __str__(self) -> str:
        return (
            f"{self.quantity}: rms error {self.rms:.3g} (limit {self.rms_limit:.3g}), largest error "
            f"{self.max:.3g} (limit {self.max_limit:.3g}) at index {self.worst}: "
            f"got {self.got:.6g}, expected {self.want:.6g}"
        )


def errors(got: Mapping[str, Array], expected: Expected) -> tuple[QuantityError, ...]:
    """Compare every quantity with the reference.

    Args:
        got: float32 arrays in the shapes of ``expected.values``, under the same names.

    Raises:
        ValueError: Another set of names or another shape.
    """
    shapes = {name: array.shape for name, array in got.items()}
    wanted = {name: array.shape for name, array in expected.values.items()}
    if shapes != wanted:
        raise ValueError(f"output: expected arrays {wanted}, found {shapes}")
    shapes_of = tuple((name, array.shape) for name, array in expected.values.items())
    summaries = compiled_summaries(shapes_of)(dict(got), expected.values)
    return tuple(_error(name, summaries[name], expected) for name in expected.values)


Summaries = Callable[[dict[str, Array], dict[str, Array]], dict[str, tuple[Array, ...]]]


@cache
def compiled_summaries(shapes: Shapes) -> Summaries:
    """The program that compares float32 arrays of these names and shapes."""

    def summaries(got: dict[str, Array], want: dict[str, Array]) -> dict[str, tuple[Array, ...]]:
        return {name: _summary(got[name], want[name]) for name in want}

    arrays = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes}
    return jax.jit(summaries).lower(arrays, arrays).compile()


def _summary(got: Array, want: Array) -> tuple[Array, ...]:
    difference = jnp.abs(got - want)
    # NaN counts as the worst element, so that the message points at it.
    worst = jnp.argmax(jnp.where(jnp.isnan(difference), jnp.inf, difference))
    return (
        jnp.sqrt(jnp.mean(difference**2)),
        difference.ravel()[worst],
        worst,
        got.ravel()[worst],
        want.ravel()[worst],
        jnp.sqrt(jnp.mean(want**2)),
        jnp.max(jnp.abs(want)),
    )


def _error(name: str, summary: tuple[Array, ...], expected: Expected) -> QuantityError:
    rms, largest, worst, got, want, want_rms, want_max = (x.item() for x in summary)
    floor = FLOOR_EPSILONS * float(jnp.finfo(jnp.float32).eps)
    index = np.unravel_index(worst, expected.values[name].shape)
    return QuantityError(
        quantity=name,
        rms=rms,
        rms_limit=RMS_FACTOR * expected.naive_rms[name] + floor * want_rms,
        max=largest,
        max_limit=MAX_FACTOR * expected.naive_max[name] + floor * want_max,
        worst=tuple(int(i) for i in index),
        got=got,
        want=want,
    )


def failure_text(key: str, found: tuple[QuantityError, ...], *, seed: int, repeat: str) -> str | None:
    """The message of a failed check, complete in itself; None when everything is within its limits.

    Args:
        repeat: The command that runs this key alone.
    """
    wrong = [str(error) for error in found if not error.ok]
    if not wrong:
        return None
    return "\n".join([f"{key} is wrong (seed {seed})", *wrong, f"repeat with: {repeat}"])
