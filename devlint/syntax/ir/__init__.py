"""The small program form that the interpreter runs.

About forty slotted classes. Each node has `at`, the syntax node it was lowered from, with the attributes `lineno`,
`col_offset`, `end_lineno`, `end_col_offset` as `ast` defines them (rows from 1, columns in UTF-8 bytes from 0),
whichever front end made it. `same(a, b)` compares two forms without `at`.
"""

from __future__ import annotations

from typing import TypeAlias

from devlint.syntax.ir.definitions import Body, Class, Function, Module, Parameters
from devlint.syntax.ir.expressions import (
    Attribute,
    Binary,
    Bool,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Const,
    DictDisplay,
    Display,
    FString,
    Generator,
    Name,
    Slice,
    Starred,
    Subscript,
    Unary,
    Walrus,
    Yield,
    YieldFrom,
)
from devlint.syntax.ir.nodes import NameScope, Node, slots_of
from devlint.syntax.ir.patterns import (
    CapturePattern,
    Case,
    ClassPattern,
    MappingPattern,
    Match,
    OrPattern,
    SequencePattern,
    StarPattern,
    ValuePattern,
)
from devlint.syntax.ir.statements import (
    Annotate,
    Assert,
    Assign,
    Augment,
    Break,
    Continue,
    Delete,
    ExprStatement,
    For,
    Handler,
    If,
    Import,
    ImportFrom,
    Raise,
    Return,
    Try,
    While,
    With,
)

__all__ = [
    "Annotate",
    "Assert",
    "Assign",
    "Attribute",
    "Augment",
    "Binary",
    "Body",
    "Bool",
    "Break",
    "Call",
    "CapturePattern",
    "Case",
    "Class",
    "ClassPattern",
    "Compare",
    "Comprehension",
    "Conditional",
    "Const",
    "Continue",
    "Delete",
    "DictDisplay",
    "Display",
    "Expr",
    "ExprStatement",
    "FString",
    "For",
    "Function",
    "Generator",
    "Handler",
    "If",
    "Import",
    "ImportFrom",
    "MappingPattern",
    "Match",
    "Module",
    "Name",
    "NameScope",
    "Node",
    "OrPattern",
    "Parameters",
    "Pattern",
    "Raise",
    "Return",
    "SequencePattern",
    "Slice",
    "StarPattern",
    "Starred",
    "Stmt",
    "Subscript",
    "Try",
    "Unary",
    "ValuePattern",
    "Walrus",
    "While",
    "With",
    "Yield",
    "YieldFrom",
    "same",
    "slots_of",
]


Expr: TypeAlias = (
    Const
    | Name
    | Attribute
    | Subscript
    | Call
    | Binary
    | Unary
    | Compare
    | Bool
    | Conditional
    | Display
    | DictDisplay
    | Comprehension
    | FString
    | Slice
    | Starred
    | Walrus
    | Yield
    | YieldFrom
    | Function
)
Stmt: TypeAlias = (
    Assign
    | Annotate
    | Augment
    | ExprStatement
    | If
    | For
    | While
    | Try
    | With
    | Return
    | Raise
    | Break
    | Continue
    | Assert
    | Delete
    | Import
    | ImportFrom
    | Match
    | Function
    | Class
)
Pattern: TypeAlias = (
    ValuePattern | CapturePattern | OrPattern | SequencePattern | StarPattern | MappingPattern | ClassPattern
)


def same(a: object, b: object) -> bool:
    """Tell whether two forms are equal, leaving `at` aside (function bodies included)."""
    if isinstance(a, (Node, Generator, Parameters, Body, Module)):
        if a.__class__ is not b.__class__:
            return False
        if isinstance(a, Function) and isinstance(b, Function) and not same(a.body, b.body):
            return False
        names = [name for name in slots_of(a.__class__) if name not in ("_lower", "_body")]
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, (list, tuple)):
        return a.__class__ is b.__class__ and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and (a == b or a != a)
