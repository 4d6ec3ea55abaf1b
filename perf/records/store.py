"""Reading records strictly, writing them atomically, and finding the baseline in force."""

import json
import math
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from perf.records.schema import KeyRecord, Session

_NUMBERED = re.compile(r"(\d{4})_.+\.json")
_NUMBERS = re.compile(r"\[\n[-+.\deE,\s]+\]")


class RecordError(ValueError):
    """A record file that cannot be used; the text names file, field, expected and found."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One file: the session's fields, and every measured key once.

    Args:
        raw: The whole file as pytest-benchmark wrote it.
    """

    path: Path
    session: Session
    keys: dict[str, KeyRecord]
    raw: dict[str, Any]


def load(path: Path) -> Record:
    """Read one record.

    Raises:
        RecordError: Unreadable, not JSON, truncated, another schema, an unknown or missing field, a wrong
            type, an impossible value, or a key that occurs twice.
    """
    raw = _json(path)
    try:
        session = Session.model_validate(_field(raw, "perf", path))
        keys = dict(_keys(raw, path))
    except ValidationError as error:
        raise RecordError(f"{path}: {_first(error)}") from error
    return Record(path=path, session=session, keys=keys, raw=raw)


def _json(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RecordError(f"{path}: expected JSON, found a broken or truncated file: {error}") from error
    if not isinstance(raw, dict):
        raise RecordError(f"{path}: expected a JSON object, found {type(raw).__name__}")
    return raw


def _field(raw: dict[str, Any], name: str, path: Path) -> Any:
    if name not in raw:
        raise RecordError(
            f"{path}: {name}: missing; expected a record made by this suite, "
            "found another pytest-benchmark file"
        )
    return raw[name]


def _keys(raw: dict[str, Any], path: Path) -> Iterator[tuple[str, KeyRecord]]:
    seen: set[str] = set()
    for number, benchmark in enumerate(_field(raw, "benchmarks", path)):
        place = f"benchmarks[{number}]"
        fields = benchmark.get("extra_info", {}).get("perf")
        if fields is None:
            raise RecordError(f"{path}: {place}.extra_info.perf: missing")
        try:
            key = KeyRecord.model_validate(fields)
        except ValidationError as error:
            raise RecordError(f"{path}: {place}.extra_info.perf.{_first(error)}") from error
        _refuse_bad_stats(benchmark.get("stats", {}), f"{path}: {place}.stats")
        if key.key in seen:
            raise RecordError(f"{path}: {place}: key {key.key!r} occurs twice")
        seen.add(key.key)
        yield key.key, key


def _refuse_bad_stats(stats: dict[str, Any], place: str) -> None:
    for name in ("min", "median", "mean", "max"):
        value = stats.get(name)
        if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
            raise RecordError(f"{place}.{name}: expected a positive time, found {value!r}")


def _first(error: ValidationError) -> str:
    """The first complaint of pydantic as ``field: message, found value``."""
    details = error.errors(include_url=False)[0]
    field = ".".join(map(str, details["loc"]))
    return f"{field}: {details['msg']}, found {str(details['input'])[:80]}"


def write_new(path: Path, content: dict[str, Any]) -> None:
    """Write a file that does not exist yet, all of it or nothing.

    Raises:
        RecordError: It exists, the folder cannot be written, or a value cannot be stored as JSON.
    """
    try:
        text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=True) + "\n"
        text = _NUMBERS.sub(lambda match: " ".join(match[0].split()), text)  # a list of samples is one line
    except (TypeError, ValueError) as error:
        raise RecordError(f"{path}: not written: {error}") from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=".writing-", delete=False, encoding="ascii"
        ) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise RecordError(f"{path.parent}: cannot be written: {error.strerror}") from error
    try:
        os.link(file.name, path)  # unlike a rename, fails when the name is taken
    except FileExistsError as error:
        raise RecordError(f"{path}: exists already; records are never overwritten") from error
    finally:
        Path(file.name).unlink()
    path.chmod(0o644)


def numbered(folder: Path) -> list[Path]:
    """The folder's ``NNNN_*.json`` files, lowest number first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _NUMBERED.fullmatch(path.name))


def next_number(folder: Path) -> int:
    """The number after the highest one in use; 1 for an empty folder."""
    return max((int(path.name[:4]) for path in numbered(folder)), default=0) + 1


def in_force(folder: Path) -> Record | None:
    """The baseline with the highest number; saved runs between the baselines are passed over.

    Raises:
        RecordError: A file with a higher number than the baseline cannot be read: an older one is never
            taken silently.
    """
    for path in reversed(numbered(folder)):
        record = load(path)
        if record.session.kind == "baseline":
            return record
    return None
