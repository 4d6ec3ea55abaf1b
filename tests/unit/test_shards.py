"""Shards: every key in exactly one, of about equal cost, and together the whole again."""

from dataclasses import replace
from pathlib import Path

import pytest

from perf.grids import entries
from perf.merge import merged
from perf.records.schema import Selected, Shard
from perf.records.store import Record, RecordError, load
from perf.selection import SelectionError, select
from perf.shards import cost_s, split

GOLDEN = load(Path(__file__).parents[1] / "data" / "record-schema-1.json")
GATE = tuple(entry for entry in entries() if "gate" in entry.tags)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_every_key_is_in_one_shard(count: int) -> None:
    """Nothing is lost, nothing measured twice, and a case stays whole."""
    shards = split(GATE, count)
    assert sorted(str(e.key) for shard in shards for e in shard) == sorted(str(e.key) for e in GATE)
    cases = [{entry.case for entry in shard} for shard in shards]
    assert sum(map(len, cases)) == len(set().union(*cases))


def test_shards_cost_about_the_same() -> None:
    """The costliest case apart, no shard waits long for another."""
    loads = [sum(cost_s(case, shard) for case in {e.case for e in shard}) for shard in split(GATE, 4)]
    assert max(loads) < 1.1 * min(loads)


def _selected(shard: str) -> set[str]:
    chosen = select(
        tags="gate",
        default_tag="gate",
        backends=None,
        directions=None,
        case=None,
        shard=shard,
        known_backends=(),
    )
    return {str(entry.key) for entry in chosen.entries()}


def test_the_order_of_the_grids_decides_nothing() -> None:
    """Two machines whose grids list the same keys in another order deal the same shards."""
    forward = [{str(e.key) for e in shard} for shard in split(GATE, 3)]
    assert [{str(e.key) for e in shard} for shard in split(reversed(GATE), 3)] == forward
    assert _selected("2/3") == forward[1]


@pytest.mark.parametrize("given", ["0/2", "3/2", "1", "a/b", "1/0"])
def test_a_wrong_shard_is_refused(given: str) -> None:
    """The form is in the text, with what was found."""
    with pytest.raises(SelectionError, match=f"--shard: expected I/N .* found '{given}'"):
        _selected(given)


def test_more_shards_than_cases_is_refused() -> None:
    """An empty shard would be a green run of nothing."""
    with pytest.raises(SelectionError, match=r"--shard: 5000 shards of [0-9]+ cases: some are empty"):
        _selected("5000/5000")


def _shard(number: int, count: int = 2, **environment: str) -> Record:
    """The golden record's n-th key as a shard."""
    key = list(GOLDEN.keys)[number - 1]
    selected = Selected(
        tags=["full"],
        backends=[],
        directions=[],
        case="*",
        keys=None,
        shard=Shard(number=number, count=count),
    )
    here = GOLDEN.session.environment.model_copy(update=environment)
    session = GOLDEN.session.model_copy(update={"selected": selected, "environment": here})
    raw = GOLDEN.raw | {"benchmarks": [GOLDEN.raw["benchmarks"][number - 1]]}
    return replace(
        GOLDEN, path=Path(f"{number}.json"), session=session, keys={key: GOLDEN.keys[key]}, raw=raw
    )


def test_shards_together_are_the_whole() -> None:
    """Keys in the order of the shards, whatever the order of the files; the host may be another."""
    whole = merged([_shard(2, machine="x86_64, another"), _shard(1)])
    assert whole["benchmarks"] == GOLDEN.raw["benchmarks"]
    assert whole["perf"]["selected"]["shard"] is None


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([_shard(1)], "expected 2 shards, found 1: missing 2"),
        ([_shard(1), _shard(1)], "shard 1 again; 1.json has it"),
        ([_shard(1), _shard(2, count=3)], "expected 3 shards, found 2: missing 3"),
        ([_shard(1), _shard(2, driver="1.2")], "2.json: another stack than 1.json: driver: .* → 1.2"),
        ([GOLDEN], "selected.shard: expected a shard, found a whole run"),
    ],
)
def test_what_does_not_fit_is_refused(records: list[Record], said: str) -> None:
    """Missing, doubled, of another stack, or no shard."""
    with pytest.raises(RecordError, match=said):
        merged(records)
