"""IPython's additions to Python, masked so that what remains is Python with every row and column in its place.

https://ipython.readthedocs.io/en/stable/interactive/magics.html; the forms are those of IPython's
`inputtransformer2`: `%magic`, `!command`, `name = %magic`, `name = !command`, `help?`, and `%%` cell magics; and
automagic, that of `prefilter`: a cell of one row may leave out the `%` of a line magic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from devlint.lines import keep_rows
from devlint.syntax.parsing import Unparsable, parse_ast

PYTHON_CELL_MAGICS = frozenset({"time", "timeit", "capture", "prun", "memit", "debug", "snakeviz", "wandb"})
"""`%%` magics whose cell runs as Python in the notebook's own scope."""

LINE_MAGICS = frozenset(
    # https://ipython.readthedocs.io/en/stable/interactive/magics.html; `install_ext` and `profile` are of older
    # versions, `store` is of an extension that is loaded by default
    "alias alias_magic autoawait autocall automagic bookmark cd code_wrap colors conda config debug dhist dirs "
    "doctest_mode ed edit env gui hist history install_ext killbgscripts load load_ext loadpy logoff logon logstart "
    "logstate logstop lsmagic macro magic mamba matplotlib micromamba notebook page pastebin pdb pdef pdoc pfile pinfo "
    "pinfo2 pip popd pprint precision profile prun psearch psource pushd pwd pycat pylab quickref recall rehashx "
    "reload_ext rep rerun reset reset_selective run save sc set_env store sx system tb time timeit unalias unload_ext "
    "uv who who_ls whos xdel xmode "
    # those of ipykernel
    "autosave clear connect_info less man more qtconsole subshell "
    # aliases: of POSIX systems, and of Windows
    "cat cp ldir lf lk ll ls lx mkdir mv rm rmdir copy ddir echo ren".split()
)
"""The line magics and aliases of the shell that a notebook has without being told."""

_RUN = "exec(open(0).read())"  # as IPython does: what the file binds, the notebook has
_RUNS = re.compile(r"run[ \t]+\S")
_UNKNOWN = "get_ipython().getoutput()"  # what IPython itself runs: a value of which nothing is known
_AUTOMAGIC = re.compile(
    r"(?:pip|conda|mamba|cd|ls|cat|cp|mv|mkdir|rm|rmdir|man|more)[ \t]+"
    r"(?:\.{1,2}/|/\w|\.\.?\s*$|(?![=<>!+*/%,.:)\]&|@^]|-=|in\b|is\b))"
)
_FIRST_WORD = re.compile(r"(\w+)(?:[ \t]+(?![=,])|$)")
_TIMED = re.compile(r"time[ \t]+(?!(?:async|for|if|try|while|with)\b)(?=\S)")
_ENVIRONMENT = re.compile(r"(?:env|set_env)[ \t]+(\w+)(?:[ \t]*=|[ \t])[ \t]*(.*?)[ \t]*$")
_ASSIGNMENT = re.compile(r"[\w.\[\]'\"*, \t]+?[ \t]*(?<![=!<>])=[ \t]*(?=[%!])")
_CITATION = re.compile(r"@\w+[ \t]*\{")
_COMMENTS = re.compile(r"\A(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n))*\s*")
_CELL_MAGIC = re.compile(r"%%(\w[\w.]*)")
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\r\n]*)
    |(?P<open>[(\[{])|(?P<close>[)\]}])
    |(?P<long>\"{3}|'{3})
    |(?P<short>"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')
    |(?P<join>\\(?:\r\n|\r|\n))""",
    re.VERBOSE | re.DOTALL,
)
_LONG_END = {'"""': re.compile(r'(?:[^\\]|\\.)*?"""', re.DOTALL), "'''": re.compile(r"(?:[^\\]|\\.)*?'''", re.DOTALL)}


@dataclass(frozen=True, slots=True)
class MaskedRow:
    """A row, with its newline, and the columns in it (from 0, end exclusive) that stand for a magic."""

    text: str
    masked: tuple[int, int] | None = None


def foreign_cell(text: str) -> bool:
    """Whether the cell starts with a `%%` magic that does not run it as Python in the notebook's scope, or with how to
    cite the notebook (BibTeX), which is no Python either. Colab takes magics below comments, such as `#@title`, too."""
    match = _CELL_MAGIC.match(_COMMENTS.sub("", text, count=1))
    if match is not None:
        return match.group(1) not in PYTHON_CELL_MAGICS
    return _CITATION.match(text.lstrip()) is not None


def mask(text: str) -> list[MaskedRow]:
    """Return the rows of a cell with its magics masked."""
    result: list[MaskedRow] = []
    rows = keep_rows(text)
    state = _State(is_alone=sum(not row.isspace() for row in rows) == 1)
    continued = False
    for row in rows:
        body = row.rstrip("\r\n")
        newline = row[len(body) :]
        if continued:
            masked = MaskedRow(" " * len(body) + newline, (0, len(body)))
            continued = body.endswith("\\")
        elif state.at_statement and (replaced := _masked_row(body, state)) is not None:
            masked = MaskedRow(replaced[0] + newline, (replaced[1], len(replaced[0])))
            continued = body.endswith("\\")
            if replaced[2]:
                masked = MaskedRow(masked.text, (replaced[1], replaced[2]))
                state.feed(masked.text)
        else:
            masked = MaskedRow(row)
            state.feed(row)
        result.append(masked)
    return result


class _State:
    """How far a logical row reaches: open brackets, an open triple-quoted string, a joining backslash; and whether
    the cell has only one row."""

    def __init__(self, *, is_alone: bool) -> None:
        self.is_alone = is_alone
        self.depth = 0
        self.quote = ""
        self.joined = False

    @property
    def at_statement(self) -> bool:
        return not self.depth and not self.quote and not self.joined

    def feed(self, row: str) -> None:
        """Read one row with its newline."""
        self.joined = False
        at = 0
        while at < len(row):
            if self.quote:
                end = _LONG_END[self.quote].match(row, at)
                if end is None:
                    return
                at, self.quote = end.end(), ""
                continue
            match = _TOKEN.search(row, at)
            if match is None:
                return
            at = match.end()
            kind = match.lastgroup
            if kind == "open":
                self.depth += 1
            elif kind == "close":
                self.depth = max(self.depth - 1, 0)
            elif kind == "long":
                self.quote = match.group()
            elif kind == "join":
                self.joined = True


def _masked_row(body: str, state: _State) -> tuple[str, int, int] | None:
    """Return the row with its magic masked, the column of the mask, and its end where Python follows it (else 0)."""
    stripped = body.lstrip()
    indent = len(body) - len(stripped)
    if not stripped or stripped[0] == "#":
        return None
    is_magic = stripped[0] == "%" or (state.is_alone and _is_automagic(stripped))
    magic = stripped.removeprefix("%")
    if is_magic and (environment := _environment(magic)):
        return body[:indent] + environment, indent, 0
    if is_magic and _RUNS.match(magic):
        return body[:indent] + _RUN.ljust(len(stripped)), indent, 0
    if is_magic and (timed := _TIMED.match(magic)):
        width = len(stripped) - len(magic) + timed.end()
        return body[:indent] + "0;".ljust(width) + stripped[width:], indent, indent + width
    if is_magic or stripped[0] in "!?/,;" or _AUTOMAGIC.match(stripped) or _is_help(body):
        return body[:indent] + _statement(len(stripped)), indent, 0
    assignment = _ASSIGNMENT.match(stripped)
    if assignment:
        column = indent + assignment.end()
        return body[:column] + _UNKNOWN.ljust(len(body) - column), column, 0
    return None


def _is_automagic(stripped: str) -> bool:
    """Whether a row that is no Python begins with the name of a line magic or alias, and nothing is assigned to it."""
    word = _FIRST_WORD.match(stripped)
    if word is None or word.group(1) not in LINE_MAGICS:
        return False
    try:
        parse_ast(stripped)
    except Unparsable:
        return True
    return False


def _statement(length: int) -> str:
    """Return a statement that does nothing, in so many characters."""
    filler = "pass" if length >= 4 else "..." if length == 3 else "0"
    return filler.ljust(length)


def _is_help(body: str) -> bool:
    if not body.rstrip().endswith("?"):
        return False
    # A question mark outside strings and comments: Python has none.
    inside = _State(is_alone=False)
    inside.feed(body)
    if inside.quote:
        return False
    rest = _TOKEN.sub("", body)
    return rest.rstrip().endswith("?")


def _environment(magic: str) -> str | None:
    """Return the assignment that `env NAME=value` and `set_env NAME value` make; `{x}` and `$x` are interpolated."""
    match = _ENVIRONMENT.match(magic)
    if match is None:
        return None
    name, value = match.groups()
    literal = repr(value)
    if "{" in value or "$" in value:
        literal = "f" + repr(re.sub(r"\$(\w+)", r"{\1}", value))
    return f"__import__('os').environ[{name!r}] = {literal}"
