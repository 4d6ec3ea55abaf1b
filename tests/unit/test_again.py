"""Process runs in fresh interpreters, and measuring undecided keys again."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_benchmark.stats import Metadata

from perf import again
from perf.again import settle
from perf.compare import Comparison, Kind, Reason, Verdict
from perf.compare.thresholds import Budget
from perf.process_run import measure_run
from perf.records.schema import Outcome
from perf.records.store import Record, RecordError, load
from perf.suite import Remeasured
from perf.suite import Suite as RealSuite

GOLDEN = Path(__file__).parents[1] / "data" / "record-schema-1.json"
ONE, TWO = load(GOLDEN).keys
BUDGET = Budget(looks=3, processes_per_look=2, seconds=100.0)


def _timed(key: str) -> Metadata:
    names = dict.fromkeys(("name", "fullname", "group", "param"), key)
    fixture = SimpleNamespace(params={}, extra_info={}, cprofile_stats=None, has_error=False, **names)
    timed = Metadata(fixture, 1, {})
    timed.update(1e-3)
    return timed


class Suite(SimpleNamespace):
    """As much of a session as measuring again needs: two measured keys."""

    def __init__(self, *, no_remeasure: bool = False) -> None:
        options = {"no_remeasure": no_remeasure}
        super().__init__(
            config=SimpleNamespace(getoption=options.get),
            records=dict(load(GOLDEN).keys),
            outcomes={},
            remeasured=Remeasured(),
            timed=[_timed(key) for key in (ONE, TWO)],
        )

    def benchmarks(self) -> list[Any]:
        """The host plug-in's own objects, one a key."""
        timed: list[Any] = self.timed
        return timed

    def discard(self, key: str) -> None:
        """What the session does."""
        RealSuite.discard(self, key)  # type: ignore[arg-type]  # as much of a session as is needed


def _compared(*undecided: str) -> Comparison:
    verdicts = [
        Verdict(
            key=key,
            verdict=Kind.UNDECIDED if key in undecided else Kind.SAME,
            reason=Reason.UNCLEAR if key in undecided else Reason.WITHIN_NOISE,
            text="",
            fails=False,
        )
        for key in (ONE, TWO)
    ]
    return Comparison(verdicts=tuple(verdicts), shift=None)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every process run that is taken, as the keys that it is asked for; each gives the golden record's."""
    runs: list[str] = []

    def process_run(_suite: object, keys: list[str], *, name: str) -> Record:
        runs.append(f"{name}: {' '.join(keys)}")
        whole = load(GOLDEN)
        return Record(
            path=whole.path,
            session=whole.session,
            keys={key: whole.keys[key] for key in keys},
            raw=whole.raw,
        )

    monkeypatch.setattr(again, "_process_run", process_run)
    return runs


def _settled(suite: Suite, looks: list[Comparison], budget: Budget = BUDGET) -> tuple[Comparison, list[str]]:
    """Settle with one prepared comparison a look; return the last, and which looks were made."""
    made: list[str] = []

    def decide(*, look: int, looks: int) -> Comparison:
        made.append(f"{look} of {looks}")
        return prepared.pop(0)

    prepared = list(looks)
    return settle(suite, decide, budget, say=lambda _: None), made  # type: ignore[arg-type]  # as much as is needed


def test_decided_keys_are_not_measured_again(taken: list[str]) -> None:
    """One look, no process run; the level is shared by the looks that might have been."""
    _, made = _settled(Suite(), [_compared()])
    assert (made, taken) == (["1 of 3"], [])


def test_only_undecided_keys_are_taken_again(taken: list[str]) -> None:
    """The number of process runs that the budget says, appended to those there were."""
    suite = Suite()
    _, made = _settled(suite, [_compared(ONE), _compared()])
    assert (made, taken) == (["1 of 3", "2 of 3"], [f"look-2-run-1: {ONE}", f"look-2-run-2: {ONE}"])
    assert [len(suite.records[key].processes) for key in (ONE, TWO)] == [6, 2]
    assert (suite.remeasured.keys, suite.remeasured.process_runs) == ({ONE}, 2)


def test_it_ends_at_the_last_look(taken: list[str]) -> None:
    """What is undecided then stays undecided."""
    found, made = _settled(Suite(), [_compared(ONE, TWO), _compared(ONE), _compared(ONE)])
    assert made == ["1 of 3", "2 of 3", "3 of 3"]
    assert len(taken) == 4
    assert found.undecided_keys == (ONE,)


def test_it_ends_when_the_time_is_spent(taken: list[str]) -> None:
    """No process run begins after the budget's seconds."""
    spent = Budget(looks=3, processes_per_look=2, seconds=0.0)
    found, made = _settled(Suite(), [_compared(ONE)], spent)
    assert (made, taken, found.undecided_keys) == (["1 of 3"], [], (ONE,))


def test_it_can_be_turned_off(taken: list[str]) -> None:
    """Then the one look has the whole level."""
    _, made = _settled(Suite(no_remeasure=True), [_compared(ONE)])
    assert (made, taken) == (["1 of 1"], [])


def test_a_key_that_fails_in_a_fresh_process_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that is passed now and then is not passed."""
    whole = load(GOLDEN)
    failed = Outcome(key=ONE, outcome="failed", code="wrong-output", text="wrong")
    session = whole.session.model_copy(update={"outcomes": [failed]})
    record = Record(path=whole.path, session=session, keys={}, raw=whole.raw)
    monkeypatch.setattr(again, "_process_run", lambda *_, **__: record)
    suite = Suite()
    _settled(suite, [_compared(ONE), _compared()])
    assert list(suite.records) == [TWO]
    assert suite.outcomes == {ONE: failed}
    assert [(timed.has_error, bool(timed)) for timed in suite.benchmarks()] == [(True, False), (False, True)]


def _ends_with(status: int, *, saves: bool) -> Callable[..., Any]:
    def run(command: list[str], **_: object) -> Any:
        target = next(word for word in command if word.startswith("--benchmark-json="))
        if saves:
            Path(target.removeprefix("--benchmark-json=")).write_bytes(GOLDEN.read_bytes())
        return SimpleNamespace(returncode=status)

    return run


@pytest.mark.parametrize("status", [0, 1])
def test_a_process_run_leaves_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    """Also when some keys failed: the others' samples are good."""
    monkeypatch.setattr(subprocess, "run", _ends_with(status, saves=True))
    assert list(measure_run(tmp_path / "run.json", []).keys) == [ONE, TWO]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (-9, "ended with signal 9"),
        (2, "ended with exit status 2"),
        (1, "ended without a record; it printed .*log.txt"),
    ],
)
def test_a_process_run_that_broke_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, said: str
) -> None:
    """A crash, an interruption, or no record: said, with where to read more; an older record is not taken."""
    (tmp_path / "run.json").write_bytes(GOLDEN.read_bytes())
    monkeypatch.setattr(subprocess, "run", _ends_with(status, saves=False))
    with pytest.raises(RecordError, match=said):
        measure_run(tmp_path / "run.json", [], log=tmp_path / "log.txt")
