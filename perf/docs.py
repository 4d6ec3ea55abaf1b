"""The parts of the documents that are generated from code: options, tags, backends, grids, exit codes."""

import re
from collections.abc import Callable

from perf.commands.parser import EXIT_CODES
from perf.grids import GRIDS, TAGS, entries
from perf.options import OPTIONS
from perf.report.markdown import markdown_table
from perf.support import matrix, overview


def options() -> str:
    """Our options of ``pytest perf`` and ``pytest tests``."""
    rows = []
    for option in OPTIONS:
        value = option.settings.get("metavar") or "|".join(option.settings.get("choices", ()))
        text = option.help % {"default": option.settings.get("default")}
        rows.append((f"`{option.flag}{f' {value}' if value else ''}`".replace("|", "\\|"), text))
    return markdown_table(("option", "meaning"), rows)


def tags() -> str:
    """Every tag with how many keys it holds."""
    counts = {tag: sum(tag in entry.tags for entry in entries()) for tag in TAGS}
    return markdown_table(
        ("tag", "keys", "meaning"), ((f"`{t}`", str(counts[t]), text) for t, text in TAGS.items())
    )


def grids() -> str:
    """Every grid with where its shapes come from."""
    rows = []
    for grid in GRIDS:
        keys = len(grid.cases) * len(grid.directions) * len(grid.backends)
        rows.append((grid.name, grid.source, ", ".join(grid.backends), ", ".join(grid.directions), str(keys)))
    return markdown_table(("grid", "source", "backends", "directions", "keys"), rows)


def exit_codes() -> str:
    """The exit codes of every command."""
    return f"```\n{EXIT_CODES}\n```"


PARTS: dict[str, Callable[[], str]] = {
    "options": options,
    "tags": tags,
    "grids": grids,
    "backends": overview,
    "support": matrix,
    "exit codes": exit_codes,
}

_PART = re.compile(r"(<!-- generated: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rewritten(text: str) -> str:
    """A document with its generated parts made anew.

    Raises:
        ValueError: A part that nothing generates.
    """

    def part(match: re.Match[str]) -> str:
        if match[2] not in PARTS:
            raise ValueError(f"generated: expected one of {', '.join(PARTS)}, found {match[2]!r}")
        return f"{match[1]}{PARTS[match[2]]()}\n{match[3]}"

    return _PART.sub(part, text)
