"""``run``: the same as ``pytest perf``, from any folder."""

import argparse
import subprocess
import sys

from perf.commands.parser import Subparsers, add_command
from perf.folders import ROOT


def add(commands: Subparsers) -> None:
    """Declare the command."""
    add_command(commands, "run", run, "measure: the same as `pytest perf`, options and all", passes_on=True)


def run(arguments: argparse.Namespace) -> int:
    """Run ``pytest perf`` with the options as given."""
    command = [sys.executable, "-m", "pytest", "perf", *arguments.rest]
    return subprocess.run(command, check=False, cwd=ROOT).returncode  # noqa: S603 - this interpreter
