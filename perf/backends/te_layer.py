"""Transformer Engine's own modules as a block: `TransformerLayer`, or `MultiHeadAttention` alone.

Both fuse the norm into the projection after it, and Q, K and V (gate and up) into one product. The weights
are those of `perf.block`, stacked as the modules keep them.
"""

from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax.core import meta
from jax import Array

from perf.backends.base import Program
from perf.backends.flax_block import build as build_flax
from perf.backends.flax_block import flat, nested
from perf.backends.te import transformer_engine
from perf.backends.te_fp8 import recipe
from perf.block import EPSILON, Weights, weight_shapes
from perf.cases import BlockCase, Direction
from perf.inputs import Inputs


class Layers(nn.Module):
    """All layers, one after another."""

    case: BlockCase
    fp8: bool

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """(B, T, D) → (B, T, D)."""
        engine = transformer_engine()
        with engine.autocast(enabled=True, recipe=recipe()) if self.fp8 else nullcontext():
            for layer in range(self.case.layers):
                module = _transformer_layer if self.case.ffn else _attention
                x = module(self.case, f"layer{layer}", x)
        return x


def _attention(case: BlockCase, name: str, x: Array) -> Array:
    from transformer_engine.jax.flax import MultiHeadAttention

    out, _ = MultiHeadAttention(
        head_dim=case.head_dim,
        num_attention_heads=case.q_heads,
        layernorm_type="rmsnorm",
        layernorm_epsilon=EPSILON,
        attn_mask_type="causal",
        dtype=jnp.float32,
        scale_attn_logits=True,
        transpose_batch_sequence=False,
        name=name,
    )(x, x, deterministic=False)
    result: Array = out
    return result


def _transformer_layer(case: BlockCase, name: str, x: Array) -> Array:
    from transformer_engine.jax.flax import TransformerLayer

    out: Array = TransformerLayer(
        hidden_size=case.hidden,
        mlp_hidden_size=case.ffn,
        num_attention_heads=case.q_heads,
        layernorm_type="rmsnorm",
        layernorm_epsilon=EPSILON,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        mlp_activations=("silu", "linear"),
        self_attn_mask_type="causal",
        enable_relative_embedding=False,
        dtype=jnp.float32,
        scale_attn_logits=True,
        name=name,
    )(x, deterministic=False)
    return out


def build(case: BlockCase, direction: Direction, inputs: Inputs, *, fp8: bool) -> Program:
    """Compile a forward pass or training step of the module."""
    model = Layers(case, fp8)
    boxes = _boxes(model, inputs["x"])

    def to_params(weights: Weights) -> Any:
        return meta.replace_boxed(boxes, nested(_stacked(case, weights)))

    def to_weights(params: Any) -> Weights:
        return _split(case, flat(meta.unbox(params)))

    return build_flax(model, case, direction, inputs, to_params=to_params, to_weights=to_weights)


def _boxes(model: nn.Module, x: Array) -> Any:
    return jax.eval_shape(model.init, jax.random.key(0), x)["params"]


def _stacked(case: BlockCase, weights: Weights) -> Weights:
    """Our weights under the module's names."""
    stacked: Weights = {}
    for layer in range(case.layers):
        mine = {name: weights[f"layer{layer}/{name}"] for name in _names(case)}
        inside = f"layer{layer}/attention" if case.ffn else f"layer{layer}"
        heads = [mine[f"{name}/kernel"].reshape(case.hidden, -1) for name in ("query", "key", "value")]
        stacked |= {
            f"{inside}/qkv/scale": mine["attention_norm/scale"],
            f"{inside}/qkv/kernel": jnp.stack(heads, axis=1),
            f"{inside}/out/kernel": mine["out/kernel"].reshape(-1, case.hidden),
        }
        if case.ffn:
            stacked |= {
                f"layer{layer}/mlp/scale": mine["mlp_norm/scale"],
                f"layer{layer}/mlp/wi_kernel": jnp.stack([mine["gate/kernel"], mine["up/kernel"]], axis=1),
                f"layer{layer}/mlp/wo_kernel": mine["down/kernel"],
            }
    return stacked


def _split(case: BlockCase, params: Weights) -> Weights:
    """The module's gradients under our names."""
    split: Weights = {}
    for layer in range(case.layers):
        inside = f"layer{layer}/attention" if case.ffn else f"layer{layer}"
        heads = (case.hidden, case.q_heads, case.head_dim)
        q, k, v = (params[f"{inside}/qkv/kernel"][:, i].reshape(heads) for i in range(3))
        mine = {
            "attention_norm/scale": params[f"{inside}/qkv/scale"],
            "query/kernel": q,
            "key/kernel": k,
            "value/kernel": v,
            "out/kernel": params[f"{inside}/out/kernel"].reshape(case.q_heads, case.head_dim, case.hidden),
        }
        if case.ffn:
            both = params[f"layer{layer}/mlp/wi_kernel"]
            mine |= {"mlp_norm/scale": params[f"layer{layer}/mlp/scale"], "gate/kernel": both[:, 0]}
            mine |= {"up/kernel": both[:, 1], "down/kernel": params[f"layer{layer}/mlp/wo_kernel"]}
        split |= {f"layer{layer}/{name}": weight for name, weight in mine.items()}
    return split


def _names(case: BlockCase) -> tuple[str, ...]:
    return tuple(n.removeprefix("layer0/") for n in weight_shapes(case) if n.startswith("layer0/"))
