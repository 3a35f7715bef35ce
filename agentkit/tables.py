"""Tables of strings, as plain text for a terminal and as Markdown for a page."""

from collections.abc import Sequence

Row = Sequence[str]


def text_table(header: Row, rows: Sequence[Row]) -> str:
    """Columns aligned with spaces: the first to the left, the others to the right.

    >>> print(text_table(["query", "gap"], [["progress", "0.36"], ["value", "0.05"]]))
    query      gap
    progress  0.36
    value     0.05
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        padded = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *padded[1:]]).rstrip())
    return "\n".join(lines)


def markdown_table(header: Row, rows: Sequence[Row]) -> str:
    """A Markdown table, the first column aligned to the left and the others to the right.

    >>> print(markdown_table(["query", "gap"], [["a|b", "0.36"]]))
    | query | gap |
    |:--|--:|
    | a\\|b | 0.36 |
    """
    lines = [header, [":--" if i == 0 else "--:" for i in range(len(header))], *rows]
    text = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in lines]
    return "\n".join(f"|{'|'.join(row)}|" if i == 1 else f"| {' | '.join(row)} |" for i, row in enumerate(text))
