"""Backends outside JAX's own: what they refuse, what they promise, and the words of their errors."""

import re
from types import ModuleType, SimpleNamespace
from typing import Any

import jax.numpy as jnp
import pytest

from perf.backends import BY_NAME, te
from perf.backends.base import Program
from perf.backends.cudnn_program import graph_error_text
from perf.backends.te_fp8 import NotFp8Error, refuse_equal
from perf.capability import Machine, Supported, Unsupported
from perf.cases import AttentionCase, BlockCase, Direction, MatmulCase
from perf.support import HOPPER

BARE = Machine(compute_capability=(9, 0), cudnn=(9, 19))
BF16 = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0"


def _case(**fields: object) -> AttentionCase:
    base = {"batch": 2, "q_len": 256, "kv_len": 256, "q_heads": 8, "kv_heads": 8, "head_dim": 128}
    return AttentionCase(**(base | {"dtype": "bfloat16", "mask": "causal"} | fields))  # type: ignore[arg-type]  # a table of fields


def _block(**fields: Any) -> BlockCase:
    base = {
        "layers": 1,
        "batch": 1,
        "length": 128,
        "hidden": 256,
        "q_heads": 4,
        "kv_heads": 2,
        "head_dim": 64,
    }
    return BlockCase(**(base | {"ffn": 0} | fields))


@pytest.mark.parametrize(
    ("backend", "direction", "fields", "said"),
    [
        (
            "cudnn_graph",
            "training_step",
            {"score": "softcap"},
            "direction: needs forward under the step softcap",
        ),
        (
            "cudnn_graph",
            "forward",
            {"bias": "alibi", "mask": "none"},
            "mask: needs a causal mask under alibi",
        ),
        (
            "cudnn_graph_fp8",
            "backward",
            {"dtype": "float8_e4m3fn"},
            "direction: needs forward, found backward",
        ),
        ("torch_efficient", "forward", {"kv_heads": 2}, "grouping: needs as many key heads as query heads"),
        (
            "torch_flash",
            "forward",
            {"q_len": 128},
            "sequence-length: needs equal lengths under the mask causal",
        ),
        (
            "tokamax_mosaic",
            "forward",
            {"head_dim": 80},
            "head-size: needs 64 to 256 in steps of 64, found 80",
        ),
        ("pallas_mosaic", "backward", {}, "direction: needs forward, found backward"),
        ("te_fp8", "forward", {"dtype": "float16"}, "dtype: needs bfloat16, found float16"),
    ],
)
def test_a_refusal_names_need_and_found(
    backend: str, direction: Direction, fields: dict[str, object], said: str
) -> None:
    """Beside what all backends refuse alike."""
    answer = BY_NAME[backend].supports(_case(**fields), direction, HOPPER)
    assert isinstance(answer, Unsupported)
    assert str(answer).startswith(said), str(answer)


@pytest.mark.parametrize(
    ("backend", "case", "said"),
    [
        ("block_xla", _block(dtype="float8_e4m3fn"), "dtype: needs bfloat16, found float8_e4m3fn"),
        ("block_te_fp8", _block(), "dtype: needs float8_e4m3fn, found bfloat16"),
        ("te_layer", _block(), "grouping: needs as many key heads as query heads, found 4 and 2"),
    ],
)
def test_blocks_refuse_too(backend: str, case: BlockCase, said: str) -> None:
    """FP8 is a property of the projections, which the case states."""
    assert str(BY_NAME[backend].supports(case, "training_step", HOPPER)) == said


def test_a_missing_package_is_named_before_anything_is_imported() -> None:
    """By the name that one installs."""
    product = MatmulCase(m=16, n=16, k=16, left="bfloat16", right="int8")
    answer = BY_NAME["matmul_graph"].supports(product, "forward", BARE)
    assert str(answer) == "package-missing: needs nvidia-cudnn-frontend, found not installed"
    assert BY_NAME["matmul_jax"].supports(product, "forward", BARE) == Supported()


@pytest.mark.parametrize(
    ("backend", "kept", "broken"),
    [
        ("torch_flash", "pytorch_flash::flash_fwd_kernel", "fmha_cutlassF_bf16_aligned"),
        ("torch_efficient", "fmha_cutlassF_bf16_aligned", "flash_fwd_kernel"),
        ("torch_cudnn", BF16, "flash_fwd_kernel"),
        ("cudnn_graph", BF16, "gemm"),
        ("cudnn_graph_fp8", BF16.replace("f16", "f8"), BF16),
    ],
)
def test_another_kernel_breaks_the_promise(backend: str, kept: str, broken: str) -> None:
    """PyTorch and cuDNN leave no compiled text: the kernels are the evidence."""
    assert BY_NAME[backend].broken_promise("forward", [kept], ()) is None
    assert broken in str(BY_NAME[backend].broken_promise("forward", [broken], ()))
    assert BY_NAME[backend].broken_promise("forward", [], ()) is None


def test_a_cast_beside_the_product_breaks_the_graphs_promise() -> None:
    """The graph is there to save it."""
    graph = BY_NAME["matmul_graph"]
    assert graph.broken_promise("forward", ["gemm"], ()) is None
    assert "ran cast, gemm" in str(graph.broken_promise("forward", ["cast", "gemm"], ()))


def test_cudnn_speaks_for_itself() -> None:
    """Category and last error of an unsupported graph."""
    last = "CUDNN_STATUS_NOT_SUPPORTED_SHAPE; head dim 264 is too large"
    told = graph_error_text(RuntimeError("No valid engine configs"), last)
    assert told.startswith(
        "cuDNN does not take this graph (CUDNN_STATUS_NOT_SUPPORTED_SHAPE): No valid engine"
    )
    assert told.endswith(f"cuDNN's last error: {last}")
    assert "(ValueError): x" in graph_error_text(ValueError("x"), "")


def test_two_cudnns_are_named_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformer Engine's own text alone says nothing of the cause."""

    def undefined(name: str, *_: object) -> ModuleType:
        raise ImportError(f"{name}: undefined symbol: cudnnBackendFinalize")

    monkeypatch.setattr(te, "import_module", undefined)
    monkeypatch.setattr(te, "cudnn_folders", lambda _: ("/usr/lib", "/site/nvidia/cudnn/lib"))
    with pytest.raises(ImportError) as found:
        te.transformer_engine()
    assert "undefined symbol: cudnnBackendFinalize" in str(found.value)
    assert "cuDNN is mapped from /usr/lib and from /site/nvidia/cudnn/lib." in str(found.value)
    assert "Set CUDNN_HOME" in str(found.value)


def _program(value: float) -> Program:
    return Program(
        run=SimpleNamespace,
        wait=lambda _: None,
        outputs=lambda _: {"out": jnp.full((2, 2), value)},
        compile_s=0.0,
        temp_bytes=0,
        custom_calls=(),
        keep=(),
    )


def test_equal_outputs_are_no_fp8() -> None:
    """Rounding to FP8 moves some bit of some element."""
    refuse_equal(_program(1.0), _program(1.01))
    with pytest.raises(NotFp8Error, match=re.escape("asked FP8, ran bf16")):
        refuse_equal(_program(1.0), _program(1.0))
