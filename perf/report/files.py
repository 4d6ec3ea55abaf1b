"""A comparison of record files as text, Markdown or JSON.

Imports neither jax nor torch nor pytest.
"""

import dataclasses
import json
from typing import Any

from perf.compare import Comparison, Kind, Verdict
from perf.compare.sides import Question, warnings
from perf.compare.wording import percent as size_text
from perf.environment import difference
from perf.report.verdicts import count_line, environment_lines, finding_lines, verdict_lines
from perf.units import percent, seconds

SCHEMA = 1
"""Version of the JSON form."""


def text_report(question: Question, comparison: Comparison) -> str:
    """The lines that ``pytest perf --benchmark-compare`` prints, warnings first."""
    lines = [f"WARNING: {line}" for line in warnings(question)]
    lines += verdict_lines(comparison, question.base.environment, question.head.environment)
    return "\n".join(lines)


def json_report(question: Question, comparison: Comparison) -> str:
    """Everything as JSON; changes are head/base - 1, times in seconds."""
    return json.dumps(json_content(question, comparison), indent=1, allow_nan=False)


def json_content(question: Question, comparison: Comparison) -> dict[str, Any]:
    """The same before it is text."""
    base, head = question.base.environment, question.head.environment
    return {
        "schema": SCHEMA,
        "exit": comparison.exit_code,
        "summary": {
            **dataclasses.asdict(comparison.summary),
            "minimum_detectable": comparison.minimum_detectable_text,
            "stale": comparison.stale_text,
        },
        "warnings": warnings(question),
        "environment": [
            {"field": d.field, "base": d.a, "head": d.b}
            for d in difference(base, head)
            if d.field != "gpu.uuid"
        ],
        "shift": dataclasses.asdict(comparison.shift) if comparison.shift else None,
        "verdicts": [dataclasses.asdict(verdict) for verdict in comparison.verdicts],
    }


def markdown_report(question: Question, comparison: Comparison) -> str:
    """A comment for a pull request: the answer first, then what is not `same`, the rest folded away."""
    lines = [f"**{_ANSWERS[comparison.exit_code]}** {count_line(comparison)}", ""]
    lines += [f"> **Warning:** {line}" for line in warnings(question)]
    lines += [f"- {line}" for line in environment_lines(question.base.environment, question.head.environment)]
    tail = [comparison.minimum_detectable_text, *([comparison.stale_text] if comparison.stale_text else [])]
    return "\n".join([*lines, *markdown_changes(comparison), "", *tail])


def markdown_changes(comparison: Comparison) -> list[str]:
    """What is not `same` as a table, the findings, and the rest folded away."""
    loud = [v for v in comparison.verdicts if v.fails or v.verdict is not Kind.SAME]
    quiet = [v for v in comparison.verdicts if not v.fails and v.verdict is Kind.SAME]
    lines = [f"> {comparison.shift.text}"] if comparison.shift else []
    lines += ["", *_markdown_table(loud)] if loud else []
    lines += ["", *(f"- {line}" for line in finding_lines(comparison.verdicts))]
    if quiet:
        summary = f"<details><summary>{len(quiet)} keys are the same</summary>"
        lines += ["", summary, "", *_markdown_table(quiet), "", "</details>"]
    return lines


_ANSWERS = {0: "Passed.", 1: "Regression.", 3: "Undecided."}
_COLUMNS = ("verdict", "key", "base", "now", "change", "noise", "can show", "why")


def _markdown_table(verdicts: list[Verdict]) -> list[str]:
    rows = [_COLUMNS, ("---", "---", "--:", "--:", "--:", "--:", "--:", "---"), *map(_row, verdicts)]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def _row(verdict: Verdict) -> tuple[str, ...]:
    return (
        f"**{verdict.verdict.value}**" if verdict.fails else verdict.verdict.value,
        f"`{verdict.key}`",
        "–" if verdict.base_s is None else seconds(verdict.base_s),
        "–" if verdict.head_s is None else seconds(verdict.head_s),
        "–" if verdict.change is None else percent(verdict.change, signed=True),
        "–" if verdict.noise is None else size_text(verdict.noise),
        "–" if verdict.minimum_detectable is None else size_text(verdict.minimum_detectable),
        verdict.reason.value if verdict.change is not None and not verdict.findings else verdict.text,
    )


REPORTS = {"text": text_report, "json": json_report, "markdown": markdown_report}
