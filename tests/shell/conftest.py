"""A small analyser and two rules, so that the shell is tested apart from the interpreter and the real rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devlint import analysing
from devlint.analysing import Outcome, Request
from devlint.analysis.events import Choice, DeviceNamed, Failure, MixedDevices, Site
from devlint.rules import catalogue
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.sources import Source

ERROR = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
EXAMPLE = Example(bad="x.to(d)\n", good="x = x.to(d)\n")


def fake_rules() -> tuple[Rule, ...]:
    """Return a rule with a safe fix, one with an unsafe fix that is off by default, and DEV000."""
    dropped = Rule(
        code="DEV201",
        name="dropped-move",
        summary="The moved copy is thrown away.",
        what="What.",
        why="Why.",
        example=EXAMPLE,
        worlds=("gpu1", "gpu2"),
    )
    named = Rule(
        code="DEV103",
        name="device-string",
        summary="A device is named by a string.",
        what="What.",
        why="Why.",
        example=EXAMPLE,
        severity="advice",
        worlds=(),
        default=False,
    )
    unchecked = Rule(
        code="DEV000", name="not-analysed", summary="Not analysed.", what="", why="", example=EXAMPLE, worlds=()
    )

    @dropped.on(MixedDevices)
    def diagnose(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
        yield Diagnosis(event.root, f"the result of `{context.text(event.root)}` is thrown away", event)

    @dropped.fix
    def assign(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
        start, _ = context.site_span(diagnosis.site)
        name = context.site_text(diagnosis.site).split(".")[0]
        return Mend("safe", "Assign the result.", (Replacement(start, start, f"{name} = "),))

    @named.on(DeviceNamed)
    def tell(event: DeviceNamed, context: TextContext) -> Iterator[Diagnosis]:
        yield Diagnosis(event.root, f"device named as {context.text(event.root)}", event)

    @named.fix
    def rename(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
        start, end = context.site_span(diagnosis.site)
        return Mend("unsafe", "Use a handle.", (Replacement(start, end, "device"),))

    return unchecked, named, dropped


def fake_analysis(request: Request, sources: Mapping[str, Source]) -> Outcome:
    """Call every dropped `.to()` a mixture and every device string a name; under `if flag:` only if `flag` is true."""
    outcome = Outcome()
    for path, source in sources.items():
        try:
            tree = ast.parse(source.text)
        except (SyntaxError, RecursionError, MemoryError) as error:
            row = getattr(error, "lineno", 1) or 1
            outcome.failures.append(Failure(path, row, f"{type(error).__name__}: {error}"))
            continue
        guarded = {
            id(child): node
            for node in ast.walk(tree)
            if isinstance(node, ast.If)
            for statement in node.body
            for child in ast.walk(statement)
        }
        for node in ast.walk(tree):
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="explode"))):
                    raise RuntimeError("boom")
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="to"))) if MixedDevices in request.wanted:
                    site = Site(path, node)
                    guard = guarded.get(id(node))
                    when = () if guard is None else (Choice(ast.unparse(guard.test), True, Site(path, guard.test)),)
                    outcome.events += [
                        MixedDevices(world.name, site, site, ERROR, when) for world in request.worlds if world.has_cuda
                    ]
                case ast.Constant(value="cuda") if DeviceNamed in request.wanted:
                    outcome.events += [
                        DeviceNamed(world.name, Site(path, node), Site(path, node)) for world in request.worlds
                    ]
    return outcome


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the interpreter and the catalogue by the small ones above."""
    monkeypatch.setattr(analysing, "analyse_project", fake_analysis)
    monkeypatch.setattr(catalogue, "CATALOGUE", fake_rules())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty project that is the current folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder
