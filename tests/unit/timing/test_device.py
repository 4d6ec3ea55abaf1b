"""The device clock on an imaginary CUPTI."""

import ctypes
import sys
from collections.abc import Callable, Iterator
from enum import IntEnum
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from perf.timing.device import Activity, ClockError, DeviceClock, device_clock


class Kind(IntEnum):
    """The kinds of activity that are asked for."""

    MEMCPY = 1
    MEMSET = 2
    CONCURRENT_KERNEL = 10


class CuptiError(Exception):
    """What cupti-python raises."""


class Cupti(ModuleType):
    """A CUPTI whose records are put in by the test."""

    ActivityKind = Kind
    ActivityMemcpyKind = staticmethod(lambda number: SimpleNamespace(name={8: "DTOD"}[number]))
    cuptiError = CuptiError  # noqa: N815 - the library's own name

    def __init__(self) -> None:
        super().__init__("cupti.cupti")
        self.waiting: list[Any] = []
        self.dropped = 0
        self.refuses = False
        self.completed: Callable[[list[Any]], None] = lambda _: None

    def activity_register_callbacks(self, _: object, completed: Callable[[list[Any]], None]) -> None:
        """Remember who takes the records."""
        self.completed = completed

    def activity_enable(self, kind: Kind) -> None:
        """Refuse when another subscriber is there."""
        del kind
        if self.refuses:
            raise CuptiError("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED")

    def activity_flush_all(self, flag: int) -> None:
        """Deliver what has finished."""
        assert flag == 1
        self.completed(self.waiting)
        self.waiting = []

    def activity_get_num_dropped_records(self, _context: int, _stream: int, address: int) -> None:
        """Write the number where the caller wants it."""
        ctypes.c_size_t.from_address(address).value = self.dropped


@pytest.fixture
def cupti(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cupti]:
    """Install the imaginary module."""
    package, module = ModuleType("cupti"), Cupti()
    package.cupti = module  # type: ignore[attr-defined]  # a module made by hand
    monkeypatch.setitem(sys.modules, "cupti", package)
    monkeypatch.setitem(sys.modules, "cupti.cupti", module)
    device_clock.cache_clear()
    yield module
    device_clock.cache_clear()


def _kernel(name: str, start: int, ns: int) -> Any:
    return SimpleNamespace(kind=Kind.CONCURRENT_KERNEL, name=name, start=start, end=start + ns)


def test_the_clock_is_the_sum_of_kernel_times(cupti: Cupti) -> None:
    """Only kernels move it; it does not go back when records are taken."""
    clock = DeviceClock()
    assert clock() == 0
    cupti.waiting = [_kernel("a", 0, 1000), SimpleNamespace(kind=Kind.MEMSET, start=5, end=900)]
    assert clock() == pytest.approx(1e-6)
    clock.take()
    cupti.waiting = [_kernel("b", 2000, 500)]
    assert clock() == pytest.approx(1.5e-6)


def test_activities_come_in_order_of_their_start(cupti: Cupti) -> None:
    """Memory operations are named in brackets; what was taken is not given again."""
    clock = DeviceClock()
    copy = SimpleNamespace(kind=Kind.MEMCPY, start=50, end=60, copy_kind=8)
    cupti.waiting = [_kernel("late", 100, 7), copy, _kernel("early", 0, 5)]
    assert clock.take() == [
        Activity("early", 5, is_kernel=True),
        Activity("[memcpy DTOD]", 10, is_kernel=False),
        Activity("late", 7, is_kernel=True),
    ]
    assert clock.take() == []


def test_dropped_records_are_an_error(cupti: Cupti) -> None:
    """A sum without some kernels is no time."""
    clock = DeviceClock()
    cupti.dropped = 3
    with pytest.raises(ClockError, match="CUPTI dropped 3 records"):
        clock.take()


def test_a_second_subscriber_is_named(cupti: Cupti) -> None:
    """The text says what to stop, and how to choose another clock openly."""
    cupti.refuses = True
    with pytest.raises(ClockError, match=r"stop nsys, ncu.*--clock host"):
        DeviceClock()


def test_without_the_package_there_is_no_silent_change_of_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text names the extras to install."""
    monkeypatch.setitem(sys.modules, "cupti", None)
    with pytest.raises(ClockError, match=r"pip install '\.\[cuda13\]'.*--clock host"):
        DeviceClock()


def test_there_is_one_clock_in_a_process(cupti: Cupti) -> None:
    """CUPTI takes one subscriber."""
    del cupti
    assert device_clock() is device_clock()
