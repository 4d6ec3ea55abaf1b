"""The grids: which keys exist, why, and when they run. Data only; every shape of the suite is here.

Tags: ``smoke`` (seconds, also on a CPU) is part of ``gate`` (the release gate), which is part of ``full``.
``codelab``, ``blog`` and ``gpt2`` name where a shape comes from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from perf.cases import Case, Key
from perf.grids import article, blocks, checks, codelab, graphs, peers
from perf.grids.grid import TAGS, Grid

__all__ = ["GRIDS", "TAGS", "Entry", "Grid", "entries"]

GRIDS: tuple[Grid, ...] = (
    *codelab.GRIDS,
    *article.GRIDS,
    *graphs.GRIDS,
    *peers.GRIDS,
    *blocks.GRIDS,
    *checks.GRIDS,
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One key of the grids with its case, all tags of the grids that hold it, and their sources."""

    key: Key
    case: Case
    tags: frozenset[str]
    sources: tuple[str, ...]


def _rows() -> Iterator[tuple[Key, Case, Grid]]:
    for grid in GRIDS:
        for case, direction, backend in product(grid.cases, grid.directions, grid.backends):
            yield Key(backend=backend, direction=direction, case_id=case.id), case, grid


@cache
def entries() -> tuple[Entry, ...]:
    """Every key once, in the order of its first grid; a key of several grids has all their tags."""
    found: dict[Key, Entry] = {}
    for key, case, grid in _rows():
        old = found.get(key)
        found[key] = Entry(
            key=key,
            case=case,
            tags=grid.tags | (old.tags if old else frozenset()),
            sources=(*(old.sources if old else ()), f"{grid.name}: {grid.source}"),
        )
    return tuple(found.values())
