"""From an environment to the few facts that capabilities are decided on."""

from perf.capability import Machine, Version
from perf.records.schema import Environment


def version(text: str | None) -> Version | None:
    """``9.19.0.56`` → (9, 19, 0, 56); None stays None."""
    return None if text is None else tuple(int(part) for part in text.split("."))


def machine(here: Environment) -> Machine:
    """What this environment can do."""
    return Machine(
        compute_capability=version(here.gpu.compute_capability) if here.gpu else None,
        cudnn=version(here.cudnn),
        packages=dict(here.packages),
        memory_bytes=here.gpu.memory_bytes if here.gpu else None,
    )
