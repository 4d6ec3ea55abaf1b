"""The texts' tables from records: who is set beside whom, and what a gap looks like."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from perf.cases import AttentionCase, Dtype, MatmulCase
from perf.records.schema import Kernel, KeyRecord
from perf.records.store import load
from perf.report.claims import claims
from perf.report.measured import Side

GOLDEN = load(Path(__file__).parents[2] / "data" / "record-schema-1.json")
LONG = AttentionCase(
    batch=4, q_len=4096, kv_len=4096, q_heads=16, kv_heads=16, head_dim=128, dtype="bfloat16", mask="causal"
)


def _key(backend: str, case: AttentionCase | MatmulCase, ms: float, temp_bytes: int = 0) -> KeyRecord:
    (golden,) = [key for key in GOLDEN.keys.values() if key.backend == "jax_cudnn"]
    changed = {
        "data_s": [ms * 1e-3],
        "temp_bytes": temp_bytes,
        "kernels": [Kernel(name="k_kernel0", s=ms * 1e-3)],
    }
    run = golden.processes[0].model_copy(update=changed)
    key = f"{backend}/forward/{case.id}"
    fields = {"key": key, "backend": backend, "direction": "forward", "case": asdict(case)}
    return golden.model_copy(update=fields | {"processes": [run]})


def _side(*keys: KeyRecord) -> Side:
    return Side([replace(GOLDEN, keys={key.key: key for key in keys})])


def _fp8(case: AttentionCase) -> AttentionCase:
    dtype: Dtype = "float8_e4m3fn"
    return replace(case, dtype=dtype)


def test_the_peer_is_the_fastest_eager_backend_other_than_cudnn() -> None:
    """PyTorch's own cuDNN is no peer of cuDNN; it counts among all."""
    side = _side(
        _key("jax_cudnn", LONG, 0.5),
        _key("jax_cudnn_fp8", _fp8(LONG), 0.25),
        _key("torch_flash", LONG, 1.0),
        _key("torch_efficient", LONG, 1.75),
        _key("torch_cudnn", LONG, 0.6),
    )
    row = claims(side, ["B1"]).splitlines()[-1]
    assert "| 500 µs | 250 µs | 1 ms (torch_flash) | 600 µs | 2.00× | 1.20× | 4.00× | 2.40× |" in row


def test_a_peer_that_was_not_measured_is_a_gap() -> None:
    """No ratio is made of one number."""
    row = claims(_side(_key("jax_cudnn", LONG, 0.5)), ["B1"]).splitlines()[-1]
    assert row == "| B4 T4096 N16 H128 | 500 µs | – | – (–) | – | – | – | – | – |"
    assert claims(_side(), ["B7"]).endswith("Not measured.")


def test_a_product_in_a_graph_is_set_beside_the_cast() -> None:
    """Above 1 the graph wins; extra memory is each one's own."""
    case = MatmulCase(m=16, n=32, k=64, left="bfloat16", right="int8")
    side = _side(_key("matmul_graph", case, 0.3), _key("matmul_jax", case, 0.2, 2_000_000))
    row = claims(side, ["B7"]).splitlines()[-1]
    assert row == "| 16 × 32 × 64 | bfloat16 × int8 | 300 µs | 200 µs | 0.67× | 0.0 MB | 2.0 MB |"


def test_an_unknown_row_is_named() -> None:
    """The rows that there are stand beside it."""
    with pytest.raises(ValueError, match=r"--row: expected one of A9, .*, found 'Z9'"):
        claims(_side(), ["Z9"])
