"""What makes an instance an `nn.Module`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from devlint.analysis.domain.values import Tensor, Value
    from devlint.analysis.events import Site


HIDDEN: Final = "*"
"""The field of a module of another library that stands for all of its parameters."""
UNNAMED: Final = "?"
"""Stands for the members of a ModuleDict whose names are not known."""
TABLES: Final = {"_modules": "module", "_parameters": "parameter", "_buffers": "buffer"}
"""The dicts in which a module registers, and what each holds."""
COLLECTION: Final = "torchmetrics.MetricCollection"
"""A module that holds metrics by name."""
CONVERTED: Final = "converted"
"""Under this key of its state, a module notes that it was given another class."""


class ModuleState:
    """What makes an instance an `nn.Module`: which of its fields are registered, and how.

    `kinds`: field name -> `parameter`, `buffer`, `module` (others are plain); `places`: where plain fields were
    assigned; `children`: members of a Sequential, ModuleList or ParameterList, in order, None when not known.
    `row`: the semantics row of a built-in module; `forward`: that of its forward, if calling it is no more than that.
    `unsure`: registration by unknown names, or an overridden `_apply`. `device`: the device that the last move gave it
    (None: never moved). `moved_at`: where. `family`: the tensors that stand for parts of the same opaque
    module. `is_bare`: its built-in part surely was made without a tensor or module.
    `is_replica`: DataParallel made it for one call; its parameters are plain tensors.
    """

    __slots__ = (
        "kinds",
        "places",
        "children",
        "row",
        "forward",
        "unsure",
        "device",
        "moved_at",
        "family",
        "placed_itself",
        "is_bare",
        "is_replica",
    )

    def __init__(self) -> None:
        self.kinds: dict[str, str | None] = {}
        self.places: dict[str, Site] = {}
        self.children: list[Value] | None = []
        self.row: Any = None
        self.forward: Any = None
        self.unsure = False
        self.device: str | None = None
        self.moved_at: Site | None = None
        self.family: list[Tensor] | None = None
        self.placed_itself = False
        self.is_bare = False
        self.is_replica = False
