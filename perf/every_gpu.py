"""One process a GPU, each with a shard of the selection; the records are put together at the end."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from perf.environment import gpus
from perf.folders import ROOT
from perf.merge import merge
from perf.process_run import FAILED_KEYS, OK
from perf.records.schema import Gpu
from perf.records.store import Record, RecordError

FOLDER = Path(".perf") / "shards"


def measure_on_all(output: Path, arguments: Sequence[str]) -> Record:
    """Run ``pytest perf`` on every visible GPU at once.

    Args:
        arguments: Further options of ``pytest perf``.

    Raises:
        RecordError: No GPU, GPUs of different models, a process that was stopped, or shards that do not fit.
    """
    found = _alike(gpus())
    if output.exists():
        raise RecordError(f"{output}: exists already; records are never overwritten")
    folder = ROOT / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    started = [
        (number, _start(gpu, number, len(found), folder, arguments))
        for number, gpu in enumerate(found, start=1)
    ]
    ends = [(number, process.wait()) for number, process in started]
    stopped = [number for number, status in ends if status not in (OK, FAILED_KEYS)]
    if stopped:
        raise RecordError(
            f"the process of shard {stopped[0]} was stopped; it printed {_log(folder, stopped[0])}"
        )
    return merge([_record(folder, number) for number, _ in ends], output)


def _alike(found: Sequence[Gpu]) -> Sequence[Gpu]:
    if not found:
        raise RecordError("--gpus: no NVIDIA GPU here")
    models = sorted({gpu.slug for gpu in found})
    if len(models) > 1:
        raise RecordError(
            f"--gpus: {', '.join(models)} in one machine; a record is of one model: "
            "choose with CUDA_VISIBLE_DEVICES"
        )
    return found


def _start(
    gpu: Gpu, number: int, count: int, folder: Path, arguments: Sequence[str]
) -> subprocess.Popen[bytes]:
    record = _record(folder, number)
    record.unlink(missing_ok=True)  # an older run's shard would pass for this one's
    command = [sys.executable, "-m", "pytest", "perf", f"--shard={number}/{count}", "-p", "no:cacheprovider"]
    command += [f"--benchmark-json={record}", *arguments]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": gpu.uuid}
    with _log(folder, number).open("wb") as out:
        return subprocess.Popen(  # noqa: S603 - this interpreter
            command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT
        )


def _record(folder: Path, number: int) -> Path:
    return folder / f"{number}.json"


def _log(folder: Path, number: int) -> Path:
    return folder / f"{number}.log"
