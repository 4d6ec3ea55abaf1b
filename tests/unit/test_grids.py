"""Cases, keys and grids: names that stay, and what each tag holds."""

import re
from collections import Counter

import pytest

from perf.backends import BACKENDS, BY_NAME
from perf.backends.base import Backend
from perf.cases import AttentionCase
from perf.grids import GRIDS, TAGS, Entry, entries


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
    # A search for block sizes finds others in other processes: its time says little of a release.
    searched = {"tokamax_mosaic_tuned", "tokamax_triton_tuned"}
    # They need no extra, so a release would wait for kernels that JAX ships as examples.
    examples = {"pallas_mosaic", "pallas_triton"}
    assert {key.backend for key in gate} == set(BY_NAME) - searched - examples
    assert {key.direction for key in gate} == {"forward", "backward", "training_step"}


def test_grids_name_known_backends_and_tags() -> None:
    """A misspelt name would be a key that never runs."""
    assert {name for grid in GRIDS for name in grid.backends} <= set(BY_NAME)
    assert {tag for grid in GRIDS for tag in grid.tags} <= set(TAGS)
    assert len({backend.name for backend in BACKENDS}) == len(BACKENDS)


def _rows(source: str) -> set[str]:
    """The rows that a source names: ``A1-A3, A5: …`` is A1, A2, A3 and A5."""
    head = source.split(":", maxsplit=1)[0]
    found = set(re.findall(r"\b[A-C]\d+\b", head))
    for kind, first, last in re.findall(r"\b([A-C])(\d+)-[A-C](\d+)\b", head):
        found |= {f"{kind}{number}" for number in range(int(first), int(last) + 1)}
    return found


ROWS = ("A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A11", "B1", "B2", "B3", "C1")


@pytest.mark.parametrize("row", ROWS)
def test_every_published_row_has_a_grid_of_the_gate(row: str) -> None:
    """A source is named as its text's row; A1-A3 is a range. No row is left out of the release gate."""
    assert [grid.name for grid in GRIDS if row in _rows(grid.source) and "gate" in grid.tags]


@pytest.mark.parametrize(
    ("backend", "dtype"),
    [("naive", "f32"), ("jax_xla", "f32"), ("jax_xla", "bf16"), ("jax_cudnn", "bf16")],
)
def test_the_sequence_sweep_is_complete(backend: str, dtype: str) -> None:
    """A6's four columns have all five lengths."""
    sweep = {f"{backend}/forward/B4-T{t}-S{t}-N8-K8-H64-{dtype}-none" for t in (64, 128, 256, 512, 1024)}
    assert sweep <= _tagged("gate")


@pytest.mark.parametrize(
    ("backend", "dtype"), [("jax_xla", "f32"), ("jax_xla", "bf16"), ("jax_cudnn", "bf16")]
)
def test_the_batch_sweep_is_complete(backend: str, dtype: str) -> None:
    """A7's three columns have all five batches; batch 4 is the sequence sweep's too."""
    sweep = {f"{backend}/forward/B{b}-T256-S256-N8-K8-H64-{dtype}-none" for b in (1, 2, 4, 8, 16)}
    assert sweep <= _tagged("gate")


@pytest.mark.parametrize(
    "key",
    [
        "naive/forward/B4-T128-S128-N8-K8-H64-f32-none",
        "jax_xla/training_step/B4-T128-S128-N8-K8-H64-bf16-causal",
        "jax_cudnn/forward/B2-T64-S64-N8-K1-H64-bf16-none",
        "jax_cudnn/forward/B4-T4096-S4096-N16-K16-H128-bf16-causal",
        "jax_cudnn/backward/B4-T4096-S4096-N16-K16-H128-bf16-causal",
        "jax_cudnn_fp8/forward/B2-T8192-S8192-N8-K8-H256-e4m3-none",
    ],
)
def test_golden_keys_of_the_gate(key: str) -> None:
    """Names that baselines are kept under; a renamed one would show as vanished everywhere."""
    assert key in _tagged("gate")


def test_a_case_id_names_one_case() -> None:
    """Two cases never share a name, and a case never has two."""
    pairs = {(entry.key.case_id, entry.case) for entry in entries()}
    assert len(pairs) == len({name for name, _ in pairs}) == len({case for _, case in pairs})


@pytest.mark.parametrize("tag", TAGS)
def test_no_tag_is_empty(tag: str) -> None:
    """A tag that selects nothing would be a gate that is green because nothing was measured."""
    assert _tagged(tag)


def test_grids_have_their_own_names() -> None:
    """A source that `list` prints is one grid."""
    assert [name for name, count in Counter(grid.name for grid in GRIDS).items() if count > 1] == []


def timed_by(backend: Backend) -> list[Entry]:
    """The keys of a backend that are timed."""
    return [e for e in entries() if e.key.backend == backend.name and "full" in e.tags]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.name))
def test_every_backend_is_checked_in_every_direction(backend: Backend) -> None:
    """A backend without these keys would be timed without any check of its gradients, mask or heads."""
    mine = [e for e in entries() if e.key.backend == backend.name and "correctness" in e.tags]
    assert {entry.key.direction for entry in mine} >= {e.key.direction for e in timed_by(backend)}
    cases = [entry.case for entry in mine if isinstance(entry.case, AttentionCase)]
    assert len(cases) == len(mine) or not cases
    if cases:
        assert {case.mask for case in cases} >= {"none", "causal"}
        assert {case.q_heads == case.kv_heads for case in cases} == {True, False}


def test_a_key_of_two_grids_has_both_sources_and_all_tags() -> None:
    """The default shape belongs to the codelab's table and to its sequence sweep, and is timed once."""
    key = "jax_xla/forward/B4-T128-S128-N8-K8-H64-bf16-none"
    (entry,) = [entry for entry in entries() if str(entry.key) == key]
    assert [source.split(":")[0] for source in entry.sources] == ["codelab-default", "codelab-sequence-bf16"]
    assert {"smoke", "gate", "full", "codelab"} <= entry.tags


def test_gpt2_has_its_shape() -> None:
    """B4 N12 T1024 H64 in float16, causal."""
    key = "jax_cudnn/forward/B4-T1024-S1024-N12-K12-H64-f16-causal"
    assert key in _tagged("gpt2") & _tagged("gate")
