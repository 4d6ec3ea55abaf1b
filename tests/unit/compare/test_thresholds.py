"""The thresholds file: strict, printable, and the same after a round trip."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from perf.backends import BACKENDS
from perf.cli import main
from perf.compare import ThresholdsError, dump_thresholds, load_thresholds

IN_FORCE = Path(__file__).parents[3] / "baselines" / "thresholds.toml"


def test_round_trip(tmp_path: Path, thresholds: Any) -> None:
    """What is printed reads back to the same value."""
    path = tmp_path / "copy.toml"
    path.write_text(dump_thresholds(thresholds), encoding="utf-8")
    assert load_thresholds(path) == thresholds


def test_every_number_has_its_reason() -> None:
    """Each number of the file in force carries a comment."""
    lines = IN_FORCE.read_text(encoding="utf-8").splitlines()
    bare = [line for line in lines if " = " in line and line.split(" = ")[1][0].isdigit() and "#" not in line]
    assert bare == []


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("schema = 1", "schema = 2", "schema"),
        ("run = 0.001", "run = 1.5", r"level\.run"),
        ("run = 0.001", "run = 0.001\nextra = 1", r"level\.extra"),
        ("looks = 3", "looks = 3.0", r"budget\.looks"),
        ("looks = 3", "looks = 0", r"budget\.looks"),
        ("interest = 0.01 ", "interest = -0.01 ", r"class\.0\.interest"),
        ("interest = 0.01 ", "interest = nan ", r"class\.0\.interest"),
        ("interest = 0.01 ", 'interest = "1%" ', r"class\.0\.interest"),
        ("fails = false", "fails = 0", r"compile_time\.fails"),
        ("[memory]", "[memry]", "memory"),
        ("[level]", "[level", "TOML"),
    ],
)
def test_strict(tmp_path: Path, old: str, new: str, field: str) -> None:
    """Another schema, an unknown or missing field, a wrong type or range names file and field."""
    text = IN_FORCE.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "spoiled.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ThresholdsError, match=field) as caught:
        load_thresholds(path)
    assert "spoiled.toml" in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    """A file that is not there is an error, never defaults."""
    with pytest.raises(ThresholdsError, match="cannot be read"):
        load_thresholds(tmp_path / "none.toml")


def test_first_class_and_every_override(tmp_path: Path) -> None:
    """The first matching class is in force; overrides whose glob matches replace its fields in order."""
    path = tmp_path / "more.toml"
    extra = '[[override]]\nkeys = "*/a"\ninterest = 0.2\n[[override]]\nkeys = "*"\nfloor_us = 7.0\n'
    path.write_text(IN_FORCE.read_text(encoding="utf-8") + extra, encoding="utf-8")
    found = load_thresholds(path)
    one = found.for_key("jax_cudnn/forward/a", backend="jax_cudnn", clock="device")
    other = found.for_key("naive/forward/b", backend="naive", clock="device")
    assert (one.name, one.interest, one.floor_us) == ("fused", 0.2, 7.0)
    assert (other.name, other.floor_us) == ("compiled", 7.0)
    assert found.for_key("jax_cudnn/forward/a", backend="jax_cudnn", clock="host").name == "host"


def test_no_class_matches(thresholds: Any) -> None:
    """A backend that no class covers is an error that names it."""
    fused = thresholds.model_copy(update={"classes": thresholds.classes[:1]})
    with pytest.raises(ThresholdsError, match="'naive'"):
        fused.for_key("naive/forward/a", backend="naive", clock="device")


def test_a_backend_is_judged_as_what_it_is(thresholds: Any) -> None:
    """One kernel of a library is judged closely; what XLA autotunes is not, and no glob is of no backend."""
    kinds = {
        backend.name: thresholds.for_key("a/b/c", backend=backend.name, clock="device").name
        for backend in BACKENDS
    }
    loose = {"naive", "jax_auto", "jax_xla", "tokamax_xla_chunked", "matmul_jax"}
    loose |= {name for name in kinds if name.startswith(("block_", "te_layer"))}
    assert {name for name, kind in kinds.items() if kind == "compiled"} == loose
    globs = (glob for one in thresholds.classes for glob in one.backends)
    assert [glob for glob in globs if not any(fnmatchcase(name, glob) for name in kinds)] == []


def test_command_prints_what_is_in_force(tmp_path: Path, capsys: Any, thresholds: Any) -> None:
    """`thresholds` prints the file in force, `--file` another, and a broken one ends with 2."""
    assert main(["thresholds"]) == 0
    assert capsys.readouterr().out == dump_thresholds(thresholds)
    path = tmp_path / "broken.toml"
    path.write_text("schema = 1\n", encoding="utf-8")
    assert main(["thresholds", "--file", str(path)]) == 2
    assert "broken.toml" in capsys.readouterr().err
