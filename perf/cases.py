"""The cases: one problem each as plain scalars, and its id. Owns no array and imports no jax."""

from dataclasses import asdict, dataclass
from typing import Literal, get_args

Dtype = Literal["float32", "bfloat16", "float16", "float8_e4m3fn"]
Mask = Literal["none", "causal", "causal_br", "padding", "padding_causal"]
"""``causal`` counts both lengths from the first position, ``causal_br`` from the last. ``padding`` hides what
lies beyond each sequence's length (`AttentionCase.lengths`), of queries and of keys."""

Bias = Literal["none", "dense", "alibi"]
"""``dense``: an array (1, N, T, S) is added to the scores; ``alibi``: −2^(−8(n+1)/N)·(t − s), Press et al.
2022."""

Score = Literal["plain", "softcap", "softsign"]
"""A pointwise step between the first product and the softmax, after the scale; `SCORE_CAP` is c.

``softcap`` is c·tanh(x/c), as in Gemma 2; ``softsign`` is x/(1 + |x|/c), which no library has ready.
"""

SCORE_CAP = 2.0
"""Scores of normal inputs are standard normal: a larger cap would leave them as they are."""

Direction = Literal["forward", "backward", "training_step"]
"""`backward` is the gradient alone; `training_step` is output and gradients under one jit."""

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

_SHORT_DTYPE: dict[Dtype, str] = {
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "float8_e4m3fn": "e4m3",
}


def _refuse_below_one(case: object, fields: dict[str, object]) -> None:
    for name, value in fields.items():
        if isinstance(value, int) and value < 1:
            raise ValueError(f"{type(case).__name__}.{name}: expected at least 1, found {value}")


@dataclass(frozen=True, kw_only=True)
class AttentionCase:
    """Scaled dot-product attention on arrays of layout (batch, length, heads, head_dim).

    Args:
        batch: B.
        q_len: T, query length.
        kv_len: S, key and value length.
        q_heads: N, query heads; a multiple of kv_heads.
        kv_heads: K, key and value heads.
        head_dim: H, size of a head.
        dtype: Type of Q, K, V and of the output.
        mask: Which keys a query sees; see `Mask`.
        window: Under a causal mask a query sees its own position and this many before it; 0 is no window.
        bias: What is added to the scores; see `Bias`.
        score: A step between the first product and the softmax; see `Score`.

    Raises:
        ValueError: A size below 1, query heads that do not divide into the key heads, a window without a
            causal mask, or padding of lengths that differ.
    """

    batch: int
    q_len: int
    kv_len: int
    q_heads: int
    kv_heads: int
    head_dim: int
    dtype: Dtype
    mask: Mask
    window: int = 0
    bias: Bias = "none"
    score: Score = "plain"

    def __post_init__(self) -> None:
        _refuse_below_one(self, asdict(self) | {"window": self.window + 1})
        if self.window and self.mask != "causal":
            raise ValueError(f"AttentionCase.window: expected 0 without a causal mask, found {self.window}")
        if self.padded and self.q_len != self.kv_len:
            raise ValueError(
                f"AttentionCase.kv_len: expected {self.q_len} under padding, found {self.kv_len}"
            )
        if self.q_heads % self.kv_heads:
            raise ValueError(
                f"AttentionCase.q_heads: expected a multiple of kv_heads={self.kv_heads}, "
                f"found {self.q_heads}"
            )

    @property
    def query_shape(self) -> tuple[int, int, int, int]:
        """(B, T, N, H): Q, the output and the gradients of both."""
        return (self.batch, self.q_len, self.q_heads, self.head_dim)

    @property
    def key_shape(self) -> tuple[int, int, int, int]:
        """(B, S, K, H): K, V and the gradients of both."""
        return (self.batch, self.kv_len, self.kv_heads, self.head_dim)

    @property
    def padded(self) -> bool:
        """Whether sequences have lengths of their own."""
        return self.mask in ("padding", "padding_causal")

    @property
    def causal(self) -> bool:
        """Whether a query sees no key after it, counted from either end."""
        return self.mask in ("causal", "causal_br", "padding_causal")

    @property
    def plain(self) -> bool:
        """No mask but causal (top-left), no window, bias or step on the scores: what every backend knows."""
        return self.mask in ("none", "causal") and not self.extras

    @property
    def extras(self) -> tuple[str, ...]:
        """Window, bias and step on the scores, as the id names those that are there."""
        named = (f"w{self.window}" if self.window else "", self.bias, self.score)
        return tuple(name for name in named if name not in ("", "none", "plain"))

    @property
    def lengths(self) -> tuple[int, ...]:
        """Each sequence's length: the last is full, the others shorter in equal steps."""
        if not self.padded:
            return (self.kv_len,) * self.batch
        return tuple(max(1, self.kv_len * (row + 1) // self.batch) for row in range(self.batch))

    @property
    def id(self) -> str:
        """The only name of this case, made of its fields: ``B4-T128-S128-N8-K8-H64-bf16-causal``."""
        sizes = (
            f"B{self.batch}-T{self.q_len}-S{self.kv_len}-N{self.q_heads}-K{self.kv_heads}-H{self.head_dim}"
        )
        return "-".join((sizes, _SHORT_DTYPE[self.dtype], self.mask, *self.extras))


MatmulDtype = Literal["bfloat16", "float16", "int8"]


@dataclass(frozen=True, kw_only=True)
class MatmulCase:
    """A matrix product of two types, (M, K) × (K, N) → (M, N) in the wide one.

    Args:
        m: Rows of the left operand; small in decoding.
        n: Columns of the right operand.
        k: The summed length.
        left: Type of the left operand.
        right: Type of the right operand. Exactly one of the two is int8.

    Raises:
        ValueError: A size below 1, or types of which none or both are int8.
    """

    m: int
    n: int
    k: int
    left: MatmulDtype
    right: MatmulDtype

    def __post_init__(self) -> None:
        _refuse_below_one(self, asdict(self))
        if (self.left == "int8") == (self.right == "int8"):
            raise ValueError(f"MatmulCase: expected one int8 operand, found {self.left} and {self.right}")

    @property
    def dtype(self) -> Dtype:
        """The wide type: of one operand and of the result."""
        return "bfloat16" if "bfloat16" in (self.left, self.right) else "float16"

    @property
    def id(self) -> str:
        """The only name of this case: ``M16-N4096-K4096-bf16-int8``."""
        short = {"bfloat16": "bf16", "float16": "f16", "int8": "int8"}
        return f"M{self.m}-N{self.n}-K{self.k}-{short[self.left]}-{short[self.right]}"


@dataclass(frozen=True, kw_only=True)
class BlockCase:
    """Transformer blocks as in Llama: RMSNorm, causal attention, residual, RMSNorm, SwiGLU, residual.

    Args:
        layers: How many blocks, one after another.
        batch: B.
        length: T.
        hidden: D, the model's width.
        q_heads: N.
        kv_heads: K.
        head_dim: H.
        ffn: Width of the SwiGLU layer; 0 leaves it and both residuals out: RMSNorm and attention alone.

    Raises:
        ValueError: A size below 1 (``ffn``: below 0), or query heads that do not divide into the key heads.
    """

    layers: int
    batch: int
    length: int
    hidden: int
    q_heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    dtype: Dtype = "bfloat16"

    def __post_init__(self) -> None:
        _refuse_below_one(self, asdict(self) | {"ffn": self.ffn + 1})
        if self.q_heads % self.kv_heads:
            raise ValueError(
                f"BlockCase.q_heads: expected a multiple of kv_heads={self.kv_heads}, found {self.q_heads}"
            )

    @property
    def attention(self) -> AttentionCase:
        """The attention inside one block: causal, in bfloat16 whatever the projections are."""
        return AttentionCase(
            batch=self.batch,
            q_len=self.length,
            kv_len=self.length,
            q_heads=self.q_heads,
            kv_heads=self.kv_heads,
            head_dim=self.head_dim,
            dtype="bfloat16",
            mask="causal",
        )

    @property
    def id(self) -> str:
        """The only name of this case: ``L1-B1-T4096-D4096-N32-K8-H128-F14336-bf16``."""
        return (
            f"L{self.layers}-B{self.batch}-T{self.length}-D{self.hidden}-N{self.q_heads}-K{self.kv_heads}"
            f"-H{self.head_dim}-F{self.ffn}-{_SHORT_DTYPE[self.dtype]}"
        )


Case = AttentionCase | MatmulCase | BlockCase


@dataclass(frozen=True, kw_only=True, order=True)
class Key:
    """What is timed and compared: one backend computing one case in one direction."""

    backend: str
    direction: Direction
    case_id: str

    def __str__(self) -> str:
        return f"{self.backend}/{self.direction}/{self.case_id}"
