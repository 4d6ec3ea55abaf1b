"""May this upgrade go into the release? Two environments, measured in turn on one machine, one verdict.

* `perf.gate.plan`: the question, as data that is kept beside the measurements.
* `perf.gate.requirements`, `perf.gate.environments`: from requirements to a virtual environment, cached.
* `perf.gate.interpreter`: one environment as a command that can be started, and what it is.
* `perf.gate.attempt`: one process run; what is left of it after a crash, a hang or Ctrl-C.
* `perf.gate.side`, `perf.gate.schedule`: the process runs of the two sides in turn, until all is decided.
* `perf.gate.accepted`: slow-downs that somebody accepted until a date.
* `perf.gate.attribution`, `perf.gate.releases`: which package, and which release, brings a slow-down.
* `perf.gate.report`: the answer as text, Markdown and JSON.

Imports neither jax nor torch: what is judged may be broken.
"""
