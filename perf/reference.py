"""The float32 oracle: softmax(Q Kᵀ / √H) V and its three gradients, and what the case's own dtype loses.

Imports no backend. Products run at full precision (no TF32). One (batch, key head) at a time, so that the
(T, S) matrix of a long case fits. The gradients are written out, step by step as JAX differentiates softmax,
so that the same text runs twice: exactly, and rounded where a computation written in the case's dtype rounds.
The second is the naive computation whose error the tolerance is a multiple of.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from perf.cases import SCORE_CAP, AttentionCase, Direction
from perf.inputs import Inputs, array_shapes, rows_used, widened

Round = Callable[[Array], Array]

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
"""Names of arrays, each with its shape."""

# The oracle's result does not depend on which kernel multiplies: searching for the fastest one took 23 s
# instead of 0.8 s of compile time on an H200 (B4 T2048 N16 H128).
_COMPILER_OPTIONS: dict[str, bool | int | str] = {
    "xla_gpu_autotune_level": 0,
    "xla_gpu_enable_triton_gemm": False,
}


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What is right for one case and direction.

    Args:
        values: ``out`` (B, T, N, H), ``dq`` (B, T, N, H), ``dk`` and ``dv`` (B, S, K, H), float32; only
            what the direction returns.
        naive_rms: Root mean square error of the naive same-dtype computation, for each quantity.
        naive_max: Its largest absolute error.
    """

    values: dict[str, Array]
    naive_rms: dict[str, float]
    naive_max: dict[str, float]

    def only(self, names: tuple[str, ...]) -> "Expected":
        """The same for some of the quantities."""
        return Expected(
            values={name: self.values[name] for name in names},
            naive_rms={name: self.naive_rms[name] for name in names},
            naive_max={name: self.naive_max[name] for name in names},
        )


def quantities(direction: Direction) -> tuple[str, ...]:
    """Names of what a direction returns, in the order in which backends return them."""
    gradients = ("dq", "dk", "dv")
    return {
        "forward": ("out",),
        "backward": gradients,
        "training_step": ("out", *gradients),
    }[direction]


def output_shapes(case: AttentionCase, direction: Direction) -> Shapes:
    """Names and shapes of what a direction returns."""
    shapes = {"out": case.query_shape, "dq": case.query_shape, "dk": case.key_shape, "dv": case.key_shape}
    return tuple((name, shapes[name]) for name in quantities(direction))


def expected(case: AttentionCase, direction: Direction, inputs: Inputs) -> Expected:
    """Compute the right answer and the naive error for one case on the default device."""
    # Widened outside the program: inside it XLA takes a widened FP8 product for an FP8 product.
    exact = {name: widened(inputs, name) for name in array_shapes(case)}
    raw, rms, largest = compiled_reference(case, with_gradients=direction != "forward")(exact)
    return Expected(
        values=raw,
        naive_rms={name: float(value) for name, value in rms.items()},
        naive_max={name: float(value) for name, value in largest.items()},
    ).only(quantities(direction))


def visible(case: AttentionCase) -> Bool[Array, "T S"]:
    """Which key each query sees, padding apart; see `perf.cases.Mask`."""
    full = jnp.ones((case.q_len, case.kv_len), bool)
    if not case.causal:
        return full
    last = case.kv_len - case.q_len if case.mask == "causal_br" else 0
    seen = jnp.tril(full, last)
    return seen & jnp.triu(full, -case.window) if case.window else seen


def alibi(case: AttentionCase) -> Float[Array, "N T S"]:
    """The bias −2^(−8(n+1)/N)·(t − s) of head n (Press et al. 2022, for N a power of two)."""
    slope = 2.0 ** (-8 * (jnp.arange(case.q_heads) + 1) / case.q_heads)
    distance = jnp.arange(case.q_len)[:, None] - jnp.arange(case.kv_len)
    bias: Array = -slope[:, None, None] * distance
    return bias


def score_step(case: AttentionCase) -> Callable[[Array], Array]:
    """The pointwise step on the scaled scores; see `perf.cases.Score`."""
    return {
        "plain": lambda x: x,
        "softcap": lambda x: SCORE_CAP * jnp.tanh(x / SCORE_CAP),
        "softsign": lambda x: x / (1 + jnp.abs(x) / SCORE_CAP),
    }[case.score]


def only_used(case: AttentionCase, values: dict[str, Array]) -> dict[str, Array]:
    """Output and query gradient with zeros where a query is padding: what stands there is not defined."""
    if not case.padded:
        return values
    used = rows_used(case)[..., None, None]
    return {n: jnp.where(used, x, 0) if n in ("out", "dq") else x for n, x in values.items()}


Results = tuple[dict[str, Array], dict[str, Array], dict[str, Array]]
"""The exact values, and root mean square and largest value of the naive error, by quantity."""


@cache
def compiled_reference(case: AttentionCase, *, with_gradients: bool) -> Callable[[Inputs], Results]:
    """The program that computes the exact values and the naive error from exact arrays."""
    options = _COMPILER_OPTIONS if jax.default_backend() == "gpu" else None
    function = jax.jit(partial(_all_heads, case, with_gradients), compiler_options=options)
    arguments = {n: jax.ShapeDtypeStruct(shape, jnp.float32) for n, shape in array_shapes(case).items()}
    return function.lower(arguments).compile()


def exactly(x: Array) -> Array:
    """No rounding."""
    return x


def _all_heads(case: AttentionCase, with_gradients: bool, exact: Inputs) -> Results:  # noqa: FBT001 - bound by partial
    groups = case.q_heads // case.kv_heads
    q, k, v, g = (_split_heads(exact[name], case.kv_heads) for name in "qkvg")
    rounded, kept = rounding(case)
    bias = _bias(case, exact)
    lengths = jnp.repeat(jnp.asarray(case.lengths), case.kv_heads)

    def one(head: tuple[Array, ...]) -> tuple[dict[str, Array], dict[str, Array]]:
        number, length, *arrays = head
        mine = None if bias is None else bias[number % case.kv_heads]
        compute = partial(attention, case, *arrays, with_gradients=with_gradients, bias=mine, length=length)
        right, naive = compute(), compute(rounded=rounded, kept=kept)
        return right, {name: naive[name] - right[name] for name in right}

    numbers = jnp.arange(case.batch * case.kv_heads)
    right, error = jax.lax.map(one, (numbers, lengths, q, k[..., 0, :], v[..., 0, :], g))
    shapes = {"out": groups, "dq": groups, "dk": 1, "dv": 1}
    values = {
        name: _join_heads(x.reshape(*x.shape[:2], shapes[name], x.shape[-1]), case)
        for name, x in right.items()
    }
    values = only_used(case, values)
    rms = {name: jnp.sqrt(jnp.mean(e * e)) for name, e in error.items()}
    return values, rms, {name: jnp.max(jnp.abs(e)) for name, e in error.items()}


def _bias(case: AttentionCase, exact: Inputs) -> Float[Array, "K G T S"] | None:
    """The bias by key head; None without one."""
    if case.bias == "none":
        return None
    bias = exact["bias"][0] if case.bias == "dense" else alibi(case)
    return bias.reshape(case.kv_heads, -1, *bias.shape[1:])


def attention(  # noqa: PLR0913 - the four arrays of attention are its positional arguments
    case: AttentionCase,
    q: Float[Array, "T G H"],
    k: Float[Array, "S H"],
    v: Float[Array, "S H"],
    g: Float[Array, "T G H"],
    *,
    with_gradients: bool,
    bias: Float[Array, "G T S"] | None = None,
    length: Int[Array, ""] | None = None,
    rounded: Round = exactly,
    kept: Round = exactly,
) -> dict[str, Array]:
    """One key head with its G query heads: ``out``, and ``dq``, ``dk``, ``dv`` for output gradient g.

    Args:
        bias: Added to the scores.
        length: How many keys there are, the rest is padding; None for all.
        rounded: Applied to the operands of products and to the results.
        kept: Applied to every other intermediate.
    """
    product = partial(jnp.einsum, precision="highest")
    scale = 1 / math.sqrt(case.head_dim)
    score = kept(kept(product("tgh,sh->gts", rounded(q), rounded(k))) * scale)
    step, slope = jax.vjp(score_step(case), score)
    score = kept(step) if bias is None else kept(kept(step) + bias)
    seen = visible(case) if length is None else visible(case) & (jnp.arange(case.kv_len) < length)
    score = jnp.where(seen, score, -jnp.inf)
    power = kept(jnp.exp(kept(score - jnp.max(score, axis=-1, keepdims=True))))
    total = jnp.sum(power, axis=-1, keepdims=True)
    weight = rounded(power / total)
    out = rounded(product("gts,sh->tgh", weight, rounded(v)))
    if not with_gradients:
        return {"out": out}
    dv = rounded(jnp.sum(kept(product("gts,tgh->gsh", weight, rounded(g))), axis=0))
    dweight = kept(product("tgh,sh->gts", rounded(g), rounded(v)))
    # JAX differentiates power / total as a quotient, and XLA rounds total only where it squares it. Where one
    # key has most of the weight, two terms that should cancel are off by different factors: the error's tail.
    inverse_square = kept(1 / kept(kept(total) * kept(total)))
    dtotal = kept(jnp.sum(kept(kept(dweight * inverse_square) * power), axis=-1, keepdims=True))
    (dscore,) = slope(kept(kept(kept(dweight / total) - dtotal) * power))
    dscore = rounded(kept(dscore) * scale)
    dq = rounded(product("gts,sh->tgh", dscore, rounded(k)))
    dk = rounded(jnp.sum(kept(product("gts,tgh->gsh", dscore, rounded(q))), axis=0))
    return {"out": out, "dq": dq, "dk": dk, "dv": dv}


def rounding(case: AttentionCase) -> tuple[Round, Round]:
    """How a naive computation of this dtype rounds on this device: operands of products, and the rest.

    float32 products on a GPU use TF32 (8 exponent, 10 mantissa bits) unless asked otherwise; FP8 is
    scaled by the largest value, as its per-tensor scaling factors do. Both keep the rest in float32.
    """
    if case.dtype == "float8_e4m3fn":
        return rounded_fp8, exactly
    if case.dtype == "float32":
        on_gpu = jax.default_backend() == "gpu"
        return partial(jax.lax.reduce_precision, exponent_bits=8, mantissa_bits=10 if on_gpu else 23), exactly
    exponent_bits, mantissa_bits = {"bfloat16": (8, 7), "float16": (5, 10)}[case.dtype]
    narrow = partial(jax.lax.reduce_precision, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)
    return narrow, narrow


def rounded_fp8(x: Array, *, exponent_bits: int = 4, mantissa_bits: int = 3) -> Array:
    """Round as FP8 with a per-tensor scale does: E4M3 unless other bits are given."""
    # By arithmetic: XLA folds casts to FP8 into FP8 products. IEEE's reading of four exponent bits ends at
    # 240 where float8_e4m3fn has 448: one binade less of small numbers.
    largest = (2 - 2.0**-mantissa_bits) * 2.0 ** (2 ** (exponent_bits - 1) - 1)
    wide = x.astype(jnp.float32)
    scale = largest / jnp.maximum(jnp.max(jnp.abs(wide)), jnp.finfo(jnp.float32).tiny)
    rounded: Array = jax.lax.reduce_precision(wide * scale, exponent_bits, mantissa_bits) / scale
    return rounded.astype(x.dtype)


def _split_heads(x: Float[Array, "B L N H"], kv_heads: int) -> Float[Array, "BK L G H"]:
    batch, length, heads, size = x.shape
    grouped = x.reshape(batch, length, kv_heads, heads // kv_heads, size)
    return grouped.transpose(0, 2, 1, 3, 4).reshape(batch * kv_heads, length, -1, size)


def _join_heads(x: Float[Array, "BK L G H"], case: AttentionCase) -> Float[Array, "B L N H"]:
    split = x.reshape(case.batch, case.kv_heads, *x.shape[1:])
    return split.transpose(0, 2, 1, 3, 4).reshape(case.batch, x.shape[1], -1, x.shape[-1])
