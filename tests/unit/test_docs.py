"""The documents agree with the code."""

from pathlib import Path

import pytest

from perf.commands.docs import DOCUMENTS
from perf.docs import PARTS, rewritten

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_generated_parts_are_fresh(name: str) -> None:
    """Options, tags, backends and grids in the documents are those of the code."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert rewritten(text) == text


def test_every_part_is_in_a_document() -> None:
    """Nothing is generated for nobody."""
    texts = "".join((ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS)
    assert [part for part in PARTS if f"<!-- generated: {part} -->" not in texts] == []


def test_an_unknown_part_is_named() -> None:
    """A misspelt part is an error, not a part that is never renewed."""
    with pytest.raises(ValueError, match="found 'optoins'"):
        rewritten("<!-- generated: optoins -->\n<!-- end -->")
