"""``list``: what would run here, and why the rest would not."""

import argparse
from collections import Counter

from perf.commands.parser import OK, Subparsers, add_command, add_selection, selected


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = add_command(commands, "list", list_keys, "print what would run, and why the rest would not")
    add_selection(parser)


def list_keys(arguments: argparse.Namespace) -> int:
    """Print every selected key with its verdict of capability, then the counts."""
    from perf.backends import BACKENDS, BY_NAME
    from perf.capability import Unsupported
    from perf.environment import environment
    from perf.machine import machine

    here = environment(after_run=False)
    found: Counter[str] = Counter()
    tag = "gate" if here.gpu else "smoke"
    for entry in selected(arguments, default_tag=tag, known_backends=BY_NAME):
        backend = BY_NAME[entry.key.backend]
        capability = backend.supports(entry.case, entry.key.direction, machine(here))
        refused = isinstance(capability, Unsupported)
        found["would not run" if refused else "would run"] += 1
        print(f"{entry.key}  {capability if refused else 'runs'}  ({', '.join(entry.sources)})")
    print(f"{found['would run']} would run, {found['would not run']} would not, on {here.slug}")
    print("backends: " + "; ".join(f"{b.name}: {b.summary}" for b in BACKENDS))
    return OK
