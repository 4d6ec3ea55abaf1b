"""Which cuDNN JAX would load, found before it is loaded."""

import importlib.util
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from perf.environment.libraries import cudnn_version

CUDNN_WHEELS = ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12")
_LIBRARY = "libcudnn.so.9"
_ASK = """
import ctypes, sys
cudnn = ctypes.CDLL(sys.argv[1])
cudnn.cudnnGetVersion.restype = ctypes.c_size_t
print(cudnn.cudnnGetVersion())
"""


def cudnn_to_load() -> str | None:
    """Return the version of the cuDNN that JAX would load now; None when there is none.

    JAX's CUDA plug-in (``_load`` in ``jax_plugins/xla_cuda13``) opens the library in the Python
    package ``nvidia.cudnn``; without one, the loader finds ``libcudnn.so.9``. A folder on
    PYTHONPATH can hold that package too, before the wheel: then the wheel's version is not the
    truth, and the library itself is asked.
    """
    library = _package_library()
    if library is not None and (version := _wheel_version(library)) is not None:
        return version
    return _ask_in_child(_LIBRARY if library is None else str(library))


def _package_library() -> Path | None:
    try:
        spec = importlib.util.find_spec("nvidia.cudnn")
    except ModuleNotFoundError:  # there is no package "nvidia" at all
        return None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    libraries = (Path(folder) / "lib" / _LIBRARY for folder in folders[:1])  # as JAX: the first
    return next((library for library in libraries if library.exists()), None)


def _wheel_version(library: Path) -> str | None:
    """Return the version of the wheel that holds this file, without its build number."""
    for name in CUDNN_WHEELS:
        try:
            wheel = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if library.is_relative_to(str(wheel.locate_file(""))):
            return ".".join(wheel.version.split(".")[:3])
    return None


def _ask_in_child(library: str) -> str | None:
    """Load the library in another process: in this one it would stay, beside the one JAX takes."""
    command = [sys.executable, "-I", "-S", "-c", _ASK, library]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)  # noqa: S603 - this interpreter, our text
    except (OSError, subprocess.TimeoutExpired):
        return None
    return cudnn_version(int(answer.stdout)) if answer.returncode == 0 else None
