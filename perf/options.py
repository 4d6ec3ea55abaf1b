"""The suite's pytest options, declared once; the README's table is generated from here."""

from dataclasses import dataclass
from typing import Any

import pytest

from perf.backends import BY_NAME
from perf.cases import DIRECTIONS
from perf.grids import TAGS


@dataclass(frozen=True)
class Option:
    """One command-line option of ours."""

    flag: str
    help: str
    settings: dict[str, Any]


def _option(flag: str, help_text: str, **settings: Any) -> Option:
    return Option(flag, help_text, settings)


OPTIONS = (
    _option(
        "--tags",
        f"run keys with any of these tags: {', '.join(TAGS)} (default: gate on a GPU, smoke on a CPU)",
        metavar="TAG,…",
    ),
    _option("--backends", f"only these backends: {', '.join(BY_NAME)}", metavar="NAME,…"),
    _option("--direction", f"only these directions: {', '.join(DIRECTIONS)}", metavar="NAME,…"),
    _option("--case", "only keys whose case id or whole key matches this glob", metavar="GLOB"),
    _option("--shard", "only part I of N of what is selected, split by expected cost", metavar="I/N"),
    _option("--keys", "only the keys listed in this file, one a line; no other selection", metavar="FILE"),
    _option(
        "--clock",
        "device: kernel time by CUPTI (default on a GPU); host: wall time (default on a CPU)",
        choices=("device", "host"),
    ),
    _option(
        "--l2",
        "level-2 cache before a round: hot as the last round left it, or cold (default: %(default)s)",
        choices=("hot", "cold"),
        default="hot",
    ),
    _option("--seed", "seed of the inputs (default: %(default)s)", type=int, default=0, metavar="N"),
    _option("--journal", "keep measured keys here at once (default: .perf/journal.jsonl)", metavar="FILE"),
    _option("--order-seed", "shuffle the order of the cases", type=int, metavar="N"),
    _option(
        "--no-remeasure",
        "leave undecided keys undecided, instead of measuring them again in fresh processes",
        action="store_true",
    ),
    _option("--require-baseline", "fail when there is no baseline to compare with", action="store_true"),
    _option("--require-gpu", "fail when there is no NVIDIA GPU", action="store_true"),
)


def add_options(parser: pytest.Parser) -> None:
    """Declare the options to pytest."""
    group = parser.getgroup("attention performance")
    for option in OPTIONS:
        group.addoption(option.flag, help=option.help, **option.settings)
