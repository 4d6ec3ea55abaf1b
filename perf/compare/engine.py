"""`compare`: from two lists of records to verdicts, worst first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from perf.compare.decide import Decision, Limits, Plan, decide, limits
from perf.compare.findings import findings, kernel_lists
from perf.compare.pairing import Pairing, pair
from perf.compare.samples import LOW, MIDDLE, Array, Index, Side, held_back, side
from perf.compare.shift import machine_offset, whole_shift
from perf.compare.spread import Spread, estimate
from perf.compare.thresholds import BackendClass, Thresholds
from perf.compare.verdict import Code, Comparison, Finding, Kind, Reason, Verdict, WholeShift
from perf.compare.wording import Seen, relative, sentence
from perf.records.schema import KeyRecord, Outcome


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """Everything that the verdicts of the paired keys rest on; one row a pair."""

    pairing: Pairing
    classes: tuple[BackendClass, ...]
    held_back: NDArray[np.bool_]
    base: Side
    head: Side
    limits: Limits
    spread: Spread
    plan: Plan
    decision: Decision
    shift: WholeShift | None


def compare(  # noqa: PLR0913  one call says all that a verdict depends on; all but the sides are named
    base: Sequence[KeyRecord],
    head: Sequence[KeyRecord],
    *,
    thresholds: Thresholds,
    base_machine: str | None,
    head_machine: str | None,
    head_partial: bool = False,
    head_outcomes: Mapping[str, Outcome] | None = None,
    look: int = 1,
    looks: int = 1,
) -> Comparison:
    """Compare two sides.

    Args:
        base: Every key once, the process runs of all files together.
        head: The same.
        base_machine: UUID of the GPU; None on a CPU.
        head_machine: If it is another one, the spread between machines is part of the noise.
        head_partial: The head did not ask for every key: a missing key is no loss.
        head_outcomes: What became of the keys that the head asked for and has no time of.
        look: This is the look-th of at most ``looks`` comparisons of the same head, each with more process
            runs. Pass all keys at every look, those that were not measured again as well.

    Raises:
        CompareError: A key occurs twice on a side.
    """
    pairing = pair(base, head, head_outcomes=head_outcomes or {}, head_partial=head_partial)
    if not pairing.base:
        return Comparison(verdicts=_worst_first(pairing.others), shift=None)
    analysis = analyse(
        pairing,
        thresholds=thresholds,
        same_machine=base_machine == head_machine,
        look=look,
        looks=looks,
    )
    verdicts = [_verdict(analysis, row) for row in range(len(pairing.base))]
    return Comparison(verdicts=_worst_first([*verdicts, *pairing.others]), shift=analysis.shift)


def analyse(
    pairing: Pairing, *, thresholds: Thresholds, same_machine: bool, look: int, looks: int
) -> Analysis:
    """Do all the statistics for the paired keys."""
    classes = tuple(
        thresholds.for_key(record.key, backend=record.backend, clock=record.clock) for record in pairing.base
    )
    low = held_back(pairing.base) | held_back(pairing.head)
    share = np.where(low, LOW, MIDDLE)
    base, head = side(pairing.base, share), side(pairing.head, share)
    bounds = limits(classes, same_machine=same_machine)
    spread = estimate(
        base, head, groups=_groups(pairing.base), typical=bounds.typical, tail_df=thresholds.tail_df
    )
    budget = thresholds.budget
    plan = Plan(
        thresholds=thresholds,
        keys=len(classes),
        look=look,
        looks=looks,
        full_runs=1 + (budget.looks - 1) * budget.processes_per_look,
    )
    change = head.centre - base.centre
    decided = partial(decide, base, head, spread=spread, limits=bounds, plan=plan)
    offset, shift = machine_offset(change, bounds.machine, [c.name for c in classes])
    decision = decided(offset=offset)
    if same_machine:
        clocks = _clocks(pairing.base, pairing.head)
        shift = whole_shift(change, decision.missed, interest=bounds.interest, clocks=clocks)
        if shift:
            decision = decided(offset=np.full(len(change), np.log1p(shift.change)))
    return Analysis(
        pairing=pairing,
        classes=classes,
        held_back=low,
        base=base,
        head=head,
        limits=bounds,
        spread=spread,
        plan=plan,
        decision=decision,
        shift=shift,
    )


def _groups(records: Sequence[KeyRecord]) -> Index:
    """Number every backend and clock: spreads are pooled within these."""
    names = [f"{record.backend} {record.clock}" for record in records]
    return np.unique(names, return_inverse=True)[1].astype(np.intp)


def _clocks(base: Sequence[KeyRecord], head: Sequence[KeyRecord]) -> Array:
    pairs = zip(base, head, strict=True)
    return np.array([np.log(_clock_hz(old) / _clock_hz(new)) for old, new in pairs])


def _clock_hz(record: KeyRecord) -> float:
    read = [run.gpu.sm_hz for run in record.processes if run.gpu and run.gpu.sm_hz > 0]
    return float(np.median(read)) if read else float("nan")


def _verdict(analysis: Analysis, row: int) -> Verdict:
    decision = analysis.decision
    base, head = analysis.pairing.base[row], analysis.pairing.head[row]
    found = findings(base, head, analysis.plan.thresholds)
    kind, reason = _kind(analysis, row)
    seen = Seen(
        change=relative(decision.change[row]),
        noise=relative(decision.noise[row]),
        detectable=relative(_detectable(analysis, row)),
        base_s=float(np.exp(analysis.base.centre[row])),
        head_s=float(np.exp(analysis.head.centre[row])),
        shared=relative(decision.offset[row]),
    )
    return Verdict(
        key=base.key,
        verdict=kind,
        reason=reason,
        text=_with_findings(sentence(kind, reason, seen), found),
        fails=kind is Kind.SLOWER or any(finding.fails for finding in found),
        change=seen.change,
        shared=seen.shared,
        noise=seen.noise,
        base_s=seen.base_s,
        head_s=seen.head_s,
        minimum_detectable=seen.detectable,
        base_runs=int(analysis.base.runs[row]),
        head_runs=int(analysis.head.runs[row]),
        kernels_base=_kernels(base),
        kernels_head=_kernels(head),
        findings=found,
    )


def _detectable(analysis: Analysis, row: int) -> float:
    """While a plan goes on, what it will not call same; at its end, what these process runs can show."""
    decision = analysis.decision
    detectable = float(decision.detectable[row])
    return detectable if analysis.plan.looks == 1 else min(detectable, float(decision.margin[row]))


def _kind(analysis: Analysis, row: int) -> tuple[Kind, Reason]:
    decision = analysis.decision
    if not (analysis.base.enough[row] and analysis.head.enough[row]):
        return Kind.UNDECIDED, Reason.TOO_FEW_SAMPLES
    change, own = decision.change[row], decision.change[row] - decision.offset[row]
    shifted = analysis.shift is not None and not analysis.shift.taken_out
    if decision.moved[row] and not (shifted and change * own < 0):
        return (Kind.SLOWER if own > 0 else Kind.FASTER), Reason.BEYOND_NOISE
    if shifted:
        return Kind.UNDECIDED, Reason.WHOLE_SHIFT
    if not decision.same[row]:
        return Kind.UNDECIDED, Reason.UNCLEAR
    real = abs(own) > decision.noise[row]
    return Kind.SAME, Reason.BELOW_INTEREST if real else Reason.WITHIN_NOISE


def _kernels(record: KeyRecord) -> tuple[str, ...]:
    """Kernel names of the process run whose list comes first in order."""
    return min(kernel_lists(record))


def _with_findings(text: str, found: Sequence[Finding]) -> str:
    told = [finding.text for finding in found if finding.fails or finding.code is Code.KERNELS]
    return "; ".join([text, *told])


_ORDER = (Kind.SLOWER, Kind.UNDECIDED, Kind.UNKNOWN, Kind.FASTER, Kind.SAME)


def _worst_first(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    def badness(verdict: Verdict) -> tuple[bool, int, float, str]:
        size = -(verdict.change or 0.0)
        return not verdict.fails, _ORDER.index(verdict.verdict), size, verdict.key

    return tuple(sorted(verdicts, key=badness))
