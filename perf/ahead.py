"""Everything that is compiled and not measured, compiled on all cores before the first measurement.

The backends' own programs are not: their compile time is part of the record, and is read with idle cores.
Nor do they come from JAX's compilation cache: it would freeze one choice of the autotuner for every process
run, and the spread between process runs, which is the noise of a verdict, would be that of nothing.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

from perf.cases import Case, Direction
from perf.grids import Entry
from perf.numerics import compiled_summaries
from perf.workloads import workload


@contextmanager
def cached(folder: Path) -> Iterator[None]:
    """Within, what is compiled is kept for the next process; after it, nothing is taken from or put there.

    Args:
        folder: Used unless JAX was given one (``JAX_COMPILATION_CACHE_DIR``).
    """
    if jax.config.values["jax_compilation_cache_dir"] is None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", False)  # noqa: FBT003 - JAX's own form
        compilation_cache.reset_cache()  # JAX looks at the switch once, unless it is told


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
