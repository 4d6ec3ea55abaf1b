"""Work of a case in FLOP and bytes, the GPU's peaks, and the roofline. Imports no jax."""

from dataclasses import dataclass

from perf.cases import AttentionCase, BlockCase, Case, Direction, MatmulCase

_DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "float8_e4m3fn": 1}

PRODUCTS: dict[Direction, float] = {"forward": 2, "backward": 5, "training_step": 7}
"""Matrix products of size T × S × H a head: Q Kᵀ and P V; five in the gradient (Dao et al. 2022)."""


def flop(case: Case, direction: Direction) -> float:
    """Floating-point operations of the matrix products; everything else is not counted.

    Attention: 2·N·H a visible (query, key) pair and product. A causal mask counts half the square, as the
    cuDNN article does. A matrix product: 2·M·N·K. Blocks: attention, and 2 a token and weight; twice that
    more in the gradient.
    """
    match case:
        case MatmulCase():
            return 2.0 * case.m * case.n * case.k
        case BlockCase():
            return _block_flop(case, direction)
        case AttentionCase():
            return _attention_flop(case, direction)


def _attention_flop(case: AttentionCase, direction: Direction) -> float:
    pairs = sum(_pairs(case, length) for length in case.lengths)
    return PRODUCTS[direction] * 2 * case.q_heads * case.head_dim * pairs


def _pairs(case: AttentionCase, length: int) -> float:
    """Visible (query, key) pairs of one sequence and head."""
    queries = length if case.padded else case.q_len
    if case.window:  # the band less its missing corner
        width = min(case.window + 1, length)
        return queries * width - width * (width - 1) / 2
    return queries * length / (2 if case.causal else 1)


def weights(case: BlockCase) -> int:
    """Weights of the matrix products of all layers: Q, K, V and output projections, and SwiGLU's three."""
    projections = 2 * case.hidden * case.head_dim * (case.q_heads + case.kv_heads)
    return case.layers * (projections + 3 * case.hidden * case.ffn)


def _block_flop(case: BlockCase, direction: Direction) -> float:
    passes = {"forward": 1, "backward": 2, "training_step": 3}[direction]
    tokens = case.batch * case.length
    return passes * 2.0 * tokens * weights(case) + case.layers * _attention_flop(case.attention, direction)


def least_bytes(case: Case, direction: Direction) -> float:
    """Bytes that must move: every input read once, every output written once.

    forward reads Q, K, V and writes the output; backward reads these and the output gradient and writes
    three gradients; a training step reads Q, K, V and the gradient and writes all four. Blocks: input and
    output, and each weight once; a training step reads and writes weights and AdamW's two moments.
    """
    match case:
        case MatmulCase():
            left, right = (1 if dtype == "int8" else 2 for dtype in (case.left, case.right))
            return float(left * case.m * case.k + right * case.k * case.n + 2 * case.m * case.n)
        case BlockCase():
            tensors = 6 if direction == "training_step" else 1
            tokens = case.batch * case.length * case.hidden
            return float(_DTYPE_BYTES[case.dtype] * (2 * tokens + tensors * weights(case)))
        case AttentionCase():
            return _attention_bytes(case, direction)


def _attention_bytes(case: AttentionCase, direction: Direction) -> float:
    rows = sum(case.lengths) if case.padded else case.batch * case.q_len
    query = rows * case.q_heads * case.head_dim
    key = sum(case.lengths) * case.kv_heads * case.head_dim
    arrays = {
        "forward": 2 * query + 2 * key,
        "backward": 4 * query + 4 * key,
        "training_step": 4 * query + 4 * key,
    }[direction]
    if case.bias == "dense":
        arrays += case.q_heads * case.q_len * case.kv_len
    return float(arrays * _DTYPE_BYTES[case.dtype])


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Ceilings of a GPU model, from its data sheet; dense, without sparsity.

    Args:
        flop_per_s: Of the matrix units, for each dtype; float32 means TF32.
        sm_hz: The clock at which the matrix units reach that.
        bytes_per_s: Of the device memory.
    """

    source: str
    flop_per_s: dict[str, float]
    sm_hz: float
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
        sm_hz=1829e6,  # 989e12 FLOP/s over 132 SMs of 4096 FLOP a cycle
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
