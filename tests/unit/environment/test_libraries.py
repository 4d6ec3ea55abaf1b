"""Which CUDA libraries are mapped, from imaginary map files."""

import ctypes
import mmap
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from perf.environment.libraries import cudnn_loaded, cudnn_version, mapped, two_cudnns
from perf.records.schema import Library

WHEEL = "/venv/lib/python3.12/site-packages/nvidia/cudnn/lib"
SYSTEM = "/usr/lib/x86_64-linux-gnu"


def maps(*paths: str) -> str:
    """Write a map file: an anonymous mapping, the stack, and two segments of each path."""
    lines = [
        "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ",
        "7ffc0-7ffd0 rw-p 0 00:00 0 [stack]",
    ]
    for path in paths:
        lines += [f"7f00-7f01 {mode} 00000000 fe:00 4711    {path}" for mode in ("r--p", "r-xp")]
    return "\n".join(lines) + "\n"


def test_cuda_libraries_only() -> None:
    """Each CUDA library is listed once, by path; others are not."""
    text = maps(
        f"{WHEEL}/libcudnn_graph.so.9",
        f"{WHEEL}/libcudnn.so.9",
        "/usr/lib/libc.so.6",
        "/cuda/libcublasLt.so.13",
        "/cuda/libcudart.so.13",
        "/cuda/libcupti.so.13",
        "/cuda/libnvrtc-builtins.so.13.0",
        "/nccl/libnccl.so.2",
        f"{SYSTEM}/libcuda.so.580.65.06",
        "/usr/lib/libcudf.so",
    )
    assert [library.name for library in mapped(text)] == [
        "libcublasLt.so.13",
        "libcudart.so.13",
        "libcupti.so.13",
        "libnvrtc-builtins.so.13.0",
        "libnccl.so.2",
        "libcuda.so.580.65.06",
        "libcudnn.so.9",
        "libcudnn_graph.so.9",
    ]


@pytest.mark.parametrize("path", ["/my envs/a b/libcudnn.so.9", "/venv/libcudnn.so.9"])
@pytest.mark.parametrize("suffix", ["", " (deleted)"])
def test_path_is_kept_whole(path: str, suffix: str) -> None:
    """Spaces belong to the path; the kernel's note that the file was replaced does not."""
    assert [library.path for library in mapped(maps(path + suffix))] == [path]


def test_this_process(tmp_path: Path) -> None:
    """Without a text this process's own map is read: a file mapped just now is found."""
    path = tmp_path / "libcudnn_mapped.so.9"
    path.write_bytes(b"one page at most")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        assert Library(name=path.name, path=str(path)) in mapped()
    assert path.name not in {library.name for library in mapped()}


def test_two_cudnns() -> None:
    """Parts of cuDNN from two folders are a mixture, and the warning names both."""
    text = two_cudnns(mapped(maps(f"{WHEEL}/libcudnn.so.9", f"{SYSTEM}/libcudnn_ops.so.9.14.0")))
    assert text
    assert WHEEL in text
    assert SYSTEM in text


def test_one_cudnn() -> None:
    """All parts from one folder are no mixture, wherever other libraries lie."""
    libraries = mapped(
        maps(f"{WHEEL}/libcudnn.so.9", f"{WHEEL}/libcudnn_ops.so.9", f"{SYSTEM}/libcublas.so.13")
    )
    assert two_cudnns(libraries) is None


@pytest.mark.parametrize(
    ("number", "text"), [(91900, "9.19.0"), (90100, "9.1.0"), (92801, "9.28.1"), (8907, "8.9.7")]
)
def test_cudnn_version(number: int, text: str) -> None:
    """Version 9 counts in ten thousands, version 8 in thousands."""
    assert cudnn_version(number) == text


def test_loaded_cudnn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mapped main library is asked for its version, and never loaded a second time."""
    opened = []

    def open_library(path: str, mode: int) -> SimpleNamespace:
        opened.append((path, bool(mode & os.RTLD_NOLOAD)))

        def version() -> int:
            return 91900

        return SimpleNamespace(cudnnGetVersion=version)

    monkeypatch.setattr(ctypes, "CDLL", open_library)
    libraries = mapped(maps(f"{WHEEL}/libcudnn_ops.so.9", f"{WHEEL}/libcudnn.so.9"))
    assert cudnn_loaded(libraries) == ("9.19.0", f"{WHEEL}/libcudnn.so.9")
    assert opened == [(f"{WHEEL}/libcudnn.so.9", True)]


def test_no_cudnn_loaded() -> None:
    """Parts of cuDNN without the main library cannot be asked."""
    assert cudnn_loaded(mapped(maps(f"{WHEEL}/libcudnn_ops.so.9"))) is None
