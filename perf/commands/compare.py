"""``compare``: two sides of record files, without jax or a GPU."""

import argparse
from pathlib import Path

from perf.commands.parser import Subparsers, add_command


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = add_command(commands, "compare", compare_files, "compare record files, without jax or a GPU")
    parser.add_argument("files", nargs="*", type=Path, metavar="BASE HEAD")
    parser.add_argument("--base", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--head", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument("--explain", metavar="KEY", help="print the whole reasoning for one key")


def compare_files(arguments: argparse.Namespace) -> int:
    """Compare two sides of record files."""
    raise NotImplementedError(arguments)
