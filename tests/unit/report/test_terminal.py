"""What a run prints beside pytest's own lines: header, table of measured keys, counts."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perf.records.schema import Kernel, KeyRecord, Outcome
from perf.records.store import load
from perf.report.terminal import counts, header, measured_table, no_baseline, not_measured, summary, what_ran

GOLDEN = load(Path(__file__).parents[2] / "data" / "record-schema-1.json")
CUDNN, XLA = GOLDEN.keys.values()


def _timed(record: KeyRecord, data_s: list[float], wall_s: list[float], **changed: Any) -> KeyRecord:
    run = record.processes[0].model_copy(update={"data_s": data_s, "wall_s": wall_s, **changed})
    return record.model_copy(update={"processes": [run]})


def _outcome(key: str, outcome: Any, code: str = "", text: str = "") -> Outcome:
    return Outcome(key=key, outcome=outcome, code=code or outcome, text=text)


class Suite(SimpleNamespace):
    """As much of a session as is printed: nothing measured on an H200."""

    def __init__(self, **changed: Any) -> None:
        outcomes = {outcome.key: outcome for outcome in changed.pop("outcomes", ())}
        fields: dict[str, Any] = {
            "environment": GOLDEN.session.environment,
            "clock": "device",
            "base": None,
            "spoilers": [],
            "records": {},
            "collected": [],
            "comparison": None,
            "wants_comparison": False,
        }
        super().__init__(**(fields | {"outcomes": outcomes} | changed))


class Reporter:
    """Keeps what it is told to print."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def section(self, title: str, *, sep: str) -> None:
        """A headline."""
        self.lines.append(f"{sep} {title}")

    def write_line(self, line: str, **_: bool) -> None:
        """One line or more."""
        self.lines.append(line)


def _printed(suite: Any) -> list[str]:
    reporter: Any = Reporter()
    summary(reporter, suite)
    lines: list[str] = reporter.lines
    return lines


def test_the_header_says_on_what_and_with_which_clock() -> None:
    """GPU, versions and clock; no line about a baseline when nothing is compared."""
    suite: Any = Suite()
    assert header(suite) == [
        "attention: nvidia-h200, jax 0.11.2, cuDNN 9.19.0, driver 580.159.04, device clock"
    ]


def test_the_header_of_a_cpu_names_no_gpu_software() -> None:
    """What is not there is left out."""
    here = GOLDEN.session.environment.model_copy(
        update={"slug": "cpu-x86-64", "cudnn": None, "driver": None, "gpu": None}
    )
    suite: Any = Suite(environment=here, clock="host")
    assert header(suite) == ["attention: cpu-x86-64, jax 0.11.2, host clock"]


def test_the_header_warns() -> None:
    """The baseline's file, then what would spoil the measurement, before anything is measured."""
    suite: Any = Suite(base=GOLDEN, spoilers=["another process on the GPU: 90003 (train)"])
    assert header(suite)[1:] == [
        f"baseline: {GOLDEN.path}",
        "WARNING: another process on the GPU: 90003 (train)",
    ]


def test_a_row_of_the_table() -> None:
    """Median, scatter within the process, wall time, rate, share of the roofline, the longest kernel."""
    record = _timed(CUDNN, [4e-6, 4.04e-6, 3.96e-6], [9e-5, 1e-4, 1.1e-4])
    record = record.model_copy(update={"flop": 8e6, "bytes": 9.6e6})
    row = measured_table([record], "nvidia-h200").splitlines()[2].split("  ")
    cells = [cell.strip() for cell in row if cell.strip()]
    assert cells[:6] == [CUDNN.key, "4 µs", "0.8 %", "100 µs", "2.0", "50 %"]
    assert cells[6].startswith("sdpa_sm90_flash_fprop")


def test_a_gpu_without_peaks_has_no_share_of_the_roofline() -> None:
    """A dash, not a made-up number."""
    assert "–" in measured_table([CUDNN], "nvidia-b300").splitlines()[2]


def test_the_table_shows_the_newest_process_run() -> None:
    """What was measured now, also when older process runs are in the record."""
    runs = [_timed(CUDNN, [time_s], [1e-4]).processes[0] for time_s in (5e-6, 7e-6)]
    record = CUDNN.model_copy(update={"processes": runs})
    assert " 7 µs " in measured_table([record], "nvidia-h200")


@pytest.mark.parametrize(
    ("kernels", "custom_calls", "expected"),
    [
        ([("a", 1e-6)], [], "a"),
        ([("a", 1e-6), ("b", 3e-6), ("c", 2e-6)], [], "b +2"),
        ([("[memset]", 9e-6), ("a", 1e-6)], [], "a"),  # a memory set is no kernel
        ([], ["__cudnn$fmhaSoftmax"], "__cudnn$fmhaSoftmax"),
        ([("[memset]", 9e-6)], [], "not seen"),
        ([], [], "not seen"),
    ],
)
def test_what_ran(kernels: list[tuple[str, float]], custom_calls: list[str], expected: str) -> None:
    """The longest kernel and how many others; the custom calls where the clock sees no kernels."""
    update = {"kernels": [Kernel(name=name, s=s) for name, s in kernels], "custom_calls": custom_calls}
    assert what_ran(CUDNN.processes[0].model_copy(update=update)) == expected


def test_refusals_are_counted_by_reason() -> None:
    """One line a reason, the most frequent first; known failures one by one."""
    suite: Any = Suite(
        outcomes=[
            _outcome("a", "unsupported", "dtype", "dtype: needs x"),
            _outcome("b", "unsupported", "no-gpu", "no-gpu: needs a GPU"),
            _outcome("c", "unsupported", "no-gpu", "no-gpu: needs a GPU"),
            _outcome("d", "known-failure", text="known failure (link): dV"),
            _outcome("e", "measured"),
        ]
    )
    assert not_measured(suite) == [
        "not run: 2 × no-gpu: needs a GPU",
        "not run: 1 × dtype: needs x",
        "known-failure: d: known failure (link): dV",
    ]


def test_counts_are_complete() -> None:
    """Measured, compared, not supported with reasons, known failures, failed; of all that was collected."""
    suite: Any = Suite(
        collected=list("abcdefg"),
        outcomes=[
            _outcome("a", "measured"),
            _outcome("b", "measured"),
            _outcome("c", "unsupported", "no-gpu"),
            _outcome("d", "unsupported", "no-gpu"),
            _outcome("e", "unsupported", "dtype"),
            _outcome("f", "known-failure"),
            _outcome("g", "failed", "wrong-output"),
        ],
        comparison=SimpleNamespace(summary=SimpleNamespace(compared=1)),
    )
    assert counts(suite) == (
        "7 keys: 2 measured, 1 compared, 3 not supported (no-gpu 2, dtype 1), 1 known failures, 1 failed"
    )


def test_a_key_without_an_outcome_is_not_counted_as_measured() -> None:
    """After Ctrl-C."""
    suite: Any = Suite(collected=["a", "b"], outcomes=[_outcome("a", "measured")])
    assert counts(suite).startswith("2 keys: 1 measured, 0 compared")


def test_nothing_compared_is_said_last() -> None:
    """A comparison was asked for, there is no baseline: loud, with the command that makes one."""
    lines = _printed(Suite(collected=["a"], outcomes=[_outcome("a", "measured")], wants_comparison=True))
    assert lines[-2] == "NOTHING WAS COMPARED: there is no baseline for nvidia-h200."
    assert lines[-1].endswith("-m perf baseline record --runs 5")


def test_without_a_comparison_nothing_is_said_about_baselines() -> None:
    """Plain measuring is no failed comparison."""
    suite: Any = Suite(collected=["a"])
    assert no_baseline(suite) == []


def test_the_table_comes_first_and_the_counts_last() -> None:
    """What was measured, why the rest was not, how many of each."""
    suite = Suite(
        records={CUDNN.key: CUDNN, XLA.key: XLA},
        collected=[CUDNN.key, XLA.key, "c"],
        outcomes=[
            _outcome(CUDNN.key, "measured"),
            _outcome(XLA.key, "measured"),
            _outcome("c", "unsupported", "dtype", "dtype: needs x"),
        ],
    )
    lines = _printed(suite)
    assert lines[0] == "- attention"
    assert lines[1].splitlines()[2].startswith(CUDNN.key)
    assert lines[2] == "not run: 1 × dtype: needs x"
    assert lines[3].startswith("3 keys: 2 measured")


def test_a_run_of_other_tests_prints_nothing() -> None:
    """`pytest tests` is no benchmark."""
    assert _printed(Suite()) == []
