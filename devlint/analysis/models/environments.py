"""gym and gymnasium: environments that run on the host give arrays and numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call, models
from devlint.analysis.values import HOST, UNKNOWN, Const, Host, Unknown, Value, constant

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_PACKAGES: Final = ("gym", "gymnasium")
_OWN: Final = re.compile(
    r"(CartPole|MountainCar(Continuous)?|Pendulum|Acrobot|LunarLander(Continuous)?|BipedalWalker(Hardcore)?|CarRacing|"
    r"FrozenLake(8x8)?|Taxi|CliffWalking|Blackjack|Hopper|HalfCheetah|Ant|Walker2d|Humanoid(Standup)?|Swimmer|Reacher|"
    r"Pusher|Inverted(Double)?Pendulum|ALE/\w+|\w+(NoFrameskip|Deterministic))-v\d+"
)
"""The environments that the packages register themselves: those of others may give tensors, on any device."""
_WRAPPERS: Final = (
    "AtariPreprocessing ClipAction FlattenObservation FrameStack FrameStackObservation GrayScaleObservation Monitor "
    "NormalizeObservation NormalizeReward RecordEpisodeStatistics RecordVideo ResizeObservation TimeLimit "
    "TransformObservation TransformReward"
)


@models(*(f"{package}.make" for package in _PACKAGES))
def make(machine: Machine, call: Call) -> Value:
    """`gym.make(id)`: one of the package's own; an option stands for its default."""
    name = call.argument(0, "id")
    if isinstance(name, Unknown) and isinstance(name.default, Const):
        name = name.default
    text = constant(name)
    return HOST if isinstance(text, str) and _OWN.fullmatch(text) else UNKNOWN


@models(*(f"{package}.wrappers.{name}" for package in _PACKAGES for name in _WRAPPERS.split()))
def wrap(machine: Machine, call: Call) -> Value:
    """`FrameStack(env, 4)`: an environment again."""
    return HOST if isinstance(call.argument(0, "env"), Host) else UNKNOWN
