"""The peers of rows B1 to B3: PyTorch, tokamax and Pallas at the article's shapes."""

from itertools import product

from perf.grids.grid import FORWARD, FP8, STEP, Grid, attention, grid

TORCH = ("torch_flash", "torch_efficient", "torch_cudnn")
TOKAMAX = ("tokamax_mosaic", "tokamax_triton")
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
TOKENS = 16384

_LONG = [
    attention(b=TOKENS // t, t=t, n=2048 // h, h=h, mask="causal")
    for t, h in product(LENGTHS, (64, 128, 256))
]
_B1 = attention(b=4, t=4096, n=16, h=128, mask="causal")

GRIDS: tuple[Grid, ...] = (
    grid(
        "peers-gate",
        "B1: the peers, forward, causal, H128, bfloat16",
        tags="gate blog",
        backends=(*TORCH, "torch_math", *TOKAMAX, "tokamax_xla_chunked"),
        cases=[_B1],
    ),
    grid(
        "peers-pallas",
        "B1: JAX's own kernels in Pallas",
        tags="blog",
        backends=("pallas_mosaic", "pallas_triton"),
        cases=[_B1],
    ),
    grid(
        "peers-tuned",
        "B1: tokamax after its own search for block sizes",
        tags="blog",
        backends=("tokamax_mosaic_tuned", "tokamax_triton_tuned"),
        cases=[_B1],
    ),
    grid(
        "peers-length",
        "B1 and B2: 16384 tokens a batch, head sizes 64, 128 and 256",
        tags="blog b1",
        backends=("jax_cudnn", *TORCH),
        cases=_LONG,
        directions=("forward", "training_step"),
    ),
    grid(
        "peers-length-tokamax",
        "B1: the same, forward, by the kernels in Pallas",
        tags="blog b1",
        backends=(*TOKAMAX, "pallas_mosaic"),
        cases=[case for case in _LONG if case.head_dim == 128],  # noqa: PLR2004 - the article's size
    ),
    grid(
        "peers-length-fp8",
        "B1: the same in FP8, forward",
        tags="blog b1",
        backends=("jax_cudnn_fp8",),
        cases=[
            attention(b=TOKENS // t, t=t, n=2048 // h, h=h, dtype=FP8, mask="causal")
            for t, h in product(LENGTHS, (64, 128, 256))
        ],
    ),
    grid(
        "peers-length-fp8-training",
        "B2: the same in FP8, forward and backward: H128 alone has a gradient",
        tags="blog b1",
        backends=("jax_cudnn_fp8",),
        cases=[attention(b=TOKENS // t, t=t, n=16, h=128, dtype=FP8, mask="causal") for t in LENGTHS],
        directions=STEP,
    ),
    grid(
        "h256-rate",
        "B3: forward, no mask, H256, FP8: where the rate is highest",
        tags="blog b3",
        backends=("jax_cudnn_fp8", "cudnn_graph_fp8"),
        cases=[
            attention(b=b, t=t, n=n, h=256, dtype=FP8)
            for b, t, n in (
                (4, 4096, 8),
                (4, 4096, 16),
                (2, 8192, 8),
                (2, 8192, 16),
                (1, 16384, 8),
                (1, 16384, 16),
                (1, 32768, 8),
            )
        ],
        directions=FORWARD,
    ),
    grid(
        "h256-rate-peers",
        "B3: the same work in bfloat16",
        tags="blog b3",
        backends=("jax_cudnn", *TORCH, "tokamax_mosaic"),
        cases=[attention(b=2, t=8192, n=8, h=256)],
    ),
)
