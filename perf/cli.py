"""Commands beside pytest: list, doctor, baseline, compare, run. Exit codes are in `EXIT_CODES`."""

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from perf.records.store import RecordError
from perf.selection import SelectionError

ROOT = Path(__file__).parent.parent
BASELINES = ROOT / "baselines"

EXIT_CODES = """exit codes:
  0  passed
  1  a regression, lost support, or a key that vanished
  2  input that cannot be used
  3  undecided, or nothing was compared"""
OK, UNUSABLE = 0, 2


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    arguments, rest = _parser().parse_known_args(argv)
    if rest and not arguments.passes_on:
        _parser().error(f"unrecognized arguments: {' '.join(rest)}")
    arguments.rest = [word for word in rest if word != "--"]
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except (RecordError, SelectionError, ValueError) as error:
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
    _add(commands, "run", run, "measure: the same as `pytest perf`, options and all", passes_on=True)
    listed = _add(commands, "list", list_keys, "print what would run, and why the rest would not")
    for name in ("tags", "backends", "direction", "case"):
        listed.add_argument(f"--{name}", help=f"as in pytest perf --{name}")
    _add(commands, "doctor", doctor, "what is here, what can run, and what looks wrong")
    _add_baseline(commands)
    _add_compare(commands)
    return parser


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    command: Callable[[argparse.Namespace], int],
    help_text: str,
    *,
    passes_on: bool = False,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=help_text,
        description=help_text,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command, passes_on=passes_on)
    return parser


def _add_baseline(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    baseline = commands.add_parser("baseline", help="make a baseline of this GPU")
    below = baseline.add_subparsers(required=True, metavar="COMMAND")
    record = _add(
        below,
        "record",
        record_baseline,
        "take fresh process runs and write the next numbered baseline; other options go to pytest perf",
        passes_on=True,
    )
    record.add_argument("--runs", type=int, default=5, help="process runs (default: %(default)s)")
    record.add_argument("--reason", default="recorded", help="why this baseline is made")
    record.add_argument("--resume", type=Path, metavar="DIR", help="go on with the runs kept in DIR")


def _add_compare(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _add(commands, "compare", compare_files, "compare record files, without jax or a GPU")
    parser.add_argument("files", nargs="*", type=Path, metavar="BASE HEAD")
    parser.add_argument("--base", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--head", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument("--explain", metavar="KEY", help="print the whole reasoning for one key")


def run(arguments: argparse.Namespace) -> int:
    """Run ``pytest perf`` with the options as given."""
    command = [sys.executable, "-m", "pytest", "perf", *arguments.rest]
    return subprocess.run(command, check=False, cwd=ROOT).returncode  # noqa: S603 - this interpreter


def list_keys(arguments: argparse.Namespace) -> int:
    """Print every selected key with its verdict of capability, then the counts."""
    from perf.backends import BACKENDS, BY_NAME
    from perf.capability import Unsupported
    from perf.environment import environment
    from perf.machine import machine
    from perf.selection import select

    here = environment(after_run=False)
    chosen = select(
        tags=arguments.tags,
        default_tag="gate" if here.gpu else "smoke",
        backends=arguments.backends,
        directions=arguments.direction,
        case=arguments.case,
        known_backends=BY_NAME,
    )
    found: Counter[str] = Counter()
    for entry in chosen.entries():
        backend = BY_NAME[entry.key.backend]
        capability = backend.supports(entry.case, entry.key.direction, machine(here))
        refused = isinstance(capability, Unsupported)
        found["would not run" if refused else "would run"] += 1
        print(f"{entry.key}  {capability if refused else 'runs'}  ({', '.join(entry.sources)})")
    print(f"{found['would run']} would run, {found['would not run']} would not, on {here.slug}")
    print("backends: " + "; ".join(f"{b.name}: {b.summary}" for b in BACKENDS))
    return OK


def doctor(arguments: argparse.Namespace) -> int:
    """Print what is here, which backends can run, and warnings."""
    del arguments
    import jax

    from perf.backends import BACKENDS
    from perf.capability import Unsupported
    from perf.environment import environment
    from perf.environment.doctor import doctor as examine
    from perf.grids import entries
    from perf.machine import machine

    try:
        jax.devices()  # maps the libraries that the doctor looks at
    except RuntimeError as error:
        print(f"JAX does not start: {error}", file=sys.stderr)
    here = machine(environment(after_run=True))
    rows = []
    for backend in BACKENDS:
        mine = [e for e in entries() if e.key.backend == backend.name]
        answers = [backend.supports(e.case, e.key.direction, here) for e in mine]
        refusals = Counter(str(a) for a in answers if isinstance(a, Unsupported))
        able = len(mine) - refusals.total()
        reason = f": {refusals.most_common(1)[0][0]}" if refusals else ""
        rows.append((backend.name, f"can run {able} of {len(mine)} keys{reason}"))
    text, _ = examine(backends=rows, after_run=True)
    print(text)
    return OK


def record_baseline(arguments: argparse.Namespace) -> int:
    """Take process runs, pool them, and write the next number."""
    from perf.baseline import FEWEST_RUNS, RUNS, describe, measure_runs, write_baseline

    if arguments.runs < FEWEST_RUNS:
        raise RecordError(f"--runs: expected at least {FEWEST_RUNS}, found {arguments.runs}")
    folder = arguments.resume or RUNS / time.strftime("%Y%m%d-%H%M%S")
    try:
        records = measure_runs(folder, arguments.rest, runs=arguments.runs)
    except (RecordError, KeyboardInterrupt):
        print(f"finished process runs are kept; go on with: --resume {folder}", file=sys.stderr)
        raise
    path = write_baseline(BASELINES, records, reason=arguments.reason)
    print(f"wrote {path}: {describe(records)}")
    return OK


def compare_files(arguments: argparse.Namespace) -> int:
    """Compare two sides of record files."""
    from perf.report.files import compare_command

    return compare_command(arguments)
