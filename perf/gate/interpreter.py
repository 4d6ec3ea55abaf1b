"""One side as a command that can be started: an interpreter and its variables."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from perf.environment.examined import Examined
from perf.folders import ROOT
from perf.gate.environments import build
from perf.gate.plan import GateError, Plan, SideSpec


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """An environment that exists.

    Args:
        name: ``base`` or ``head``, for texts.
        variables: Set for this side alone.
        lock: Every package with its version; empty when the environment was not made here.
    """

    name: str
    python: Path
    variables: dict[str, str]
    lock: tuple[str, ...] = ()

    @property
    def environ(self) -> dict[str, str]:
        """The variables of a process of this side."""
        return os.environ | self.variables


def interpreter(name: str, spec: SideSpec, plan: Plan) -> Interpreter:
    """Make a side's environment, or take the one that exists.

    Raises:
        GateError: It cannot be made, or there is no such interpreter.
    """
    if spec.requirements:
        built = build(spec.requirements, extras=plan.extras, wheels=plan.wheels)
        return Interpreter(name=name, python=built.python, variables=spec.variables, lock=built.lock)
    python = Path(str(spec.python))
    if not os.access(python, os.X_OK):
        raise GateError(f"--{name}-python: expected an interpreter, found {python}, which cannot be run")
    return Interpreter(name=name, python=python, variables=spec.variables)


def examine(side: Interpreter) -> Examined:
    """Let the doctor look at a side, in a process of its own.

    Raises:
        GateError: The suite does not start there, or another copy of it does.
    """
    command = [str(side.python), "-m", "perf", "doctor", "--format", "json"]
    done = subprocess.run(  # noqa: S603 - the interpreter that the user named
        command, check=False, cwd=ROOT, env=side.environ, capture_output=True, text=True
    )
    if done.returncode:
        raise GateError(f"{side.name}: the suite does not start with {side.python}:\n{_tail(done.stderr)}")
    try:
        found = Examined.model_validate_json(done.stdout.splitlines()[-1])
    except (IndexError, ValidationError) as error:
        raise GateError(f"{side.name}: another suite than this one answers:\n{done.stdout[-300:]}") from error
    if Path(found.suite) != ROOT:
        raise GateError(
            f"{side.name}: expected the suite in {ROOT} on both sides, found {found.suite} (PYTHONPATH?)"
        )
    return found


def _tail(text: str, lines: int = 5) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])


def refuse_unfit(found: Sequence[Examined], *, cpu: bool, busy: bool) -> None:
    """Check that both sides measure the same GPU, alone.

    Args:
        cpu: A run on the CPU is meant.
        busy: Other processes on the GPU are put up with.

    Raises:
        GateError: No GPU, another GPU on one side, or somebody else's process on it.
    """
    slugs = [side.environment.slug for side in found]
    if len(set(slugs)) > 1:
        raise GateError(f"base and head must see one GPU; the base sees {slugs[0]}, the head {slugs[1]}")
    if found[0].environment.gpu is None and not cpu:
        raise GateError("no NVIDIA GPU here; if a run on the CPU is meant, say so: --cpu")
    others = found[0].others
    if others and not busy:
        raise GateError(
            f"the GPU is in use by {', '.join(others)}; wait, or measure beside it all the same: --allow-busy"
        )
