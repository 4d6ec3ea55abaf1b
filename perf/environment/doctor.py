"""``python -m perf doctor``: what is here, what can run, and what would spoil a number."""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from perf.environment.fingerprint import environment
from perf.environment.gpu_reader import GpuReader
from perf.environment.health import Checkup, process_text, warnings
from perf.environment.libraries import cudnn_loaded
from perf.environment.nvml import gpus, why_no_gpu
from perf.environment.nvml_session import GpuLostError
from perf.records.schema import Environment, Gpu, GpuState, Library

WIDTH = 80
Rows = Sequence[tuple[str, str]]


def doctor(*, backends: Rows, after_run: bool) -> tuple[str, list[str]]:
    """Examine this process and its GPU.

    Args:
        backends: Name of each backend with ``can run`` or the reason why it cannot.
        after_run: Whether JAX has been started, so that its libraries are mapped.

    Returns:
        The text, in ASCII and at most 80 columns but for paths, and the warnings that it ends with.
    """
    try:
        checkup = examine(after_run=after_run)
    except GpuLostError as lost:
        return _section("Warnings", [("1", str(lost))]), [str(lost)]
    found = warnings(checkup)
    return report(checkup, backends=backends, warnings=found), found


def examine(*, after_run: bool) -> Checkup:
    """Read everything that the report and the warnings need.

    Raises:
        GpuLostError: The GPU disappeared meanwhile.
    """
    here = environment(after_run=after_run)
    if here.gpu is None:
        return Checkup(environment=here, why_no_gpu=why_no_gpu())
    with GpuReader() as reader:
        return Checkup(
            environment=here,
            gpus=gpus(),
            state=reader.state(),
            others=reader.other_processes(),
        )


def report(checkup: Checkup, *, backends: Rows, warnings: Sequence[str]) -> str:
    """Write a check-up as text, the warnings last, where the eye is when it ends."""
    here = checkup.environment
    numbered = [(str(number), text) for number, text in enumerate(warnings, start=1)]
    sections = [
        _section("GPU", _gpu_rows(checkup)),
        _section("Stack", _stack_rows(here)),
        _section("Flags", list(here.flags.items()) or [("none", "is set")]),
        _libraries(here.libraries),
        _section("Backends", backends),
        _section("Warnings", numbered or [("none", "")]),
    ]
    return "\n".join(sections)


def _gpu_rows(checkup: Checkup) -> Rows:
    gpu = checkup.environment.gpu
    if gpu is None:
        return [("none", checkup.why_no_gpu or "")]
    others = ", ".join(map(process_text, checkup.others)) or "none"
    return [
        ("name", f"{gpu.name}, {gpu.count} visible"),
        ("baseline", checkup.environment.slug),
        ("memory", _memory(gpu)),
        ("capability", gpu.compute_capability),
        ("now", _now(checkup.state)),
        ("other users", others),
    ]


def _memory(gpu: Gpu) -> str:
    ecc = {True: "on", False: "off", None: "not there"}[gpu.ecc]
    return f"{gpu.memory_bytes / 1e9:.0f} GB, ECC {ecc}"


def _now(state: GpuState | None) -> str:
    if state is None:
        return "the GPU does not tell its clock, temperature and power"
    held = ", ".join(state.throttle) or "nothing"
    return f"SM {state.sm_hz / 1e6:.0f} MHz, {state.celsius:.0f} C, {state.watt:.0f} W, held back by {held}"


def _stack_rows(here: Environment) -> Rows:
    driver = f"{here.driver}, serves CUDA up to {here.cuda}" if here.driver else "none"
    return [
        ("driver", driver),
        ("cuDNN", _cudnn(here)),
        ("Python", f"{here.python}, {here.os}"),
        ("machine", here.machine),
        *here.packages.items(),
    ]


def _cudnn(here: Environment) -> str:
    if here.cudnn is None:
        return "none"
    loaded = cudnn_loaded(tuple(here.libraries))
    return f"{here.cudnn}, loaded from {loaded[1]}" if loaded else f"{here.cudnn}, not loaded yet"


def _libraries(libraries: Iterable[Library]) -> str:
    """Group by folder: two folders with a cuDNN each are what one looks for here."""
    lines = ["CUDA libraries in this process"]
    for folder, group in groupby(libraries, key=lambda library: str(Path(library.path).parent)):
        lines += [f"  {folder}", *_wrapped(" ".join(library.name for library in group), "    ")]
    return "\n".join([*lines, *(["  none is mapped"] if len(lines) == 1 else []), ""])


def _section(title: str, rows: Rows) -> str:
    width = max((len(name) for name, _ in rows), default=0)
    lines = [title]
    for name, value in rows:
        lines += _wrapped(value, f"  {name:<{width}}  ")
    return "\n".join([*lines, ""])


def _wrapped(text: str, indent: str) -> list[str]:
    """Wrap at spaces only: a path or a flag that is broken cannot be copied."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent.rstrip()]
