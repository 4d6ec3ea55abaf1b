"""The GPU's clock, heat, power and neighbours, read around the samples. Changes no setting."""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from perf.environment.nvml_session import SILENT, UNKNOWN, ask, session
from perf.environment.visible import visible_devices
from perf.records.schema import GpuState

# NVML's clock event reasons by bit (nvml.h, 13.0). Bit 0, "idle", holds nothing back.
_IDLE = 0x1
_REASONS = {
    0x2: "application-clocks",
    0x4: "power-cap",
    0x8: "hw-slowdown",
    0x10: "sync-boost",
    0x20: "sw-thermal-slowdown",
    0x40: "hw-thermal-slowdown",
    0x80: "hw-power-brake",
    0x100: "display-clocks",
    0x200: "board-limit",
    0x400: "reliability",
}
_PROCESS_QUESTIONS = (
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses",
)


@dataclass(frozen=True, kw_only=True)
class OtherProcess:
    """A process on the GPU that is neither this one nor its child.

    Args:
        pid: As NVML gives it.
        name: Its command; None when it is not visible from here. In a container NVML may give
            pids of the host, so that such a process can be this very one.
    """

    pid: int
    name: str | None


class GpuReader:
    """Reads one GPU of this process again and again, with NVML kept open.

    Args:
        index: Which of the visible GPUs; 0 is the one that JAX uses by default.
        proc: Where the process table is.

    Raises:
        NoGpuError: There is no GPU.
    """

    def __init__(self, *, index: int = 0, proc: Path = Path("/proc")) -> None:
        with ExitStack() as stack:
            self._nvml = stack.enter_context(session())
            self._device = visible_devices(self._nvml)[index]
            self._stack = stack.pop_all()
        self._proc = proc

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of NVML."""
        self._stack.close()

    def state(self) -> GpuState | None:
        """Read clock, heat, power, throttle reasons; None when the GPU does not tell (a vGPU).

        Raises:
            GpuLostError: The GPU is gone.
        """
        nvml, board = self._nvml, self._device.board
        sm_mhz = ask(nvml, "nvmlDeviceGetClockInfo", board, nvml.NVML_CLOCK_SM)
        celsius = ask(nvml, "nvmlDeviceGetTemperature", board, nvml.NVML_TEMPERATURE_GPU)
        milliwatt = ask(nvml, "nvmlDeviceGetPowerUsage", board)
        if sm_mhz is None or celsius is None or milliwatt is None:
            return None
        return GpuState(
            sm_hz=sm_mhz * 1e6,
            celsius=float(celsius),
            watt=milliwatt / 1e3,
            throttle=throttle_names(self._reasons()),
        )

    def other_processes(self) -> tuple[OtherProcess, ...]:
        """List the processes on the GPU (on a MIG slice: on the slice) that are not ours.

        Raises:
            GpuLostError: The GPU is gone.
        """
        pids: set[int] = set()
        for question in _PROCESS_QUESTIONS:
            # Sandboxes without a process table answer "unknown error": no sign of a lost GPU.
            silent = SILENT | {UNKNOWN}
            entries = ask(self._nvml, question, self._device.handle, silent=silent) or ()
            pids.update(entry.pid for entry in entries)
        return tuple(
            OtherProcess(pid=pid, name=_command(self._proc, pid))
            for pid in sorted(pids)
            if not _is_ours(self._proc, pid)
        )

    def _reasons(self) -> int:
        board = self._device.board
        mask = ask(self._nvml, "nvmlDeviceGetCurrentClocksEventReasons", board)
        if mask is None:  # drivers before 535 know only the older name
            mask = ask(self._nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", board)
        return mask or 0


def throttle_names(mask: int) -> list[str]:
    """Name the set bits of NVML's clock event reasons without idle; an unknown one by number."""
    bits = (1 << place for place in range(mask.bit_length()))
    return [_REASONS.get(bit, f"bit-{bit:#x}") for bit in bits if mask & bit and bit != _IDLE]


def _is_ours(proc: Path, pid: int) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        pid = _parent(proc, pid)
    return False


def _parent(proc: Path, pid: int) -> int:
    try:
        status = (proc / str(pid) / "status").read_text()
    except OSError:  # gone meanwhile, or of another PID namespace
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:")), 0)


def _command(proc: Path, pid: int) -> str | None:
    try:
        return (proc / str(pid) / "comm").read_text().strip()
    except OSError:
        return None
