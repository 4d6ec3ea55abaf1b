"""What `pytest tests` checks and nothing times."""

from functools import partial
from itertools import product

from perf.cases import DIRECTIONS, Mask
from perf.grids.graphs import MIXED, mixed
from perf.grids.grid import FORWARD, FP8, MASKS, WIDE, Grid, attention, grid
from perf.grids.peers import TOKAMAX, TORCH

_FUSED = ("te", "cudnn_graph")
_TWO: tuple[tuple[int, Mask], ...] = ((8, "causal"), (2, "none"))
_kind = partial(attention, b=2, t=128, k=4)

GRIDS: tuple[Grid, ...] = (
    grid(
        "correctness",
        "every backend in every direction: dtypes, masks, MHA, GQA and MQA, lengths that differ",
        tags="correctness",
        backends=("naive", "jax_auto", "jax_xla", "jax_cudnn", *_FUSED),
        cases=[
            *(attention(b=2, t=96, k=2, dtype=dtype, mask=mask) for dtype, mask in product(WIDE, MASKS)),
            *(attention(b=2, t=96, k=k, mask="causal") for k in (8, 1)),
            *(attention(b=2, t=64, s=192, k=2, mask=mask) for mask in MASKS),
            attention(b=1, t=200, n=3, h=128),
        ],
        directions=DIRECTIONS,
    ),
    grid(
        "correctness-fp8",
        "FP8 in every direction that cuDNN has",
        tags="correctness",
        backends=("jax_cudnn_fp8", "cudnn_graph_fp8"),
        cases=[attention(b=2, t=256, k=k, h=128, dtype=FP8, mask=mask) for k, mask in product((8, 2), MASKS)],
        directions=DIRECTIONS,
    ),
    grid(
        "correctness-peers",
        "PyTorch, tokamax and Pallas in every direction",
        tags="correctness",
        backends=(*TORCH, "torch_math", *TOKAMAX, "tokamax_xla_chunked", "pallas_mosaic", "pallas_triton"),
        cases=[
            attention(b=2, t=256, mask="causal"),
            attention(b=2, t=256, h=128),
            attention(b=2, t=256, k=2, h=128, dtype="float16", mask="causal"),
        ],
        directions=DIRECTIONS,
    ),
    grid(
        "correctness-tuned",
        "tokamax with block sizes that it searched for",
        tags="correctness",
        backends=("tokamax_mosaic_tuned", "tokamax_triton_tuned"),
        cases=[attention(b=2, t=256, k=k, mask=mask) for k, mask in _TWO],
    ),
    grid(
        "correctness-te-fp8",
        "A10: does FP8 autocast reach attention",
        tags="correctness",
        backends=("te_fp8",),
        cases=[attention(b=2, t=256, k=k, mask=mask) for k, mask in _TWO],
    ),
    grid(
        "correctness-kinds",
        "B6: masks, window, padding, biases and steps on the scores",
        tags="correctness",
        backends=("naive", "jax_xla", "jax_cudnn", *_FUSED),
        cases=[
            _kind(s=256, mask="causal_br"),
            _kind(mask="padding"),
            _kind(mask="padding_causal"),
            _kind(mask="causal", window=32),
            _kind(bias="dense"),
            _kind(mask="causal", bias="alibi"),
            _kind(score="softcap"),
            _kind(mask="causal", score="softsign"),
        ],
        directions=("forward", "training_step"),
    ),
    grid(
        "correctness-kinds-tokamax",
        "the same where tokamax takes them",
        tags="correctness",
        backends=("tokamax_triton",),
        cases=[_kind(mask="padding"), _kind(mask="causal", window=32)],
    ),
    grid(
        "correctness-mixed",
        "B7: either type on either side, and few rows",
        tags="correctness",
        backends=("matmul_graph", "matmul_jax"),
        cases=[*(mixed(64, 256, 512, left, right) for left, right in MIXED), mixed(1, 256, 512, *MIXED[0])],
        directions=FORWARD,
    ),
)
