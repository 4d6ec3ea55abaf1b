"""The words of a comparison: verdicts, reasons, findings, and the whole of them with its exit code.

Frozen values only; nothing here computes a statistic.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

EXIT_PASS = 0
EXIT_REGRESSION = 1
EXIT_UNDECIDED = 3


class Kind(StrEnum):
    """The five verdicts."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    UNDECIDED = "undecided"
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """Why a verdict is what it is."""

    BEYOND_NOISE = "beyond-noise"
    """The change is above the practical interest and above the noise at the run's level."""
    WITHIN_NOISE = "within-noise"
    """No change seen, and one of the minimum detectable size would have been."""
    BELOW_INTEREST = "below-interest"
    """A change may be real, but it is smaller than anybody should care about."""
    UNCLEAR = "unclear"
    """Neither clearly same nor clearly changed: more process runs would tell."""
    TOO_FEW_SAMPLES = "too-few-samples"
    """A side has no process run with enough samples to know the error of its median."""
    WHOLE_SHIFT = "whole-shift"
    """The key moved as all keys did: the machine is the likely cause, not this key."""
    CLOCK_DIFFERS = "clock-differs"
    """Device time on one side, host time on the other."""
    METRIC_DIFFERS = "metric-differs"
    """The numbers of the sides are of another kind, unit or direction."""
    METHOD_DIFFERS = "method-differs"
    """The numbers were taken in another way: another benchmark version, pacing, cache or inputs."""
    CASE_DIFFERS = "case-differs"
    """The same name stands for another computation."""
    NEW = "new"
    """Measured now, not in the base."""
    VANISHED = "vanished"
    """In the base, not measured now, and nothing says why."""
    UNSUPPORTED = "unsupported"
    """In the base; now refused as unsupported."""
    FAILED = "failed"
    """In the base; now its check or its run failed."""
    KNOWN_FAILURE = "known-failure"
    """In the base; now listed as a known failure."""
    NOT_SELECTED = "not-selected"
    """In the base; the head run is partial and did not ask for it."""


class Code(StrEnum):
    """What an exact comparison found."""

    MEMORY = "memory"
    """Temporary bytes grew."""
    NOT_FUSED = "not-fused"
    """A fused attention kernel ran in the base, none in the head."""
    KERNELS = "kernels"
    """Other kernels ran; the usual cause of a change, no failure by itself."""
    ERROR = "error"
    """The numerical error grew beyond its tolerance class."""
    COMPILE_TIME = "compile-time"
    """Compilation takes clearly longer."""
    DISPATCH = "dispatch"
    """The host's share of a call, beside its kernels, is clearly longer."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One exact comparison that found something."""

    code: Code
    fails: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One key's verdict with everything it rests on.

    Args:
        change: head/base - 1; None when the times were not compared.
        shared: Part of the change that all keys share (another machine); not held against this one.
        noise: The change that chance alone makes at this run's level, relative.
        base_s: Median of the process runs' medians.
        minimum_detectable: The smallest slow-down that is found 95 times in 100, relative.
        fails: Whether this key alone makes the run fail.
    """

    key: str
    verdict: Kind
    reason: Reason
    text: str
    fails: bool
    change: float | None = None
    shared: float = 0.0
    noise: float | None = None
    base_s: float | None = None
    head_s: float | None = None
    minimum_detectable: float | None = None
    base_runs: int = 0
    head_runs: int = 0
    kernels_base: tuple[str, ...] = ()
    kernels_head: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WholeShift:
    """All keys moved by the same amount.

    Args:
        change: head/base - 1, the middle of all keys.
        keys: How many keys moved with it.
        taken_out: Whether it was taken out of every key's change: always with another machine, where a
            difference is expected.
    """

    change: float
    keys: int
    taken_out: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Counts for the last line."""

    keys: int
    compared: int
    verdicts: dict[str, int]
    reasons: dict[str, int]
    failing: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All verdicts, worst first."""

    verdicts: tuple[Verdict, ...]
    shift: WholeShift | None

    @property
    def summary(self) -> Summary:
        """Counts by verdict and by reason."""
        return Summary(
            keys=len(self.verdicts),
            compared=sum(v.change is not None for v in self.verdicts),
            verdicts=dict(Counter(v.verdict.value for v in self.verdicts)),
            reasons=dict(Counter(v.reason.value for v in self.verdicts)),
            failing=sum(v.fails for v in self.verdicts),
        )

    @property
    def exit_code(self) -> int:
        """0 pass, 1 a key fails, 3 undecided, not comparable, or nothing compared."""
        if any(v.fails for v in self.verdicts):
            return EXIT_REGRESSION
        open_ends = any(_open_end(v) for v in self.verdicts)
        nothing = all(v.change is None for v in self.verdicts)
        return EXIT_UNDECIDED if open_ends or nothing else EXIT_PASS

    @property
    def undecided_keys(self) -> tuple[str, ...]:
        """The keys to measure again in fresh processes."""
        return tuple(v.key for v in self.verdicts if v.verdict is Kind.UNDECIDED)

    @property
    def minimum_detectable_text(self) -> str:
        """Of how many keys which change could have been seen."""
        sizes = [v.minimum_detectable for v in self.verdicts if v.minimum_detectable is not None]
        if not sizes:
            return "no key was compared"
        return _sizes_text(sizes)

    @property
    def stale_text(self) -> str | None:
        """Says that the baseline is slower than what is there now; None when it is not."""
        faster = [v for v in self.verdicts if v.verdict is Kind.FASTER]
        if not faster:
            return None
        most = min(v.change or 0.0 for v in faster)
        return (
            f"the baseline is stale: {len(faster)} of {self.summary.compared} keys are faster now, by up "
            f"to {-most:.1%}; until it is renewed, a loss of as much goes unseen"
        )


_EXPECTED_GAPS = frozenset({Reason.NEW, Reason.NOT_SELECTED, Reason.KNOWN_FAILURE})


def _open_end(verdict: Verdict) -> bool:
    if verdict.verdict is Kind.UNDECIDED:
        return True
    return verdict.verdict is Kind.UNKNOWN and verdict.reason not in _EXPECTED_GAPS


_SIZES = (0.01, 0.02, 0.05, 0.10, 0.20, 0.50)


def _sizes_text(sizes: list[float]) -> str:
    """``of 96 keys, 71 could show 2 %, 18 5 %, 7 only more than 50 %``."""
    parts: list[str] = []
    left = sorted(sizes)
    for limit in _SIZES:
        count = sum(size <= limit for size in left)
        left = left[count:]
        if count:
            parts.append(f"{count} {'' if parts else 'could show '}{limit * 100:.0f} %")
    if left:
        parts.append(f"{len(left)} only more than {_SIZES[-1] * 100:.0f} %")
    return f"of {len(sizes)} keys, " + ", ".join(parts)
