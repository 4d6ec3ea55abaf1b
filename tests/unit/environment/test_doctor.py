"""The doctor's text."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from perf.environment import OtherProcess
from perf.environment.doctor import WIDTH, doctor, report
from perf.environment.health import Checkup
from perf.records.schema import Environment, GpuState, Library

Scene = Callable[[str], Any]
BACKENDS = [
    ("naive", "can run"),
    ("jax_cudnn_fp8", "compute-capability: needs 9.0 or newer, found 8.0 on this GPU; " * 3),
]


def test_gpu_machine(scene: Scene) -> None:
    """On a GPU the text holds its name, slug, clock, driver and every backend."""
    scene("h200")
    text, _ = doctor(backends=BACKENDS, after_run=False)
    for part in ("NVIDIA H200", "nvidia-h200", "SM 1980 MHz", "580.65.06", "naive", "can run"):
        assert part in text


def test_cpu_machine(scene: Scene) -> None:
    """Without a GPU the text says why, and there is nothing to warn of."""
    scene("no-driver")
    text, found = doctor(backends=BACKENDS, after_run=True)
    assert "does not start" in text
    assert found == []


def test_lost_gpu(scene: Scene) -> None:
    """A GPU that falls off the bus is a warning, not a traceback."""
    scene("h200").devices[0].errors["all"] = 15
    text, (warning,) = doctor(backends=BACKENDS, after_run=False)
    assert "no longer answers" in warning
    assert "no longer answers" in text


def test_fits_a_plain_terminal(healthy: Environment) -> None:
    """The text is ASCII, and only a path that has no space may be wider than 80 columns."""
    folder = "/a/very/long" + "/path" * 20
    names = [f"libcudnn_{part}.so.9" for part in ("adv", "cnn", "graph", "ops", "engines")]
    libraries = [Library(name=name, path=f"{folder}/{name}") for name in names]
    checkup = Checkup(
        environment=healthy.model_copy(update={"libraries": libraries}),
        state=GpuState(sm_hz=1.98e9, celsius=31.0, watt=76.5, throttle=["power-cap"]),
        others=(OtherProcess(pid=1, name=None), OtherProcess(pid=2, name="train")),
    )
    text = report(checkup, backends=BACKENDS, warnings=["much to say " * 20])
    assert text.isascii()
    wide = [line for line in text.splitlines() if len(line) > WIDTH]
    assert wide == [f"  {folder}"]


def test_libraries_by_folder(healthy: Environment) -> None:
    """Mapped libraries stand under their folder, so that two cuDNNs are seen at once."""
    paths = ("/a/libcudnn.so.9", "/a/libcudnn_ops.so.9", "/b/libcudnn.so.9")
    libraries = [Library(name=path.split("/")[2], path=path) for path in paths]
    here = healthy.model_copy(update={"libraries": libraries, "cudnn": None})
    text = report(Checkup(environment=here), backends=BACKENDS, warnings=[])
    assert "  /a\n    libcudnn.so.9 libcudnn_ops.so.9\n  /b\n    libcudnn.so.9\n" in text


def test_paths_can_be_copied(healthy: Environment) -> None:
    """A flag that is wider than the terminal is not broken."""
    value = "/long-path" * 20
    here = healthy.model_copy(update={"flags": {"LD_LIBRARY_PATH": value}})
    assert value in report(Checkup(environment=here), backends=BACKENDS, warnings=[])


def test_warnings_come_last(healthy: Environment) -> None:
    """Warnings are numbered and end the text."""
    text = report(Checkup(environment=healthy), backends=BACKENDS, warnings=["first", "second"])
    assert text.endswith("Warnings\n  1  first\n  2  second\n")


@pytest.mark.parametrize("module", ["perf.environment", "perf.environment.doctor"])
def test_imports_nothing_heavy(module: str) -> None:
    """A fresh interpreter that imports the package has imported neither jax nor torch."""
    program = f"import sys, {module}; print(sorted({{'jax', 'jaxlib', 'torch'}} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
