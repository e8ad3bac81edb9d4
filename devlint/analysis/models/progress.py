"""Progress bars: they pass on what they iterate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.values import COUNT, NONE, UNKNOWN, External, Instance, Sequence, Value
from devlint.analysis.python.iterables import range_call

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

BAR: Final = "tqdm.tqdm"

_TQDM: Final = (
    BAR,
    "tqdm.tqdm.tqdm",
    "tqdm.auto.tqdm",
    "tqdm.notebook.tqdm",
    "tqdm.std.tqdm",
    "tqdm.rich.tqdm",
    "tqdm.asyncio.tqdm",
    "tqdm.autonotebook.tqdm",
    "tqdm.tqdm_notebook",
    "tqdm.contrib.tenumerate",
    "rich.progress.track",
    "progressbar.progressbar",
    "alive_progress.alive_it",
    "fastprogress.progress_bar",
    "fastprogress.fastprogress.progress_bar",
    "fastprogress.master_bar",
    "tqdm_loggable.auto.tqdm",
    "tqdm_loggable.tqdm_logging.tqdm",
    "enlighten.Counter",
)


@models(*_TQDM)
def bar(machine: Machine, call: Call) -> Value | None:
    """`tqdm(xs)`."""
    made = Instance(External(BAR), machine.site(call.node, call.frame))
    iterable = call.argument(0, "iterable") or call.keywords.get("sequence")
    made.state["iterable"] = UNKNOWN if iterable is None else iterable
    return made


@models("tqdm.trange", "tqdm.auto.trange", "tqdm.notebook.trange", "tqdm.std.trange", "tqdm.tnrange")
def range_bar(machine: Machine, call: Call) -> Value | None:
    """`trange(n)`."""
    made = Instance(External(BAR), machine.site(call.node, call.frame))
    made.state["iterable"] = range_call(machine, call.with_arguments(call.positional)) or Sequence(
        "range", [COUNT], True
    )
    return made


@method_models(BAR, "__iter__")
def items(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """What it iterates."""
    iterable: Value = instance.state["iterable"]
    return iterable


@method_models(BAR, "__len__")
def size(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """How many items there are."""
    iterable: Value = instance.state["iterable"]
    return call_method(machine, iterable, "__len__", call)


@method_models(BAR, "*")
def method(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`bar.set_description(...)` and all the others."""
    return NONE


@models("tqdm.tqdm.write", "tqdm.auto.tqdm.write", "tqdm.write")
def write(machine: Machine, call: Call) -> Value | None:
    """`tqdm.write(text)`."""
    return NONE
