"""What a grid is, and the short forms in which the grids are written."""

from collections.abc import Iterable
from dataclasses import dataclass

from perf.cases import AttentionCase, Bias, Case, Direction, Dtype, Mask, Score

TAGS = {
    "smoke": "seconds, also on a CPU",
    "gate": "the release gate: 60 to 100 keys; contains smoke",
    "full": "everything; contains gate",
    "codelab": "shapes of the JAX attention codelab (JAX, cuDNN, Transformer Engine)",
    "a9": "A9 and A10: Transformer Engine beside XLA and cuDNN",
    "blog": "shapes of the cuDNN 9 article",
    "b1": "B1 and B2 over lengths and head sizes, with the peers",
    "b3": "B3: the highest rate in FP8 with heads of 256",
    "b5": "B5: training steps of transformer blocks",
    "b6": "B6: what a cuDNN graph fuses",
    "b7": "B7: mixed-input matrix products",
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


def attention(  # noqa: PLR0913 - one argument a field
    *,
    b: int = 4,
    t: int = 128,
    s: int | None = None,
    n: int = 8,
    k: int | None = None,
    h: int = 64,
    dtype: Dtype = "bfloat16",
    mask: Mask = "none",
    window: int = 0,
    bias: Bias = "none",
    score: Score = "plain",
) -> AttentionCase:
    """A case by the letters of its shape, with the defaults of the codelab."""
    return AttentionCase(
        batch=b,
        q_len=t,
        kv_len=s or t,
        q_heads=n,
        kv_heads=k or n,
        head_dim=h,
        dtype=dtype,
        mask=mask,
        window=window,
        bias=bias,
        score=score,
    )


FP8: Dtype = "float8_e4m3fn"
WIDE: tuple[Dtype, ...] = ("float32", "bfloat16", "float16")
MASKS: tuple[Mask, ...] = ("none", "causal")
XLA_CUDNN = ("jax_xla", "jax_cudnn")
FORWARD: tuple[Direction, ...] = ("forward",)
STEP: tuple[Direction, ...] = ("training_step",)
BACKWARD: tuple[Direction, ...] = ("backward",)


def grid(  # noqa: PLR0913 - one argument a field
    name: str,
    source: str,
    *,
    tags: str,
    backends: tuple[str, ...],
    cases: Iterable[Case],
    directions: tuple[Direction, ...] = FORWARD,
) -> Grid:
    """A grid with the tags that its own imply."""
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
