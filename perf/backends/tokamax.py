"""tokamax's attention kernels: Mosaic GPU, Triton (both through Pallas) and chunked XLA.

Untuned rows take the block sizes that tokamax ships or its heuristics give. Tuned rows search in a child
process: the search reads kernel times through CUPTI, which gives one subscriber a process, and that is the
device clock. The search is part of the compile time.
"""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from jax import Array

from perf.backends.base import Program
from perf.backends.jax_nn import mask_options
from perf.backends.jax_program import Attention, JaxBackend
from perf.backends.limits import HALF, HOPPER, Limits
from perf.capability import Capability, Machine
from perf.cases import AttentionCase, Direction
from perf.folders import ROOT
from perf.inputs import Inputs

PACKAGES = ("tokamax",)
TUNING_SECONDS = 300

_LIMITS = Limits(
    gpu=(8, 0),
    packages=PACKAGES,
    dtypes=HALF,
    masks=("none", "causal", "padding", "padding_causal"),
    window=True,
    biases=("none", "dense"),
)


def attention(implementation: str, case: AttentionCase) -> Attention:
    """Tokamax's public function with one implementation, so that it raises where it cannot run."""
    import tokamax

    def call(q: Array, k: Array, v: Array, bias: Array | None = None) -> Array:
        out: Array = tokamax.dot_product_attention(
            q, k, v, bias, implementation=implementation, **mask_options(case)
        )
        return out

    return call


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A row whose block sizes are searched before it is compiled."""

    name: str
    summary: str
    implementation: str
    untuned: JaxBackend

    def supports(self, case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
        """Those of the untuned row."""
        return self.untuned.supports(case, direction, machine)

    def build(self, case: AttentionCase, direction: Direction, inputs: Inputs) -> Program:
        """See `perf.backends.base.Backend`."""
        start_s = time.perf_counter()
        tuning = _tuning(self.implementation, case, direction)
        tuning_s = time.perf_counter() - start_s
        with tuning:
            program = self.untuned.build(case, direction, inputs)
        return replace(program, compile_s=program.compile_s + tuning_s)

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """Those of the untuned row."""
        return self.untuned.broken_promise(direction, kernels, custom_calls)


@cache
def _tuning(implementation: str, case: AttentionCase, direction: Direction) -> Any:
    """Search in a child process; the result is a context in which a program is compiled with it.

    Raises:
        RuntimeError: The child failed; its last words are in the text.
    """
    import tokamax

    asked = json.dumps({"implementation": implementation, "direction": direction, "case": asdict(case)})
    child = subprocess.run(  # noqa: S603 - this module, with a case
        [sys.executable, "-m", "perf.backends.tokamax", asked],
        capture_output=True,
        text=True,
        timeout=TUNING_SECONDS,
        check=False,
        cwd=ROOT,
    )
    if child.returncode:
        raise RuntimeError(f"tokamax's search for block sizes failed: {child.stderr[-2000:]}")
    return tokamax.AutotuningResult.loads(child.stdout)


def _search(asked: str) -> None:
    """The child: print the tuning of one case as JSON."""
    import tokamax

    from perf.backends.jax_program import directed
    from perf.workloads import make_inputs

    fields = json.loads(asked)
    case = AttentionCase(**fields["case"])
    inputs = make_inputs(case, seed=0)
    primals = tuple(inputs[name] for name in "qkv")
    constants = (inputs["bias"],) if case.bias == "dense" else ()
    call = attention(fields["implementation"], case)
    # A gradient alone is searched with its forward pass: they are one operation to tokamax.
    direction: Direction = "forward" if fields["direction"] == "forward" else "training_step"
    function, arguments = directed(call, direction, primals, inputs["g"], constants)
    with contextlib.redirect_stdout(sys.stderr):
        found = tokamax.autotune(function, *arguments, progress_bar=False)
    print(found.dumps(prune_errors=True))


def _row(name: str, implementation: str, limits: Limits) -> JaxBackend:
    return JaxBackend(
        name=name,
        summary=f'tokamax.dot_product_attention(implementation="{implementation}"), shipped block sizes',
        attention=lambda case: attention(implementation, case),
        refuse=limits.answer,
    )


def _tuned(name: str, implementation: str, untuned: JaxBackend) -> Tuned:
    return Tuned(
        name=name,
        summary=f'tokamax.dot_product_attention(implementation="{implementation}"), autotuned',
        implementation=implementation,
        untuned=untuned,
    )


MOSAIC = _row(
    "tokamax_mosaic", "mosaic", replace(_LIMITS, gpu=HOPPER, head_sizes=lambda *_: range(64, 257, 64))
)
TRITON = _row("tokamax_triton", "triton", _LIMITS)
CHUNKED = _row("tokamax_xla_chunked", "xla_chunked", _LIMITS)
MOSAIC_TUNED = _tuned("tokamax_mosaic_tuned", "mosaic", MOSAIC)
TRITON_TUNED = _tuned("tokamax_triton_tuned", "triton", TRITON)

if __name__ == "__main__":
    _search(sys.argv[1])
