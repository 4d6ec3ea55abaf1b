"""Cases, keys and grids: names that stay, and what each tag holds."""

import re

import pytest

from perf.backends import BACKENDS, BY_NAME
from perf.cases import AttentionCase
from perf.grids import GRIDS, TAGS, entries


def _tagged(tag: str) -> set[str]:
    return {str(entry.key) for entry in entries() if tag in entry.tags}


def _case(**fields: object) -> AttentionCase:
    base = {"batch": 2, "q_len": 128, "kv_len": 256, "q_heads": 8, "kv_heads": 2, "head_dim": 64}
    return AttentionCase(**(base | {"dtype": "bfloat16", "mask": "causal"} | fields))  # type: ignore[arg-type]  # a table of fields


def test_an_id_is_made_of_the_fields() -> None:
    """Stored numbers are found by it for ever: the form must not change."""
    assert _case().id == "B2-T128-S256-N8-K2-H64-bf16-causal"
    assert _case(dtype="float8_e4m3fn", mask="none").id == "B2-T128-S256-N8-K2-H64-e4m3-none"
    assert _case(dtype="float16").id == "B2-T128-S256-N8-K2-H64-f16-causal"
    assert _case(dtype="float32").id == "B2-T128-S256-N8-K2-H64-f32-causal"


def test_every_field_is_in_the_id() -> None:
    """Two cases that differ in anything have two names."""
    changed = {"batch": 3, "q_len": 1, "kv_len": 1, "q_heads": 4, "kv_heads": 1, "head_dim": 8}
    others = [_case(**{name: value}).id for name, value in (changed | {"mask": "none"}).items()]
    assert len({_case().id, *others}) == 1 + len(others)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"batch": 0}, r"AttentionCase\.batch: expected at least 1, found 0"),
        ({"q_heads": 3}, r"q_heads: expected a multiple of kv_heads=2, found 3"),
    ],
)
def test_an_impossible_case_is_refused(fields: dict[str, object], said: str) -> None:
    """The field is named."""
    with pytest.raises(ValueError, match=said):
        _case(**fields)


def test_keys_are_unique_and_plain() -> None:
    """ASCII without blanks: they are shell words, file contents and table cells."""
    names = [str(entry.key) for entry in entries()]
    assert len(names) == len(set(names))
    assert [name for name in names if not re.fullmatch(r"[A-Za-z0-9_/-]+", name)] == []


def test_tags_contain_one_another() -> None:
    """Smoke is part of gate, gate of full; checks that nothing times are part of none."""
    assert _tagged("smoke") < _tagged("gate") < _tagged("full")
    assert _tagged("correctness") - _tagged("full")
    assert 60 <= len(_tagged("gate")) <= 100
    assert len(_tagged("smoke")) <= 12


def test_the_gate_has_every_backend_and_direction() -> None:
    """What the gate does not run cannot stop a release."""
    gate = [entry.key for entry in entries() if "gate" in entry.tags]
    assert {key.backend for key in gate} == set(BY_NAME)
    assert {key.direction for key in gate} == {"forward", "backward", "training_step"}


def test_grids_name_known_backends_and_tags() -> None:
    """A misspelt name would be a key that never runs."""
    assert {name for grid in GRIDS for name in grid.backends} <= set(BY_NAME)
    assert {tag for grid in GRIDS for tag in grid.tags} <= set(TAGS)
    assert len({backend.name for backend in BACKENDS}) == len(BACKENDS)


@pytest.mark.parametrize("row", ["A1", "A3", "A4", "A5", "A6", "A7", "A8", "A11", "B1", "B2", "B3", "C1"])
def test_every_published_row_has_a_grid(row: str) -> None:
    """A source is named as its text's row; A1-A3 is a range."""
    sources = " ".join(grid.source.replace("A1-A3", "A1 A2 A3") for grid in GRIDS)
    assert re.search(rf"\b{row}\b", sources)


def test_gpt2_has_its_shape() -> None:
    """B4 N12 T1024 H64 in float16, causal."""
    key = "jax_cudnn/forward/B4-T1024-S1024-N12-K12-H64-f16-causal"
    assert key in _tagged("gpt2") & _tagged("gate")
