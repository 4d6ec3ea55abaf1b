"""A process a GPU: what is started where, and what is refused."""

import json
import os
import sys
from pathlib import Path

import pytest

from perf import every_gpu
from perf.records.schema import Gpu
from perf.records.store import RecordError, load

GOLDEN = Path(__file__).parents[1] / "data" / "record-schema-1.json"


def _gpu(number: int, slug: str = "nvidia-h200") -> Gpu:
    return Gpu(
        name=slug,
        slug=slug,
        uuid=f"GPU-{number}",
        count=2,
        memory_bytes=1,
        mig=False,
        ecc=True,
        compute_capability="9.0",
    )


STAND_IN = """
import json, os, sys
shard = next(a for a in sys.argv if a.startswith("--shard=")).split("=")[1]
out = next(a for a in sys.argv if a.startswith("--benchmark-json=")).split("=")[1]
number, count = map(int, shard.split("/"))
record = json.load(open({golden!r}))
record["benchmarks"] = [record["benchmarks"][number - 1]]
record["perf"]["selected"] = dict(tags=["gate"], backends=[], directions=[], case="*", keys=None,
                                  shard=dict(number=number, count=count))
json.dump(record, open(out, "w"))
print(os.environ["CUDA_VISIBLE_DEVICES"], sys.argv[-1])
sys.exit({status})
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two GPUs, in an empty folder."""
    monkeypatch.setattr(every_gpu, "ROOT", tmp_path)
    monkeypatch.setattr(every_gpu, "gpus", lambda: (_gpu(1), _gpu(2)))
    return tmp_path


def _stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, *, status: int) -> None:
    """An interpreter whose ``-m pytest`` writes a shard and ends with a status."""
    script = folder / "python"
    text = STAND_IN.format(golden=str(GOLDEN), status=status)
    script.write_text(f"#!{sys.executable}\n{text}")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))


def test_every_gpu_takes_a_shard(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process sees one GPU and gets the further options; the records become one."""
    _stand_in(machine, monkeypatch, status=0)
    record = every_gpu.measure_on_all(machine / "all.json", ["--seed=7"])
    assert list(record.keys) == list(load(GOLDEN).keys)
    logs = [(machine / ".perf" / "shards" / f"{n}.log").read_text() for n in (1, 2)]
    assert logs == ["GPU-1 --seed=7\n", "GPU-2 --seed=7\n"]


def test_a_stopped_process_is_no_shard(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log is named, and nothing is written."""
    _stand_in(machine, monkeypatch, status=2)
    with pytest.raises(RecordError, match=r"the process of shard 1 was stopped; it printed .*1\.log"):
        every_gpu.measure_on_all(machine / "all.json", [])
    assert not (machine / "all.json").exists()


def test_two_models_are_no_record(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of two models in one file would be compared with one baseline."""
    monkeypatch.setattr(every_gpu, "gpus", lambda: (_gpu(1), _gpu(2, "nvidia-l4")))
    with pytest.raises(RecordError, match="nvidia-h200, nvidia-l4 in one machine; a record is of one model"):
        every_gpu.measure_on_all(machine / "all.json", [])
    monkeypatch.setattr(every_gpu, "gpus", lambda: ())
    with pytest.raises(RecordError, match="no NVIDIA GPU here"):
        every_gpu.measure_on_all(machine / "all.json", [])


def test_a_record_is_never_overwritten(machine: Path) -> None:
    """Said before anything is measured."""
    (machine / "all.json").write_text(json.dumps(os.getpid()))
    with pytest.raises(RecordError, match="exists already"):
        every_gpu.measure_on_all(machine / "all.json", [])
