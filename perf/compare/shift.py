"""Changes that all keys share: another machine's offset, and a whole machine that became slower.

Owns the two rules that look across keys. A code change does not move every kernel by the same amount; another
clock does.
"""

from collections.abc import Sequence

import numpy as np

from perf.compare.samples import Array
from perf.compare.verdict import WholeShift

MANY_KEYS = 50
"""Keys that must agree before they are called a whole machine, without other evidence."""
SOME_KEYS = 8
"""The same when the recorded clocks moved by as much."""
AGREEING = 0.9
"""Share of the telling keys that must lie at the common change."""
TIGHT = 0.25
"""Part of the common change by which agreeing keys may differ from it."""
_CAP = 2.0
"""In machine spreads: more is not a difference between machines, and stays in the keys' changes."""


def machine_offset(
    change: Array, machine: Array, class_names: Sequence[str]
) -> tuple[Array, WholeShift | None]:
    """How two machines of one model differ: the middle change of each class of backends, within reason.

    Returns:
        The offset of every key (zero for classes of few keys), and the largest one in words.
    """
    names, offset = np.array(class_names), np.zeros(len(change))
    for name in sorted(set(class_names)):
        rows = np.flatnonzero((names == name) & (machine > 0))
        if len(rows) >= SOME_KEYS:
            cap = _CAP * machine[rows]
            offset[rows] = np.clip(np.median(change[rows]), -cap, cap)
    return offset, _machine_text(offset)


def _machine_text(offset: Array) -> WholeShift | None:
    if not offset.any():
        return None
    largest = float(np.expm1(offset[np.argmax(np.abs(offset))]))
    text = (
        f"another machine of the model: its keys differ by up to {largest:+.1%} in the middle of a class "
        "of backends, which is taken out before a key is judged"
    )
    return WholeShift(change=largest, keys=int(np.count_nonzero(offset)), taken_out=True, text=text)


def whole_shift(change: Array, noise: Array, *, interest: Array, clocks: Array) -> WholeShift | None:
    """Say whether all keys moved by one amount.

    Args:
        change: Logarithm of head/base of every key.
        noise: What chance makes of it, at a level for a single key.
        interest: Smallest change of practical interest.
        clocks: Logarithm of base/head of the GPU clock of every key; NaN where it is not recorded.
    """
    if not len(change):
        return None
    common = float(np.median(change))
    telling = noise < abs(common)
    agreeing = telling & (np.abs(change - common) <= np.maximum(noise, TIGHT * abs(common)))
    needed = SOME_KEYS if _clocks_agree(clocks, common) else MANY_KEYS
    count = int(agreeing.sum())
    if (
        abs(common) < float(np.median(interest))
        or count < max(needed, AGREEING * int(telling.sum()))
        or not _tight(change[telling], common)
    ):
        return None
    return WholeShift(
        change=float(np.expm1(common)), keys=count, taken_out=False, text=_text(common, count, clocks)
    )


def _tight(change: Array, common: float) -> bool:
    return bool(np.median(np.abs(change - common)) <= TIGHT * abs(common))


def _clocks_agree(clocks: Array, common: float) -> bool:
    known = clocks[np.isfinite(clocks)]
    return bool(len(known)) and abs(float(np.median(known)) - common) <= 0.5 * abs(common)


def _text(common: float, count: int, clocks: Array) -> str:
    word = "slower" if common > 0 else "faster"
    known = clocks[np.isfinite(clocks)]
    read = f" (recorded GPU clock: {np.expm1(-np.median(known)):+.1%})" if len(known) else ""
    return (
        f"all {count} keys that can tell are {abs(np.expm1(common)):.1%} {word}: the whole machine moved, "
        f"most likely its clocks{read}; check clocks, power limit and temperature, then measure again"
    )
