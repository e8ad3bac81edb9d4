"""Files whose modules stay on the CPU: only programs that move nothing come to them.

An export copies its network into a file of its own, builds it, and writes down what it computed: nobody takes such a
module to a GPU, though it would not stand it. A file that no program imports may be anybody's, and is not meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from devlint.analysis.entries import is_program
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


def stays_on_cpu(project: Project, path: str, importers: Mapping[str, set[str]]) -> bool:
    """Whether programs import a file, by way of others or at once, nothing else does, and in all of these nothing
    names a device, asks for one or moves anything. `importers`: the files of a run by which each is imported."""
    if not importers.get(path):
        return False
    around, waiting, used = {path}, [path], False
    while waiting:
        file = waiting.pop()
        above = importers.get(file, set())
        runs = not above and _is_program(project, file)
        if moves(project, file) or not (above or runs):
            return False
        used = used or runs
        waiting += above - around
        around |= above
    return used


def importers_of(imports: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """By which files each is imported, where it is known what each imports."""
    importers: dict[str, set[str]] = {}
    for importer, found in imports.items():
        for imported in found:
            importers.setdefault(imported, set()).add(importer)
    return importers


def _is_program(project: Project, path: str) -> bool:
    module, source = project.module(path), project.source(path)
    if module is None or source is None:
        return False
    return module.has_main_guard or is_program(module, source.kind != "python")


def moves(project: Project, path: str) -> bool:
    """Whether something in a file names a device to move to, asks for one, or has a library move."""
    known = project.moving.get(path)
    if known is None:
        module = project.module(path)
        known = project.moving[path] = module is None or any(_is_move(part) for part in walk(module.body))
    return known


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
