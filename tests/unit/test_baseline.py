"""Pooling process runs, and what is never pooled."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest

from perf import baseline
from perf.baseline import FEWEST_RUNS, approver, measure_runs, pooled, write_baseline
from perf.commands.baseline import record_baseline
from perf.records.store import Record, RecordError, in_force, load

GOLDEN = Path(__file__).parents[1] / "data" / "record-schema-1.json"
Content = dict[str, Any]
Change = Callable[[Content], None]


def _keys(content: Content) -> Iterator[Content]:
    return (benchmark["extra_info"]["perf"] for benchmark in content["benchmarks"])


def _run(number: int, *changes: Change) -> Content:
    """One process run of two keys; every run is 10 % slower than the one before."""
    content: Content = json.loads(GOLDEN.read_text(encoding="ascii"))
    content["perf"] |= {"kind": "run", "acceptance": None}
    for key in _keys(content):
        (first, *_) = key["processes"]
        first["data_s"] = [1.1**number * sample for sample in first["data_s"]]
        key["processes"] = [first]
    for change in changes:
        change(content)
    return content


def _write(path: Path, content: Content) -> Record:
    path.write_text(json.dumps(content), encoding="ascii")
    return load(path)


@pytest.fixture
def runs(tmp_path: Path) -> list[Record]:
    """Five process runs."""
    return [_write(tmp_path / f"run-{n}.json", _run(n)) for n in range(1, FEWEST_RUNS + 1)]


def test_pooling_keeps_every_process_run(runs: list[Record], tmp_path: Path) -> None:
    """In their order, none averaged away: the spread between them is what a verdict needs."""
    found = _write(tmp_path / "pooled.json", pooled(runs, reason="first"))
    assert list(found.keys) == list(runs[0].keys)
    for name, key in found.keys.items():
        assert key.processes == [run.keys[name].processes[0] for run in runs]


def test_the_host_plugins_statistics_are_those_of_all_samples(runs: list[Record]) -> None:
    """`pytest-benchmark compare` shows the pooled numbers, not those of the first run."""
    for benchmark in pooled(runs, reason="first")["benchmarks"]:
        name = benchmark["extra_info"]["perf"]["key"]
        samples = [s for run in runs for s in run.keys[name].processes[0].data_s]
        stats = benchmark["stats"]
        assert stats["data"] == samples
        assert (stats["rounds"], stats["iterations"]) == (len(samples), 1)
        assert stats["median"] == pytest.approx(median(samples))
        assert stats["mean"] == pytest.approx(mean(samples))
        assert (stats["min"], stats["max"]) == (min(samples), max(samples))


def test_a_baseline_says_who_when_and_why(runs: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    """The session is one of a baseline, approved by a name at a time in UTC."""
    monkeypatch.setattr(baseline, "approver", lambda: "Ada")
    session = pooled(runs, reason="cuDNN 9.19")["perf"]
    assert (session["kind"], session["partial"]) == ("baseline", None)
    accepted = session["acceptance"]
    assert (accepted["by"], accepted["reason"], accepted["replaces"]) == ("Ada", "cuDNN 9.19", None)
    assert accepted["at"].endswith("+00:00")


def test_a_baseline_holds_no_folders_of_a_machine(tmp_path: Path) -> None:
    """Where libraries lay on the machine that recorded it is nobody else's business."""

    def home(content: Content) -> None:
        here = content["perf"]["environment"]
        here["flags"]["CUDNN_HOME"] = "/home/ada/cudnn"
        here["libraries"] = [{"name": "libcudnn.so.9", "path": "/home/ada/libcudnn.so.9"}]

    found = pooled([_write(tmp_path / f"{n}.json", _run(n, home)) for n in range(5)], reason="first")
    assert "/home/ada" not in json.dumps(found)


def test_too_few_process_runs_are_refused(runs: list[Record]) -> None:
    """The spread between processes cannot be told from four."""
    with pytest.raises(RecordError, match="needs at least 5 process runs, found 4"):
        pooled(runs[:4], reason="first")


def _partial(content: Content) -> None:
    content["perf"]["partial"] = "stopped by KeyboardInterrupt"


def _failed(content: Content) -> None:
    content["perf"]["outcomes"][0] |= {"outcome": "failed", "code": "wrong-output", "text": "dq"}


def _fewer(content: Content) -> None:
    del content["benchmarks"][1]


def _package(content: Content) -> None:
    content["perf"]["environment"]["packages"]["jax"] = "0.12.0"


def _flags(content: Content) -> None:
    content["perf"]["environment"]["flags"]["XLA_FLAGS"] = "--xla_gpu_autotune_level=0"


def _driver(content: Content) -> None:
    content["perf"]["environment"]["driver"] = "590.1"


def _gpu(content: Content) -> None:
    content["perf"]["environment"]["gpu"]["uuid"] = "GPU-another"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_partial, r"odd\.json: partial run: stopped by KeyboardInterrupt"),
        (_failed, r"odd\.json: 1 failed keys, first jax_cudnn/forward/"),
        (_fewer, r"odd\.json: other keys than .*run-1\.json: jax_xla/training_step/"),
        (_package, r"odd\.json: another stack than .*run-1\.json"),
        (_flags, r"odd\.json: another stack than .*run-1\.json"),
        (_driver, r"odd\.json: another stack than .*run-1\.json"),
        (_gpu, r"odd\.json: another stack than .*run-1\.json"),
    ],
)
@pytest.mark.parametrize("place", [2, 4])
def test_an_unfit_run_is_refused(
    runs: list[Record], tmp_path: Path, place: int, change: Change, said: str
) -> None:
    """Whichever it is: the text names the file and what is wrong with it."""
    runs[place] = _write(tmp_path / "odd.json", _run(9, change))
    with pytest.raises(RecordError, match=said):
        pooled(runs, reason="first")


def test_a_partial_first_run_is_refused(runs: list[Record], tmp_path: Path) -> None:
    """The run that gives everything that is not a number is looked at like the others."""
    runs[0] = _write(tmp_path / "odd.json", _run(9, _partial))
    with pytest.raises(RecordError, match=r"odd\.json: partial run"):
        pooled(runs, reason="first")


def test_other_folders_of_libraries_are_the_same_stack(runs: list[Record], tmp_path: Path) -> None:
    """A temporary environment has another path; the versions count."""

    def moved(content: Content) -> None:
        content["perf"]["environment"]["libraries"] = [{"name": "libcudnn.so.9", "path": "/tmp/x"}]  # noqa: S108 - no file

    runs[2] = _write(tmp_path / "moved.json", _run(9, moved))
    assert pooled(runs, reason="first")["perf"]["environment"]["libraries"] == []


def test_a_baseline_is_written_under_the_next_number(runs: list[Record], tmp_path: Path) -> None:
    """In the folder of its GPU, named after its stack; the older one stays and the newer is in force."""
    root = tmp_path / "baselines"
    first, second = (write_baseline(root, runs, reason=reason) for reason in ("first", "second"))
    assert first == root / "nvidia-h200" / "0001_jax0.11.2-cudnn9.19.0.json"
    assert second.name == "0002_jax0.11.2-cudnn9.19.0.json"
    found = in_force(root / "nvidia-h200")
    assert found is not None
    assert found.path == second
    assert first.exists()


def test_a_stack_without_cudnn_is_named_by_jax(runs: list[Record], tmp_path: Path) -> None:
    """As on a CPU."""

    def cpu(content: Content) -> None:
        content["perf"]["environment"] |= {"slug": "cpu-x86-64", "gpu": None, "cudnn": None}

    runs = [_write(tmp_path / f"cpu-{n}.json", _run(n, cpu)) for n in range(5)]
    path = write_baseline(tmp_path, runs, reason="first")
    assert path.relative_to(tmp_path).as_posix() == "cpu-x86-64/0001_jax0.11.2.json"


def test_a_refused_pool_writes_nothing(runs: list[Record], tmp_path: Path) -> None:
    """Not even the folder."""
    with pytest.raises(RecordError):
        write_baseline(tmp_path / "baselines", runs[:3], reason="first")
    assert not (tmp_path / "baselines").exists()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """Every process run that is taken: its file, and its arguments."""
    asked: list[tuple[str, list[str]]] = []

    def fake(path: Path, arguments: list[str]) -> Record:
        asked.append((path.name, arguments))
        return _write(path, _run(len(asked)))

    monkeypatch.setattr(baseline, "measure_run", fake)
    return asked


def test_process_runs_are_taken_one_by_one(taken: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    """Each in an order of its own, with the options that were given."""
    found = measure_runs(tmp_path / "runs", ["--tags", "gate"], runs=3)
    assert taken == [(f"run-{n}.json", [f"--order-seed={n}", "--tags", "gate"]) for n in (1, 2, 3)]
    assert [record.path.name for record in found] == ["run-1.json", "run-2.json", "run-3.json"]


def test_finished_runs_are_used_again(taken: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    """After an interruption only the missing ones are taken, each under its number."""
    for number in (1, 3):
        _write(tmp_path / f"run-{number}.json", _run(7))
    measure_runs(tmp_path, [], runs=4)
    assert [name for name, _ in taken] == ["run-2.json", "run-4.json"]


@pytest.mark.usefixtures("taken")
def test_a_broken_kept_run_is_an_error(tmp_path: Path) -> None:
    """A truncated file is not measured over and not left out."""
    (tmp_path / "run-2.json").write_text("{", encoding="ascii")
    with pytest.raises(RecordError, match=r"run-2\.json: .*truncated"):
        measure_runs(tmp_path, [], runs=3)


def test_a_run_with_a_failed_key_ends_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, with the key; its file is set aside, so that --resume takes that process run anew."""
    content = _run(1)
    content["perf"]["outcomes"][0] |= {"outcome": "failed", "code": "wrong-output", "text": "wrong"}
    monkeypatch.setattr(baseline, "measure_run", lambda path, _arguments: _write(path, content))
    with pytest.raises(RecordError, match=r"process run 1: .*run-1\.failed\.json: .* failed: wrong"):
        measure_runs(tmp_path, [], runs=5)
    assert [path.name for path in tmp_path.iterdir()] == ["run-1.failed.json"]


def test_a_run_that_ends_badly_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text gives its number, why it ended, and where its samples are."""

    def fail(_path: Path, _arguments: list[str]) -> Record:
        raise RecordError("a process run ended with signal 9")

    monkeypatch.setattr(baseline, "measure_run", fail)
    with pytest.raises(RecordError, match=r"process run 1: .*signal 9; its samples are in \.perf/journal"):
        measure_runs(tmp_path, [], runs=5)


def _arguments(folder: Path, *, count: int = 5) -> Any:
    return type("Arguments", (), {"runs": count, "resume": folder, "rest": [], "reason": "first"})()


def test_an_interrupted_recording_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C loses no finished process run."""

    def interrupt(_path: Path, _arguments: list[str]) -> Record:
        raise KeyboardInterrupt

    monkeypatch.setattr(baseline, "measure_run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        record_baseline(_arguments(tmp_path))
    assert f"go on with: --resume {tmp_path}" in capsys.readouterr().err


def test_fewer_than_five_runs_are_not_even_begun(taken: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    """They could not become a baseline: said before ten minutes are spent."""
    with pytest.raises(RecordError, match="--runs: expected at least 5, found 4"):
        record_baseline(_arguments(tmp_path, count=4))
    assert taken == []


@pytest.mark.parametrize(("said", "name"), [("Ada Lovelace\n", "Ada Lovelace"), ("\n", "ada"), (None, "ada")])
def test_who_approves(monkeypatch: pytest.MonkeyPatch, said: str | None, name: str) -> None:
    """The name that git commits under; without one, or without git, the user's."""

    def git(*_: object, **__: object) -> Any:
        if said is None:
            raise FileNotFoundError("git")
        return subprocess.CompletedProcess([], 0, stdout=said)

    monkeypatch.setattr("perf.baseline.subprocess.run", git)
    monkeypatch.setattr("perf.baseline.getpass.getuser", lambda: "ada")
    assert approver() == name
