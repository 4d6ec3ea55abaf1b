"""``baseline``: make the baseline of this GPU."""

import argparse
import sys
import time
from pathlib import Path

from perf.commands.parser import BASELINES, OK, Subparsers, add_command
from perf.records.store import RecordError


def add(commands: Subparsers) -> None:
    """Declare the command and those below it."""
    baseline = commands.add_parser("baseline", help="make a baseline of this GPU")
    below = baseline.add_subparsers(required=True, metavar="COMMAND")
    record = add_command(
        below,
        "record",
        record_baseline,
        "take fresh process runs and write the next numbered baseline; other options go to pytest perf",
        passes_on=True,
    )
    record.add_argument("--runs", type=int, default=5, help="process runs (default: %(default)s)")
    record.add_argument("--reason", default="recorded", help="why this baseline is made")
    record.add_argument("--resume", type=Path, metavar="DIR", help="go on with the runs kept in DIR")


def record_baseline(arguments: argparse.Namespace) -> int:
    """Take process runs, pool them, and write the next number."""
    from perf.baseline import FEWEST_RUNS, RUNS, describe, measure_runs, write_baseline

    if arguments.runs < FEWEST_RUNS:
        raise RecordError(f"--runs: expected at least {FEWEST_RUNS}, found {arguments.runs}")
    folder = arguments.resume or RUNS / time.strftime("%Y%m%d-%H%M%S")
    try:
        records = measure_runs(folder, arguments.rest, runs=arguments.runs)
    except (RecordError, KeyboardInterrupt):
        print(f"finished process runs are kept; go on with: --resume {folder}", file=sys.stderr)
        raise
    path = write_baseline(BASELINES, records, reason=arguments.reason)
    print(f"wrote {path}: {describe(records)}")
    return OK
