"""The machines on which a program may run: the one notion that the analyser and the runtime companion share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class World:
    """A Linux machine with `device_count` CUDA devices and no other accelerator."""

    name: str
    device_count: int

    @property
    def has_cuda(self) -> bool:
        """What `torch.cuda.is_available()` answers there."""
        return self.device_count > 0


CPU = World("cpu", 0)
GPU1 = World("gpu1", 1)
GPU2 = World("gpu2", 2)

WORLDS: tuple[World, ...] = (CPU, GPU1, GPU2)
WORLD_NAMES: tuple[str, ...] = tuple(world.name for world in WORLDS)


def world_named(name: str) -> World:
    """Return the world of that name.

    Raises:
        KeyError: there is no such world.
    """
    for world in WORLDS:
        if world.name == name:
            return world
    raise KeyError(name)
