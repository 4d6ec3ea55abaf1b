"""``run``: the same as ``pytest perf``, from any folder, and on every GPU of the machine at once."""

import argparse
import subprocess
import sys
from pathlib import Path

from perf.commands.parser import OK, REGRESSION, Subparsers, add_command
from perf.folders import ROOT


def add(commands: Subparsers) -> None:
    """Declare the command."""
    text = "measure: the same as `pytest perf`, options and all"
    parser = add_command(commands, "run", run, text, passes_on=True)
    parser.add_argument("--gpus", choices=("all",), help="one process a GPU, each with a shard; needs -o")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="with --gpus: the record, never overwritten"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run ``pytest perf`` with the options as given.

    Raises:
        ValueError: One of --gpus and -o without the other.
    """
    if (arguments.gpus is None) != (arguments.output is None):
        raise ValueError("--gpus all and -o FILE go together: the shards are put together in the file")
    if arguments.gpus:
        return _on_all(arguments)
    command = [sys.executable, "-m", "pytest", "perf", *arguments.rest]
    return subprocess.run(command, check=False, cwd=ROOT).returncode  # noqa: S603 - this interpreter


def _on_all(arguments: argparse.Namespace) -> int:
    from perf.every_gpu import measure_on_all

    record = measure_on_all(arguments.output.resolve(), arguments.rest)
    failed = [outcome for outcome in record.session.outcomes if outcome.outcome == "failed"]
    print(f"{record.path}: {len(record.keys)} keys, {len(failed)} failed")
    for outcome in failed:
        print(f"{outcome.key}: {outcome.text}")
    return REGRESSION if failed else OK
