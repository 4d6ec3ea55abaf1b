"""What a run writes down as it goes."""

from pathlib import Path

from perf.journal import Journal, read
from perf.records.schema import Outcome
from perf.records.store import load

GOLDEN = load(Path(__file__).parents[1] / "data" / "record-schema-1.json")


def test_the_key_of_a_crash_is_the_one_that_did_not_end(tmp_path: Path) -> None:
    """Measured and failed keys are there; the last one began, and its line may be cut off."""
    journal = Journal(path=tmp_path / "new" / "journal.jsonl")
    record = next(iter(GOLDEN.keys.values()))
    journal.started(record.key)
    journal.measured(record)
    journal.ended(Outcome(key=record.key, outcome="measured", code="measured", text=""))
    journal.started("b/forward/c")
    journal.ended(Outcome(key="b/forward/c", outcome="failed", code="error", text="no"))
    assert read(journal.path).open_key is None
    journal.started("d/forward/e")
    with journal.path.open("a") as file:
        file.write('{"record": {"key": "d/for')
    found = read(journal.path)
    assert found.records == {record.key: record}
    assert [o.outcome for o in found.outcomes.values()] == ["measured", "failed"]
    assert found.open_key == "d/forward/e"


def test_a_journal_is_of_one_run(tmp_path: Path) -> None:
    """An older run's lines are gone with the first new one; no file means that nothing began."""
    path = tmp_path / "journal.jsonl"
    Journal(path=path).started("old/forward/case")
    Journal(path=path).started("new/forward/case")
    assert len(path.read_text().splitlines()) == 1
    assert read(tmp_path / "none.jsonl").open_key is None
