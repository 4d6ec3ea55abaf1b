"""The parts of the documents that are generated from code: options, tags, backends, grids, exit codes."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import get_args

from perf.backends import BACKENDS
from perf.backends.base import Backend
from perf.capability import Machine, Supported, Unsupported
from perf.cases import DIRECTIONS, AttentionCase, Direction, Dtype
from perf.commands.parser import EXIT_CODES
from perf.grids import GRIDS, TAGS, entries
from perf.options import OPTIONS

_HOPPER = Machine(compute_capability=(9, 0), cudnn=(9, 19))
_HEAD_SIZES = range(1, 513)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def options() -> str:
    """Our options of ``pytest perf`` and ``pytest tests``."""
    rows = []
    for option in OPTIONS:
        value = option.settings.get("metavar") or "|".join(option.settings.get("choices", ()))
        text = option.help % {"default": option.settings.get("default")}
        rows.append((f"`{option.flag}{f' {value}' if value else ''}`".replace("|", "\\|"), text))
    return _table(("option", "meaning"), rows)


def tags() -> str:
    """Every tag with how many keys it holds."""
    counts = {tag: sum(tag in entry.tags for entry in entries()) for tag in TAGS}
    return _table(("tag", "keys", "meaning"), ((f"`{t}`", str(counts[t]), text) for t, text in TAGS.items()))


def grids() -> str:
    """Every grid with where its shapes come from."""
    rows = []
    for grid in GRIDS:
        keys = len(grid.cases) * len(grid.directions) * len(grid.backends)
        rows.append((grid.name, grid.source, ", ".join(grid.backends), ", ".join(grid.directions), str(keys)))
    return _table(("grid", "source", "backends", "directions", "keys"), rows)


def backends() -> str:
    """What each backend computes on a Hopper GPU, asked from the backends themselves."""
    rows = []
    for backend, direction in product(BACKENDS, DIRECTIONS):
        if direction == "training_step":
            continue  # has the limits of the gradient
        dtypes = [d for d in get_args(Dtype) if _head_sizes(backend, direction, d)]
        sizes = _ranges(_head_sizes(backend, direction, dtypes[0]))
        rows.append((f"`{backend.name}`", direction, ", ".join(dtypes), sizes, _on_cpu(backend, direction)))
    head = ("backend", "direction", "dtypes", "head sizes", "without a GPU")
    return _table(head, rows) + "\n\n" + "\n".join(f"- `{b.name}`: {b.summary}" for b in BACKENDS)


def _case(head_dim: int, dtype: Dtype) -> AttentionCase:
    return AttentionCase(
        batch=1, q_len=128, kv_len=128, q_heads=8, kv_heads=8, head_dim=head_dim, dtype=dtype, mask="causal"
    )


def _head_sizes(backend: Backend, direction: Direction, dtype: Dtype) -> list[int]:
    able = (backend.supports(_case(size, dtype), direction, _HOPPER) for size in _HEAD_SIZES)
    return [size for size, answer in zip(_HEAD_SIZES, able, strict=True) if isinstance(answer, Supported)]


def _ranges(sizes: list[int]) -> str:
    if len(sizes) == len(_HEAD_SIZES):
        return "any"
    if len(sizes) == 1:
        return str(sizes[0])
    return f"{sizes[0]} to {sizes[-1]} in steps of {sizes[1] - sizes[0]}"


def _on_cpu(backend: Backend, direction: Direction) -> str:
    answers = [backend.supports(_case(64, dtype), direction, Machine()) for dtype in get_args(Dtype)]
    able = [d for d, a in zip(get_args(Dtype), answers, strict=True) if isinstance(a, Supported)]
    refused = next((a for a in answers if isinstance(a, Unsupported)), None)
    return ", ".join(able) or f"refused ({refused.code if refused else 'never'})"


def exit_codes() -> str:
    """The exit codes of every command."""
    return f"```\n{EXIT_CODES}\n```"


PARTS: dict[str, Callable[[], str]] = {
    "options": options,
    "tags": tags,
    "grids": grids,
    "backends": backends,
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
