"""Options and files that cannot be used: a usage error that names them, and nothing measured."""

from pathlib import Path
from typing import Any

import pytest

ONE = ("--backends", "naive", "--case", "*T128*f32*")
USAGE = 4
Tree = Any


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--backends", "jax_cudn"), "expected names among naive, jax_auto, jax_xla, jax_cudnn"),
        (("--tags", "gat"), "expected names among smoke, gate, full"),
        (("--direction", "sideways"), "expected names among forward, backward, training_step"),
        (("--case", "*T77777*"), "no key matches"),
        (("--case", ""), "--case: expected a glob"),
        (("--backends", ""), "--backends: expected names among"),
        (("--clock", "device"), "--clock device: needs an NVIDIA GPU"),
        (("--benchmark-timer=time.process_time",), "--benchmark-timer: the clock is chosen by --clock"),
        (("--require-gpu",), "--require-gpu: no NVIDIA GPU here"),
        (("--benchmark-compare", "-n", "1"), "benchmarks do not run under xdist"),
        (("--benchmark-json=x.json", "-n", "1"), "benchmarks do not run under xdist"),
        (("--benchmark-compare", "--benchmark-disable"), "contradicts --benchmark-disable"),
        (("--require-baseline", "--benchmark-skip"), "contradicts --benchmark-skip"),
        (("--benchmark-compare=",), "expected a record file or a number"),
        (("--benchmark-compare=0007",), "expected a record file or a number"),
        (("--keys", "nowhere.txt"), "--keys: nowhere.txt: cannot be read"),
    ],
)
def test_an_option_that_cannot_be_used(bare: Tree, options: tuple[str, ...], said: str) -> None:
    """The text names the option, what was expected and what was found; pytest ends with 4."""
    done = bare.run("perf", *options)
    assert (done.code, said in done.out) == (USAGE, True), done.out


def test_a_path_after_the_option_is_not_taken_for_a_baseline(tree: Tree) -> None:
    """`--benchmark-compare perf` means the folder; it is no record."""
    done = tree.run("--benchmark-compare", "perf")
    assert done.code == USAGE
    assert "write a test path before the option" in done.out


def test_reruns_are_refused(fresh: Tree) -> None:
    """A key that is run again would be timed twice under one name."""
    (fresh.root / "reruns.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--reruns', type=int)\n", encoding="ascii"
    )
    done = fresh.run("-p", "reruns", "perf", *ONE, "--benchmark-json=x.json", "--reruns=2")
    assert (done.code, "contradicts --reruns" in done.out) == (USAGE, True), done.out


def _truncate(tree: Tree) -> None:
    tree.baseline.write_text(tree.baseline.read_text(encoding="ascii")[:-500], encoding="ascii")


def _empty(tree: Tree) -> None:
    tree.baseline.write_text("", encoding="ascii")


def _schema(tree: Tree) -> None:
    tree.edit(lambda content: content["perf"].update(schema=2))


def _unknown(tree: Tree) -> None:
    tree.edit_key(lambda key: key.update(colour="blue"))


def _nan(tree: Tree) -> None:
    tree.edit_key(lambda key: key["processes"][0]["data_s"].__setitem__(3, float("nan")))


def _zero(tree: Tree) -> None:
    tree.edit_key(lambda key: key["processes"][0]["data_s"].__setitem__(3, 0.0))


def _other_gpu(tree: Tree) -> None:
    tree.edit(lambda content: content["perf"]["environment"].update(slug="nvidia-h200"))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_truncate, "broken or truncated"),
        (_empty, "broken or truncated"),
        (_schema, "schema: Input should be 1, found 2"),
        (_unknown, "colour: Extra inputs are not permitted"),
        (_nan, "processes.0.data_s.3: Input should be a finite number"),
        (_zero, "processes.0.data_s.3: Input should be greater than 0, found 0.0"),
        (_other_gpu, "is of nvidia-h200, this machine is cpu-"),
    ],
)
def test_a_baseline_that_cannot_be_used(tree: Tree, spoil: Any, said: str) -> None:
    """File, field, expected and found are named; no older baseline is taken silently."""
    older = tree.baseline
    newer = older.with_name("0002_made.json")
    newer.write_bytes(older.read_bytes())
    spoil(tree)
    done = tree.run("perf", *ONE, "--benchmark-compare")
    assert (done.code, said in done.out, newer.name in done.out) == (USAGE, True, True), done.out


def test_nothing_is_written_into_a_folder_that_cannot_be_written(fresh: Tree, tmp_path: Path) -> None:
    """The error names the folder; the samples are in the journal."""
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be", encoding="ascii")
    done = fresh.run("perf", *ONE, f"--benchmark-json={blocked / 'run.json'}")
    assert done.code != 0
    assert "blocked" in done.out
    assert (fresh.root / ".perf" / "journal.jsonl").stat().st_size > 0
