"""The whole reasoning behind one key's verdict, in plain words: samples, spread, thresholds, each step.

Imports neither jax nor torch nor pytest.
"""

from collections.abc import Iterator
from difflib import get_close_matches

import numpy as np

from perf.compare import Comparison, Reason, Verdict
from perf.compare.decide import ORDERED
from perf.compare.engine import Analysis
from perf.compare.pairing import CompareError
from perf.compare.samples import LOW
from perf.compare.sides import Question
from perf.compare.spread import Spread
from perf.compare.wording import change_text, percent, relative
from perf.records.schema import KeyRecord, ProcessRun
from perf.units import kernel_name, seconds


def explain(question: Question, comparison: Comparison, key: str) -> str:
    """Explain one key.

    Raises:
        CompareError: Neither side has this key; the text names those that are spelt alike.
    """
    verdict = _verdict(comparison, key)
    lines = [key, f"{verdict.verdict.value} ({verdict.reason.value}): {verdict.text}"]
    for name, side in (("base", question.base), ("head", question.head)):
        record = next((record for record in side.records if record.key == key), None)
        lines += ["", *_side_lines(name, record)]
    analysis = question.analysis()
    rows = [] if analysis is None else [record.key for record in analysis.pairing.base]
    if analysis is None or key not in rows:
        return "\n".join([*lines, "", f"The times were not compared: {verdict.text}."])
    return "\n".join([*lines, "", *_steps(analysis, rows.index(key), verdict)])


def _verdict(comparison: Comparison, key: str) -> Verdict:
    by_key = {verdict.key: verdict for verdict in comparison.verdicts}
    if key in by_key:
        return by_key[key]
    close = get_close_matches(key, by_key, n=3, cutoff=0.5)
    hint = f"; close to it: {', '.join(close)}" if close else ""
    raise CompareError(f"no key {key!r} on either side{hint}")


def _side_lines(name: str, record: KeyRecord | None) -> Iterator[str]:
    if record is None:
        yield f"{name}: no times"
        return
    yield f"{name}: {len(record.processes)} process runs, {record.metric.name}, {record.clock} clock"
    yield from (f"  {number}. {_run_text(run)}" for number, run in enumerate(record.processes, 1))
    middle_s = float(np.exp(np.median([np.log(np.median(run.data_s)) for run in record.processes])))
    yield f"  median of these medians: {seconds(middle_s)}"


def _run_text(run: ProcessRun) -> str:
    low_s, middle_s, high_s = np.quantile(run.data_s, (0.0, 0.5, 1.0))
    parts = [
        f"median {seconds(middle_s)} of {len(run.data_s)} samples",
        f"{seconds(low_s)} to {seconds(high_s)}",
        "kernels " + (", ".join(kernel_name(kernel.name) for kernel in run.kernels) or "not seen"),
    ]
    if run.gpu:
        parts.append(f"{run.gpu.sm_hz / 1e6:.0f} MHz, {run.gpu.celsius:.0f} °C, {run.gpu.watt:.0f} W")
        parts += [f"clocks held back by {', '.join(run.gpu.throttle)}"] if run.gpu.throttle else []
    return "; ".join(parts)


def _steps(analysis: Analysis, row: int, verdict: Verdict) -> Iterator[str]:
    steps = (_change, _noise, _level, _interest, _order, _missed, _outcome)
    for number, step in enumerate(steps, 1):
        yield f"{number}. {step(analysis, row)}"
    exact = "; ".join(finding.text for finding in verdict.findings) or "nothing found"
    yield f"{len(steps) + 1}. Memory, kernels, numerical error and compile time: {exact}."


def _size(log_ratio: float) -> str:
    return percent(relative(log_ratio))


def _change(analysis: Analysis, row: int) -> str:
    change, offset = analysis.decision.change[row], analysis.decision.offset[row]
    text = f"Change: {change_text(relative(change))}, the ratio of {_statistic(analysis, row)}."
    if offset:
        text += (
            f" All keys of its kind share {change_text(relative(offset))}; "
            f"its own part is {change_text(relative(change - offset))}."
        )
    return text


def _statistic(analysis: Analysis, row: int) -> str:
    if analysis.held_back[row]:
        return (
            f"the two medians of {percent(LOW)} quantiles: the GPU held its clock back in part of the samples"
        )
    return "the two medians of medians"


def _noise(analysis: Analysis, row: int) -> str:
    spread = analysis.spread
    error, step = spread.error[row], max(analysis.base.step[row], analysis.head.step[row])
    text = (
        f"Spread between process runs: {_own_text(spread, row)}; pooled over its backend "
        f"{percent(spread.pooled[row])}; the two weighed, shrunk: {percent(spread.scale[row])}, "
        f"known up to a factor of {np.exp(spread.doubt[row]):.2f}. "
        f"From its samples a process run's median is known to {percent(error)}; "
        f"the clock's step is {percent(step)}."
    )
    machine = analysis.limits.machine[row]
    return text + (f" Between machines of the model: {percent(machine)} more." if machine else "")


def _own_text(spread: Spread, row: int) -> str:
    own = spread.own[row]
    return (
        f"this key's own {percent(own)}" if np.isfinite(own) else "this key's own unknown from one run a side"
    )


def _level(analysis: Analysis, row: int) -> str:
    plan = analysis.plan
    return (
        f"Level: {plan.thresholds.level.run:g} for a whole run, shared by {plan.keys} keys, "
        f"look {plan.look} of {plan.looks}: {plan.alarm:.2g} for this key. Chance alone makes up to "
        f"{_size(analysis.decision.noise[row])} at that level."
    )


def _interest(analysis: Analysis, row: int) -> str:
    limits = analysis.classes[row]
    passed = "passes" if analysis.decision.of_interest[row] else "does not pass"
    difference_s = abs(np.exp(analysis.head.centre[row]) - np.exp(analysis.base.centre[row]))
    return (
        f"Practical interest, class {limits.name!r}: at least {percent(limits.interest)} and "
        f"{limits.floor_us:g} µs. A difference of {seconds(float(difference_s))} {passed} both."
    )


def _order(analysis: Analysis, row: int) -> str:
    agreement = analysis.decision.agreement[row]
    enough = "enough" if agreement >= ORDERED else "too few: it may be two modes of the same program"
    return (
        f"Order: of all pairs of a base and a head process run, {percent(agreement)} lie in the order of the "
        f"change, at least {percent(ORDERED)} are asked for: {enough}."
    )


def _missed(analysis: Analysis, row: int) -> str:
    decision = analysis.decision
    return (
        f"May it be called same? A change of {_size(decision.margin[row])} must not be; it may look "
        f"{_size(decision.missed[row])} smaller than it is. "
        f"Anything beyond {_size(decision.suspicious[row])} is suspicious."
    )


def _outcome(analysis: Analysis, row: int) -> str:
    decision = analysis.decision
    found = f"The smallest change that these process runs could show is {_size(decision.detectable[row])}."
    if not (analysis.base.enough[row] and analysis.head.enough[row]):
        return f"So: {Reason.TOO_FEW_SAMPLES.value}. {found}"
    if decision.moved[row]:
        return f"So: of interest, above the noise and in order: it changed. {found}"
    if decision.same[row]:
        return f"So: not above the noise, and what must not be missed would have been seen: same. {found}"
    return f"So: neither clearly changed nor clearly the same; more process runs would tell. {found}"
