"""The case: one attention problem as plain scalars, and its id. Owns no array and imports no jax."""

from dataclasses import asdict, dataclass
from typing import Literal, get_args

Dtype = Literal["float32", "bfloat16", "float16", "float8_e4m3fn"]
Mask = Literal["none", "causal"]
Direction = Literal["forward", "backward", "training_step"]
"""`backward` is the gradient alone; `training_step` is output and gradients under one jit."""

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

_SHORT_DTYPE: dict[Dtype, str] = {
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "float8_e4m3fn": "e4m3",
}


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
        mask: ``causal`` counts both lengths from the first position (top-left).

    Raises:
        ValueError: A size below 1, or query heads that do not divide into the key heads.
    """

    batch: int
    q_len: int
    kv_len: int
    q_heads: int
    kv_heads: int
    head_dim: int
    dtype: Dtype
    mask: Mask

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, int) and value < 1:
                raise ValueError(f"AttentionCase.{name}: expected at least 1, found {value}")
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
    def id(self) -> str:
        """The only name of this case, made of its fields: ``B4-T128-S128-N8-K8-H64-bf16-causal``."""
        return (
            f"B{self.batch}-T{self.q_len}-S{self.kv_len}-N{self.q_heads}-K{self.kv_heads}"
            f"-H{self.head_dim}-{_SHORT_DTYPE[self.dtype]}-{self.mask}"
        )


@dataclass(frozen=True, kw_only=True, order=True)
class Key:
    """What is timed and compared: one backend computing one case in one direction."""

    backend: str
    direction: Direction
    case_id: str

    def __str__(self) -> str:
        return f"{self.backend}/{self.direction}/{self.case_id}"
