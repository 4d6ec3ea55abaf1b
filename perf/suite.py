"""What one pytest session knows: selection, clock, machine, baseline, and what became of each key."""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import pytest
from pytest_benchmark.stats import Stats

from perf.backends import BY_NAME
from perf.capability import Capability, Machine
from perf.cases import Case, Direction
from perf.environment import GpuReader, environment, gpus
from perf.environment.doctor import examine
from perf.environment.health import warnings
from perf.folders import BASELINES
from perf.grids import Entry
from perf.journal import Journal
from perf.known_failures import KnownFailure
from perf.known_failures import load as load_known_failures
from perf.machine import machine
from perf.measure import Setup
from perf.records.schema import Environment, KeyRecord, Outcome, Session
from perf.records.store import Record
from perf.selection import Selection, SelectionError, listed, select
from perf.timing.device import device_clock

if TYPE_CHECKING:
    from perf.compare import Comparison

JOURNAL = Path(".perf") / "journal.jsonl"
AGAIN_JOURNAL = JOURNAL.with_name("journal-keys.jsonl")
"""Of a run of listed keys, which another run may have started: that one's journal stays."""


COMPILED = JOURNAL.with_name("compiled")
"""Inputs, references and comparisons as compiled; may be deleted at any time."""


@dataclass(frozen=True, kw_only=True)
class Withheld:
    """The reports of a timed key whose verdict is still to come."""

    key: str
    item: pytest.Item
    reports: list[pytest.TestReport]


@dataclass(kw_only=True)
class Remeasured:
    """What measuring again has cost."""

    keys: set[str] = field(default_factory=set)
    process_runs: int = 0
    seconds: float = 0.0

    def note(self, keys: Iterable[str], *, seconds: float) -> None:
        """Add one process run."""
        self.keys.update(keys)
        self.process_runs += 1
        self.seconds += seconds

    def __str__(self) -> str:
        keys, runs = len(self.keys), self.process_runs
        return f"measured again in fresh processes: keys {keys}, process runs {runs}, {self.seconds:.0f} s"


@dataclass(kw_only=True)
class Suite:
    """The session's state.

    Args:
        base: The record to compare with; None when nothing is compared.
        collected: Keys of the bench items that pytest kept.
        partial: Why the run does not hold everything that the options select.
    """

    config: pytest.Config
    environment: Environment
    machine: Machine
    known_failures: tuple[KnownFailure, ...]
    base: Record | None = None
    collected: list[str] = field(default_factory=list)
    records: dict[str, KeyRecord] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    partial: list[str] = field(default_factory=list)
    asked_keys: set[str] = field(default_factory=set)
    nothing_selected: str | None = None
    runnable: list[Entry] = field(default_factory=list)
    withheld: list[Withheld] = field(default_factory=list)
    comparison: "Comparison | None" = None
    remeasured: Remeasured = field(default_factory=Remeasured)
    wants_comparison: bool = False

    @property
    def on_gpu(self) -> bool:
        """Whether this session's programs run on a GPU."""
        return self.environment.gpu is not None

    @property
    def is_worker(self) -> bool:
        """Whether this process is one of pytest-xdist's."""
        return hasattr(self.config, "workerinput")

    @cached_property
    def spoilers(self) -> list[str]:
        """What would spoil a measurement now: another process on the GPU, a throttled clock, two cuDNNs."""
        return warnings(examine(after_run=False)) if self.on_gpu else []

    @property
    def clock(self) -> str:
        """The clock asked for, or the default of the machine."""
        return self.config.getoption("clock") or ("device" if self.on_gpu else "host")

    def timer(self) -> float:
        """The clock as pytest-benchmark's timer: seconds so far."""
        return device_clock()() if self.clock == "device" else time.perf_counter()

    def refuse_other_platform(self) -> None:
        """Check that JAX runs where NVML says it should.

        Raises:
            RuntimeError: There is a GPU, and JAX runs on the CPU.
        """
        found = jax.default_backend()
        if self.on_gpu and found != "gpu":
            raise RuntimeError(
                f"NVML sees {self.environment.slug}, JAX runs on the {found}: install the extra that "
                "matches CUDA (pip install '.[cuda13]'), or choose the CPU with JAX_PLATFORMS=cpu"
            )

    def reference_direction(self, case: Case) -> Direction:
        """What the reference computes for a case: gradients only if some selected key needs them."""
        mine = (entry for entry in self.runnable if entry.case == case)
        only_forward = all(entry.key.direction == "forward" for entry in mine)
        return "forward" if only_forward else "training_step"

    def selection(self, *, default_tag: str | None = None) -> Selection:
        """What the command line selects.

        Raises:
            pytest.UsageError: An unknown name.
        """
        option = self.config.getoption
        try:
            if option("keys"):
                return listed(Path(option("keys")))
            return select(
                tags=default_tag or option("tags"),
                default_tag="gate" if self.on_gpu else "smoke",
                backends=option("backends"),
                directions=option("direction"),
                case=option("case"),
                shard=option("shard"),
                known_backends=BY_NAME,
            )
        except SelectionError as error:
            raise pytest.UsageError(str(error)) from error

    def capability(self, entry: Entry) -> Capability:
        """Whether a key can run here."""
        backend = BY_NAME[entry.key.backend]
        return backend.supports(entry.case, entry.key.direction, self.machine)

    def known_failure(self, key: str) -> KnownFailure | None:
        """The entry that expects this key to fail with these versions, if there is one."""
        versions = dict(self.environment.packages)
        if self.environment.cudnn:
            versions["cudnn"] = self.environment.cudnn
        return next((f for f in self.known_failures if f.applies(key, versions)), None)

    def setup(self) -> Setup:
        """How keys are measured; starts the device clock, which needs a GPU but no kernel yet.

        Raises:
            ClockError: The device clock cannot be had.
        """
        on_device = self.clock == "device"
        return Setup(
            device_clock=device_clock() if on_device else None,
            l2=self.config.getoption("l2"),
            seed=self.config.getoption("seed"),
            gpu_state=GpuReader().state if self.on_gpu else None,
        )

    def benchmarks(self) -> list[Any]:
        """pytest-benchmark's own object of every key that was timed."""
        host = self.config.pluginmanager.get_plugin("pytest-benchmark")
        return [] if host is None else list(host.benchmarks)

    def discard(self, key: str) -> None:
        """Take the time of a key that failed out of pytest-benchmark's table and file."""
        for benchmark in self.benchmarks():
            if benchmark.fullname == key:
                benchmark.fixture.has_error = True
                benchmark.stats = Stats()

    def repeat(self, key: str, *, folder: str) -> str:
        """The command that runs one key alone."""
        tags = " --tags full" if folder == "perf" else ""
        return f"pytest {folder}{tags} --case '{key}' --seed {self.config.getoption('seed')}"

    def keep(self, record: KeyRecord) -> None:
        """Keep a measured key, at once on disk too."""
        self.journal.measured(record)
        self.records[record.key] = record

    @cached_property
    def journal(self) -> Journal:
        """What is kept on disk as the run goes."""
        return Journal(path=self.config.rootpath / self._journal_path())

    def _journal_path(self) -> Path:
        """Of its own for a run of listed keys and for a shard: others may run beside them."""
        if self.config.getoption("journal"):
            return Path(self.config.getoption("journal"))
        if self.config.getoption("keys"):
            return AGAIN_JOURNAL
        shard = self.selection().shard
        return JOURNAL.with_name(f"journal-{shard.number}-of-{shard.count}.jsonl") if shard else JOURNAL

    def session(self) -> Session:
        """The top-level fields of this run's record."""
        missing = [key for key in self.collected if key not in self.outcomes]
        reasons = [*self.partial, *([f"{len(missing)} keys did not run"] if missing else [])]
        return Session(
            schema_=1,
            kind="run",
            partial="; ".join(reasons) or None,
            environment=environment(after_run=True),
            outcomes=list(self.outcomes.values()),
            selected=self.selection().stored(),
        )


def make_suite(config: pytest.Config) -> Suite:
    """Read the machine through NVML and package metadata; starts neither CUDA nor a JAX backend."""
    here = environment(after_run=False)
    return Suite(
        config=config,
        environment=here,
        machine=machine(here),
        known_failures=load_known_failures(BASELINES / "known_failures.toml"),
    )


def pin_worker(worker: str | None) -> None:
    """Give an xdist worker one GPU of its own, and let JAX take memory as it needs it.

    Args:
        worker: ``gw0``, ``gw1`` …; None outside xdist.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    available = gpus()
    if worker and available:
        own = available[int(worker.removeprefix("gw")) % len(available)]
        os.environ["CUDA_VISIBLE_DEVICES"] = own.uuid


SUITE = pytest.StashKey[Suite]()
REFUSAL = pytest.StashKey[tuple[str, str]]()
"""Code and text of an item that the skip point skipped."""


def suite_of(config: pytest.Config) -> Suite:
    """The session's state."""
    return config.stash[SUITE]
