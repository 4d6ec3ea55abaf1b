"""The answer of a gate: as text for the terminal, as Markdown for a summary, as JSON for machines."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perf.compare import Comparison, Kind
from perf.compare.sides import Question
from perf.gate.accepted import Excused
from perf.gate.attribution import Blame, blame_lines
from perf.gate.gate import Gate
from perf.gate.side import Side
from perf.report.files import json_content, markdown_changes
from perf.report.verdicts import change_lines, count_line

ANSWERS = {0: "PASSED", 1: "REGRESSION", 3: "UNDECIDED"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Found:
    """Everything that a gate found.

    Args:
        blames: Which change brings a slow-down; empty when that was not asked for.
        first_slow: The first slow release of each key; the same.
    """

    gate: Gate
    question: Question
    excused: Excused
    blames: Sequence[Blame] = ()
    first_slow: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 passed, 1 regression, 3 undecided or nothing compared."""
        return self.excused.exit_code

    @property
    def comparison(self) -> Comparison:
        """After accepted slow-downs."""
        return self.excused.comparison

    @property
    def heading(self) -> str:
        """The answer and the counts, in one line."""
        return f"{ANSWERS[self.exit_code]}: {count_line(self.comparison)}"

    @property
    def differences(self) -> list[str]:
        """What the sides differ in."""
        return self.gate.differences or ["no difference between the two environments"]

    @property
    def notes(self) -> list[str]:
        """What else decides or explains: correctness, acceptance, causes, trouble."""
        lines = [*correctness_lines(self.question), *self.excused.faults]
        accepted = (v for v in self.comparison.verdicts if v.verdict is Kind.SLOWER and not v.fails)
        lines += [f"{verdict.key}: {verdict.text}" for verdict in accepted]
        lines += blame_lines(self.blames)
        lines += [f"{key}: slow since {release}" for key, release in sorted(self.first_slow.items())]
        return lines + [trouble for side in self.gate.sides for trouble in side.troubles]


def correctness_lines(question: Question) -> list[str]:
    """Keys whose support or correctness differs between the sides, and those that fail on both."""
    before, after = question.base.outcomes, question.head.outcomes
    lines = []
    for key in sorted(before.keys() & after.keys()):
        old, new = before[key], after[key]
        if old.outcome == new.outcome == "failed":
            lines.append(f"{key}: failed on both sides: {new.text.splitlines()[0]}")
        elif old.outcome != "measured" and new.outcome == "measured":
            lines.append(f"{key}: right in head; {old.outcome} in base: {old.text.splitlines()[0]}")
    return lines


def text(found: Found) -> str:
    """For the terminal; the answer is the last line, where the eye is when it ends."""
    lines = [*found.differences, *change_lines(found.comparison), *found.notes]
    lines += [found.comparison.minimum_detectable_text, *time_lines(found.gate.sides)]
    return "\n".join([*lines, found.heading])


def markdown(found: Found) -> str:
    """For a job summary or a comment; the answer is the first line."""
    lines = [f"**{found.heading}**", "", *(f"- {line}" for line in found.differences)]
    lines += markdown_changes(found.comparison)
    lines += ["", *(f"- {line.strip()}" for line in found.notes)]
    return "\n".join(
        [*lines, "", found.comparison.minimum_detectable_text, "", *time_lines(found.gate.sides)]
    )


def content(found: Found) -> dict[str, Any]:
    """For machines: the JSON form of a comparison, and ``gate``."""
    plan, sides = found.gate.plan, found.gate.sides
    return json_content(found.question, found.comparison) | {
        "exit": found.exit_code,
        "gate": {
            "plan": plan.model_dump(mode="json", by_alias=True),
            "locks": {side.name: list(side.interpreter.lock) for side in sides},
            "differences": found.gate.differences,
            "notes": found.notes,
            "blames": [dataclasses.asdict(blame) for blame in found.blames],
            "first_slow": found.first_slow,
            "seconds": {side.name: round(side.spent_s, 1) for side in sides},
        },
    }


def write(found: Found, folder: Path) -> None:
    """Leave ``report.txt``, ``report.md`` and ``report.json`` in the gate's folder, each in one step."""
    forms = {
        "txt": text(found),
        "md": markdown(found),
        "json": json.dumps(content(found), indent=1, allow_nan=False),
    }
    for ending, form in forms.items():
        written = folder / f".report.{ending}"
        written.write_text(form + "\n", encoding="utf-8")
        written.replace(folder / f"report.{ending}")


def time_lines(sides: Sequence[Side]) -> list[str]:
    """Where the time went, a line a side."""
    return [_time_line(side) for side in sides if side.records]


def _time_line(side: Side) -> str:
    return (
        f"{side.name}: {len(side.records)} process runs in {side.spent_s:.0f} s, {side.runs.total()} key "
        f"runs; compiling took {side.compiled_s:.0f} s of it, samples {side.timed_s:.1f} s"
    )
