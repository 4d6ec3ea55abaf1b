"""A plain text table."""

from collections.abc import Sequence


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Align columns with two spaces between; the header is underlined.

    Args:
        right: Numbers of the columns that are aligned to the right.
    """
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    lines = []
    for row in (columns, rule, *rows):
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
