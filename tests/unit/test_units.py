"""Numbers as people read them, kernels by the part of their names that tells them apart, and plain tables."""

import pytest

from perf.report.table import table
from perf.units import kernel_name, percent, seconds, tera


@pytest.mark.parametrize(
    ("value_s", "expected"),
    [
        (3.2e-8, "0.032 µs"),
        (3.97e-6, "3.97 µs"),
        (4.742e-4, "474.2 µs"),
        (1e-3, "1 ms"),
        (3.3291e-3, "3.329 ms"),
        (1.0, "1 s"),
        (61.234, "61.23 s"),
    ],
)
def test_seconds(value_s: float, expected: str) -> None:
    """Four digits in the unit that fits; one step of CUPTI's clock is not 0."""
    assert seconds(value_s) == expected


@pytest.mark.parametrize(
    ("flop_per_s", "expected"),
    [(0.0, "0.0"), (4.72e12, "4.7"), (9.96e12, "10.0"), (47e12, "47"), (1.14e15, "1140")],
)
def test_rates(flop_per_s: float, expected: str) -> None:
    """Decimal prefixes: a TFLOP is 10¹² of them."""
    assert tera(flop_per_s) == expected


@pytest.mark.parametrize(
    ("fraction", "signed", "expected"),
    [(0.0371, True, "+3.7 %"), (-0.0371, True, "-3.7 %"), (0.584, False, "58 %")],
)
def test_percent(fraction: float, signed: bool, expected: str) -> None:  # noqa: FBT001 - a table
    """A change has its sign, a share has none."""
    assert percent(fraction, signed=signed) == expected


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128_cga1x1x1_kernel0_0",
            "sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128",
        ),
        (
            "_ZN5cudnn6fusion20convert_dq_to_16bitsILb1EEEvPKvPvjjjjjjjjjjPKfS6_S6_PfS3_",
            "convert_dq_to_16bits",
        ),
        (
            "_ZN5cudnn6fusion28compute_dot_do_o_specializedILb1ELi128EEEvPKvS3_Pv",
            "compute_dot_do_o_specialized",
        ),
        ("gemm_fusion_dot_6", "gemm_fusion_dot_6"),
        ("nvjet_sm90_tst_128x64_64x8_2x1_v_bz_TNT", "nvjet_sm90_tst_128x64_64x8_2x1_v_bz_TNT"),
        ("[memset]", "[memset]"),
    ],
)
def test_kernel_names(name: str, short: str) -> None:
    """The prefix of cuDNN, its cluster size and C++ mangling go; what tells two kernels apart stays."""
    assert kernel_name(name) == short


@pytest.mark.parametrize(
    ("one", "other"),
    [("fprop_wgmma_f16", "fprop_wgmma_f8"), ("knob_7_64x128x128", "knob_7_64x128x64"), ("sm90", "sm100")],
)
def test_short_names_still_differ(one: str, other: str) -> None:
    """Another dtype, tile or architecture is another kernel in the verdict too."""
    names = [f"cudnn_generated_fort_native_sdpa_{part}_cga1x1x1_kernel0_0" for part in (one, other)]
    assert len(set(map(kernel_name, names))) == 2


def test_a_table_is_aligned() -> None:
    """Numbers to the right, text to the left, no blanks at the end of a line."""
    text = table(("key", "time", "why"), [("a", "3 µs", "x"), ("longer", "12 µs", "")], right=(1,))
    assert text.splitlines() == [
        "key      time  why",
        "------  -----  ---",
        "a        3 µs  x",
        "longer  12 µs",
    ]


def test_a_table_of_nothing_has_its_header() -> None:
    """No row is no error."""
    assert table(("key",), []).splitlines() == ["key", "---"]


def test_a_row_of_another_length_is_an_error() -> None:
    """A forgotten cell does not shift the others."""
    with pytest.raises(ValueError, match="zip"):
        table(("a", "b"), [("1",)])
