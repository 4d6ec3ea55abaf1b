"""Row B5: training steps of transformer blocks, and Transformer Engine's own modules."""

from functools import partial

from perf.cases import BlockCase
from perf.grids.grid import FORWARD, FP8, STEP, Grid, grid

WIDE = ("block_xla", "block_cudnn", "block_te")
_llama = partial(
    BlockCase, batch=1, length=4096, hidden=4096, q_heads=32, kv_heads=8, head_dim=128, ffn=14336
)
_module = partial(
    BlockCase, layers=1, batch=4, length=2048, hidden=2048, q_heads=16, kv_heads=16, head_dim=128
)
_small = partial(BlockCase, batch=2, length=128, hidden=256, q_heads=4, kv_heads=2, head_dim=64, ffn=384)
_small_mha = partial(_small, kv_heads=4)

GRIDS: tuple[Grid, ...] = (
    grid(
        "block",
        "B5: training step of one block, Llama-like sizes, attention by XLA, cuDNN and Transformer Engine",
        tags="gate blog b5",
        backends=WIDE,
        cases=[_llama(layers=1)],
        directions=STEP,
    ),
    grid(
        "block-fp8",
        "B5: the same with FP8 projections",
        tags="gate blog b5",
        backends=("block_te_fp8",),
        cases=[_llama(layers=1, dtype=FP8)],
        directions=STEP,
    ),
    grid(
        "block-deep",
        "B5: four blocks",
        tags="blog b5",
        backends=WIDE,
        cases=[_llama(layers=4)],
        directions=STEP,
    ),
    grid(
        "block-deep-fp8",
        "B5: four blocks with FP8 projections",
        tags="blog b5",
        backends=("block_te_fp8",),
        cases=[_llama(layers=4, dtype=FP8)],
        directions=STEP,
    ),
    grid(
        "te-modules",
        "A10: MultiHeadAttention and TransformerLayer, FP8 off",
        tags="codelab a9",
        backends=("te_layer",),
        cases=[_module(ffn=0), _module(ffn=5632)],
        directions=(*FORWARD, *STEP),
    ),
    grid(
        "te-modules-fp8",
        "A10: the same, FP8 on",
        tags="codelab a9",
        backends=("te_layer_fp8",),
        cases=[_module(ffn=0, dtype=FP8), _module(ffn=5632, dtype=FP8)],
        directions=(*FORWARD, *STEP),
    ),
    grid(
        "te-modules-gate",
        "A10: MultiHeadAttention, FP8 off",
        tags="gate codelab",
        backends=("te_layer",),
        cases=[_module(ffn=0)],
    ),
    grid(
        "te-modules-gate-fp8",
        "A10: MultiHeadAttention, FP8 on",
        tags="gate codelab",
        backends=("te_layer_fp8",),
        cases=[_module(ffn=0, dtype=FP8)],
    ),
    grid(
        "correctness-block",
        "B5: blocks, grouped and not, one and two layers",
        tags="correctness",
        backends=WIDE,
        cases=[_small(layers=2), _small(layers=1, kv_heads=4), _small(layers=1, ffn=0)],
        directions=(*FORWARD, *STEP),
    ),
    grid(
        "correctness-block-fp8",
        "B5: blocks with FP8 projections",
        tags="correctness",
        backends=("block_te_fp8",),
        cases=[_small(layers=1, dtype=FP8), _small(layers=1, ffn=0, dtype=FP8)],
        directions=STEP,
    ),
    grid(
        "correctness-te-layer",
        "B5: Transformer Engine's modules",
        tags="correctness",
        backends=("te_layer",),
        cases=[_small_mha(layers=2), _small_mha(layers=1, ffn=0)],
        directions=(*FORWARD, *STEP),
    ),
    grid(
        "correctness-te-layer-fp8",
        "B5: Transformer Engine's modules, FP8 on",
        tags="correctness",
        backends=("te_layer_fp8",),
        cases=[_small_mha(layers=1, dtype=FP8), _small_mha(layers=1, ffn=0, dtype=FP8)],
        directions=(*FORWARD, *STEP),
    ),
)
