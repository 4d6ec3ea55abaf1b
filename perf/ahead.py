"""Everything that is compiled and not measured, compiled on all cores before the first measurement.

The backends' own programs are not: their compile time is part of the record, and is read with idle cores.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from perf.cases import Case, Direction
from perf.grids import Entry
from perf.numerics import compiled_summaries
from perf.workloads import workload


def compile_ahead(entries: Iterable[Entry], reference_direction: Callable[[Case], Direction]) -> None:
    """Compile inputs, references and comparisons of these keys.

    Args:
        reference_direction: What the reference of a case computes; one program serves all its keys.
    """
    entries = tuple(entries)
    cases = dict.fromkeys(entry.case for entry in entries)
    shapes = dict.fromkeys(
        workload(entry.case).output_shapes(entry.case, entry.key.direction) for entry in entries
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        started: list[Future[object]] = [pool.submit(workload(case).maker, case) for case in cases]
        for case in cases:
            gradients = reference_direction(case) != "forward"
            started.append(pool.submit(workload(case).reference, case, with_gradients=gradients))
        started += [pool.submit(compiled_summaries, shape) for shape in shapes]
        for future in started:
            future.result()
