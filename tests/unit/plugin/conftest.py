"""A copy of the suite in a temporary folder, with a baseline of this CPU, started as a user starts it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from perf.baseline import pooled
from perf.records.store import load, write_new

ROOT = Path(__file__).parents[3]
KEY = "naive/forward/B4-T128-S128-N8-K8-H64-f32-none"
ONE = ("--backends", "naive", "--case", "*T128*f32*")
"""The options that select this key alone: a run of it takes three seconds, most of them imports."""

STOP = """
import perf.suite

keep = perf.suite.Suite.keep

def stop_after_the_first(self, record):
    keep(self, record)
    raise KeyboardInterrupt

perf.suite.Suite.keep = stop_after_the_first
"""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A copy of the suite.

    Args:
        compiled: Where its processes keep compiled modules and programs, which are most of a run's time.
    """

    root: Path
    compiled: Path

    def run(self, *arguments: str, cwd: Path | None = None, **environment: str) -> "Finished":
        """Run pytest in a fresh process."""
        return self.python("-m", "pytest", *arguments, cwd=cwd, **environment)

    def python(self, *arguments: str, cwd: Path | None = None, **environment: str) -> "Finished":
        """Run this interpreter on the copy."""
        dropped = ("PYTEST", "ATTENTION", "PYTHONDONTWRITEBYTECODE")
        variables = {n: v for n, v in os.environ.items() if not n.startswith(dropped)}
        variables |= {
            "COLUMNS": "200",
            "PYTHONPYCACHEPREFIX": str(self.compiled),  # an environment may be installed without bytecode
            "JAX_COMPILATION_CACHE_DIR": str(self.compiled / "jax"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        done = subprocess.run(
            [sys.executable, *arguments],
            check=False,
            cwd=cwd or self.root,
            env=variables | environment,
            capture_output=True,
            text=True,
        )
        return Finished(code=done.returncode, out=done.stdout + done.stderr)

    @property
    def folder(self) -> Path:
        """Where this CPU's baselines are."""
        return next((self.root / "baselines").glob("cpu-*"))

    @property
    def baseline(self) -> Path:
        """The baseline in force."""
        return max(self.folder.glob("*.json"))

    def plant(self, text: str) -> None:
        """Put a plug-in beside the copy: `-p planted` loads it."""
        (self.root / "planted.py").write_text(text, encoding="ascii")

    def plant_stop(self) -> None:
        """Plant a Ctrl-C right after the first key was measured."""
        self.plant(STOP)

    def edit(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the content of the baseline."""
        content = json.loads(self.baseline.read_text(encoding="ascii"))
        change(content)
        self.baseline.write_text(json.dumps(content), encoding="ascii")

    def edit_key(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change our fields of the baseline's only key."""
        self.edit(lambda content: change(content["benchmarks"][0]["extra_info"]["perf"]))


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What a process left: its exit status and all that it printed."""

    code: int
    out: str


def _copy(source: Path, target: Path, compiled: Path) -> Tree:
    skipped = shutil.ignore_patterns("nvidia-*", "cpu-*")
    for name in ("perf", "baselines"):
        shutil.copytree(source / name, target / name, ignore=skipped)
    for name in ("conftest.py", "pyproject.toml", "tests/slow_down.py"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, target / name)
    return Tree(root=target, compiled=compiled)


def quiet(content: dict[str, Any]) -> dict[str, Any]:
    """Samples of 2 ms within 1 %, so that what a test plants is all that differs."""
    for benchmark in content["benchmarks"]:
        for run in benchmark["extra_info"]["perf"]["processes"]:
            run["data_s"] = [2e-3 * (1 + 1e-3 * (number % 10)) for number in range(30)]
    return content


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy without any baseline; only tests that write no baseline use it."""
    return _copy(ROOT, tmp_path_factory.mktemp("bare"), tmp_path_factory.mktemp("compiled"))


@pytest.fixture(scope="session")
def measured(bare: Tree) -> dict[str, Any]:
    """One real record of the key on this machine, its samples made quiet."""
    path = bare.root / "run.json"
    done = bare.run("perf", *ONE, f"--benchmark-json={path}")
    assert done.code == 0, done.out
    return quiet(json.loads(path.read_text(encoding="ascii")))


@pytest.fixture
def fresh(bare: Tree, measured: dict[str, Any], tmp_path: Path) -> Tree:
    """A copy of its own without any baseline, with everything compiled."""
    del measured
    return _copy(bare.root, tmp_path / "suite", bare.compiled)


@pytest.fixture
def tree(fresh: Tree, measured: dict[str, Any], tmp_path: Path) -> Tree:
    """A copy of its own with a baseline of five process runs of 2 ms."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps(measured), encoding="ascii")
    record = load(path)
    slug = record.session.environment.slug
    write_new(fresh.root / "baselines" / slug / "0001_made.json", pooled([record] * 5, reason="made"))
    return fresh
