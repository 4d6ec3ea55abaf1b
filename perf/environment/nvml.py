"""The GPUs of this process as the record names them.

NVML creates no CUDA context and changes nothing here, so that configuring and collecting leave
the GPU untouched for the workers that are started afterwards. Imports neither jax nor torch.
"""

import re
from types import ModuleType

from perf.environment.nvml_session import NoGpuError, ask, session
from perf.environment.visible import Device, visible_devices
from perf.records.schema import Gpu


def gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that CUDA would show to this process, its default first; none is no error.

    Raises:
        GpuLostError: A GPU disappeared while it was being read.
    """
    try:
        with session() as nvml:
            found = visible_devices(nvml)
            return tuple(_describe(nvml, device, count=len(found)) for device in found)
    except NoGpuError:
        return ()


def why_no_gpu() -> str | None:
    """Say why `gpus` is empty; None when it is not."""
    try:
        with session() as nvml:
            visible_devices(nvml)
    except NoGpuError as reason:
        return str(reason)
    return None


def slug(name: str, mig_profile: str | None = None) -> str:
    """Name a GPU model as a folder: ``NVIDIA H200``, ``3g.71gb`` → ``nvidia-h200-mig-3g-71gb``.

    Drivers before 465 leave the maker's name out, so it is added. ``-me`` and ``+me`` (without
    and with media engines) are two profiles and must not become one word.
    """
    words = name if name.upper().startswith("NVIDIA") else f"NVIDIA {name}"
    if mig_profile is not None:
        words += " MIG " + mig_profile.replace("-", " no ")
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _describe(nvml: ModuleType, device: Device, *, count: int) -> Gpu:
    name = ask(nvml, "nvmlDeviceGetName", device.board)
    memory = ask(nvml, "nvmlDeviceGetMemoryInfo", device.handle)
    ecc = ask(nvml, "nvmlDeviceGetEccMode", device.board)  # current, pending
    capability = ask(nvml, "nvmlDeviceGetCudaComputeCapability", device.board)
    return Gpu(
        name=name if device.mig_profile is None else f"{name} MIG {device.mig_profile}",
        slug=slug(name, device.mig_profile),
        uuid=device.uuid,
        count=count,
        memory_bytes=0 if memory is None else memory.total,  # 0: shares the system's memory
        mig=device.mig_profile is not None,
        ecc=None if ecc is None else bool(ecc[0]),
        compute_capability=".".join(map(str, capability)),
    )
