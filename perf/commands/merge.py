"""``merge``: put the shards of a selection together, without jax or a GPU."""

import argparse
from pathlib import Path

from perf.commands.parser import OK, Subparsers, add_command


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = add_command(
        commands, "merge", merge_shards, "put records of --shard I/N together; fails on a missing one"
    )
    parser.add_argument("shards", nargs="+", type=Path, metavar="RECORD")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="written, never overwritten"
    )


def merge_shards(arguments: argparse.Namespace) -> int:
    """Write the whole record."""
    from perf.merge import merge

    record = merge(arguments.shards, arguments.output)
    print(f"{record.path}: {len(record.keys)} keys of {len(arguments.shards)} shards")
    return OK
