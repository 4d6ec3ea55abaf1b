"""One key from arrays to samples: compile, check, warm up, plan, time, and gather the evidence."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Literal

import jax
import jax.numpy as jnp

from perf.backends import BY_NAME
from perf.backends.base import Backend, Program
from perf.cases import Case, Key
from perf.grids import Entry
from perf.inputs import INPUTS, Inputs
from perf.numerics import QuantityError, errors, failure_text
from perf.records.schema import (
    METHOD_VERSION,
    Clock,
    Error,
    GpuState,
    Kernel,
    KeyRecord,
    Method,
    Metric,
    ProcessRun,
)
from perf.reference import Expected
from perf.timing.device import Activity, DeviceClock
from perf.timing.plan import (
    PILOT_CALLS,
    WALL_CALLS,
    WARM_UP_CALLS,
    Plan,
    plan,
    refuse_impossible,
    refuse_uneven,
)
from perf.work import flop, least_bytes

FLUSH_BYTES = 256 * 1024 * 1024
"""Written before a round under ``--l2 cold``; several times the level-2 cache of any GPU of today."""


class WrongOutputError(AssertionError):
    """The output differs from the reference by more than the tolerance."""


class WrongKernelError(AssertionError):
    """Another kernel ran than the backend promises."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How keys are measured in this process; the same for all of them.

    Args:
        device_clock: None when the host clock times.
        gpu_state: Reads the GPU after the samples; None on a CPU.
    """

    device_clock: DeviceClock | None
    l2: Literal["hot", "cold"]
    seed: int
    gpu_state: Callable[[], GpuState | None] | None

    @property
    def clock(self) -> Clock:
        """Name of the clock that times."""
        return "device" if self.device_clock else "host"

    @property
    def method(self) -> Method:
        """What makes two numbers comparable, apart from the clock."""
        pacing: Literal["equal-pause", "none"] = "equal-pause" if self.device_clock else "none"
        return Method(version=METHOD_VERSION, l2=self.l2, pacing=pacing, inputs=INPUTS)


@dataclass(kw_only=True)
class Rounds:
    """Calls of one program with what was seen around each."""

    program: Program
    clock: DeviceClock | None
    wall_s: list[float] = field(default_factory=list)
    activities: list[list[Activity]] = field(default_factory=list)

    def call(self) -> None:
        """One call with its wait; the timed region."""
        start_s = time.perf_counter()
        self.program.wait(self.program.run())
        self.wall_s.append(time.perf_counter() - start_s)

    def collect(self, *_: object) -> None:
        """After a call: take what the device clock recorded."""
        if self.clock:
            self.activities.append(self.clock.take())


_kept_programs: list[tuple[object, ...]] = []
"""Kernel names are trustworthy only while no program has been freed (see `perf.timing.device`)."""


def measure(  # noqa: PLR0913 - what one measurement needs
    entry: Entry,
    *,
    inputs: Inputs,
    expected: Expected,
    setup: Setup,
    benchmark: Any,
    repeat: str,
) -> KeyRecord | None:
    """Measure one key in this process; None when pytest-benchmark is disabled and nothing was timed.

    Args:
        benchmark: pytest-benchmark's fixture, whose timer is the clock of ``setup``.
        repeat: The command that runs this key alone, for failure messages.

    Raises:
        WrongOutputError: The check against the reference failed; nothing was timed.
        WrongKernelError: The evidence contradicts the backend's promise; nothing was timed.
        SampleError, ClockError: The samples cannot be true.
    """
    backend = BY_NAME[entry.key.backend]
    program = backend.build(entry.case, entry.key.direction, inputs)
    _kept_programs.append(program.keep)
    found = checked_errors(program, expected, entry.key, seed=setup.seed, repeat=repeat)
    pilot = _pilot(program, setup)
    _refuse_wrong_kernels(backend, entry.key, program, pilot)
    chosen = plan(_pilot_s(pilot), pilot.wall_s, paced=setup.device_clock is not None)
    rounds = _timed(program, chosen, setup, benchmark)
    if benchmark.stats is None:
        return None
    run = _process_run(rounds, _rounded(benchmark.stats.stats.data), found, setup)
    return key_record(entry.key, entry.case, setup, run)


def _process_run(
    rounds: Rounds, data_s: list[float], found: Iterable[QuantityError], setup: Setup
) -> ProcessRun:
    """Check the samples, take what else is recorded, and put it together."""
    program, wall_s = rounds.program, data_s
    # Nothing is around the host clock's own samples; --benchmark-cprofile makes calls after the rounds.
    around_s = rounds.wall_s if setup.device_clock else [math.inf] * len(data_s)
    refuse_impossible(data_s, around_s[: len(data_s)])
    if setup.device_clock:
        wall_s = _rounded(_unwatched_s(program))
    refuse_uneven([sum(a.is_kernel for a in call) for call in rounds.activities])
    return ProcessRun(
        data_s=data_s,
        wall_s=wall_s,
        kernels=kernels(rounds.activities),
        custom_calls=list(program.custom_calls),
        temp_bytes=program.temp_bytes,
        compile_s=program.compile_s,
        errors=[_error(error) for error in found],
        gpu=setup.gpu_state() if setup.gpu_state else None,
        at_unix_s=time.time(),
    )


def checked_errors(
    program: Program, expected: Expected, key: Key, *, seed: int, repeat: str
) -> tuple[QuantityError, ...]:
    """Run the program once and compare with the reference.

    Raises:
        WrongOutputError: Some quantity is beyond its tolerance.
    """
    result = program.run()
    program.wait(result)
    found = errors(program.outputs(result), expected)
    text = failure_text(str(key), found, seed=seed, repeat=repeat)
    if text:
        raise WrongOutputError(text)
    return found


def _pilot(program: Program, setup: Setup) -> Rounds:
    for _ in range(WARM_UP_CALLS):
        program.wait(program.run())
    pilot = Rounds(program=program, clock=setup.device_clock)
    pilot.collect()
    pilot.activities.clear()
    for _ in range(PILOT_CALLS):
        pilot.call()
        pilot.collect()
    return pilot


def _pilot_s(pilot: Rounds) -> list[float]:
    if pilot.clock is None:
        return pilot.wall_s
    return [sum(a.ns for a in call if a.is_kernel) * 1e-9 for call in pilot.activities]


def _refuse_wrong_kernels(backend: Backend, key: Key, program: Program, pilot: Rounds) -> None:
    names = [a.name for a in pilot.activities[-1] if a.is_kernel] if pilot.activities else []
    broken = backend.broken_promise(key.direction, names, program.custom_calls)
    if broken:
        raise WrongKernelError(f"{key}: {broken}")


def _timed(program: Program, chosen: Plan, setup: Setup, benchmark: Any) -> Rounds:
    rounds = Rounds(program=program, clock=setup.device_clock)
    flush = _flusher() if setup.l2 == "cold" else None

    def before() -> None:
        time.sleep(chosen.pause_s)
        if flush:
            flush()
        if setup.device_clock:
            setup.device_clock.take()

    benchmark.pedantic(rounds.call, setup=before, teardown=rounds.collect, rounds=chosen.rounds)
    return rounds


def _unwatched_s(program: Program) -> list[float]:
    """Wall time as users feel it: calls back to back, no pause and no flush of records between."""
    calls = Rounds(program=program, clock=None)
    for _ in range(WALL_CALLS):
        calls.call()
    return calls.wall_s


def _rounded(values_s: Iterable[float]) -> list[float]:
    """To picoseconds: the clocks step in nanoseconds, and the rest is the noise of subtraction."""
    return [round(value, 12) for value in values_s]


def _flusher() -> Callable[[], None]:
    add_one = jax.jit(lambda x: x + 1, donate_argnums=0)
    held = [jnp.zeros(FLUSH_BYTES // 4, jnp.float32)]

    def flush() -> None:
        held[0] = jax.block_until_ready(add_one(held[0]))

    return flush


def kernels(activities: list[list[Activity]]) -> list[Kernel]:
    """The activities of one round in order, each with its median duration over all rounds."""
    return [
        Kernel(name=column[0].name, s=round(median(a.ns for a in column) * 1e-9, 12))
        for column in zip(*activities, strict=False)
    ]


def key_record(key: Key, case: Case, setup: Setup, run: ProcessRun) -> KeyRecord:
    """The record of a key with one process run."""
    name: Literal["kernel time", "wall time"] = "kernel time" if setup.clock == "device" else "wall time"
    return KeyRecord(
        key=str(key),
        backend=key.backend,
        direction=key.direction,
        case=asdict(case),
        clock=setup.clock,
        metric=Metric(name=name, unit="s", better="lower"),
        method=setup.method,
        flop=flop(case, key.direction),
        bytes=least_bytes(case, key.direction),
        processes=[run],
    )


def _error(error: QuantityError) -> Error:
    return Error(
        quantity=error.quantity,
        rms=error.rms,
        rms_limit=error.rms_limit,
        max=error.max,
        max_limit=error.max_limit,
    )
