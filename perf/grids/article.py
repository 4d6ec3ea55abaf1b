"""Rows B: the cuDNN 9 article, and row C: GPT-2 as in the front end's example."""

from perf.grids.grid import BACKWARD, FP8, MASKS, STEP, XLA_CUDNN, Grid, attention, grid

GRIDS: tuple[Grid, ...] = (
    grid(
        "blog-forward",
        "B1: forward, causal, H128, bfloat16",
        tags="gate blog",
        backends=("jax_cudnn",),
        cases=[
            attention(b=4, t=4096, n=16, h=128, mask="causal"),
            attention(b=4, t=2048, n=32, k=8, h=128, mask="causal"),
            attention(b=2, t=16384, n=16, h=128, mask="causal"),
        ],
    ),
    grid(
        "blog-forward-fp8",
        "B1: forward, causal and not, H128, FP8",
        tags="gate blog",
        backends=("jax_cudnn_fp8",),
        cases=[attention(b=4, t=4096, n=16, h=128, dtype=FP8, mask=mask) for mask in MASKS],
    ),
    grid(
        "blog-forward-fp8-gqa",
        "B1: FP8 with grouped and with long queries",
        tags="gate blog",
        backends=("jax_cudnn_fp8",),
        cases=[
            attention(b=4, t=2048, n=32, k=8, h=128, dtype=FP8, mask="causal"),
            attention(b=2, t=16384, n=16, h=128, dtype=FP8, mask="causal"),
        ],
    ),
    grid(
        "blog-xla",
        "B1 and B2: what the unfused computation costs at the same shape",
        tags="gate blog",
        backends=("jax_xla",),
        cases=[attention(b=4, t=2048, n=16, h=128, mask="causal")],
        directions=("forward", "training_step"),
    ),
    grid(
        "blog-training",
        "B2: forward and backward, causal, H128, bfloat16",
        tags="gate blog",
        backends=("jax_cudnn",),
        cases=[
            attention(b=4, t=2048, n=16, h=128, mask="causal"),
            attention(b=4, t=4096, n=16, h=128, mask="causal"),
            attention(b=4, t=2048, n=32, k=8, h=128, mask="causal"),
            attention(b=4, t=2048, n=32, k=1, h=128, mask="causal"),
        ],
        directions=STEP,
    ),
    grid(
        "blog-backward",
        "B2: the gradient alone, causal, H128, bfloat16",
        tags="gate blog",
        backends=("jax_cudnn",),
        cases=[attention(b=4, t=4096, n=16, h=128, mask="causal")],
        directions=BACKWARD,
    ),
    grid(
        "blog-backward-fp8",
        "B2: the gradient alone and the training step, H128, FP8",
        tags="gate blog",
        backends=("jax_cudnn_fp8",),
        cases=[attention(b=4, t=4096, n=16, h=128, dtype=FP8, mask="causal")],
        directions=("backward", "training_step"),
    ),
    grid(
        "blog-h256",
        "B3: forward, no mask, H256, bfloat16",
        tags="gate blog",
        backends=("jax_cudnn",),
        cases=[attention(b=2, t=8192, n=8, h=256)],
    ),
    grid(
        "blog-h256-fp8",
        "B3: forward, no mask, H256, FP8",
        tags="gate blog",
        backends=("jax_cudnn_fp8",),
        cases=[attention(b=2, t=8192, n=8, h=256, dtype=FP8)],
    ),
    grid(
        "gpt2",
        "C1: B4 N12 T1024 H64, float16, causal",
        tags="gate gpt2",
        backends=XLA_CUDNN,
        cases=[attention(b=4, t=1024, n=12, dtype="float16", mask="causal")],
    ),
    grid(
        "gpt2-training",
        "C1 trained",
        tags="gpt2",
        backends=XLA_CUDNN,
        cases=[attention(b=4, t=1024, n=12, dtype="float16", mask="causal")],
        directions=STEP,
    ),
)
