"""``gate``: may this upgrade go into the release?"""

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from perf.commands.parser import Subparsers, add_command, add_selection, selected
from perf.folders import BASELINES, ROOT
from perf.gate.plan import GateError, Plan, SideSpec, name_of, resumed, save
from perf.gate.releases import Range
from perf.gate.requirements import releases as available

if TYPE_CHECKING:
    from perf.gate.gate import Gate

FOLDER = Path(".perf") / "gate"
INTERRUPTED = 130
"""As a shell says it of a process that Ctrl-C ended."""


def add(commands: Subparsers) -> None:
    """Declare the command."""
    text = "may this upgrade go into the release? two environments in turn; other options go to pytest perf"
    parser = add_command(commands, "gate", gate, text, passes_on=True)
    for name in ("base", "head"):
        _add_side(parser, name)
    parser.add_argument(
        "--aa", action="store_true", help="both sides are the same on purpose: expect no change"
    )
    parser.add_argument(
        "--extras", default="", metavar="NAME,…", help="extras of this suite to install, such as cuda13"
    )
    parser.add_argument("--wheels", metavar="DIR", help="a folder of wheels beside the registry")
    parser.add_argument("--over", nargs=2, metavar=("PACKAGE", "A..B"), help="find the first slow release")
    parser.add_argument("--attribute", action="store_true", help="say which change brings the slow-downs")
    parser.add_argument(
        "--timeout",
        type=float,
        default=600.0,
        metavar="S",
        help="stop a process run that finishes no key for so long (default: %(default)s)",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="default: .perf/gate/TIME")
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with a gate that was stopped")
    parser.add_argument("--cpu", action="store_true", help="a run on the CPU is meant")
    parser.add_argument("--allow-busy", action="store_true", help="measure beside other processes on the GPU")
    for name, what in (("accepted", "accepted slow-downs"), ("thresholds", "limits of a verdict")):
        path = BASELINES / f"{name}.toml"
        parser.add_argument(
            f"--{name}", type=Path, default=path, metavar="FILE", help=f"{what} (default: %(default)s)"
        )
    add_selection(parser)


def _add_side(parser: argparse.ArgumentParser, name: str) -> None:
    side = parser.add_argument_group(name)
    side.add_argument(f"--{name}", nargs="+", default=[], metavar="REQUIREMENT", help="as pip takes it")
    side.add_argument(f"--{name}-python", metavar="PATH", help="an interpreter that has everything")
    side.add_argument(
        f"--{name}-env", action="append", default=[], metavar="NAME=VALUE", help="set on this side alone"
    )


def gate(arguments: argparse.Namespace) -> int:
    """Measure two environments in turn and judge the second.

    Raises:
        GateError: Options that contradict one another, or an environment that cannot be measured.
    """
    from perf.compare.thresholds import load_thresholds
    from perf.gate.accepted import load
    from perf.gate.gate import Gate, Limits

    limits = Limits(
        thresholds=load_thresholds(arguments.thresholds),
        accepted=load(arguments.accepted),
        today=datetime.now(UTC).date(),
        cpu=arguments.cpu,
        busy=arguments.allow_busy,
    )
    folder, plan = _begun(arguments)
    try:
        return _run(Gate(plan=plan, folder=folder, limits=limits, say=_say), arguments)
    except KeyboardInterrupt:
        print(f"\nstopped; what was measured is kept, go on with: --resume {folder}", file=sys.stderr)
        return INTERRUPTED


def _run(one: "Gate", arguments: argparse.Namespace) -> int:
    """Answer, look for causes if asked, and leave the report in the folder."""
    from perf.gate.gate import slower
    from perf.gate.report import Found, text, write

    over = Range.parse(*arguments.over) if arguments.over else None
    releases = over.among(available(over.package, wheels=one.plan.wheels)) if over else []
    answer = one.answer()
    excused = one.excused(answer)
    slow = slower(excused.comparison)
    found = Found(
        gate=one,
        question=answer.question,
        excused=excused,
        blames=one.blames(slow) if arguments.attribute and slow else (),
        first_slow=one.bisected(slow, over, releases) if over and slow else {},
    )
    write(found, one.folder)
    print(text(found))
    print(f"records and reports: {one.folder}")
    return found.exit_code


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def _begun(arguments: argparse.Namespace) -> tuple[Path, Plan]:
    """The folder and the plan: of a gate that was stopped, or a new one."""
    if arguments.resume:
        folder = arguments.resume.resolve()
        return folder, resumed(folder)
    folder = (arguments.output or ROOT / FOLDER / time.strftime("%Y%m%d-%H%M%S")).resolve()
    plan = _plan(arguments)
    save(plan, folder)
    return folder, plan


def _plan(arguments: argparse.Namespace) -> Plan:
    base, head = _sides(arguments)
    if base == head and not arguments.aa:
        raise GateError(
            "base and head are the same; name what differs (--head, --head-python or --head-env), or measure "
            "them all the same: --aa"
        )
    if base != head and arguments.aa:
        raise GateError("--aa: expected two sides that are the same, found " + head.describe())
    if arguments.attribute and arguments.aa:
        raise GateError("--attribute: nothing differs between the sides of --aa")
    from perf.grids import entries

    # The backends themselves need JAX, which an environment that is judged may have broken.
    backends = dict.fromkeys(entry.key.backend for entry in entries())
    tag = "smoke" if arguments.cpu else "gate"
    chosen = selected(arguments, default_tag=tag, known_backends=backends)
    return Plan(
        base=base,
        head=head,
        aa=arguments.aa,
        extras=tuple(name for name in arguments.extras.split(",") if name),
        wheels=arguments.wheels,
        keys=tuple(str(entry.key) for entry in chosen),
        arguments=tuple(arguments.rest),
        timeout_s=arguments.timeout,
    )


def _sides(arguments: argparse.Namespace) -> tuple[SideSpec, SideSpec]:
    """Both sides; a head that names nothing is the base, and ``--over`` makes both."""
    base = _side("base", arguments, SideSpec(python=sys.executable))
    if arguments.over is None:
        return base, base if arguments.aa else _side("head", arguments, base)
    if arguments.head or arguments.head_python or arguments.head_env:
        raise GateError("--over: makes the head itself; leave out --head, --head-python and --head-env")
    from perf.gate.gate import with_release

    over = Range.parse(*arguments.over)
    base = base if arguments.base else SideSpec(variables=base.variables)
    return tuple(with_release(base, over.package, end) for end in (over.first, over.last))  # type: ignore[return-value]  # two ends


def _side(name: str, arguments: argparse.Namespace, default: SideSpec) -> SideSpec:
    requirements, python, pairs = (getattr(arguments, name + part) for part in ("", "_python", "_env"))
    if requirements and python:
        raise GateError(f"--{name} and --{name}-python: one environment cannot be both")
    for requirement in requirements:
        name_of(requirement)
    own = bool(requirements or python)
    return SideSpec(
        requirements=tuple(requirements) if own else default.requirements,
        python=python if own else default.python,
        variables=(default.variables if not own else {}) | dict(_variable(name, pair) for pair in pairs),
    )


def _variable(side: str, pair: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not name or not equals:
        raise GateError(f"--{side}-env: expected NAME=VALUE, found {pair!r}")
    return name, value
