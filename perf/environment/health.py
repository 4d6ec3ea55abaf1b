"""What would spoil or stop a measurement here, as sentences. Pure: everything is passed in."""

from collections.abc import Sequence
from dataclasses import dataclass

from perf.environment.cudnn_wheel import CUDNN_WHEELS
from perf.environment.gpu_reader import OtherProcess
from perf.environment.libraries import two_cudnns
from perf.records.schema import Environment, Gpu, GpuState

_OFF = {"0", "false", "False"}  # JAX's own reading of XLA_PYTHON_CLIENT_PREALLOCATE


@dataclass(frozen=True, kw_only=True)
class Checkup:
    """Everything that the doctor looks at.

    Args:
        environment: The stack, and the libraries mapped so far.
        gpus: All GPUs that this process may use.
        why_no_gpu: Why there are none; None when there are.
        state: Of the first GPU; None when there is none or it does not tell.
        others: Processes on it that are not ours.
    """

    environment: Environment
    gpus: tuple[Gpu, ...] = ()
    why_no_gpu: str | None = None
    state: GpuState | None = None
    others: tuple[OtherProcess, ...] = ()


def warnings(checkup: Checkup) -> list[str]:
    """List what is wrong, gravest first; empty when nothing is."""
    here = checkup.environment
    found = [two_cudnns(tuple(here.libraries)), _shadowed_wheel(here)]
    if here.gpu is not None:
        found += [
            _plugin(here),
            _throttled(checkup.state),
            *map(_other, checkup.others),
            _cupti(here),
            _preallocation(here),
            _order(checkup.gpus, here.flags),
        ]
    return [text for text in found if text is not None]


def cuda_major(here: Environment) -> str | None:
    """Return the major version of the CUDA that JAX's plug-in brings; without one, the driver's."""
    majors = (major for major in ("13", "12") if f"jax-cuda{major}-plugin" in here.packages)
    return next(majors, here.cuda.split(".")[0] if here.cuda else None)


def process_text(process: OtherProcess) -> str:
    """Name a process: ``4711 (python3)``."""
    unseen = "not visible from here; in a container it may be this process itself"
    return f"{process.pid} ({process.name or unseen})"


def _shadowed_wheel(here: Environment) -> str | None:
    wheels = {n: here.packages[n] for n in CUDNN_WHEELS if n in here.packages}
    if here.cudnn is None or not wheels:
        return None
    if any(f"{version}.".startswith(f"{here.cudnn}.") for version in wheels.values()):
        return None
    names = ", ".join(f"{name} {version}" for name, version in wheels.items())
    return f"cuDNN here is {here.cudnn}, not that of the installed wheel ({names})"


def _plugin(here: Environment) -> str | None:
    major = cuda_major(here)
    if not any(name.startswith("jax-cuda") for name in here.packages):
        return f"no CUDA plug-in for JAX, it would use the CPU: pip install 'jax[cuda{major}]'"
    if here.cuda and major and int(major) > int(here.cuda.split(".")[0]):
        return f"the driver serves CUDA up to {here.cuda}, JAX's plug-in is built for {major}"
    return None


def _throttled(state: GpuState | None) -> str | None:
    if state is None or not state.throttle:
        return None
    return f"the GPU's clock is held back now: {', '.join(state.throttle)}"


def _other(process: OtherProcess) -> str:
    return f"another process uses this GPU: {process_text(process)}"


def _cupti(here: Environment) -> str | None:
    major, found = cuda_major(here), here.packages.get("cupti-python")
    if major is None or (found and found.split(".")[0] == major):
        return None
    wanted = f"pip install 'cupti-python=={major}.*'"
    if found is None:
        return f"cupti-python is missing, without it there is no device clock: {wanted}"
    return f"cupti-python {found} does not fit CUDA {major}: {wanted}"


def _preallocation(here: Environment) -> str | None:
    switched_off = here.flags.get("XLA_PYTHON_CLIENT_PREALLOCATE") in _OFF
    if switched_off or here.flags.get("XLA_PYTHON_CLIENT_ALLOCATOR") == "platform":
        return None
    return (
        "JAX takes most of the GPU's memory at its start, which leaves little to other "
        "libraries: XLA_PYTHON_CLIENT_PREALLOCATE=false"
    )


def _order(gpus: Sequence[Gpu], flags: dict[str, str]) -> str | None:
    models = sorted({gpu.name for gpu in gpus})
    if not models[1:] or flags.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID":
        return None
    return (
        f"GPUs of several models ({', '.join(models)}): CUDA numbers them by speed, NVML by bus, "
        "and the wrong one may be named: CUDA_DEVICE_ORDER=PCI_BUS_ID"
    )
