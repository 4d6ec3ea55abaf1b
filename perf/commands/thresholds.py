"""``thresholds``: what counts as a change, as it is in force."""

import argparse
from pathlib import Path

from perf.commands.parser import OK, Subparsers, add_command
from perf.folders import BASELINES

THRESHOLDS = BASELINES / "thresholds.toml"


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = add_command(commands, "thresholds", print_thresholds, "print the thresholds in force, as TOML")
    parser.add_argument("--file", type=Path, default=THRESHOLDS, help="another file (default: %(default)s)")


def print_thresholds(arguments: argparse.Namespace) -> int:
    """Read the file strictly and print what it means, without its comments."""
    from perf.compare.thresholds import dump_thresholds, load_thresholds

    print(dump_thresholds(load_thresholds(arguments.file)), end="")
    return OK
