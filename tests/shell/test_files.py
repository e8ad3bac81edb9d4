"""Which files are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devlint.config import ConfigError, Overrides, Resolver
from devlint.files import find_files


def tree(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")


def shown(root: Path, *arguments: str, overrides: Overrides | None = None, force: bool = False) -> list[str]:
    found = find_files(arguments or (".",), Resolver(overrides or Overrides()), force)
    return [str(file.path.relative_to(root)) for file in found.files]


def test_a_walk_takes_sources_in_order_and_skips_the_usual_folders(project: Path) -> None:
    tree(project, "b.py", "a/z.pyi", "a/n.ipynb", "README.md", "data.csv", "Makefile")
    tree(project, ".venv/x.py", "node_modules/x.py", "a/__pycache__/x.py", "build/x.py", "a/.git/x.py")
    assert shown(project) == ["README.md", "a/n.ipynb", "a/z.pyi", "b.py"]


def test_attributes_that_macos_keeps_beside_a_file_are_no_source(project: Path) -> None:
    tree(project, "a.py", "._a.py", "b/._c.py")
    assert shown(project) == ["a.py"]
    assert shown(project, "._a.py") == ["._a.py"]


def test_git_ignore_files_are_honoured(project: Path) -> None:
    tree(project, "a.py", "gen/b.py", "gen/keep.py", "sub/c.py", "sub/d.py", "deep/sub/e.py", "x_pb2.py")
    (project / ".gitignore").write_text("gen/*\n!gen/keep.py\n/sub/c.py\n*_pb2.py\n")
    (project / "sub/.gitignore").write_text("d.py\n")
    (project / "deep/.gitignore").write_text("!*\n")
    (project / ".git/info").mkdir()
    (project / ".git/info/exclude").write_text("a.py\n")
    assert shown(project) == ["deep/sub/e.py", "gen/keep.py"]


def test_what_git_cannot_understand_ignores_nothing(project: Path) -> None:
    tree(project, "a.py", "b.py")
    (project / ".gitignore").write_text("[z-a].py\nb.py\n[ 10.1007_978-3 ].py\n")
    assert shown(project) == ["a.py"]


@pytest.mark.parametrize("key", ["exclude", "include"])
def test_a_pattern_of_the_settings_that_is_none_is_named(key: str, project: Path) -> None:
    tree(project, "a.py")
    (project / "pyproject.toml").write_text(f'[tool.devlint]\n{key} = ["b.py", "[z-a].py"]\n')
    with pytest.raises(ConfigError, match=rf"`{key}`: `\[z-a\].py` is no gitignore pattern"):
        shown(project)
    (project / "pyproject.toml").unlink()
    with pytest.raises(ConfigError, match="is no gitignore pattern"):
        shown(project, overrides=Overrides(exclude=("[z-a].py",)))


def test_git_ignore_files_above_the_argument_count(project: Path) -> None:
    tree(project, "src/a.py", "src/b.py")
    (project / ".gitignore").write_text("b.py\n")
    assert shown(project, "src") == ["src/a.py"]


def test_an_ignored_folder_that_is_named_is_walked(project: Path) -> None:
    tree(project, "gen/a.py", "build/a.py")
    (project / ".gitignore").write_text("gen\n")
    assert shown(project, "gen", "build") == ["gen/a.py", "build/a.py"]


def test_git_ignore_files_of_another_repository_do_not_count(project: Path) -> None:
    tree(project, "vendor/lib/a.py")
    (project / "vendor/lib/.git").mkdir()
    (project / ".gitignore").write_text("lib/\n")
    assert shown(project, "vendor/lib") == ["vendor/lib/a.py"]


def test_a_named_file_is_taken_whatever_it_is(project: Path) -> None:
    tree(project, "build/a.py", "script", "b.py")
    (project / ".gitignore").write_text("b.py\n")
    assert shown(project, "build/a.py", "script", "b.py") == ["build/a.py", "script", "b.py"]


def test_force_exclude_makes_excludes_win(project: Path) -> None:
    tree(project, "build/a.py", "old/b.py", "c.py")
    overrides = Overrides(extend_exclude=("old/*",))
    arguments = ("build/a.py", "old/b.py", "c.py", "build")
    assert shown(project, *arguments, overrides=overrides, force=True) == ["c.py"]
    assert len(shown(project, *arguments, overrides=overrides)) == 3


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("old", ["a.py", "src/b.py"]),
        ("old/", ["a.py", "src/b.py"]),
        ("/a.py", ["old/a.py", "src/b.py", "src/old/c.py"]),
        ("src/**/c.py", ["a.py", "old/a.py", "src/b.py"]),
        ("[ab].py", ["src/old/c.py"]),
    ],
)
def test_exclude_patterns(project: Path, pattern: str, left: list[str]) -> None:
    tree(project, "a.py", "old/a.py", "src/b.py", "src/old/c.py")
    assert shown(project, overrides=Overrides(exclude=(pattern,))) == left


def test_excludes_are_relative_to_the_configuration(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(project, "sub/a.py", "sub/b.py")
    (project / "pyproject.toml").write_text('[tool.devlint]\nextend-exclude = ["sub/a.py"]\n')
    monkeypatch.chdir(project / "sub")
    assert shown(project) == ["sub/b.py"]


def test_each_file_has_its_nearest_configuration(project: Path) -> None:
    tree(project, "a.py", "sub/b.py", "sub/c.pyi")
    (project / "pyproject.toml").write_text('[tool.devlint]\nworlds = ["cpu"]\n')
    (project / "sub/pyproject.toml").write_text('[tool.devlint]\nworlds = ["gpu1"]\ninclude = ["*.py"]\n')
    found = find_files(["."], Resolver())
    assert [(file.path.name, file.config.worlds) for file in found.files] == [("a.py", ("cpu",)), ("b.py", ("gpu1",))]


def test_a_wrong_configuration_on_the_way_is_an_error(project: Path) -> None:
    tree(project, "sub/b.py")
    (project / "sub/pyproject.toml").write_text("[tool.devlint]\nx = 1\n")
    with pytest.raises(ConfigError):
        find_files(["."], Resolver())


def test_folders_that_loop_end(project: Path) -> None:
    tree(project, "a/b.py")
    (project / "a/loop").symlink_to(project, target_is_directory=True)
    (project / "broken.py").symlink_to(project / "nowhere")
    (project / "again.py").symlink_to(project / "a/b.py")
    assert shown(project) == ["a/b.py"]
    assert shown(project, "a/loop") == ["a/loop/a/b.py"]


def test_of_a_file_and_a_link_to_it_the_file_is_taken(project: Path) -> None:
    tree(project, "train.py")
    (project / "a_link.py").symlink_to(project / "train.py")
    assert shown(project) == ["train.py"]
    assert shown(project, "a_link.py", ".") == ["a_link.py"]


def test_what_is_named_twice_is_linted_once(project: Path) -> None:
    tree(project, "a.py", "b.py")
    assert shown(project, "b.py", ".", "./b.py") == ["b.py", "a.py"]


def test_pipes_in_a_folder_are_passed_over(project: Path) -> None:
    os.mkfifo(project / "pipe.py")
    assert shown(project) == []


def test_what_is_missing_is_told(project: Path) -> None:
    found = find_files(["nowhere.py", "nul\0.py"], Resolver())
    assert [name for name, _ in found.missing] == ["nowhere.py", "nul\0.py"]
