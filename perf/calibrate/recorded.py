"""Reading recorded timings: one gzip JSON line a process, every case timed in it. Strict.

The format is older than the suite's records and holds kernel names without durations.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError

from perf.records.schema import (
    Count,
    Direction,
    GpuState,
    Kernel,
    KeyRecord,
    Method,
    Metric,
    Model,
    NonNegative,
    ProcessRun,
)


class RecordedError(ValueError):
    """Recorded data that cannot be used; the text names file, line, field and what was found."""


class _Noted(Model):
    """What is needed is read strictly; recorders add notes of their own beside it, which are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class Row(_Noted):
    """One case in one process."""

    case: str
    dev_ns: Annotated[list[Annotated[int, Field(gt=0)]], Field(min_length=1)]
    wall_us: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)]
    kernels: list[str]
    rem: Count
    compile_s: NonNegative
    temp: Count
    sm: Count
    temp_c: float
    pw: NonNegative
    thr: Count


class Process(_Noted):
    """One process: everything that it timed."""

    label: str
    t: NonNegative
    jax: str
    cudnn: Count
    dev: str
    pid: Count
    elapsed: NonNegative
    rows: Annotated[list[Row], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One file: its name says the machine, ``machine1-cudnn919``; all processes are of one stack."""

    name: str
    processes: tuple[dict[str, KeyRecord], ...]

    @property
    def machine(self) -> str:
        """The part of the name before the first dash."""
        return self.name.partition("-")[0]

    @property
    def stack(self) -> str:
        """The part after it."""
        return self.name.partition("-")[2]


def load_folder(folder: Path) -> tuple[Recording, ...]:
    """Read every recording of a folder, by name.

    Raises:
        RecordedError: No file, or one that is not as described.
    """
    paths = sorted(folder.glob("*.jsonl.gz"))
    if not paths:
        raise RecordedError(f"{folder}: expected *.jsonl.gz files, found none")
    return tuple(load_file(path) for path in paths)


def load_file(path: Path) -> Recording:
    """Read one recording.

    Raises:
        RecordedError: Unreadable, broken, or with another field, type or range than described.
    """
    processes = tuple(_records(process, place) for place, process in _lines(path))
    if not processes:
        raise RecordedError(f"{path}: expected a line for every process, found none")
    return Recording(name=path.name.removesuffix(".jsonl.gz"), processes=processes)


def _lines(path: Path) -> Iterator[tuple[str, Process]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                place = f"{path}: line {number}"
                yield place, _process(line, place)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise RecordedError(f"{path}: cannot be read: {error}") from error


def _process(line: str, place: str) -> Process:
    try:
        return Process.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        raise RecordedError(f"{place}: expected JSON: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise RecordedError(f"{place}: {field}: {first['msg']}, found {str(first['input'])[:80]}") from error


def _records(process: Process, place: str) -> dict[str, KeyRecord]:
    found: dict[str, KeyRecord] = {}
    for row in process.rows:
        record = _record(row, process.t, place)
        if record.key in found:
            raise RecordedError(f"{place}: rows: case {row.case!r} occurs twice")
        found[record.key] = record
    return found


_CASE = re.compile(
    r"(?P<backend>\w+)-(?P<direction>f|fb)-(?P<mask>full|causal)"
    r"-B(?P<batch>\d+)-T(?P<q_len>\d+)-N(?P<q_heads>\d+)-K(?P<kv_heads>\d+)-H(?P<head_dim>\d+)-(?P<dtype>\w+)"
)
_BACKENDS = {
    "cudnn": "jax_cudnn",
    "cudnn_fp8": "jax_cudnn_fp8",
    "xla": "jax_xla",
    "naive": "naive",
}
_DIRECTIONS: dict[str, Direction] = {"f": "forward", "fb": "training_step"}
_DTYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float8_e4m3fn": "e4m3"}
_MASKS = {"full": "none", "causal": "causal"}
_METHOD = Method(version=0, l2="hot", pacing="none", inputs="recorded")
_METRIC = Metric(name="kernel time", unit="s", better="lower")


def _record(row: Row, at_unix_s: float, place: str) -> KeyRecord:
    match = _CASE.fullmatch(row.case)
    if match is None or match["backend"] not in _BACKENDS or match["dtype"] not in _DTYPES:
        raise RecordedError(
            f"{place}: case: expected backend-f|fb-full|causal-B-T-N-K-H-dtype, found {row.case!r}"
        )
    fields: dict[str, Any] = match.groupdict()
    backend, direction = _BACKENDS[fields.pop("backend")], _DIRECTIONS[fields.pop("direction")]
    mask, dtype = _MASKS[fields.pop("mask")], _DTYPES[fields.pop("dtype")]
    b, t, n, k, h = fields.values()
    return KeyRecord(
        key=f"{backend}/{direction}/B{b}-T{t}-S{t}-N{n}-K{k}-H{h}-{dtype}-{mask}",
        backend=backend,
        direction=direction,
        case={"mask": mask, "dtype": dtype, **{name: int(value) for name, value in fields.items()}},
        clock="device",
        metric=_METRIC,
        method=_METHOD,
        flop=0.0,
        bytes=0.0,
        processes=[_process_run(row, at_unix_s)],
    )


_POWER_CAP = 4
"""NVML's bit for the software power cap."""


def _process_run(row: Row, at_unix_s: float) -> ProcessRun:
    return ProcessRun(
        data_s=[ns * 1e-9 for ns in row.dev_ns],
        wall_s=[us * 1e-6 for us in row.wall_us],
        kernels=[Kernel(name=name, s=0.0) for name in row.kernels],
        custom_calls=[],
        temp_bytes=row.temp,
        compile_s=row.compile_s,
        errors=[],
        gpu=GpuState(
            sm_hz=row.sm * 1e6,
            celsius=row.temp_c,
            watt=row.pw,
            throttle=["power-cap"] if row.thr & _POWER_CAP else [],
        ),
        at_unix_s=at_unix_s,
    )


def pooled(processes: tuple[dict[str, KeyRecord], ...]) -> list[KeyRecord]:
    """Put the process runs of several processes together, key by key."""
    first = processes[0]
    return [
        record.model_copy(
            update={"processes": [run for process in processes for run in process[key].processes]}
        )
        for key, record in first.items()
    ]
