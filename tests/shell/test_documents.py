"""The documents: what they point to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^()\s]+)\)")


def prose(page: Path) -> str:
    """The text of a page without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def links(page: Path) -> list[tuple[Path, str]]:
    """The files that a page points to, with the heading in each."""
    found = []
    for link in LINK.findall(prose(page)):
        if not link.startswith(("http:", "https:")):
            name, _, heading = link.partition("#")
            found.append(((page.parent / name).resolve() if name else page, heading))
    return found


def headings(page: Path) -> set[str]:
    """The headings of a page as a link names them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in links(page):
        assert target.exists(), target
        assert not heading or heading in headings(target), heading


def test_the_readme_leads_to_every_page() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            waiting += [target for target, _ in links(page)]
    assert set(PAGES) <= reached
    direct = {target for target, _ in links(ROOT / "README.md")}
    assert {page for page in PAGES if page.parent == ROOT / "docs"} <= direct


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_architecture_page_names_what_there_is() -> None:
    modules: dict[str, list[str]] = {}
    for folder in ("analysis", "rules", "sources", "syntax"):
        for path in (ROOT / "devlint" / folder).rglob("*.py"):
            modules.setdefault(path.stem, []).append(path.read_text(encoding="utf-8"))
    for module, name in re.findall(r"`(\w+)\.(\w+)`", ARCHITECTURE):
        if module in modules and name != "py":
            assert any(re.search(rf"\b{name}\b", text) for text in modules[module]), f"{module}.{name}"
    for path in (ROOT / "devlint").glob("*.py"):
        assert path.stem.startswith("__") or f"`{path.name}`" in ARCHITECTURE, path.name
