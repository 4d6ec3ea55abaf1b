"""Clock, heat, power and neighbours of an imaginary GPU."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perf.environment import GpuLostError, GpuReader, NoGpuError, OtherProcess
from perf.environment.gpu_reader import throttle_names
from perf.records.schema import GpuState

Scene = Callable[[str], Any]
LISTING = "nvmlDeviceGetComputeRunningProcesses"


def entries(*pids: int) -> list[SimpleNamespace]:
    """List processes as NVML does."""
    return [SimpleNamespace(pid=pid) for pid in pids]


def test_state_in_base_units(scene: Scene) -> None:
    """Clock in Hz, power in watt, and idle is not a reason that holds the clock back."""
    scene("h200")
    with GpuReader() as reader:
        state = reader.state()
    assert state == GpuState(sm_hz=1.98e9, celsius=31.0, watt=76.5, throttle=[])


def test_throttled(scene: Scene) -> None:
    """Every reason that holds the clock back is named."""
    gpu = scene("h200").devices[0]
    gpu.answers["nvmlDeviceGetCurrentClocksEventReasons"] = 0x4 | 0x40
    with GpuReader() as reader:
        state = reader.state()
    assert state
    assert state.throttle == ["power-cap", "hw-thermal-slowdown"]


def test_older_driver(scene: Scene) -> None:
    """A driver that knows only "throttle reasons" is asked for those."""
    gpu = scene("h200").devices[0]
    del gpu.answers["nvmlDeviceGetCurrentClocksEventReasons"]
    gpu.answers["nvmlDeviceGetCurrentClocksThrottleReasons"] = 0x8
    with GpuReader() as reader:
        state = reader.state()
    assert state
    assert state.throttle == ["hw-slowdown"]


@pytest.mark.parametrize(
    ("mask", "names"),
    [(0, []), (0x1, []), (0x1 | 0x2, ["application-clocks"]), (0x8000, ["bit-0x8000"])],
)
def test_throttle_names(mask: int, names: list[str]) -> None:
    """Idle is left out, and a bit of a newer driver is kept by its number."""
    assert throttle_names(mask) == names


@pytest.mark.parametrize("question", ["ClockInfo", "Temperature", "PowerUsage"])
def test_silent_gpu(scene: Scene, question: str) -> None:
    """A GPU that does not tell one of the three has no state, rather than an invented one."""
    del scene("h200").devices[0].answers[f"nvmlDeviceGet{question}"]
    with GpuReader() as reader:
        assert reader.state() is None


def test_gpu_lost_between_readings(scene: Scene) -> None:
    """A GPU that falls off the bus raises, from each of the two readings."""
    gpu = scene("h200").devices[0]
    with GpuReader() as reader:
        gpu.errors["all"] = 15
        with pytest.raises(GpuLostError, match="NVML error 15"):
            reader.state()
        with pytest.raises(GpuLostError, match="NVML error 15"):
            reader.other_processes()


def test_slice_and_board(scene: Scene) -> None:
    """The clock of a slice is its board's, the processes are the slice's own."""
    nvml = scene("mig")
    nvml.devices[0].answers[LISTING] = entries(4)
    nvml.devices[0].slices[1].answers[LISTING] = entries(5)
    with GpuReader(proc=Path("/nowhere")) as reader:
        assert reader.state()
        assert [other.pid for other in reader.other_processes()] == [5]


def test_other_processes(scene: Scene, processes: Callable[..., Path]) -> None:
    """Neither this process nor its descendants are others; one that is not visible has no name."""
    me = os.getpid()
    gpu = scene("h200").devices[0]
    gpu.answers[LISTING] = entries(me, 90001, 90002, 90003, 90004)
    gpu.answers["nvmlDeviceGetGraphicsRunningProcesses"] = entries(90003)
    proc = processes(child_90001=me, grandchild_90002=90001, train_90003=1)
    with GpuReader(proc=proc) as reader:
        assert reader.other_processes() == (
            OtherProcess(pid=90003, name="train"),
            OtherProcess(pid=90004, name=None),
        )


def test_no_process_table(scene: Scene) -> None:
    """A sandbox that answers "unknown error" to the listing has lost no GPU."""
    scene("h200").devices[0].errors[LISTING] = 999
    with GpuReader() as reader:
        assert reader.other_processes() == ()


def test_no_gpu_to_read(scene: Scene) -> None:
    """Without a GPU there is no reader, and NVML is let go."""
    nvml = scene("no-gpu")
    with pytest.raises(NoGpuError, match="shows no GPU"):
        GpuReader()
    assert nvml.users == 0


def test_changes_nothing(scene: Scene) -> None:
    """NVML is only ever asked: no question of ours sets or resets anything."""
    nvml = scene("h200")
    with GpuReader() as reader:
        reader.state()
        reader.other_processes()
    assert nvml.users == 0
    assert {q for q in nvml.asked if "Get" not in q} == {"nvmlInit", "nvmlShutdown"}
