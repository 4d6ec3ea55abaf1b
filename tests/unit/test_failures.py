"""From an exception to a reason code and one text."""

import pytest

from perf.environment import GpuLostError
from perf.failures import failure_code
from perf.measure import WrongKernelError, WrongOutputError
from perf.timing.device import ClockError
from perf.timing.plan import SampleError

BFC = (
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 68719476736 bytes.: while running replica 0 "
    "and partition 0 of a replicated computation\nBufferAssignment OOM Debugging.\nmany lines"
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (WrongOutputError("a is wrong\nout: rms error"), "wrong-output"),
        (WrongKernelError("a: promised x, ran y"), "wrong-kernel"),
        (SampleError("round 3: expected a positive time"), "impossible-sample"),
        (ClockError("CUPTI dropped 3 records"), "clock"),
        (GpuLostError("NVML error 15"), "gpu-lost"),
    ],
)
def test_our_own_errors_keep_their_whole_text(error: Exception, code: str) -> None:
    """Their texts are made to be acted on alone, all lines of them."""
    assert failure_code(error) == (code, str(error))


def test_any_other_error_is_its_type_and_first_line() -> None:
    """A traceback of XLA is no text for a table; the record keeps one line."""
    found = failure_code(RuntimeError("INTERNAL: cuDNN says no\nStack trace:\n  0x1"))
    assert found == ("error", "RuntimeError: INTERNAL: cuDNN says no")


def test_an_error_without_text_is_its_type() -> None:
    """An empty assertion still has a name."""
    assert failure_code(KeyError()) == ("error", "KeyError: KeyError")


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (BFC, "68719476736 bytes"),
        ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 64.00GiB.", "64.00GiB"),
        ("RESOURCE_EXHAUSTED: Out of memory allocating 1073741824 bytes.", "1073741824 bytes"),
        ("RESOURCE_EXHAUSTED: Failed to allocate request for 16.00GiB (17179869184B) on device", "16.00GiB"),
        ("RESOURCE_EXHAUSTED: Too many things", "more memory than is free"),
    ],
)
def test_out_of_memory_says_how_much(text: str, asked: str) -> None:
    """Out of memory is its own reason, never a time of zero, with the bytes that were asked for."""
    assert failure_code(RuntimeError(text)) == ("out-of-memory", f"out of memory: asked for {asked}")


def test_out_of_memory_on_the_host() -> None:
    """NumPy's message is understood as well."""
    text = "Unable to allocate 8.00 GiB for an array with shape (1024, 1048576) and data type float64"
    assert failure_code(MemoryError(text)) == ("out-of-memory", "out of memory: asked for 8.00 GiB")
