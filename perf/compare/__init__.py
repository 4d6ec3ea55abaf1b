"""The decision rule: is a key slower, faster, the same, undecided, or not comparable?

Reads records, writes verdicts; imports neither jax nor torch nor pytest. ``README.md`` beside this
file is the rule in words.
"""

from perf.compare.engine import compare
from perf.compare.pairing import CompareError
from perf.compare.thresholds import (
    Thresholds,
    ThresholdsError,
    dump_thresholds,
    load_thresholds,
)
from perf.compare.verdict import (
    Code,
    Comparison,
    Finding,
    Kind,
    Reason,
    Summary,
    Verdict,
    WholeShift,
)

__all__ = [
    "Code",
    "CompareError",
    "Comparison",
    "Finding",
    "Kind",
    "Reason",
    "Summary",
    "Thresholds",
    "ThresholdsError",
    "Verdict",
    "WholeShift",
    "compare",
    "dump_thresholds",
    "load_thresholds",
]
