"""The tolerance policy: what it lets pass, what it catches, and what its message says."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from perf.backends import BY_NAME
from perf.backends.jax_program import directed
from perf.cases import AttentionCase, Direction, Dtype
from perf.inputs import widened
from perf.numerics import A2, A3, C2, MAX_FACTOR, RMS_FACTOR, Published, errors, failure_text
from perf.reference import Expected, expected
from perf.workloads import make_inputs

Attention = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
Plant = Callable[[AttentionCase], Attention]


def _case(dtype: Dtype, **fields: Any) -> AttentionCase:
    shape = {"batch": 1, "q_len": 256, "kv_len": 256, "q_heads": 4, "kv_heads": 2, "head_dim": 64}
    return AttentionCase(dtype=dtype, mask=fields.pop("mask", "causal"), **(shape | fields))


def _attention(
    case: AttentionCase, *, scale: float = 1.0, shift: int = 0, swap: bool = False, dropped: int = 0
) -> Attention:
    """Attention in the case's dtype with one fault.

    Args:
        scale: Factor on 1 / √H.
        shift: Keys beyond the diagonal that a query sees; more than the length means no mask.
        swap: Whether every query head reads the neighbouring key head.
        dropped: Keys at the end that nobody reads.
    """
    groups = case.q_heads // case.kv_heads

    def faulty(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        if swap:
            k, v = (jnp.roll(x, 1, axis=2) for x in (k, v))
        k, v = (jnp.repeat(x, groups, axis=2) for x in (k, v))
        score = jnp.einsum("btnh,bsnh->bnts", q, k) * (scale * case.head_dim**-0.5)
        row, column = jnp.arange(case.q_len)[:, None], jnp.arange(case.kv_len)[None, :]
        seen = (column <= row + shift) & (column < case.kv_len - dropped)
        weight = jax.nn.softmax(jnp.where(seen, score, jnp.finfo(score.dtype).min), axis=-1)
        return jnp.einsum("bnts,bsnh->btnh", weight, v)

    return faulty


FAULTS: dict[str, Plant] = {
    "no mask": lambda case: _attention(case, shift=10_000),
    "mask off by one": lambda case: _attention(case, shift=1),
    "scale 1 / H": lambda case: _attention(case, scale=case.head_dim**-0.5),
    "scale 5 % off": lambda case: _attention(case, scale=1.05),
    "neighbour's key head": lambda case: _attention(case, swap=True),
    "last tile dropped": lambda case: _attention(case, dropped=64),
}


def _checked(case: AttentionCase, attention: Attention, direction: Direction) -> list[str]:
    """Names of the quantities that the check calls wrong."""
    inputs = make_inputs(case, seed=0)
    right = expected(case, direction, inputs)
    function, arguments = directed(attention, direction, tuple(inputs[n] for n in "qkv"), inputs["g"])
    result = jax.jit(function)(*arguments)
    arrays = (result,) if direction == "forward" else result
    got = {name: array.astype(jnp.float32) for name, array in zip(right.values, arrays, strict=True)}
    return [error.quantity for error in errors(got, right) if not error.ok]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str, dtype: Dtype) -> None:
    """Each fault moves the output beyond its tolerance, in every dtype."""
    case = _case(dtype)
    assert _checked(case, FAULTS[fault](case), "forward") == ["out"]


@pytest.mark.parametrize("fault", ["no mask", "scale 1 / H", "neighbour's key head", "last tile dropped"])
def test_a_planted_fault_is_caught_in_the_gradients(fault: str) -> None:
    """All three gradients tell."""
    case = _case("bfloat16")
    assert _checked(case, FAULTS[fault](case), "backward") == ["dq", "dk", "dv"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_without_a_fault_nothing_is_wrong(dtype: Dtype) -> None:
    """The same text without its fault passes, so that what is caught is the fault."""
    case = _case(dtype)
    assert _checked(case, _attention(case), "forward") == []


def test_limits_are_multiples_of_the_naive_error() -> None:
    """Twice the root mean square and three times the largest error, beside a floor for float32 itself."""
    right = Expected(values={"out": jnp.zeros((1, 2))}, naive_rms={"out": 0.5}, naive_max={"out": 0.7})
    (error,) = errors({"out": jnp.zeros((1, 2))}, right)
    assert (error.rms_limit, error.max_limit) == (RMS_FACTOR * 0.5, MAX_FACTOR * 0.7)


@pytest.mark.parametrize(("wrong", "ok"), [(0.99, True), (1.01, False), (float("nan"), False)])
def test_a_value_beyond_the_limit_or_nan_is_wrong(wrong: float, ok: bool) -> None:  # noqa: FBT001 - a table
    """The largest error decides as well as the root mean square; NaN never passes."""
    right = Expected(values={"out": jnp.zeros((100, 100))}, naive_rms={"out": 1.0}, naive_max={"out": 1 / 3})
    (error,) = errors({"out": jnp.zeros((100, 100)).at[7, 3].set(wrong)}, right)
    assert (error.ok, error.worst) == (ok, (7, 3))


def test_the_message_is_complete() -> None:
    """Key, quantity, worst index, got, expected, limits, seed and the command that repeats it."""
    right = Expected(values={"dq": jnp.ones((2, 2))}, naive_rms={"dq": 0.1}, naive_max={"dq": 0.1})
    found = errors({"dq": jnp.ones((2, 2)).at[1, 0].set(4.0)}, right)
    text = failure_text("a/b/c", found, seed=7, repeat="pytest perf --case a/b/c")
    assert text is not None
    for part in ("a/b/c is wrong (seed 7)", "dq: rms error 1.5 (limit 0.2)", "largest error 3 (limit 0.3)"):
        assert part in text
    assert "at index (1, 0): got 4, expected 1" in text
    assert text.endswith("repeat with: pytest perf --case a/b/c")


def test_another_shape_is_refused() -> None:
    """An output of another shape is no numerical error: the text names both."""
    right = Expected(values={"out": jnp.ones((2, 2))}, naive_rms={"out": 0.1}, naive_max={"out": 0.1})
    with pytest.raises(ValueError, match=r"expected arrays .*\(2, 2\).*, found .*\(2, 3\)"):
        errors({"out": jnp.ones((2, 3))}, right)


def _within(got: jax.Array, want: jax.Array, limit: Published) -> bool:
    return bool(jnp.all(jnp.abs(got - want) <= limit.atol + limit.rtol * jnp.abs(want)))


@pytest.mark.parametrize(
    ("backend", "dtype", "shape", "mask", "limit"),
    [
        ("naive", "float32", (4, 128, 8, 64), "none", A2),
        ("jax_xla", "float32", (4, 128, 8, 64), "none", A2),
        ("jax_xla", "bfloat16", (4, 128, 8, 64), "none", A3),
        # One sequence of the example's four: the same lengths and heads in a quarter of the time.
        ("naive", "float16", (1, 1024, 12, 64), "causal", C2),
    ],
)
def test_published_tolerances_hold(
    backend: str, dtype: Dtype, shape: tuple[int, ...], mask: Any, limit: Published
) -> None:
    """What the texts that the shapes come from promise of their own examples."""
    batch, length, heads, size = shape
    lengths = {"q_len": length, "kv_len": length, "q_heads": heads, "kv_heads": heads, "head_dim": size}
    case = _case(dtype, batch=batch, mask=mask, **lengths)
    inputs = make_inputs(case, seed=0)
    program = BY_NAME[backend].build(case, "forward", inputs)
    assert _within(
        program.outputs(program.run())["out"], expected(case, "forward", inputs).values["out"], limit
    )


def test_fp8_inputs_fill_their_range() -> None:
    """The largest value meets the largest FP8 number, nothing becomes NaN, and the scale gives it back."""
    case = _case("float8_e4m3fn", head_dim=128)
    inputs = make_inputs(case, seed=0)
    largest = max(float(jnp.max(jnp.abs(inputs[name].astype(jnp.float32)))) for name in "qkvg")
    assert largest == 448
    values = widened(inputs, "q")
    assert float(jnp.std(values)) == pytest.approx(1, rel=0.05)
    assert bool(jnp.all(jnp.isfinite(values)))


def test_the_seed_decides_the_inputs() -> None:
    """The same seed gives the same values, another seed others."""
    case = _case("bfloat16")
    one, same, other = (make_inputs(case, seed=seed)["q"] for seed in (3, 3, 4))
    assert bool(jnp.all(one == same))
    assert bool(jnp.any(one != other))
