"""The grids: which keys exist, why, and when they run. Data only; every shape of the suite is here.

Tags: ``smoke`` (seconds, also on a CPU) is part of ``gate`` (the release gate), which is part of ``full``.
``codelab``, ``blog`` and ``gpt2`` name where a shape comes from.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from perf.cases import DIRECTIONS, AttentionCase, Case, Direction, Dtype, Key, Mask

TAGS = {
    "smoke": "seconds, also on a CPU",
    "gate": "the release gate: 60 to 100 keys; contains smoke",
    "full": "everything; contains gate",
    "codelab": "shapes of the JAX attention codelab (JAX, cuDNN, Transformer Engine)",
    "blog": "shapes of the cuDNN 9 article",
    "gpt2": "GPT-2's attention, as in the cuDNN front end's example",
    "correctness": "small shapes that `pytest tests` checks and nothing times; no part of full",
}


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Keys that belong together: every backend × direction × case.

    Args:
        source: Where the shapes come from; the row's id and what it is for.
        tags: When it runs. ``smoke`` implies ``gate``, ``gate`` implies ``full``.
    """

    name: str
    source: str
    tags: frozenset[str]
    backends: tuple[str, ...]
    directions: tuple[Direction, ...]
    cases: tuple[Case, ...]


def _case(  # noqa: PLR0913 - the eight fields of a case, with the defaults of the codelab
    *,
    b: int = 4,
    t: int = 128,
    s: int | None = None,
    n: int = 8,
    k: int | None = None,
    h: int = 64,
    dtype: Dtype = "bfloat16",
    mask: Mask = "none",
) -> AttentionCase:
    return AttentionCase(
        batch=b,
        q_len=t,
        kv_len=s or t,
        q_heads=n,
        kv_heads=k or n,
        head_dim=h,
        dtype=dtype,
        mask=mask,
    )


_FP8: Dtype = "float8_e4m3fn"
_WIDE: tuple[Dtype, ...] = ("float32", "bfloat16", "float16")
_MASKS: tuple[Mask, ...] = ("none", "causal")
_XLA_CUDNN = ("jax_xla", "jax_cudnn")
_FORWARD: tuple[Direction, ...] = ("forward",)
_STEP: tuple[Direction, ...] = ("training_step",)
_BACKWARD: tuple[Direction, ...] = ("backward",)


def _grid(  # noqa: PLR0913 - one argument a field
    name: str,
    source: str,
    *,
    tags: str,
    backends: tuple[str, ...],
    cases: Iterable[Case],
    directions: tuple[Direction, ...] = _FORWARD,
) -> Grid:
    implied = {"smoke": {"gate", "full"}, "gate": {"full"}}
    given = set(tags.split())
    timed = set() if "correctness" in given else {"full"}
    every = given.union(timed, *(implied.get(tag, set()) for tag in given))
    return Grid(
        name=name,
        source=source,
        tags=frozenset(every),
        backends=backends,
        directions=directions,
        cases=tuple(cases),
    )


_SWEEP_T = (64, 128, 256, 512, 1024)

GRIDS: tuple[Grid, ...] = (
    _grid(
        "codelab-default",
        "A1-A3, A5: the codelab's default shape, from scratch, XLA and the open choice",
        tags="smoke codelab",
        backends=("naive", "jax_xla", "jax_auto"),
        cases=[_case(dtype="float32"), _case()],
    ),
    _grid(
        "codelab-causal",
        "A4: causal mask inside the kernel",
        tags="smoke codelab",
        backends=_XLA_CUDNN,
        cases=[_case(mask="causal")],
        directions=("forward", "training_step"),
    ),
    _grid(
        "codelab-sequence-f32",
        "A6: sequence sweep, scratch and XLA in float32",
        tags="gate codelab",
        backends=("naive", "jax_xla"),
        cases=[_case(t=t, dtype="float32") for t in _SWEEP_T],
    ),
    _grid(
        "codelab-sequence-bf16",
        "A6: sequence sweep, XLA and cuDNN in bfloat16",
        tags="gate codelab",
        backends=_XLA_CUDNN,
        cases=[_case(t=t) for t in _SWEEP_T],
    ),
    _grid(
        "codelab-batch-f32",
        "A7: batch sweep, XLA in float32",
        tags="gate codelab",
        backends=("jax_xla",),
        cases=[_case(b=b, t=256, dtype="float32") for b in (1, 2, 8, 16)],
    ),
    _grid(
        "codelab-batch-bf16",
        "A7: batch sweep, XLA and cuDNN in bfloat16",
        tags="gate codelab",
        backends=_XLA_CUDNN,
        cases=[_case(b=b, t=256) for b in (1, 2, 8, 16)],
    ),
    _grid(
        "codelab-gqa",
        "A8: MHA, GQA and MQA",
        tags="gate codelab",
        backends=_XLA_CUDNN,
        cases=[_case(b=2, t=64, k=k) for k in (8, 2, 1)],
    ),
    _grid(
        "codelab-head-size",
        "A11: further head sizes (64 is the default shape)",
        tags="gate codelab",
        backends=_XLA_CUDNN,
        cases=[_case(h=h) for h in (32, 128)],
    ),
    _grid(
        "codelab-long",
        "A11: sequence sweep on to 2048, with memory use",
        tags="gate codelab",
        backends=_XLA_CUDNN,
        cases=[_case(t=2048)],
    ),
    _grid(
        "codelab-gqa-long",
        "A11: GQA and MQA timed again where the key/value cache matters",
        tags="codelab",
        backends=_XLA_CUDNN,
        cases=[_case(b=2, t=2048, k=k) for k in (8, 2, 1)],
    ),
    _grid(
        "codelab-causal-sweep",
        "A9: the causal sweep that Transformer Engine is compared on",
        tags="codelab",
        backends=_XLA_CUDNN,
        cases=[_case(t=t, mask="causal") for t in (256, 512, 1024, 2048)],
        directions=("forward", "training_step"),
    ),
    _grid(
        "codelab-gradient",
        "A6 trained: gradient alone and training step over the causal sweep",
        tags="gate codelab",
        backends=_XLA_CUDNN,
        cases=[_case(t=t, mask="causal") for t in (512, 2048)],
        directions=("backward", "training_step"),
    ),
    _grid(
        "blog-forward",
        "B1: forward, causal, H128, bfloat16",
        tags="gate blog",
        backends=("jax_cudnn",),
        cases=[
            _case(b=4, t=4096, n=16, h=128, mask="causal"),
            _case(b=4, t=2048, n=32, k=8, h=128, mask="causal"),
            _case(b=2, t=16384, n=16, h=128, mask="causal"),
        ],
    ),
    _grid(
        "blog-forward-fp8",
        "B1: forward, causal and not, H128, FP8",
        tags="gate blog",
        backends=("jax_cudnn_fp8",),
        cases=[_case(b=4, t=4096, n=16, h=128, dtype=_FP8, mask=mask) for mask in _MASKS],
    ),
    _grid(
        "blog-forward-fp8-gqa",
        "B1: FP8 with grouped and with long queries",
        tags="gate blog",
        backends=("jax_cudnn_fp8",),
        cases=[
            _case(b=4, t=2048, n=32, k=8, h=128, dtype=_FP8, mask="causal"),
            _case(b=2, t=16384, n=16, h=128, dtype=_FP8, mask="causal"),
        ],
    ),
    _grid(
        "blog-xla",
        "B1 and B2: what the unfused computation costs at the same shape",
        tags="gate blog",
        backends=("jax_xla",),
        cases=[_case(b=4, t=2048, n=16, h=128, mask="causal")],
        directions=("forward", "training_step"),
    ),
    _grid(
        "blog-training",
        "B2: forward and backward, causal, H128, bfloat16",
        tags="gate blog",
        backends=("jax_cudnn",),
        cases=[
            _case(b=4, t=2048, n=16, h=128, mask="causal"),
            _case(b=4, t=4096, n=16, h=128, mask="causal"),
            _case(b=4, t=2048, n=32, k=8, h=128, mask="causal"),
            _case(b=4, t=2048, n=32, k=1, h=128, mask="causal"),
        ],
        directions=_STEP,
    ),
    _grid(
        "blog-backward",
        "B2: the gradient alone, causal, H128, bfloat16",
        tags="gate blog",
        backends=("jax_cudnn",),
        cases=[_case(b=4, t=4096, n=16, h=128, mask="causal")],
        directions=_BACKWARD,
    ),
    _grid(
        "blog-backward-fp8",
        "B2: the gradient alone and the training step, H128, FP8",
        tags="gate blog",
        backends=("jax_cudnn_fp8",),
        cases=[_case(b=4, t=4096, n=16, h=128, dtype=_FP8, mask="causal")],
        directions=("backward", "training_step"),
    ),
    _grid(
        "blog-h256",
        "B3: forward, no mask, H256, bfloat16",
        tags="gate blog",
        backends=("jax_cudnn",),
        cases=[_case(b=2, t=8192, n=8, h=256)],
    ),
    _grid(
        "blog-h256-fp8",
        "B3: forward, no mask, H256, FP8",
        tags="gate blog",
        backends=("jax_cudnn_fp8",),
        cases=[_case(b=2, t=8192, n=8, h=256, dtype=_FP8)],
    ),
    _grid(
        "gpt2",
        "C1: B4 N12 T1024 H64, float16, causal",
        tags="gate gpt2",
        backends=_XLA_CUDNN,
        cases=[_case(b=4, t=1024, n=12, dtype="float16", mask="causal")],
    ),
    _grid(
        "gpt2-training",
        "C1 trained",
        tags="gpt2",
        backends=_XLA_CUDNN,
        cases=[_case(b=4, t=1024, n=12, dtype="float16", mask="causal")],
        directions=_STEP,
    ),
    _grid(
        "blog-length",
        "B1 and B2: 16384 tokens a batch, head sizes 64, 128 and 256",
        tags="blog",
        backends=("jax_cudnn",),
        cases=[
            _case(b=16384 // t, t=t, n=2048 // h, h=h, mask="causal")
            for t, h in product((512, 1024, 2048, 4096, 8192, 16384), (64, 128, 256))
        ],
        directions=("forward", "training_step"),
    ),
    _grid(
        "correctness",
        "every backend in every direction: dtypes, masks, MHA, GQA and MQA, lengths that differ",
        tags="correctness",
        backends=("naive", "jax_auto", "jax_xla", "jax_cudnn"),
        cases=[
            *(_case(b=2, t=96, k=2, dtype=dtype, mask=mask) for dtype, mask in product(_WIDE, _MASKS)),
            *(_case(b=2, t=96, k=k, mask="causal") for k in (8, 1)),
            *(_case(b=2, t=64, s=192, k=2, mask=mask) for mask in _MASKS),
            _case(b=1, t=200, n=3, h=128),
        ],
        directions=DIRECTIONS,
    ),
    _grid(
        "correctness-fp8",
        "FP8 in every direction that cuDNN has",
        tags="correctness",
        backends=("jax_cudnn_fp8",),
        cases=[_case(b=2, t=256, k=k, h=128, dtype=_FP8, mask=mask) for k, mask in product((8, 2), _MASKS)],
        directions=DIRECTIONS,
    ),
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
