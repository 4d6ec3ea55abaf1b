"""``baseline``: make the baseline of a GPU, accept a change of it, and review it."""

import argparse
import sys
import time
from pathlib import Path

from perf.commands.parser import OK, UNUSABLE, Subparsers, add_command
from perf.folders import BASELINES
from perf.records.store import RecordError


def add(commands: Subparsers) -> None:
    """Declare the command and those below it."""
    baseline = commands.add_parser("baseline", help="make, accept, show, compare and check baselines")
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
    _add_accept(below)
    shown = add_command(
        below, "show", show_baseline, "print a baseline: stack, approval, keys with their spread"
    )
    shown.add_argument("file", nargs="?", type=Path, help="default: the one in force of every GPU")
    differing = add_command(
        below, "diff", diff_baselines, "compare two baselines; default: the last two of a GPU"
    )
    differing.add_argument("files", nargs="*", type=Path, metavar="OLD NEW")
    checked = add_command(below, "check", check_baselines, "check every file below baselines/, for a review")
    checked.add_argument("root", nargs="?", type=Path, default=BASELINES)


def _add_accept(below: Subparsers) -> None:
    accepted = add_command(
        below,
        "accept",
        accept_record,
        "make a record the next baseline: a decision, with its reason in the file",
    )
    accepted.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="several are pooled")
    accepted.add_argument("--reason", required=True, help="why; kept in the file")
    accepted.add_argument(
        "--only", metavar="GLOB", help="accept these keys alone; the others stay as they are"
    )
    accepted.add_argument("--first", action="store_true", help="begin the baselines of another GPU")


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


def accept_record(arguments: argparse.Namespace) -> int:
    """Write the next baseline, and say what became worse."""
    from perf.accept import accept
    from perf.records.store import load
    from perf.report.baselines import acceptance_lines

    path = accept(
        BASELINES, arguments.records, reason=arguments.reason, only=arguments.only, first=arguments.first
    )
    print("\n".join([f"wrote {path}", *acceptance_lines(load(path).session.acceptance)]))
    return OK


def show_baseline(arguments: argparse.Namespace) -> int:
    """Print one baseline, or all that are in force."""
    from perf.records.store import in_force, load
    from perf.report.baselines import show

    if arguments.file:
        print(show(load(arguments.file)))
        return OK
    found = [record for record in map(in_force, _folders(BASELINES)) if record]
    print("\n\n".join(map(show, found)) or f"{BASELINES}: no baseline yet")
    return OK


def diff_baselines(arguments: argparse.Namespace) -> int:
    """Compare two baselines as two records are compared, and say why the newer one was accepted."""
    from perf.compare.sides import ask
    from perf.compare.thresholds import load_thresholds
    from perf.records.store import load
    from perf.report.baselines import acceptance_lines
    from perf.report.files import text_report

    old, new = _two(arguments.files)
    question = ask([old], [new], thresholds=load_thresholds(BASELINES / "thresholds.toml"))
    print("\n".join([f"{old} → {new}", *acceptance_lines(load(new).session.acceptance)]))
    print(text_report(question, question.comparison()))
    return OK


def _two(files: list[Path]) -> tuple[Path, Path]:
    from perf.records.store import numbered

    if len(files) == 2:  # noqa: PLR2004 - old and new
        return files[0], files[1]
    if files:
        raise RecordError(f"expected OLD NEW, or nothing for the last two; found {len(files)} file")
    pairs = [found[-2:] for found in map(numbered, _folders(BASELINES)) if len(found) > 1]
    if len(pairs) != 1:
        raise RecordError(f"{len(pairs)} GPUs have two baselines or more: name the files, OLD NEW")
    return pairs[0][0], pairs[0][1]


def check_baselines(arguments: argparse.Namespace) -> int:
    """Check every committed file; each fault is a line."""
    from perf.report.baselines import faults

    folders = _folders(arguments.root)
    if not folders:
        raise RecordError(f"{arguments.root}: expected a folder for each GPU, found none")
    found = [fault for folder in folders for fault in faults(folder)]
    for fault in found:
        print(fault)
    print(f"{len(folders)} folders checked, {len(found)} faults")
    return UNUSABLE if found else OK


def _folders(root: Path) -> list[Path]:
    try:
        return sorted(path for path in root.iterdir() if path.is_dir())
    except OSError as error:
        raise RecordError(f"{root}: cannot be read: {error.strerror}") from error
