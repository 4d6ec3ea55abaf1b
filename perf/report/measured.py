"""A record seen by backend, direction and case, for tables that set backends side by side."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median

from perf.records.schema import KeyRecord
from perf.records.store import Record
from perf.units import kernel_name

Case = dict[str, str | int]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One key: the median of its process runs' medians, and what was read beside it."""

    key: str
    seconds: float
    flop_per_s: float
    temp_bytes: int
    compile_s: float
    sm_hz: float | None
    watt: float | None
    kernels: tuple[str, ...]


def measured(record: KeyRecord) -> Measured:
    """Of all process runs: medians, the last one's kernels."""
    seconds = median(median(run.data_s) for run in record.processes)
    states = [run.gpu for run in record.processes if run.gpu]
    names = [k.name for k in record.processes[-1].kernels if not k.name.startswith("[")]
    return Measured(
        key=record.key,
        seconds=seconds,
        flop_per_s=record.flop / seconds,
        temp_bytes=record.processes[-1].temp_bytes,
        compile_s=median(run.compile_s for run in record.processes),
        sm_hz=median(state.sm_hz for state in states) if states else None,
        watt=median(state.watt for state in states) if states else None,
        kernels=tuple(kernel_name(name) for name in names),
    )


class Side:
    """The keys of one or several records, found by what they are."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)
        self._keys = [key for record in self.records for key in record.keys.values()]

    def cases(self, wanted: Callable[[Case], bool], *, backend: str, direction: str) -> list[Case]:
        """The cases that a backend was measured on, in the record's order, each once."""
        mine = [k.case for k in self._keys if (k.backend, k.direction) == (backend, direction)]
        return [case for n, case in enumerate(mine) if wanted(case) and case not in mine[:n]]

    def find(self, backend: str, direction: str, case: Case) -> Measured | None:
        """One key; None when it was not measured."""
        for key in self._keys:
            if (key.backend, key.direction, key.case) == (backend, direction, case):
                return measured(key)
        return None

    def outcome(self, prefix: str) -> str | None:
        """What became of the first key with this prefix that was not measured, in the run's words."""
        outcomes = (o for record in self.records for o in record.session.outcomes)
        return next((f"{o.outcome}: {o.text}" for o in outcomes if o.key.startswith(prefix)), None)
