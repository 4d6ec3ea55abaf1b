"""PyTorch's `scaled_dot_product_attention`, eager, one row for each of its own backends.

Arrays are handed over by DLPack when the case is built: PyTorch reads and JAX keeps the same memory. The
layout stays (B, L, heads, H) in memory; PyTorch sees the transposed view, as its users write it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax import Array

from perf.backends.base import Program
from perf.backends.jax_cudnn import cudnn_head_sizes
from perf.backends.jax_program import Promise, named
from perf.backends.limits import HALF, WIDE, Limits
from perf.capability import Capability, Machine
from perf.cases import AttentionCase, Direction
from perf.inputs import Inputs

PACKAGES = ("torch",)


@dataclass(frozen=True, kw_only=True)
class TorchBackend:
    """One of PyTorch's backends, forced: PyTorch raises where it cannot run.

    Args:
        choice: Its name in ``torch.nn.attention.SDPBackend``.
        kernel: Regular expression that some kernel of every call must match.
    """

    name: str
    summary: str
    choice: str
    kernel: str
    limits: Limits

    def supports(self, case: AttentionCase, direction: Direction, machine: Machine) -> Capability:
        """See `perf.backends.base.Backend`."""
        return self.limits.answer(case, direction, machine)

    def build(self, case: AttentionCase, direction: Direction, inputs: Inputs) -> Program:
        """See `perf.backends.base.Backend`. The first call stands for compiling."""
        import torch

        run = _directed(self._forward(case), direction, inputs)
        before = _peak_from_now()
        start_s = time.perf_counter()
        result = run()
        torch.cuda.synchronize()
        compile_s = time.perf_counter() - start_s
        kept = sum(x.numel() * x.element_size() for x in result)
        return Program(
            run=run,
            wait=lambda _: torch.cuda.synchronize(),
            outputs=lambda arrays: named(case, direction, _to_jax(arrays)),
            compile_s=compile_s,
            temp_bytes=max(0, torch.cuda.max_memory_allocated() - before - kept),
            custom_calls=(),
            keep=(inputs,),
        )

    def broken_promise(
        self, direction: Direction, kernels: Sequence[str], custom_calls: Sequence[str]
    ) -> str | None:
        """Without sight of kernels PyTorch's own refusal is what there is."""
        del direction
        promise = Promise(what=f"a kernel like {self.kernel}", kernel=f"(?i){self.kernel}")
        return promise.broken(kernels, custom_calls)

    def _forward(self, case: AttentionCase) -> Callable[..., Any]:
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.functional import scaled_dot_product_attention

        chosen = getattr(SDPBackend, self.choice)

        def forward(q: Any, k: Any, v: Any) -> Any:
            with sdpa_kernel([chosen]):
                return scaled_dot_product_attention(
                    q, k, v, is_causal=case.causal, enable_gqa=case.q_heads != case.kv_heads
                )

        return forward


def _directed(forward: Callable[..., Any], direction: Direction, inputs: Inputs) -> Callable[[], Any]:
    """The call of a direction: a tuple of tensors (B, heads, L, H)."""
    import torch

    q, k, v, g = (torch.from_dlpack(jax.block_until_ready(inputs[n])).transpose(1, 2) for n in "qkvg")
    if direction == "forward":
        return torch.no_grad()(lambda: (forward(q, k, v),))  # type: ignore[no-any-return]  # untyped
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    if direction == "backward":
        out = forward(*leaves)
        return lambda: torch.autograd.grad(out, leaves, g, retain_graph=True)

    def step() -> Any:
        out = forward(*leaves)
        return (out.detach(), *torch.autograd.grad(out, leaves, g))

    return step


def _peak_from_now() -> int:
    """Start counting the peak anew; what is allocated now, in bytes."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    return int(torch.cuda.memory_allocated())


def _to_jax(tensors: Any) -> list[Array]:
    return [jax.dlpack.from_dlpack(x.transpose(1, 2).contiguous()) for x in tensors]


def _row(name: str, choice: str, kernel: str, **limits: Any) -> TorchBackend:
    known: dict[str, Any] = {"gpu": (8, 0), "packages": PACKAGES, "dtypes": HALF, "unequal": ("none",)}
    return TorchBackend(
        name=name,
        summary=f"PyTorch scaled_dot_product_attention, eager, SDPBackend.{choice}",
        choice=choice,
        kernel=kernel,
        limits=Limits(**(known | limits)),
    )


FLASH = _row("torch_flash", "FLASH_ATTENTION", "flash", head_sizes=lambda *_: range(8, 257, 8))
EFFICIENT = _row("torch_efficient", "EFFICIENT_ATTENTION", "fmha|attention", dtypes=WIDE, grouped=False)
CUDNN = _row("torch_cudnn", "CUDNN_ATTENTION", "cudnn.*(sdpa|fmha)", head_sizes=cudnn_head_sizes)
MATH = _row("torch_math", "MATH", "softmax", dtypes=WIDE)
