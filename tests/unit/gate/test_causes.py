"""Which change and which release bring a slow-down, and what was accepted; measured by a stand-in."""

from collections.abc import Sequence
from datetime import date

import pytest

from perf.compare import Comparison, Kind, Reason, Verdict
from perf.gate.accepted import Accepted, excuse
from perf.gate.attribution import attribute
from perf.gate.plan import GateError, SideSpec
from perf.gate.releases import Range, first_slow

BASE = SideSpec(requirements=("jax==1", "cudnn==1"), variables={"XLA_FLAGS": "a"})
HEAD = SideSpec(requirements=("jax==2", "cudnn==2"), variables={"XLA_FLAGS": "b"})


def _slower(key: str, change: float = 0.03) -> Verdict:
    return Verdict(
        key=key, verdict=Kind.SLOWER, reason=Reason.BEYOND_NOISE, text=key, fails=True, change=change
    )


def test_one_change_two_changes_or_all() -> None:
    """A key is blamed on the smallest set of changes that makes it slow."""
    needs = {"one": {"cudnn==2"}, "two": {"jax==2", "b"}, "all": {"jax==2", "cudnn==2", "b"}}

    def measure(spec: SideSpec, keys: Sequence[str]) -> Comparison:
        has = {*spec.requirements, *spec.variables.values()}
        return Comparison(verdicts=tuple(_slower(k) for k in keys if needs[k] <= has), shift=None)

    blames = attribute(BASE, HEAD, list(needs), measure, say=lambda _: None)
    assert {b.key: [c.name for c in b.changes] for b in blames} == {
        "one": ["cudnn"],
        "two": ["jax", "XLA_FLAGS"],
        "all": ["jax", "cudnn", "XLA_FLAGS"],
    }


def test_each_key_has_its_own_first_slow_release() -> None:
    """Groups part where their keys differ."""
    since = {"a": "2", "b": "4", "c": "5"}
    found = first_slow(["1", "2", "3", "4", "5"], list(since), lambda r, ks: {k for k in ks if since[k] <= r})
    assert found == since


def test_a_range_of_releases() -> None:
    """Ordered as versions are, both ends there."""
    over = Range.parse("jax", "0.9.2..0.10.1")
    assert over.among(["0.10.1", "0.10.0", "0.9.2", "0.8.0"]) == ["0.9.2", "0.10.0", "0.10.1"]
    with pytest.raises(GateError, match=r"jax 0\.10\.1 cannot be had"):
        over.among(["0.9.2"])
    with pytest.raises(GateError, match="older first"):
        Range.parse("jax", "0.10.1..0.9.2")


@pytest.mark.parametrize(
    ("change", "today", "fails", "faults"),
    [(0.03, 1, False, 0), (0.06, 1, True, 1), (0.03, 2, True, 1)],
)
def test_acceptance_has_a_size_and_a_last_day(change: float, today: int, fails: bool, faults: int) -> None:  # noqa: FBT001 - a column
    """More than was accepted fails, and so does an entry that excuses nothing or has expired."""
    entry = Accepted(key="k/*", at_most=0.05, expires=date(2027, 1, 2), reason="r", by="me")
    comparison = Comparison(verdicts=(_slower("k/a", change),), shift=None)
    found = excuse(comparison, [entry], {}, today=date(2027, 1, today))
    assert (found.comparison.verdicts[0].fails, len(found.faults)) == (fails, faults)
    assert found.exit_code == int(fails)
