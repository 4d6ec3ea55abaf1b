"""One process run of one side: started, watched, and whatever is left of it turned into a record."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perf import journal
from perf.folders import ROOT
from perf.gate.interpreter import Interpreter
from perf.gate.salvage import salvaged
from perf.process_run import FAILED_KEYS, OK
from perf.records.schema import Environment
from perf.records.store import Record, RecordError, load, write_new

POLL_S = 0.2
INTERRUPT_S = 30.0
"""How long a process gets to write its record after Ctrl-C."""
HUNG = "hang"


@dataclass(frozen=True, kw_only=True)
class Files:
    """The files of one process run: ``base-01.json`` and what lies beside it."""

    record: Path

    @property
    def journal(self) -> Path:
        """Measured keys as they came."""
        return self.record.with_suffix(".journal.jsonl")

    @property
    def log(self) -> Path:
        """What the process printed."""
        return self.record.with_suffix(".txt")

    @property
    def keys(self) -> Path:
        """What it was asked for."""
        return self.record.with_suffix(".keys.txt")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What is left of a process run.

    Args:
        record: None when it ended before any key did.
        trouble: How it ended, when not as it should; a sentence.
    """

    record: Record | None
    trouble: str | None


def attempt(  # noqa: PLR0913 - all that a process run depends on
    side: Interpreter,
    files: Files,
    keys: Sequence[str],
    arguments: Sequence[str],
    *,
    environment: Environment,
    timeout_s: float,
) -> Attempt:
    """Measure keys once in a fresh process.

    Args:
        environment: Of this side; for the record of a process that left none.
        timeout_s: The process is stopped when it finishes no key for so long.

    Raises:
        KeyboardInterrupt: Ctrl-C; what was measured till then is in the record.
        OSError: The files cannot be written.
    """
    files.keys.write_text("\n".join(keys) + "\n", encoding="ascii")
    command = [str(side.python), "-m", "pytest", "perf", "-q", "--no-header", "-p", "no:cacheprovider"]
    command += [f"--keys={files.keys}", f"--benchmark-json={files.record}", f"--journal={files.journal}"]
    try:
        end = _ended([*command, *arguments], side, files, timeout_s)
    except KeyboardInterrupt:
        _left(files, keys, environment, "stopped by Ctrl-C", blame=False)
        raise
    if end in (OK, FAILED_KEYS) and files.record.exists():
        return Attempt(record=load(files.record), trouble=None)
    how = f"no key ended for {timeout_s:.0f} s" if end == HUNG else _how(end)
    return Attempt(record=_left(files, keys, environment, how, blame=True), trouble=f"{how}; see {files.log}")


def _ended(command: Sequence[str], side: Interpreter, files: Files, timeout_s: float) -> int | str:
    """Exit status of the process, or `HUNG`."""
    with files.log.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - the interpreter that the user named
            command,
            cwd=ROOT,
            env=side.environ,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that all it started can be stopped with it
        )
    try:
        return _watched(process, files, timeout_s)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(INTERRUPT_S)
        raise
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _watched(process: subprocess.Popen[bytes], files: Files, timeout_s: float) -> int | str:
    size, since_s = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(POLL_S)
        grown = files.journal.stat().st_size if files.journal.exists() else 0
        if grown != size:
            size, since_s = grown, time.monotonic()
        elif time.monotonic() - since_s > timeout_s:
            return HUNG
    return process.returncode


def _how(status: int | str) -> str:
    if isinstance(status, int) and status < 0:
        return f"the process ended with signal {-status} ({signal.Signals(-status).name})"
    return f"the process ended with exit status {status}"


def _left(
    files: Files, keys: Sequence[str], environment: Environment, how: str, *, blame: bool
) -> Record | None:
    """What a stopped process wrote itself, or what its journal has."""
    with suppress(RecordError):
        return load(files.record)
    found = journal.read(files.journal)
    content = salvaged(found, keys, environment, how=f"{how}; see {files.log}", blame=blame)
    if content is None:
        return None
    write_new(files.record, content)
    return load(files.record)
