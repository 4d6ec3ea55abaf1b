"""The study: trials, the usual rules, shares with intervals, tables, and the command."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perf.calibrate import study as studied
from perf.calibrate.recorded import Recording, load_folder
from perf.calibrate.rule import judge
from perf.calibrate.scale import timings
from perf.calibrate.study import Share, settings, slower_keys
from perf.calibrate.trials import INTERLEAVED, STORED, Trial, real, resampled
from perf.calibrate.usual import USUAL, benchmatrix, criterion, nvbench, welch
from perf.cli import main
from perf.compare import Thresholds, load_thresholds

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "h200-noise"


@pytest.fixture(scope="module")
def recordings() -> tuple[Recording, ...]:
    """The small recordings."""
    return load_folder(DATA)


@pytest.fixture(scope="module")
def thresholds() -> Thresholds:
    """The thresholds in force."""
    return load_thresholds(ROOT / "baselines" / "thresholds.toml")


def one_trial(recordings: Any, draw: Any = real, design: Any = STORED) -> Trial:
    """The first trial of a design on the ten processes."""
    ten = recordings[1]
    trial: Trial = next(draw(ten, ten, design, rng=np.random.default_rng(0), count=1))
    return trial


def test_real_splits_share_no_process(recordings: Any) -> None:
    """No process run is on both sides of a real split, and the sides have the design's sizes."""
    trial = one_trial(recordings)
    for key, runs in trial.base.items():
        assert len(runs) == len(trial.head[key]) == 5
        assert not any(run in runs for run in trial.head[key])


def test_resampled_keys_draw_by_themselves(recordings: Any) -> None:
    """Two keys of a resampled side come from different processes."""
    trial = one_trial(recordings, draw=resampled)
    assert len({tuple(run.at_unix_s for run in runs) for runs in trial.base.values()}) > 1


def test_planting_touches_the_head_alone(recordings: Any) -> None:
    """A planted slow-down multiplies device and wall time of the chosen key in every head run."""
    trial = one_trial(recordings)
    key = next(iter(trial.base))
    planted = trial.with_planted({key: 1.5})
    assert planted.base == trial.base
    for before, after in zip(trial.head[key], planted.head[key], strict=True):
        assert np.allclose(after.data_s, np.array(before.data_s) * 1.5)
        assert np.allclose(after.wall_s, np.array(before.wall_s) * 1.5)


def test_undecided_keys_are_measured_again(recordings: Any, thresholds: Thresholds) -> None:
    """Three per cent in one run are undecided first, and found with further process runs of that key."""
    key = "jax_cudnn/forward/B4-T2048-S2048-N32-K8-H128-bf16-causal"
    judged = judge(one_trial(recordings).with_planted({key: 1.03}), STORED, thresholds)
    assert key in judged.failing
    assert 2 <= judged.again <= 4 * len(recordings[1].processes[0])


def test_real_slow_downs_are_recognised(recordings: Any, thresholds: Thresholds) -> None:
    """Five keys became really slower with cuDNN 9.19, none the other way round."""
    old, new, _ = recordings
    assert len(slower_keys(old, new, thresholds)) == 5
    assert slower_keys(new, new, thresholds) == []


def test_share() -> None:
    """A share knows its exact interval: none of 3,000 is at most 0.12 %."""
    share = Share()
    share.add(0, 3000)
    low, high = share.interval
    assert low == 0
    assert high == pytest.approx(0.00123, abs=1e-5)
    assert Share().text == "–"


@pytest.mark.parametrize("rule", [welch, nvbench, criterion, benchmatrix])
def test_usual_rules_tell_a_large_change(rule: Any) -> None:
    """Each of the usual rules sees 20 % and passes equal samples."""
    rng = np.random.default_rng(0)
    base = rng.normal(1.0, 0.005, (4, 8))
    head = rng.permuted(base, axis=1) * np.array([1.0, 1.0, 1.2, 1.0])[:, None]
    assert rule(base, head).tolist() == [False, False, True, False]


def test_every_usual_rule_is_there() -> None:
    """Twelve rules, told apart by name."""
    assert len({rule.name for rule in USUAL}) == len(USUAL) == 12


def test_designs_follow_the_data(recordings: Any, thresholds: Thresholds) -> None:
    """Three designs of our rule; resampling only where there are many processes; looks no more than runs."""
    ours = [s for s in settings(recordings, thresholds) if s.rule == "perf"]
    assert {s.design.name for s in ours} == {
        STORED.name, INTERLEAVED.name, "1 run, baseline from another machine"
    }  # fmt: skip
    assert all(s.design.looks[-1] <= len(s.head.processes) or s.draw is resampled for s in ours)
    assert [s.false for s in ours if s.draw is resampled] == [True, True, False]


def test_command(capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`calibrate` prints the table with a row for each rule, and draws the plot."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(studied, "_FEWER", 2)
    monkeypatch.setattr(studied, "PLANTED", (0.015, 0.03, 0.05, 0.1))
    monkeypatch.setattr("perf.calibrate.tables.PLANTED", (0.015, 0.03, 0.05, 0.1))
    path = tmp_path / "power.png"
    assert main(["calibrate", str(DATA), "--trials", "2", "--plot", str(path), "--format", "markdown"]) == 0
    out = capsys.readouterr().out
    assert out.count("| perf |") == 6
    assert all(rule.name in out for rule in USUAL)
    assert path.stat().st_size > 10_000


def test_command_needs_data(capsys: Any) -> None:
    """Without recordings there is nothing to study: exit code 2."""
    assert main(["calibrate"]) == 2
    assert "folder of recordings" in capsys.readouterr().err


def test_scale_measures_what_it_says(thresholds: Thresholds) -> None:
    """A timing names its size and what it took."""
    (timing,) = timings((20,), thresholds)
    assert timing.keys == 20
    assert timing.seconds > 0
