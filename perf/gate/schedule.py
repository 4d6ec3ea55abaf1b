"""The two sides in turn, until every key is decided or the plan is at its end.

Base, head, head, base, …: what drifts slowly (temperature, a neighbour, the clock) meets both sides alike.
Each pair of process runs takes the cases in the same shuffled order, so that a case follows the same
neighbours on both sides.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perf.compare import Comparison, Reason, Thresholds
from perf.compare.sides import Question, lean
from perf.gate.side import Side

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is known when the gate ends."""

    question: Question
    comparison: Comparison


def settle(base: Side, head: Side, keys: Sequence[str], *, thresholds: Thresholds, say: Say) -> Answer:
    """Measure and compare, then measure again what is undecided, as often as the plan allows.

    Raises:
        GateError: A side cannot be measured.
        KeyboardInterrupt: Ctrl-C; the process runs so far are in the folder.
    """
    budget, open_keys, start_s = thresholds.budget, list(keys), time.monotonic()
    for look in range(1, budget.looks + 1):
        for number in range(1, budget.processes_per_look + 1):
            _pair(base, head, open_keys, (look - 1) * budget.processes_per_look + number, say)
        answer = judged(base, head, thresholds, look=look)
        open_keys = [v.key for v in answer.comparison.verdicts if v.reason is Reason.UNCLEAR]
        spent_s = time.monotonic() - start_s
        say(f"look {look} of {budget.looks} after {spent_s:.0f} s: {len(open_keys)} keys undecided")
        if not open_keys or spent_s > budget.seconds:
            break
    return answer


def _pair(base: Side, head: Side, keys: Sequence[str], number: int, say: Say) -> None:
    """One process run of each side; which goes first alternates."""
    for side in (base, head) if number % 2 else (head, base):
        lacking = side.lacking(keys, number)
        if lacking:
            say(f"process run {number}, {side.name}, {len(lacking)} keys{_left(side, lacking)} …")
        side.fill(keys, number, order_seed=number, say=say)


def _left(side: Side, keys: Sequence[str]) -> str:
    return f", about {side.estimate_s * len(keys):.0f} s" if side.estimate_s else ""


def judged(base: Side, head: Side, thresholds: Thresholds, *, look: int) -> Answer:
    """Compare everything measured so far."""
    question = Question(base=lean(base.pooled()), head=lean(head.pooled()), thresholds=thresholds)
    budget = thresholds.budget
    return Answer(question=question, comparison=question.comparison(look=look, looks=budget.looks))
