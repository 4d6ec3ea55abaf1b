"""Known failures: keys that some library gets wrong, each a strict expectation with its reason.

One file, ``baselines/known_failures.toml``, read strictly. An entry that matches no key of the grids is an
error; a matching key that passes fails the run.
"""

import tomllib
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from pydantic import Field, ValidationError

from perf.grids import entries
from perf.records.schema import Model
from perf.versions import Versions, hold

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
    versions: Versions = Field(default_factory=dict)
    seen: str
    right: str
    link: str

    def applies(self, key: str, installed: dict[str, str]) -> bool:
        """Whether the fault is expected for a key with these package versions."""
        return fnmatchcase(key, self.key) and hold(self.versions, installed)


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
