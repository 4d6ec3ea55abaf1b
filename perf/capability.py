"""Who can compute what, as values: a refusal names its code, what was needed and what was found."""

from dataclasses import dataclass, field
from enum import StrEnum

Version = tuple[int, ...]


class Code(StrEnum):
    """Why a key does not run; reports count these."""

    NO_GPU = "no-gpu"
    COMPUTE_CAPABILITY = "compute-capability"
    CUDNN_TOO_OLD = "cudnn-too-old"
    DTYPE = "dtype"
    MASK = "mask"
    WINDOW = "window"
    BIAS = "bias"
    SCORE = "score"
    GROUPING = "grouping"
    HEAD_SIZE = "head-size"
    SEQUENCE_LENGTH = "sequence-length"
    DIRECTION = "direction"
    PACKAGE_MISSING = "package-missing"
    MEMORY = "memory"


@dataclass(frozen=True, kw_only=True)
class Supported:
    """The backend can compute the case."""


@dataclass(frozen=True, kw_only=True)
class Unsupported:
    """The backend refuses the case before anything is compiled."""

    code: Code
    needed: str
    found: str

    def __str__(self) -> str:
        return f"{self.code}: needs {self.needed}, found {self.found}"


Capability = Supported | Unsupported


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What refusals are decided on; tests make imaginary ones.

    Args:
        compute_capability: Of the GPU in use; None on a CPU.
        cudnn: Version of the cuDNN that JAX loads; None when there is none.
        packages: Installed version of each optional package; an absent name is not installed.
        memory_bytes: Of the GPU; None on a CPU, where the system decides.
    """

    compute_capability: Version | None = None
    cudnn: Version | None = None
    packages: dict[str, str] = field(default_factory=dict)
    memory_bytes: int | None = None

    @property
    def has_gpu(self) -> bool:
        """Whether there is a GPU at all."""
        return self.compute_capability is not None


def dotted(version: Version | None) -> str:
    """Write a version as people do: (9, 19, 0) → ``9.19.0``; None → ``none``."""
    return "none" if version is None else ".".join(map(str, version))
