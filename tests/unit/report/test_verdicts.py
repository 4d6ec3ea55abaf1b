"""The verdict section: what is shown, in which order, in which words."""

from pathlib import Path
from typing import Any

import pytest

from perf.compare import Code, Comparison, Finding, Kind, Reason, Verdict, WholeShift
from perf.records.store import load
from perf.report.verdicts import count_line, environment_lines, finding_lines, verdict_lines

HERE = load(Path(__file__).parents[2] / "data" / "record-schema-1.json").session.environment
FLASH = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_cga1x1x1_kernel0_0"


def _verdict(verdict: Kind = Kind.SAME, **changed: Any) -> Verdict:
    fields: dict[str, Any] = {
        "key": "k",
        "reason": Reason.WITHIN_NOISE,
        "text": "a sentence",
        "fails": False,
        "change": 0.001,
        "noise": 0.004,
        "base_s": 1e-4,
        "head_s": 1.001e-4,
        "minimum_detectable": 0.015,
    }
    return Verdict(verdict=verdict, **(fields | changed))


def _slower(**changed: Any) -> Verdict:
    fields = {"reason": Reason.BEYOND_NOISE, "fails": True, "change": 0.0812, "head_s": 1.0812e-4}
    return _verdict(Kind.SLOWER, **(fields | changed))


def _lost(reason: Reason, *, fails: bool = True) -> Verdict:
    nothing = dict.fromkeys(("change", "noise", "head_s", "minimum_detectable"))
    return _verdict(Kind.UNKNOWN, reason=reason, fails=fails, text=f"why: {reason.value}\nmore", **nothing)


def _lines(*verdicts: Verdict, shift: WholeShift | None = None) -> list[str]:
    return verdict_lines(Comparison(verdicts=verdicts, shift=shift), HERE, HERE)


def _row(verdict: Verdict) -> str:
    (found,) = [line for line in "\n".join(_lines(verdict)).splitlines() if f" {verdict.key} " in line]
    return found


def test_a_slower_key_is_in_capitals_with_its_numbers() -> None:
    """Times of both sides, the change with its sign, the noise, and the reason."""
    assert _row(_slower()).split() == [
        "SLOWER", "k", "100", "µs", "108.1", "µs", "+8.1", "%", "0.4", "%", "beyond-noise",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "label"),
    [(Reason.VANISHED, "VANISHED"), (Reason.UNSUPPORTED, "UNSUPPORTED"), (Reason.FAILED, "FAILED")],
)
def test_a_lost_key_is_named_by_what_became_of_it(reason: Reason, label: str) -> None:
    """`unknown` alone would hide that the run fails; the sentence says why, its first line here."""
    row = _row(_lost(reason))
    assert row.startswith(f"{label} ")
    assert row.endswith(f"why: {reason.value}")


def test_a_new_key_is_shown_quietly() -> None:
    """It fails nothing: no capitals."""
    assert _row(_lost(Reason.NEW, fails=False)).startswith("unknown ")


def test_the_same_is_only_counted() -> None:
    """A hundred quiet rows would hide the loud one."""
    lines = _lines(_verdict(), _verdict(key="l"))
    assert not any(" k " in line for line in lines)
    assert lines[-1] == "2 of 2 keys compared: 2 same, 0 faster, 0 slower, 0 undecided, 0 unknown; 0 fail"


def test_a_key_that_fails_without_being_slower_is_shown() -> None:
    """Same speed, more memory: the row is there and the finding follows."""
    finding = Finding(code=Code.MEMORY, fails=True, text="temporary memory grew")
    lines = _lines(_verdict(fails=True, findings=(finding,)))
    assert any(line.startswith("SAME ") for line in "\n".join(lines).splitlines())
    assert "k: temporary memory grew" in lines


def test_the_order_of_a_comparison_is_kept() -> None:
    """Worst first, as the comparison sorted them."""
    faster = _verdict(Kind.FASTER, key="f", change=-0.1, reason=Reason.BEYOND_NOISE)
    rows = "\n".join(_lines(_slower(key="s"), faster)).splitlines()
    assert [row.split()[1] for row in rows if row.split()[0] in ("SLOWER", "faster")] == ["s", "f"]


def test_an_improvement_makes_the_baseline_stale() -> None:
    """Said with how much could be lost unseen."""
    faster = _verdict(Kind.FASTER, change=-0.1, reason=Reason.BEYOND_NOISE)
    assert any(
        "the baseline is stale: 1 of 1 keys are faster now, by up to 10.0%" in x for x in _lines(faster)
    )


def test_the_smallest_visible_change_is_said() -> None:
    """Of how many keys: a comparison that could see nothing is no comfort."""
    verdicts = (_verdict(minimum_detectable=0.015), _verdict(minimum_detectable=0.8))
    assert "of 2 keys, 1 could show 2 %, 1 only more than 50 %" in _lines(*verdicts)


def test_other_kernels_are_named_once() -> None:
    """Only those that came and those that went; memory operations are no kernels."""
    row = _row(
        _slower(
            kernels_base=(FLASH, "convert", "[memset]"), kernels_head=("gemm", "gemm", "softmax", "convert")
        )
    )
    assert row.endswith("beyond-noise; ran gemm, softmax instead of sdpa_sm90_flash_fprop")


@pytest.mark.parametrize(
    ("base", "head", "said"),
    [
        (("a", "b"), ("a",), "ran fewer instead of b"),
        (("a", "b"), ("a", "b"), "beyond-noise"),
        (("a", "[memset]"), ("a",), "beyond-noise"),
        (("a", "b"), ("b", "a"), "beyond-noise"),  # another order is no other kernel
    ],
)
def test_kernels_that_explain_nothing_are_not_named(
    base: tuple[str, ...], head: tuple[str, ...], said: str
) -> None:
    """A row says that other kernels ran only when others did."""
    assert _row(_slower(kernels_base=base, kernels_head=head)).endswith(said)


def test_what_all_keys_share_is_told_apart() -> None:
    """On another machine all keys moved by 5 %: 8.1 % slower is 3 % of its own."""
    assert "beyond-noise, +3.0 % beside what all share" in _row(_slower(shared=0.05))


def test_a_shift_of_all_keys_is_said_first() -> None:
    """Before the rows that it explains."""
    shift = WholeShift(change=0.05, keys=9, taken_out=True, text="all keys moved by +5.0 %")
    lines = _lines(_slower(), shift=shift)
    assert lines[:2] == ["environment: no difference", "all keys moved by +5.0 %"]


def test_findings_that_fail_come_first() -> None:
    """The others after them, each with its key; other kernels at the same speed are only counted."""
    memory = Finding(code=Code.MEMORY, fails=True, text="memory grew")
    slow = Finding(code=Code.COMPILE_TIME, fails=False, text="compiles longer")
    other = Finding(code=Code.KERNELS, fails=False, text="other kernels")
    found = finding_lines(
        [_verdict(key="a", findings=(slow, other)), _verdict(key="b", fails=True, findings=(memory,))]
    )
    assert found == [
        "b: memory grew",
        "a: compiles longer",
        "other kernels at the same speed: 1, such as a (--explain names them)",
    ]


def test_differences_of_the_stacks_are_a_line_each() -> None:
    """Versions and flags are told; the GPU's serial, folders of libraries and places are not."""
    other = HERE.model_copy(
        update={
            "cudnn": "9.20.0",
            "driver": None,
            "packages": HERE.packages | {"jax": "0.12.0"},
            "flags": HERE.flags | {"CUDNN_HOME": "/somewhere"},
            "gpu": HERE.gpu and HERE.gpu.model_copy(update={"uuid": "GPU-2"}),
        }
    )
    assert sorted(environment_lines(HERE, other)) == [
        "cudnn: 9.19.0 → 9.20.0",
        "driver: 580.159.04 → none",
        "packages.jax: 0.11.2 → 0.12.0",
    ]


def test_counts_name_all_five_verdicts() -> None:
    """Also those that no key has: a missing word would not be missed."""
    line = count_line(Comparison(verdicts=(_slower(), _lost(Reason.VANISHED)), shift=None))
    assert line == "1 of 2 keys compared: 0 same, 0 faster, 1 slower, 0 undecided, 1 unknown; 2 fail"
