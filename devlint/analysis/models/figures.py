"""matplotlib: figures, and the axes that functions and figures give. What is drawn on them, the tables say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models, on
from devlint.analysis.domain.values import External, Instance, Sequence, Value

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

FIGURE: Final = "matplotlib.figure.Figure"
AXES: Final = "matplotlib.axes.Axes"
"""One axes, and an array of them too: `subplots` gives the one or the other by its numbers, and no array can draw."""
_FIGURES: Final = "figure gcf"
_AXES: Final = "gca axes subplot subplot2grid twinx twiny"


def _made(machine: Machine, call: Call, path: str) -> Instance:
    return Instance(External(path), machine.site(call.node, call.frame))


@models(*(f"matplotlib.pyplot.{name}" for name in _FIGURES.split()))
def figure(machine: Machine, call: Call) -> Value:
    """`plt.figure()`."""
    return _made(machine, call, FIGURE)


@models(*(f"matplotlib.pyplot.{name}" for name in _AXES.split()))
def axes(machine: Machine, call: Call) -> Value:
    """`plt.subplot(1, 2, 1)`, `plt.gca()`."""
    return _made(machine, call, AXES)


@models("matplotlib.pyplot.subplots", "matplotlib.pyplot.subplot_mosaic")
def figure_and_axes(machine: Machine, call: Call) -> Value:
    """`fig, axes = plt.subplots(2, 3)`."""
    return Sequence("tuple", [_made(machine, call, FIGURE), _made(machine, call, AXES)])


@method_models(FIGURE, "add_subplot", "add_axes", "gca", "subplots", "subplot_mosaic")
def axes_of_figure(machine: Machine, value: Instance, call: Call) -> Value:
    """`fig.add_subplot(111)`, `fig.subplots(2)`."""
    return _made(machine, call, AXES)


@method_models(AXES, "__getitem__", "flatten", "ravel", "reshape", "transpose", "twinx", "twiny", "inset_axes")
def other_axes(machine: Machine, value: Instance, call: Call) -> Value:
    """`axes[0, 1]`, `axes.flatten()`, `ax.twinx()`."""
    return value


@method_models(AXES, "__iter__", "tolist")
def each_axes(machine: Machine, value: Instance, call: Call) -> Value:
    """`for ax in axes:`."""
    return Sequence("list", [value], True)


@on(INSTANCE_ATTRIBUTES, AXES)
def axes_attribute(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`axes.flat`, `axes.T`, `ax.figure`."""
    if name == "figure":
        return Instance(External(FIGURE), site)
    return value if name in ("flat", "T") else None


@on(INSTANCE_ATTRIBUTES, FIGURE)
def figure_attribute(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`fig.axes`."""
    return Instance(External(AXES), site) if name == "axes" else None
