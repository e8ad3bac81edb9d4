"""Objects as bytes: `pickle`, and files in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.values import UNKNOWN, Const, External, Instance, Value
from devlint.analysis.models.copying import copied
from devlint.analysis.models.system import temporary_name
from devlint.analysis.models.torch_files import keep, saved_content

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@models("io.BytesIO", "io.StringIO", "tempfile.TemporaryFile")
def memory_file(machine: Machine, call: Call) -> Value:
    """A file of its own: what is saved there is found again, or stood in the bytes that it was made of."""
    made = Instance(External("io.BytesIO"), machine.site(call.node, call.frame))
    held = call.argument(0, "initial_bytes")
    if held is not None and _is_known(held):
        keep(machine, _content(held), made, call)
    return made


@method_models("io.BytesIO", "getvalue", "read", "getbuffer")
def bytes_of_file(machine: Machine, file: Instance, call: Call) -> Value:
    """`file.getvalue()`: the bytes of what was saved there."""
    content = saved_content(machine, file)
    return UNKNOWN if content is None else _bytes(machine, content, call)


@models("tempfile.NamedTemporaryFile")
def named_file(machine: Machine, call: Call) -> Value:
    """A file that can be opened again by its name."""
    made = memory_file(machine, call)
    assert isinstance(made, Instance)
    made.fields["name"] = Const(temporary_name(), made.site)
    return made


@models("pickle.dump", "cloudpickle.dump", "dill.dump")
def pickled(machine: Machine, call: Call) -> Value:
    """`pickle.dump(obj, file)` keeps an object with all that it holds."""
    return keep(machine, call.argument(0, "obj"), call.argument(1, "file"), call)


@models("pickle.load", "cloudpickle.load", "dill.load")
def unpickled(machine: Machine, call: Call) -> Value:
    """`pickle.load(file)` gives back what the program itself kept there."""
    content = saved_content(machine, call.argument(0, "file"))
    return UNKNOWN if content is None else copied(content, {})


@models("pickle.dumps", "cloudpickle.dumps", "dill.dumps")
def pickled_bytes(machine: Machine, call: Call) -> Value:
    """`pickle.dumps(obj)`: bytes that are read by `loads` alone."""
    return _bytes(machine, call.argument(0, "obj") or UNKNOWN, call)


@models("pickle.loads", "cloudpickle.loads", "dill.loads")
def unpickled_bytes(machine: Machine, call: Call) -> Value:
    """`pickle.loads(pickle.dumps(obj))` is a copy."""
    held = call.argument(0, "data")
    return copied(_content(held), {}) if held is not None and _is_known(held) else UNKNOWN


_BYTES: Final = "devlint.pickled"


def _bytes(machine: Machine, content: Value, call: Call) -> Value:
    made = Instance(External(_BYTES), machine.site(call.node, call.frame))
    made.state["content"] = copied(content, {})
    return made


def _is_known(held: Value) -> bool:
    """Whether these are bytes of which it is known what they hold."""
    return isinstance(held, Instance) and isinstance(held.cls, External) and held.cls.path == _BYTES


def _content(held: Value) -> Value:
    assert isinstance(held, Instance)
    content = held.state["content"]
    assert isinstance(content, Value)
    return content
