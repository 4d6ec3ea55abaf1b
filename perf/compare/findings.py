"""The comparisons that need no statistics: memory, evidence, numerical error, compile time, host dispatch.

Where process runs of one side differ (an autotuner's choices), the sides differ only if no run of one is like
a run of the other.
"""

from fnmatch import fnmatchcase
from statistics import median

from perf.compare.thresholds import Thresholds
from perf.compare.verdict import Code, Finding
from perf.records.schema import KeyRecord, ProcessRun

FUSED_MARKS = ("fmha", "sdpa", "flash", "fused_attn")
"""Parts of the names of fused attention kernels and of the custom calls that start them."""


def kernel_lists(record: KeyRecord) -> set[tuple[str, ...]]:
    """The different kernel lists of a record's process runs."""
    return {tuple(kernel.name for kernel in run.kernels) for run in record.processes}


def findings(base: KeyRecord, head: KeyRecord, thresholds: Thresholds) -> tuple[Finding, ...]:
    """Everything that the exact comparisons found for one key."""
    found = (
        _memory(base, head, thresholds),
        _not_fused(base, head),
        _kernels(base, head),
        _error(base, head, thresholds),
        _compile_time(base, head, thresholds),
        _dispatch(base, head, thresholds),
    )
    return tuple(finding for finding in found if finding is not None)


def _grown(before: float, after: float, *, growth: float, floor: float) -> bool:
    """Relatively and absolutely: both must be passed."""
    return after > before * (1 + growth) and after - before > floor


def _memory(base: KeyRecord, head: KeyRecord, thresholds: Thresholds) -> Finding | None:
    before = max(run.temp_bytes for run in base.processes)
    after = min(run.temp_bytes for run in head.processes)
    limit = thresholds.memory
    if not _grown(before, after, growth=limit.growth, floor=limit.floor_bytes):
        return None
    text = f"temporary memory grew from {before / 1e6:.1f} MB to {after / 1e6:.1f} MB"
    return Finding(code=Code.MEMORY, fails=True, text=text)


def _is_fused(run: ProcessRun) -> bool:
    names = [*run.custom_calls, *(kernel.name for kernel in run.kernels)]
    return any(mark in name.lower() for name in names for mark in FUSED_MARKS)


def _not_fused(base: KeyRecord, head: KeyRecord) -> Finding | None:
    if not all(map(_is_fused, base.processes)) or all(map(_is_fused, head.processes)):
        return None
    text = f"not fused any more: {_names(base)} before, {_names(head)} now"
    return Finding(code=Code.NOT_FUSED, fails=True, text=text)


def _kernels(base: KeyRecord, head: KeyRecord) -> Finding | None:
    before, after = kernel_lists(base), kernel_lists(head)
    if before & after:
        return None
    before_names, after_names = set().union(*before), set().union(*after)
    if before_names == after_names:
        return Finding(code=Code.KERNELS, fails=False, text="the same kernels ran in another order or number")
    text = _kernels_text(old=before_names - after_names, new=after_names - before_names)
    if len(before) > 1:
        text += f" (already {len(before)} different lists in the base: an autotuner chooses)"
    return Finding(code=Code.KERNELS, fails=False, text=text)


def _kernels_text(*, old: set[str], new: set[str]) -> str:
    if not new:
        return f"other kernels ran: {_listed(old)} no more"
    if not old:
        return f"other kernels ran: {_listed(new)} as well"
    return f"other kernels ran: {_listed(new)} instead of {_listed(old)}"


def _listed(names: set[str]) -> str:
    shown = sorted(names)[:2]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return " and ".join(shown) + more


def _names(record: KeyRecord) -> str:
    """The longest-running kernel of the first process run, and how many others there are."""
    kernels = record.processes[0].kernels
    if not kernels:
        return "no kernel"
    longest = max(kernels, key=lambda kernel: kernel.s)
    return longest.name + (f" and {len(kernels) - 1} more" if len(kernels) > 1 else "")


def _errors(record: KeyRecord) -> dict[str, tuple[float, float]]:
    """Largest rms error of every quantity over the process runs, with its limit."""
    largest: dict[str, tuple[float, float]] = {}
    for run in record.processes:
        for error in run.errors:
            largest[error.quantity] = max(
                (error.rms, error.rms_limit), largest.get(error.quantity, (0.0, 0.0))
            )
    return largest


def _error(base: KeyRecord, head: KeyRecord, thresholds: Thresholds) -> Finding | None:
    before, limit = _errors(base), thresholds.error
    for quantity, (after, allowed) in _errors(head).items():
        earlier = before.get(quantity, (after, allowed))[0]
        if after > limit.factor * earlier and after > limit.share_of_limit * allowed:
            text = f"error of {quantity} grew from {earlier:.3g} to {after:.3g} (limit {allowed:.3g})"
            return Finding(code=Code.ERROR, fails=True, text=text)
    return None


def _compile_time(base: KeyRecord, head: KeyRecord, thresholds: Thresholds) -> Finding | None:
    before = max(run.compile_s for run in base.processes)
    after = min(run.compile_s for run in head.processes)
    limit = thresholds.compile_time
    if not _grown(before, after, growth=limit.growth, floor=limit.floor_s):
        return None
    text = f"compilation takes {after:.1f} s instead of {before:.1f} s"
    return Finding(code=Code.COMPILE_TIME, fails=limit.fails, text=text)


def _dispatch(base: KeyRecord, head: KeyRecord, thresholds: Thresholds) -> Finding | None:
    limit = thresholds.dispatch
    if base.clock != "device" or not any(fnmatchcase(base.key, glob) for glob in limit.keys):
        return None
    before = max(map(_host_us, base.processes))
    after = min(map(_host_us, head.processes))
    if not _grown(before, after, growth=limit.growth, floor=limit.floor_us):
        return None
    text = f"the host's share of a call is {after:.0f} µs instead of {before:.0f} µs"
    return Finding(code=Code.DISPATCH, fails=limit.fails, text=text)


def _host_us(run: ProcessRun) -> float:
    """What a call takes beside its kernels."""
    return (median(run.wall_s) - median(run.data_s)) * 1e6
