"""Which cuDNN would be loaded, with imaginary packages on the path."""

import subprocess
from pathlib import Path

import pytest

from perf.environment.cudnn_wheel import cudnn_to_load


def install(site: Path, *, version: str | None, library: bytes = b"no library") -> Path:
    """Lay out the package ``nvidia.cudnn``, as a wheel if there is a version."""
    file = site / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9"
    file.parent.mkdir(parents=True)
    file.write_bytes(library)
    (site / "nvidia" / "cudnn" / "__init__.py").touch()
    if version is not None:
        info = site / f"nvidia_cudnn_cu13-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: nvidia-cudnn-cu13\nVersion: {version}\n"
        )
    return file


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let every library that is asked in a child process be cuDNN 9.14.0; return who was asked."""
    libraries: list[str] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        libraries.append(command[-1])
        return subprocess.CompletedProcess(command, 0, stdout="91400\n", stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    return libraries


def test_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    """The wheel's own library has the wheel's version, and no process is started for it."""
    install(tmp_path, version="99.19.0.56")
    monkeypatch.syspath_prepend(tmp_path)
    assert cudnn_to_load() == "99.19.0"
    assert asked == []


def test_shadowed_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    """A package that lies before the wheel on the path is the one that is asked."""
    install(tmp_path / "site", version="99.19.0.56")
    overlay = install(tmp_path / "overlay", version=None)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "overlay")
    assert cudnn_to_load() == "9.14.0"
    assert asked == [str(overlay)]


def test_no_wheel(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    """Without the package the loader's own library is asked, by its versioned name."""
    monkeypatch.setattr("perf.environment.cudnn_wheel._package_library", lambda: None)
    assert cudnn_to_load() == "9.14.0"
    assert asked == ["libcudnn.so.9"]


def test_broken_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that does not load has no version; the shadowed wheel's is not taken for it."""
    install(tmp_path / "site", version="99.19.0.56")
    install(tmp_path / "overlay", version=None)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "overlay")
    assert cudnn_to_load() is None
