"""Programs of backends that are JAX functions: compile, split off the gradient, read the evidence."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from perf.backends.base import Program
from perf.capability import Capability, Machine
from perf.cases import AttentionCase, Direction
from perf.inputs import Inputs
from perf.reference import only_used, quantities

Attention = Callable[..., Array]
"""Of Q, K and V, and of the dense bias where the case has one."""

Refuse = Callable[[AttentionCase, Direction, Machine], Capability]


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a backend says will run.

    Args:
        what: In words, for the message.
        kernel: Regular expression that some kernel of every call must match.
        custom_call: The same for the compiled program's custom calls; None where nothing is compiled: then
            the kernels are all the evidence.
    """

    what: str
    kernel: str
    custom_call: str | None = None

    def broken(self, kernels: Sequence[str], custom_calls: Sequence[str]) -> str | None:
        """Compare with what ran; kernels are not judged when the clock saw none."""
        wanted = self.custom_call
        if wanted is not None and not any(re.search(wanted, name) for name in custom_calls):
            return f"promised {self.what}, compiled custom calls: {list(custom_calls) or 'none'}"
        if kernels and not any(re.search(self.kernel, name) for name in kernels):
            return f"promised {self.what}, ran {', '.join(kernels)}"
        return None


@dataclass(frozen=True, kw_only=True)
class JaxBackend:
    """A backend that is a differentiable JAX function of Q, K and V.

    Args:
        attention: Gives the function for a case; arrays are (B, L, heads, H).
        refuse: The capability of a case.
        promise: None when whatever runs is right (XLA's own kernels, the open choice).
    """

    name: str
    summary: str
    attention: Callable[[AttentionCase], Attention]
    refuse: Refuse
    promise: Promise | None = None

    def supports(self, case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
        """See `perf.backends.base.Backend`."""
        return self.refuse(case, direction, machine)

    def build(self, case: AttentionCase, direction: Direction, inputs: Inputs) -> Program:
        """See `perf.backends.base.Backend`."""
        primals = tuple(inputs[name] for name in "qkv")
        constants = (inputs["bias"],) if case.bias == "dense" else ()
        function, arguments = directed(self.attention(case), direction, primals, inputs["g"], constants)

        def outputs(result: Any) -> dict[str, Array]:
            return named(case, direction, (result,) if direction == "forward" else result)

        return compiled(function, arguments, outputs)

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """See `perf.backends.base.Backend`."""
        del direction
        return self.promise.broken(kernels, custom_calls) if self.promise else None


def directed(
    attention: Callable[..., Any],
    direction: Direction,
    primals: tuple[Any, ...],
    cotangent: Any,
    constants: tuple[Any, ...] = (),
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function to compile for a direction, and its arguments.

    For ``backward`` the forward pass runs here, once; its residuals are arguments of the gradient.

    Args:
        constants: Arguments after the primals, of which there is no gradient.
    """
    if direction == "forward":
        return attention, (*primals, *constants)

    def differentiated(primals: tuple[Any, ...], constants: tuple[Any, ...]) -> tuple[Any, Any]:
        return jax.vjp(lambda *p: attention(*p, *constants), *primals)

    if direction == "training_step":

        def step(g: Any, primals: tuple[Any, ...], constants: tuple[Any, ...]) -> tuple[Any, ...]:
            out, pullback = differentiated(primals, constants)
            return out, *pullback(g)

        return step, (cotangent, primals, constants)
    _, pullback = jax.jit(differentiated)(primals, constants)
    return lambda pullback, g: pullback(g), (pullback, cotangent)


def named(case: AttentionCase, direction: Direction, arrays: Sequence[Array]) -> dict[str, Array]:
    """What a direction returns as float32 under the reference's names, zero where a query is padding."""
    names = quantities(direction)
    values = {n: a.astype(jnp.float32) for n, a in zip(names, arrays, strict=True)}
    return only_used(case, values)


def compiled(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    outputs: Callable[[Any], dict[str, Array]],
) -> Program:
    """Lower and compile ahead of time, so that no call ever compiles."""
    start_s = time.perf_counter()
    executable = jax.jit(function).lower(*arguments).compile()
    compile_s = time.perf_counter() - start_s
    memory, text = analysed(executable)
    return Program(
        run=lambda: executable(*arguments),
        wait=jax.block_until_ready,
        outputs=outputs,
        compile_s=compile_s,
        temp_bytes=memory.temp_size_in_bytes,
        custom_calls=custom_calls(text),
        keep=(executable,),
    )


def analysed(executable: Any) -> tuple[Any, str]:
    """Memory use and text of a compiled program.

    Raises:
        RuntimeError: This JAX gives none.
    """
    memory, text = executable.memory_analysis(), executable.as_text()
    if memory is None or text is None:
        raise RuntimeError("this JAX gives no memory analysis or text of a compiled program")
    return memory, text


def custom_calls(hlo: str) -> tuple[str, ...]:
    """Targets of the custom calls in a compiled program's text, each once, sorted."""
    return tuple(sorted(set(re.findall(r'custom_call_target="([^"]+)"', hlo))))
