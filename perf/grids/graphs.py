"""Rows B6, B7 and C1: cuDNN graphs, their flexibility, and mixed matrix products."""

from functools import partial
from typing import get_args

from perf.cases import MatmulCase, MatmulDtype
from perf.grids.grid import FP8, STEP, Grid, attention, grid

_b6 = partial(attention, b=4, t=2048, n=16, h=128)
MIXED: tuple[tuple[MatmulDtype, MatmulDtype], ...] = tuple(
    pair for wide in get_args(MatmulDtype) if wide != "int8" for pair in ((wide, "int8"), ("int8", wide))
)


def mixed(m: int, n: int, k: int, left: MatmulDtype, right: MatmulDtype) -> MatmulCase:
    """(M, K) × (K, N), one of the two in int8."""
    return MatmulCase(m=m, n=n, k=k, left=left, right=right)


GRIDS: tuple[Grid, ...] = (
    grid(
        "gpt2-graph",
        "C1: B4 N12 T1024 H64, float16, causal, as a cuDNN graph",
        tags="gate gpt2",
        backends=("cudnn_graph",),
        cases=[attention(b=4, t=1024, n=12, dtype="float16", mask="causal")],
    ),
    grid(
        "gpt2-graph-training",
        "C1 trained: forward and backward graph",
        tags="gpt2",
        backends=("cudnn_graph",),
        cases=[attention(b=4, t=1024, n=12, dtype="float16", mask="causal")],
        directions=STEP,
    ),
    grid(
        "blog-h256-graph",
        "B3: forward, no mask, H256, FP8, as a cuDNN graph",
        tags="gate blog",
        backends=("cudnn_graph_fp8",),
        cases=[attention(b=2, t=8192, n=8, h=256, dtype=FP8)],
    ),
    grid(
        "blog-step",
        "B6: a step between the first product and the softmax that no library has ready",
        tags="gate blog b6",
        backends=("cudnn_graph",),
        cases=[_b6(score="softsign")],
    ),
    grid(
        "blog-flexible",
        "B6: masks, bias, alibi, window and steps in the fused kernel, beside the same unfused in JAX",
        tags="blog b6",
        backends=("cudnn_graph", "naive"),
        cases=[
            _b6(),
            _b6(mask="causal"),
            _b6(mask="padding"),
            _b6(mask="causal", window=256),
            _b6(bias="dense"),
            _b6(mask="causal", bias="alibi"),
            _b6(score="softcap"),
            _b6(score="softsign"),
            _b6(mask="causal", score="softcap"),
        ],
    ),
    grid(
        "mixed-matmul-gate",
        "B7: a weight in int8 at the sizes of decoding",
        tags="gate blog b7",
        backends=("matmul_graph", "matmul_jax"),
        cases=[mixed(16, 4096, 4096, "bfloat16", "int8")],
    ),
    grid(
        "mixed-matmul",
        "B7: bfloat16 × int8 over squares and the sizes of language models",
        tags="blog b7",
        backends=("matmul_graph", "matmul_jax"),
        cases=[
            mixed(m, n, k, "bfloat16", "int8")
            for m, n, k in (
                (1024, 1024, 1024),
                (2048, 2048, 2048),
                (4096, 4096, 4096),
                (8192, 8192, 8192),
                (1, 4096, 4096),
                (16, 14336, 4096),
                (16, 4096, 14336),
                (128, 14336, 4096),
                (2048, 14336, 4096),
            )
        ],
    ),
    grid(
        "mixed-matmul-types",
        "B7: either type on either side",
        tags="blog b7",
        backends=("matmul_graph", "matmul_jax"),
        cases=[mixed(m, 4096, 4096, left, right) for m in (16, 4096) for left, right in MIXED],
    ),
)
