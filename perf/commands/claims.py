"""``claims``: the published texts' rows as records have them, beside what the texts say."""

import argparse
from pathlib import Path

from perf.commands.parser import OK, Subparsers, add_command


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = add_command(
        commands, "claims", print_claims, "what the published texts claim, and what was measured"
    )
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD")
    parser.add_argument("--row", nargs="+", default=[], metavar="ID", help="A9, B1 …; all by default")


def print_claims(arguments: argparse.Namespace) -> int:
    """Print a Markdown table for each row."""
    from perf.records.store import load
    from perf.report.claims import claims
    from perf.report.measured import Side

    print(claims(Side(map(load, arguments.records)), arguments.row))
    return OK
