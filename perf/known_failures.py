"""Known failures: keys that some library gets wrong, each a strict expectation with its reason.

One file, ``baselines/known_failures.toml``, read strictly. An entry that matches no key of the grids is an
error; a matching key that passes fails the run.
"""

import tomllib
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
from pydantic import Field, ValidationError, field_validator

from perf.grids import entries
from perf.records.schema import Model

SCHEMA = 1


class KnownFailuresError(ValueError):
    """The file cannot be used; the text names the entry and the field."""


class KnownFailure(Model):
    """One fault.

    Args:
        key: Glob on the key.
        versions: Package name (or ``cudnn``) to version specifier; all must hold. Empty means always.
        seen: What happens.
        right: What should happen.
        link: Report of the fault, or ``not reported``.
    """

    key: str
    versions: dict[str, str] = Field(default_factory=dict)
    seen: str
    right: str
    link: str

    @field_validator("versions")
    @classmethod
    def _are_specifiers(cls, value: dict[str, str]) -> dict[str, str]:
        for specifier in value.values():
            try:
                SpecifierSet(specifier)
            except InvalidSpecifier as error:
                raise ValueError(f"expected a version specifier such as '>=9.19': {error}") from error
        return value

    def applies(self, key: str, installed: dict[str, str]) -> bool:
        """Whether the fault is expected for a key with these package versions."""
        return fnmatchcase(key, self.key) and all(
            name in installed and SpecifierSet(specifier).contains(Version(installed[name]), prereleases=True)
            for name, specifier in self.versions.items()
        )


class _File(Model):
    schema_: int = Field(alias="schema", ge=SCHEMA, le=SCHEMA)
    failure: list[KnownFailure] = Field(default_factory=list)


@cache
def load(path: Path) -> tuple[KnownFailure, ...]:
    """Read the file.

    Raises:
        KnownFailuresError: Not TOML, unknown or missing fields, or an entry that matches no key.
    """
    try:
        parsed = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise KnownFailuresError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise KnownFailuresError(f"{path}: {place}: {first['msg']}") from error
    keys = [str(entry.key) for entry in entries()]
    for failure in parsed.failure:
        if not any(fnmatchcase(key, failure.key) for key in keys):
            raise KnownFailuresError(f"{path}: {failure.key!r} matches no key; delete or mend the entry")
    return tuple(parsed.failure)
