"""``python -m perf``: the commands in one parser, and what an unusable input becomes."""

import argparse
import sys
from collections.abc import Sequence

from perf.commands import (
    baseline,
    calibrate,
    claims,
    compare,
    docs,
    doctor,
    gate,
    list_keys,
    merge,
    run,
    selftest,
    thresholds,
)
from perf.commands.parser import EXIT_CODES, UNUSABLE, Command

COMMANDS = (
    run,
    list_keys,
    doctor,
    gate,
    baseline,
    compare,
    merge,
    claims,
    thresholds,
    calibrate,
    selftest,
    docs,
)


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    arguments, rest = _parser().parse_known_args(argv)
    if rest and not arguments.passes_on:
        _parser().error(f"unrecognized arguments: {' '.join(rest)}")
    arguments.rest = [word for word in rest if word != "--"]
    command: Command = arguments.command
    try:
        return command(arguments)
    except ValueError as error:  # the base of every error about input: records, selection, thresholds
        print(f"error: {error}", file=sys.stderr)
        return UNUSABLE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m perf",
        description="Does this change make attention slower, wrong or different on this GPU?",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser
