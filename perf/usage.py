"""Options that contradict one another, and which record a run is compared with."""

import json
from pathlib import Path
from types import MethodType
from typing import Any

import pytest

from perf.environment import why_no_gpu
from perf.records.store import Record, RecordError, in_force, load, numbered, write_new
from perf.suite import Suite, suite_of

NOT_GIVEN: tuple[object, ...] = (None, False, [])
"""What pytest-benchmark's options hold when they are not on the command line."""

DEFAULT_TIMER = "time.perf_counter"
"""The same of ``--benchmark-timer``."""


def refuse_contradictions(config: pytest.Config, suite: Suite) -> None:
    """Refuse what would silently measure or compare nothing.

    Raises:
        pytest.UsageError: Names the options and what to do.
    """
    option = config.getoption
    if option("require_gpu") and not suite.on_gpu:
        raise pytest.UsageError(f"--require-gpu: no NVIDIA GPU here ({why_no_gpu()})")
    if option("clock") == "device" and not suite.on_gpu:
        raise pytest.UsageError(f"--clock device: needs an NVIDIA GPU ({why_no_gpu()})")
    suite.selection()  # unknown names are told before anything is collected
    kept = _wants_numbers(config)
    if str(option("benchmark_timer")) != DEFAULT_TIMER:
        raise pytest.UsageError(
            "--benchmark-timer: the clock is chosen by --clock device or host; leave it out"
        )
    if kept is not None:
        _refuse_without_numbers(config, suite, kept)


def _refuse_without_numbers(config: pytest.Config, suite: Suite, kept: str) -> None:
    """Refuse to keep or compare numbers where none are taken, or taken twice."""
    option = config.getoption
    if option("dist", "no") != "no" or suite.is_worker:
        raise pytest.UsageError(f"{kept}: benchmarks do not run under xdist; leave out -n")
    for flag in ("benchmark_disable", "benchmark_skip"):
        if option(flag) and not option("benchmark_enable"):
            raise pytest.UsageError(f"{kept}: contradicts --{flag.replace('_', '-')}")
    if option("reruns", None):
        raise pytest.UsageError(f"{kept}: contradicts --reruns; a rerun key would be timed twice")


def _wants_numbers(config: pytest.Config) -> str | None:
    if not hasattr(config.option, "benchmark_compare"):
        raise pytest.UsageError("-p no:benchmark: pytest-benchmark is what takes the times; leave it in")
    for flag in ("compare", "json", "save", "autosave"):
        if config.getoption(f"benchmark_{flag}") not in NOT_GIVEN:
            return f"--benchmark-{flag}"
    return "--require-baseline" if config.getoption("require_baseline") else None


def storage(config: pytest.Config, baselines: Path) -> str:
    """pytest-benchmark's storage: ours, unless the user names another."""
    given = str(config.getoption("benchmark_storage"))
    # No `as_uri`: pytest-benchmark takes what follows file:// as it is, %20 and all.
    return f"file://{baselines.resolve()}" if given == "file://./.benchmarks" else given


def base_record(config: pytest.Config, suite: Suite) -> Record | None:
    """The record of the storage that ``--benchmark-compare`` means; its path replaces the option's value.

    Raises:
        pytest.UsageError: No such record, unusable, or of another GPU.
    """
    wanted = config.getoption("benchmark_compare")
    if wanted in NOT_GIVEN and config.getoption("require_baseline"):
        wanted = True
    suite.wants_comparison = wanted not in NOT_GIVEN
    if not suite.wants_comparison:
        return None
    folder = Path(config.option.benchmark_storage.removeprefix("file://")) / suite.environment.slug
    try:
        base = in_force(folder) if wanted is True else load(_named(str(wanted), folder))
    except RecordError as error:
        raise pytest.UsageError(f"--benchmark-compare: {error}") from error
    config.option.benchmark_compare = str(base.path) if base else []
    if base and base.session.environment.slug != suite.environment.slug:
        raise pytest.UsageError(
            f"--benchmark-compare: {base.path} is of {base.session.environment.slug}, "
            f"this machine is {suite.environment.slug}"
        )
    return base


def _named(wanted: str, folder: Path) -> Path:
    matches = [path for path in numbered(folder) if path.name.startswith(f"{wanted}_")]
    if len(matches) == 1:
        return matches[0]
    if wanted and Path(wanted).is_file():
        return Path(wanted)
    raise RecordError(
        f"expected a record file or a number of {folder.name}/ "
        f"({', '.join(path.name for path in numbered(folder)) or 'it has none'}), found {wanted!r}; "
        "write a test path before the option"
    )


def adopt_storage(host: Any, slug: str) -> None:
    """Give pytest-benchmark's session the GPU's slug as its machine id, and atomic writing.

    All are plain attributes of its session and storage objects; there is no hook for any.
    """
    host.handle_saving = MethodType(_handle_saving, host)
    host.machine_id = host.storage.default_machine_id = slug
    host.storage.save = MethodType(_save, host.storage)
    host.save_json = MethodType(_save_json, host)


def _handle_saving(self: Any) -> None:
    """Save outcomes too where every key failed or was refused: pytest-benchmark alone would leave no file."""
    if self.benchmarks or not self.json or not suite_of(self.config).outcomes:
        type(self).handle_saving(self)
        return
    hook, nothing = self.config.hook, {"config": self.config, "benchmarks": []}
    output_json = hook.pytest_benchmark_generate_json(
        **nothing, include_data=True, machine_info=self.get_machine_info(), commit_info={}
    )
    hook.pytest_benchmark_update_json(**nothing, output_json=output_json)
    self.save_json(output_json)


def _save(self: Any, output_json: dict[str, Any], save: str) -> None:
    path = Path(self.get(f"{self._next_num}_{save}.json"))
    write_new(path, _plain(output_json))
    self.logger.info(f"Saved benchmark data in: {path}")  # noqa: G004 - not logging's logger


def _save_json(self: Any, output_json: dict[str, Any]) -> None:
    path = Path(self.json)
    written = path.with_name(f".new-{path.name}")
    written.unlink(missing_ok=True)
    write_new(written, _plain(output_json))
    written.replace(path)
    self.logger.info(f"Wrote benchmark data in: {path}")  # noqa: G004 - the same


def _plain(output_json: dict[str, Any]) -> dict[str, Any]:
    """What pytest-benchmark would write: parameters that are no JSON become text."""
    plain: dict[str, Any] = json.loads(json.dumps(output_json, default=str))
    return plain
