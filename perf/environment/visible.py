"""Which devices CUDA would show to this process, found without asking CUDA."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType

from perf.environment.nvml_session import NOT_FOUND, NoGpuError, ask


@dataclass(frozen=True, kw_only=True)
class Device:
    """One CUDA device: a whole GPU, or a MIG slice of one.

    Args:
        handle: NVML's handle of the device itself.
        board: NVML's handle of the physical GPU; clocks, temperature and power belong to it.
        uuid: ``GPU-…`` or ``MIG-…``.
        mig_profile: Such as ``3g.71gb``; None for a whole GPU.
    """

    handle: object
    board: object
    uuid: str
    mig_profile: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Board:
    whole: Device
    slices: tuple[Device, ...] | None

    @property
    def default(self) -> tuple[Device, ...]:
        """What CUDA makes of the board itself: in MIG mode its first slice, if there is one."""
        return (self.whole,) if self.slices is None else self.slices[:1]


def visible_devices(nvml: ModuleType) -> tuple[Device, ...]:
    """Return the devices left by CUDA_VISIBLE_DEVICES, in its order.

    A MIG slice hides every other device: CUDA enumerates one compute instance and no whole GPU.
    JAX_PLATFORMS without a GPU platform chooses the CPU, and then there is no GPU to describe.

    Raises:
        NoGpuError: Nothing is left; the text says whether there was anything at all.
        GpuLostError: A GPU disappeared while it was being read.
    """
    _refuse_other_platform(os.environ.get("JAX_PLATFORMS"))
    boards = tuple(_boards(nvml))
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    found = tuple(_default(boards) if wanted is None else _chosen(wanted.split(","), boards))
    if not found:
        raise NoGpuError(_why_nothing(boards, wanted))
    slices = tuple(device for device in found if device.mig_profile is not None)
    return slices[:1] or found


def _refuse_other_platform(platforms: str | None) -> None:
    if platforms and not {"cuda", "gpu"} & set(map(str.strip, platforms.split(","))):
        raise NoGpuError(f"JAX_PLATFORMS={platforms!r} leaves the GPU out")


def _why_nothing(boards: tuple[_Board, ...], wanted: str | None) -> str:
    if not boards:
        return "the NVIDIA driver is there, but it shows no GPU"
    if wanted is None:
        return "the GPU is in MIG mode and has no MIG instance"
    return f"CUDA_VISIBLE_DEVICES={wanted!r} selects none of the {len(boards)} GPU(s)"


def _default(boards: Iterable[_Board]) -> Iterator[Device]:
    for board in boards:
        yield from board.default


def _chosen(tokens: Iterable[str], boards: tuple[_Board, ...]) -> Iterator[Device]:
    """Follow CUDA's rule: devices in the order named, up to the first name that is not valid."""
    for token in map(str.strip, tokens):
        if token.isdecimal() and int(token) < len(boards):
            yield from boards[int(token)].default
        elif len(matches := _by_uuid(token, boards)) == 1:
            yield from matches
        else:
            return


def _by_uuid(prefix: str, boards: tuple[_Board, ...]) -> tuple[Device, ...]:
    """Match as CUDA does: the first characters are enough if they are unique."""
    if prefix.startswith("GPU-"):
        return tuple(d for b in boards if b.whole.uuid.startswith(prefix) for d in b.default)
    if prefix.startswith("MIG-"):
        return tuple(d for b in boards for d in b.slices or () if d.uuid.startswith(prefix))
    return ()


def _boards(nvml: ModuleType) -> Iterator[_Board]:
    for index in range(ask(nvml, "nvmlDeviceGetCount") or 0):
        handle = ask(nvml, "nvmlDeviceGetHandleByIndex", index)
        if handle is None:  # a GPU that this user or container may not open
            continue
        whole = Device(handle=handle, board=handle, uuid=ask(nvml, "nvmlDeviceGetUUID", handle))
        mode = ask(nvml, "nvmlDeviceGetMigMode", handle)  # current, pending
        in_mig_mode = mode is not None and bool(mode[0])
        yield _Board(whole=whole, slices=tuple(_slices(nvml, handle)) if in_mig_mode else None)


def _slices(nvml: ModuleType, board: object) -> Iterator[Device]:
    for slot in range(ask(nvml, "nvmlDeviceGetMaxMigDeviceCount", board) or 0):
        empty = frozenset({NOT_FOUND})  # here it says that the slot holds no slice
        handle = ask(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", board, slot, silent=empty)
        if handle is not None:
            uuid = ask(nvml, "nvmlDeviceGetUUID", handle)
            profile = _mig_profile(nvml, handle)
            yield Device(handle=handle, board=board, uuid=uuid, mig_profile=profile)


def _mig_profile(nvml: ModuleType, handle: object) -> str:
    """Read the profile from the slice's name, or build it as NVIDIA's naming rule says.

    Source: MIG User Guide, "MIG Device Names": ``1c.`` only where compute slices are fewer.
    """
    name = ask(nvml, "nvmlDeviceGetName", handle) or ""
    if match := re.search(r"(\d+c\.)?\d+g\.\d+gb\S*", name):
        return match[0]
    size = ask(nvml, "nvmlDeviceGetAttributes", handle)
    if size is None:
        return "unknown"
    profile = f"{size.gpuInstanceSliceCount}g.{round(size.memorySizeMB / 1024)}gb"
    partial = size.computeInstanceSliceCount < size.gpuInstanceSliceCount
    return f"{size.computeInstanceSliceCount}c.{profile}" if partial else profile
