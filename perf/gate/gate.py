"""The gate from its plan to its answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from perf.compare import Comparison, Kind, Thresholds
from perf.gate.accepted import Accepted, Excused, excuse
from perf.gate.attribution import Blame, attribute
from perf.gate.differences import difference_lines
from perf.gate.interpreter import examine, interpreter, refuse_unfit
from perf.gate.plan import GateError, Plan, SideSpec, name_of
from perf.gate.releases import Range, first_slow
from perf.gate.schedule import Answer, settle
from perf.gate.side import Side

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What decides, apart from the measurements.

    Args:
        cpu: A run on the CPU is meant.
        busy: Other processes on the GPU are put up with.
    """

    thresholds: Thresholds
    accepted: Sequence[Accepted]
    today: date
    cpu: bool = False
    busy: bool = False


@dataclass(kw_only=True)
class Gate:
    """One gate in its folder.

    Args:
        differences: What the sides differ in; known once they are there.
    """

    plan: Plan
    folder: Path
    limits: Limits
    say: Say
    differences: list[str] = field(default_factory=list)
    sides: list[Side] = field(default_factory=list)

    def answer(self) -> Answer:
        """Make the environments, look at them, measure, and compare.

        Raises:
            GateError: An environment cannot be made or measured, or the GPU is not free.
            KeyboardInterrupt: Ctrl-C; ``--resume`` goes on.
        """
        base, head = self._ready("base", self.plan.base), self._ready("head", self.plan.head)
        return settle(base, head, self.plan.keys, thresholds=self.limits.thresholds, say=self.say)

    def excused(self, answer: Answer) -> Excused:
        """The comparison after accepted slow-downs."""
        here = answer.question.head.environment
        installed = here.packages | ({"cudnn": here.cudnn} if here.cudnn else {})
        return excuse(answer.comparison, self.limits.accepted, installed, today=self.limits.today)

    def blames(self, keys: Sequence[str]) -> list[Blame]:
        """Which change brings the slow-down of each key."""
        return attribute(self.plan.base, self.plan.head, keys, self._measure("mixed"), say=self.say)

    def bisected(self, keys: Sequence[str], over: Range, releases: Sequence[str]) -> dict[str, str]:
        """The first slow release for each key."""
        measure = self._measure("release")

        def slow(release: str, some: Sequence[str]) -> set[str]:
            self.say(f"bisection: {len(some)} keys with {over.package} {release}")
            spec = with_release(self.plan.base, over.package, release)
            return set(slower(measure(spec, some)))

        return first_slow(releases, keys, slow)

    def _ready(self, name: str, spec: SideSpec) -> Side:
        """A side that can be measured; the second one is compared with the first."""
        self.say(f"{name}: {spec.describe()}")
        found = interpreter(name, spec, self.plan)
        seen = examine(found)
        side = Side(
            interpreter=found,
            seen=seen,
            folder=self.folder,
            arguments=self.plan.arguments,
            timeout_s=self.plan.timeout_s,
        )
        side.take_up()
        self.sides.append(side)
        refuse_unfit([self.sides[0].seen, seen], cpu=self.limits.cpu, busy=self.limits.busy)
        if name == "head":
            self._tell_differences()
        return side

    def _tell_differences(self) -> None:
        base, head = self.sides[0], self.sides[-1]
        self.differences = difference_lines(base.interpreter, head.interpreter, base.seen, head.seen)
        for warning in dict.fromkeys([*base.seen.warnings, *head.seen.warnings]):
            self.say(f"WARNING: {warning}")
        for line in self.differences or ["no difference: no version, flag or variable tells the sides apart"]:
            self.say(line)

    def _measure(self, prefix: str) -> Callable[[SideSpec, Sequence[str]], Comparison]:
        """Compare the base with further environments, numbered; the base is measured anew beside each."""
        number = 0

        def measure(spec: SideSpec, keys: Sequence[str]) -> Comparison:
            nonlocal number
            number += 1
            base = self._ready(f"{prefix}-{number}-base", self.plan.base)
            head = self._ready(f"{prefix}-{number}-head", spec)
            return settle(base, head, keys, thresholds=self.limits.thresholds, say=self.say).comparison

        return measure


def slower(comparison: Comparison) -> list[str]:
    """The keys that are slower and not accepted."""
    return [v.key for v in comparison.verdicts if v.verdict is Kind.SLOWER and v.fails]


def with_release(spec: SideSpec, package: str, release: str) -> SideSpec:
    """A side with one package in another release.

    Raises:
        GateError: The side is no list of requirements.
    """
    if spec.python:
        raise GateError("--over: needs environments made from requirements, not --base-python")
    others = [r for r in spec.requirements if name_of(r) != name_of(package)]
    return spec.model_copy(update={"requirements": (*others, f"{package}=={release}")})
