"""How values came to be: chains of marks, from which a crash finds its root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.events import Mark, MarkKind, Site

if TYPE_CHECKING:
    from devlint.analysis.domain.values import Tensor
    from devlint.analysis.frames import Frame
    from devlint.syntax import ir


class Origin:
    """A mark on a value and the marks before it. `tick` orders marks and calls in time; `frame` is the activation.

    `source`: for a move, the tensor that was copied, and `product` the copy. `stored`: where the value was put into an
    attribute or container under a condition, and `holder` the activation that did: a cache, perhaps. `node`: what was
    evaluated when the mark was made. `is_leaf`: of a copy of a leaf that is one itself, since no gradients were
    recorded.
    """

    __slots__ = (
        "kind",
        "site",
        "frame",
        "tick",
        "device",
        "note",
        "previous",
        "source",
        "stored",
        "holder",
        "product",
        "node",
        "is_leaf",
    )

    def __init__(
        self,
        kind: MarkKind,
        site: Site,
        frame: Frame | None,
        tick: int,
        device: str | None = None,
        note: str = "",
        previous: Origin | None = None,
        node: ir.Node | None = None,
    ) -> None:
        self.kind = kind
        self.site = site
        self.frame = frame
        self.tick = tick
        self.device = device
        self.note = note
        self.previous = previous
        self.node = node
        self.is_leaf = False
        self.source: Tensor | None = None
        self.product: Tensor | None = None
        self.stored: Site | None = None
        self.holder: Frame | None = None

    def kept(self, site: Site, holder: Frame) -> Origin:
        """The same mark on a value that was stored there."""
        made = Origin(self.kind, self.site, self.frame, self.tick, self.device, self.note, self.previous, self.node)
        made.source, made.product, made.is_leaf = self.source, self.product, self.is_leaf
        made.stored = site
        made.holder = holder
        return made

    def released(self) -> Origin:
        """The same mark on a copy that no cache holds."""
        if self.holder is None:
            return self
        made = Origin(self.kind, self.site, self.frame, self.tick, self.device, self.note, self.previous, self.node)
        made.source = self.source
        return made

    def find(self, *kinds: MarkKind) -> Origin | None:
        """Return the newest mark of one of these kinds."""
        origin: Origin | None = self
        while origin is not None:
            if origin.kind in kinds:
                return origin
            origin = origin.previous
        return None

    def cached(self) -> Origin | None:
        """Return the newest mark on a value that was stored under a condition."""
        origin: Origin | None = self
        while origin is not None and origin.holder is None:
            origin = origin.previous
        return origin

    def first(self) -> Origin:
        """Return the oldest mark."""
        origin = self
        while origin.previous is not None:
            origin = origin.previous
        return origin


def marks(origin: Origin | None, limit: int = 12) -> tuple[Mark, ...]:
    """Return the chain as marks, from old to new; of a long chain the newest."""
    found: list[Mark] = []
    while origin is not None and len(found) < limit:
        found.append(Mark(origin.kind, origin.site, origin.device, origin.note))
        origin = origin.previous
    return tuple(reversed(found))
