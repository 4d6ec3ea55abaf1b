"""Which keys of the grids a command asks for; the same options for pytest and ``python -m perf``."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from perf.cases import DIRECTIONS, Key
from perf.grids import TAGS, Entry, entries
from perf.records.schema import Selected, Shard
from perf.shards import split


class SelectionError(ValueError):
    """An option names something that does not exist; the text gives the valid names."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Names that every selected key must match; an empty tuple of names means all.

    Args:
        tags: A key must have one of these.
        case: Glob on the whole key or on its case id.
        keys: Exactly these; None for all.
        shard: Number and count of the part that is taken; None for the whole.
    """

    tags: tuple[str, ...]
    backends: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()
    case: str = "*"
    keys: frozenset[str] | None = None
    shard: Shard | None = None

    @classmethod
    def of(cls, selected: Selected) -> "Selection":
        """What a record says that it was asked for."""
        return cls(
            tags=tuple(selected.tags),
            backends=tuple(selected.backends),
            directions=tuple(selected.directions),
            case=selected.case,
            keys=None if selected.keys is None else frozenset(selected.keys),
            shard=selected.shard,
        )

    def stored(self) -> Selected:
        """The same for a record."""
        return Selected(
            tags=list(self.tags),
            backends=list(self.backends),
            directions=list(self.directions),
            case=self.case,
            keys=None if self.keys is None else sorted(self.keys),
            shard=self.shard,
        )

    def entries(self) -> tuple[Entry, ...]:
        """The selected keys in the order of the grids.

        Raises:
            SelectionError: Nothing is selected, or fewer cases than there are shards.
        """
        found = self._whole()
        if self.shard is None:
            return found
        mine = split(found, self.shard.count)[self.shard.number - 1]
        if not mine:
            raise SelectionError(
                f"--shard: {self.shard.count} shards of {len({e.case for e in found})} cases: some are empty"
            )
        return mine

    def _whole(self) -> tuple[Entry, ...]:
        found = tuple(e for e in entries() if e.tags & set(self.tags) and self.names(e.key))
        if not found:
            raise SelectionError(
                f"no key matches tags={','.join(self.tags)} backends={','.join(self.backends) or '*'} "
                f"direction={','.join(self.directions) or '*'} case={self.case!r}; "
                "`python -m perf list --tags full` prints every key"
            )
        return found

    def names(self, key: Key) -> bool:
        """Whether a key matches backends, directions and glob; tags are a property of the grids."""
        return (
            (not self.backends or key.backend in self.backends)
            and (not self.directions or key.direction in self.directions)
            and (self.keys is None or str(key) in self.keys)
            and (fnmatchcase(str(key), self.case) or fnmatchcase(key.case_id, self.case))
        )

    def asks_for(self, key: str) -> bool:
        """Whether a key of a stored record would have been selected, if it still exists.

        A key that left the grids has no tags: it counts as asked for, so that it shows as vanished.
        """
        backend, direction, case_id = key.split("/")
        if self.shard is not None:
            return key in _keys(self)
        parsed = Key(backend=backend, direction=direction, case_id=case_id)  # type: ignore[arg-type]  # only compared
        return self.names(parsed) and bool(_tags().get(parsed, set(self.tags)) & set(self.tags))


@cache
def _keys(selection: Selection) -> frozenset[str]:
    return frozenset(str(entry.key) for entry in selection.entries())


@cache
def _tags() -> dict[Key, frozenset[str]]:
    return {entry.key: entry.tags for entry in entries()}


def select(  # noqa: PLR0913 - one argument an option
    *,
    tags: str | None,
    default_tag: str,
    backends: str | None,
    directions: str | None,
    case: str | None,
    shard: str | None = None,
    known_backends: Iterable[str],
) -> Selection:
    """Read the option values as given.

    Args:
        default_tag: Used when no tag is given.

    Raises:
        SelectionError: An unknown or empty name.
    """
    return Selection(
        tags=_names("--tags", tags, tuple(TAGS)) or (default_tag,),
        backends=_names("--backends", backends, tuple(known_backends)),
        directions=_names("--direction", directions, DIRECTIONS),
        case=_glob(case),
        shard=_shard(shard),
    )


def listed(path: Path) -> Selection:
    """Read a file of keys.

    Raises:
        SelectionError: Unreadable, empty, or a key that no grid has.
    """
    try:
        keys = frozenset(path.read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise SelectionError(f"--keys: {path}: cannot be read: {error}") from error
    unknown = sorted(keys - {str(entry.key) for entry in entries()})
    if unknown or not keys:
        found = f"{len(unknown)} unknown, first {unknown[0]!r}" if unknown else "none"
        raise SelectionError(
            f"--keys: {path}: expected keys as `python -m perf list` prints them, found {found}"
        )
    return Selection(tags=tuple(TAGS), keys=keys)


def _glob(case: str | None) -> str:
    if case is not None and not case.strip():
        raise SelectionError("--case: expected a glob such as '*T4096*', found an empty value")
    return case or "*"


def _shard(given: str | None) -> Shard | None:
    if given is None:
        return None
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", given)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise SelectionError(f"--shard: expected I/N with 1 ≤ I ≤ N, such as 2/4, found {given!r}")
    return Shard(number=int(match[1]), count=int(match[2]))


def _names(option: str, given: str | None, valid: Sequence[str]) -> tuple[str, ...]:
    if given is None:
        return ()
    names = tuple(name.strip() for name in given.split(","))
    unknown = [name for name in names if name not in valid]
    if unknown:
        raise SelectionError(
            f"{option}: expected names among {', '.join(valid)}; found {', '.join(map(repr, unknown))}"
        )
    return names
