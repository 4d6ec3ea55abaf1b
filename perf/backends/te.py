"""Transformer Engine's `DotProductAttention` in flax, fused by cuDNN.

Where its fused attention is not available the module warns and computes unfused; warnings are errors under
pytest, and the custom call is part of the promise.
"""

import re
from importlib import import_module
from types import ModuleType
from typing import Any

import jax.numpy as jnp
from jax import Array

from perf.backends.jax_cudnn import cudnn_head_sizes
from perf.backends.jax_program import Attention, JaxBackend, Promise
from perf.backends.limits import HALF, Limits
from perf.cases import AttentionCase
from perf.environment.libraries import cudnn_folders, mapped

PACKAGES = ("transformer-engine-jax", "flax")

LIMITS = Limits(
    gpu=(8, 0),
    cudnn=(9, 3),
    packages=PACKAGES,
    dtypes=HALF,
    masks=("none", "causal", "causal_br", "padding", "padding_causal"),
    window=True,
    biases=("none", "dense"),
    head_sizes=cudnn_head_sizes,
)

PROMISE = Promise(
    what="Transformer Engine's fused attention",
    kernel=r"cudnn.*(sdpa|fmha)",
    custom_call=r"te_fused_attn",
)

_MASKS = {
    "none": "no_mask",
    "causal": "causal",
    "causal_br": "causal_bottom_right",
    "padding": "padding",
    "padding_causal": "padding_causal",
}


def transformer_engine() -> ModuleType:
    """Import ``transformer_engine.jax``.

    Raises:
        ImportError: It cannot be loaded; where its cuDNN is not the one that JAX has mapped, the text names
            both and what to set.
    """
    try:
        return import_module("transformer_engine.jax")
    except (ImportError, OSError) as error:
        raise ImportError(_import_text(str(error))) from error


def _import_text(error: str) -> str:
    """The library's own words, and for a mixture of cuDNNs the two folders and the cure."""
    folders = cudnn_folders(mapped())
    if "undefined symbol" not in error and not re.search("cudnn", error, re.IGNORECASE):
        return error
    return (
        f"{error}\ncuDNN is mapped from {' and from '.join(folders) or 'nowhere'}. Transformer Engine loads "
        "libcudnn by its unversioned name, so the system's may come before that of the wheels, which JAX "
        "uses. Set CUDNN_HOME to the wheels' folder (the one that holds lib/libcudnn.so.9), and "
        "LD_LIBRARY_PATH to its lib."
    )


def module(case: AttentionCase) -> Any:
    """The flax module of a case; it has no parameters."""
    transformer_engine()
    from transformer_engine.jax.flax import DotProductAttention

    return DotProductAttention(
        head_dim=case.head_dim,
        num_attention_heads=case.q_heads,
        num_gqa_groups=case.kv_heads,
        attn_mask_type=_MASKS[case.mask],
        attn_bias_type="no_bias" if case.bias == "none" else "post_scale_bias",
        qkv_layout="bshd_bshd_bshd",
        transpose_batch_sequence=False,
        window_size=(case.window, 0) if case.window else None,
    )


def attention(case: AttentionCase) -> Attention:
    """The module's call; arrays are (B, L, heads, H)."""
    attend = module(case)

    def call(q: Array, k: Array, v: Array, bias: Array | None = None) -> Array:
        # Said to train: the module picks its kernel for inference else, which has no gradient.
        out: Array = attend.apply(
            {}, q, k, v, sequence_descriptor=_descriptor(case), bias=bias, deterministic=False
        )
        return out

    return call


def _descriptor(case: AttentionCase) -> Any:
    if not case.padded:
        return None
    from transformer_engine.jax.attention import SequenceDescriptor

    lengths = jnp.asarray(case.lengths, jnp.int32)
    return SequenceDescriptor.from_seqlens((lengths, lengths))


BACKEND = JaxBackend(
    name="te",
    summary="Transformer Engine's DotProductAttention (flax)",
    attention=attention,
    refuse=LIMITS.answer,
    promise=PROMISE,
)
