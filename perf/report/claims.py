"""The published texts' rows, as this machine measured them, each beside what the text says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perf.report.markdown import markdown_table
from perf.report.measured import Case, Measured, Side
from perf.units import percent, seconds
from perf.work import PEAKS

TORCH = ("torch_flash", "torch_efficient", "torch_math")
"""PyTorch's eager backends other than cuDNN."""

TOKENS = 16384
"""Of a batch, in the tables over lengths."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One row of the texts.

    Args:
        says: What the text reports or claims.
        table: The measured table; empty when nothing of the row is in the records.
    """

    row: str
    says: str
    table: Callable[[Side], str]


def claims(side: Side, rows: Sequence[str]) -> str:
    """The tables of the asked rows, all by default.

    Raises:
        ValueError: An unknown row.
    """
    known = {claim.row: claim for claim in CLAIMS}
    unknown = [row for row in rows if row not in known]
    if unknown:
        raise ValueError(f"--row: expected one of {', '.join(known)}, found {unknown[0]!r}")
    chosen = [known[row] for row in rows] or list(CLAIMS)
    return "\n\n".join(f"### {c.row}\n\n{c.says}\n\n{c.table(side) or 'Not measured.'}" for c in chosen)


def _time(found: Measured | None) -> str:
    return seconds(found.seconds) if found else "–"


def _ratio(slow: Measured | None, fast: Measured | None) -> str:
    return f"{slow.seconds / fast.seconds:.2f}×" if slow and fast else "–"


def _best(found: Sequence[tuple[str, Measured | None]]) -> tuple[str, Measured | None]:
    timed = [(name, m) for name, m in found if m]
    return min(timed, key=lambda pair: pair[1].seconds) if timed else ("–", None)


def _shape(case: Case) -> str:
    return f"B{case['batch']} T{case['q_len']} N{case['q_heads']} H{case['head_dim']}"


def _te_sweep(side: Side) -> str:
    def swept(case: Case) -> bool:
        return (case["batch"], case["q_heads"], case["head_dim"]) == (4, 8, 64) and case["mask"] == "causal"

    rows = []
    for direction in ("forward", "training_step"):
        for case in side.cases(swept, backend="te", direction=direction):
            xla, cudnn, te = (side.find(b, direction, case) for b in ("jax_xla", "jax_cudnn", "te"))
            rows.append((str(case["q_len"]), direction, *map(_time, (xla, cudnn, te)), _ratio(te, cudnn)))
    return markdown_table(("T", "direction", "XLA", "cuDNN", "TE", "TE / cuDNN"), rows) if rows else ""


def _te_fp8(side: Side) -> str:
    rows = []
    for direction in ("forward", "training_step"):
        for case in side.cases(lambda _: True, backend="te_layer", direction=direction):
            off = side.find("te_layer", direction, case)
            on = side.find("te_layer_fp8", direction, case | {"dtype": "float8_e4m3fn"})
            module = "TransformerLayer" if case["ffn"] else "MultiHeadAttention"
            rows.append((module, direction, _time(off), _time(on), _ratio(off, on)))
    head = ("module", "direction", "FP8 off", "FP8 on", "off / on")
    said = side.outcome("te_fp8/")
    attention = f"DotProductAttention: {said}\n\n" if said else ""
    return attention + (markdown_table(head, rows) if rows else "")


def _peers(direction: str) -> Callable[[Side], str]:
    def table(side: Side) -> str:
        long = side.cases(
            lambda case: int(case["batch"]) * int(case["q_len"]) == TOKENS and case["mask"] == "causal",
            backend="jax_cudnn",
            direction=direction,
        )
        head = ("shape", "cuDNN bf16", "cuDNN FP8", "best eager but cuDNN", "PyTorch cuDNN")
        ratios = ("bf16 ratio", "to best of all", "FP8 ratio", "to best of all")
        return markdown_table((*head, *ratios), [_peer_row(side, direction, c) for c in long]) if long else ""

    return table


def _peer_row(side: Side, direction: str, case: Case) -> tuple[str, ...]:
    bf16 = side.find("jax_cudnn", direction, case)
    fp8 = side.find("jax_cudnn_fp8", direction, case | {"dtype": "float8_e4m3fn"})
    name, other = _best([(b, side.find(b, direction, case)) for b in TORCH])
    torch_cudnn = side.find("torch_cudnn", direction, case)
    _, best = _best([(name, other), ("torch_cudnn", torch_cudnn)])
    times = (_time(bf16), _time(fp8), f"{_time(other)} ({name})", _time(torch_cudnn))
    ratios = (_ratio(other, bf16), _ratio(best, bf16), _ratio(other, fp8), _ratio(best, fp8))
    return (_shape(case), *times, *ratios)


def _rate(side: Side) -> str:
    rows = []
    slug = side.records[0].session.environment.slug if side.records else ""
    for backend, dtype in (("jax_cudnn_fp8", "float8_e4m3fn"), ("cudnn_graph_fp8", "float8_e4m3fn")):
        wide = side.cases(
            lambda case: (case["head_dim"], case["mask"]) == (256, "none"),
            backend=backend,
            direction="forward",
        )
        rows += [_rate_row(backend, c, side.find(backend, "forward", c), slug, dtype) for c in wide]
    head = (
        "backend",
        "shape",
        "time",
        "PFLOP/s",
        "SM clock",
        "power",
        "of the peak",
        "of the peak at that clock",
    )
    return markdown_table(head, rows) if rows else ""


def _rate_row(backend: str, case: Case, found: Measured | None, slug: str, dtype: str) -> tuple[str, ...]:
    if found is None or found.sm_hz is None or found.watt is None or slug not in PEAKS:
        return (backend, _shape(case), _time(found), *["–"] * 5)
    peak = PEAKS[slug].flop_per_s[dtype]
    at_clock = peak * found.sm_hz / PEAKS[slug].sm_hz
    return (
        backend,
        _shape(case),
        _time(found),
        f"{found.flop_per_s / 1e15:.3f}",
        f"{found.sm_hz / 1e6:.0f} MHz",
        f"{found.watt:.0f} W",
        percent(found.flop_per_s / peak),
        percent(found.flop_per_s / at_clock),
    )


def _blocks(side: Side) -> str:
    rows = []
    for case in side.cases(lambda _: True, backend="block_xla", direction="training_step"):
        first = side.find("block_xla", "training_step", case)
        for backend in ("block_xla", "block_cudnn", "block_te", "block_te_fp8"):
            mine = case | {"dtype": "float8_e4m3fn"} if backend.endswith("fp8") else case
            found = side.find(backend, "training_step", mine)
            peak = f"{found.temp_bytes / 1e9:.2f} GB" if found else "–"
            rows.append((str(case["layers"]), backend, _time(found), _ratio(first, found), peak))
    return markdown_table(("blocks", "backend", "step", "speed-up", "peak memory"), rows) if rows else ""


def _flexible(side: Side) -> str:
    rows = []
    shape = {"batch": 4, "q_len": 2048, "q_heads": 16, "head_dim": 128}
    for case in side.cases(lambda c: shape.items() <= c.items(), backend="cudnn_graph", direction="forward"):
        graph, naive = (side.find(b, "forward", case) for b in ("cudnn_graph", "naive"))
        kind = ", ".join(
            str(case[f]) for f in ("mask", "window", "bias", "score") if case[f] not in (0, "plain")
        )
        extra = [f"{m.temp_bytes / 1e6:.1f} MB" if m else "–" for m in (graph, naive)]
        plan = seconds(graph.compile_s) if graph else "–"
        rows.append((kind, _time(graph), _time(naive), _ratio(naive, graph), *extra, plan))
    head = (
        "mask, window, bias, step",
        "graph",
        "JAX unfused",
        "ratio",
        "graph's extra",
        "JAX's extra",
        "plan built in",
    )
    return markdown_table(head, rows) if rows else ""


def _mixed(side: Side) -> str:
    rows = []
    for case in side.cases(lambda _: True, backend="matmul_graph", direction="forward"):
        graph, cast = (side.find(b, "forward", case) for b in ("matmul_graph", "matmul_jax"))
        extra = [f"{m.temp_bytes / 1e6:.1f} MB" if m else "–" for m in (graph, cast)]
        shape = f"{case['m']} × {case['n']} × {case['k']}"
        types = f"{case['left']} × {case['right']}"
        rows.append((shape, types, _time(graph), _time(cast), _ratio(cast, graph), *extra))
    head = ("M × N × K", "types", "graph", "JAX", "JAX / graph", "graph's extra", "JAX's extra")
    return markdown_table(head, rows) if rows else ""


def _gpt2(side: Side) -> str:
    rows = []
    shape = {"batch": 4, "q_len": 1024, "q_heads": 12, "head_dim": 64, "dtype": "float16", "mask": "causal"}
    for direction in ("forward", "training_step"):
        for backend in ("cudnn_graph", "jax_cudnn", "jax_xla"):
            for case in side.cases(
                lambda c: shape.items() <= c.items(), backend=backend, direction=direction
            ):
                found = side.find(backend, direction, case)
                names = ", ".join(dict.fromkeys(found.kernels)) if found else "–"
                rows.append((backend, direction, _time(found), names))
    return markdown_table(("backend", "direction", "time", "kernels"), rows) if rows else ""


CLAIMS = (
    Claim(
        row="A9",
        says="Transformer Engine beside XLA and cuDNN, causal, bfloat16, B4 N8 H64.",
        table=_te_sweep,
    ),
    Claim(row="A10", says="FP8 autocast with DelayedScaling, Hopper or newer.", table=_te_fp8),
    Claim(
        row="B1",
        says="Forward, causal: bf16 up to 2× and FP8 up to 3× the best PyTorch eager back end. 16384 tokens.",
        table=_peers("forward"),
    ),
    Claim(row="B2", says="The same, forward and backward.", table=_peers("training_step")),
    Claim(row="B3", says="FP8 forward, no mask, H256, on an H200: up to 1.2 PFLOP/s.", table=_rate),
    Claim(
        row="B5",
        says="Training step: 1× without cuDNN, 1.11× with cuDNN bf16, 1.15× with FP8 (70B model, 8 GPUs).",
        table=_blocks,
    ),
    Claim(row="B6", says="Flexibility without leaving the fused kernel.", table=_flexible),
    Claim(
        row="B7", says="Mixed-input product: faster than cast-then-multiply, no extra memory.", table=_mixed
    ),
    Claim(row="C1", says="The front end's example: B4 N12 T1024 H64, float16, causal.", table=_gpt2),
)
