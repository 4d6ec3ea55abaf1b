"""``doctor``: what is here, what can run, and what looks wrong."""

import argparse
import sys
from collections import Counter

from perf.commands.parser import OK, Subparsers, add_command


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = add_command(commands, "doctor", doctor, "what is here, what can run, and what looks wrong")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def doctor(arguments: argparse.Namespace) -> int:
    """Print what is here, which backends can run, and warnings."""
    import jax

    from perf.environment.doctor import doctor as examine
    from perf.environment.examined import examined

    try:
        jax.devices()  # maps the libraries that the doctor looks at
    except RuntimeError as error:
        print(f"JAX does not start: {error}", file=sys.stderr)
    if arguments.format == "json":
        print(examined().model_dump_json())
    else:
        print(examine(backends=_backends(), after_run=True)[0])
    return OK


def _backends() -> list[tuple[str, str]]:
    """Every backend with how many keys it can run and the most frequent reason why not, or what is broken."""
    from perf.backends import BACKENDS
    from perf.capability import Unsupported
    from perf.environment import environment
    from perf.environment.packages import broken
    from perf.grids import entries
    from perf.machine import machine
    from perf.support import needs

    here = machine(environment(after_run=True))
    faults = broken(here.packages)
    rows = []
    for backend in BACKENDS:
        fault = next((name for name in needs(backend) if name in faults), None)
        if fault:
            rows.append((backend.name, f"{fault} is installed and broken: {faults[fault]}"))
            continue
        mine = [entry for entry in entries() if entry.key.backend == backend.name]
        answers = [backend.supports(entry.case, entry.key.direction, here) for entry in mine]
        refusals = Counter(str(answer) for answer in answers if isinstance(answer, Unsupported))
        able = len(mine) - refusals.total()
        reason = f": {refusals.most_common(1)[0][0]}" if refusals else ""
        rows.append((backend.name, f"can run {able} of {len(mine)} keys{reason}"))
    return rows
