"""Where the nodes of a libcst tree stand in the text: one code generation that records offsets and parents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import libcst as cst
from libcst._nodes.internal import CodegenState

from devlint.syntax.parsing import with_large_stack

Span = tuple[int, int]


@dataclass(slots=True)
class Positions:
    """Offsets (characters, end exclusive) of each node without the whitespace and parentheses around it; parents."""

    spans: dict[cst.CSTNode, Span] = field(default_factory=dict)
    parents: dict[cst.CSTNode, cst.CSTNode] = field(default_factory=dict)
    innermost: dict[Span, cst.CSTNode] = field(default_factory=dict)


class _RecordingState(CodegenState):
    """Generates code as libcst does, keeping count of the offset instead of the text."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.positions = Positions()
        self.offset = 0
        self._open: list[tuple[cst.CSTNode, int]] = []

    def add_indent_tokens(self) -> None:
        self.offset += sum(map(len, self.indent_tokens))

    def add_token(self, value: str) -> None:
        self.offset += len(value)

    def pop_trailing_newline(self) -> None:
        """Nothing follows the last newline: its offset is of no use to anybody."""

    def before_codegen(self, node: cst.CSTNode) -> None:
        if self._open:
            self.positions.parents[node] = self._open[-1][0]
        self._open.append((node, self.offset))

    def after_codegen(self, node: cst.CSTNode) -> None:
        _, start = self._open.pop()
        positions = self.positions
        if isinstance(node, cst.Slice):
            self._trim(node, start)
        span = positions.spans.setdefault(node, (start, self.offset))
        if span[0] < span[1]:
            positions.innermost.setdefault(span, node)
        if isinstance(node, cst.Call) and len(node.args) == 1 and isinstance(node.args[0].value, cst.GeneratorExp):
            # For `ast` the parentheses of the call are those of its only argument.
            opening = positions.spans[node.whitespace_before_args][0] - 1
            positions.innermost.setdefault((opening, span[1]), node.args[0].value)
        if isinstance(node, (cst.Tuple, cst.GeneratorExp)) and node.lpar:
            # For `ast` the parentheses of a tuple and of a generator expression are part of it.
            outer = positions.spans[node.lpar[-1]][0], positions.spans[node.rpar[0]][1]
            positions.innermost.setdefault(outer, node)

    def _trim(self, node: cst.Slice, start: int) -> None:
        """Leave the whitespace after a slice's last colon out of it, as `ast` does."""
        colon = node.first_colon
        if node.step is None and isinstance(node.second_colon, cst.Colon):
            colon = node.second_colon
        elif node.step is not None or node.upper is not None:
            return
        self.positions.spans[node] = start, self.positions.spans[colon.whitespace_after][0]

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        start = self.offset
        yield
        end = self.offset
        spans = self.positions.spans
        spans[node] = (
            spans[start_node][0] if start_node is not None else start,
            spans[end_node][1] if end_node is not None else end,
        )


def record_positions(module: cst.Module) -> Positions:
    """Return the positions of all nodes of `module`."""
    state = _RecordingState(module)

    def generate() -> None:
        module._codegen(state)

    with_large_stack(generate)
    return state.positions
