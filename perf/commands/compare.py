"""``compare``: two sides of record files, without jax or a GPU."""

import argparse
from pathlib import Path

from perf.commands.parser import Subparsers, add_command
from perf.folders import BASELINES


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = add_command(commands, "compare", compare_files, "compare record files, without jax or a GPU")
    parser.add_argument("files", nargs="*", type=Path, metavar="BASE HEAD", help="one file a side")
    parser.add_argument("--base", nargs="+", type=Path, default=[], metavar="FILE", help="several, pooled")
    parser.add_argument("--head", nargs="+", type=Path, default=[], metavar="FILE", help="several, pooled")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument("--explain", metavar="KEY", help="print the whole reasoning for one key")
    parser.add_argument(
        "--thresholds", type=Path, default=BASELINES / "thresholds.toml", help="default: %(default)s"
    )


def compare_files(arguments: argparse.Namespace) -> int:
    """Compare two sides of record files."""
    from perf.compare.sides import ask
    from perf.compare.thresholds import load_thresholds
    from perf.report.explain import explain
    from perf.report.files import REPORTS

    base, head = _sides(arguments)
    question = ask(base, head, thresholds=load_thresholds(arguments.thresholds))
    comparison = question.comparison()
    if arguments.explain is None:
        print(REPORTS[arguments.format](question, comparison))
    else:
        print(explain(question, comparison, arguments.explain))
    return comparison.exit_code


def _sides(arguments: argparse.Namespace) -> tuple[list[Path], list[Path]]:
    """Two files, or ``--base`` and ``--head``.

    Raises:
        ValueError: Neither, or both.
    """
    files: list[Path] = arguments.files
    named = bool(arguments.base), bool(arguments.head)
    if len(files) == 2 and not any(named):  # noqa: PLR2004 - two sides
        return files[:1], files[1:]
    if not files and all(named):
        return arguments.base, arguments.head
    raise ValueError("expected BASE HEAD, or --base FILE … and --head FILE …")
