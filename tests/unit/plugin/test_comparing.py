"""`pytest perf --benchmark-compare`: what is said, and how it ends."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

KEY = "naive/forward/B4-T128-S128-N8-K8-H64-f32-none"
ONE = ("--backends", "naive", "--case", "*T128*f32*")
COMPARE = ("perf", *ONE, "--benchmark-compare", "--no-remeasure")
SLOWER = {"ATTENTION_PERF_TEST_SLOWER": "naive/*", "ATTENTION_PERF_TEST_FACTOR": "30"}
BETWEEN = {"ATTENTION_PERF_TEST_SLOWER": "naive/*", "ATTENTION_PERF_TEST_STEP": "1e-3"}
"""Samples of 1 ms: slower than the median of `_widen`'s process runs, faster than the slowest."""

Tree = Any
"""`conftest.Tree`; test modules cannot import their conftest."""


def _widen(key: dict[str, Any]) -> None:
    """Process runs of 0.4, 0.6, 0.8, 1.0 and 1.2 ms instead of 2 ms."""
    for number, run in enumerate(key["processes"]):
        run["data_s"] = [(0.2 + 0.1 * number) * sample for sample in run["data_s"]]


def _verdict(out: str) -> str:
    return out[out.index("- verdict -") :]


def test_no_baseline_is_said_loudly(bare: Tree) -> None:
    """Nothing compared does not look like a pass; the line names the command that makes a baseline.

    A first run makes none by itself: that is a command of its own, always.
    """
    done = bare.run(*COMPARE)
    assert done.code == 0
    assert "NOTHING WAS COMPARED: there is no baseline for cpu-" in done.out
    assert "-m perf baseline record --runs 5" in done.out
    assert list((bare.root / "baselines").glob("cpu-*")) == []


def test_a_required_baseline_that_is_missing_fails(bare: Tree) -> None:
    """--require-baseline ends with 1."""
    done = bare.run(*COMPARE, "--require-baseline")
    assert (done.code, "NOTHING WAS COMPARED" in done.out) == (1, True)


def test_the_baseline_is_found_by_the_machine_alone(tree: Tree, tmp_path: Path) -> None:
    """Another working folder, other file names, another Python in the file: the baseline is the machine's."""
    tree.edit(lambda content: content["perf"]["environment"].update(python="3.99.0"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = tree.run(str(tree.root / "perf"), *COMPARE[1:], "--rootdir", str(tree.root), cwd=elsewhere)
    assert "1 compared" in done.out
    assert "python: 3.99.0 → " in done.out
    assert "INTERNALERROR" not in done.out


def test_a_regression_is_a_failed_item(tree: Tree) -> None:
    """In the terminal, in JUnit XML and for --lf."""
    done = tree.run("-p", "tests.slow_down", *COMPARE, "--junitxml=junit.xml", **SLOWER)
    assert done.code == 1, done.out
    assert f"FAILED perf/bench_forward.py::bench_forward[{KEY}]" in done.out
    assert "SLOWER" in _verdict(done.out)
    suite = ET.parse(tree.root / "junit.xml").getroot()[0]  # noqa: S314 - written by pytest a line above
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    again = tree.run("perf", *ONE, "--lf", "--collect-only", "-q")
    assert KEY in again.out
    assert "1 test collected" in again.out


def test_an_improvement_is_said_and_the_baseline_is_stale(tree: Tree) -> None:
    """What is faster hides the next loss until the baseline is renewed."""

    def slow(key: dict[str, Any]) -> None:
        for run in key["processes"]:
            run["data_s"] = [50 * sample for sample in run["data_s"]]

    tree.edit_key(slow)
    done = tree.run(*COMPARE)
    assert done.code == 0, done.out
    assert "faster" in _verdict(done.out)
    assert "the baseline is stale: 1 of 1 keys are faster now" in done.out


def test_undecided_ends_with_3(tree: Tree) -> None:
    """One that is neither clearly slower nor clearly the same is no pass."""
    tree.edit_key(_widen)
    done = tree.run("-p", "tests.slow_down", *COMPARE, **BETWEEN)
    assert "undecided" in _verdict(done.out)
    assert done.code == 3


def test_undecided_keys_are_measured_again(tree: Tree) -> None:
    """In fresh processes, with what it cost; all process runs are in the saved record."""
    tree.edit_key(_widen)
    thresholds = tree.root / "baselines" / "thresholds.toml"
    text = thresholds.read_text(encoding="utf-8")
    thresholds.write_text(
        text.replace("looks = 3", "looks = 2").replace("processes_per_look = 2", "processes_per_look = 1")
    )
    options = [option for option in COMPARE if option != "--no-remeasure"]
    done = tree.run("-p", "tests.slow_down", *options, "--benchmark-json=run.json", **BETWEEN)
    assert "measured again in fresh processes: keys 1, process runs 1" in done.out
    record = json.loads((tree.root / "run.json").read_text(encoding="ascii"))
    key = record["benchmarks"][0]["extra_info"]["perf"]
    assert len(key["processes"]) == 2
    assert record["benchmarks"][0]["stats"]["rounds"] == sum(len(run["data_s"]) for run in key["processes"])


def test_a_vanished_key_fails(tree: Tree) -> None:
    """A key of the baseline that no grid has any more has no item that could fail: the run does."""

    def rename(content: dict[str, Any]) -> None:
        content["benchmarks"][0]["extra_info"]["perf"]["key"] = KEY.replace("T128", "T129")

    tree.edit(rename)
    done = tree.run("perf", "--backends", "naive", "--case", "*T12?*f32*", "--benchmark-compare")
    assert (done.code, "VANISHED" in done.out) == (1, True), done.out
    assert "new" in _verdict(done.out)


def test_lost_support_fails(tree: Tree) -> None:
    """A key that the baseline has and that is refused now fails the run, with the reason."""
    lost = "jax_cudnn/forward/B4-T128-S128-N8-K8-H64-bf16-causal"

    def rename(content: dict[str, Any]) -> None:
        content["benchmarks"][0]["extra_info"]["perf"] |= {"key": lost, "backend": "jax_cudnn"}

    tree.edit(rename)
    done = tree.run("perf", "--case", lost, "--benchmark-compare")
    assert (done.code, "UNSUPPORTED" in done.out) == (1, True), done.out
    assert "needs an NVIDIA GPU" in _verdict(done.out)


@pytest.mark.parametrize("options", [("--backends", "naive", "-k", "bf16"), ("--case", "*bf16-none")])
def test_a_deselected_key_has_not_vanished(tree: Tree, options: tuple[str, ...]) -> None:
    """What -k or another option left out is not asked for."""
    done = tree.run("perf", *options, "--backends", "naive", "--benchmark-compare")
    assert "VANISHED" not in done.out
    assert "1 measured, 0 compared" in done.out


def test_the_last_line_counts(tree: Tree) -> None:
    """Measured, compared, not supported with the reason, known failures, failed."""
    done = tree.run("perf", "--case", "*bf16-causal", "--direction", "forward", "--benchmark-compare")
    assert (
        "2 keys: 1 measured, 0 compared, 1 not supported (no-gpu 1), 0 known failures, 0 failed" in done.out
    )


def test_the_host_plugins_own_threshold_works_beside_ours(tree: Tree) -> None:
    """--benchmark-compare-fail keeps its meaning, and our verdict is printed all the same."""
    done = tree.run(*COMPARE, "--benchmark-compare-fail=median:1%", "-p", "tests.slow_down", **SLOWER)
    assert "SLOWER" in done.out
    assert "Performance has regressed" in done.out


def test_the_host_plugins_tables_work(tree: Tree) -> None:
    """pytest-benchmark's own options of its table are taken beside ours."""
    done = tree.run(*COMPARE, "--benchmark-columns=min,median", "--benchmark-sort=name")
    assert f"{KEY} (NOW)" in done.out
    header = next(line for line in done.out.splitlines() if line.startswith("Name (time in"))
    assert header.split(")")[1].split() == ["Min", "Median"]
