"""What files and verdicts are made of imports neither jax nor torch."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIGHT = (
    "perf.records.schema",
    "perf.records.store",
    "perf.compare",
    "perf.compare.sides",
    "perf.report.baselines",
    "perf.report.explain",
    "perf.report.files",
    "perf.report.table",
    "perf.report.terminal",
    "perf.units",
    "perf.report.verdicts",
    "perf.accept",
    "perf.baseline",
    "perf.process_run",
    "perf.selftest",
    "perf.environment",
    "perf.work",
    "perf.grids",
    "perf.selection",
    "perf.known_failures",
    "perf.cli",
)
HEAVY = ("jax", "jaxlib", "torch")


def _brought(*modules: str, heavy: tuple[str, ...] = HEAVY) -> str:
    """Which heavy packages a fresh interpreter has after importing modules, as it prints them."""
    text = f"import sys, {', '.join(modules)}\nprint([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], check=True, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def test_files_and_verdicts_need_neither_jax_nor_torch() -> None:
    """A verdict can be computed on any machine; so can the list of commands be printed."""
    assert _brought(*LIGHT) == "[]"


def test_every_module_of_these_layers_is_looked_at() -> None:
    """A new module of records, compare or report is found by this test without being listed."""
    files = [
        path for layer in ("records", "compare", "report") for path in (ROOT / "perf" / layer).glob("*.py")
    ]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    assert len(names) > 10
    assert _brought(*(name.removesuffix(".__init__") for name in names)) == "[]"


@pytest.mark.parametrize("module", ["perf.report.terminal", "perf.records.store", "perf.cli", "perf.cases"])
def test_what_every_run_imports_leaves_scipy_alone(module: str) -> None:
    """SciPy takes a second to import: only a comparison pays for it."""
    assert _brought(module, heavy=("scipy",)) == "[]"
