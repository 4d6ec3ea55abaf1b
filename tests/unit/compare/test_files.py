"""Comparing record files from the command line: sides, formats, exit codes, warnings, one key explained."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perf.cli import main
from perf.records.schema import KeyRecord

ROOT = Path(__file__).parents[3]
SLOW = "jax_cudnn/forward/00003"


def slower(keys: list[KeyRecord], factor: float = 1.1) -> list[KeyRecord]:
    """The keys with the fourth one slower."""
    runs = [
        run.model_copy(update={"data_s": [value * factor for value in run.data_s]})
        for run in keys[3].processes
    ]
    return [*keys[:3], keys[3].model_copy(update={"processes": runs}), *keys[4:]]


@pytest.fixture
def files(make: Any, write: Any) -> dict[str, str]:
    """A base, a head where nothing changed, and one with a slower key."""
    return {
        "base": str(write("base.json", make.keys(), kind="baseline")),
        "same": str(write("same.json", make.keys(at=50))),
        "slow": str(write("slow.json", slower(make.keys(at=50)))),
    }


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    """Exit code and output of ``perf compare``."""
    code = main(["compare", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_text_names_the_slower_key(files: dict[str, str], capsys: Any) -> None:
    """A slow-down ends with 1 and a table that names the key and its change."""
    code, out, _ = run(capsys, files["base"], files["slow"])
    assert code == 1
    assert f"SLOWER   {SLOW}" in out
    assert "+10." in out
    assert out.splitlines()[-1].startswith("20 of 20 keys compared")


def test_unchanged_passes(files: dict[str, str], capsys: Any) -> None:
    """Nothing changed: 0, and what could have been found is said."""
    code, out, _ = run(capsys, files["base"], files["same"])
    assert code == 0
    assert "could show" in out
    assert "WARNING" not in out


def test_json_is_the_documented_form(files: dict[str, str], capsys: Any) -> None:
    """JSON holds schema, exit code, counts, and every verdict with its numbers in SI units."""
    code, out, _ = run(capsys, files["base"], files["slow"], "--format", "json")
    report = json.loads(out)
    assert (report["schema"], report["exit"], code) == (1, 1, 1)
    assert report["summary"]["compared"] == len(report["verdicts"]) == 20
    first = report["verdicts"][0]
    assert (first["key"], first["verdict"], first["reason"]) == (SLOW, "slower", "beyond-noise")
    assert first["change"] == pytest.approx(first["head_s"] / first["base_s"] - 1)
    assert 0 < first["noise"] < first["change"]
    assert first["text"]


def test_markdown_answers_first(files: dict[str, str], capsys: Any) -> None:
    """Markdown starts with the answer and folds away what is the same."""
    _, out, _ = run(capsys, files["base"], files["slow"], "--format", "markdown")
    assert out.startswith("**Regression.**")
    assert f"| **slower** | `{SLOW}` |" in out
    assert "19 keys are the same" in out


def test_several_files_a_side_are_pooled(make: Any, write: Any, capsys: Any) -> None:
    """Files of a side become process runs of one record."""
    base = [str(write(f"b{n}.json", make.keys(runs=1, at=n))) for n in range(5)]
    head = [str(write(f"h{n}.json", make.keys(runs=1, at=50 + n))) for n in range(4)]
    _, out, _ = run(capsys, "--base", *base, "--head", *head, "--format", "json")
    verdict = json.loads(out)["verdicts"][0]
    assert (verdict["base_runs"], verdict["head_runs"]) == (5, 4)
    _, back, _ = run(capsys, "--base", *base[::-1], "--head", *head[::-1], "--format", "json")
    assert [v["verdict"] for v in json.loads(back)["verdicts"]] == [
        v["verdict"] for v in json.loads(out)["verdicts"]
    ]


def test_a_key_that_failed_in_one_file_has_failed(make: Any, write: Any, capsys: Any) -> None:
    """One failed process run fails its key, whatever the others measured."""
    keys = make.keys(runs=1, at=50)
    base = str(write("base.json", make.keys()))
    good, bad = (
        write("good.json", keys),
        write("bad.json", make.keys(runs=1, at=51)[1:], failed=[keys[0].key]),
    )
    code, out, _ = run(capsys, "--base", base, "--head", str(good), str(bad))
    assert code == 1
    assert f"{keys[0].key}" in out
    assert "now failed: check: wrong" in out


def test_vanished_fails_and_new_passes(make: Any, write: Any, capsys: Any) -> None:
    """A key that is gone ends with 1; a new one is only said."""
    fewer, more = str(write("a.json", make.keys(19))), str(write("b.json", make.keys(20, at=50)))
    assert run(capsys, fewer, more)[0] == 0
    code, out, _ = run(capsys, more, fewer)
    assert code == 1
    assert "vanished" in out


def test_partial_head_is_said(make: Any, write: Any, capsys: Any) -> None:
    """A partial run loses no keys, and the report says that it is partial."""
    base = str(write("a.json", make.keys(20)))
    head = str(write("b.json", make.keys(19, at=50), partial="1 keys deselected"))
    code, out, _ = run(capsys, base, head)
    assert code == 0
    assert "WARNING: partial run" in out


@pytest.mark.parametrize("slug", ["nvidia-h100", "nvidia-h200-mig-3g-71gb"])
def test_another_gpu_is_refused(make: Any, write: Any, capsys: Any, slug: str) -> None:
    """Records of two GPU models, or of a MIG slice and a whole one, end with 2."""
    paths = [str(write("a.json", make.keys(5))), str(write("b.json", make.keys(5), slug=slug))]
    code, _, err = run(capsys, *paths)
    assert code == 2
    assert f"the head from {slug}" in err


def test_one_side_is_one_stack(make: Any, write: Any, capsys: Any) -> None:
    """Files with two cuDNN versions are not pooled; the text names both."""
    old = str(write("old.json", make.keys(5), cudnn="9.14.0"))
    new = str(write("new.json", make.keys(5, at=50)))
    code, _, err = run(capsys, "--base", old, new, "--head", new)
    assert code == 2
    assert "9.19.0 instead of 9.14.0" in err


def test_other_clock_within_a_side_is_refused(make: Any, write: Any, capsys: Any) -> None:
    """Device and host times of one key are not pooled."""
    one = str(write("one.json", [make.key()]))
    two = str(write("two.json", [make.key(record={"clock": "host"}, at=50)]))
    code, _, err = run(capsys, "--base", one, two, "--head", one)
    assert code == 2
    assert "clock is host" in err


def test_the_same_file_twice_on_a_side_is_refused(files: dict[str, str], capsys: Any) -> None:
    """A process run that counts twice would make the noise look smaller than it is."""
    code, _, err = run(capsys, "--base", files["base"], files["base"], "--head", files["same"])
    assert code == 2
    assert "the same process run" in err


def test_the_same_file_on_both_sides_is_said(files: dict[str, str], capsys: Any) -> None:
    """A record against itself passes, with a warning that nothing could have differed."""
    code, out, _ = run(capsys, files["same"], files["same"])
    assert code == 0
    assert "WARNING: 100 process runs are on both sides" in out


def test_swapped_sides_are_noticed(files: dict[str, str], make: Any, write: Any, capsys: Any) -> None:
    """A baseline as the head, or a base that is all newer than the head, looks swapped."""
    assert "swapped" in run(capsys, files["same"], files["base"])[1]
    old, new = str(write("o.json", make.keys())), str(write("n.json", make.keys(at=50)))
    assert "swapped" in run(capsys, new, old)[1]
    assert "swapped" not in run(capsys, old, new)[1]


def test_another_machine_is_said(make: Any, write: Any, capsys: Any) -> None:
    """Two machines of one model are compared with a warning."""
    one, two = write("a.json", make.keys()), write("b.json", make.keys(at=50), uuid="GPU-2")
    code, out, _ = run(capsys, str(one), str(two))
    assert code == 0
    assert "different machines" in out


BROKEN = {
    "empty": "",
    "truncated": '{"benchmarks": [',
    "array": "[]",
    "foreign": '{"benchmarks": []}',
    "not text": "\udcff",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_ends_with_2(files: dict[str, str], tmp_path: Path, capsys: Any, name: str) -> None:
    """An empty, truncated or foreign file is unusable input, and named."""
    path = tmp_path / "broken.json"
    path.write_bytes(BROKEN[name].encode("utf-8", "surrogateescape"))
    code, _, err = run(capsys, files["base"], str(path))
    assert code == 2
    assert "broken.json" in err


@pytest.mark.parametrize("value", ["NaN", "Infinity", "0.0", "-1e-6", '"fast"', "null"])
def test_impossible_time_ends_with_2(files: dict[str, str], capsys: Any, value: str) -> None:
    """NaN, infinite, zero, negative and non-numeric times are refused by field."""
    path = Path(files["slow"])
    report = json.loads(path.read_text(encoding="utf-8"))
    report["benchmarks"][2]["extra_info"]["perf"]["processes"][1]["data_s"][4] = "HERE"
    path.write_text(json.dumps(report).replace('"HERE"', value), encoding="utf-8")
    code, _, err = run(capsys, files["base"], str(path))
    assert code == 2
    assert "benchmarks[2]" in err
    assert "processes.1.data_s.4" in err


def test_another_schema_ends_with_2(files: dict[str, str], capsys: Any) -> None:
    """A record of another schema is refused, never read as far as it goes."""
    path = Path(files["slow"])
    text = path.read_text(encoding="utf-8").replace('"schema": 1', '"schema": 9')
    path.write_text(text, encoding="utf-8")
    code, _, err = run(capsys, files["base"], str(path))
    assert code == 2
    assert "schema" in err


def test_record_without_keys_is_no_pass(files: dict[str, str], write: Any, capsys: Any) -> None:
    """A record that measured nothing: every key of the base has vanished."""
    assert run(capsys, files["base"], str(write("none.json", [])))[0] == 1
    assert run(capsys, str(write("nil.json", [])), str(write("nul.json", [])))[0] == 3


@pytest.mark.parametrize("arguments", [(), ("a",), ("a", "b", "c"), ("a", "--base", "b"), ("--base", "a")])
def test_sides_must_be_clear(capsys: Any, arguments: tuple[str, ...]) -> None:
    """Anything but two files or both options is a usage error with exit code 2."""
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert "expected BASE HEAD" in err


def test_explain_gives_every_step(files: dict[str, str], capsys: Any) -> None:
    """One key explained: its process runs, spread, level, thresholds, outcome; the exit code stays."""
    code, out, _ = run(capsys, files["base"], files["slow"], "--explain", SLOW)
    assert code == 1
    assert out.count("of 30 samples") == 10
    for words in (
        "own",
        "pooled",
        "shrunk",
        "0.001 for a whole run",
        "class 'fused'",
        "it changed",
        "Memory",
    ):
        assert words in out


def test_explain_of_a_vanished_key(make: Any, write: Any, capsys: Any) -> None:
    """A key without a second side is explained as well."""
    base, head = write("a.json", make.keys(4)), write("b.json", make.keys(3, at=50))
    _, out, _ = run(capsys, str(base), str(head), "--explain", SLOW)
    assert "head: no times" in out
    assert "vanished" in out


def test_explain_of_an_unknown_key_names_close_ones(files: dict[str, str], capsys: Any) -> None:
    """A misspelt key is an error that names those spelt alike."""
    code, _, err = run(capsys, files["base"], files["slow"], "--explain", SLOW.replace("forward", "foward"))
    assert code == 2
    assert SLOW in err


def test_other_thresholds_are_in_force(files: dict[str, str], tmp_path: Path, capsys: Any) -> None:
    """`--thresholds` replaces the file in force: with 20 % of interest, 10 % is no slow-down."""
    text = (ROOT / "baselines" / "thresholds.toml").read_text(encoding="utf-8")
    path = tmp_path / "lax.toml"
    path.write_text(text.replace("interest = 0.01 ", "interest = 0.2 "), encoding="utf-8")
    assert run(capsys, files["base"], files["slow"])[0] == 1
    assert run(capsys, files["base"], files["slow"], "--thresholds", str(path))[0] != 1


def test_neither_jax_nor_torch_is_imported(files: dict[str, str]) -> None:
    """A fresh interpreter compares files without either, so that any machine can."""
    code = (
        "import sys; from perf.cli import main; code = main(sys.argv[1:]); "
        "assert not {'jax', 'torch', 'cupti'} & set(sys.modules); sys.exit(code)"
    )
    command = [sys.executable, "-c", code, "compare", files["base"], files["slow"]]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
