"""What a rule is: a page of documentation, a function from events to diagnoses, and perhaps a fix.

A rule is one file in this folder with one module-level `RULE = Rule(...)`. Everything that is ever said about the rule
(`devlint rule`, the documentation pages, the README's list, SARIF metadata, hover text) comes from that object, and its
examples are tests. See `docs/architecture.md`, "A new rule".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from devlint.analysis.events import Event, Site
from devlint.findings import Applicability, Severity

if TYPE_CHECKING:
    import libcst as cst

EventT = TypeVar("EventT", bound=Event)


@dataclass(frozen=True, slots=True)
class Note:
    """A step of the trace, in program coordinates."""

    site: Site
    message: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What one rule says about one event, in one world. Diagnoses of one rule at one place are merged over the worlds.

    `site` is where the finding stands (the root cause). `data` is what the fix needs to know. `severity` is this
    diagnosis's own, where that is not the rule's.
    """

    site: Site
    message: str
    event: Event
    trace: tuple[Note, ...] = ()
    help: str = ""
    data: Any = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replace the text between two offsets of the program text (in characters)."""

    start: int
    end: int
    content: str


@dataclass(frozen=True, slots=True)
class Mend:
    """A fix in program coordinates, before it is mapped back into the file."""

    applicability: Applicability
    message: str
    replacements: tuple[Replacement, ...]


class FixContext(Protocol):
    """What a fixer may ask about the file that the finding stands in. Implemented by `devlint.syntax.tree.Tree`."""

    text: str
    """The program text."""
    module: cst.Module
    """Its syntax tree."""

    def node(self, site: Site) -> cst.CSTNode | None:
        """The innermost libcst node with exactly the extent of `site`."""

    def parents(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """The nodes around `node`, innermost first."""

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Start and end offset of `node` in `text` (characters; without surrounding whitespace)."""

    def source(self, node: cst.CSTNode) -> str:
        """The text of `node`."""

    def site_span(self, site: Site) -> tuple[int, int]:
        """Start and end offset of `site` in `text`."""

    def site_text(self, site: Site) -> str:
        """The text of `site`."""

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement that `node` stands in."""

    def indentation(self, node: cst.CSTNode) -> str:
        """The whitespace before the statement that `node` stands in."""

    @property
    def min_torch(self) -> tuple[int, int]:
        """The oldest torch release that the project supports: what a fix may propose."""


class TextContext(Protocol):
    """What a rule's diagnose function may ask: the text at a site, cut to one line."""

    def text(self, site: Site) -> str:
        """The source text of `site`, on one line, shortened in the middle when long."""


@dataclass(frozen=True, slots=True)
class Example:
    """A program that breaks, and the same program mended. Both run by themselves in a moment.

    `bad` carries an expectation comment at the end of each line that is flagged: `# DEV201: gpu1 gpu2`.
    `observe`: for what breaks silently, an expression over the program's globals after it ran, with its value by world
    in the bad and in the mended program: `{"cpu": (bad, mended), ...}`; special expressions `transfers` and
    `synchronizations` are the counts of the simulated CUDA.
    `files`: further files beside the example, by name. `args`: its command line. `prepare`: a program that is run
    first, in the same folder on a machine with one GPU, and leaves what the example reads.
    `errors`: what is raised by world, where that is not the rule's `error`; `...` stands for any text.
    """

    bad: str
    good: str
    observe: str | None = None
    observed: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    prepare: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    runs: bool = True
    """False where it can't be run here (a library that is not installed, several processes); `why_not` says why."""
    why_not: str = ""


@dataclass(slots=True)
class Rule:
    """A rule of the catalogue.

    `worlds` is the upper bound of the worlds in which it can break. `error` is torch's own text, None where silent.
    `unseen`: its severity where no program or test in sight calls the code, if that says less than elsewhere.
    """

    code: str
    name: str
    summary: str
    what: str
    why: str
    example: Example
    severity: Severity = "error"
    unseen: Severity | None = None
    worlds: tuple[str, ...] = ("cpu", "gpu1", "gpu2")
    error: str | None = None
    fix_safety: str = ""
    references: tuple[str, ...] = ()
    default: bool = True
    more_examples: tuple[Example, ...] = ()
    handlers: list[tuple[type[Event], Callable[[Any, TextContext], Iterator[Diagnosis]]]] = field(default_factory=list)
    fixer: Callable[[Diagnosis, FixContext], Mend | None] | None = None

    def on(
        self, event_type: type[EventT]
    ) -> Callable[
        [Callable[[EventT, TextContext], Iterator[Diagnosis]]], Callable[[EventT, TextContext], Iterator[Diagnosis]]
    ]:
        """Register a function that turns events of this type into diagnoses."""

        def register(
            function: Callable[[EventT, TextContext], Iterator[Diagnosis]],
        ) -> Callable[[EventT, TextContext], Iterator[Diagnosis]]:
            self.handlers.append((event_type, function))
            return function

        return register

    def fix(
        self, function: Callable[[Diagnosis, FixContext], Mend | None]
    ) -> Callable[[Diagnosis, FixContext], Mend | None]:
        """Register the function that mends a finding of this rule."""
        self.fixer = function
        return function

    @property
    def url(self) -> str:
        """The address of the rule's page."""
        return f"https://devlint.readthedocs.io/rules/{self.code}/"
