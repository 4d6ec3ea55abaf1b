"""Which CUDA libraries this process has mapped, and from where. Loads none of its own."""

import ctypes
import os
import re
from pathlib import Path

from perf.records.schema import Library

_CUDA_LIBRARY = re.compile(r"lib(cudnn|cublas|cudart|cupti|nvrtc|nccl|cuda\.so)[^/]*")
_CUDNN = re.compile(r"libcudnn\.so(\.\d+)*")
_MAPS_FIELDS = 6  # address, permissions, offset, device, inode, path (which may hold spaces)
_FIRST_CUDNN_9 = 90000


def mapped(maps: str | None = None) -> tuple[Library, ...]:
    """List the CUDA libraries in a ``/proc/PID/maps`` text, of this process by default, by path."""
    if maps is None:
        try:
            maps = Path("/proc/self/maps").read_text()
        except OSError:  # no such file outside Linux
            return ()
    fields = (line.split(maxsplit=_MAPS_FIELDS - 1) for line in maps.splitlines())
    # "(deleted)": the file was replaced by an installation while this process kept the old one.
    paths = {f[-1].removesuffix(" (deleted)") for f in fields if len(f) == _MAPS_FIELDS}
    return tuple(
        Library(name=Path(path).name, path=path)
        for path in sorted(paths)
        if _CUDA_LIBRARY.fullmatch(Path(path).name)
    )


def cudnn_loaded(libraries: tuple[Library, ...] | None = None) -> tuple[str, str] | None:
    """Ask the cuDNN that is mapped into this process for its version.

    The question creates no CUDA context; cuDNN 9 maps its own ``libcudnn_graph`` to answer it.

    Returns:
        Version such as ``9.19.0`` and the library's path; None when none is mapped. Of two, the
        first by path: `two_cudnns` is what reports that case.
    """
    for library in mapped() if libraries is None else libraries:
        if _CUDNN.fullmatch(library.name):
            # RTLD_NOLOAD: a handle to what is there, never a second copy.
            cudnn = ctypes.CDLL(library.path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            cudnn.cudnnGetVersion.restype = ctypes.c_size_t
            return cudnn_version(cudnn.cudnnGetVersion()), library.path
    return None


def cudnn_version(number: int) -> str:
    """Write cudnnGetVersion's number as people do: 91900 → ``9.19.0``, 8907 → ``8.9.7``."""
    major, rest = divmod(number, 10000 if number >= _FIRST_CUDNN_9 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def cudnn_folders(libraries: tuple[Library, ...]) -> tuple[str, ...]:
    """List the folders that cuDNN's libraries were mapped from; more than one is a mixture."""
    names = (library for library in libraries if library.name.startswith("libcudnn"))
    return tuple(sorted({str(Path(library.path).parent) for library in names}))


def two_cudnns(libraries: tuple[Library, ...]) -> str | None:
    """Warn when cuDNN libraries of different folders share this process; None otherwise."""
    folders = cudnn_folders(libraries)
    if len(folders) < 2:  # noqa: PLR2004 - the name says two
        return None
    return (
        f"{len(folders)} different cuDNNs are mapped into this process, and it is open which one "
        f"computes: {', '.join(folders)}. Let LD_LIBRARY_PATH and CUDNN_HOME name one of them."
    )
