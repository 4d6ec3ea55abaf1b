"""The fields that the suite adds to pytest-benchmark's JSON, as strict, frozen models.

SI base units throughout. Unknown fields, wrong types and impossible values are errors that name the
field (pydantic's ``loc``). The version is `SCHEMA`; one golden file of each version stays in ``tests/data``.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = 1
METHOD_VERSION = 1
"""Raised by hand when the way a number is taken changes: numbers of two versions are never compared."""

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]

Direction = Literal["forward", "backward", "training_step"]
Clock = Literal["device", "host"]
OutcomeKind = Literal["measured", "unsupported", "failed", "known-failure"]


class Model(BaseModel):
    """Base of all models: nothing unknown, nothing converted, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Kernel(Model):
    """One GPU activity of a call: a kernel, or a named memory set or copy, with its median duration."""

    name: str
    s: NonNegative


class GpuState(Model):
    """What NVML said right after the samples; throttle holds the names of active clock event reasons."""

    sm_hz: NonNegative
    celsius: float
    watt: NonNegative
    throttle: list[str]


class Error(Model):
    """Error of one quantity (``out``, ``dq`` …) against the float32 reference, with the limits in force."""

    quantity: str
    rms: NonNegative
    rms_limit: NonNegative
    max: NonNegative
    max_limit: NonNegative


class ProcessRun(Model):
    """All samples of a key taken in one fresh process, and what was read beside them."""

    data_s: Annotated[list[Seconds], Field(min_length=1)]
    wall_s: Annotated[list[Seconds], Field(min_length=1)]
    kernels: list[Kernel]
    custom_calls: list[str]
    temp_bytes: Count
    compile_s: NonNegative
    errors: list[Error]
    gpu: GpuState | None
    at_unix_s: NonNegative


class Method(Model):
    """How the samples were taken, apart from the clock. Numbers compare only if these are equal."""

    version: int
    l2: Literal["hot", "cold"]
    pacing: Literal["none", "equal-pause"]
    inputs: str


class Metric(Model):
    """What ``data_s`` holds and which way is better."""

    name: Literal["kernel time", "wall time"]
    unit: Literal["s"]
    better: Literal["lower"]


class KeyRecord(Model):
    """``benchmarks[i].extra_info.perf``: one key with all its process runs."""

    key: str
    backend: str
    direction: Direction
    case: dict[str, str | int]
    clock: Clock
    metric: Metric
    method: Method
    flop: NonNegative
    bytes: NonNegative
    processes: Annotated[list[ProcessRun], Field(min_length=1)]


class Gpu(Model):
    """The GPU as NVML names it. The slug is a folder's name and a baseline's identity; the UUID never is."""

    name: str
    slug: str
    uuid: str
    count: Count
    memory_bytes: Count
    mig: bool
    ecc: bool | None
    compute_capability: str


class Library(Model):
    """A CUDA library mapped into the process."""

    name: str
    path: str


class Environment(Model):
    """What the numbers were taken with. ``gpu`` is None on a CPU."""

    slug: str
    gpu: Gpu | None
    driver: str | None
    cuda: str | None
    cudnn: str | None
    packages: dict[str, str]
    flags: dict[str, str]
    python: str
    os: str
    machine: str
    libraries: list[Library]


class Outcome(Model):
    """What became of one key that was asked for; code and text say why when it was not measured."""

    key: str
    outcome: OutcomeKind
    code: str
    text: str


class Shard(Model):
    """Which part of a selection a run took: ``number`` of ``count``, counted from 1."""

    number: Annotated[int, Field(ge=1)]
    count: Annotated[int, Field(ge=1)]


class Selected(Model):
    """What the options of a run asked for; empty lists mean all, ``keys`` stands alone."""

    tags: list[str]
    backends: list[str]
    directions: list[str]
    case: str
    keys: list[str] | None
    shard: Shard | None = None


class Step(Model):
    """One key whose time an acceptance changed on purpose: history starts anew there."""

    key: str
    before_s: Seconds
    after_s: Seconds


class Acceptance(Model):
    """Who approved a baseline, when and why.

    Args:
        replaces: File name of the baseline that was in force; None for the first.
        only: Glob of the keys that were accepted; the others are those of the replaced baseline.
        stack: What differs from the replaced baseline's environment, a line each.
        steps: Every accepted key that both have, with the medians of its process runs' medians.
    """

    by: str
    at: str
    reason: str
    replaces: str | None = None
    only: str | None = None
    stack: list[str] = Field(default_factory=list)
    steps: list[Step] = Field(default_factory=list)


class Session(Model):
    """The top-level ``perf`` object."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_by_name=True)

    schema_: Annotated[Literal[1], Field(alias="schema")]
    kind: Literal["run", "baseline"]
    partial: str | None
    """Why the file does not hold everything that was selected; None when it does."""
    environment: Environment
    outcomes: list[Outcome]
    selected: Selected | None = None
    """What was asked for, so that a key that was not is no loss; None when everything was."""
    acceptance: Acceptance | None = None
