"""What a backend is: it refuses or builds a program, and promises which kernels will run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jax import Array

from perf.capability import Capability, Machine
from perf.cases import Direction
from perf.inputs import Inputs


@dataclass(frozen=True, kw_only=True)
class Program:
    """A compiled computation of one case and direction, bound to its inputs.

    Args:
        run: Enqueues one call and returns its result without waiting.
        wait: Waits for a result.
        outputs: Turns a result into float32 arrays named as the reference names them.
        compile_s: Wall time of lowering and compiling; autotuning is part of it.
        temp_bytes: Temporary device memory of the compiled program.
        custom_calls: Targets of the compiled program's custom calls, each once, sorted.
        keep: What must stay alive as long as kernel names are read (see `perf.timing.device`).
    """

    run: Callable[[], object]
    wait: Callable[[object], None]
    outputs: Callable[[object], dict[str, Array]]
    compile_s: float
    temp_bytes: int
    custom_calls: tuple[str, ...]
    keep: tuple[object, ...]


class Backend(Protocol):
    """One way to compute a kind of case: one module, one row in `perf.backends.BACKENDS`.

    Each knows one kind of case; the grids pair them.
    """

    @property
    def name(self) -> str:
        """The name in keys and on the command line."""

    @property
    def summary(self) -> str:
        """One line for ``python -m perf doctor`` and the support matrix."""

    def supports(self, case: Any, direction: Direction, machine: Machine) -> Capability:
        """Whether the case can run on a machine; pure, imports nothing heavy."""

    def build(self, case: Any, direction: Direction, inputs: Inputs) -> Program:
        """Compile the case. Never falls back to another backend."""

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """What was promised and what ran instead; None when the promise holds.

        Args:
            kernels: Names of the kernels of one call; empty when the clock does not see kernels.
        """
