"""Numbers as people read them: SI prefixes, decimal; stored values stay in base units."""

import re

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def seconds(value_s: float) -> str:
    """3 or 4 significant digits with the fitting unit: ``3.97 µs``."""
    scale, unit = next((u for u in _TIME_UNITS if value_s >= u[0]), (1e-6, "µs"))
    return f"{value_s / scale:.4g} {unit}"


def tera(flop_per_s: float) -> str:
    """TFLOP/s: below 10 with one decimal place."""
    value = flop_per_s / 1e12
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"  # noqa: PLR2004 - three digits


def percent(fraction: float, *, signed: bool = False) -> str:
    """``+3.7 %`` or ``12 %``."""
    return f"{100 * fraction:+.1f} %" if signed else f"{100 * fraction:.0f} %"


def kernel_name(name: str) -> str:
    """A kernel's name without what is the same for all: cuDNN's prefix, template arguments, mangling."""
    short = re.sub(r"^cudnn_generated_fort_native_", "", name)
    mangled = re.match(r"^_ZN5cudnn6fusion\d+([a-z0-9_]+?)(?:ILb|E)", short)
    short = mangled.group(1) if mangled else short
    return re.sub(r"(_cga\w*)?_kernel\d.*$", "", short)
