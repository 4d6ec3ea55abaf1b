"""Slow-downs that somebody accepted: up to a size, until a date, for a reason.

One file, ``baselines/accepted.toml``, read strictly. An entry that has expired, or that excuses nothing in a
gate that it is meant for, fails the gate: what nobody needs any more must not hide the next slow-down.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from perf.compare import Comparison, Kind, Verdict
from perf.records.schema import Model
from perf.units import percent
from perf.versions import Versions, hold

SCHEMA = 1


class AcceptedError(ValueError):
    """The file cannot be used; the text names the entry and the field."""


class Accepted(Model):
    """One accepted slow-down.

    Args:
        key: Glob on the key.
        at_most: Largest accepted change, head/base - 1.
        expires: First day on which it is not accepted any more.
        versions: Package name (or ``cudnn``) to version specifier of the head; the entry is meant for gates
            where all hold. Empty means every gate.
    """

    key: Annotated[str, Field(min_length=1)]
    at_most: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
    expires: date
    reason: Annotated[str, Field(min_length=1)]
    by: Annotated[str, Field(min_length=1)]
    versions: Versions = Field(default_factory=dict)

    def meant_for(self, keys: Sequence[str], installed: Mapping[str, str]) -> bool:
        """Whether a gate with these keys and these versions in the head asks this entry."""
        return any(fnmatchcase(key, self.key) for key in keys) and hold(self.versions, installed)

    def excuses(self, verdict: Verdict) -> bool:
        """Whether this verdict is what was accepted: slower by no more, and nothing else is wrong."""
        return (
            verdict.verdict is Kind.SLOWER
            and verdict.change is not None
            and verdict.change <= self.at_most
            and fnmatchcase(verdict.key, self.key)
            and not any(finding.fails for finding in verdict.findings)
        )


class _File(Model):
    schema_: Annotated[int, Field(alias="schema", ge=SCHEMA, le=SCHEMA)]
    accepted: list[Accepted] = Field(default_factory=list)


def load(path: Path) -> tuple[Accepted, ...]:
    """Read the file.

    Raises:
        AcceptedError: Not TOML, or an unknown, missing or impossible field.
    """
    try:
        return tuple(_File.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).accepted)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise AcceptedError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise AcceptedError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


@dataclass(frozen=True, kw_only=True)
class Excused:
    """A comparison after acceptance.

    Args:
        faults: Entries that fail the gate, a sentence each.
    """

    comparison: Comparison
    faults: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """As the comparison's; 1 for a fault."""
        return 1 if self.faults else self.comparison.exit_code


def excuse(
    comparison: Comparison, entries: Sequence[Accepted], installed: Mapping[str, str], *, today: date
) -> Excused:
    """Take accepted slow-downs out of what fails.

    Args:
        installed: Versions of the head, ``cudnn`` among them.
    """
    keys = [verdict.key for verdict in comparison.verdicts]
    mine = [entry for entry in entries if entry.meant_for(keys, installed)]
    valid = [entry for entry in mine if today < entry.expires]
    faults = [_expired(entry) for entry in mine if entry not in valid]
    faults += [_useless(entry) for entry in valid if not any(map(entry.excuses, comparison.verdicts))]
    verdicts = tuple(_excused(verdict, valid) for verdict in comparison.verdicts)
    return Excused(comparison=replace(comparison, verdicts=verdicts), faults=tuple(faults))


def _excused(verdict: Verdict, entries: Sequence[Accepted]) -> Verdict:
    entry = next((entry for entry in entries if entry.excuses(verdict)), None)
    if entry is None:
        return verdict
    told = f"accepted by {entry.by} up to {percent(entry.at_most, signed=True)} until {entry.expires}"
    return replace(verdict, fails=False, text=f"{verdict.text}; {told}: {entry.reason}")


def _expired(entry: Accepted) -> str:
    return f"accepted slow-down of {entry.key} has expired on {entry.expires}: {entry.reason} ({entry.by})"


def _useless(entry: Accepted) -> str:
    most = percent(entry.at_most, signed=True)
    return (
        f"accepted slow-down of {entry.key} up to {most} excuses nothing here: delete or narrow the entry "
        f"({entry.by}: {entry.reason})"
    )
