"""From an exception of one key to a reason code and a text; out of memory is not slow, and says how much."""

import re

from perf.environment import GpuLostError
from perf.measure import WrongKernelError, WrongOutputError
from perf.timing.device import ClockError
from perf.timing.plan import SampleError

_CODES: tuple[tuple[type[BaseException], str], ...] = (
    (WrongOutputError, "wrong-output"),
    (WrongKernelError, "wrong-kernel"),
    (SampleError, "impossible-sample"),
    (ClockError, "clock"),
    (GpuLostError, "gpu-lost"),
)


def failure_code(error: BaseException) -> tuple[str, str]:
    """Reason code and one line of text for what stopped a key."""
    text = str(error) or type(error).__name__
    if "RESOURCE_EXHAUSTED" in text or isinstance(error, MemoryError):
        return "out-of-memory", _memory_text(text)
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "error")
    return code, f"{type(error).__name__}: {text.splitlines()[0]}" if code == "error" else text


def _memory_text(text: str) -> str:
    asked = re.search(r"allocat\w*\s+(?:request for\s+)?([\d.]+\s?\w*i?B(?:ytes)?|\d+ bytes)", text)
    amount = asked.group(1) if asked else "more memory than is free"
    return f"out of memory: asked for {amount}"
