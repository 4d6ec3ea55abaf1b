"""The backends: one module and one row each. Heavy packages are imported when a case is built."""

from perf.backends import (
    blocks,
    cudnn_graph,
    cudnn_graph_fp8,
    jax_auto,
    jax_cudnn,
    jax_cudnn_fp8,
    jax_xla,
    matmul_graph,
    matmul_jax,
    naive,
    pallas,
    te,
    te_fp8,
    tokamax,
    torch_sdpa,
)
from perf.backends.base import Backend

BACKENDS: tuple[Backend, ...] = (
    naive.BACKEND,
    jax_auto.BACKEND,
    jax_xla.BACKEND,
    jax_cudnn.BACKEND,
    jax_cudnn_fp8.BACKEND,
    te.BACKEND,
    te_fp8.BACKEND,
    cudnn_graph.BACKEND,
    cudnn_graph_fp8.BACKEND,
    torch_sdpa.FLASH,
    torch_sdpa.EFFICIENT,
    torch_sdpa.CUDNN,
    torch_sdpa.MATH,
    tokamax.MOSAIC,
    tokamax.MOSAIC_TUNED,
    tokamax.TRITON,
    tokamax.TRITON_TUNED,
    tokamax.CHUNKED,
    pallas.MOSAIC,
    pallas.TRITON,
    matmul_graph.BACKEND,
    matmul_jax.BACKEND,
    blocks.XLA,
    blocks.CUDNN,
    blocks.TE,
    blocks.TE_FP8,
    blocks.LAYER,
    blocks.LAYER_FP8,
)

BY_NAME: dict[str, Backend] = {backend.name: backend for backend in BACKENDS}
