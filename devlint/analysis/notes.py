"""What a machine notes for the whole of its world: where things of certain kinds were made, and what imports did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from devlint.analysis.events import Event

EvidenceKind: TypeAlias = Literal[
    "availability", "option", "branch", "computes", "map_location", "needs a GPU", "is for GPUs"
]
"""Asking for CUDA; an option whose default is a device, or that is about the GPU; a choice between the CPU and CUDA; a
module that runs on the CPU though there is a GPU; a load that is mapped to the CPU; a package for GPUs alone; such a
package without which the file can't be imported."""

Testimony: TypeAlias = tuple[EvidenceKind, str]
"""A kind of evidence and a file that it speaks for."""

Place: TypeAlias = "tuple[str, int, int]"
"""The `key` of a `Site`. A value knows the site where it was made, so that it can be asked for later."""


@dataclass(slots=True)
class Places:
    """Where values were made of which more is known than they say."""

    options: set[Place] = field(default_factory=set)
    """Where options were given a device as their default."""
    default_options: dict[Place, str] = field(default_factory=dict)
    """Where options were given a default on which their users do not compute, the CPU or a GPU that no world has, and
    how they are called."""
    no_devices: set[str] = field(default_factory=set)
    """How options are called that take no name of a device."""
    doubted: set[Place] = field(default_factory=set)
    """Of the defaults of options the devices that are used elsewhere only if they are there, as the program asks."""
    handed_texts: set[Place] = field(default_factory=set)
    """Where texts stand that became an attribute of what is not known, which may make a handle of them."""
    gpu_numbers: set[Place] = field(default_factory=set)
    """Where an option for the number of a GPU was read."""
    ranks: set[Place] = field(default_factory=set)
    """Where an option for the rank was read."""
    settings: set[Place] = field(default_factory=set)
    """Where files set a name to True."""
    counts: set[Place] = field(default_factory=set)
    """Where the devices were counted."""
    accelerators: set[Place] = field(default_factory=set)
    """Where there was no current accelerator, and None was given."""
    data_loads: set[Place] = field(default_factory=set)
    """Where data were loaded that are no weights."""
    weight_loads: set[Place] = field(default_factory=set)
    """Where weights were loaded, by what became of them."""


@dataclass(slots=True)
class Imported:
    """What happened when a file ran because it was imported, which it does once in a world."""

    events: dict[tuple[Any, ...], Event] = field(default_factory=dict)
    consulted: set[str] = field(default_factory=set)
    """What was asked of the world."""
    evidence: dict[Testimony, None] = field(default_factory=dict)
    asked: set[EvidenceKind] = field(default_factory=set)
    """What speaks for running without a GPU in the file's own code that ran."""
    effects: tuple[Any, ...] | None = None
    """What it did to CUDA and to processes (`executing.py`)."""
    defaults: tuple[tuple[tuple[str, object], ...], frozenset[str]] = ((), frozenset())
    """The default devices that it set, and the files that it imported."""
    visible: tuple[int, ...] | None = None
    """The GPUs that were visible then, if the program had said which."""


NOT_IMPORTED = Imported()
"""What is known of a file that was not imported: nobody writes into it."""
