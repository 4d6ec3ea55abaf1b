"""The rule on real process runs of two H200: nothing of one version flagged, every real slow-down found."""

from itertools import combinations
from typing import Any

import pytest

from perf.calibrate.recorded import pooled
from perf.compare import Kind

SLOWER = {
    "jax_cudnn/forward/B4-T1024-S1024-N8-K8-H64-bf16-none",
    "jax_cudnn/forward/B4-T2048-S2048-N32-K8-H128-bf16-causal",
    "jax_cudnn/forward/B4-T2048-S2048-N8-K8-H64-bf16-causal",
    "jax_cudnn/forward/B4-T4096-S4096-N16-K16-H128-bf16-causal",
    "jax_cudnn_fp8/forward/B4-T4096-S4096-N16-K16-H128-e4m3-causal",
}


BORDERLINE = "jax_cudnn/forward/B2-T16384-S16384-N16-K16-H128-bf16-causal"
"""Slower by 0.9 % at full clock, next to the practical interest of 1 %; its medians scatter by 4 %."""


def failing(comparison: Any) -> set[str]:
    """Keys that fail."""
    return {verdict.key for verdict in comparison.verdicts if verdict.fails}


def test_upgrade_slow_downs_are_all_found(recordings: Any, judge: Any) -> None:
    """From cuDNN 9.14 to 9.19, every third choice of five of ten runs: the five slow-downs and no other."""
    base = pooled(recordings["machine1-cudnn914"].processes)
    for chosen in list(combinations(recordings["machine1-cudnn919"].processes, 5))[::3]:
        assert SLOWER <= failing(judge(base, pooled(chosen))) <= SLOWER | {BORDERLINE}


def test_no_split_of_one_version_fails(recordings: Any, judge: Any) -> None:
    """Every third split of ten runs into five and five: nothing slower, nothing faster."""
    processes = recordings["machine1-cudnn919"].processes
    for chosen in list(combinations(range(10), 5))[::3]:
        base = pooled(tuple(processes[number] for number in chosen))
        head = pooled(tuple(processes[number] for number in range(10) if number not in chosen))
        kinds = {verdict.verdict for verdict in judge(base, head).verdicts}
        assert kinds <= {Kind.SAME, Kind.UNDECIDED}


def test_no_single_run_fails_against_a_baseline(recordings: Any, judge: Any) -> None:
    """Each single run against five others of its version, machine and stack: nothing fails."""
    processes = recordings["machine1-cudnn919"].processes
    for number in range(10):
        base = pooled(tuple(processes[(number + step) % 10] for step in (1, 2, 3, 4, 5)))
        assert failing(judge(base, pooled(processes[number : number + 1]))) == set()


def test_another_machine_of_one_version_passes(recordings: Any, judge: Any) -> None:
    """Machine 2 against machine 1 on the same stack, both ways: no failure."""
    one = pooled(recordings["machine1-cudnn919"].processes[:5])
    two = pooled(recordings["machine2-cudnn919"].processes)
    for base, head in ((one, two), (two, one)):
        assert failing(judge(base, head, head_machine="GPU-2")) == set()


@pytest.mark.parametrize("key", sorted(SLOWER))
def test_a_single_key_can_be_judged(recordings: Any, judge: Any, key: str) -> None:
    """A real slow-down is found when no other key is there to learn the spread from."""
    old, new = (
        [record for record in pooled(recordings[name].processes) if record.key == key]
        for name in ("machine1-cudnn914", "machine1-cudnn919")
    )
    assert failing(judge(old, new)) == {key}
