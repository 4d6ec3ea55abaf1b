"""``docs``: make the generated parts of the documents anew."""

import argparse

from perf.commands.parser import OK, REGRESSION, Subparsers, add_command
from perf.folders import ROOT

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "perf/backends/README.md")


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = add_command(commands, "docs", docs, "make the generated parts of the documents anew")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a part is stale")


def docs(arguments: argparse.Namespace) -> int:
    """Rewrite every document, or say which are stale."""
    from perf.docs import rewritten

    status = OK
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        fresh = rewritten(text)
        if fresh == text:
            continue
        print(f"{name}: {'stale; run `python -m perf docs`' if arguments.check else 'rewritten'}")
        if arguments.check:
            status = REGRESSION
        else:
            path.write_text(fresh, encoding="utf-8")
    return status
