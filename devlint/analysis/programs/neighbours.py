"""What the files around say as text, without being run: whether a project saves any weights, or its settings under a
name, or gives networks a device.

A project of some size that nowhere does is given its weights by others, who have published them: most such files hold
tensors of the CPU, and where they were saved its code can't tell. Of a few files by themselves that says nothing, nor
of a folder that is no project. A text is enough here: what looks like saving is taken for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from devlint.analysis.memo import memoized
from devlint.sources import read_source
from devlint.sources.tops import OWN, has_any
from devlint.syntax import ir
from devlint.syntax.frontend import lower
from devlint.syntax.walk import attribute_writes, dotted, walk

if TYPE_CHECKING:
    from devlint.analysis.project import Project

_FEWEST: Final = 8
"""So many files a project has at least that is expected to save what it loads."""
_MOST: Final = 2_000
"""Of a project with more files, or folders, nothing is said."""
_LONGEST: Final = 1_000_000
"""Nor of one with a longer file, in bytes."""
_SAVES: Final = re.compile(
    r"torch\.save\b|from torch import [^#\n]*\bsave\b|from torch import \([^)]*\bsave\b|\.jit\.save\b|"
    r"save_(?:checkpoint|ckpt|model|state|weight|network|net|pretrained|params|dict)|Trainer\b|ModelCheckpoint|"
    r"LightningCLI"
)
_SAVED: Final = re.compile(r"(\w+)\.save\s*\(")
_TRAINS: Final = re.compile(r"\.backward\(|\boptim\b|optimizer")
"""Who trains may save by what others wrote."""
_OTHERS: Final = frozenset("np numpy plt pyplot fig figure ax img image im grid pil wav wavfile sf df workbook".split())
"""What saves arrays, pictures, sounds and tables."""
_CHOSEN: Final = frozenset("args arguments opt opts options config cfg conf hparams flags".split())
"""What programs call the settings that their users choose."""
_NOT_OWN: Final = frozenset({"node_modules", "site-packages", "build", "dist", "__pycache__"})


def saves_nothing(project: Project, path: str) -> bool:
    """Whether the project around a file saves no weights anywhere, though it has files enough to, or the project that
    was copied into it with its license does not. What is found in the file hangs on the others, and is not kept from
    one run to the next."""
    project.uncached.add(path)
    return not all(_saves(project, folder) for folder in {str(project.root), _copied(project, path)})


def saves_settings(project: Project, path: str, name: str) -> bool:
    """Whether what the project around a file saves under a name, as the last part of a path, is what its user has
    chosen, `torch.save(args, os.path.join(folder, "training_args.bin"))`, and nothing else is."""
    project.uncached.add(path)
    return _saves_settings(project, name)


@memoized
def _saves_settings(project: Project, name: str) -> bool:
    saving = re.compile(rf"\.save\(\s*([\w.]+)\s*,[^\n]*['\"/]{re.escape(name)}['\"]")
    found: set[str] = set()
    for number, path in enumerate(_files(str(project.root))):
        if path is None or number > _MOST:
            return False
        text = text_of_file(project, path)  # what is too long to read are the outputs of a notebook
        if text is not None and name in text:
            found |= {match[1].rpartition(".")[2].lower() for match in saving.finditer(text)}
    return bool(found) and found <= _CHOSEN


def gives_networks_device(project: Project, path: str) -> bool:
    """Whether a file of the project around one gives networks that it is handed a device: `model.device = device`,
    where it does with `model` what is done with networks. Any of those that nobody in sight builds may be one of them.
    """
    project.uncached.add(path)
    read = (_gives_device(project, module) for _, module in project.loaded())
    return any(read) or _any_gives_device(project, str(project.root))


@memoized
def _any_gives_device(project: Project, root: str) -> bool:
    for number, path in enumerate(_files(root)):
        if path is None or number > _MOST:
            return False
        text = text_of_file(project, path) or ""
        if ".device" not in text or not _OF_NETWORKS.intersection(words_of(text)):
            continue
        try:
            if _gives_device(project, lower(text, path)):
                return True
        except (SyntaxError, RecursionError, ValueError, MemoryError):
            continue  # it is told of where it is checked itself
    return False


@memoized
def _gives_device(project: Project, module: ir.Module) -> bool:
    """Whether a file writes the device of what it calls as networks are called."""
    if ".device" not in module.text:
        return False
    given = {dotted(owner) for _, name, owner in attribute_writes(module.body) if name == "device"} - {"", "self"}
    functions = [node.function for node in walk(module.body) if isinstance(node, ir.Call)] if given else []
    called = [part for part in functions if isinstance(part, ir.Attribute) and part.name in _OF_NETWORKS]
    return any(dotted(part.value) in given for part in called)


_OF_NETWORKS: Final = frozenset(
    "parameters named_parameters state_dict load_state_dict train eval zero_grad forward".split()
)
"""Methods that tell a network from what else is given a device: options, environments."""


def those_that_save(project: Project) -> list[str]:
    """The files of a project of some size that save or train, as their texts tell; none where that can't be said."""
    return _saving(project, project.root)


@memoized
def _saving(project: Project, root: str) -> list[str]:
    if not has_any(root):
        return []
    seen, savers = 0, []
    for path in _files(root):
        seen += 1
        text = None if path is None or seen > _MOST else text_of_file(project, path)
        if path is None or text is None:
            return []
        if _looks_like_saving(text) or _TRAINS.search(text):
            savers.append(path)
    return savers if seen >= _FEWEST else []


_SETTINGS: Final = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".gin", ".sh")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


def words_of(text: str) -> frozenset[str]:
    """The names in a text."""
    return frozenset(_WORD.findall(text))


_TEXT: Final = re.compile(r"""['"]([^'"\n]*)['"]""")


def words_in_texts(text: str) -> frozenset[str]:
    """The names in the texts that a program writes down."""
    return words_of(" ".join(_TEXT.findall(text)))


def words_of_settings(project: Project) -> frozenset[str]:
    """The names in the files of a project that are no programs, but may say what its programs build."""
    return _words_of_settings(project, project.root)


@memoized
def _words_of_settings(project: Project, root: str) -> frozenset[str]:
    found: set[str] = set()
    for number, path in enumerate(_files(root, _SETTINGS)):
        if path is None or number > _MOST:
            break
        found |= words_of(text_of_file(project, path) or "")
    return frozenset(found)


def _looks_like_saving(text: str) -> bool:
    return bool(_SAVES.search(text)) or not {found[1] for found in _SAVED.finditer(text)} <= _OTHERS


def _copied(project: Project, path: str) -> str:
    """The innermost folder around a file that is a project of its own, by its license or what installs it."""
    folder, root = os.path.dirname(path), str(project.root)
    while folder.startswith(root + os.sep):
        if has_any(folder, OWN):
            return folder
        folder = os.path.dirname(folder)
    return root


@memoized
def _saves(project: Project, folder: str) -> bool:
    """Whether any file below a folder may save weights."""
    if not has_any(folder):
        return True
    seen = 0
    for path in _files(folder):
        seen += 1
        text = None if path is None or seen > _MOST else text_of_file(project, path)
        if text is None or _looks_like_saving(text):
            return True
    return seen < _FEWEST


def text_of_file(project: Project, path: str) -> str | None:
    """The text of a file, of a notebook that of its code; None where it can't be read."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LONGEST:
            return None
        source = project.sources.get(path)
        if source is None and path.endswith(".ipynb"):
            source = read_source(Path(path), path)
        if source is not None:
            return source.text
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def _files(root: str, endings: tuple[str, ...] = (".py", ".ipynb")) -> Iterator[str | None]:
    """The Python files and notebooks of a project, or others; None where there are too many folders to look into."""
    for number, (folder, folders, names) in enumerate(os.walk(root)):
        if number > _MOST:
            yield None
            return
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _NOT_OWN
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(endings))
