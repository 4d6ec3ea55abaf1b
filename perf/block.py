"""Transformer blocks: weights, inputs, the float32 gradients, and what the case's dtype loses.

No position embedding: it is elementwise work beside the products. The gradient of the sum of ``out · g`` with
respect to every weight is the answer, by JAX's own differentiation of the text below at full precision; the
naive computation is the same text in bfloat16, for FP8 with the operands of every projection rounded as
per-tensor scaling rounds them (E4M3, and E5M2 for what flows back).
"""

import math
from collections.abc import Callable
from functools import cache, partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from perf.cases import BlockCase, Direction
from perf.inputs import Inputs
from perf.reference import Expected, Shapes, rounded_fp8

EPSILON = 1e-6
"""Of RMSNorm, as in Llama."""

Weights = dict[str, Array]
"""By ``layer0/query/kernel``: the names that flax gives; see `weight_shapes`."""

Product = Callable[[Array, Array], Array]


def weight_shapes(case: BlockCase) -> dict[str, tuple[int, ...]]:
    """Every weight's shape: kernels (in …, out …) and norms (D,)."""
    d, n, k, h, f = case.hidden, case.q_heads, case.kv_heads, case.head_dim, case.ffn
    one: dict[str, tuple[int, ...]] = {
        "attention_norm/scale": (d,),
        "query/kernel": (d, n, h),
        "key/kernel": (d, k, h),
        "value/kernel": (d, k, h),
        "out/kernel": (n, h, d),
    }
    if f:
        one |= {"mlp_norm/scale": (d,), "gate/kernel": (d, f), "up/kernel": (d, f), "down/kernel": (f, d)}
    return {f"layer{i}/{name}": shape for i in range(case.layers) for name, shape in one.items()}


@cache
def compiled_maker(case: BlockCase) -> Callable[[Array], Inputs]:
    """The program that makes ``x`` and ``g`` (B, T, D) in bfloat16, and the weights in float32.

    Kernels are normal with variance 1 / (summed length), norms are 1 plus a tenth of a normal value.
    """
    return jax.jit(partial(_make, case)).lower(jax.random.key(0)).compile()


def _make(case: BlockCase, key: Array) -> Inputs:
    shapes = weight_shapes(case)
    keys = jax.random.split(key, len(shapes) + 2)
    tokens = (case.batch, case.length, case.hidden)
    x, g = (jax.random.normal(one, tokens, jnp.float32).astype(jnp.bfloat16) for one in keys[:2])
    pairs = zip(keys[2:], shapes.items(), strict=True)
    return {"x": x, "g": g} | {name: _weight(one, name, shape) for one, (name, shape) in pairs}


def _weight(key: Array, name: str, shape: tuple[int, ...]) -> Array:
    normal = jax.random.normal(key, shape, jnp.float32)
    if name.endswith("scale"):
        return 1 + 0.1 * normal
    summed = math.prod(shape[:-1]) if "/out/" in name else shape[0]
    return normal / math.sqrt(summed)


def output_shapes(case: BlockCase, direction: Direction) -> Shapes:
    """``out`` (B, T, D) of the forward pass; else the gradient of every weight, ``d.NAME``."""
    if direction == "forward":
        return (("out", (case.batch, case.length, case.hidden)),)
    return tuple((f"d.{name}", shape) for name, shape in weight_shapes(case).items())


def expected(case: BlockCase, direction: Direction, inputs: Inputs) -> Expected:
    """The right output, and gradients unless forward alone is asked, with the naive errors."""
    exact = {name: x.astype(jnp.float32) for name, x in inputs.items()}
    values, rms, largest = compiled_reference(case, with_gradients=direction != "forward")(exact)
    return Expected(
        values=values,
        naive_rms={name: float(x) for name, x in rms.items()},
        naive_max={name: float(x) for name, x in largest.items()},
    )


Results = tuple[dict[str, Array], dict[str, Array], dict[str, Array]]


@cache
def compiled_reference(case: BlockCase, *, with_gradients: bool) -> Callable[[Inputs], Results]:
    """The program that computes exact values and the naive error from float32 arrays."""

    def both(exact: Inputs) -> Results:
        right = _results(case, exact, jnp.float32, with_gradients=with_gradients)
        naive = _results(case, exact, jnp.bfloat16, with_gradients=with_gradients)
        error = {name: naive[name].astype(jnp.float32) - right[name] for name in right}
        rms = {name: jnp.sqrt(jnp.mean(e * e)) for name, e in error.items()}
        return right, rms, {name: jnp.max(jnp.abs(e)) for name, e in error.items()}

    tokens = (case.batch, case.length, case.hidden)
    shapes = {"x": tokens, "g": tokens} | weight_shapes(case)
    arguments = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}
    return jax.jit(both).lower(arguments).compile()


def _results(case: BlockCase, exact: Inputs, dtype: jnp.dtype, *, with_gradients: bool) -> dict[str, Array]:
    x, g = exact["x"].astype(dtype), exact["g"].astype(dtype)
    weights = {name: exact[name] for name in weight_shapes(case)}
    fp8 = case.dtype == "float8_e4m3fn" and dtype == jnp.bfloat16

    def forward(weights: Weights) -> Array:
        narrow = {name: w.astype(dtype) for name, w in weights.items()}
        return blocks(case, narrow, x, product=_fp8_product if fp8 else _product)

    if not with_gradients:
        return {"out": forward(weights)}
    out, pullback = jax.vjp(forward, weights)
    (gradients,) = pullback(g.astype(out.dtype))
    return {"out": out, **{f"d.{name}": w for name, w in gradients.items()}}


def blocks(case: BlockCase, weights: Weights, x: Float[Array, "B T D"], *, product: Product) -> Array:
    """All layers; every projection goes through ``product`` of (…, I) and (I, O)."""
    for layer in range(case.layers):
        mine = {n.split("/", 1)[1]: w for n, w in weights.items() if n.startswith(f"layer{layer}/")}
        attended = _attend(case, mine, _norm(x, mine["attention_norm/scale"]), product)
        if not case.ffn:
            x = attended
            continue
        x = x + attended
        y = _norm(x, mine["mlp_norm/scale"])
        gate, up = product(y, mine["gate/kernel"]), product(y, mine["up/kernel"])
        x = x + product(jax.nn.silu(gate) * up, mine["down/kernel"])
    return x


def _attend(case: BlockCase, weights: Weights, x: Array, product: Product) -> Array:
    def heads(name: str) -> Array:
        kernel = weights[f"{name}/kernel"]
        return product(x, kernel.reshape(case.hidden, -1)).reshape(*x.shape[:2], *kernel.shape[1:])

    q, k, v = (heads(name) for name in ("query", "key", "value"))
    k, v = (jnp.repeat(a, case.q_heads // case.kv_heads, axis=2) for a in (k, v))
    score = jnp.einsum("btnh,bsnh->bnts", q, k, precision="highest") / math.sqrt(case.head_dim)
    seen = jnp.tril(jnp.ones(score.shape[-2:], bool))
    weight = jax.nn.softmax(jnp.where(seen, score, -jnp.inf), axis=-1)
    out = jnp.einsum("bnts,bsnh->btnh", weight, v, precision="highest")
    return product(out.reshape(*x.shape[:2], -1), weights["out/kernel"].reshape(-1, case.hidden))


def _norm(x: Array, scale: Array) -> Array:
    wide = x.astype(jnp.float32)
    square = jnp.mean(wide * wide, axis=-1, keepdims=True)
    return (wide * jax.lax.rsqrt(square + EPSILON)).astype(x.dtype) * scale


def _product(x: Array, w: Array) -> Array:
    return jnp.matmul(x, w, precision="highest")


@jax.custom_vjp
def _fp8_product(x: Array, w: Array) -> Array:
    return _product(rounded_fp8(x), rounded_fp8(w))


def _fp8_forward(x: Array, w: Array) -> tuple[Array, tuple[Array, Array]]:
    x, w = rounded_fp8(x), rounded_fp8(w)
    return _product(x, w), (x, w)


def _fp8_backward(kept: tuple[Array, Array], g: Array) -> tuple[Array, Array]:
    x, w = kept
    g = rounded_fp8(g, exponent_bits=5, mantissa_bits=2)
    return _product(g, w.T), _product(x.reshape(-1, x.shape[-1]).T, g.reshape(-1, g.shape[-1]))


_fp8_product.defvjp(_fp8_forward, _fp8_backward)
