"""Which GPUs a process has, on imaginary machines."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from perf.environment import GpuLostError, gpus, slug, why_no_gpu
from perf.records.schema import Gpu

Scene = Callable[[str], Any]


def test_whole_gpu(scene: Scene) -> None:
    """A whole GPU is described field by field."""
    scene("h200")
    assert gpus() == (
        Gpu(
            name="NVIDIA H200",
            slug="nvidia-h200",
            uuid="GPU-aaaa-1",
            count=1,
            memory_bytes=150_754_820_096,
            mig=False,
            ecc=True,
            compute_capability="9.0",
        ),
    )
    assert why_no_gpu() is None


def test_mig_slice(scene: Scene) -> None:
    """A slice has its own name, slug, UUID and memory, and its board's compute capability."""
    scene("mig")
    (gpu,) = gpus()
    assert gpu.name == "NVIDIA H200 MIG 3g.71gb"
    assert gpu.slug == "nvidia-h200-mig-3g-71gb"
    assert gpu.uuid == "MIG-1111"
    assert gpu.memory_bytes == 74_500_276_224
    assert gpu.mig
    assert gpu.compute_capability == "9.0"


def test_mig_profile_without_a_name(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice whose name holds no profile is named by its sizes, compute slices first if fewer."""
    scene("mig")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-2222")
    assert [gpu.slug for gpu in gpus()] == ["nvidia-h200-mig-1c-3g-71gb"]


def test_slice_hides_whole_gpus(scene: Scene) -> None:
    """CUDA enumerates one slice and then no whole GPU, whatever its number."""
    scene("whole-and-mig")
    assert [gpu.uuid for gpu in gpus()] == ["MIG-1111"]


def test_mig_mode_without_slices(scene: Scene) -> None:
    """In MIG mode a board without instances is no GPU, and the reason says so."""
    scene("mig").devices[0].slices = [None]
    assert gpus() == ()
    assert "no MIG instance" in str(why_no_gpu())


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("0", ["GPU-aaaa-1"]),
        ("1,0", ["GPU-bbbb-2", "GPU-aaaa-1"]),
        (" 1 ", ["GPU-bbbb-2"]),
        ("GPU-bbbb", ["GPU-bbbb-2"]),
        ("0,7,1", ["GPU-aaaa-1"]),
        ("0,-1,1", ["GPU-aaaa-1"]),
        ("GPU-", []),
        ("GPU-nowhere", []),
        ("-1", []),
        ("", []),
    ],
)
def test_cuda_visible_devices(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, wanted: str, found: list[str]
) -> None:
    """Devices come in the order named, up to the first name that is not valid or not unique."""
    scene("two")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", wanted)
    assert [gpu.uuid for gpu in gpus()] == found
    assert (why_no_gpu() is None) == bool(found)


def test_hidden_gpus_are_a_reason(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason for no GPU names the variable, its value and how many it hides."""
    scene("two")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "9")
    assert why_no_gpu() == "CUDA_VISIBLE_DEVICES='9' selects none of the 2 GPU(s)"


def test_count_is_of_visible_gpus(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The count is what this process may use, not what the machine holds."""
    scene("two")
    assert [gpu.count for gpu in gpus()] == [2, 2]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [gpu.count for gpu in gpus()] == [1]


@pytest.mark.parametrize(("platforms", "count"), [("cpu", 0), ("cpu, cuda", 1), ("gpu", 1), ("", 1)])
def test_jax_platforms(scene: Scene, monkeypatch: pytest.MonkeyPatch, platforms: str, count: int) -> None:
    """Choosing the CPU through JAX_PLATFORMS leaves no GPU to describe."""
    scene("h200")
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    assert len(gpus()) == count


@pytest.mark.parametrize(("name", "reason"), [("no-driver", "does not start"), ("no-gpu", "shows no GPU")])
def test_no_gpu(scene: Scene, name: str, reason: str) -> None:
    """No driver, and a driver without a GPU, are empty and differ in the reason."""
    scene(name)
    assert gpus() == ()
    assert reason in str(why_no_gpu())


def test_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nvidia-ml-py the reason says what to install."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert gpus() == ()
    assert "pip install nvidia-ml-py" in str(why_no_gpu())


@pytest.mark.parametrize("code", [6, 15, 16, 28, 999])
def test_lost_gpu(scene: Scene, code: int) -> None:
    """A GPU that is there and does not answer is an error with NVML's code, never "no GPU"."""
    scene("h200").devices[0].errors["all"] = code
    with pytest.raises(GpuLostError, match=f"no longer answers .*NVML error {code}"):
        gpus()


def test_unexpected_error_is_not_swallowed(scene: Scene) -> None:
    """An error that is neither silence nor loss comes out as NVML's own."""
    nvml = scene("h200")
    nvml.devices[0].errors["nvmlDeviceGetName"] = 20
    with pytest.raises(nvml.NVMLError, match="code 20"):
        gpus()


def test_unsupported_fields(scene: Scene) -> None:
    """A GPU without ECC, MIG and memory information is described with what it has."""
    gpu = scene("h200").devices[0]
    for question in ("MigMode", "EccMode", "MemoryInfo"):
        del gpu.answers[f"nvmlDeviceGet{question}"]
    (found,) = gpus()
    assert (found.mig, found.ecc, found.memory_bytes) == (False, None, 0)


def test_sessions_are_closed(scene: Scene) -> None:
    """Every opening of NVML is followed by a closing, also after an error."""
    nvml = scene("h200")
    gpus()
    assert nvml.users == 0
    nvml.devices[0].errors["all"] = 15
    with pytest.raises(GpuLostError):
        gpus()
    assert nvml.users == 0


@pytest.mark.parametrize(
    ("name", "profile", "expected"),
    [
        ("NVIDIA H200", None, "nvidia-h200"),
        ("NVIDIA H200", "3g.71gb", "nvidia-h200-mig-3g-71gb"),
        ("NVIDIA A100-SXM4-80GB", None, "nvidia-a100-sxm4-80gb"),
        ("A100-SXM4-80GB", None, "nvidia-a100-sxm4-80gb"),
        ("NVIDIA H100 80GB HBM3", "1c.3g.40gb", "nvidia-h100-80gb-hbm3-mig-1c-3g-40gb"),
        ("NVIDIA H200", "1g.18gb+me", "nvidia-h200-mig-1g-18gb-me"),
        ("NVIDIA H200", "1g.18gb-me", "nvidia-h200-mig-1g-18gb-no-me"),
        ("NVIDIA RTX 6000 Ada Generation", None, "nvidia-rtx-6000-ada-generation"),
    ],
)
def test_slug(name: str, profile: str | None, expected: str) -> None:
    """A model's slug is a plain folder name, and every MIG profile has its own."""
    assert slug(name, profile) == expected
