"""What all commands share: exit codes, folders, and how a command is declared."""

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from perf.grids import Entry

EXIT_CODES = """exit codes:
  0  passed
  1  a regression, lost support, or a key that vanished
  2  input that cannot be used
  3  undecided, or nothing was compared"""
OK, REGRESSION, UNUSABLE, UNDECIDED = range(4)

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - it has no public name
Command = Callable[[argparse.Namespace], int]


SELECTION = ("tags", "backends", "direction", "case", "shard")
"""Options that choose keys, as in ``pytest perf``."""


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Declare the options that choose keys."""
    for name in SELECTION:
        parser.add_argument(f"--{name}", help=f"as in pytest perf --{name}")


def selected(
    arguments: argparse.Namespace, *, default_tag: str, known_backends: Iterable[str]
) -> "tuple[Entry, ...]":
    """The keys that these options choose.

    Raises:
        SelectionError: An unknown name, or nothing is selected.
    """
    from perf.selection import select

    return select(
        tags=arguments.tags,
        default_tag=default_tag,
        backends=arguments.backends,
        directions=arguments.direction,
        case=arguments.case,
        shard=arguments.shard,
        known_backends=known_backends,
    ).entries()


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
