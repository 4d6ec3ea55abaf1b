"""What a run writes down as it goes, so that a crash loses nothing and says which key it was at."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from perf.records.schema import KeyRecord, Outcome


@dataclass(frozen=True, kw_only=True)
class Read:
    """What a journal holds.

    Args:
        records: Measured keys.
        outcomes: What became of each key that ended.
        open_key: The key that began and did not end; None when all did.
    """

    records: dict[str, KeyRecord] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    open_key: str | None = None


@dataclass(kw_only=True)
class Journal:
    """A file of one JSON object a line; an older run's is replaced by the first line."""

    path: Path
    begun: bool = False

    def started(self, key: str) -> None:
        """A key begins."""
        self._write("started", key)

    def measured(self, record: KeyRecord) -> None:
        """A key has its times."""
        self._write("record", record.model_dump(mode="json"))

    def ended(self, outcome: Outcome) -> None:
        """A key is done, whatever became of it."""
        self._write("outcome", outcome.model_dump(mode="json"))

    def _write(self, kind: str, value: object) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a" if self.begun else "w", encoding="ascii") as file:
            file.write(json.dumps({kind: value}) + "\n")
        self.begun = True


def read(path: Path) -> Read:
    """Read a journal; a last line that was cut off, as by a crash, is left out."""
    records: dict[str, KeyRecord] = {}
    outcomes: dict[str, Outcome] = {}
    open_key = None
    for kind, value in _lines(path):
        if kind == "started":
            open_key = str(value)
        elif kind == "record":
            record = KeyRecord.model_validate(value)
            records[record.key] = record
            outcomes[record.key] = Outcome(key=record.key, outcome="measured", code="measured", text="")
        else:
            outcome = Outcome.model_validate(value)
            outcomes[outcome.key], open_key = outcome, None
    return Read(records=records, outcomes=outcomes, open_key=open_key)


def _lines(path: Path) -> Iterator[tuple[str, object]]:
    if not path.exists():
        return
    for line in path.read_text(encoding="ascii").splitlines():
        try:
            ((kind, value),) = json.loads(line).items()
        except ValueError:
            return
        yield kind, value
