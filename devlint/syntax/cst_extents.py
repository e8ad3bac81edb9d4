"""Where libcst nodes stand, in the coordinates of `ast`."""

from __future__ import annotations

from typing import Any

import libcst as cst
from libcst.metadata import CodePosition, CodeRange, MetadataWrapper, PositionProvider


class At:
    """A libcst node with the extent that `ast` gives it: rows from 1, columns in UTF-8 bytes from 0."""

    __slots__ = ("col_offset", "end_col_offset", "end_lineno", "lineno", "node")

    def __init__(self, node: cst.CSTNode, lineno: int, col_offset: int, end_lineno: int, end_col_offset: int) -> None:
        self.node = node
        self.lineno = lineno
        self.col_offset = col_offset
        self.end_lineno = end_lineno
        self.end_col_offset = end_col_offset


class Extents:
    """The extents of one parsed text, whose rows end in `\\n`."""

    def __init__(self, module: cst.Module, text: str) -> None:
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self._module = module
        self._ranges: Any = wrapper.resolve(PositionProvider)
        self._lines = None if text.isascii() else text.split("\n")

    def of(self, node: cst.CSTNode) -> At:
        """The node without its parentheses."""
        place: CodeRange = self._ranges[node]
        return self._at(node, place.start, place.end)

    def to(self, node: cst.CSTNode, last: cst.CSTNode) -> At:
        """From the start of `node` to the end of `last`, the parentheses of `last` included."""
        return self._at(node, self._ranges[node].start, self._outer_end(last))

    def around(self, node: cst.CSTNode, first: cst.CSTNode, last: cst.CSTNode) -> At:
        """From `first` to `last` (both as libcst places them), for `node`."""
        return self._at(node, self._ranges[first].start, self._ranges[last].end)

    def items(self, node: cst.CSTNode, first: cst.BaseSlice, last: cst.SubscriptElement) -> At:
        """The items of a subscript, for `node`; a comma behind the last one counts."""
        end = self._ranges[last.comma].end if isinstance(last.comma, cst.Comma) else self._slice_end(last.slice)
        return self._at(node, self._ranges[first].start, end)

    def slice(self, node: cst.Slice) -> At:
        """A slice without the space behind its colons."""
        return self._at(node, self._ranges[node].start, self._slice_end(node))

    def _slice_end(self, node: cst.BaseSlice) -> CodePosition:
        last: cst.CSTNode = node
        if isinstance(node, cst.Slice):
            second = node.second_colon if isinstance(node.second_colon, cst.Colon) else None
            last = node.step or second or node.upper or node.first_colon
        return self._outer_end(last)

    def display(self, node: cst.Tuple | cst.GeneratorExp | cst.MatchTuple) -> At:
        """The node with its innermost parentheses, if it has any."""
        if not node.lpar:
            return self.of(node)
        return self.around(node, node.lpar[-1], node.rpar[0])

    def sole_argument(self, call: cst.Call, argument: cst.GeneratorExp) -> At:
        """A generator that stands in the parentheses of the call itself."""
        end = self._outer_end(call.func)
        gap = self._module.code_for_node(call.whitespace_after_func).split("\n")
        column = len(gap[-1]) + (end.column if len(gap) == 1 else 0)
        return self._at(argument, CodePosition(end.line + len(gap) - 1, column), self._ranges[call].end)

    def rows(self, node: cst.CSTNode) -> tuple[int, int]:
        """First and last row."""
        place: CodeRange = self._ranges[node]
        return place.start.line, place.end.line

    def _outer_end(self, node: cst.CSTNode) -> CodePosition:
        closing = getattr(node, "rpar", ())
        place: CodeRange = self._ranges[closing[-1] if closing else node]
        return place.end

    def _at(self, node: cst.CSTNode, start: CodePosition, end: CodePosition) -> At:
        if self._lines is None:
            return At(node, start.line, start.column, end.line, end.column)
        return At(node, start.line, self._bytes(start), end.line, self._bytes(end))

    def _bytes(self, place: CodePosition) -> int:
        assert self._lines is not None
        return len(self._lines[place.line - 1][: place.column].encode("utf-8", "surrogatepass"))
