"""Which keys the options mean, and what a misspelt one gets."""

from pathlib import Path

import pytest

from perf.backends import BY_NAME
from perf.selection import Selection, SelectionError, listed, select


def _select(**options: str) -> Selection:
    given = {"tags": None, "backends": None, "directions": None, "case": None} | options
    return select(default_tag="smoke", known_backends=BY_NAME, **given)


def _keys(selection: Selection) -> set[str]:
    return {str(entry.key) for entry in selection.entries()}


def test_without_options_the_default_tag_is_meant() -> None:
    """Seconds on a CPU, the gate on a GPU: the caller says."""
    assert _keys(_select()) == _keys(_select(tags="smoke"))


def test_options_narrow_one_another() -> None:
    """Every option must hold; several names of one are alternatives."""
    found = _keys(_select(tags="gate", backends="jax_cudnn,jax_xla", directions="backward"))
    assert {key.split("/")[0] for key in found} == {"jax_cudnn", "jax_xla"}
    assert {key.split("/")[1] for key in found} == {"backward"}


@pytest.mark.parametrize("glob", ["B4-T128-*-bf16-causal", "jax_xla/forward/*-bf16-causal"])
def test_a_glob_is_tried_on_the_case_and_on_the_key(glob: str) -> None:
    """Either is how people write it."""
    assert "jax_xla/forward/B4-T128-S128-N8-K8-H64-bf16-causal" in _keys(_select(case=glob))


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("tags", "smok", "--tags: expected names among smoke, gate"),
        ("tags", "", "--tags: expected names among"),
        ("backends", "jax_xla,cudnn", "--backends: expected names among .*; found 'cudnn'"),
        ("directions", "back", "--direction: expected names among forward, backward, training_step"),
        ("case", " ", "--case: expected a glob"),
    ],
)
def test_an_unknown_name_gets_the_valid_ones(option: str, value: str, said: str) -> None:
    """Also an empty value, as an unset variable gives: it does not mean all."""
    with pytest.raises(SelectionError, match=said):
        _select(**{option: value})


def test_nothing_selected_is_an_error() -> None:
    """A run of nothing is no pass."""
    with pytest.raises(SelectionError, match=r"no key matches .*case='\*T3\*'"):
        _select(case="*T3*").entries()


def test_a_file_of_keys_selects_exactly_these(tmp_path: Path) -> None:
    """Of any tag, one a line."""
    key = "jax_cudnn/forward/B32-T512-S512-N32-K32-H64-bf16-causal"
    path = tmp_path / "keys.txt"
    path.write_text(f"{key}\n", encoding="ascii")
    assert _keys(listed(path)) == {key}


@pytest.mark.parametrize(("text", "said"), [("", "found none"), ("a/b/c\n", "1 unknown, first 'a/b/c'")])
def test_a_file_of_no_keys(tmp_path: Path, text: str, said: str) -> None:
    """Empty, or with a key that no grid has."""
    path = tmp_path / "keys.txt"
    path.write_text(text, encoding="ascii")
    with pytest.raises(SelectionError, match=said):
        listed(path)


def test_a_key_that_left_the_grids_counts_as_asked_for() -> None:
    """So that it shows as vanished; one of another tag or backend was not asked for."""
    gone = "jax_xla/forward/B4-T129-S129-N8-K8-H64-bf16-none"
    assert _select(tags="smoke").asks_for(gone)
    assert not _select(tags="smoke", backends="naive").asks_for(gone)
    assert not _select(tags="smoke").asks_for("jax_cudnn/forward/B2-T8192-S8192-N8-K8-H256-bf16-none")


def test_a_record_tells_its_selection() -> None:
    """What is stored gives back the same selection."""
    chosen = _select(tags="gate,blog", backends="naive", case="*T128*")
    assert Selection.of(chosen.stored()) == chosen


def test_spaces_and_order_of_names_change_nothing() -> None:
    """`--backends 'a, b'` is what people type; keys come in the order of the grids."""
    one, other = _select(backends=" naive , jax_xla"), _select(backends="jax_xla,naive")
    assert one.entries() == other.entries()


def test_a_glob_is_case_sensitive() -> None:
    """The same on every operating system."""
    with pytest.raises(SelectionError, match="no key matches"):
        _select(case="*t128*").entries()


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_of_keys_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    """Missing, or no text: the file is named."""
    path = tmp_path / "keys.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SelectionError, match=r"keys\.txt: cannot be read"):
        listed(path)
