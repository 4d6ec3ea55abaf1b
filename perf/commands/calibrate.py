"""``calibrate``: how often the rule is wrong and what it finds, on recorded process runs."""

import argparse
import sys
from pathlib import Path

from perf.commands.parser import OK, Subparsers, add_command
from perf.folders import BASELINES

SIZES = (500, 5_000, 50_000)


def add(commands: Subparsers) -> None:
    """Declare the command."""
    help_text = "false alarms and power of the decision rule, and of the usual ones, on recorded process runs"
    parser = add_command(commands, "calibrate", calibrate, help_text)
    parser.add_argument("data", nargs="?", type=Path, help="folder of recorded *.jsonl.gz files")
    parser.add_argument(
        "--trials", type=int, default=1000, help="imagined runs a design (default: %(default)s)"
    )
    parser.add_argument("--format", choices=("text", "markdown"), default="text")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the power curves; needs matplotlib")
    parser.add_argument("--scale", action="store_true", help="time comparisons of 500 to 50,000 keys instead")
    parser.add_argument("--thresholds", type=Path, default=BASELINES / "thresholds.toml")


def calibrate(arguments: argparse.Namespace) -> int:
    """Study the recordings, or time large comparisons."""
    from perf.compare.thresholds import load_thresholds

    thresholds = load_thresholds(arguments.thresholds)
    if arguments.scale:
        from perf.calibrate.scale import timings

        for timing in timings(SIZES, thresholds):
            records, peak = timing.records_bytes / 1e6, timing.peak_bytes / 1e6
            print(
                f"{timing.keys} keys: {timing.seconds:.2f} s, {peak:.0f} MB at most, {records:.0f} MB before"
            )
        return OK
    if arguments.data is None or arguments.trials < 1:
        raise ValueError("expected a folder of recordings, or --scale, and at least one trial")
    return _study(arguments)


def _study(arguments: argparse.Namespace) -> int:
    from perf.calibrate.recorded import load_folder
    from perf.calibrate.study import Row, study
    from perf.calibrate.tables import markdown_table, plot, power_table, real_table, text_table
    from perf.compare.thresholds import load_thresholds

    rows: list[Row] = []
    thresholds = load_thresholds(arguments.thresholds)
    for row in study(load_folder(arguments.data), thresholds, trials=arguments.trials):
        print(f"{row.setting.rule}: {row.setting.design.name}: {row.setting.data}", file=sys.stderr)
        rows.append(row)
    print((markdown_table if arguments.format == "markdown" else text_table)(rows))
    print(f"\n{power_table(rows)}\n\n{real_table(rows)}")
    if arguments.plot:
        plot(rows, arguments.plot)
    return OK
