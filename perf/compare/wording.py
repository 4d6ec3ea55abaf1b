"""Numbers as people read them: times, changes, and one sentence a verdict."""

from perf.compare.verdict import Kind, Reason


def time_text(seconds: float) -> str:
    """A time with four digits and a fitting unit."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 1000:
            return f"{seconds * factor:.4g} {unit}"
    return f"{seconds:.4g} s"


def percent(fraction: float) -> str:
    """A relative size with two digits: ``3.7 %``, ``0.12 %``."""
    digits = 2 if abs(fraction) < 0.00995 else 1 if abs(fraction) < 0.0995 else 0
    return f"{fraction * 100:.{digits}f} %"


def change_text(change: float) -> str:
    """``3.7 % slower`` or ``1.2 % faster``."""
    return f"{percent(abs(change))} {'slower' if change > 0 else 'faster'}"


def sentence(
    kind: Kind,
    reason: Reason,
    *,
    change: float,
    base_s: float,
    head_s: float,
    noise: float,
    detectable: float,
) -> str:
    """One sentence that can be read without the others."""
    times = f"{time_text(base_s)} → {time_text(head_s)}"
    if reason is Reason.WHOLE_SHIFT:
        return f"{change_text(change)} as all keys are ({times}): the machine, not this key"
    if reason is Reason.TOO_FEW_SAMPLES:
        return f"too few samples to judge ({times})"
    if kind is Kind.UNDECIDED:
        return (
            f"undecided: looks {change_text(change)} ({times}), chance alone makes up to "
            f"{percent(noise)}; more process runs are needed"
        )
    if reason is Reason.BELOW_INTEREST:
        return f"same: {change_text(change)} ({times}) is too little to matter"
    if kind is Kind.SAME:
        return f"same ({times}); a change of {percent(detectable)} would have been seen"
    return f"{change_text(change)} ({times}); chance alone makes up to {percent(noise)}"
