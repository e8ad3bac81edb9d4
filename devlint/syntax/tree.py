"""The libcst tree of a program text: what fixes and snippets are made from. Only files with findings pay for it."""

from __future__ import annotations

import libcst as cst

from devlint.syntax.offsets import Offsets, SiteLike
from devlint.syntax.parsing import parse_cst
from devlint.syntax.positions import record_positions


class Tree:
    """A program text with its libcst tree and the positions of its nodes. Implements `FixContext`.

    Rows and columns of sites are those of the program text; offsets count characters in it.
    """

    def __init__(self, text: str, module: cst.Module, min_torch: tuple[int, int] = (2, 4)) -> None:
        self.text = text
        self.module = module
        self.min_torch = min_torch
        self._offsets = Offsets(text)
        self._positions = record_positions(module)

    @classmethod
    def parse(cls, text: str, min_torch: tuple[int, int] = (2, 4)) -> Tree:
        """Parse a program text.

        Raises:
            Unparsable: it is not Python, or is nested too deeply.
        """
        return cls(text, parse_cst(text), min_torch)

    def node(self, site: SiteLike) -> cst.CSTNode | None:
        """Return the innermost node with exactly the extent of `site`, None where there is none."""
        return self._positions.innermost.get(self.site_span(site))

    def parents(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """Return the nodes around `node`, innermost first; the last is the module."""
        around = []
        parent = self._positions.parents.get(node)
        while parent is not None:
            around.append(parent)
            parent = self._positions.parents.get(parent)
        return around

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return start and end offset of `node`, without whitespace and parentheses around it.

        Raises:
            KeyError: the node is not of this tree.
        """
        return self._positions.spans[node]

    def source(self, node: cst.CSTNode) -> str:
        """Return the text of `node`."""
        start, end = self.span(node)
        return self.text[start:end]

    def site_span(self, site: SiteLike) -> tuple[int, int]:
        """Return start and end offset of `site`."""
        return self._offsets.span(site.at)

    def site_text(self, site: SiteLike) -> str:
        """Return the text of `site`."""
        start, end = self.site_span(site)
        return self.text[start:end]

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the statement that `node` stands in: a small one without its line, or a compound one.

        A node outside any statement (a comment at the end of the file) gives the module.
        """
        for candidate in (node, *self.parents(node)):
            if isinstance(candidate, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
                return candidate
            if isinstance(candidate, cst.SimpleStatementLine) and len(candidate.body) == 1:
                return candidate.body[0]
        return self.module

    def indentation(self, node: cst.CSTNode) -> str:
        """Return the whitespace at the start of the row on which the statement of `node` begins."""
        start = self.span(self.statement(node))[0]
        row = max(self.text.rfind("\n", 0, start), self.text.rfind("\r", 0, start)) + 1
        line = self.text[row:start]
        return line[: len(line) - len(line.lstrip(" \t\f"))]
