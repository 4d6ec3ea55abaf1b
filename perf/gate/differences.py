"""In what the two sides differ: versions and flags as seen, every locked package, the variables as given."""

from perf.environment import stack_lines
from perf.environment.examined import Examined
from perf.gate.interpreter import Interpreter


def difference_lines(
    base: Interpreter, head: Interpreter, seen_base: Examined, seen_head: Examined
) -> list[str]:
    """One line a difference; empty when none is found."""
    seen = stack_lines(seen_base.environment, seen_head.environment)
    lines = [*seen, *_changed("variable", base.variables, head.variables)]
    lines += _changed("lock", _locked(base), _locked(head))
    told = {line.split(": ", 1)[1] for line in seen}  # a package of the fingerprint is in the lock too
    return [line for line in lines if line in seen or line.split(": ", 1)[1] not in told]


def _changed(kind: str, old: dict[str, str], new: dict[str, str]) -> list[str]:
    names = dict.fromkeys([*old, *new])
    return [
        f"{kind}.{name}: {old.get(name, 'none')} → {new.get(name, 'none')}"
        for name in names
        if old.get(name) != new.get(name)
    ]


def _locked(side: Interpreter) -> dict[str, str]:
    """Version, or address, of every locked package."""
    parts = (line.partition("==" if "==" in line else " @ ") for line in side.lock)
    return {name: version for name, _, version in parts}
