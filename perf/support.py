"""The support matrix: every backend asked about cases that differ from a plain one in one property."""

from dataclasses import replace
from typing import Any, get_args

from perf.backends import BACKENDS
from perf.backends.base import Backend
from perf.backends.limits import sizes_text
from perf.capability import Machine, Supported, Unsupported
from perf.cases import AttentionCase, Case, Direction, Dtype, Mask
from perf.environment.fingerprint import PACKAGES
from perf.grids import entries
from perf.report.markdown import markdown_table

HOPPER = Machine(
    compute_capability=(9, 0), cudnn=(9, 19), packages=dict.fromkeys((*PACKAGES, "cuda-bindings"), "1")
)
"""A GPU of compute capability 9.0 with cuDNN 9.19 and every optional package."""

PLAIN = AttentionCase(
    batch=2, q_len=256, kv_len=256, q_heads=8, kv_heads=8, head_dim=128, dtype="bfloat16", mask="causal"
)
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")
"""A training step has the limits of both."""

Column = tuple[str, dict[str, Any]]


def _masks() -> tuple[Column, ...]:
    masks: tuple[Column, ...] = tuple((mask, {"mask": mask}) for mask in get_args(Mask))
    return (*masks, ("window", {"window": 64}))


TABLES: dict[str, tuple[Column, ...]] = {
    "Dtypes": tuple((dtype, {"dtype": dtype}) for dtype in DTYPES),
    "Masks": _masks(),
    "Biases and steps on the scores": (
        ("dense bias", {"bias": "dense"}),
        ("alibi", {"bias": "alibi"}),
        ("softcap", {"score": "softcap"}),
        ("softsign", {"score": "softsign"}),
    ),
    "Heads and lengths": (
        ("MHA", {}),
        ("GQA", {"kv_heads": 2}),
        ("MQA", {"kv_heads": 1}),
        ("T < S, causal", {"kv_len": 512}),
        ("T < S, no mask", {"kv_len": 512, "mask": "none"}),
        ("T not a multiple of 64", {"q_len": 200, "kv_len": 200}),
    ),
}
"""Each column changes these fields of the plain case."""


def attention_backends() -> tuple[Backend, ...]:
    """Those that compute attention alone."""
    kinds = {entry.key.backend: type(entry.case) for entry in entries()}
    return tuple(b for b in BACKENDS if kinds[b.name] is AttentionCase)


def matrix() -> str:
    """All tables, for attention: ``yes`` or the code of the refusal."""
    parts = [f"### {title}\n\n{_property_table(columns)}" for title, columns in TABLES.items()]
    return "\n\n".join([*parts, f"### Head sizes\n\n{_head_size_table()}"])


def overview() -> str:
    """Every backend with what it needs beside JAX."""
    needed = {b.name: ", ".join(f"`{name}`" for name in needs(b)) or "JAX" for b in BACKENDS}
    rows = [(f"`{b.name}`", b.summary, needed[b.name], _on_cpu(b)) for b in BACKENDS]
    return markdown_table(("backend", "what it is", "needs", "without a GPU"), rows)


def plain_case(backend: Backend, direction: Direction) -> AttentionCase:
    """The plain case in the first dtype that a backend takes; bfloat16 where it takes none."""
    cases = (replace(PLAIN, dtype=dtype) for dtype in ("bfloat16", *DTYPES))
    able = (c for c in cases if isinstance(backend.supports(c, direction, HOPPER), Supported))
    return next(able, PLAIN)


def _property_table(columns: tuple[Column, ...]) -> str:
    head = ("backend", "direction", *(name for name, _ in columns))
    rows = []
    for backend in attention_backends():
        for direction in DIRECTIONS:
            plain = plain_case(backend, direction)
            cases = [replace(plain, **fields) for _, fields in columns]
            answers = [_cell(backend, case, direction) for case in cases]
            rows.append((f"`{backend.name}`", direction, *answers))
    return markdown_table(head, rows)


def _cell(backend: Backend, case: AttentionCase, direction: Direction) -> str:
    answer = backend.supports(case, direction, HOPPER)
    return f"`{answer.code}`" if isinstance(answer, Unsupported) else "yes"


def _head_size_table() -> str:
    head = ("backend", "direction", "head sizes")
    rows = [(f"`{b.name}`", d, _head_sizes(b, d)) for b in attention_backends() for d in DIRECTIONS]
    return markdown_table(head, rows)


def _head_sizes(backend: Backend, direction: Direction) -> str:
    plain, every = plain_case(backend, direction), range(1, 513)
    able = [
        size
        for size in every
        if isinstance(backend.supports(replace(plain, head_dim=size), direction, HOPPER), Supported)
    ]
    if not able:
        return "none"
    if len(able) == len(every):
        return "any"
    step = able[1] - able[0] if len(able) > 1 else 1
    return sizes_text(range(able[0], able[-1] + 1, step))


def _own_cases(backend: Backend) -> list[tuple[Case, Direction]]:
    return [(e.case, e.key.direction) for e in entries() if e.key.backend == backend.name]


def needs(backend: Backend) -> tuple[str, ...]:
    """Packages beside JAX: the one that is missed first, asked until none is."""
    here = Machine(compute_capability=(9, 0), cudnn=(9, 19))
    case, direction = _own_cases(backend)[0]
    needed: list[str] = []
    while isinstance(answer := backend.supports(case, direction, here), Unsupported):
        if answer.code != "package-missing":
            break
        needed.append(answer.needed)
        here = replace(here, packages=here.packages | {answer.needed: "1"})
    return tuple(needed)


def _on_cpu(backend: Backend) -> str:
    here = replace(HOPPER, compute_capability=None, cudnn=None)
    answers = [backend.supports(case, direction, here) for case, direction in _own_cases(backend)]
    refused = next((a for a in answers if isinstance(a, Unsupported)), None)
    if refused is None:
        return "yes"
    able = any(isinstance(answer, Supported) for answer in answers)
    return f"in part (`{refused.code}`)" if able else f"`{refused.code}`"
