"""gym and gymnasium: environments that run on the host give arrays and numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import ATTRIBUTE, METHOD, Call, models, on
from devlint.analysis.domain.values import (
    BOOL,
    HOST,
    NUMBER,
    UNKNOWN,
    Const,
    Environment,
    Host,
    Mapping,
    Method,
    Sequence,
    Unknown,
    Value,
    constant,
)

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

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


@models("gym.make")
def make(machine: Machine, call: Call) -> Value:
    """`gym.make(id)`: one of the package's own; which of its releases nobody knows."""
    return HOST if _is_own(call) else UNKNOWN


@models("gymnasium.make")
def make_of_gymnasium(machine: Machine, call: Call) -> Value:
    """`gymnasium.make(id)`: whichever it is, it gives what the package demands."""
    return Environment(_is_own(call))


def _is_own(call: Call) -> bool:
    """Whether an environment is one of the package's own; an option stands for its default."""
    name = call.argument(0, "id")
    if isinstance(name, Unknown) and isinstance(name.default, Const):
        name = name.default
    text = constant(name)
    return isinstance(text, str) and _OWN.fullmatch(text) is not None


@models(*(f"{package}.wrappers.{name}" for package in _PACKAGES for name in _WRAPPERS.split()))
def wrap(machine: Machine, call: Call) -> Value:
    """`FrameStack(env, 4)`: an environment again."""
    given = call.argument(0, "env")
    return given if isinstance(given, (Host, Environment)) else UNKNOWN


# -- what gymnasium demands of each environment


@on(METHOD, Environment)
def ask(machine: Machine, value: Environment, name: str, call: Call) -> Value:
    """`reset()` gives an observation and a dict, `step(action)` two flags and these."""
    part: Value = HOST if value.is_own else UNKNOWN
    told = Mapping({}, part, True)
    if name == "reset":
        return Sequence("tuple", [part, told])
    if name == "step":
        return Sequence("tuple", [part, NUMBER, BOOL, BOOL, told])
    return part


@on(ATTRIBUTE, Environment)
def read(machine: Machine, value: Environment, name: str, node: ir.Node, frame: Frame) -> Value:
    """`env.action_space`; a method that is called later."""
    if name in ("reset", "step"):
        return Method(value, name)
    return value if name == "unwrapped" and value.is_own else HOST if value.is_own else UNKNOWN
