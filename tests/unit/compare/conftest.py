"""Made-up keys with a known answer, record files of them, and the real process runs of ``tests/data``."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perf.calibrate.recorded import Recording, load_folder
from perf.compare import Comparison, Thresholds, compare, load_thresholds
from perf.records.schema import (
    Environment,
    Error,
    Gpu,
    GpuState,
    Kernel,
    KeyRecord,
    Method,
    Metric,
    Outcome,
    ProcessRun,
    Session,
)

ROOT = Path(__file__).parents[3]
FUSED = ("sdpa_flash_fprop",)


@dataclass(frozen=True)
class Maker:
    """Makes keys whose process runs and samples scatter by known amounts around a known time."""

    seed: int = 0

    def run(
        self,
        middle_s: float,
        *,
        at: float = 0.0,
        samples: int = 30,
        scatter: float = 0.002,
        **changed: Any,
    ) -> ProcessRun:
        """One process run around a median; ``changed`` replaces fields."""
        rng = np.random.default_rng([self.seed, int(at)])
        around = rng.normal(0, scatter, samples)
        around -= np.median(around)
        data_s = [float(value) for value in middle_s * np.exp(around)]
        fields: dict[str, Any] = {
            "data_s": data_s,
            "wall_s": [value + 3e-5 for value in data_s],
            "kernels": [Kernel(name=name, s=middle_s) for name in FUSED],
            "custom_calls": [],
            "temp_bytes": 0,
            "compile_s": 1.0,
            "errors": [],
            "gpu": GpuState(sm_hz=1.98e9, celsius=45.0, watt=300.0, throttle=[]),
            "at_unix_s": 1e9 + at,
        }
        return ProcessRun(**(fields | changed))

    def key(
        self,
        name: str = "jax_cudnn/forward/a",
        *,
        middle_s: float = 1e-4,
        factors: Sequence[float] = (1.0, 1.001, 0.999, 1.0005, 0.9995),
        record: dict[str, Any] | None = None,
        **changed: Any,
    ) -> KeyRecord:
        """One key; a factor for every process run."""
        start = changed.pop("at", 0.0)
        runs = [
            self.run(middle_s * factor, at=start + number, **changed) for number, factor in enumerate(factors)
        ]
        fields: dict[str, Any] = {
            "key": name,
            "backend": name.partition("/")[0],
            "direction": "forward",
            "case": {"q_len": 128},
            "clock": "device",
            "metric": Metric(name="kernel time", unit="s", better="lower"),
            "method": Method(version=1, l2="hot", pacing="none", inputs="normal"),
            "flop": 1.0,
            "bytes": 1.0,
            "processes": runs,
        }
        return KeyRecord(**(fields | (record or {})))

    def keys(
        self, count: int = 20, *, factor: float = 1.0, runs: int = 5, at: float = 0.0
    ) -> list[KeyRecord]:
        """Several keys of one backend; process runs scatter by 0.15 %."""
        rng = np.random.default_rng([self.seed, int(at)])
        return [
            self.key(
                f"jax_cudnn/forward/{number:05}",
                middle_s=factor * 1e-5 * (number % 40 + 5),
                factors=np.exp(rng.normal(0, 0.0015, runs)).tolist(),
                at=at,
            )
            for number in range(count)
        ]


@pytest.fixture
def make() -> Maker:
    """The maker of keys."""
    return Maker()


@pytest.fixture(scope="session")
def thresholds() -> Thresholds:
    """The thresholds in force."""
    return load_thresholds(ROOT / "baselines" / "thresholds.toml")


@pytest.fixture(scope="session")
def recordings() -> dict[str, Recording]:
    """Real process runs by name."""
    return {recording.name: recording for recording in load_folder(ROOT / "tests" / "data" / "h200-noise")}


Judge = Callable[..., Comparison]


@pytest.fixture(scope="session")
def judge(thresholds: Thresholds) -> Judge:
    """`compare` on one machine; options replace its defaults."""

    def compared(base: Sequence[KeyRecord], head: Sequence[KeyRecord], **changed: Any) -> Comparison:
        options: dict[str, Any] = {"thresholds": thresholds, "base_machine": "GPU-1", "head_machine": "GPU-1"}
        return compare(base, head, **(options | changed))

    return compared


def environment(**gpu: Any) -> Environment:
    """An H200's; ``gpu`` replaces fields of the GPU, or of the environment where it has them."""
    fields: dict[str, Any] = {
        "name": "NVIDIA H200",
        "slug": "nvidia-h200",
        "uuid": "GPU-1",
        "count": 1,
        "memory_bytes": 10**11,
        "mig": False,
        "ecc": True,
        "compute_capability": "9.0",
    }
    around = {name: gpu.pop(name) for name in ("cudnn", "machine") if name in gpu}
    device = Gpu(**(fields | gpu))
    return Environment(
        slug=device.slug,
        gpu=device,
        driver="580.65.06",
        cuda="13.0",
        packages={"jax": "0.11.2"},
        flags={},
        python="3.11.2",
        os="Debian",
        libraries=[],
        **({"cudnn": "9.19.0", "machine": "x86_64"} | around),
    )


def error(rms: float) -> Error:
    """An error of the output with a limit of 0.01."""
    return Error(quantity="out", rms=rms, rms_limit=0.01, max=rms, max_limit=0.1)


Writer = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Write a record file: ``write(name, keys, kind=…, partial=…, failed=[…], **environment)``."""

    def written(name: str, keys: Sequence[KeyRecord], **changed: Any) -> Path:
        outcomes = [Outcome(key=k.key, outcome="measured", code="", text="") for k in keys]
        outcomes += [
            Outcome(key=key, outcome="failed", code="check", text="wrong")
            for key in changed.pop("failed", [])
        ]
        session = Session(
            schema_=1,
            kind=changed.pop("kind", "run"),
            partial=changed.pop("partial", None),
            environment=environment(**changed),
            outcomes=outcomes,
        )
        content = {
            "machine_info": {},
            "benchmarks": [_benchmark(key) for key in keys],
            "perf": session.model_dump(mode="json", by_alias=True),
        }
        path = tmp_path / name
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return written


def _benchmark(key: KeyRecord) -> dict[str, Any]:
    data = sorted(sample for run in key.processes for sample in run.data_s)
    stats = {"min": data[0], "max": data[-1], "mean": float(np.mean(data)), "median": float(np.median(data))}
    return {
        "name": key.key,
        "stats": {**stats, "data": data},
        "extra_info": {"perf": key.model_dump(mode="json")},
    }
