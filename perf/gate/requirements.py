"""From requirements to a lock: every package with its exact version, as uv or pip resolves it."""

import importlib.util
import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence

from perf.folders import ROOT
from perf.gate.plan import GateError


def suite_requirements(extras: Sequence[str]) -> list[str]:
    """What the suite itself needs, from its pyproject.toml.

    Raises:
        GateError: An extra that the suite does not have.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional: dict[str, list[str]] = project["optional-dependencies"]
    for extra in extras:
        if extra not in optional:
            raise GateError(f"--extras: expected names among {', '.join(optional)}; found {extra!r}")
    return [*project["dependencies"], *(line for extra in extras for line in optional[extra])]


def uv() -> list[str] | None:
    """How uv is started; None when it is not installed."""
    if importlib.util.find_spec("uv"):
        return [sys.executable, "-m", "uv"]
    found = shutil.which("uv")
    return [found] if found else None


def pip(python: str = sys.executable) -> list[str]:
    """How an interpreter's pip is started, without its notices."""
    return [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]


def resolve(requirements: Sequence[str], *, wheels: str | None) -> tuple[str, ...]:
    """Resolve for this interpreter's version of Python.

    Raises:
        GateError: They do not resolve; the text is the resolver's own.
    """
    found = uv()
    return _by_uv(found, requirements, wheels) if found else _by_pip(requirements, wheels)


def _by_uv(uv: list[str], requirements: Sequence[str], wheels: str | None) -> tuple[str, ...]:
    command = [*uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable]
    command += [*links(wheels), "-"]
    out = called(command, "\n".join(requirements), what="these requirements do not resolve")
    return tuple(sorted(line.strip() for line in out.splitlines() if line.strip()))


def _by_pip(requirements: Sequence[str], wheels: str | None) -> tuple[str, ...]:
    command = [*pip(), "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    command += [*links(wheels), *requirements]
    out = called(command, "", what="these requirements do not resolve")
    return tuple(sorted(map(_pinned, json.loads(out)["install"])))


def _pinned(item: dict[str, dict[str, str]]) -> str:
    name, version = item["metadata"]["name"], item["metadata"]["version"]
    return f"{name} @ {item['download_info']['url']}" if item["is_direct"] else f"{name}=={version}"


def links(wheels: str | None) -> list[str]:
    """The option of uv and pip that names a folder of wheels."""
    return ["--find-links", wheels] if wheels else []


def called(command: Sequence[str], stdin: str, *, what: str) -> str:
    """Run a tool and return what it prints.

    Raises:
        GateError: It failed; ``what`` went wrong, in the tool's own words.
    """
    done = subprocess.run(  # noqa: S603 - uv, pip or an interpreter
        command, check=False, cwd=ROOT, input=stdin, capture_output=True, text=True
    )
    if done.returncode:
        raise GateError(f"{what}:\n{(done.stderr or done.stdout).strip()}")
    return done.stdout


def releases(name: str, *, wheels: str | None) -> list[str]:
    """All releases of a package that can be had for this Python, as pip lists them.

    Raises:
        GateError: None is known.
    """
    command = [*pip(), "index", "versions", *links(wheels), name]
    out = called(command, "", what=f"--over: no release of {name} is known")
    line = next((line for line in out.splitlines() if line.startswith("Available versions:")), "")
    return [version.strip() for version in line.removeprefix("Available versions:").split(",") if version]
