"""The verdict on times: planted changes with a known answer, and properties that must hold for all."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perf.compare import Comparison, Kind, Reason
from perf.records.schema import GpuState, KeyRecord

PROPERTY = settings(
    max_examples=25,
    deadline=None,  # the first example fills caches
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # the makers keep no state
)


def by_key(comparison: Comparison) -> dict[str, Any]:
    """Verdicts by key."""
    return {verdict.key: verdict for verdict in comparison.verdicts}


def slowed(record: KeyRecord, factor: float) -> KeyRecord:
    """The same key with all times longer."""
    runs = [run.model_copy(update={"data_s": [x * factor for x in run.data_s]}) for run in record.processes]
    return record.model_copy(update={"processes": runs})


@pytest.mark.parametrize(
    ("factor", "kind"), [(1.03, Kind.SLOWER), (1.2, Kind.SLOWER), (0.97, Kind.FASTER), (1.0, Kind.SAME)]
)
def test_planted_change_is_found(make: Any, judge: Any, factor: float, kind: Kind) -> None:
    """One key of twenty that changes by 3 % in five against five runs gets its verdict, no other does."""
    base, head = make.keys(), make.keys(at=50)
    head[3] = slowed(head[3], factor)
    verdicts = by_key(judge(base, head))
    changed = verdicts.pop(head[3].key)
    assert changed.verdict is kind
    assert changed.change == pytest.approx(factor - 1, abs=0.003)
    assert {verdict.verdict for verdict in verdicts.values()} == {Kind.SAME}


def test_slower_fails_and_faster_does_not(make: Any, judge: Any) -> None:
    """A slower key fails the run with exit code 1; a faster one passes and is called a stale baseline."""
    base, fast, slow = make.keys(), make.keys(at=50), make.keys(at=50)
    fast[0], slow[0] = slowed(fast[0], 0.9), slowed(slow[0], 1.1)
    assert judge(base, slow).exit_code == 1
    faster = judge(base, fast)
    assert faster.exit_code == 0
    assert "stale" in str(faster.stale_text)


def test_one_run_of_three_per_cent_is_measured_again(make: Any, judge: Any) -> None:
    """A single process run that is 3 % slower proves nothing and is not passed as same either."""
    base, head = make.keys(), make.keys(runs=1, at=50)
    head[3] = slowed(head[3], 1.03)
    comparison = judge(base, head, look=1, looks=3)
    assert comparison.undecided_keys == (head[3].key,)
    assert comparison.exit_code == 3


@pytest.mark.parametrize("runs", [(1, 1), (1, 5), (5, 1)])
def test_few_runs_never_call_five_per_cent_same(make: Any, judge: Any, runs: tuple[int, int]) -> None:
    """Too few process runs to see 5 % say so; they do not pass it as same."""
    base, head = make.keys(runs=runs[0]), make.keys(runs=runs[1], at=50)
    head[3] = slowed(head[3], 1.05)
    assert by_key(judge(base, head))[head[3].key].verdict in {Kind.UNDECIDED, Kind.SLOWER}


def test_a_single_run_finds_a_large_change(make: Any, judge: Any) -> None:
    """A factor of 1.5 needs no second opinion."""
    base, head = make.keys(), make.keys(runs=1, at=50)
    head[3] = slowed(head[3], 1.5)
    assert by_key(judge(base, head))[head[3].key].verdict is Kind.SLOWER


def test_two_modes_of_one_program_are_no_change(make: Any, judge: Any) -> None:
    """Where process runs of both sides lie in both of two modes, medians 3 % apart are no slow-down."""
    base, head = make.keys(), make.keys(at=50)
    base[0] = make.key(base[0].key, factors=(1.0, 1.0, 1.001, 1.0, 1.03))
    head[0] = make.key(base[0].key, factors=(1.03, 1.031, 1.03, 1.0, 1.03), at=50)
    assert by_key(judge(base, head))[base[0].key].verdict is Kind.UNDECIDED


def test_below_interest_is_same(make: Any, judge: Any) -> None:
    """A certain change of 0.4 % is too small for anybody to care."""
    factors = (1.0, 1.00001, 0.99999, 1.0, 1.0)
    base = [make.key(f"jax_cudnn/forward/{n}", factors=factors, middle_s=1e-2) for n in range(12)]
    head = [slowed(record, 1.004) for record in base]
    verdict = judge(base, head).verdicts[0]
    assert verdict.verdict is Kind.SAME


def test_microseconds_floor(make: Any, judge: Any, thresholds: Any) -> None:
    """Ten per cent of 50 to 400 microseconds count only above the floor in microseconds."""
    base, head = make.keys(), make.keys(at=50)
    head[3] = slowed(head[3], 1.1)
    for floor_us, kind in ((5.0, Kind.SLOWER), (20.0, Kind.SAME)):
        classes = [c.model_copy(update={"floor_us": floor_us}) for c in thresholds.classes]
        changed = thresholds.model_copy(update={"classes": classes})
        found = by_key(judge(base, head, thresholds=changed))[head[3].key].verdict
        assert (found is Kind.SLOWER) is (kind is Kind.SLOWER)


def test_a_clock_step_is_noise(make: Any, judge: Any) -> None:
    """Of times of 3 microseconds a clock that shows 32 nanoseconds tells no change of one per cent."""
    factors = [1.0] * 40
    base, head = (make.key(middle_s=3e-6, factors=factors, scatter=0.0, at=at) for at in (0, 50))
    assert judge([base], [head]).verdicts[0].noise > 0.032 / 3


def test_uneven_samples_are_noise(make: Any, judge: Any) -> None:
    """Samples that scatter by 5 % leave a median of 30 uncertain, even where process runs agree."""
    base, head = (make.key(factors=[1.0] * 5, scatter=0.05, at=at) for at in (0, 50))
    assert judge([base], [head]).verdicts[0].noise > 0.02


def test_a_suspicious_change_is_never_same(make: Any, judge: Any) -> None:
    """Six per cent in four of five runs of a compiled key, far above its noise, is measured again."""
    base = [make.key(f"jax_xla/forward/{n}") for n in range(10)]
    head = [make.key(f"jax_xla/forward/{n}", at=50) for n in range(10)]
    head[0] = make.key(head[0].key, factors=(1.06, 1.061, 1.06, 1.0595, 0.9985), at=50)
    assert by_key(judge(base, head))[head[0].key].verdict is Kind.UNDECIDED


def test_a_key_that_stayed_is_not_faster_than_its_machine(make: Any, judge: Any) -> None:
    """Where all keys lose 3 %, a key that loses a half is no improvement."""
    base, head = make.keys(1000), make.keys(1000, factor=1.03, at=50)
    head[7] = slowed(head[7], 1.005 / 1.03)
    assert by_key(judge(base, head))[head[7].key].verdict is Kind.UNDECIDED


def test_samples_at_full_clock_decide_where_it_was_held_back(make: Any, judge: Any) -> None:
    """Under the power cap half of the samples are slow at random; a 5 % slow-down shows in the fast ones."""

    def limited(name: str, factor: float, at: int) -> KeyRecord:
        rng = np.random.default_rng(at)
        gpu = GpuState(sm_hz=1.7e9, celsius=60.0, watt=700.0, throttle=["power-cap"])
        record: KeyRecord = make.key(name, middle_s=1e-3 * factor, at=at, gpu=gpu)
        runs = [
            run.model_copy(
                update={
                    "data_s": [x * 1.12 if rng.random() < rng.uniform(0.3, 0.7) else x for x in run.data_s]
                }
            )
            for run in record.processes
        ]
        return record.model_copy(update={"processes": runs})

    base, same, slow = make.keys(), make.keys(at=50), make.keys(at=50)
    key = base[0].key
    base[0], same[0], slow[0] = limited(key, 1.0, 1), limited(key, 1.0, 100), limited(key, 1.05, 100)
    assert by_key(judge(base, same))[key].verdict is Kind.SAME
    assert by_key(judge(base, slow))[key].verdict is Kind.SLOWER


@pytest.mark.parametrize("factor", [1.03, 0.97])
def test_whole_machine_shift_is_said_once(make: Any, judge: Any, factor: float) -> None:
    """A thousand keys moved by the same 3 % are one sentence about clocks, not a thousand alarms."""
    base, head = make.keys(1000), make.keys(1000, factor=factor, at=50)
    comparison = judge(base, head)
    assert comparison.shift is not None
    assert comparison.shift.change == pytest.approx(factor - 1, abs=0.002)
    assert "clocks" in comparison.shift.text
    assert comparison.summary.failing == 0
    assert set(comparison.summary.reasons) == {Reason.WHOLE_SHIFT.value}
    assert comparison.exit_code == 3


def test_a_real_regression_shows_through_a_whole_shift(make: Any, judge: Any) -> None:
    """A key that became slower by more than the machine did still fails."""
    base, head = make.keys(1000), make.keys(1000, factor=1.03, at=50)
    head[7] = slowed(head[7], 1.15)
    failing = [verdict.key for verdict in judge(base, head).verdicts if verdict.fails]
    assert failing == [head[7].key]


def test_another_machine_needs_a_larger_change(make: Any, judge: Any) -> None:
    """Two per cent on another machine of the model is no slow-down, ten per cent is."""
    base, head = make.keys(), make.keys(at=50)
    for factor, expected in ((1.02, 0), (1.1, 1)):
        changed = [slowed(head[0], factor), *head[1:]]
        assert judge(base, changed, head_machine="GPU-2").summary.failing == expected


def test_minimum_detectable_shrinks_with_process_runs(make: Any, judge: Any) -> None:
    """More process runs can show smaller changes, and every compared key says how small."""
    few, many = (judge(make.keys(runs=runs), make.keys(runs=runs, at=500)).verdicts for runs in (3, 15))
    assert all(a.minimum_detectable > b.minimum_detectable > 0.01 for a, b in zip(few, many, strict=True))


@PROPERTY
@given(planted=st.floats(-0.3, 0.3), runs=st.integers(1, 7), seed=st.integers(0, 1000))
def test_swapping_the_sides_flips_the_sign(
    make: Any, judge: Any, planted: float, runs: int, seed: int
) -> None:
    """Swapped sides: the same sizes with the other sign, slower for faster, same for same."""
    maker = type(make)(seed)
    base, head = maker.keys(9), maker.keys(9, runs=runs, at=50)
    head[0] = slowed(head[0], float(np.exp(planted)))
    there, back = by_key(judge(base, head)), by_key(judge(head, base))
    opposite = {Kind.SLOWER: Kind.FASTER, Kind.FASTER: Kind.SLOWER}
    for key, verdict in there.items():
        assert np.log1p(verdict.change) == pytest.approx(-np.log1p(back[key].change), abs=1e-12)
        assert back[key].verdict is opposite.get(verdict.verdict, verdict.verdict)
        assert back[key].noise == pytest.approx(verdict.noise)


@PROPERTY
@given(scale=st.floats(2.0, 1e4), seed=st.integers(0, 1000))
def test_longer_kernels_get_the_same_verdicts(make: Any, judge: Any, scale: float, seed: int) -> None:
    """All times multiplied by one factor: the relative changes stay, and what was found stays found."""
    maker = type(make)(seed)
    base, head = maker.keys(9), maker.keys(9, at=50)
    head[0] = slowed(head[0], 1.04)
    before = by_key(judge(base, head))
    after = by_key(judge(*([slowed(record, scale) for record in side] for side in (base, head))))
    for key, verdict in before.items():
        assert after[key].change == pytest.approx(verdict.change, abs=1e-9)
        assert after[key].noise <= verdict.noise * 1.05  # the clock's step counts less, the rest is rounding
        assert verdict.verdict is not Kind.SLOWER or after[key].verdict is Kind.SLOWER


@PROPERTY
@given(small=st.floats(0.0, 0.2), more=st.floats(0.0, 0.2), seed=st.integers(0, 1000))
def test_a_larger_change_is_never_less_slow(
    make: Any, judge: Any, small: float, more: float, seed: int
) -> None:
    """What is slower stays slower when more is planted; same never comes after undecided."""
    maker = type(make)(seed)
    base, head = maker.keys(9), maker.keys(9, at=50)
    order = [Kind.FASTER, Kind.SAME, Kind.UNDECIDED, Kind.SLOWER]
    ranks = []
    for planted in (small, small + more):
        changed = [slowed(head[0], 1 + planted), *head[1:]]
        ranks.append(order.index(by_key(judge(base, changed))[head[0].key].verdict))
    assert ranks == sorted(ranks)


@PROPERTY
@given(data=st.data())
def test_order_of_runs_and_keys_is_irrelevant(make: Any, judge: Any, data: st.DataObject) -> None:
    """Process runs and keys in any order give the same verdicts in the same order."""
    base, head = make.keys(6), make.keys(6, at=50)
    head[2] = slowed(head[2], 1.05)
    expected = judge(base, head)

    def shuffled(side: list[KeyRecord]) -> list[KeyRecord]:
        runs = [data.draw(st.permutations(record.processes)) for record in side]
        pairs = zip(side, runs, strict=True)
        mixed = [record.model_copy(update={"processes": list(order)}) for record, order in pairs]
        return list(data.draw(st.permutations(mixed)))

    found = judge(shuffled(base), shuffled(head))
    assert [(v.key, v.verdict, v.reason) for v in found.verdicts] == [
        (v.key, v.verdict, v.reason) for v in expected.verdicts
    ]
    for new, old in zip(found.verdicts, expected.verdicts, strict=True):
        assert new.noise == pytest.approx(old.noise)


@pytest.mark.parametrize("look", [1, 2, 3])
def test_looks_share_the_level(thresholds: Any, look: int) -> None:
    """The chances of all looks and keys add up to the run's level, and later looks get more."""
    from perf.compare.decide import Plan

    plan = Plan(thresholds=thresholds, keys=7, look=look, looks=3, full_runs=5)
    chances = [plan.alarm_at(number) for number in (1, 2, 3)]
    assert sum(chances) * 7 == pytest.approx(thresholds.level.run)
    assert chances == sorted(chances)
    assert plan.alarm == chances[look - 1]
