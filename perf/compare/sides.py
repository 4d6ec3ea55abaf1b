"""One side of a comparison from its record files: what may be pooled, and what looks wrong about two sides.

Imports neither jax nor torch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perf.compare.engine import Analysis, analyse, compare
from perf.compare.pairing import CompareError, Pairing, mismatch, pair
from perf.compare.thresholds import Thresholds
from perf.compare.verdict import Comparison
from perf.environment import machine_info
from perf.records.schema import Environment, KeyRecord, Outcome, ProcessRun
from perf.records.store import Record, load
from perf.selection import Selection


@dataclass(frozen=True, kw_only=True)
class FileSide:
    """The files of one side, pooled.

    Args:
        records: Every key once, with the process runs of all files.
        outcomes: What became of the keys that were asked for; the worst of the files where they differ.
        partial: Why files do not hold all that was selected; empty when they do.
        complete: Whether some file holds all that was selected, so that a missing key is a loss.
    """

    files: tuple[Record, ...]
    records: tuple[KeyRecord, ...]
    outcomes: dict[str, Outcome]
    partial: tuple[str, ...]
    complete: bool

    @property
    def environment(self) -> Environment:
        """The first file's; the others' stacks are equal."""
        return self.files[0].session.environment

    @property
    def machine(self) -> str:
        """Which machine, or machines, the process runs were taken on."""
        found = {_machine(file.session.environment) for file in self.files}
        return ", ".join(sorted(found))

    @property
    def runs(self) -> Iterator[ProcessRun]:
        """All process runs of all keys."""
        return (run for record in self.records for run in record.processes)


def read_side(paths: Sequence[Path], name: str) -> FileSide:
    """Read and pool the files of one side.

    Args:
        name: ``base`` or ``head``, for error texts.

    Raises:
        RecordError: A file cannot be used.
        CompareError: No file, files of different GPUs or stacks, a key that was taken in different ways, or
            the same process run twice.
    """
    if not paths:
        raise CompareError(f"{name}: expected a record file, found none")
    files = tuple(load(path) for path in paths)
    _refuse_other_stack(files, name)
    outcomes = _worst_outcomes(files)
    failed = {key for key, outcome in outcomes.items() if outcome.outcome == "failed"}
    # A key that failed in one process run has no time: those where it passed prove nothing.
    records = tuple(record for record in _pooled(files, name) if record.key not in failed)
    return FileSide(
        files=files,
        records=records,
        outcomes=outcomes,
        partial=tuple(f"{file.path}: {file.session.partial}" for file in files if file.session.partial),
        complete=any(file.session.partial is None for file in files),
    )


def _refuse_other_stack(files: Sequence[Record], name: str) -> None:
    first = files[0]
    for file in files[1:]:
        before, now = (machine_info(f.session.environment) for f in (first, file))
        odd = [field for field in before if before[field] != now.get(field)]
        if odd:
            raise CompareError(
                f"{name}: {file.path} has another {odd[0]} than {first.path}: "
                f"{now.get(odd[0])} instead of {before[odd[0]]}; one side is one stack"
            )


_BADNESS = ("measured", "known-failure", "unsupported", "failed")


def _worst_outcomes(files: Sequence[Record]) -> dict[str, Outcome]:
    worst: dict[str, Outcome] = {}
    for outcome in (outcome for file in files for outcome in file.session.outcomes):
        before = worst.get(outcome.key, outcome)
        worst[outcome.key] = max(before, outcome, key=lambda o: _BADNESS.index(o.outcome))
    return worst


def _pooled(files: Sequence[Record], name: str) -> Iterator[KeyRecord]:
    listed: dict[str, list[KeyRecord]] = {}
    for file in files:
        for key, record in file.keys.items():
            listed.setdefault(key, []).append(record)
    for records in listed.values():
        yield records[0] if len(records) == 1 else _one(records, name)


def _one(records: Sequence[KeyRecord], name: str) -> KeyRecord:
    first = records[0]
    for record in records[1:]:
        if odd := mismatch(first, record):
            raise CompareError(f"{name}: {first.key}: the files cannot be pooled: {odd.text}")
    runs = [run for record in records for run in record.processes]
    if len(_identities(runs)) < len(runs):
        raise CompareError(f"{name}: {first.key}: the same process run is in two files")
    return first.model_copy(update={"processes": runs})


def _identities(runs: Sequence[ProcessRun]) -> set[tuple[float, ...]]:
    return {(run.at_unix_s, *run.data_s) for run in runs}


def _machine(environment: Environment) -> str:
    return environment.gpu.uuid if environment.gpu else environment.machine


@dataclass(frozen=True, kw_only=True)
class Question:
    """Two sides of one GPU model, and the rule that judges them."""

    base: FileSide
    head: FileSide
    thresholds: Thresholds

    @property
    def asked(self) -> tuple[KeyRecord, ...]:
        """The base's keys that some file of the head was asked for; the others are no loss."""
        stored = [file.session.selected for file in self.head.files]
        selections = [Selection.of(selected) for selected in stored if selected]
        if len(selections) < len(stored):
            return self.base.records
        return tuple(r for r in self.base.records if any(s.asks_for(r.key) for s in selections))

    def comparison(self, *, look: int = 1, looks: int = 1) -> Comparison:
        """Judge all keys that the head was asked for.

        Args:
            look: This is the look-th of at most ``looks`` comparisons, each with more process runs.
        """
        return compare(
            self.asked,
            self.head.records,
            thresholds=self.thresholds,
            base_machine=self.base.machine,
            head_machine=self.head.machine,
            head_partial=not self.head.complete,
            head_outcomes=self.head_outcomes,
            look=look,
            looks=looks,
        )

    def analysis(self) -> Analysis | None:
        """Everything that the verdicts rest on; None when no key is on both sides."""
        pairing = self.pairing()
        if not pairing.base:
            return None
        same = self.base.machine == self.head.machine
        return analyse(pairing, thresholds=self.thresholds, same_machine=same, look=1, looks=1)

    def pairing(self) -> Pairing:
        """Which keys are on both sides, and what the others mean."""
        return pair(
            self.asked,
            self.head.records,
            head_outcomes=self.head_outcomes,
            head_partial=not self.head.complete,
        )

    @property
    def head_outcomes(self) -> dict[str, Outcome]:
        """The head's outcomes without the failures that the base has as well: those are no news."""
        before = {key for key, outcome in self.base.outcomes.items() if outcome.outcome == "failed"}
        return {
            key: outcome
            for key, outcome in self.head.outcomes.items()
            if not (outcome.outcome == "failed" and key in before)
        }


def ask(base: Sequence[Path], head: Sequence[Path], *, thresholds: Thresholds) -> Question:
    """Read both sides.

    Raises:
        RecordError: A file cannot be used.
        CompareError: The files of a side do not belong together, or the sides are of different GPUs.
    """
    question = Question(
        base=lean(read_side(base, "base")), head=lean(read_side(head, "head")), thresholds=thresholds
    )
    slugs = question.base.environment.slug, question.head.environment.slug
    if slugs[0] != slugs[1]:
        raise CompareError(f"the base is from {slugs[0]}, the head from {slugs[1]}: they cannot be compared")
    return question


def lean(side: FileSide) -> FileSide:
    """Without the files as they were written: half of the memory, and a comparison needs none of it."""
    return replace(side, files=tuple(replace(file, raw={}) for file in side.files))


def warnings(question: Question) -> list[str]:
    """What looks wrong about the two sides without making them unusable."""
    return [
        *_swapped(question.base, question.head),
        *_shared(question.base, question.head),
        *(f"partial run, keys missing from it are no losses: {text}" for text in question.head.partial),
        *(f"partial base, keys missing from it are not compared: {text}" for text in question.base.partial),
        *_other_machine(question.base, question.head),
        *_not_asked(question),
    ]


def _not_asked(question: Question) -> Iterator[str]:
    left = len(question.base.records) - len(question.asked)
    if left:
        yield f"the head was asked for fewer keys: {left} keys of the base are left out"


def _swapped(base: FileSide, head: FileSide) -> Iterator[str]:
    base_kinds, head_kinds = ({file.session.kind for file in side.files} for side in (base, head))
    if head_kinds == {"baseline"} and "run" in base_kinds:
        yield "are the sides swapped? the head is a baseline, the base is a run"
        return
    oldest_base = min((run.at_unix_s for run in base.runs), default=0.0)
    newest_head = max((run.at_unix_s for run in head.runs), default=0.0)
    if newest_head and oldest_base > newest_head:
        yield "are the sides swapped? everything in the base was measured after the head"


def _shared(base: FileSide, head: FileSide) -> Iterator[str]:
    """The same file on both sides, or a copy: what is on both cannot differ."""
    mine = {record.key: _identities(record.processes) for record in base.records}
    shared = sum(len(_identities(r.processes) & mine.get(r.key, set())) for r in head.records)
    if shared:
        yield f"{shared} process runs are on both sides: they are compared with themselves"


def _other_machine(base: FileSide, head: FileSide) -> Iterator[str]:
    if base.machine != head.machine:
        yield (
            "the sides are from different machines of one model: the spread between machines is part of "
            "the noise, so only larger changes can be found"
        )
