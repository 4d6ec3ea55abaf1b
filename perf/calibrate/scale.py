"""How long a comparison takes and how much memory, on made-up records of any size."""

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perf.compare import Thresholds, compare
from perf.records.schema import GpuState, Kernel, KeyRecord, Method, Metric, ProcessRun

RUNS, SAMPLES = 10, 30
_GPU = GpuState(sm_hz=1.98e9, celsius=45.0, watt=300.0, throttle=[])
_KERNELS = [Kernel(name="sdpa_flash_fprop", s=1e-4)]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One size: seconds of the comparison alone, and the largest memory before and after it."""

    keys: int
    seconds: float
    records_bytes: int
    peak_bytes: int


def made_up(keys: int, *, seed: int) -> list[KeyRecord]:
    """Records of keys that scatter by 0.3 % between process runs and 0.5 % within."""
    rng = np.random.default_rng(seed)
    middles_s = np.random.default_rng(0).uniform(5e-6, 5e-3, keys)
    return [_record(number, middle_s, rng) for number, middle_s in enumerate(middles_s)]


def _record(number: int, middle_s: float, rng: np.random.Generator) -> KeyRecord:
    scatter = rng.normal(0, 0.003, (RUNS, 1)) + rng.normal(0, 0.005, (RUNS, SAMPLES))
    samples = (middle_s * np.exp(scatter)).tolist()
    return KeyRecord(
        key=f"jax_cudnn/forward/{number}",
        backend="jax_cudnn",
        direction="forward",
        case={"number": number},
        clock="device",
        metric=Metric(name="kernel time", unit="s", better="lower"),
        method=Method(version=1, l2="hot", pacing="none", inputs="made up"),
        flop=0.0,
        bytes=0.0,
        processes=[_run(data_s) for data_s in samples],
    )


def _run(data_s: list[float]) -> ProcessRun:
    return ProcessRun(
        data_s=data_s,
        wall_s=data_s,
        kernels=_KERNELS,
        custom_calls=[],
        temp_bytes=0,
        compile_s=1.0,
        errors=[],
        gpu=_GPU,
        at_unix_s=0.0,
    )


def timings(sizes: tuple[int, ...], thresholds: Thresholds) -> Iterator[Timing]:
    """Time a comparison of every size; sizes should grow, since memory is the largest so far."""
    for keys in sizes:
        base, head = made_up(keys, seed=1), made_up(keys, seed=2)
        records_bytes = _peak_bytes()
        start_s = time.perf_counter()
        compare(base, head, thresholds=thresholds, base_machine="a", head_machine="a")
        seconds = time.perf_counter() - start_s
        yield Timing(keys=keys, seconds=seconds, records_bytes=records_bytes, peak_bytes=_peak_bytes())


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
