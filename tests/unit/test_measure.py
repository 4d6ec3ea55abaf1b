"""One key from a program to its record, with an imaginary program, clock, time and benchmark."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import jax.numpy as jnp
import pytest

from perf import measure as module
from perf.backends import BY_NAME
from perf.backends.base import Program
from perf.cases import AttentionCase, Key
from perf.grids import Entry
from perf.measure import Setup, WrongKernelError, WrongOutputError, kernels, measure
from perf.records.schema import GpuState, Kernel, KeyRecord
from perf.reference import Expected
from perf.timing.device import Activity, ClockError, DeviceClock
from perf.timing.plan import FEWEST_ROUNDS, MOST_ROUNDS, PILOT_CALLS, WALL_CALLS, WARM_UP_CALLS, SampleError

CASE = AttentionCase(
    batch=1, q_len=2, kv_len=2, q_heads=1, kv_heads=1, head_dim=8, dtype="float32", mask="none"
)
ENTRY = Entry(
    key=Key(backend="imagined", direction="forward", case_id=CASE.id),
    case=CASE,
    tags=frozenset({"full"}),
    sources=(),
)
RIGHT = jnp.ones(CASE.query_shape)
EXPECTED = Expected(values={"out": RIGHT}, naive_rms={"out": 1e-3}, naive_max={"out": 1e-3})
FIRST_TIMED = 1 + WARM_UP_CALLS + PILOT_CALLS
"""Calls before the first round: the checked one, the warm-up and the pilot."""

KERNELS = (
    Activity("[memset]", 500, is_kernel=False),
    Activity("sdpa", 2000, is_kernel=True),
    Activity("convert", 1000, is_kernel=True),
)


@dataclass(kw_only=True)
class World:
    """A GPU on which time passes only when a program runs or somebody sleeps.

    Args:
        wall_s: Wall time of a call, by its number.
        launches: What a call launches, by its number.
        output: What every call returns.
    """

    wall_s: Callable[[int], float] = lambda _: 1e-4
    launches: Callable[[int], Sequence[Activity]] = lambda _: KERNELS
    output: Any = None
    now_s: float = 100.0
    calls: int = 0
    slept_s: list[float] = field(default_factory=list)
    kernel_ns: int = 0
    waiting: list[Activity] = field(default_factory=list)
    dropped: bool = False

    # What `perf.measure` takes for the module ``time``.

    def perf_counter(self) -> float:
        """Wall time."""
        return self.now_s

    def time(self) -> float:
        """Time of day."""
        return 1_700_000_000.0

    def sleep(self, seconds: float) -> None:
        """Let time pass without work."""
        self.slept_s.append(seconds)
        self.now_s += seconds

    # What it takes for the device clock.

    def __call__(self) -> float:
        """Kernel seconds so far."""
        return self.kernel_ns * 1e-9

    def take(self) -> list[Activity]:
        """What ran since the last time."""
        if self.dropped:
            raise ClockError("CUPTI dropped 3 records: kernel time is incomplete")
        taken, self.waiting = self.waiting, []
        return taken

    # What it takes for a backend.

    def launch(self, activities: Sequence[Activity]) -> None:
        """Run something on the GPU."""
        self.waiting.extend(activities)
        self.kernel_ns += sum(a.ns for a in activities if a.is_kernel)

    def run(self) -> object:
        """Run the program once."""
        self.launch(self.launches(self.calls))
        self.now_s += self.wall_s(self.calls)
        self.calls += 1
        return RIGHT if self.output is None else self.output

    def build(self, *_: object) -> Program:
        """Compile it."""
        return Program(
            run=self.run,
            wait=lambda _: None,
            outputs=lambda result: {"out": cast("Any", result)},
            compile_s=1.5,
            temp_bytes=4096,
            custom_calls=("__cudnn$fmhaSoftmax",),
            keep=("an executable",),
        )

    def broken_promise(self, _: str, ran: Sequence[str], custom_calls: Sequence[str]) -> str | None:
        """Promise that sdpa runs wherever kernels are seen."""
        assert custom_calls == ("__cudnn$fmhaSoftmax",)
        return f"promised sdpa, ran {', '.join(ran)}" if ran and "sdpa" not in ran else None


class Benchmark:
    """As much of pytest-benchmark's fixture as a measurement uses."""

    def __init__(
        self,
        timer: Callable[[], float],
        *,
        disabled: bool = False,
        profiled: bool = False,
        spoil: dict[int, float] | None = None,
    ) -> None:
        self.timer = timer
        self.disabled = disabled
        self.profiled = profiled
        self.spoil = spoil or {}
        self.stats: Any = None

    def pedantic(
        self,
        target: Callable[[], None],
        *,
        setup: Callable[..., None],
        teardown: Callable[..., None],
        rounds: int,
    ) -> None:
        """Set up, time and tear down every round, in pytest-benchmark's order."""
        data = []
        for _ in range(1 if self.disabled else rounds):
            setup()
            start_s = self.timer()
            target()
            data.append(self.timer() - start_s)
            teardown()
        for number, sample in self.spoil.items():
            data[number] = sample
        if self.profiled:
            setup()
            target()
            teardown()
        if not self.disabled:
            self.stats = SimpleNamespace(stats=SimpleNamespace(data=data))


Measured = Callable[..., KeyRecord | None]


@pytest.fixture
def world() -> World:
    """An idle machine."""
    return World()


@pytest.fixture
def measured(world: World, monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Measure the imaginary key in the imaginary world."""
    monkeypatch.setitem(BY_NAME, "imagined", world)
    monkeypatch.setattr(module, "time", world)
    monkeypatch.setattr(module, "_kept_programs", [])

    def run(
        *, benchmark: Benchmark | None = None, host: bool = False, l2: Any = "hot", state: Any = None
    ) -> KeyRecord | None:
        setup = Setup(
            device_clock=None if host else cast("DeviceClock", world), l2=l2, seed=3, gpu_state=state
        )
        timer = world.perf_counter if host else world
        return measure(
            ENTRY,
            inputs={},
            expected=EXPECTED,
            setup=setup,
            benchmark=benchmark or Benchmark(timer),
            repeat="pytest perf --case x",
        )

    return run


def _record(found: KeyRecord | None) -> KeyRecord:
    assert found is not None
    return found


def test_a_key_by_the_device_clock(measured: Measured) -> None:
    """Samples are kernel time, wall time stands beside them, and the evidence is complete."""
    state = GpuState(sm_hz=1.98e9, celsius=31.0, watt=76.5, throttle=[])
    record = _record(measured(state=lambda: state))
    (run,) = record.processes
    assert run.data_s == [3e-6] * MOST_ROUNDS
    assert run.wall_s == pytest.approx([1e-4] * WALL_CALLS)
    assert run.kernels == [
        Kernel(name="[memset]", s=5e-7),
        Kernel(name="sdpa", s=2e-6),
        Kernel(name="convert", s=1e-6),
    ]
    assert run.custom_calls == ["__cudnn$fmhaSoftmax"]
    assert (run.compile_s, run.temp_bytes, run.gpu) == (1.5, 4096, state)
    assert [(error.quantity, error.rms) for error in run.errors] == [("out", 0.0)]
    assert (record.clock, record.metric.name, record.method.pacing) == (
        "device",
        "kernel time",
        "equal-pause",
    )
    assert record.key == f"imagined/forward/{CASE.id}"
    assert record.flop == 4 * 2 * 2 * 8


def test_a_key_by_the_host_clock(measured: Measured) -> None:
    """Samples are wall time; nothing is known of kernels, and nothing is paced."""
    record = _record(measured(host=True))
    (run,) = record.processes
    assert run.data_s == run.wall_s == pytest.approx([1e-4] * len(run.data_s))
    assert (run.kernels, run.gpu) == ([], None)
    assert (record.clock, record.metric.name, record.method.pacing) == ("host", "wall time", "none")


def test_a_record_can_be_stored_and_read(measured: Measured) -> None:
    """What is measured passes the strict reading of files."""
    record = _record(measured())
    assert KeyRecord.model_validate(record.model_dump(mode="json")) == record


def test_calls_are_counted(measured: Measured, world: World) -> None:
    """One checked call, warm-up, pilot, rounds, and calls without a clock for the wall time."""
    measured()
    assert world.calls == FIRST_TIMED + MOST_ROUNDS + WALL_CALLS


def test_first_calls_are_no_samples(measured: Measured, world: World) -> None:
    """What happens once, such as lazy loading or autotuning, is over before the pilot."""
    world.wall_s = lambda call: 5.0 if call <= WARM_UP_CALLS else 1e-4
    once = (Activity("autotune", 10**9, is_kernel=True), *KERNELS)
    world.launches = lambda call: once if call <= WARM_UP_CALLS else KERNELS
    (run,) = _record(measured()).processes
    assert (max(run.data_s), len(run.data_s)) == (3e-6, MOST_ROUNDS)
    assert "autotune" not in [kernel.name for kernel in run.kernels]


def test_a_pause_as_long_as_the_kernel_is_before_every_round(measured: Measured, world: World) -> None:
    """Long kernels stay below the power cap; the pause is kernel time, not wall time."""
    (run,) = _record(measured()).processes
    assert world.slept_s == pytest.approx([3e-6] * len(run.data_s))


def test_the_host_clock_has_no_pause(measured: Measured, world: World) -> None:
    """Wall time is that of calls back to back."""
    measured(host=True)
    assert sum(world.slept_s) == 0


def test_a_long_kernel_is_not_measured_for_ever(measured: Measured, world: World) -> None:
    """A call of a second gets the fewest rounds that are taken."""
    world.wall_s = lambda _: 1.0
    world.launches = lambda _: [Activity("sdpa", 900_000_000, is_kernel=True)]
    assert len(_record(measured()).processes[0].data_s) == FEWEST_ROUNDS


def test_flushing_the_cache_is_no_part_of_a_sample(
    measured: Measured, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under --l2 cold a write of the whole cache precedes every round, and is said in the record."""
    flushed: list[int] = []

    def flush() -> None:
        flushed.append(world.calls)
        world.launch([Activity("fill", 10**6, is_kernel=True)])

    monkeypatch.setattr(module, "_flusher", lambda: flush)
    record = _record(measured(l2="cold"))
    assert flushed == list(range(FIRST_TIMED, FIRST_TIMED + MOST_ROUNDS))
    assert record.processes[0].data_s == [3e-6] * MOST_ROUNDS
    assert "fill" not in [kernel.name for kernel in record.processes[0].kernels]
    assert record.method.l2 == "cold"


@pytest.mark.parametrize("wrong", [1.5, float("nan"), float("inf")])
def test_a_wrong_output_has_no_time(measured: Measured, world: World, wrong: float) -> None:
    """The check comes first: key, quantity, place, seed and command are told, and nothing is timed."""
    world.output = RIGHT.at[0, 1, 0, 5].set(wrong)
    benchmark = Benchmark(world)
    with pytest.raises(WrongOutputError) as caught:
        measured(benchmark=benchmark)
    text = str(caught.value)
    assert text.startswith(f"imagined/forward/{CASE.id} is wrong (seed 3)\nout: rms error ")
    assert f"at index (0, 1, 0, 5): got {wrong:g}, expected 1" in text
    assert text.endswith("repeat with: pytest perf --case x")
    assert (world.calls, benchmark.stats) == (1, None)


def test_a_wrong_kernel_has_no_time(measured: Measured, world: World) -> None:
    """The key fails with what was promised and what ran; memory sets are no kernels."""
    world.launches = lambda _: [KERNELS[0], Activity("gemm", 700, is_kernel=True)]
    benchmark = Benchmark(world)
    with pytest.raises(WrongKernelError) as caught:
        measured(benchmark=benchmark)
    assert str(caught.value) == f"imagined/forward/{CASE.id}: promised sdpa, ran gemm"
    assert (world.calls, benchmark.stats) == (FIRST_TIMED, None)


def test_no_kernel_seen_is_an_error(measured: Measured, world: World) -> None:
    """CUPTI that delivers nothing, as under MIG or a profiler, gives no time of 0."""
    world.launches = lambda _: [KERNELS[0]]
    with pytest.raises(SampleError, match="no kernel ran, or none was seen"):
        measured()


def test_a_round_without_a_kernel_is_an_error(measured: Measured, world: World) -> None:
    """One record that CUPTI lost: the round is named, and no sample of the key is kept."""
    world.launches = lambda call: () if call == FIRST_TIMED + 7 else KERNELS
    with pytest.raises(SampleError, match=r"round 7: expected a positive time, found 0\.0 s"):
        measured()


def test_uneven_kernels_are_an_error(measured: Measured, world: World) -> None:
    """A round with fewer kernels than the others has lost a record, and would look fast."""
    world.launches = lambda call: KERNELS[:2] if call == FIRST_TIMED + 7 else KERNELS
    with pytest.raises(SampleError, match=r"different numbers of kernels \(\[1, 2\]\)"):
        measured()


def test_longer_than_the_wall_time_around_it_is_an_error(measured: Measured, world: World) -> None:
    """Kernel records of something else in the process were counted."""
    stranger = (*KERNELS, Activity("stranger", 10**9, is_kernel=True))
    world.launches = lambda call: stranger if call == FIRST_TIMED + 7 else KERNELS
    with pytest.raises(SampleError, match=r"round 7: 1\.000003000 s measured within 0\.000100000 s"):
        measured()


@pytest.mark.parametrize("sample", [0.0, -1e-6, float("nan")])
def test_an_impossible_sample_of_the_host_clock_is_an_error(
    measured: Measured, world: World, sample: float
) -> None:
    """The round is named here too; a sample of 0 is no improvement."""
    benchmark = Benchmark(world.perf_counter, spoil={7: sample})
    with pytest.raises(SampleError, match=rf"round 7: expected a positive time, found {sample} s"):
        measured(benchmark=benchmark, host=True)


def test_calls_after_the_rounds_are_no_samples(measured: Measured, world: World) -> None:
    """--benchmark-cprofile calls once more, on either clock."""
    (run,) = _record(measured(benchmark=Benchmark(world, profiled=True))).processes
    assert len(run.data_s) == MOST_ROUNDS


def test_dropped_records_are_an_error(measured: Measured, world: World) -> None:
    """CUPTI says that it lost some."""
    world.dropped = True
    with pytest.raises(ClockError, match="dropped 3 records"):
        measured()


def test_a_disabled_benchmark_checks_and_times_nothing(measured: Measured, world: World) -> None:
    """--benchmark-disable leaves the check; there is no record of a single call."""
    assert measured(benchmark=Benchmark(world, disabled=True)) is None


def test_programs_are_kept(measured: Measured) -> None:
    """CUPTI's kernel names can be trusted only while no program was freed."""
    measured()
    assert module._kept_programs == [("an executable",)]  # noqa: SLF001 - nothing public shows it


def test_kernels_have_their_median_over_the_rounds() -> None:
    """Each place of a round by itself, in order; a slow round does not decide."""
    rounds = [[Activity("a", ns, is_kernel=True), Activity("b", 7, is_kernel=True)] for ns in (10, 12, 90)]
    assert kernels(rounds) == [Kernel(name="a", s=1.2e-8), Kernel(name="b", s=7e-9)]
    assert kernels([]) == []
