"""Records: read strictly, written whole or not at all, and the baseline in force."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perf.records.store import RecordError, in_force, load, next_number, write_new

GOLDEN = Path(__file__).parents[2] / "data" / "record-schema-1.json"
KEY = "jax_cudnn/forward/B4-T128-S128-N8-K8-H64-bf16-none"
Content = dict[str, Any]


def _golden() -> Content:
    content: Content = json.loads(GOLDEN.read_text(encoding="ascii"))
    return content


def _write(folder: Path, content: Content, name: str = "0001_made.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content), encoding="ascii")
    return path


def _key(content: Content) -> Content:
    fields: Content = content["benchmarks"][0]["extra_info"]["perf"]
    return fields


def test_the_golden_record_loads() -> None:
    """A file of this schema version can be read for ever."""
    record = load(GOLDEN)
    assert record.session.environment.cudnn == "9.19.0"
    assert [len(key.processes) for key in record.keys.values()] == [2, 2]
    assert record.keys[KEY].processes[0].kernels[-1].name.startswith("cudnn_generated_fort_native_sdpa")


def _set(place: str, value: object) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        *parents, last = place.split(".")
        target: Any = content
        for name in parents:
            target = target[int(name) if name.isdigit() else name]
        target[int(last) if last.isdigit() else last] = value

    return change


def _drop(content: Content) -> None:
    del _key(content)["clock"]


def _twice(content: Content) -> None:
    content["benchmarks"].append(content["benchmarks"][0])


def _foreign(content: Content) -> None:
    del content["perf"]


RUN = "benchmarks.0.extra_info.perf.processes.0"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_set("perf.schema", 2), "schema: Input should be 1, found 2"),
        (_set("perf.colour", "blue"), "colour: Extra inputs are not permitted"),
        (
            _set(f"{RUN}.data_s.0", float("nan")),
            r"benchmarks\[0\].*data_s\.0: Input should be a finite number",
        ),
        (_set(f"{RUN}.data_s.0", 0.0), r"data_s\.0: Input should be greater than 0, found 0\.0"),
        (_set(f"{RUN}.data_s.0", -1e-6), r"data_s\.0: Input should be greater than 0"),
        (_set(f"{RUN}.data_s.0", "fast"), r"data_s\.0: Input should be a valid number, found fast"),
        (_set(f"{RUN}.data_s", []), "data_s: List should have at least 1 item"),
        (_set("benchmarks.0.stats.median", 0), r"stats\.median: expected a positive time, found 0"),
        (_drop, "clock: Field required"),
        (_twice, f"key '{KEY}' occurs twice"),
        (_foreign, "perf: missing; expected a record made by this suite"),
    ],
)
def test_a_file_that_is_not_as_described(
    tmp_path: Path, change: Callable[[Content], None], said: str
) -> None:
    """The error names the file and the field, what was expected and what was found."""
    content = _golden()
    change(content)
    path = _write(tmp_path, content)
    with pytest.raises(RecordError, match=said) as caught:
        load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"benchmarks": ['])
def test_a_broken_file(tmp_path: Path, text: str) -> None:
    """Empty, truncated, or no object: an error that names the file."""
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="ascii")
    with pytest.raises(RecordError, match=r"broken\.json: expected"):
        load(path)


def test_a_missing_file(tmp_path: Path) -> None:
    """The operating system's reason is told."""
    with pytest.raises(RecordError, match="cannot be read: No such file"):
        load(tmp_path / "none.json")


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    """The name is taken: an error, and the old content stays."""
    path = tmp_path / "0001_a.json"
    write_new(path, {"a": 1})
    with pytest.raises(RecordError, match="never overwritten"):
        write_new(path, {"a": 2})
    assert json.loads(path.read_text(encoding="ascii")) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["0001_a.json"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_a_value_that_json_cannot_take_leaves_nothing(tmp_path: Path, value: object) -> None:
    """Values are checked before a file exists: no empty file counts as the newest."""
    with pytest.raises(RecordError, match="not written"):
        write_new(tmp_path / "new" / "0001_a.json", {"a": value})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """The error names the folder."""
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(RecordError, match="file: cannot be written"):
        write_new(tmp_path / "file" / "0001_a.json", {"a": 1})


def test_samples_are_one_line(tmp_path: Path) -> None:
    """A list of numbers takes one line, so that two baselines can be compared by eye; text is untouched."""
    path = tmp_path / "0001_a.json"
    content = {"data": [1e-06, 2.5e-06], "text": "[ 1,  2 ]", "names": ["a", "b"]}
    write_new(path, content)
    assert '"data": [ 1e-06, 2.5e-06 ]' in path.read_text(encoding="ascii")
    assert json.loads(path.read_text(encoding="ascii")) == content


def test_the_highest_baseline_is_in_force(tmp_path: Path) -> None:
    """Saved runs between the baselines are passed over; numbers go on after all of them."""
    run = _golden()
    run["perf"]["kind"] = "run"
    _write(tmp_path, _golden(), "0001_a.json")
    _write(tmp_path, _golden(), "0002_b.json")
    _write(tmp_path, run, "0010_saved.json")
    _write(tmp_path, _golden(), "notes.json")
    found = in_force(tmp_path)
    assert found is not None
    assert found.path.name == "0002_b.json"
    assert next_number(tmp_path) == 11


def test_a_broken_newest_file_is_no_reason_to_take_an_older_one(tmp_path: Path) -> None:
    """It is an error."""
    _write(tmp_path, _golden(), "0001_a.json")
    (tmp_path / "0002_b.json").write_text("", encoding="ascii")
    with pytest.raises(RecordError, match=r"0002_b\.json"):
        in_force(tmp_path)


def test_no_folder_is_no_baseline(tmp_path: Path) -> None:
    """A machine without a folder has nothing in force and begins with 1."""
    assert in_force(tmp_path / "none") is None
    assert next_number(tmp_path / "none") == 1
