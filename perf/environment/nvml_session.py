"""One conversation with NVML: opening it, asking it, and what its errors mean here."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

UNKNOWN = 999
NOT_FOUND = 6
# Not supported, no permission, function not found: this GPU or driver has no answer; no fault.
SILENT = frozenset({3, 4, 13})
# NVML often says "unknown error" after an Xid 79, and in a container that lost its device files.
_LOST = frozenset({NOT_FOUND, 15, 16, 28, UNKNOWN})


class NoGpuError(RuntimeError):
    """This process has no NVIDIA GPU; the text says why."""


class GpuLostError(RuntimeError):
    """The GPU no longer answers: it fell off the bus, needs a reset, or was taken away."""


@contextmanager
def session() -> Iterator[ModuleType]:
    """Open NVML for a while; it counts its users, so that sessions may overlap.

    Raises:
        NoGpuError: No nvidia-ml-py, no driver, or a driver that does not answer.
    """
    try:
        import pynvml
    except ImportError:
        raise NoGpuError("nvidia-ml-py is not installed: pip install nvidia-ml-py") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise NoGpuError(f"the NVIDIA driver's library NVML does not start: {error}") from error
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def ask(nvml: ModuleType, question: str, *arguments: object, silent: frozenset[int] = SILENT) -> Any:
    """Call one NVML function; None when its error code is in ``silent``.

    Raises:
        GpuLostError: The GPU is gone.
    """
    try:
        return getattr(nvml, question)(*arguments)
    except nvml.NVMLError as error:
        if error.value in silent:
            return None
        if error.value in _LOST:
            raise GpuLostError(
                f"the GPU no longer answers ({question}: {error}, NVML error {error.value}); "
                "nvidia-smi and the kernel's log (Xid) say more"
            ) from error
        raise
