"""Reading recordings: strict about what is needed, with file, line and field in every error."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from perf.calibrate.recorded import RecordedError, load_file, load_folder

DATA = Path(__file__).parents[2] / "data" / "h200-noise"


def spoil(tmp_path: Path, change: Any) -> Path:
    """A copy of a recording whose first line was changed."""
    lines = gzip.decompress((DATA / "machine2-cudnn919.jsonl.gz").read_bytes()).decode().splitlines()
    first = json.loads(lines[0])
    change(first)
    path = tmp_path / "spoiled-x.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join([json.dumps(first), *lines[1:]]).encode()))
    return path


def test_names_and_units() -> None:
    """File names give machine and stack; nanoseconds become seconds."""
    first, _, last = load_folder(DATA)
    assert (first.machine, first.stack, len(first.processes)) == ("machine1", "cudnn914", 5)
    assert (last.machine, len(last.processes)) == ("machine2", 3)
    record = first.processes[0]["jax_cudnn/forward/B4-T64-S64-N8-K8-H64-bf16-none"]
    assert 4e-6 < record.processes[0].data_s[0] < 8e-6


def test_notes_of_a_recorder_are_passed_over(tmp_path: Path) -> None:
    """Fields that are not needed may stand beside the others."""
    path = spoil(tmp_path, lambda process: process.update(uuid="GPU-1"))
    assert len(load_file(path).processes) == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p["rows"][0]["dev_ns"].__setitem__(0, 0), r"line 1: rows\.0\.dev_ns\.0"),
        (lambda p: p["rows"][0].pop("thr"), r"rows\.0\.thr"),
        (lambda p: p["rows"].append(p["rows"][0]), "occurs twice"),
        (lambda p: p["rows"][0].update(case="who knows"), "who knows"),
        (lambda p: p.update(rows=[]), "rows"),
    ],
)
def test_spoiled_lines_are_named(tmp_path: Path, change: Any, words: str) -> None:
    """Zero times, missing fields, doubled and unknown cases are errors."""
    with pytest.raises(RecordedError, match=words):
        load_file(spoil(tmp_path, change))


def test_broken_files(tmp_path: Path) -> None:
    """No file, an empty one, and one that is no gzip file are errors."""
    with pytest.raises(RecordedError, match="found none"):
        load_folder(tmp_path)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(RecordedError, match="found none"):
        load_file(path)
    path.write_bytes(b"no gzip")
    with pytest.raises(RecordedError, match="cannot be read"):
        load_file(path)
