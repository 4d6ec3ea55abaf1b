"""The question of a gate as data: two sides, and how they are measured. Kept as ``plan.json``."""

from pathlib import Path
from typing import Annotated, Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from pydantic import Field, ValidationError

from perf.records.schema import Model

PLAN = "plan.json"


class GateError(ValueError):
    """A gate that cannot be run; the text names the option or the file, what was expected and found."""


class SideSpec(Model):
    """One environment as the user asks for it.

    Args:
        requirements: What to install, as pip takes it; empty means that ``python`` is used as it is.
        python: An interpreter that has everything installed; None with requirements.
        variables: Environment variables that are set for this side alone.
    """

    requirements: tuple[str, ...] = ()
    python: str | None = None
    variables: dict[str, str] = Field(default_factory=dict)

    def describe(self) -> str:
        """In one line."""
        what = " ".join(self.requirements) or str(self.python)
        return " ".join([what, *(f"{name}={value}" for name, value in self.variables.items())])


class Plan(Model):
    """Everything that a gate needs to begin, or to go on after it was stopped.

    Args:
        aa: The two sides are meant to be the same.
        extras: Extras of this suite that are installed on a side made from requirements.
        wheels: A folder of wheels beside the registry.
        keys: What is measured, in the order of the grids.
        arguments: Further options of ``pytest perf``.
        timeout_s: A process run that finishes no key for so long is stopped.
    """

    schema_: Annotated[Literal[1], Field(alias="schema")] = 1
    base: SideSpec
    head: SideSpec
    aa: bool = False
    extras: tuple[str, ...] = ()
    wheels: str | None = None
    keys: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    timeout_s: Annotated[float, Field(gt=0)]


def save(plan: Plan, folder: Path) -> None:
    """Begin a folder with its plan.

    Raises:
        GateError: The folder holds a gate already, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / PLAN).open("x", encoding="utf-8") as file:
            file.write(plan.model_dump_json(by_alias=True, indent=1) + "\n")
    except FileExistsError as error:
        raise GateError(f"{folder}: holds a gate already; go on with it: --resume {folder}") from error
    except OSError as error:
        raise GateError(f"{folder}: cannot be written: {error.strerror}") from error


def resumed(folder: Path) -> Plan:
    """Read the plan of a gate that was stopped.

    Raises:
        GateError: There is none, or it cannot be read.
    """
    path = folder / PLAN
    try:
        return Plan.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GateError(f"--resume: {path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise GateError(f"--resume: {path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def name_of(requirement: str) -> str:
    """The package that a requirement is about.

    Raises:
        GateError: Not a requirement.
    """
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement as error:
        text = str(error).splitlines()[0]
        raise GateError(
            f"expected a requirement such as jax==0.11.2 or 'jax @ file:///…', found {requirement!r}: {text}"
        ) from error
