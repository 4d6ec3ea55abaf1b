"""On what the numbers are taken: the GPU, the libraries in the process, the installed stack.

Imports neither jax nor torch, and creates no CUDA context: it may be asked before the first test.
"""

from perf.environment.fingerprint import (
    Difference,
    difference,
    environment,
    machine_info,
    portable,
    stack_lines,
)
from perf.environment.gpu_reader import GpuReader, OtherProcess
from perf.environment.nvml import gpus, slug, why_no_gpu
from perf.environment.nvml_session import GpuLostError, NoGpuError

__all__ = [
    "Difference",
    "GpuLostError",
    "GpuReader",
    "NoGpuError",
    "OtherProcess",
    "difference",
    "environment",
    "gpus",
    "machine_info",
    "portable",
    "slug",
    "stack_lines",
    "why_no_gpu",
]
