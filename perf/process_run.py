"""One process run: ``pytest perf`` in a fresh interpreter, and the record that it leaves."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from perf.folders import ROOT
from perf.records.store import Record, RecordError, load

OK, FAILED_KEYS = 0, 1


def measure_run(path: Path, arguments: Sequence[str], *, log: Path | None = None) -> Record:
    """Measure once in a fresh process.

    Args:
        path: Where the process writes its record.
        arguments: Options of ``pytest perf``: keys, clock, seed.
        log: Takes what the process prints; None shows it.

    Raises:
        RecordError: The process was stopped, or left no usable record. Failed keys are in the record.
    """
    path.unlink(missing_ok=True)  # an older process run's record would pass for this one's
    command = [sys.executable, "-m", "pytest", "perf", "-q", "--no-header", "-p", "no:cacheprovider"]
    command += [f"--benchmark-json={path.resolve()}", *arguments]
    if log is None:
        status = subprocess.run(command, check=False, cwd=ROOT).returncode  # noqa: S603 - this interpreter
    else:
        with log.open("wb") as out:
            status = subprocess.run(  # noqa: S603 - this interpreter
                command, check=False, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT
            ).returncode
    told = f"; it printed {log}" if log else ""
    if status not in (OK, FAILED_KEYS):
        text = f"signal {-status}" if status < 0 else f"exit status {status}"
        raise RecordError(f"a process run ended with {text}{told}")
    if not path.exists():
        raise RecordError(f"a process run ended without a record{told}")
    return load(path)


def refuse_failed(record: Record) -> None:
    """Check that every key of a process run was right.

    The file is set aside, so that going on takes the process run anew.

    Raises:
        RecordError: A key failed; names the file, the key and why.
    """
    failed = [outcome for outcome in record.session.outcomes if outcome.outcome == "failed"]
    if failed:
        aside = record.path.replace(record.path.with_suffix(".failed.json"))
        raise RecordError(f"{aside}: {failed[0].key} failed: {failed[0].text}")
