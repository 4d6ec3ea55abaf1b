"""What all commands share: exit codes, folders, and how a command is declared."""

import argparse
from collections.abc import Callable
from typing import TypeAlias

EXIT_CODES = """exit codes:
  0  passed
  1  a regression, lost support, or a key that vanished
  2  input that cannot be used
  3  undecided, or nothing was compared"""
OK, REGRESSION, UNUSABLE, UNDECIDED = range(4)

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - it has no public name
Command = Callable[[argparse.Namespace], int]


def add_command(
    commands: Subparsers, name: str, command: Command, help_text: str, *, passes_on: bool = False
) -> argparse.ArgumentParser:
    """Declare one command.

    Args:
        passes_on: Options that the command does not know go to pytest, as ``arguments.rest``.
    """
    parser = commands.add_parser(
        name,
        help=help_text,
        description=help_text,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command, passes_on=passes_on)
    return parser
