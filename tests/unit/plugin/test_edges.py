"""Runs that are not the whole of what was asked for, keys that fail late, and other storages."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from perf.baseline import pooled
from perf.records.store import RecordError, load

KEY = "naive/forward/B4-T128-S128-N8-K8-H64-f32-none"
STEP = "jax_xla/training_step/B4-T128-S128-N8-K8-H64-bf16-causal"
ONE = ("--backends", "naive", "--case", "*T128*f32*")
COMPARE = ("--benchmark-compare", "--no-remeasure")
USAGE, INTERRUPTED = 4, 2
Tree = Any

SPOILED = """
import perf.measure as measure

timed, kernels, record = measure._timed, measure._refuse_wrong_kernels, measure.key_record

def spoil(program, chosen, setup, benchmark):
    rounds = timed(program, chosen, setup, benchmark)
    if benchmark.name.startswith("naive"):
        benchmark.stats.stats.data[3] = float("nan") if "f32" in benchmark.name else 0.0
    return rounds

def exhaust(backend, key, program, pilot):
    if str(key).startswith("jax_xla") and "f32" in str(key):
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 68719476736 bytes.")
    kernels(backend, key, program, pilot)

def fail_late(key, *more):
    if str(key).startswith("jax_xla") and "bf16-none" in str(key):
        raise measure.WrongKernelError("found after the rounds")
    return record(key, *more)

measure._timed, measure._refuse_wrong_kernels, measure.key_record = spoil, exhaust, fail_late
"""

FAILS_WHEN_LISTED = """
import perf.measure as measure

checked = measure.checked_errors

def pytest_configure(config):
    if config.getoption("keys"):
        measure.checked_errors = wrong

def wrong(program, expected, key, **options):
    if "f32" in key.case_id:
        raise measure.WrongOutputError("wrong now and then")
    return checked(program, expected, key, **options)
"""


def _saved(tree: Tree, name: str = "run.json") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((tree.root / name).read_text(encoding="ascii"))
    return content


def _add_key(tree: Tree, key: str) -> None:
    """Give the baseline a second key, with the numbers of the first."""

    def add(content: dict[str, Any]) -> None:
        more = deepcopy(content["benchmarks"][0])
        more["extra_info"]["perf"]["key"] = more["name"] = more["fullname"] = key
        content["benchmarks"].append(more)

    tree.edit(add)


def test_a_failed_key_costs_the_others_nothing(fresh: Tree) -> None:
    """NaN, a sample of 0, an error after the rounds, out of memory: each key fails with its reason, alone.

    None of them has a time, in no table and in no file; the key that passed has.
    """
    fresh.plant(SPOILED)
    options = ("--backends", "naive,jax_xla", "--direction", "forward", "--benchmark-json=run.json")
    done = fresh.run("-p", "planted", "perf", *options)
    assert done.code == 1
    assert "5 keys: 1 measured, 0 compared, 0 not supported, 0 known failures, 4 failed" in done.out
    content = _saved(fresh)
    assert [benchmark["name"].split("-")[-1] for benchmark in content["benchmarks"]] == ["causal"]
    failed = {o["key"].replace("/forward/B4-T128-S128-N8-K8-H64", ""): o for o in content["perf"]["outcomes"]}
    assert {key: (o["code"], o["text"]) for key, o in failed.items() if o["outcome"] == "failed"} == {
        "naive-f32-none": ("impossible-sample", "round 3: expected a positive time, found nan s"),
        "naive-bf16-none": ("impossible-sample", "round 3: expected a positive time, found 0.0 s"),
        "jax_xla-f32-none": ("out-of-memory", "out of memory: asked for 68719476736 bytes"),
        "jax_xla-bf16-none": ("wrong-kernel", "found after the rounds"),
    }
    tables = done.out[done.out.index("Name (time in") :]
    assert [key for key in failed if key.replace("-", "/forward/B4-T128", 1) in tables] == []
    assert tables.count("B4-T128-S128-N8-K8-H64-bf16-causal") >= 2


def test_a_run_that_stops_at_a_failure_is_partial(fresh: Tree) -> None:
    """With -x: the file says so, and never becomes a baseline."""
    fresh.plant(SPOILED)
    case = "*/forward/*bf16-*"
    fresh.run(
        "-p", "planted", "perf", "-x", "--backends", "jax_xla", "--case", case, "--benchmark-json=run.json"
    )
    record = load(fresh.root / "run.json")
    assert record.session.partial is not None
    assert "stopped by Failed" in record.session.partial
    with pytest.raises(RecordError, match="partial run"):
        pooled([record] * 5, reason="no")


def test_outcomes_are_saved_where_nothing_was_measured(fresh: Tree) -> None:
    """All keys failed or were refused: the file says so for each of them; without it nobody could tell."""
    fresh.plant(SPOILED)
    done = fresh.run(
        "-p",
        "planted",
        "perf",
        "--backends",
        "naive,jax_xla",
        "--case",
        "*bf16-none",
        "--benchmark-json=run.json",
    )
    assert done.code == 1
    record = load(fresh.root / "run.json")
    assert list(record.keys) == []
    assert {o.key.split("/")[0]: o.outcome for o in record.session.outcomes} == {
        "naive": "failed",
        "jax_xla": "failed",
    }


def test_a_named_file_is_part_of_a_run(tree: Tree) -> None:
    """Keys of the other files have not vanished, and what is saved is partial."""
    _add_key(tree, STEP)
    listed = tree.root / "keys.txt"
    listed.write_text(f"{KEY}\n{STEP}\n", encoding="ascii")
    done = tree.run("perf/bench_forward.py", "--keys", "keys.txt", *COMPARE, "--benchmark-json=run.json")
    assert "1 keys: 1 measured, 1 compared" in done.out
    assert "VANISHED" not in done.out
    assert _saved(tree)["perf"]["partial"] == "1 keys of files or tests that were not named"


def test_a_stopped_run_compares_nothing(tree: Tree) -> None:
    """After Ctrl-C: said as it is, with pytest's own exit status; what was measured is in the journal."""
    tree.plant_stop()
    done = tree.run("-p", "planted", "perf", *ONE, *COMPARE)
    assert done.code == INTERRUPTED
    assert "NOTHING WAS COMPARED: the run was stopped" in done.out
    assert KEY in (tree.root / ".perf" / "journal.jsonl").read_text(encoding="ascii")


def test_collecting_compares_nothing(tree: Tree) -> None:
    """--collect-only lists the keys; none of them has vanished."""
    done = tree.run("perf", *ONE, *COMPARE, "--require-baseline", "--collect-only", "-q")
    assert (done.code, "VANISHED" in done.out) == (0, False), done.out
    assert f"bench_forward[{KEY}]" in done.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("perf", "-p", "no:benchmark"), "-p no:benchmark: pytest-benchmark is what takes the times"),
        (("tests", "--benchmark-compare"), "no benchmark is among what was named"),
        (("tests", "--require-baseline"), "no benchmark is among what was named"),
    ],
)
def test_nothing_that_could_be_timed(bare: Tree, options: tuple[str, ...], said: str) -> None:
    """A usage error, not a pass and not an internal error."""
    done = bare.run(*options)
    assert (done.code, said in done.out) == (USAGE, True), done.out


def test_a_required_baseline_is_compared_with(tree: Tree) -> None:
    """--require-baseline alone asks for the comparison too."""
    done = tree.run("perf", *ONE, "--require-baseline", "--no-remeasure")
    assert "1 keys: 1 measured, 1 compared" in done.out
    assert f"{KEY} (0001_made)" in done.out


@pytest.mark.parametrize("wanted", ["0001", "baselines/{folder}/0001_made.json"])
def test_a_baseline_by_number_or_by_file(tree: Tree, wanted: str) -> None:
    """Another than the one in force can be named."""
    newer = tree.baseline.with_name("0002_newer.json")
    newer.write_bytes(tree.baseline.read_bytes())
    named = wanted.format(folder=tree.folder.name)
    done = tree.run("perf", *ONE, f"--benchmark-compare={named}", "--no-remeasure")
    assert "0001_made.json" in next(line for line in done.out.splitlines() if line.startswith("baseline: "))
    assert "1 compared" in done.out


def test_another_storage(tree: Tree, tmp_path: Path) -> None:
    """Saved there, and compared with what is there: nothing, or a file by its number, of another stack."""
    elsewhere = tmp_path / "another storage"
    options = ("perf", *ONE, f"--benchmark-storage={elsewhere}")
    first = tree.run(*options, *COMPARE, "--benchmark-save=mine")
    assert "NOTHING WAS COMPARED: there is no baseline" in first.out
    saved = elsewhere / tree.folder.name / "0001_mine.json"
    content = json.loads(saved.read_text(encoding="ascii"))
    content["machine_info"]["python"] = "3.99"
    saved.write_text(json.dumps(content), encoding="ascii")
    done = tree.run(*options, "--benchmark-compare=0001", "--no-remeasure")
    assert f"baseline: {saved}" in done.out
    assert "1 compared" in done.out
    assert "INTERNALERROR" not in done.out
    assert [path.name for path in tree.folder.iterdir()] == ["0001_made.json"]


def test_a_checkout_in_a_folder_with_blanks(fresh: Tree, tmp_path: Path) -> None:
    """What is saved lies in its baselines, not in a folder with %20 in its name."""
    moved = fresh.root.rename(tmp_path / "my checkout")
    done = fresh.run("perf", *ONE, "--benchmark-save=mine", cwd=moved)
    assert done.code == 0, done.out
    assert [path.name for path in (moved / "baselines").glob("cpu-*/*.json")] == ["0001_mine.json"]
    assert not list(tmp_path.glob("*%20*"))


def test_a_key_that_fails_while_measured_again(tree: Tree) -> None:
    """It fails with its reason and has no time any more; the other key is decided as if alone."""
    other = KEY.replace("f32", "bf16")
    _add_key(tree, other)

    def widen(content: dict[str, Any]) -> None:
        for benchmark in content["benchmarks"]:
            for number, run in enumerate(benchmark["extra_info"]["perf"]["processes"]):
                run["data_s"] = [(0.2 + 0.1 * number) * sample for sample in run["data_s"]]

    tree.edit(widen)
    thresholds = tree.root / "baselines" / "thresholds.toml"
    text = thresholds.read_text(encoding="utf-8")
    text = text.replace("looks = 3", "looks = 2").replace("processes_per_look = 2", "processes_per_look = 1")
    thresholds.write_text(text, encoding="utf-8")
    tree.plant(FAILS_WHEN_LISTED)
    options = ("--backends", "naive", "--benchmark-compare", "--benchmark-json=run.json")
    between = {"ATTENTION_PERF_TEST_SLOWER": "naive/*", "ATTENTION_PERF_TEST_STEP": "1e-3"}
    done = tree.run("-p", "tests.slow_down", "-p", "planted", "perf", *options, **between)
    assert "INTERNALERROR" not in done.out
    assert f"FAILED perf/bench_forward.py::bench_forward[{KEY}]" in done.out
    assert "wrong-output: wrong now and then" in done.out
    assert done.code == 1
    assert [benchmark["name"] for benchmark in _saved(tree)["benchmarks"]] == [other]
