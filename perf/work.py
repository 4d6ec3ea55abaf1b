"""Work of a case in FLOP and bytes, the GPU's peaks, and the roofline. Imports no jax."""

from dataclasses import dataclass

from perf.cases import AttentionCase, Direction

_DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "float8_e4m3fn": 1}

PRODUCTS: dict[Direction, float] = {"forward": 2, "backward": 5, "training_step": 7}
"""Matrix products of size T × S × H a head: Q Kᵀ and P V; five in the gradient (Dao et al. 2022)."""


def flop(case: AttentionCase, direction: Direction) -> float:
    """Floating-point operations of the products: 2·B·N·H a visible (query, key) pair and product.

    A causal mask counts half the square, as the cuDNN article does; softmax is not counted.
    """
    pairs = case.q_len * case.kv_len / (2 if case.mask == "causal" else 1)
    return PRODUCTS[direction] * 2 * case.batch * case.q_heads * case.head_dim * pairs


def least_bytes(case: AttentionCase, direction: Direction) -> float:
    """Bytes that must move: every input read once, every output written once.

    forward reads Q, K, V and writes the output; backward reads these and the output gradient and writes
    three gradients; a training step reads Q, K, V and the gradient and writes all four.
    """
    query = case.batch * case.q_len * case.q_heads * case.head_dim
    key = case.batch * case.kv_len * case.kv_heads * case.head_dim
    arrays = {
        "forward": 2 * query + 2 * key,
        "backward": 4 * query + 4 * key,
        "training_step": 4 * query + 4 * key,
    }[direction]
    return float(arrays * _DTYPE_BYTES[case.dtype])


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Ceilings of a GPU model, from its data sheet; dense, without sparsity.

    Args:
        flop_per_s: Of the matrix units, for each dtype; float32 means TF32.
        bytes_per_s: Of the device memory.
    """

    source: str
    flop_per_s: dict[str, float]
    bytes_per_s: float


def _hopper(name: str, bytes_per_s: float) -> Peak:
    return Peak(
        source=f"NVIDIA {name} data sheet, SXM, dense",
        flop_per_s={
            "float32": 494.5e12,
            "bfloat16": 989e12,
            "float16": 989e12,
            "float8_e4m3fn": 1979e12,
        },
        bytes_per_s=bytes_per_s,
    )


PEAKS: dict[str, Peak] = {
    "nvidia-h200": _hopper("H200", 4.8e12),
    "nvidia-h100-80gb-hbm3": _hopper("H100", 3.35e12),
}
"""By GPU slug; a GPU that is not listed has no roofline, and its table says so."""


def roofline_s(case_dtype: str, flop_count: float, byte_count: float, slug: str) -> float | None:
    """The least time that the peaks allow; None for a GPU whose peaks are not listed."""
    peak = PEAKS.get(slug)
    if peak is None:
        return None
    return max(flop_count / peak.flop_per_s[case_dtype], byte_count / peak.bytes_per_s)
