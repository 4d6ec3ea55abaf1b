"""The fingerprint of imaginary machines."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from perf.environment import difference, environment, fingerprint, machine_info
from perf.environment.fingerprint import cpu_slug, flags, packages
from perf.records.schema import Environment, Library

Scene = Callable[[str], Any]


def test_gpu_machine(scene: Scene) -> None:
    """On a GPU the slug is the GPU's, and driver and CUDA come from NVML."""
    scene("h200")
    here = environment(after_run=False)
    assert here.slug == "nvidia-h200"
    assert here.gpu
    assert here.gpu.name == "NVIDIA H200"
    assert (here.driver, here.cuda) == ("580.65.06", "13.0")


def test_cpu_machine(scene: Scene) -> None:
    """Without a driver the slug is the processor's, and what belongs to a GPU is absent."""
    scene("no-driver")
    here = environment(after_run=False)
    assert here.slug.startswith("cpu-")
    assert (here.gpu, here.driver, here.cuda) == (None, None, None)


@pytest.mark.parametrize(("machine", "slug"), [("x86_64", "cpu-x86-64"), ("aarch64", "cpu-aarch64")])
def test_cpu_slug(machine: str, slug: str) -> None:
    """A processor's slug is a plain folder name."""
    assert cpu_slug(machine) == slug


def test_loaded_cudnn_is_the_truth(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a run the mapped cuDNN counts; before it, the one that would be loaded."""
    scene("h200")
    library = Library(name="libcudnn.so.9", path="/overlay/libcudnn.so.9")
    monkeypatch.setattr(fingerprint, "mapped", lambda: (library,))
    monkeypatch.setattr(
        fingerprint, "cudnn_loaded", lambda found: ("9.14.0", found[0].path) if found else None
    )
    monkeypatch.setattr(fingerprint, "cudnn_to_load", lambda: "9.19.0")
    before, after = environment(after_run=False), environment(after_run=True)
    assert (before.cudnn, before.libraries) == ("9.19.0", [])
    assert (after.cudnn, after.libraries) == ("9.14.0", [library])


def test_packages() -> None:
    """Packages that are installed are listed with their version, others not at all."""
    found = packages()
    assert found["pytest-benchmark"]
    assert all(found.values())
    assert set(found) <= set(fingerprint.PACKAGES)


@pytest.mark.parametrize(
    "name",
    [
        "XLA_FLAGS",
        "JAX_ENABLE_X64",
        "XLA_PYTHON_CLIENT_MEM_FRACTION",
        "NVIDIA_TF32_OVERRIDE",
        "CUDA_VISIBLE_DEVICES",
        "LD_LIBRARY_PATH",
        "CUDNN_HOME",
        "NVTE_FUSED_ATTN",
        "TF_CUDNN_WORKSPACE_LIMIT_IN_MB",
    ],
)
def test_flag_that_is_set(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A variable that can move a number is recorded when it is set, and only then."""
    monkeypatch.delenv(name, raising=False)
    assert name not in flags()
    monkeypatch.setenv(name, "1")
    assert flags()[name] == "1"


def test_other_variables_stay_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that cannot move a number, such as a token, is never recorded."""
    for name in ("API_TOKEN", "MY_XLA_FLAGS", "CUDA_HOME"):
        monkeypatch.setenv(name, "secret")
    assert "secret" not in flags().values()


def test_machine_info_is_stable(healthy: Environment) -> None:
    """Another machine of the same model and stack has the same machine info."""
    assert healthy.gpu
    elsewhere = healthy.model_copy(
        update={
            "gpu": healthy.gpu.model_copy(update={"uuid": "GPU-zzzz-9", "count": 8}),
            "machine": "x86_64, another processor",
            "flags": healthy.flags | {"LD_LIBRARY_PATH": "/a", "CUDA_VISIBLE_DEVICES": "3"},
            "libraries": [Library(name="libcudnn.so.9", path="/a/libcudnn.so.9")],
        }
    )
    assert machine_info(elsewhere) == machine_info(healthy)


@pytest.mark.parametrize(
    "change",
    [
        {"cudnn": "9.14.0"},
        {"driver": "570.1"},
        {"packages": {"jax": "0.12.0"}},
        {"flags": {"XLA_FLAGS": "--xla_gpu_autotune_level=0"}},
        {"gpu": None, "slug": "cpu-x86-64"},
    ],
)
def test_machine_info_tells_stacks_apart(healthy: Environment, change: dict[str, object]) -> None:
    """A change that can move a number changes the machine info."""
    assert machine_info(healthy.model_copy(update=change)) != machine_info(healthy)


def test_machine_info_is_json(healthy: Environment) -> None:
    """pytest-benchmark can write the machine info and reads the same back."""
    info = machine_info(healthy)
    assert json.loads(json.dumps(info)) == info


def test_no_difference(healthy: Environment) -> None:
    """An environment does not differ from itself, nor by where its libraries lie."""
    libraries = [Library(name="libcudnn.so.9", path="/b/libcudnn.so.9")]
    assert difference(healthy, healthy.model_copy(update={"libraries": libraries})) == []


def test_difference(healthy: Environment) -> None:
    """Every differing field is listed once, dotted, with None where it is absent."""
    assert healthy.gpu
    other = healthy.model_copy(
        update={
            "cudnn": "9.14.0",
            "gpu": healthy.gpu.model_copy(update={"ecc": False}),
            "packages": {
                "jax": "0.12.0",
                **{k: v for k, v in healthy.packages.items() if k != "jax"},
            },
            "flags": healthy.flags | {"XLA_FLAGS": "--a"},
        }
    )
    assert difference(healthy, other) == [
        ("gpu.ecc", "True", "False"),
        ("cudnn", "9.19.0", "9.14.0"),
        ("packages.jax", "0.11.2", "0.12.0"),
        ("flags.XLA_FLAGS", None, "--a"),
    ]


def test_difference_to_a_cpu(healthy: Environment) -> None:
    """Between a GPU and a CPU each field of the GPU is gone, not the whole as one text."""
    cpu = healthy.model_copy(update={"slug": "cpu-x86-64", "gpu": None})
    found = {pair.field: (pair.a, pair.b) for pair in difference(healthy, cpu)}
    assert found["gpu.name"] == ("NVIDIA H200", None)
    assert found["slug"] == ("nvidia-h200", "cpu-x86-64")
