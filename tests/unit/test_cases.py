"""The case as a value: its sizes, its shapes, its name. The grids of cases are in ``test_grids.py``."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from perf.cases import AttentionCase, Key

DEFAULT = AttentionCase(
    batch=4, q_len=128, kv_len=256, q_heads=8, kv_heads=2, head_dim=64, dtype="bfloat16", mask="causal"
)


@pytest.mark.parametrize("name", ["batch", "q_len", "kv_len", "q_heads", "kv_heads", "head_dim"])
@pytest.mark.parametrize("value", [0, -4])
def test_a_size_below_one_is_refused(name: str, value: int) -> None:
    """The text names the field and the value."""
    change: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=rf"AttentionCase\.{name}: expected at least 1, found {value}"):
        replace(DEFAULT, **change)


def test_shapes_are_batch_length_heads_size() -> None:
    """Queries have the query's length and heads, keys the key's."""
    assert DEFAULT.query_shape == (4, 128, 8, 64)
    assert DEFAULT.key_shape == (4, 256, 2, 64)


def test_a_case_cannot_be_changed() -> None:
    """A case is a value: what was measured under its id stays what it says."""
    with pytest.raises(FrozenInstanceError):
        DEFAULT.batch = 8  # type: ignore[misc]  # the point of the test


def test_a_key_is_backend_direction_and_case() -> None:
    """The one name in ids, records, baselines and reports."""
    assert str(Key(backend="naive", direction="training_step", case_id="X")) == "naive/training_step/X"
