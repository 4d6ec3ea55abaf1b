"""What is saved, and what never is: partial runs, failed keys, numbers without a name."""

import json
from typing import Any

import pytest

from perf.baseline import pooled
from perf.journal import read
from perf.records.store import RecordError, load

KEY = "naive/forward/B4-T128-S128-N8-K8-H64-f32-none"
ONE = ("--backends", "naive", "--case", "*T128*f32*")
BOTH = ("--backends", "naive", "--direction", "forward")
Tree = Any

WRONG = """
import jax.nn

softmax = jax.nn.softmax
jax.nn.softmax = lambda score, axis: softmax(score, axis=axis) * (1.1 if score.dtype == "float32" else 1)
"""


def _saved(tree: Tree, name: str = "run.json") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((tree.root / name).read_text(encoding="ascii"))
    return content


def test_a_record_has_names_and_numbers_alone(fresh: Tree) -> None:
    """Ids are ASCII, parameters are JSON, compile time is apart, nothing names the host; in any locale."""
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "JAX_ENABLE_COMPILATION_CACHE": "false"}
    done = fresh.run("perf", *ONE, "--benchmark-json=run.json", **plain)
    assert done.code == 0, done.out
    text = (fresh.root / "run.json").read_bytes()
    assert text.isascii()
    assert b"UNSERIALIZABLE" not in text
    content = _saved(fresh)
    assert "node" not in content["machine_info"]
    benchmark = content["benchmarks"][0]
    assert benchmark["name"] == benchmark["fullname"] == KEY
    run = benchmark["extra_info"]["perf"]["processes"][0]
    assert run["compile_s"] > max(run["data_s"])


def test_saving_twice(fresh: Tree) -> None:
    """Both ways of saving give the same fields; the next save takes the next number and leaves the first.

    A saved run is no baseline, and pytest-benchmark's own command reads it.
    """
    done = fresh.run("perf", *ONE, "--benchmark-json=run.json", "--benchmark-save=mine")
    assert done.code == 0, done.out
    first = next((fresh.root / "baselines").glob("cpu-*/0001_mine.json"))
    before = first.read_bytes()
    one, other = _saved(fresh), json.loads(before)
    assert one["perf"] == other["perf"]
    ours, theirs = (content["benchmarks"][0]["extra_info"] for content in (one, other))
    assert ours == theirs
    again = fresh.run("perf", *ONE, "--benchmark-save=mine", "--benchmark-compare")
    assert "NOTHING WAS COMPARED" in again.out
    assert first.read_bytes() == before
    assert [path.name for path in sorted(first.parent.iterdir())] == ["0001_mine.json", "0002_mine.json"]
    listed = fresh.python("-m", "pytest_benchmark", "compare", str(first))
    assert (listed.code, KEY in listed.out) == (0, True), listed.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-k", "f32"), "1 keys deselected"),
        (("-p", "planted"), "stopped by KeyboardInterrupt"),
    ],
)
def test_a_partial_run_never_becomes_a_baseline(fresh: Tree, options: tuple[str, ...], said: str) -> None:
    """-k and Ctrl-C: the file says why, pooling refuses it, the journal has what was measured."""
    fresh.plant_stop()
    fresh.run(*options, "perf", *BOTH, "--benchmark-json=run.json")
    record = load(fresh.root / "run.json")
    assert record.session.partial is not None
    assert said in record.session.partial
    with pytest.raises(RecordError, match="partial run"):
        pooled([record] * 5, reason="no")
    assert list(read(fresh.root / ".perf" / "journal.jsonl").records) == [KEY]


def test_no_timed_program_comes_from_a_cache(fresh: Tree) -> None:
    """One choice of the autotuner would be every process run's; references are kept."""
    fresh.run("perf", *BOTH, JAX_COMPILATION_CACHE_DIR=str(fresh.root / "cache"))
    kept = {path.name.split("-")[0] for path in (fresh.root / "cache").iterdir()}
    assert "jit_summaries" in kept
    assert "jit_scratch" not in kept, kept


def test_a_wrong_key_has_no_time(fresh: Tree) -> None:
    """The text names worst index, limit, seed and command; the file has the outcome, not the time."""
    fresh.plant(WRONG)
    done = fresh.run("-p", "planted", "perf", *BOTH, "--benchmark-json=run.json")
    assert done.code == 1
    for part in (
        f"{KEY} is wrong (seed 0)",
        "at index (",
        "limit",
        f"pytest perf --tags full --case '{KEY}'",
    ):
        assert part in done.out
    content = _saved(fresh)
    assert [benchmark["name"] for benchmark in content["benchmarks"]] == [KEY.replace("f32", "bf16")]
    failed = [outcome for outcome in content["perf"]["outcomes"] if outcome["outcome"] == "failed"]
    assert [(outcome["key"], outcome["code"]) for outcome in failed] == [(KEY, "wrong-output")]


def test_nothing_starts_jax_before_the_first_test(fresh: Tree) -> None:
    """Workers and subprocesses start clean: no JAX backend, so no CUDA context, until a key runs."""
    fresh.plant(
        "def pytest_collection_finish(session):\n"
        "    from jax._src import xla_bridge\n"
        "    print('backends started:', sorted(xla_bridge._backends))\n",
    )
    done = fresh.run("-p", "planted", "perf", "--collect-only", "-q", "-s")
    assert "backends started: []" in done.out, done.out
