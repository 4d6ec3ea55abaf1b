"""The transformer block in flax as its users write it, and its training step with optax.

Weights are float32, the computation is bfloat16. The optimizer is AdamW, whose first moment after one step is
a tenth of the gradient: the check reads it there, so that the timed program is the checked one.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax.traverse_util import flatten_dict, unflatten_dict
from jax import Array

from perf.backends.base import Program
from perf.backends.jax_program import analysed, compiled, custom_calls
from perf.block import EPSILON, Weights, weight_shapes
from perf.cases import BlockCase, Direction
from perf.inputs import Inputs

LEARNING_RATE = 1e-6
"""Small: hundreds of timed steps must not carry the weights away from what was checked."""

FIRST_MOMENT_DECAY = 0.9
WARM_STEPS = 2
"""Delayed scaling starts from a scale of 1: it needs a step to have seen any value, and one to use it."""

Attend = Callable[[Array, Array, Array], Array]


class Block(nn.Module):
    """One layer.

    Args:
        attend: Causal attention on (B, T, heads, H).
        dot_general: Class of the product in every projection; None is XLA's.
    """

    case: BlockCase
    attend: Attend
    dot_general: Any = None

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """(B, T, D) → (B, T, D)."""
        case = self.case
        y = self._norm("attention_norm")(x)
        q = self._dense((case.q_heads, case.head_dim), "query")(y)
        k, v = (self._dense((case.kv_heads, case.head_dim), name)(y) for name in ("key", "value"))
        attended: Array = self._dense(case.hidden, "out", axis=(-2, -1))(self.attend(q, k, v))
        if not case.ffn:
            return attended
        x = x + attended
        y = self._norm("mlp_norm")(x)
        hidden = nn.silu(self._dense(case.ffn, "gate")(y)) * self._dense(case.ffn, "up")(y)
        out: Array = x + self._dense(case.hidden, "down")(hidden)
        return out

    def _norm(self, name: str) -> nn.Module:
        return nn.RMSNorm(epsilon=EPSILON, dtype=jnp.bfloat16, name=name)

    def _dense(self, features: int | tuple[int, ...], name: str, axis: Any = -1) -> nn.Module:
        return nn.DenseGeneral(
            features,
            axis=axis,
            use_bias=False,
            dtype=jnp.bfloat16,
            dot_general_cls=self.dot_general,
            name=name,
        )


class Blocks(nn.Module):
    """All layers, one after another."""

    case: BlockCase
    attend: Attend
    dot_general: Any = None

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """(B, T, D) → (B, T, D)."""
        for layer in range(self.case.layers):
            x = Block(self.case, self.attend, self.dot_general, name=f"layer{layer}")(x)
        return x


def build(  # noqa: PLR0913 - the model, the key and the two translations of names
    model: nn.Module,
    case: BlockCase,
    direction: Direction,
    inputs: Inputs,
    *,
    to_params: Callable[[Weights], Any] | None = None,
    to_weights: Callable[[Any], Weights] | None = None,
) -> Program:
    """Compile a model's forward pass or training step.

    Args:
        to_params: From our names to the model's; None where they are flax's own.
        to_weights: The other way.
    """
    weights = {name: inputs[name] for name in weight_shapes(case)}
    params = (to_params or nested)(weights)
    state = _state(model, inputs["x"])
    if direction == "forward":
        arguments = ({"params": params, **state}, inputs["x"])
        return compiled(model.apply, arguments, lambda out: {"out": out.astype(jnp.float32)})
    for _ in range(WARM_STEPS if state else 0):
        state = _without_params(_gradients(model, {"params": params, **state}, inputs))
    return _step_program(model, {"params": params, **state}, inputs, to_weights or flat)


def nested(weights: Weights) -> Any:
    """``layer0/query/kernel`` → a tree of dictionaries."""
    return unflatten_dict(weights, sep="/")  # type: ignore[no-untyped-call]  # flax types it in part


def flat(tree: Any) -> Weights:
    """A tree of dictionaries → ``layer0/query/kernel``."""
    named: Weights = flatten_dict(tree, sep="/")  # type: ignore[no-untyped-call]  # flax types it in part
    return named


def _state(model: nn.Module, x: Array) -> dict[str, Any]:
    """Scaling factors, in whatever collection the model keeps them: their "gradient" is their new value."""
    if not _without_params(jax.eval_shape(model.init, jax.random.key(0), x)):
        return {}
    state: dict[str, Any] = jax.jit(lambda x: _without_params(model.init(jax.random.key(0), x)))(x)
    return state


def _without_params(variables: Any) -> dict[str, Any]:
    return {name: collection for name, collection in variables.items() if name != "params"}


def _gradients(model: nn.Module, variables: Any, inputs: Inputs) -> Any:
    def loss(variables: Any, x: Array, g: Array) -> Array:
        out: Any = model.apply(variables, x)
        return jnp.sum(out.astype(jnp.float32) * g.astype(jnp.float32))

    return jax.jit(jax.grad(loss))(variables, inputs["x"], inputs["g"])


def _step_program(
    model: nn.Module, variables: Any, inputs: Inputs, to_weights: Callable[[Any], Weights]
) -> Program:
    """A step that donates its state, as training does; a call is one step."""
    import optax

    optimizer = optax.adamw(LEARNING_RATE, b1=FIRST_MOMENT_DECAY)

    def step(variables: Any, moments: Any, inputs: Inputs) -> tuple[Any, Any]:
        gradients = _gradients(model, variables, inputs)
        updates, moments = optimizer.update(gradients["params"], moments, variables["params"])
        params = optax.apply_updates(variables["params"], updates)
        return {**gradients, "params": params}, moments

    tokens = {name: inputs[name] for name in ("x", "g")}
    # Copies: the first call gives its arguments' memory away, and the inputs serve other backends too.
    held = [jax.tree.map(jnp.copy, (variables, optimizer.init(variables["params"])))]
    start_s = time.perf_counter()
    executable = jax.jit(step, donate_argnums=(0, 1)).lower(*held[0], tokens).compile()
    compile_s = time.perf_counter() - start_s
    memory, text = analysed(executable)

    def run() -> Any:
        held[0] = executable(*held[0], tokens)
        return held[0]

    def outputs(state: Any) -> dict[str, Array]:
        gradients = to_weights(state[1][0].mu)
        return {f"d.{name}": mu / (1 - FIRST_MOMENT_DECAY) for name, mu in gradients.items()}

    used = memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
    return Program(
        run=run,
        wait=jax.block_until_ready,
        outputs=outputs,
        compile_s=compile_s,
        temp_bytes=used - memory.alias_size_in_bytes,
        custom_calls=custom_calls(text),
        keep=(executable,),
    )
