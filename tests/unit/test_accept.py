"""Accepting a change, and what a review sees of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perf.accept import accept
from perf.records.store import Record, RecordError, load, numbered
from perf.report.baselines import faults, show

BASELINE = next((Path(__file__).parents[2] / "baselines" / "nvidia-h200").glob("0001_*.json"))
SLOWER = "jax_cudnn/forward/B4-T4096-S4096-N16-K16-H128-bf16-causal"
SAME = "jax_cudnn/backward/B4-T4096-S4096-N16-K16-H128-bf16-causal"

Change = Callable[[dict[str, Any]], None]
Write = Callable[..., Path]


def _cut() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(BASELINE.read_text(encoding="ascii"))
    content["benchmarks"] = [b for b in content["benchmarks"] if b["name"] in (SLOWER, SAME)]
    return content


def _slow(content: dict[str, Any]) -> None:
    """Every key 10 % slower, as one later run of the same stack."""
    content["perf"] |= {"kind": "run", "acceptance": None}
    for benchmark in content["benchmarks"]:
        for run in benchmark["extra_info"]["perf"]["processes"]:
            run["data_s"] = [1.1 * sample for sample in run["data_s"]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Baselines of one GPU: one file of two keys."""
    folder = tmp_path / "baselines" / "nvidia-h200"
    folder.mkdir(parents=True)
    (folder / BASELINE.name).write_text(json.dumps(_cut()), encoding="ascii")
    return folder.parent


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a record of two keys, each 10 % slower, after further changes."""

    def written(*changes: Change) -> Path:
        content = _cut()
        for change in (_slow, *changes):
            change(content)
        path = tmp_path / "record.json"
        path.write_text(json.dumps(content), encoding="ascii")
        return path

    return written


def _accept(root: Path, path: Path, *, only: str | None = None, reason: str = "cuDNN 9.20") -> Record:
    return load(accept(root, [path], reason=reason, only=only, first=False))


def test_the_next_number_holds_who_why_and_what(root: Path, write: Write) -> None:
    """The old file stays; the new one says whom it replaces, why, and from which time to which."""
    found = _accept(root, write())
    assert [path.name[:4] for path in numbered(root / "nvidia-h200")] == ["0001", "0002"]
    accepted = found.session.acceptance
    assert accepted is not None
    assert (accepted.reason, accepted.replaces) == ("cuDNN 9.20", BASELINE.name)
    assert {step.key: round(step.after_s / step.before_s, 3) for step in accepted.steps} == {
        SLOWER: 1.1,
        SAME: 1.1,
    }


def test_one_key_alone_leaves_the_others_as_they_are(root: Path, write: Write) -> None:
    """Samples of keys that the glob leaves out are those of the baseline in force."""
    before = load(root / "nvidia-h200" / BASELINE.name)
    found = _accept(root, write(), only="*forward*")
    assert found.keys[SAME] == before.keys[SAME]
    assert found.keys[SLOWER] != before.keys[SLOWER]
    assert found.session.acceptance is not None
    assert [step.key for step in found.session.acceptance.steps] == [SLOWER]


def _fail(content: dict[str, Any]) -> None:
    content["perf"]["outcomes"][0] |= {"key": SLOWER, "outcome": "failed", "code": "error", "text": "wrong"}


def _one_run(content: dict[str, Any]) -> None:
    for benchmark in content["benchmarks"]:
        del benchmark["extra_info"]["perf"]["processes"][1:]


def _partial(content: dict[str, Any]) -> None:
    content["perf"]["partial"] = "stopped by KeyboardInterrupt"


def _hot(content: dict[str, Any]) -> None:
    content["benchmarks"][0]["extra_info"]["perf"]["processes"][2]["gpu"]["throttle"] = [
        "hw-thermal-slowdown"
    ]


def _other_gpu(content: dict[str, Any]) -> None:
    content["perf"]["environment"]["slug"] = "nvidia-h100"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_fail, r"1 failed keys, first jax_cudnn/forward/.*: wrong"),
        (_one_run, r"expected at least 5 process runs, found 1"),
        (_partial, r"partial record is not accepted: .*KeyboardInterrupt"),
        (_hot, r"held back \(hw-thermal-slowdown\)"),
        (_other_gpu, r"is of nvidia-h100, which has no baseline \(there are: nvidia-h200\)"),
    ],
)
def test_an_unfit_record_is_refused(root: Path, write: Write, change: Change, said: str) -> None:
    """Failures, too few process runs, a partial run, heat, another GPU: each is named, nothing written."""
    with pytest.raises(RecordError, match=said):
        _accept(root, write(change))
    assert len(numbered(root / "nvidia-h200")) == 1


def test_a_reason_is_needed(root: Path, write: Write) -> None:
    """An empty reason is refused."""
    with pytest.raises(RecordError, match="--reason"):
        _accept(root, write(), reason=" ")


def test_a_glob_that_matches_nothing_is_refused(root: Path, write: Write) -> None:
    """A misspelt key does not make a new baseline of nothing."""
    with pytest.raises(RecordError, match="matches none of the 2 keys"):
        _accept(root, write(), only="*FP8*")


def test_a_review_reads_the_approval(root: Path, write: Write) -> None:
    """The printed baseline gives the reason and the change of each key."""
    shown = show(_accept(root, write()))
    assert "cuDNN 9.20" in shown
    assert f"{SLOWER}: 478.2 µs → 526 µs (+10.0 %)" in shown


def test_accepted_baselines_are_without_fault(root: Path, write: Write) -> None:
    """What accepting writes passes the check of a review."""
    _accept(root, write(), only="*forward*")
    assert list(faults(root / "nvidia-h200")) == []


def _rewrite(root: Path, change: Change) -> Path:
    path = root / "nvidia-h200" / BASELINE.name
    content = _cut()
    change(content)
    path.write_text(json.dumps(content), encoding="ascii")
    return path.parent


def _edit(content: dict[str, Any]) -> None:
    content["benchmarks"][0]["stats"]["median"] *= 1.05


def _home(content: dict[str, Any]) -> None:
    content["perf"]["environment"]["flags"]["CUDNN_HOME"] = "/home/someone/cudnn/"


def _a_run(content: dict[str, Any]) -> None:
    content["perf"]["kind"] = "run"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_edit, "stats.median: expected"),
        (_home, "holds a path"),
        (_a_run, "not an accepted baseline"),
        (_one_run, "2 keys with fewer than 5 process runs"),
        (_other_gpu, "in the folder of nvidia-h200"),
    ],
)
def test_a_review_finds_the_fault(root: Path, change: Change, said: str) -> None:
    """An edited number, a path of somebody's machine, a saved run, too few runs, another GPU's file."""
    assert any(said in fault for fault in faults(_rewrite(root, change)))


def test_a_gap_in_the_numbers_is_a_fault(root: Path) -> None:
    """A deleted baseline is missing from the history."""
    folder = root / "nvidia-h200"
    (folder / BASELINE.name).rename(folder / BASELINE.name.replace("0001", "0003"))
    assert any("expected the numbers 1 to 1, found [3]" in fault for fault in faults(folder))
