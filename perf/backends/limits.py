"""What a library takes, as data: one table a backend, checked in one order, each refusal with its code."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from perf.capability import (
    Capability,
    Code,
    Machine,
    Supported,
    Unsupported,
    Version,
    dotted,
)
from perf.cases import DIRECTIONS, AttentionCase, Bias, BlockCase, Direction, Dtype, Mask, Score

HOPPER: Version = (9, 0)
MASKS: tuple[Mask, ...] = get_args(Mask)
BIASES: tuple[Bias, ...] = get_args(Bias)
SCORES: tuple[Score, ...] = get_args(Score)
WIDE: tuple[Dtype, ...] = ("float32", "bfloat16", "float16")
HALF: tuple[Dtype, ...] = ("bfloat16", "float16")


def any_head_size(machine: Machine, direction: Direction) -> range:
    """No limit that a case of today meets."""
    del machine, direction
    return range(1, 1 << 16)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a backend takes; what is not named is refused.

    Args:
        gpu: Oldest compute capability; None when a CPU will do.
        cudnn: Oldest cuDNN; None when none is used.
        packages: What must be installed beside JAX.
        window: Whether a window under the causal mask is known.
        grouped: Whether there may be fewer key heads than query heads.
        unequal: Masks under which T and S may differ.
        head_sizes: What a GPU computes in a direction.
        length_step: Of what T and S must be multiples in a direction.
    """

    gpu: Version | None = None
    cudnn: Version | None = None
    packages: tuple[str, ...] = ()
    dtypes: tuple[Dtype, ...]
    directions: tuple[Direction, ...] = DIRECTIONS
    masks: tuple[Mask, ...] = ("none", "causal")
    window: bool = False
    biases: tuple[Bias, ...] = ("none",)
    scores: tuple[Score, ...] = ("plain",)
    grouped: bool = True
    unequal: tuple[Mask, ...] = MASKS
    head_sizes: Callable[[Machine, Direction], range] = any_head_size
    length_step: Callable[[Direction], int] = lambda direction: 1  # noqa: ARG005 - the same in every direction

    def answer(self, case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
        """Whether a case can run on a machine; the first limit that it meets is named."""
        return (
            refuse_machine(machine, gpu=self.gpu, cudnn=self.cudnn, packages=self.packages)
            or self._refuse_kind(case, direction)
            or self._refuse_size(case, direction, machine)
            or Supported()
        )

    def _refuse_kind(self, case: AttentionCase, direction: Direction) -> Unsupported | None:
        windows = ("none", f"{case.window}") if self.window else ("none",)
        asked: tuple[tuple[Code, tuple[str, ...], str], ...] = (
            (Code.DTYPE, self.dtypes, case.dtype),
            (Code.DIRECTION, self.directions, direction),
            (Code.MASK, self.masks, case.mask),
            (Code.WINDOW, windows, str(case.window or "none")),
            (Code.BIAS, self.biases, case.bias),
            (Code.SCORE, self.scores, case.score),
        )
        wrong = ((code, known, found) for code, known, found in asked if found not in known)
        return next((Unsupported(code=c, needed=_one_of(known), found=f) for c, known, f in wrong), None)

    def _refuse_size(self, case: AttentionCase, direction: Direction, machine: Machine) -> Unsupported | None:
        grouped = None if self.grouped else refuse_grouped(case)
        if grouped:
            return grouped
        sizes = self.head_sizes(machine, direction)
        if case.head_dim not in sizes:
            return Unsupported(code=Code.HEAD_SIZE, needed=sizes_text(sizes), found=str(case.head_dim))
        lengths, step = f"{case.q_len} and {case.kv_len}", self.length_step(direction)
        if case.q_len % step or case.kv_len % step:
            return Unsupported(code=Code.SEQUENCE_LENGTH, needed=f"multiples of {step}", found=lengths)
        if case.q_len != case.kv_len and case.mask not in self.unequal:
            needed = f"equal lengths under the mask {case.mask}"
            return Unsupported(code=Code.SEQUENCE_LENGTH, needed=needed, found=lengths)
        return None


def refuse_machine(
    machine: Machine,
    *,
    gpu: Version | None = None,
    cudnn: Version | None = None,
    packages: tuple[str, ...] = (),
) -> Unsupported | None:
    """What a machine lacks; None when it has all."""
    if gpu and machine.compute_capability is None:
        needed = f"an NVIDIA GPU of compute capability {dotted(gpu)} or newer"
        return Unsupported(code=Code.NO_GPU, needed=needed, found="a CPU")
    if gpu and machine.compute_capability and machine.compute_capability < gpu:
        found = dotted(machine.compute_capability)
        return Unsupported(code=Code.COMPUTE_CAPABILITY, needed=f"{dotted(gpu)} or newer", found=found)
    if cudnn and (machine.cudnn is None or machine.cudnn < cudnn):
        needed = f"cuDNN {dotted(cudnn)} or newer"
        return Unsupported(code=Code.CUDNN_TOO_OLD, needed=needed, found=dotted(machine.cudnn))
    missing = next((name for name in packages if name not in machine.packages), None)
    if missing:
        return Unsupported(code=Code.PACKAGE_MISSING, needed=missing, found="not installed")
    return None


def refuse_grouped(case: AttentionCase | BlockCase) -> Unsupported | None:
    """Fewer key heads than query heads; None when there are as many."""
    if case.q_heads == case.kv_heads:
        return None
    heads = f"{case.q_heads} and {case.kv_heads}"
    return Unsupported(code=Code.GROUPING, needed="as many key heads as query heads", found=heads)


def sizes_text(sizes: range) -> str:
    """``range(8, 257, 8)`` in words: ``8 to 256 in steps of 8``."""
    if len(sizes) == 1:
        return str(sizes[0])
    return f"{sizes[0]} to {sizes[-1]}" + (f" in steps of {sizes.step}" if sizes.step > 1 else "")


def _one_of(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
