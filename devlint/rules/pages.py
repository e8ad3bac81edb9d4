"""What is said about the rules outside their files: documentation pages, the README's list, `devlint rule`.

All of it is made from the `Rule` objects. `python -m devlint.rules.pages --write` brings the files in the repository up
to date, `--check` tells which ones are not.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from devlint.rules.base import Example, Rule
from devlint.rules.catalogue import CATALOGUE
from devlint.worlds import WORLD_NAMES

ROOT = Path(__file__).parents[2]
START, END = "<!-- rules:start -->", "<!-- rules:end -->"

GROUPS = {
    "0": "The analysis itself",
    "1": "Devices that are not there",
    "2": "Moves without effect",
    "3": "Devices that clash",
    "4": "Host and accelerator",
    "5": "Modules and state",
    "6": "Visible devices and processes",
    "7": "Comparisons of devices",
    "8": "Transfers and waiting",
    "9": "Legacy tensor types",
}


def page(rule: Rule) -> str:
    """Return the rule's page in Markdown: what `devlint rule CODE` prints and `docs/rules/CODE.md` holds."""
    parts = [f"# {rule.code} {rule.name}", rule.summary, _facts(rule)]
    parts += ["## What it does", rule.what.strip(), "## Why is this bad", rule.why.strip()]
    for example in (rule.example, *rule.more_examples):
        parts += _example(rule, example)
    if rule.fix_safety.strip():
        parts += ["## Fix safety", rule.fix_safety.strip()]
    if rule.references:
        parts += ["## References", "\n".join(f"- <{address}>" for address in rule.references)]
    return "\n\n".join(parts) + "\n"


def as_json(rule: Rule) -> dict[str, Any]:
    """Return the rule as `devlint rule --all --output-format json` shows it."""
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "what": rule.what.strip(),
        "why": rule.why.strip(),
        "severity": rule.severity,
        "default": rule.default,
        "worlds": list(rule.worlds),
        "error": rule.error,
        "fix": {"available": rule.fixer is not None, "safety": rule.fix_safety.strip() or None},
        "examples": [
            {"bad": example.bad, "good": example.good, "errors": _errors(rule, example)}
            for example in (rule.example, *rule.more_examples)
        ],
        "references": list(rule.references),
        "url": rule.url,
    }


def index(rules: Iterable[Rule] = CATALOGUE) -> str:
    """Return `docs/rules/index.md`: the rules in groups, each linked to its page."""
    introduction = (
        "Each rule has a page, which is also what `devlint rule CODE` prints. The worlds are those in which a program "
        "can break because of it: `cpu` has no GPU, `gpu1` has one, `gpu2` has two. Rules marked *advice* are off "
        "unless they are selected."
    )
    return f"# Rules\n\n{introduction}\n\n{_grouped(rules, '')}\n"


def readme_list(rules: Iterable[Rule] = CATALOGUE) -> str:
    """Return what stands between the marks in the README, the marks included."""
    return f"{START}\n\n{_grouped(rules, 'docs/rules/', heading='###')}\n\n{END}"


def files(root: Path = ROOT) -> Mapping[Path, str]:
    """Return every generated file with the content that it should have.

    Raises:
        ValueError: the README has no marks for the list.
    """
    wanted = {root / "docs" / "rules" / f"{rule.code}.md": page(rule) for rule in CATALOGUE}
    wanted[root / "docs" / "rules" / "index.md"] = index()
    readme = root / "README.md"
    if not readme.exists():
        return wanted
    text = readme.read_text(encoding="utf-8")
    if START not in text or END not in text:
        raise ValueError(f"{readme} has no {START} and {END}")
    listed = readme_list()
    pattern = re.escape(START) + ".*" + re.escape(END)
    wanted[readme] = re.sub(pattern, lambda _: listed, text, flags=re.DOTALL)
    return wanted


def stale(root: Path = ROOT) -> list[Path]:
    """Return the generated files that are missing, differ from what the rules say, or belong to no rule."""
    wanted = files(root)
    differing = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    return differing + [path for path in sorted((root / "docs" / "rules").glob("DEV*.md")) if path not in wanted]


def main(arguments: list[str]) -> int:
    """Write the files or tell which are stale; return the exit status."""
    if arguments not in (["--write"], ["--check"]):
        print("usage: python -m devlint.rules.pages --write | --check", file=sys.stderr)
        return 2
    wanted = files()
    for path in stale():
        print(path.relative_to(ROOT))
        if arguments == ["--check"]:
            continue
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
    return 1 if stale() else 0


def _facts(rule: Rule) -> str:
    worlds = ", ".join(f"`{world}`" for world in rule.worlds) or "none"
    state = "on by default" if rule.default else f"off by default: `--select {rule.code}`"
    fix = "no" if rule.fixer is None else "yes, see below"
    severity: str = rule.severity
    if rule.unseen is not None:
        severity += f"; {rule.unseen} where no program or test in sight calls the code"
    rows = [("Severity", severity), ("Breaks in", worlds), ("State", state), ("Fix", fix)]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _errors(rule: Rule, example: Example) -> dict[str, str | None]:
    """What the bad example raises, by the worlds that its expectations name."""
    worlds = {world for found in re.findall(rf"# {rule.code}:([ \w]*)", example.bad) for world in found.split()}
    return {world: example.errors.get(world, rule.error) for world in WORLD_NAMES if world in worlds}


def _example(rule: Rule, example: Example) -> list[str]:
    parts = ["## Example", _fence(example.bad)]
    if example.observe is not None:
        parts.append(_observations(example))
    else:
        by_text: dict[str, list[str]] = {}
        for world, error in _errors(rule, example).items():
            by_text.setdefault(error or "", []).append(world)
        parts += [f"In {_and(worlds)}: `{error}`" for error, worlds in by_text.items() if error]
    return [*parts, "Use instead:", _fence(example.good)]


def _observations(example: Example) -> str:
    rows = [
        f"| `{world}` | `{bad!r}` | `{mended!r}` |"
        for world, (bad, mended) in example.observed.items()
        if world in WORLD_NAMES
    ]
    head = [f"| `{example.observe}` afterwards | as above | mended |", "|---|---|---|"]
    return "\n".join(head + rows)


def _fence(code: str) -> str:
    return f"```python\n{code.strip()}\n```"


def _and(worlds: list[str]) -> str:
    names = [f"`{world}`" for world in worlds]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _grouped(rules: Iterable[Rule], folder: str, heading: str = "##") -> str:
    groups: dict[str, list[Rule]] = {}
    for rule in rules:
        groups.setdefault(rule.code[3], []).append(rule)
    return "\n\n".join(f"{heading} {GROUPS[digit]}\n\n{_table(group, folder)}" for digit, group in groups.items())


def _table(rules: Iterable[Rule], folder: str) -> str:
    rows = ["| Code | Name | What | Worlds | Fix |", "|---|---|---|---|---|"]
    for rule in rules:
        worlds = " ".join(rule.worlds) or "-"
        name = f"{rule.name} (advice)" if rule.severity == "advice" else rule.name
        summary = rule.summary.replace("|", "\\|")
        fix = "yes" if rule.fixer is not None else "-"
        rows.append(f"| [{rule.code}]({folder}{rule.code}.md) | {name} | {summary} | {worlds} | {fix} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
