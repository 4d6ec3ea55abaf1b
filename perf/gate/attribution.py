"""Which change brings a slow-down: the base with one change at a time, then with two."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from perf.compare import Comparison, Kind
from perf.gate.plan import GateError, SideSpec, name_of

Measure = Callable[[SideSpec, Sequence[str]], Comparison]
"""Compares the base with another environment, some keys only."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing in which head differs from base: a requirement, a variable, or the interpreter.

    Args:
        before: None where the base has no such thing.
    """

    kind: str
    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.name}: {self.before or 'none'} → {self.after or 'none'}"


@dataclass(frozen=True, kw_only=True)
class Blame:
    """What brings the slow-down of one key.

    Args:
        changes: The smallest set found; all of them when fewer are not enough.
        kernels: What ran with these changes in place of the base's kernels; empty when the same ran.
    """

    key: str
    changes: tuple[Change, ...]
    kernels: str = ""


def changes(base: SideSpec, head: SideSpec) -> list[Change]:
    """What differs between two sides, as it was asked for."""
    tables: dict[str, tuple[dict[str, str], dict[str, str]]] = {
        "requirement": (_named(base.requirements), _named(head.requirements)),
        "variable": (base.variables, head.variables),
        "python": (_python(base), _python(head)),
    }
    return [
        Change(kind=kind, name=name, before=old.get(name), after=new.get(name))
        for kind, (old, new) in tables.items()
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def _named(requirements: Sequence[str]) -> dict[str, str]:
    return {name_of(requirement): requirement for requirement in requirements}


def _python(spec: SideSpec) -> dict[str, str]:
    return {"python": spec.python} if spec.python else {}


def applied(base: SideSpec, chosen: Sequence[Change]) -> SideSpec:
    """The base with some changes made."""
    requirements = _named(base.requirements)
    variables = dict(base.variables)
    python = base.python
    for change in chosen:
        if change.kind == "python":
            python = change.after
            continue
        table = requirements if change.kind == "requirement" else variables
        table.pop(change.name, None)
        if change.after is not None:
            table[change.name] = change.after
    return SideSpec(requirements=tuple(requirements.values()), python=python, variables=variables)


def attribute(
    base: SideSpec, head: SideSpec, keys: Sequence[str], measure: Measure, *, say: Callable[[str], None]
) -> list[Blame]:
    """Find for each key the change, or the two, that bring its slow-down.

    Args:
        keys: The keys that are slower in head.
    """
    found = changes(base, head)
    left, blames = list(keys), []
    for size in (1, 2):
        if size >= len(found):  # all changes together are head
            break
        for chosen in combinations(found, size):
            blames += _slow(base, chosen, left, measure, say) if left else []
        left = [key for key in left if key not in {blame.key for blame in blames}]
    return [*blames, *(Blame(key=key, changes=tuple(found)) for key in left)]


def _slow(
    base: SideSpec,
    chosen: Sequence[Change],
    keys: Sequence[str],
    measure: Measure,
    say: Callable[[str], None],
) -> list[Blame]:
    text = ", ".join(map(str, chosen))
    say(f"attribution: {len(keys)} keys with {text}")
    try:
        comparison = measure(applied(base, chosen), keys)
    except GateError as error:
        say(f"attribution: {text} cannot be measured: {error}")
        return []
    return [
        Blame(key=v.key, changes=tuple(chosen), kernels=_kernels(v.kernels_base, v.kernels_head))
        for v in comparison.verdicts
        if v.verdict is Kind.SLOWER
    ]


def _kernels(base: Sequence[str], head: Sequence[str]) -> str:
    come = [name for name in dict.fromkeys(head) if name not in base]
    return ", ".join(come)


def blame_lines(blames: Sequence[Blame]) -> list[str]:
    """Grouped by cause, most slow-downs first."""
    groups: dict[tuple[Change, ...], list[Blame]] = {}
    for blame in blames:
        groups.setdefault(blame.changes, []).append(blame)
    total = len({blame.key for blame in blames})
    lines = []
    for chosen, mine in sorted(groups.items(), key=lambda group: -len(group[1])):
        brings = "brings" if len(chosen) == 1 else "together bring"
        lines.append(f"{' and '.join(map(str, chosen))} {brings} {len(mine)} of {total} slow-downs:")
        lines += [f"  {b.key}{f': ran {b.kernels}' if b.kernels else ''}" for b in mine]
    return lines
