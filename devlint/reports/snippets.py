"""A source row with what is said about parts of it, below the parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from devlint.reports.style import ShownLine, Style

LONGEST = 140
"""Terminal columns of a source row; longer ones are cut to the part that is spoken of."""

LONGEST_MESSAGE = 110
"""Terminal columns to which a message may reach behind its markers; else it goes below them, where that helps."""


@dataclass(frozen=True, slots=True)
class Label:
    """Terminal columns of a row, from 0, end exclusive, and what is said of them. `primary`: the finding itself."""

    start: int
    end: int
    message: str
    primary: bool = False


@dataclass(slots=True)
class Snippet:
    """A row of a file with its labels."""

    filename: str
    cell: int | None
    row: int
    line: ShownLine
    labels: list[Label] = field(default_factory=list)

    def add(self, label: Label) -> None:
        """Add a label; one with the same extent as an earlier one adds its message to that."""
        for index, known in enumerate(self.labels):
            if (known.start, known.end) == (label.start, label.end):
                messages = dict.fromkeys([*known.message.split("; "), label.message])
                joined = "; ".join(filter(None, messages))
                self.labels[index] = Label(known.start, known.end, joined, known.primary or label.primary)
                return
        self.labels.append(label)


def snippet_lines(snippet: Snippet, gutter: int, style: Style) -> Iterator[str]:
    """Yield the row, the row of markers, and the messages that don't fit behind the markers."""
    text, shift = _window(snippet)
    bar = style("|", "blue")
    yield f"{style(f'{snippet.row:>{gutter}}', 'blue')} {bar} {text}".rstrip()
    labels = sorted(
        (
            Label(max(label.start - shift, 0), label.end - shift, label.message, label.primary)
            for label in snippet.labels
        ),
        key=lambda label: (label.start, -label.end),
    )
    marks = [" "] * min(max(label.end for label in labels), LONGEST + 3)
    colors = [""] * len(marks)
    for label in sorted(labels, key=lambda label: label.primary):
        for column in range(label.start, min(label.end, len(marks))):
            marks[column] = "^" if label.primary else "-"
            colors[column] = "red" if label.primary else "blue"
    last = labels[-1]
    behind = last.message if last.end >= max(label.end for label in labels) else ""
    if last.end + len(behind) > LONGEST_MESSAGE > last.start + len(behind):
        behind = ""
    prefix = f"{'':>{gutter}} {bar} "
    yield f"{prefix}{_painted(marks, colors, style)}" + (f" {_message(last, behind, style)}" if behind else "")
    below = [label for label in labels if label.message and not (label is last and behind)]
    for index in range(len(below) - 1, -1, -1):
        label = below[index]
        rail = [" "] * label.start
        for other in below[:index]:
            if other.start < label.start:
                rail[other.start] = "|"
        yield f"{prefix}{''.join(rail)}{_message(label, label.message, style)}"


def _message(label: Label, text: str, style: Style) -> str:
    return style(text, "red" if label.primary else "blue")


def _painted(marks: list[str], colors: list[str], style: Style) -> str:
    if not style.color:
        return "".join(marks)
    parts = []
    at = 0
    while at < len(marks):
        end = at
        while end < len(marks) and colors[end] == colors[at]:
            end += 1
        run = "".join(marks[at:end])
        parts.append(style(run, colors[at]) if colors[at] else run)
        at = end
    return "".join(parts)


def _window(snippet: Snippet) -> tuple[str, int]:
    """Return the row, cut to a window around its labels when enormous, and how far the labels move to the left."""
    line = snippet.line
    if line.width <= LONGEST:
        return line.text, 0
    first = min(label.start for label in snippet.labels)
    wanted = 0 if first < LONGEST // 2 else first - LONGEST // 4
    begin = next(index for index, column in enumerate(line.columns) if column >= wanted)
    shift = line.columns[begin]
    end = begin
    while end < len(line.parts) and line.columns[end + 1] - shift <= LONGEST:
        end += 1
    head = "..." if begin else ""
    tail = "..." if end < len(line.parts) else ""
    return head + "".join(line.parts[begin:end]) + tail, shift - len(head)
