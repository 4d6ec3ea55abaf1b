"""``selftest``: is the suite on this machine noisy or blind?"""

import argparse
import time
from pathlib import Path

from perf.commands.parser import OK, REGRESSION, Subparsers, add_command
from perf.folders import BASELINES


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "selftest",
        selftest,
        "take process runs of one stack in turn: nothing may be found, and a planted slow-down must be; "
        "other options go to pytest perf",
        passes_on=True,
    )
    parser.add_argument("--runs", type=int, default=5, help="process runs a side (default: %(default)s)")


def selftest(arguments: argparse.Namespace) -> int:
    """Measure, judge, and say what is noisy and what is blind."""
    from perf.compare import load_thresholds
    from perf.selftest import judge, measure_in_turn

    if arguments.runs < 1:
        raise ValueError(f"--runs: expected at least 1, found {arguments.runs}")
    folder = Path(".perf") / "selftest" / time.strftime("%Y%m%d-%H%M%S")
    base, head = measure_in_turn(folder, arguments.rest, runs=arguments.runs)
    found = judge(base, head, thresholds=load_thresholds(BASELINES / "thresholds.toml"))
    keys, missed = found.equal.summary.compared, len(found.missed)
    for alarm in found.alarms:
        print(f"NOISY: {alarm}")
    for key in found.missed:
        print(f"blind: the planted slow-down of {key} was not found")
    print(
        f"{keys} keys: {len(found.alarms)} false alarms, {keys - missed} planted slow-downs found; "
        f"{found.equal.minimum_detectable_text}; {'passed' if found.passed else 'FAILED'}"
    )
    return OK if found.passed else REGRESSION
