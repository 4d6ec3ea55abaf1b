"""The first slow release of a package, by bisection: each key's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from perf.gate.plan import GateError

Slow = Callable[[str, Sequence[str]], set[str]]
"""Which of these keys are slower with a release than with the first one."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """Releases of one package, both ends included."""

    package: str
    first: str
    last: str

    @classmethod
    def parse(cls, package: str, text: str) -> "Range":
        """Read ``0.10.0..0.12.0.1``.

        Raises:
            GateError: Not two versions in order.
        """
        first, dots, last = text.partition("..")
        try:
            ordered = bool(dots) and Version(first) < Version(last)
        except InvalidVersion:
            ordered = False
        if not ordered:
            raise GateError(
                f"--over: expected two versions such as 0.10.0..0.12.0.1, older first; found {text!r}"
            )
        return cls(package=package, first=first, last=last)

    def among(self, available: Sequence[str]) -> list[str]:
        """The releases of this range, oldest first.

        Raises:
            GateError: An end is not among them.
        """
        ends = Version(self.first), Version(self.last)
        found = sorted(version for version in map(Version, available) if ends[0] <= version <= ends[1])
        missing = [str(end) for end in ends if end not in found]
        if missing:
            raise GateError(
                f"--over: {self.package} {missing[0]} cannot be had; available: {', '.join(available[:12])} …"
            )
        return list(map(str, found))


def first_slow(releases: Sequence[str], keys: Sequence[str], slow: Slow) -> dict[str, str]:
    """The first release that is slow, for each key that is slow in the last one.

    Args:
        releases: Oldest first; the last is known to be slow for these keys.
    """
    found: dict[str, str] = {}
    open_groups = [(tuple(keys), 0, len(releases) - 1)] if keys else []
    while open_groups:
        group, good, bad = open_groups.pop()
        if bad - good == 1:
            found |= dict.fromkeys(group, releases[bad])
            continue
        middle = (good + bad) // 2
        already = slow(releases[middle], group)
        halves = (
            (tuple(k for k in group if k in already), good, middle),
            (
                tuple(k for k in group if k not in already),
                middle,
                bad,
            ),
        )
        open_groups += [half for half in halves if half[0]]
    return found
