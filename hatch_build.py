"""The optional build: a wheel whose interpreter is compiled to C by mypyc (`HATCH_BUILD_HOOKS_ENABLE=1 pip wheel .`).

Nothing is written into the source tree: mypyc and the compiler work on a copy in a temporary folder.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILED = ("analysis/**/*.py", "semantics/*.py", "syntax/**/*.py", "worlds.py")
"""The files of the package in which a run spends its time."""
INTERPRETED = (
    "__init__.py",
    "analysis/domain/derived.py",
    "analysis/models/command_lines.py",
    "syntax/late.py",
    "syntax/tree.py",
    "syntax/positions.py",
)
"""What is left out of them: classes that mypyc does not have (of builtin types, argparse, libcst), and empty files."""
OF_LIBCST = ("syntax/parsing.py", "syntax/offsets.py", "syntax/cst_*.py", "syntax/lower_cst.py")
"""What works on libcst's tree, which only files with findings pay for."""


def compiled_files(package: Path) -> list[str]:
    """The files to compile, relative to the folder around the package."""
    files = [path for pattern in COMPILED for path in sorted(package.glob(pattern))]
    left_out = (*INTERPRETED, *OF_LIBCST)
    return [str(path.relative_to(package.parent)) for path in files if not any(path.match(name) for name in left_out)]


class CompileHook(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel, beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell the builder what to include."""
        if version == "editable":
            return
        self.folder = Path(tempfile.mkdtemp(prefix="devlint-compiled-"))
        shutil.copytree(Path(self.root, "devlint"), self.folder / "devlint", ignore=shutil.ignore_patterns("*.pyc"))
        shutil.copy(Path(self.root, "pyproject.toml"), self.folder)
        made = self.folder / "made"
        command = [sys.executable, str(Path(__file__).resolve()), "--quiet", "build_ext", "--build-lib", str(made)]
        subprocess.run(command, cwd=self.folder, check=True)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for path in made.rglob("*"):
            if path.is_file():
                build_data["force_include"][str(path)] = str(path.relative_to(made))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if version != "editable":
            shutil.rmtree(self.folder, ignore_errors=True)


def compile_here() -> None:
    """Translate and compile the package in the current folder, as a setup script."""
    from mypyc.build import mypycify
    from setuptools import setup

    options = [
        "--config-file=pyproject.toml",
        "--ignore-missing-imports",
        "--follow-imports=silent",
        "--cache-dir=types",
    ]
    modules = mypycify(
        [*options, *compiled_files(Path("devlint").resolve())],
        opt_level="2",
        debug_level="0",
        multi_file=True,
        group_name="devlint",
        target_dir="c",
    )
    setup(name="devlint-compiled", packages=[], py_modules=[], ext_modules=modules)


if __name__ == "__main__":
    compile_here()
