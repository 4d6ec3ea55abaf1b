"""The self-test finds a noisy and a blind suite."""

import json
from pathlib import Path

import pytest

from perf.compare import load_thresholds
from perf.selftest import SelfTest, judge, measure_in_turn

ROOT = Path(__file__).parents[2]
BASELINE = next((ROOT / "baselines" / "nvidia-h200").glob("0001_*.json"))


def _sides(folder: Path, *, factor: float = 1.0, scatter: float = 0.0) -> SelfTest:
    """One key of the real baseline on both sides; the head changed, the process runs spread."""
    paths = []
    for side, times in (("base", 1.0), ("head", factor)):
        content = json.loads(BASELINE.read_text(encoding="ascii"))
        content["benchmarks"] = [
            b for b in content["benchmarks"] if b["name"].startswith("jax_cudnn/backward/B4-T4096")
        ]
        for number, run in enumerate(content["benchmarks"][0]["extra_info"]["perf"]["processes"]):
            moved = times * (1 + scatter * (number - 2))
            run["data_s"] = [moved * sample for sample in run["data_s"]]
        paths.append(folder / f"{side}.json")
        paths[-1].write_text(json.dumps(content), encoding="ascii")
    return judge(paths[:1], paths[1:], thresholds=load_thresholds(ROOT / "baselines" / "thresholds.toml"))


def test_equal_sides_pass(tmp_path: Path) -> None:
    """Real process runs against themselves: nothing found, the planted slow-down found."""
    found = _sides(tmp_path)
    assert (found.alarms, found.missed, found.passed) == ((), (), True)


def test_a_noisy_suite_fails(tmp_path: Path) -> None:
    """A change where nothing changed is told with its key."""
    found = _sides(tmp_path, factor=1.2)
    assert not found.passed
    assert [alarm.split(":")[0].split("/")[0] for alarm in found.alarms] == ["jax_cudnn"]


def test_a_blind_suite_fails(tmp_path: Path) -> None:
    """Process runs that scatter so much that the planted slow-down is lost."""
    found = _sides(tmp_path, scatter=0.1)
    assert (found.alarms, len(found.missed), found.passed) == ((), 1, False)


def test_sides_are_measured_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Base, head, head, base: a drift meets both sides alike; every process has its own order."""
    from perf.records.store import Record, load

    asked: list[str] = []

    def fake(path: Path, arguments: list[str], *, log: Path) -> Record:
        asked.append(f"{path.name} {arguments[0]} {log.name}")
        return load(BASELINE)

    monkeypatch.setattr("perf.selftest.measure_run", fake)
    base, head = measure_in_turn(tmp_path, [], runs=2)
    assert [path.name for path in base] == ["base-1.json", "base-4.json"]
    assert [path.name for path in head] == ["head-2.json", "head-3.json"]
    assert asked[1] == "head-2.json --order-seed=1 head-2.txt"
