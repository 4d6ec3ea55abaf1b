"""Whether installed optional packages can be imported: one that cannot is broken, not missing."""

import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

IMPORTS = {
    "transformer-engine-jax": "from perf.backends.te import transformer_engine; transformer_engine()",
    "nvidia-cudnn-frontend": "import cudnn",
    "cuda-bindings": "import cuda.bindings.runtime",
    "torch": "import torch",
    "tokamax": "import tokamax",
    "flax": "import flax",
    "optax": "import optax",
}
"""The statement that needs each package, as the backends import it."""

SECONDS = 120


def broken(installed: Iterable[str]) -> dict[str, str]:
    """Import each package in a process of its own, after JAX, as a backend does.

    Args:
        installed: Names of packages; those that no backend imports are passed over.

    Returns:
        The last words of each import that failed, by package.
    """
    names = [name for name in installed if name in IMPORTS]
    with ThreadPoolExecutor() as pool:
        texts = pool.map(_failure, (IMPORTS[name] for name in names))
        return {name: text for name, text in zip(names, texts, strict=True) if text}


def _failure(statement: str) -> str | None:
    code = f"import jax; jax.devices()\n{statement}"
    try:
        child = subprocess.run(  # noqa: S603 - this interpreter on the statements above
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"{statement}: not done after {SECONDS} s"
    if child.returncode < 0:
        return f"{statement}: ended by signal {-child.returncode}"
    if child.returncode == 0:
        return None
    # The error and what it goes on to say; above it stands the way to it, indented.
    lines = child.stderr.rstrip().splitlines()
    start = max((n for n, line in enumerate(lines) if line.startswith(" ")), default=-1)
    return " ".join(lines[start + 1 :]) or f"{statement}: exit status {child.returncode}"
