"""Where a file says that modules are found, by what stands at its top level for `sys.path`."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.analysis.project import Project

HERE = "import os, sys\nfrom pathlib import Path\nimport os.path as osp\n"
SAID = {
    "of the folder above": "sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)) + '/lib')",
    "as it is started": "sys.path.append('../lib')",
    "as it is started from the top": "sys.path.append('lib')",
    "a Path": "sys.path.append(str(Path(__file__).resolve().parent.parent / 'lib'))",
    "one of its parents": "sys.path.insert(0, Path(__file__).parents[1].joinpath('lib').as_posix())",
    "by a name": "top = osp.abspath(osp.join(osp.dirname(__file__), os.pardir))\nsys.path.append(f'{top}/lib')",
    "several": "sys.path.extend(['elsewhere', '../lib'])",
    "added": "sys.path += ['../lib']",
    "put before": "sys.path[:0] = ['../lib']",
    "made anew": "sys.path = ['../lib', *sys.path]",
    "in a loop": "for part in ['a', '../lib']:\n    sys.path.append(part)",
    "unless it is there": "lib = '../lib'\nif lib not in sys.path:\n    sys.path.insert(1, lib)",
}
UNSAID = {
    "not known": "sys.path.append(os.environ['LIB'])",
    "outside": "sys.path.append('../../outside')",
    "from elsewhere": "os.chdir('..')\nsys.path.append('lib')",
    "too late": "import part\nsys.path.append('../lib')",
    "in a function": "def add():\n    sys.path.append('../lib')",
    "of another list": "paths = []\npaths.append('../lib')",
}


def _resolved(tmp_path: Path, text: str) -> str | None:
    for folder in ("top/lib", "top/tools", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    program = tmp_path / "top" / "tools" / "program.py"
    program.write_text(HERE + text + "\nimport part\n")
    (tmp_path / "outside" / "part.py").touch()
    (tmp_path / "top" / "lib" / "part.py").touch()
    found = Project(tmp_path / "top", {}).resolve("part", 0, str(program))
    return found and str(Path(found).relative_to(tmp_path))


@pytest.mark.parametrize("text", SAID.values(), ids=SAID)
def test_a_folder_that_a_program_adds_is_searched(text: str, tmp_path: Path) -> None:
    assert _resolved(tmp_path, text) == "top/lib/part.py"


@pytest.mark.parametrize("text", UNSAID.values(), ids=UNSAID)
def test_what_is_not_known_or_outside_is_not(text: str, tmp_path: Path) -> None:
    assert _resolved(tmp_path, text) is None
