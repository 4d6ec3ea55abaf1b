"""Which keys can be compared at all, and what the others mean.

Everything asked for has an outcome: nothing is skipped silently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perf.compare.verdict import Kind, Reason, Verdict
from perf.records.schema import KeyRecord, Outcome


class CompareError(ValueError):
    """Input that cannot be compared; the text names the side and the key."""


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Pairs to compare, and the verdicts of the keys that form none."""

    base: tuple[KeyRecord, ...]
    head: tuple[KeyRecord, ...]
    others: tuple[Verdict, ...]


def pair(
    base: Sequence[KeyRecord],
    head: Sequence[KeyRecord],
    *,
    head_outcomes: Mapping[str, Outcome],
    head_partial: bool,
) -> Pairing:
    """Pair by key, in the order of the names so that the order of files cannot matter.

    Raises:
        CompareError: A key occurs twice on a side.
    """
    before, after = _by_key(base, "base"), _by_key(head, "head")
    pairs: list[tuple[KeyRecord, KeyRecord]] = []
    others: list[Verdict] = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old is None:
            others.append(_new(key))
        elif new is None:
            others.append(_gone(key, head_outcomes.get(key), head_partial=head_partial))
        elif odd := mismatch(old, new):
            others.append(odd)
        else:
            pairs.append((old, new))
    return Pairing(
        base=tuple(old for old, _ in pairs),
        head=tuple(new for _, new in pairs),
        others=tuple(others),
    )


def _by_key(records: Sequence[KeyRecord], side: str) -> dict[str, KeyRecord]:
    found: dict[str, KeyRecord] = {}
    for record in records:
        if record.key in found:
            raise CompareError(f"{side}: key {record.key!r} occurs twice")
        found[record.key] = record
    return found


def mismatch(base: KeyRecord, head: KeyRecord) -> Verdict | None:
    """Say in what way two records of a key cannot be compared; None when they can."""
    for reason, name in (
        (Reason.CLOCK_DIFFERS, "clock"),
        (Reason.METRIC_DIFFERS, "metric"),
        (Reason.METHOD_DIFFERS, "method"),
        (Reason.CASE_DIFFERS, "case"),
        (Reason.CASE_DIFFERS, "flop"),
    ):
        before, after = getattr(base, name), getattr(head, name)
        if before != after:
            text = f"not comparable: {name} is {_short(after)}, the base has {_short(before)}"
            return _unknown(base.key, reason, text, fails=False)
    return None


def _short(value: object) -> str:
    fields = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    if fields is None:
        return str(value)
    return ", ".join(f"{name} {field}" for name, field in fields.items())


def _new(key: str) -> Verdict:
    return _unknown(key, Reason.NEW, "new: the base has no such key", fails=False)


_LOST: dict[str, tuple[Reason, bool]] = {
    "unsupported": (Reason.UNSUPPORTED, True),
    "failed": (Reason.FAILED, True),
    "known-failure": (Reason.KNOWN_FAILURE, False),
}
"""A known failure is somebody's reviewed decision, written in a file; the others are losses."""


def _gone(key: str, outcome: Outcome | None, *, head_partial: bool) -> Verdict:
    if outcome is not None and outcome.outcome in _LOST:
        reason, fails = _LOST[outcome.outcome]
        text = f"in the base, now {outcome.outcome}: {outcome.code}: {outcome.text}"
        return _unknown(key, reason, text, fails=fails)
    if head_partial:
        text = "in the base, not measured now: the run is partial"
        return _unknown(key, Reason.NOT_SELECTED, text, fails=False)
    text = "vanished: in the base, not measured now, and nothing says why"
    return _unknown(key, Reason.VANISHED, text, fails=True)


def _unknown(key: str, reason: Reason, text: str, *, fails: bool) -> Verdict:
    return Verdict(key=key, verdict=Kind.UNKNOWN, reason=reason, text=text, fails=fails)
