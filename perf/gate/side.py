"""One side of a gate while it is measured: which process runs there are, and what each key still lacks."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perf.compare.sides import FileSide, read_side
from perf.environment.examined import Examined
from perf.gate.attempt import Files, attempt
from perf.gate.interpreter import Interpreter
from perf.gate.plan import GateError
from perf.records.schema import Outcome
from perf.records.store import Record, load

HOPELESS = 3
"""So many process runs in a row that leave nothing: the side cannot be measured."""
NO_TIME = frozenset({"unsupported", "failed", "known-failure"})


@dataclass(kw_only=True)
class Side:
    """The process runs of one side, kept in the gate's folder.

    Args:
        seen: What the doctor saw before the first process run.
        runs: Process runs of every measured key.
        lost: What became of the keys that are not measured any more.
        troubles: How process runs ended that did not end as they should.
        spent_s: Wall time of the process runs.
        compiled_s: What compiling took of it.
        timed_s: Sum of all samples.
        estimate_s: Wall time of the last process run, a key.
    """

    interpreter: Interpreter
    seen: Examined
    folder: Path
    arguments: tuple[str, ...]
    timeout_s: float
    records: list[Path] = field(default_factory=list)
    runs: Counter[str] = field(default_factory=Counter)
    lost: dict[str, Outcome] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    spent_s: float = 0.0
    compiled_s: float = 0.0
    timed_s: float = 0.0
    estimate_s: float | None = None

    @property
    def name(self) -> str:
        """``base`` or ``head``."""
        return self.interpreter.name

    def take_up(self) -> None:
        """Count the process runs that a stopped gate left."""
        for path in sorted(self.folder.glob(f"{self.name}-[0-9][0-9].json")):
            self._note(load(path))

    def lacking(self, keys: Sequence[str], count: int) -> list[str]:
        """The keys of these that can be measured here and have fewer process runs."""
        return [key for key in keys if key not in self.lost and self.runs[key] < count]

    def fill(self, keys: Sequence[str], count: int, *, order_seed: int, say: Callable[[str], None]) -> None:
        """Take process runs until every key has so many; a key that ends its process is lost.

        Raises:
            GateError: Nothing can be measured here.
        """
        empty = 0
        while wanted := self.lacking(keys, count):
            empty = 0 if self._measured(wanted, order_seed, say) else empty + 1
            if empty == HOPELESS:
                raise GateError(f"{self.name}: {HOPELESS} process runs left nothing: {self.troubles[-1]}")

    def _measured(self, keys: Sequence[str], order_seed: int, say: Callable[[str], None]) -> bool:
        number = len(list(self.folder.glob(f"{self.name}-[0-9][0-9].keys.txt"))) + 1
        files = Files(record=self.folder / f"{self.name}-{number:02}.json")
        start_s = time.monotonic()
        done = attempt(
            self.interpreter,
            files,
            keys,
            [f"--order-seed={order_seed}", *self.arguments],
            environment=self.seen.environment,
            timeout_s=self.timeout_s,
        )
        took_s = time.monotonic() - start_s
        self.spent_s += took_s
        self.estimate_s = took_s / len(keys)
        if done.trouble:
            self.troubles.append(f"{files.record.stem}: {done.trouble}")
            say(f"{files.record.stem}: {done.trouble}")
        before = len(self.lost)
        if done.record:
            self._note(done.record)
        return done.record is not None and (bool(done.record.keys) or len(self.lost) > before)

    def _note(self, record: Record) -> None:
        self.records.append(record.path)
        self.runs.update(list(record.keys))
        for run in (run for key in record.keys.values() for run in key.processes):
            self.compiled_s += run.compile_s
            self.timed_s += sum(run.data_s)
        self.lost |= {o.key: o for o in record.session.outcomes if o.outcome in NO_TIME}

    def pooled(self) -> FileSide:
        """All process runs together.

        Raises:
            CompareError: They are of different stacks: something was changed meanwhile.
        """
        return read_side(self.records, self.name)
