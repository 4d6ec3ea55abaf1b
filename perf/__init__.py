"""Does this change make attention slower, wrong or different on this GPU?

Layers, each importing only what stands before it:

* `perf.cases`, `perf.grids`: what is measured. `perf.inputs`, `perf.work`: its arrays, FLOP and bytes.
* `perf.reference`, `perf.numerics`: what is right, and how far off is allowed.
* `perf.capability`, `perf.backends`: who can compute a case, and how.
* `perf.environment`, `perf.timing`: on what, and how long it took.
* `perf.measure`: one key from arrays to samples; the ``bench_*.py`` files call nothing else.
* `perf.records`, `perf.compare`, `perf.report`, `perf.baseline`: files and verdicts, without jax.
* `perf.gate`: two environments in turn on one machine, and what brings a slow-down.
* `perf.plugin`: every hook of pytest and pytest-benchmark. ``python -m perf``: the command line.
"""
