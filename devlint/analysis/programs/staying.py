"""Files that move nothing to a device, as they are written: whether the modules that they build may go to a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.memo import memoized
from devlint.syntax import ir
from devlint.syntax.walk import dotted, last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.project import Project

_MOVERS: Final = frozenset(
    "cuda xpu mps npu to_empty set_default_device set_default_tensor_type DataParallel DistributedDataParallel prepare "
    "fit initialize init_process_group launch is_available device_count".split()
)
"""What moves a module, or has a library move it, or asks whether there is somewhere to move it to."""
_BESIDE: Final = ("device", "dtype", "float", "half", "int", "long", "double", "bfloat", "bool", "uint", "complex")
"""Attributes that say where something else is, or of which type: `x.to(y.device)`, `x.to(torch.float32)`."""


@memoized
def moves(project: Project, path: str) -> bool:
    """Whether something in a file names a device to move to, asks for one, or has a library move."""
    module = project.module(path)
    return module is None or any(_is_move(part) for part in walk(module.body))


def _is_move(part: ir.Node) -> bool:
    """Whether something is moved to a device that is named, or chosen, or a library may do so."""
    if isinstance(part, ir.Const):
        return isinstance(part.value, str) and part.value.partition(":")[0] in ("cuda", "mps", "xpu", "npu")
    if not isinstance(part, ir.Call):
        return False
    name = last_name(part.function)
    if name in _MOVERS or name.endswith("Trainer"):
        return True
    keywords = [value for key, value in part.keywords if key == "device"]
    places = [*part.args, *(value for _, value in part.keywords)] if name == "to" else keywords
    return any(not _is_beside(value) for value in places)


def _is_beside(value: ir.Expr) -> bool:
    """Whether what is given for a device says that of something else, that it is the CPU, or no device at all."""
    if isinstance(value, ir.Const):
        return not isinstance(value.value, str) or value.value == "cpu"
    if not isinstance(value, ir.Attribute) or not value.name.startswith(_BESIDE):
        return False
    return value.name != "device" or dotted(value) != "self.device"
