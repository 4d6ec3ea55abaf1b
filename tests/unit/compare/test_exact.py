"""The comparisons without statistics: memory, kernels, error, compile time, and keys on one side only."""

from typing import Any

import pytest

from perf.compare import Code, CompareError, Kind, Reason
from perf.records.schema import Error, Kernel, Method, Metric, Outcome, OutcomeKind

MIB = 1 << 20


def only(judge: Any, base: Any, head: Any, **options: Any) -> Any:
    """The single verdict of two single keys."""
    (verdict,) = judge([base], [head], **options).verdicts
    return verdict


def codes(verdict: Any) -> dict[Code, bool]:
    """What was found, and whether it fails."""
    return {finding.code: finding.fails for finding in verdict.findings}


@pytest.mark.parametrize(
    ("before", "after", "fails"),
    [
        (0, MIB, False),
        (0, MIB + 1, True),
        (1000 * MIB, 1009 * MIB, False),
        (1000 * MIB, 1011 * MIB, True),
        (1000 * MIB, 10 * MIB, False),
    ],
)
def test_memory_growth_needs_both_limits(make: Any, judge: Any, before: int, after: int, fails: bool) -> None:  # noqa: FBT001 - a column of the table
    """Temporary bytes fail when they grow by more than 1 % and more than 1 MiB."""
    verdict = only(judge, make.key(temp_bytes=before), make.key(temp_bytes=after, at=50))
    assert verdict.fails is fails
    assert (Code.MEMORY in codes(verdict)) is fails


def test_memory_that_the_base_has_used_before_is_no_growth(make: Any, judge: Any) -> None:
    """Where process runs of the base differ, its largest need counts."""
    base, head = make.key(), make.key(temp_bytes=100 * MIB, at=50)
    runs = [*base.processes[:4], base.processes[4].model_copy(update={"temp_bytes": 100 * MIB})]
    assert not only(judge, base.model_copy(update={"processes": runs}), head).fails


def test_fused_to_unfused_fails_with_both_names(make: Any, judge: Any) -> None:
    """A fused kernel that is gone fails even where the time is the same, and the sentence names both."""
    head = make.key(kernels=[Kernel(name="gemm_fusion_dot", s=1e-4)], at=50)
    verdict = only(judge, make.key(), head)
    assert verdict.fails
    assert codes(verdict)[Code.NOT_FUSED]
    assert "sdpa_flash_fprop" in verdict.text
    assert "gemm_fusion_dot" in verdict.text


def test_one_unfused_process_run_is_enough(make: Any, judge: Any) -> None:
    """Losing fusion in one of five process runs is a loss."""
    base, head = make.key(), make.key(at=50)
    runs = [*head.processes[:4], make.run(1e-4, at=99, kernels=[Kernel(name="gemm", s=1e-4)])]
    assert only(judge, base, head.model_copy(update={"processes": runs})).fails


def test_changed_kernel_is_named_and_passes(make: Any, judge: Any) -> None:
    """Another fused kernel at the same speed is said, not failed."""
    head = make.key(kernels=[Kernel(name="sdpa_other_fprop", s=1e-4)], at=50)
    verdict = only(judge, make.key(), head)
    assert codes(verdict) == {Code.KERNELS: False}
    assert "sdpa_other_fprop instead of sdpa_flash_fprop" in verdict.text


def test_slower_with_another_kernel_says_so_in_one_sentence(make: Any, judge: Any) -> None:
    """The time and its likely cause stand together."""
    head = make.key(kernels=[Kernel(name="sdpa_other_fprop", s=1e-4)], middle_s=1.5e-4, at=50)
    verdict = only(judge, make.key(), head)
    assert verdict.verdict is Kind.SLOWER
    assert "slower" in verdict.text
    assert "sdpa_other_fprop" in verdict.text


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (("a", "b"), ("a",), "b no more"),
        (("a",), ("a", "b"), "b as well"),
        (("a", "b"), ("b", "a"), "another order"),
    ],
)
def test_kernel_lists_in_words(make: Any, judge: Any, old: Any, new: Any, words: str) -> None:
    """Kernels that went, came or changed places are told apart."""
    base, head = (
        make.key("jax_xla/forward/a", kernels=[Kernel(name=n, s=1e-5) for n in names], at=at)
        for names, at in ((old, 0), (new, 50))
    )
    assert words in only(judge, base, head).text


def test_autotuned_lists_that_overlap_are_no_finding(make: Any, judge: Any) -> None:
    """An autotuner's choice that the base has seen in some process run is nothing new."""
    base, head = make.key(), make.key(kernels=[Kernel(name="sdpa_b", s=1e-4)], at=50)
    runs = [*base.processes[:4], head.processes[0].model_copy(update={"at_unix_s": 1.0})]
    assert not only(judge, base.model_copy(update={"processes": runs}), head).findings


def errors(rms: float) -> list[Error]:
    """An error of the output with a limit of 0.01."""
    return [Error(quantity="out", rms=rms, rms_limit=0.01, max=rms, max_limit=0.1)]


@pytest.mark.parametrize(
    ("before", "after", "fails"), [(0.003, 0.0065, True), (0.003, 0.005, False), (0.0001, 0.002, False)]
)
def test_error_growth(make: Any, judge: Any, before: float, after: float, fails: bool) -> None:  # noqa: FBT001 - a column of the table
    """The error fails when it doubles and uses a notable share of its limit."""
    verdict = only(judge, make.key(errors=errors(before)), make.key(errors=errors(after), at=50))
    assert codes(verdict) == ({Code.ERROR: True} if fails else {})


@pytest.mark.parametrize(
    ("name", "wall_s", "found"),
    [
        ("jax_cudnn/forward/B4-T128-x", 4e-4, {Code.DISPATCH: False}),
        ("jax_cudnn/forward/B4-T128-x", 2e-4, {}),  # less than twice the host's share
        ("jax_cudnn/forward/B4-T4096-x", 4e-4, {}),  # a long kernel: the host is not what is timed
    ],
)
def test_host_dispatch_is_reported_and_passes(
    make: Any, judge: Any, name: str, wall_s: float, found: dict[Code, bool]
) -> None:
    """The host's share of a call with short kernels is told when it doubles; the kernel's verdict stays."""
    before, after = (
        make.key(name, middle_s=1e-5, wall_s=[wall] * 20, at=at) for wall, at in ((1.2e-4, 0), (wall_s, 50))
    )
    verdict = only(judge, before, after)
    assert codes(verdict) == found
    assert (verdict.verdict.value, verdict.fails) == ("same", False)


def test_compile_time_is_reported_and_passes(make: Any, judge: Any) -> None:
    """Twice the compile time and two seconds more are told; less is not, and neither fails."""
    slow = only(judge, make.key(compile_s=3.0), make.key(compile_s=6.5, at=50))
    assert codes(slow) == {Code.COMPILE_TIME: False}
    assert not slow.fails
    assert not only(judge, make.key(compile_s=3.0), make.key(compile_s=5.5, at=50)).findings


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"clock": "host"}, Reason.CLOCK_DIFFERS),
        ({"metric": Metric(name="wall time", unit="s", better="lower")}, Reason.METRIC_DIFFERS),
        ({"method": Method(version=2, l2="hot", pacing="none", inputs="normal")}, Reason.METHOD_DIFFERS),
        ({"method": Method(version=1, l2="hot", pacing="none", inputs="zeros")}, Reason.METHOD_DIFFERS),
        ({"case": {"q_len": 256}}, Reason.CASE_DIFFERS),
        ({"flop": 2.0}, Reason.CASE_DIFFERS),
    ],
)
def test_what_is_measured_otherwise_is_unknown(make: Any, judge: Any, changed: Any, reason: Reason) -> None:
    """Another clock, metric, method, input class or case is never slower: it is unknown, and no pass."""
    comparison = judge([make.key()], [make.key(record=changed, middle_s=2e-4, at=50)])
    (verdict,) = comparison.verdicts
    assert (verdict.verdict, verdict.reason, verdict.change) == (Kind.UNKNOWN, reason, None)
    assert comparison.exit_code == 3


def gone(judge: Any, make: Any, outcome: OutcomeKind | None, **options: Any) -> Any:
    """The verdict on a key that the head has no time of, beside one that it has."""
    key = "jax_cudnn/forward/gone"
    outcomes = {key: Outcome(key=key, outcome=outcome, code="x", text="y")} if outcome else {}
    base, head = [make.key(), make.key(key)], [make.key(at=50)]
    comparison = judge(base, head, head_outcomes=outcomes, **options)
    return comparison, next(verdict for verdict in comparison.verdicts if verdict.key == key)


@pytest.mark.parametrize(
    ("outcome", "reason", "code"),
    [
        (None, Reason.VANISHED, 1),
        ("unsupported", Reason.UNSUPPORTED, 1),
        ("failed", Reason.FAILED, 1),
        ("known-failure", Reason.KNOWN_FAILURE, 0),
    ],
)
def test_a_key_that_has_no_time_any_more(
    make: Any, judge: Any, outcome: OutcomeKind | None, reason: Reason, code: int
) -> None:
    """A vanished key, lost support and a failed check fail the run; a reviewed known failure does not."""
    comparison, verdict = gone(judge, make, outcome)
    assert verdict.reason is reason
    assert comparison.exit_code == code


def test_a_partial_run_loses_nothing(make: Any, judge: Any) -> None:
    """What a partial run did not ask for has not vanished."""
    comparison, verdict = gone(judge, make, None, head_partial=True)
    assert verdict.reason is Reason.NOT_SELECTED
    assert comparison.exit_code == 0


def test_new_key_is_said_and_passes(make: Any, judge: Any) -> None:
    """A key that the base does not have is new; the others are compared all the same."""
    comparison = judge([make.key()], [make.key(at=50), make.key("jax_cudnn/forward/new", at=50)])
    assert comparison.summary.reasons[Reason.NEW.value] == 1
    assert comparison.summary.compared == 1
    assert comparison.exit_code == 0


def test_nothing_in_common_is_no_pass(make: Any, judge: Any) -> None:
    """When every key is new, nothing was compared: exit code 3."""
    assert judge([], [make.key()]).exit_code == 3
    assert judge([], []).exit_code == 3


def test_duplicate_key_is_refused(make: Any, judge: Any) -> None:
    """The same key twice on a side is an error that names side and key."""
    with pytest.raises(CompareError, match=r"head: key 'jax_cudnn/forward/a' occurs twice"):
        judge([make.key()], [make.key(), make.key()])


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_one_sample_is_too_few(make: Any, judge: Any, runs: int) -> None:
    """Process runs of one sample do not tell their own error: undecided, with that reason."""
    verdict = only(judge, make.key(), make.key(samples=1, factors=[1.3] * runs, at=50))
    assert (verdict.verdict, verdict.reason) == (Kind.UNDECIDED, Reason.TOO_FEW_SAMPLES)


@pytest.mark.parametrize("middle_s", [1e-12, 1e-9, 1e6, 1e200])
def test_extreme_times_are_compared(make: Any, judge: Any, middle_s: float) -> None:
    """Times far from any kernel's give a finite verdict and no warning."""
    verdict = only(judge, make.key(middle_s=middle_s), make.key(middle_s=middle_s, at=50))
    assert verdict.verdict in {Kind.SAME, Kind.UNDECIDED}
    assert verdict.noise > 0


def test_one_process_run_a_side(make: Any, judge: Any) -> None:
    """One run against one knows nothing of the spread between runs: a change of 3 % stays undecided."""
    verdict = only(judge, make.key(factors=[1.0]), make.key(factors=[1.03], at=50))
    assert verdict.verdict is Kind.UNDECIDED
