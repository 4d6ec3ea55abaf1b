"""Everything that is compiled and not measured, compiled on all cores before the first measurement.

The backends' own programs are not: their compile time is part of the record, and is read with idle cores.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from perf.cases import AttentionCase, Direction
from perf.grids import Entry
from perf.inputs import compiled_maker
from perf.numerics import compiled_summaries
from perf.reference import compiled_reference, output_shapes


def compile_ahead(
    entries: Iterable[Entry], reference_direction: Callable[[AttentionCase], Direction]
) -> None:
    """Compile inputs, references and comparisons of these keys.

    Args:
        reference_direction: What the reference of a case computes; one program serves all its keys.
    """
    entries = tuple(entries)
    cases = dict.fromkeys(entry.case for entry in entries)
    shapes = dict.fromkeys(output_shapes(entry.case, entry.key.direction) for entry in entries)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        started: list[Future[object]] = [pool.submit(compiled_maker, case) for case in cases]
        for case in cases:
            gradients = reference_direction(case) != "forward"
            started.append(pool.submit(compiled_reference, case, with_gradients=gradients))
        started += [pool.submit(compiled_summaries, shape) for shape in shapes]
        for future in started:
            future.result()
