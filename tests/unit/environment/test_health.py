"""What the doctor warns of, one spoiled fact at a time."""

import pytest

from perf.environment import OtherProcess
from perf.environment.health import Checkup, cuda_major, warnings
from perf.records.schema import Environment, GpuState, Library


def state(*throttle: str) -> GpuState:
    """Read an imaginary GPU whose clock is held back by these reasons."""
    return GpuState(sm_hz=1.98e9, celsius=31.0, watt=76.5, throttle=list(throttle))


def changed(here: Environment, field: str, **items: str | None) -> Environment:
    """Set, or with None remove, entries of ``packages`` or ``flags``."""
    merged = getattr(here, field) | items
    return here.model_copy(update={field: {k: v for k, v in merged.items() if v is not None}})


def only_warning(here: Environment) -> str:
    """Return the one warning of an environment."""
    assert here.gpu
    (text,) = warnings(Checkup(environment=here, gpus=(here.gpu,), state=state()))
    return text


def test_nothing_wrong(healthy: Environment) -> None:
    """A healthy machine has no warning."""
    assert healthy.gpu
    assert warnings(Checkup(environment=healthy, gpus=(healthy.gpu,), state=state())) == []


def test_gpu_warnings_need_a_gpu(healthy: Environment) -> None:
    """On a CPU nothing is said of CUPTI, preallocation or plug-ins."""
    here = healthy.model_copy(update={"gpu": None, "cuda": None, "packages": {}, "flags": {}})
    assert warnings(Checkup(environment=here)) == []


def test_two_cudnns(healthy: Environment) -> None:
    """Two mapped cuDNNs are a warning that names both folders."""
    libraries = [Library(name="libcudnn.so.9", path=f"/{folder}/libcudnn.so.9") for folder in ("a", "b")]
    text = only_warning(healthy.model_copy(update={"libraries": libraries}))
    assert "2 different cuDNNs" in text
    assert "/a, /b" in text


def test_shadowed_wheel(healthy: Environment) -> None:
    """A cuDNN that is not the installed wheel's is a warning with both versions."""
    text = only_warning(healthy.model_copy(update={"cudnn": "9.14.0"}))
    assert "9.14.0" in text
    assert "9.19.0.56" in text


def test_version_that_only_begins_alike(healthy: Environment) -> None:
    """9.1.9 is not 9.19, and 9.19.0 is not 9.19.05."""
    here = changed(healthy, "packages", **{"nvidia-cudnn-cu13": "9.19.05.1"})
    assert "9.19.05.1" in only_warning(here)


def test_throttled_now(healthy: Environment) -> None:
    """What holds the clock back now is named."""
    assert healthy.gpu
    checkup = Checkup(environment=healthy, gpus=(healthy.gpu,), state=state("power-cap"))
    assert warnings(checkup) == ["the GPU's clock is held back now: power-cap"]


@pytest.mark.parametrize(("name", "text"), [("train", "4711 (train)"), (None, "may be this")])
def test_other_process(healthy: Environment, name: str | None, text: str) -> None:
    """Another process is named; one without a name may be this one, seen from outside."""
    assert healthy.gpu
    others = (OtherProcess(pid=4711, name=name),)
    (found,) = warnings(Checkup(environment=healthy, gpus=(healthy.gpu,), others=others))
    assert text in found


def test_cupti_missing(healthy: Environment) -> None:
    """Without cupti-python the command that installs the fitting one is given."""
    text = only_warning(changed(healthy, "packages", **{"cupti-python": None}))
    assert "pip install 'cupti-python==13.*'" in text


def test_cupti_of_another_cuda(healthy: Environment) -> None:
    """cupti-python of another major version than CUDA's is named with both versions."""
    text = only_warning(changed(healthy, "packages", **{"cupti-python": "12.8.0"}))
    assert "12.8.0 does not fit CUDA 13" in text


def test_plugin_decides_the_cuda(healthy: Environment) -> None:
    """CUDA 12's plug-in on a driver for CUDA 13 wants CUDA 12's CUPTI."""
    names = {"jax-cuda13-plugin": None, "jax-cuda12-plugin": "0.11.2", "cupti-python": "12.8.0"}
    here = changed(healthy, "packages", **names)
    assert cuda_major(here) == "12"
    assert warnings(Checkup(environment=here, state=state())) == []


def test_driver_too_old(healthy: Environment) -> None:
    """A plug-in for a newer CUDA than the driver serves is a warning with both."""
    text = only_warning(healthy.model_copy(update={"cuda": "12.4"}))
    assert text == "the driver serves CUDA up to 12.4, JAX's plug-in is built for 13"


def test_no_plugin(healthy: Environment) -> None:
    """A GPU without JAX's plug-in is a warning with the command that installs it."""
    text = only_warning(changed(healthy, "packages", **{"jax-cuda13-plugin": None}))
    assert "pip install 'jax[cuda13]'" in text


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [
        ("XLA_PYTHON_CLIENT_PREALLOCATE", None, 1),
        ("XLA_PYTHON_CLIENT_PREALLOCATE", "true", 1),
        ("XLA_PYTHON_CLIENT_PREALLOCATE", "0", 0),
        ("XLA_PYTHON_CLIENT_ALLOCATOR", "platform", 0),
    ],
)
def test_preallocation(healthy: Environment, name: str, value: str | None, count: int) -> None:
    """Preallocation is a warning unless it, or the whole allocator, is switched off."""
    here = changed(healthy.model_copy(update={"flags": {}}), "flags", **{name: value})
    assert healthy.gpu
    found = warnings(Checkup(environment=here, gpus=(healthy.gpu,), state=state()))
    assert len(found) == count


@pytest.mark.parametrize(("order", "count"), [(None, 1), ("PCI_BUS_ID", 0)])
def test_mixed_models(healthy: Environment, order: str | None, count: int) -> None:
    """GPUs of two models are numbered differently by CUDA and NVML unless the order is set."""
    assert healthy.gpu
    gpus = (healthy.gpu, healthy.gpu.model_copy(update={"name": "NVIDIA A100-SXM4-80GB"}))
    here = changed(healthy, "flags", CUDA_DEVICE_ORDER=order)
    found = warnings(Checkup(environment=here, gpus=gpus, state=state()))
    assert len(found) == count
