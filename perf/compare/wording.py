"""Numbers as people read them: times, changes, and one sentence a verdict."""

import math
from dataclasses import dataclass

from perf.compare.verdict import Kind, Reason
from perf.units import seconds

_DIGITS = ((0.00995, 2), (0.0995, 1))
"""Two significant digits, with the borders where rounding adds one."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The numbers of one key; relative sizes as fractions, times in seconds."""

    change: float
    base_s: float
    head_s: float
    noise: float
    detectable: float
    shared: float = 0.0


_MOST = 700.0
"""Logarithm of the largest ratio that is told apart; a float ends at 709."""


def relative(log_ratio: float) -> float:
    """``ratio - 1`` from the logarithm of a ratio, finite for any two times."""
    return math.expm1(min(log_ratio, _MOST))


def percent(fraction: float) -> str:
    """A relative size with two digits: ``3.7 %``, ``0.12 %``."""
    digits = next((digits for below, digits in _DIGITS if abs(fraction) < below), 0)
    return f"{fraction * 100:.{digits}f} %"


def change_text(change: float) -> str:
    """``3.7 % slower`` or ``1.2 % faster``."""
    return f"{percent(abs(change))} {'slower' if change > 0 else 'faster'}"


def sentence(kind: Kind, reason: Reason, seen: Seen) -> str:
    """One sentence that can be read without the others."""
    times = f"{seconds(seen.base_s)} → {seconds(seen.head_s)}"
    change = change_text(seen.change)
    if seen.shared:
        own = (1 + seen.change) / (1 + seen.shared) - 1
        change += f", {change_text(own)} beside what all keys share"
    if reason is Reason.WHOLE_SHIFT:
        return f"{change} as all keys are ({times}): the machine, not this key"
    if reason is Reason.TOO_FEW_SAMPLES:
        return f"too few samples to judge ({times})"
    if kind is Kind.UNDECIDED:
        return (
            f"undecided: looks {change} ({times}), chance alone makes up to {percent(seen.noise)}; "
            "more process runs are needed"
        )
    if reason is Reason.BELOW_INTEREST:
        return f"same: {change} ({times}) is too little to matter"
    if kind is Kind.SAME:
        return f"same ({times}); a change of {percent(seen.detectable)} would have been seen"
    return f"{change} ({times}); chance alone makes up to {percent(seen.noise)}"
