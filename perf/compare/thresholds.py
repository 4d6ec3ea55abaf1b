"""What counts as a change: a typed, versioned file that is read strictly and can be printed.

Owns `Thresholds` and its TOML form; the numbers are in ``baselines/thresholds.toml``. Imports nothing of the
suite but the record models' base.
"""

import json
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from perf.records.schema import Clock, Model

SCHEMA = 1

Fraction = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Relative = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
PositiveRelative = Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
Microseconds = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class ThresholdsError(ValueError):
    """A thresholds file that cannot be used; the text names file, field, and what was found."""


class Level(Model):
    """Chances of a wrong verdict, for a whole run of all its keys and looks together.

    Args:
        run: At least one false `slower` (and as much for `faster`) in a run where nothing changed.
        suspicion: A key this unlikely to be chance, for the whole run, is not called `same`.
        miss: Per key, that a change of `same_within` is called `same`.
    """

    run: Fraction
    suspicion: Fraction
    miss: Fraction


class Budget(Model):
    """The sequential plan: undecided keys are measured again in fresh processes.

    Args:
        looks: Verdicts at most, the first included; 1 turns measuring again off.
        processes_per_look: Fresh process runs of the undecided keys before each further look.
        seconds: Measuring again stops after this long.
    """

    looks: Annotated[int, Field(ge=1, le=20)]
    processes_per_look: Annotated[int, Field(ge=1, le=50)]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class BackendClass(Model):
    """What to expect of backends that behave alike.

    Args:
        name: For texts.
        backends: Globs on the backend's name; the first class with a match is taken.
        clock: Only for keys of this clock; None for any.
        interest: Smallest relative change that may be called a change.
        floor_us: The same in microseconds; both must be passed.
        same_within: A change of this size must not be called `same`, where the noise allows it.
        typical_spread: Spread between process runs where the records tell little of it.
        machine_spread: Spread between machines of one GPU model.
    """

    name: str
    backends: Annotated[list[str], Field(min_length=1)]
    clock: Clock | None = None
    interest: PositiveRelative
    floor_us: Microseconds
    same_within: PositiveRelative
    typical_spread: PositiveRelative
    machine_spread: Relative


class KeyOverride(Model):
    """Other limits for the keys that a glob matches; what is left out stays the class's."""

    keys: str
    interest: PositiveRelative | None = None
    floor_us: Microseconds | None = None
    same_within: PositiveRelative | None = None


class CompileTime(Model):
    """Growth of the compile time that is reported; both must be passed by every process run."""

    growth: PositiveRelative
    floor_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    fails: bool


class Dispatch(Model):
    """Growth of the host's share of a call that is reported; both must be passed by every process run.

    Args:
        keys: Globs of the keys whose kernels are so short that the host's share is most of the call.
    """

    keys: list[str]
    growth: PositiveRelative
    floor_us: Microseconds
    fails: bool


class Memory(Model):
    """Growth of temporary bytes that fails; both must be passed."""

    growth: Relative
    floor_bytes: Annotated[int, Field(ge=0)]


class ErrorGrowth(Model):
    """Growth of the numerical error that fails: by a factor, and above a share of its limit."""

    factor: Annotated[float, Field(gt=1, allow_inf_nan=False)]
    share_of_limit: Fraction


class Thresholds(Model):
    """All limits of a comparison. The first matching class, then every matching override in order."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    tail_df: Annotated[float, Field(ge=1, le=30, allow_inf_nan=False)]
    """Degrees of freedom of the Student's t that process runs scatter by; few means frequent jumps."""
    level: Level
    budget: Budget
    memory: Memory
    error: ErrorGrowth
    compile_time: CompileTime
    dispatch: Dispatch
    classes: Annotated[list[BackendClass], Field(alias="class", min_length=1)]
    overrides: Annotated[list[KeyOverride], Field(alias="override", default_factory=list)]

    def for_key(self, key: str, *, backend: str, clock: Clock) -> BackendClass:
        """Limits in force for one key.

        Raises:
            ThresholdsError: No class matches the backend.
        """
        found = next((c for c in self.classes if _matches(c, backend, clock)), None)
        if found is None:
            raise ThresholdsError(f"class: none matches backend {backend!r} with clock {clock!r}")
        for override in self.overrides:
            if fnmatchcase(key, override.keys):
                found = found.model_copy(update=override.model_dump(exclude={"keys"}, exclude_none=True))
        return found


def _matches(candidate: BackendClass, backend: str, clock: Clock) -> bool:
    return candidate.clock in (None, clock) and any(fnmatchcase(backend, glob) for glob in candidate.backends)


def load_thresholds(path: Path) -> Thresholds:
    """Read a thresholds file.

    Raises:
        ThresholdsError: Unreadable, not TOML, another schema, an unknown table or key, a wrong type, or a
            value out of range.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        return Thresholds.model_validate(raw)
    except OSError as error:
        raise ThresholdsError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ThresholdsError(f"{path}: expected TOML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        found = str(first["input"])[:80]
        raise ThresholdsError(f"{path}: {field}: {first['msg']}, found {found}") from error


def dump_thresholds(thresholds: Thresholds) -> str:
    """Write thresholds as TOML that `load_thresholds` reads back to the same value."""
    fields = thresholds.model_dump(by_alias=True, exclude_none=True)
    scalars = {name: value for name, value in fields.items() if not isinstance(value, dict | list)}
    blocks = [_assignments(scalars)]
    for name, value in fields.items():
        if isinstance(value, dict):
            blocks.append(f"[{name}]\n{_assignments(value)}")
        elif isinstance(value, list):
            blocks += [f"[[{name}]]\n{_assignments(table)}" for table in value]
    return "\n\n".join(blocks) + "\n"


def _assignments(table: dict[str, object]) -> str:
    return "\n".join(f"{name} = {_literal(value)}" for name, value in table.items())


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str):
        # A JSON string is a TOML basic string.
        return json.dumps(value, ensure_ascii=False)
    return repr(value)
