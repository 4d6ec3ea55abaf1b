"""What the numbers are taken with: GPU, driver, CUDA, cuDNN, packages, flags.

Starts neither JAX nor CUDA.
"""

import os
import platform
import re
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from perf.environment.cudnn_wheel import CUDNN_WHEELS, cudnn_to_load
from perf.environment.libraries import cudnn_loaded, mapped
from perf.environment.nvml import gpus
from perf.environment.nvml_session import NoGpuError, ask, session
from perf.records.schema import Environment

PACKAGES = (
    "jax",
    "jaxlib",
    "jax-cuda12-plugin",
    "jax-cuda12-pjrt",
    "jax-cuda13-plugin",
    "jax-cuda13-pjrt",
    *CUDNN_WHEELS,
    "nvidia-cublas",
    "nvidia-cublas-cu12",
    "nvidia-cuda-nvcc",  # ptxas: it turns XLA's kernels into machine code
    "nvidia-cuda-nvcc-cu12",
    "cupti-python",
    "numpy",
    "transformer-engine",
    "transformer-engine-jax",
    "transformer-engine-torch",
    "transformer-engine-cu12",
    "transformer-engine-cu13",
    "nvidia-cudnn-frontend",
    "torch",
    "triton",
    "tokamax",
    "flax",
    "optax",
    "cuda-bindings",
    "pytest-benchmark",
)
"""Whose version can move a number, or the way it is taken."""

_FLAG = re.compile(
    r"(JAX|XLA_PYTHON_CLIENT|CUDNN|NVTE|TF_CUDNN)_.*"
    r"|XLA_FLAGS|NVIDIA_TF32_OVERRIDE|LD_LIBRARY_PATH"
    r"|CUDA_(VISIBLE_DEVICES|DEVICE_ORDER|LAUNCH_BLOCKING|MODULE_LOADING|DEVICE_MAX_CONNECTIONS)"
)
# Where something lies and which of equal GPUs is used: recorded, but not the stack's identity.
_PLACES = re.compile(r"LD_LIBRARY_PATH|CUDNN_(HOME|PATH)|CUDA_VISIBLE_DEVICES|JAX_COMPILATION_CACHE_DIR")


class Difference(NamedTuple):
    """One field in which two environments differ; None means that it is not there."""

    field: str
    a: str | None
    b: str | None


def environment(*, after_run: bool) -> Environment:
    """Describe what this process measures with.

    Args:
        after_run: Whether backends have run. Then the libraries that are mapped are read, and
            cuDNN is asked for its version: a path variable can put another one before the wheel.
    """
    found = gpus()
    gpu = found[0] if found else None
    libraries = mapped() if after_run else ()
    driver, cuda = _driver()
    loaded = cudnn_loaded(libraries)
    return Environment(
        slug=gpu.slug if gpu else cpu_slug(platform.machine()),
        gpu=gpu,
        driver=driver,
        cuda=cuda,
        cudnn=loaded[0] if loaded else cudnn_to_load(),
        packages=packages(),
        flags=flags(),
        python=platform.python_version(),
        os=_os(),
        machine=_machine(),
        libraries=list(libraries),
    )


def cpu_slug(machine: str) -> str:
    """Name a machine without a GPU as a folder: ``x86_64`` → ``cpu-x86-64``."""
    return "cpu-" + re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")


def packages() -> dict[str, str]:
    """Return the version of each installed package of `PACKAGES`."""
    return {name: version for name in PACKAGES if (version := _version(name)) is not None}


def flags() -> dict[str, str]:
    """Return the environment variables that are set and can move a number."""
    return {name: os.environ[name] for name in sorted(os.environ) if _FLAG.fullmatch(name)}


def machine_info(environment: Environment) -> dict[str, object]:
    """Return only what identifies the stack, for pytest-benchmark's field of that name.

    pytest-benchmark warns when two of them differ. So nothing here changes from run to run or
    between two machines of one model: no host name, no UUID, no count, no path. The processor
    counts only where it computes.
    """
    gpu = environment.gpu
    info: dict[str, object] = {
        "slug": environment.slug,
        "driver": environment.driver,
        "cuda": environment.cuda,
        "cudnn": environment.cudnn,
        "packages": environment.packages,
        "flags": portable(environment).flags,
        "python": environment.python,
        "os": environment.os,
    }
    if gpu is None:
        return info | {"machine": environment.machine}
    return info | {"gpu": gpu.name, "ecc": gpu.ecc, "compute_capability": gpu.compute_capability}


def portable(environment: Environment) -> Environment:
    """Return the same without this machine's folders: what a committed file may hold."""
    flags = {n: v for n, v in environment.flags.items() if not _PLACES.fullmatch(n)}
    return environment.model_copy(update={"flags": flags, "libraries": []})


def difference(a: Environment, b: Environment) -> list[Difference]:
    """List the fields in which two environments differ, dotted: ``packages.jax``, ``gpu.ecc``.

    Paths of libraries are left out: two virtual environments always differ there, and what
    counts, cuDNN's version, has its own field.
    """
    left, right = _flat(a), _flat(b)
    names = [*left, *(name for name in right if name not in left)]
    pairs = (Difference(name, left.get(name), right.get(name)) for name in names)
    return [pair for pair in pairs if pair.a != pair.b]


def stack_lines(a: Environment, b: Environment) -> list[str]:
    """List what differs between two stacks, a line each; folders and the GPU's serial are none of that."""
    changed = (pair for pair in difference(portable(a), portable(b)) if pair.field != "gpu.uuid")
    return [f"{pair.field}: {pair.a or 'none'} → {pair.b or 'none'}" for pair in changed]


def _flat(environment: Environment) -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in environment.model_dump(exclude={"libraries"}).items():
        parts = {f"{name}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {name: value}
        flat |= {key: str(part) for key, part in parts.items() if part is not None}
    return flat


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _driver() -> tuple[str | None, str | None]:
    """Return the driver's version and the newest CUDA it serves: ``580.65.06``, ``13.0``."""
    with suppress(NoGpuError), session() as nvml:
        number = ask(nvml, "nvmlSystemGetCudaDriverVersion")
        cuda = None if number is None else f"{number // 1000}.{number % 1000 // 10}"
        return ask(nvml, "nvmlSystemGetDriverVersion"), cuda
    return None, None


def _os() -> str:
    with suppress(OSError):
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    return platform.system()


def _machine() -> str:
    with suppress(OSError):
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if match:
            return f"{platform.machine()}, {match[1]}"
    return platform.machine()
