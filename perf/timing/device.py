"""The device clock: kernel time so far, read from CUPTI through NVIDIA's cupti-python.

One subscriber serves every library of the process (JAX, Transformer Engine, the cuDNN front end, PyTorch).
Time is the sum of kernel durations, in steps of 32 ns on an H200. Memory copies and sets are recorded
with the kernels, in brackets, and are no part of the time. CUPTI gives kernel names by function handle:
after a program is freed its handle can be given to another kernel and names become those of the dead one,
so programs are kept alive for as long as names are read (`perf.backends.base.Program.keep`).
"""

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

BUFFER_BYTES = 256 * 1024
"""Room for a thousand records. A buffer is made anew after each flush: 8 MiB cost the next call 0.7 ms."""

FORCED = 1
"""Flag of ``activity_flush_all``: deliver every finished record, also of buffers that are not full."""


class ClockError(RuntimeError):
    """The device clock cannot be had or its records cannot be trusted."""


@dataclass(frozen=True)
class Activity:
    """One finished kernel, or one memory operation with its name in brackets."""

    name: str
    ns: int
    is_kernel: bool


class DeviceClock:
    """Callable that returns the kernel seconds of this process so far; only work moves it.

    Raises:
        ClockError: cupti-python is missing, or CUPTI refuses a subscriber or lost records.
    """

    def __init__(self) -> None:
        self._cupti = _import_cupti()
        self._activities: list[Activity] = []
        self._kernel_ns = 0
        self._enable()

    def __call__(self) -> float:
        """Kernel time so far in seconds. The caller has waited for the work that it wants counted."""
        self._cupti.activity_flush_all(FORCED)
        return self._kernel_ns * 1e-9

    def take(self) -> list[Activity]:
        """The activities since the last `take`, in order of their start.

        Raises:
            ClockError: CUPTI dropped records.
        """
        self()
        self._refuse_dropped()
        taken, self._activities = self._activities, []
        return taken

    def _enable(self) -> None:
        kinds = self._cupti.ActivityKind
        try:
            self._cupti.activity_register_callbacks(lambda: (BUFFER_BYTES, 0), self._completed)
            for kind in (kinds.CONCURRENT_KERNEL, kinds.MEMCPY, kinds.MEMSET):
                self._cupti.activity_enable(kind)
        except self._cupti.cuptiError as error:
            raise ClockError(
                f"CUPTI refused the device clock ({error}). It takes one subscriber in a process: "
                "stop nsys, ncu, jax.profiler or Mosaic's profiler, or choose --clock host."
            ) from error

    def _completed(self, records: list[Any]) -> None:
        kernel = int(self._cupti.ActivityKind.CONCURRENT_KERNEL)
        memcpy = int(self._cupti.ActivityKind.MEMCPY)
        for record in sorted(records, key=lambda record: record.start):
            ns = record.end - record.start
            if record.kind == kernel:
                self._kernel_ns += ns
                self._activities.append(Activity(record.name, ns, is_kernel=True))
            else:
                name = self._memory_name(record) if record.kind == memcpy else "[memset]"
                self._activities.append(Activity(name, ns, is_kernel=False))

    def _memory_name(self, record: Any) -> str:
        return f"[memcpy {self._cupti.ActivityMemcpyKind(record.copy_kind).name}]"

    def _refuse_dropped(self) -> None:
        dropped = ctypes.c_size_t(0)
        self._cupti.activity_get_num_dropped_records(0, 0, ctypes.addressof(dropped))
        if dropped.value:
            raise ClockError(f"CUPTI dropped {dropped.value} records: kernel time is incomplete")


def _import_cupti() -> Any:
    try:
        from cupti import cupti
    except ModuleNotFoundError as error:
        if error.name != "cupti":
            raise
        raise ClockError(
            "the device clock needs cupti-python: install the extra that matches CUDA "
            "(pip install '.[cuda13]' or '.[cuda12]'), or choose wall time with --clock host"
        ) from error
    return cupti


@cache
def device_clock() -> DeviceClock:
    """The one device clock of this process; started before the first kernel that is to be timed."""
    return DeviceClock()
