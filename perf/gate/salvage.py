"""A record from the journal of a process that wrote none: the keys it measured, and the one it was at."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from perf.baseline import samples
from perf.environment import machine_info
from perf.grids import TAGS
from perf.journal import Read
from perf.records.schema import Environment, KeyRecord, Outcome, Selected, Session


def salvaged(
    found: Read, keys: Sequence[str], environment: Environment, *, how: str, blame: bool
) -> dict[str, Any] | None:
    """The content of a record; None when no key ended and none is to blame.

    Args:
        keys: What the process was asked for.
        how: How it ended.
        blame: The key that had begun is the cause, and failed; after Ctrl-C it is not.
    """
    outcomes = dict(found.outcomes)
    if blame and found.open_key:
        text = f"{how} while this key ran"
        outcomes[found.open_key] = Outcome(key=found.open_key, outcome="failed", code="crash", text=text)
    if not outcomes:
        return None
    selected = Selected(tags=list(TAGS), backends=[], directions=[], case="*", keys=sorted(keys))
    session = Session(
        schema_=1,
        kind="run",
        partial=how,
        environment=environment,
        outcomes=list(outcomes.values()),
        selected=selected,
    )
    measured = [record for key, record in found.records.items() if outcomes[key].outcome == "measured"]
    return {
        "machine_info": machine_info(environment),
        "commit_info": {},
        "benchmarks": list(map(_benchmark, measured)),
        "datetime": datetime.now(UTC).isoformat(),
        "version": environment.packages.get("pytest-benchmark", ""),
        "perf": session.model_dump(mode="json", by_alias=True),
    }


def _benchmark(record: KeyRecord) -> dict[str, Any]:
    """As pytest-benchmark writes one."""
    stats = samples(record)
    backend, _, case_id = record.key.split("/")
    return {
        "group": f"{record.direction}/{case_id}",
        "name": record.key,
        "fullname": record.key,
        "params": {"backend": backend, "direction": record.direction, "case": case_id},
        "param": record.key,
        "extra_info": {"perf": record.model_dump(mode="json")},
        "options": {},
        "stats": {**stats.as_dict(), "data": list(stats.data), "iterations": 1},
    }
