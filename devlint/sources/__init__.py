"""Python files, notebooks and Markdown documents: text in, and the way back to cell, row and column."""

from devlint.sources.reading import read_source
from devlint.sources.source import Problem, Source

__all__ = ["Problem", "Source", "read_source"]
