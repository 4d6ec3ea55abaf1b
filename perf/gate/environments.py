"""Virtual environments, one a lock, kept below ``.perf/environments`` and used again."""

import hashlib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from perf.folders import ROOT
from perf.gate.plan import GateError
from perf.gate.requirements import called, links, pip, resolve, suite_requirements, uv

FOLDER = Path(".perf") / "environments"
LOCK = "lock.txt"
"""Written when everything is installed: a folder without it was never finished."""


class Built(NamedTuple):
    """An environment's interpreter, and every package in it."""

    python: Path
    lock: tuple[str, ...]


def build(requirements: Sequence[str], *, extras: Sequence[str], wheels: str | None) -> Built:
    """Install requirements beside what the suite needs, or find them installed already.

    Args:
        extras: Extras of the suite.
        wheels: A folder of wheels beside the registry.

    Raises:
        GateError: Unresolvable, or the installation failed.
    """
    wanted = [*suite_requirements(extras), *requirements]
    lock = resolve(wanted, wheels=wheels)
    folder = ROOT / FOLDER / _digest(lock)
    python = folder / "bin" / "python"
    if not (folder / LOCK).exists():
        shutil.rmtree(folder, ignore_errors=True)
        _install(folder, python, lock, wheels)
    return Built(python, lock)


def _digest(lock: Sequence[str]) -> str:
    return hashlib.sha256("\n".join([sys.version, *lock]).encode()).hexdigest()[:16]


def _install(folder: Path, python: Path, lock: Sequence[str], wheels: str | None) -> None:
    found = uv()
    what = f"{folder}: the environment cannot be made"
    if found:
        called([*found, "venv", "--quiet", "--python", sys.executable, str(folder)], "", what=what)
        into = [*found, "pip", "install", "--quiet", "--python", str(python)]
    else:
        called([sys.executable, "-m", "venv", str(folder)], "", what=what)
        into = [*pip(str(python)), "install", "--quiet"]
    written = folder / f".{LOCK}"
    try:
        written.write_text("\n".join(lock) + "\n", encoding="utf-8")
    except OSError as error:
        raise GateError(f"{written}: cannot be written: {error.strerror}") from error
    called([*into, "--no-deps", *links(wheels), "-r", str(written)], "", what=what)
    written.replace(folder / LOCK)
