"""An imaginary NVML, an imaginary process table and a healthy environment to spoil."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from perf.records.schema import Environment, Gpu

NOT_SUPPORTED, NOT_FOUND, LIBRARY_NOT_FOUND = 3, 6, 12


class NVMLError(Exception):
    """As in nvidia-ml-py: the code is in ``value``."""

    def __init__(self, value: int) -> None:
        super().__init__(f"code {value}")
        self.value = value


@dataclass(eq=False, kw_only=True)
class FakeDevice:
    """A GPU or a slice: the answer to each question, or the error code that the question meets."""

    answers: dict[str, object]
    errors: dict[str, int] = field(default_factory=dict)
    slices: "list[FakeDevice | None]" = field(default_factory=list)

    def ask(self, question: str) -> object:
        """Answer as this device does; what it does not know is not supported."""
        code = self.errors.get(question, self.errors.get("all"))
        if code is None and question not in self.answers:
            code = NOT_SUPPORTED
        if code is not None:
            raise NVMLError(code)
        return self.answers[question]


class FakeNvml(ModuleType):
    """Stands in for the module ``pynvml``; notes what it was asked."""

    NVMLError = NVMLError
    NVML_CLOCK_SM = 1
    NVML_TEMPERATURE_GPU = 0

    def __init__(self, *devices: FakeDevice, start_error: int | None = None) -> None:
        super().__init__("pynvml")
        self.devices = devices
        self.start_error = start_error
        self.asked: list[str] = []
        self.users = 0

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Return the question of that name; refuse what is none, as a module does."""
        if not name.startswith("nvml"):
            raise AttributeError(name)
        return lambda *arguments: self._answer(name, *arguments)

    def _answer(self, question: str, *arguments: Any) -> object:
        self.asked.append(question)
        own: dict[str, Callable[..., object]] = {
            "nvmlInit": self._start,
            "nvmlShutdown": self._stop,
            "nvmlDeviceGetCount": lambda: len(self.devices),
            "nvmlSystemGetDriverVersion": lambda: "580.65.06",
            "nvmlSystemGetCudaDriverVersion": lambda: 13000,
            "nvmlDeviceGetHandleByIndex": lambda index: self.devices[index],
            "nvmlDeviceGetMaxMigDeviceCount": lambda board: len(board.slices),
            "nvmlDeviceGetMigDeviceHandleByIndex": _slice,
        }
        if question in own:
            return own[question](*arguments)
        device: FakeDevice = arguments[0]
        return device.ask(question)

    def _start(self) -> None:
        if self.start_error is not None:
            raise NVMLError(self.start_error)
        self.users += 1

    def _stop(self) -> None:
        self.users -= 1


def _slice(board: FakeDevice, slot: int) -> FakeDevice:
    found = board.slices[slot]
    if found is None:
        raise NVMLError(NOT_FOUND)
    return found


def whole_gpu(name: str = "NVIDIA H200", uuid: str = "GPU-aaaa-1") -> FakeDevice:
    """Imagine an idle H200."""
    return FakeDevice(
        answers={
            "nvmlDeviceGetName": name,
            "nvmlDeviceGetUUID": uuid,
            "nvmlDeviceGetMigMode": [0, 0],
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=150_754_820_096),
            "nvmlDeviceGetEccMode": [1, 1],
            "nvmlDeviceGetCudaComputeCapability": (9, 0),
            "nvmlDeviceGetClockInfo": 1980,
            "nvmlDeviceGetTemperature": 31,
            "nvmlDeviceGetPowerUsage": 76_500,
            "nvmlDeviceGetCurrentClocksEventReasons": 0x1,
            "nvmlDeviceGetComputeRunningProcesses": [],
        }
    )


def mig_slice(name: str, uuid: str) -> FakeDevice:
    """Imagine a slice of three sevenths; it knows neither clock nor heat."""
    return FakeDevice(
        answers={
            "nvmlDeviceGetName": name,
            "nvmlDeviceGetUUID": uuid,
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=74_500_276_224),
            "nvmlDeviceGetAttributes": SimpleNamespace(
                gpuInstanceSliceCount=3, computeInstanceSliceCount=1, memorySizeMB=72_704
            ),
            "nvmlDeviceGetComputeRunningProcesses": [],
        }
    )


def sliced_gpu(uuid: str = "GPU-cccc-3") -> FakeDevice:
    """Imagine an H200 in MIG mode; its first slot is empty."""
    gpu = whole_gpu(uuid=uuid)
    gpu.answers["nvmlDeviceGetMigMode"] = [1, 1]
    gpu.slices = [
        None,
        mig_slice("NVIDIA H200 MIG 3g.71gb", "MIG-1111"),
        mig_slice("MIG device", "MIG-2222"),
    ]
    return gpu


SCENES: dict[str, Callable[[], FakeNvml]] = {
    "h200": lambda: FakeNvml(whole_gpu()),
    "two": lambda: FakeNvml(whole_gpu(), whole_gpu("NVIDIA A100-SXM4-80GB", "GPU-bbbb-2")),
    "mig": lambda: FakeNvml(sliced_gpu()),
    "whole-and-mig": lambda: FakeNvml(whole_gpu(), sliced_gpu()),
    "no-driver": lambda: FakeNvml(start_error=LIBRARY_NOT_FOUND),
    "no-gpu": FakeNvml,
}


@pytest.fixture(autouse=True)
def _no_choice_of_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the caller's own choice of devices."""
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "JAX_PLATFORMS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Put an imaginary NVML of `SCENES` in place of nvidia-ml-py."""

    def install(name: str) -> FakeNvml:
        nvml = SCENES[name]()
        monkeypatch.setitem(sys.modules, "pynvml", nvml)
        return nvml

    return install


@pytest.fixture
def processes(tmp_path: Path) -> Callable[..., Path]:
    """Write a process table: each pid with its parent and command."""

    def write(**parents: int) -> Path:
        for name, parent in parents.items():
            command, pid = name.rsplit("_", 1)
            folder = tmp_path / pid
            folder.mkdir()
            (folder / "status").write_text(f"Name:\t{command}\nPid:\t{pid}\nPPid:\t{parent}\n")
            (folder / "comm").write_text(f"{command}\n")
        return tmp_path

    return write


@pytest.fixture
def healthy() -> Environment:
    """An H200 on which nothing is wrong."""
    return Environment(
        slug="nvidia-h200",
        gpu=Gpu(
            name="NVIDIA H200",
            slug="nvidia-h200",
            uuid="GPU-aaaa-1",
            count=1,
            memory_bytes=150_754_820_096,
            mig=False,
            ecc=True,
            compute_capability="9.0",
        ),
        driver="580.65.06",
        cuda="13.0",
        cudnn="9.19.0",
        packages={
            "jax": "0.11.2",
            "jax-cuda13-plugin": "0.11.2",
            "nvidia-cudnn-cu13": "9.19.0.56",
            "cupti-python": "13.0.0",
        },
        flags={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
        python="3.12.3",
        os="Ubuntu 24.04",
        machine="x86_64, imaginary",
        libraries=[],
    )
