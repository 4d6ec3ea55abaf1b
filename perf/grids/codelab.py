"""Rows A: the JAX attention codelab (JAX, cuDNN, Transformer Engine)."""

from perf.grids.grid import STEP, XLA_CUDNN, Grid, attention, grid

SWEEP_T = (64, 128, 256, 512, 1024)

GRIDS: tuple[Grid, ...] = (
    grid(
        "codelab-default",
        "A1-A3, A5: the codelab's default shape, from scratch, XLA and the open choice",
        tags="smoke codelab",
        backends=("naive", "jax_xla", "jax_auto"),
        cases=[attention(dtype="float32"), attention()],
    ),
    grid(
        "codelab-causal",
        "A4: causal mask inside the kernel",
        tags="smoke codelab",
        backends=XLA_CUDNN,
        cases=[attention(mask="causal")],
        directions=("forward", "training_step"),
    ),
    grid(
        "codelab-sequence-f32",
        "A6: sequence sweep, scratch and XLA in float32",
        tags="gate codelab",
        backends=("naive", "jax_xla"),
        cases=[attention(t=t, dtype="float32") for t in SWEEP_T],
    ),
    grid(
        "codelab-sequence-bf16",
        "A6: sequence sweep, XLA and cuDNN in bfloat16",
        tags="gate codelab",
        backends=XLA_CUDNN,
        cases=[attention(t=t) for t in SWEEP_T],
    ),
    grid(
        "codelab-batch-f32",
        "A7: batch sweep, XLA in float32",
        tags="gate codelab",
        backends=("jax_xla",),
        cases=[attention(b=b, t=256, dtype="float32") for b in (1, 2, 8, 16)],
    ),
    grid(
        "codelab-batch-bf16",
        "A7: batch sweep, XLA and cuDNN in bfloat16",
        tags="gate codelab",
        backends=XLA_CUDNN,
        cases=[attention(b=b, t=256) for b in (1, 2, 8, 16)],
    ),
    grid(
        "codelab-gqa",
        "A8: MHA, GQA and MQA",
        tags="gate codelab",
        backends=XLA_CUDNN,
        cases=[attention(b=2, t=64, k=k) for k in (8, 2, 1)],
    ),
    grid(
        "codelab-head-size",
        "A11: further head sizes (64 is the default shape)",
        tags="gate codelab",
        backends=XLA_CUDNN,
        cases=[attention(h=h) for h in (32, 128)],
    ),
    grid(
        "codelab-long",
        "A11: sequence sweep on to 2048, with memory use",
        tags="gate codelab",
        backends=XLA_CUDNN,
        cases=[attention(t=2048)],
    ),
    grid(
        "codelab-gqa-long",
        "A11: GQA and MQA timed again where the key/value cache matters",
        tags="codelab",
        backends=XLA_CUDNN,
        cases=[attention(b=2, t=2048, k=k) for k in (8, 2, 1)],
    ),
    grid(
        "codelab-causal-sweep",
        "A9: Transformer Engine beside XLA and cuDNN, causal",
        tags="codelab a9",
        backends=(*XLA_CUDNN, "te"),
        cases=[attention(t=t, mask="causal") for t in (128, 256, 512, 1024, 2048)],
        directions=("forward", "training_step"),
    ),
    grid(
        "codelab-te",
        "A9: Transformer Engine, causal",
        tags="gate codelab",
        backends=("te",),
        cases=[attention(t=2048, mask="causal")],
        directions=STEP,
    ),
    grid(
        "codelab-te-fp8",
        "A10: Transformer Engine under FP8 autocast",
        tags="gate codelab a9",
        backends=("te_fp8",),
        cases=[attention(t=2048, mask="causal")],
    ),
    grid(
        "codelab-gradient",
        "A6 trained: gradient alone and training step, causal",
        tags="gate codelab",
        backends=XLA_CUDNN,
        cases=[attention(t=2048, mask="causal")],
        directions=("backward", "training_step"),
    ),
    grid(
        "codelab-gradient-short",
        "A6 trained: the same at 512",
        tags="codelab",
        backends=XLA_CUDNN,
        cases=[attention(t=512, mask="causal")],
        directions=("backward", "training_step"),
    ),
)
