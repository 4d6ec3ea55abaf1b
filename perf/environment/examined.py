"""What the doctor sees, as one line of JSON for another process to read."""

from perf.environment.doctor import examine
from perf.environment.health import process_text, warnings
from perf.folders import ROOT
from perf.records.schema import Environment, Model


class Examined(Model):
    """One interpreter on this machine.

    Args:
        suite: The folder that the suite was imported from.
        others: Processes of others on the GPU, a text each.
        warnings: What would spoil a number.
    """

    suite: str
    environment: Environment
    others: list[str]
    warnings: list[str]


def examined() -> Examined:
    """Examine this process; JAX has been started, so that its libraries are mapped.

    Raises:
        GpuLostError: The GPU disappeared meanwhile.
    """
    checkup = examine(after_run=True)
    return Examined(
        suite=str(ROOT),
        environment=checkup.environment,
        others=[process_text(other) for other in checkup.others],
        warnings=warnings(checkup),
    )
