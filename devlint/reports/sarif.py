"""SARIF 2.1.0, for code scanning. https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html"""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from devlint import __version__
from devlint.findings import Finding, Fix, Location, Position
from devlint.fingerprints import fingerprints
from devlint.reports.report import Report, breaks_in
from devlint.rules.base import Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"
_LEVELS = {"error": "error", "warning": "warning", "advice": "note"}


def sarif(report: Report) -> str:
    """Render one run. In notebooks, whose rows count within a cell, logical locations take the place of regions."""
    descriptors = [_descriptor(rule) for rule in report.rules]
    index = {descriptor["id"]: position for position, descriptor in enumerate(descriptors)}
    for finding in report.findings:
        if finding.code not in index:
            index[finding.code] = len(descriptors)
            url = {"helpUri": finding.url} if finding.url else {}
            descriptors.append({"id": finding.code, "name": _pascal(finding.name), **url})
    identities = fingerprints(report.findings, report.sources, report.relative)
    run = {
        "tool": {
            "driver": {
                "name": "devlint",
                "informationUri": "https://devlint.readthedocs.io",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": descriptors,
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": Path(os.path.abspath(report.root)).as_uri().rstrip("/") + "/"}},
        "results": [
            _result(report, finding, index[finding.code], identity)
            for finding, identity in zip(report.findings, identities, strict=True)
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _descriptor(rule: Rule) -> dict[str, Any]:
    sections = [
        f"## What it does\n\n{rule.what}",
        f"## Why is this bad?\n\n{rule.why}",
        f"## Example\n\n```python\n{rule.example.bad.strip()}\n```",
        f"Use instead:\n\n```python\n{rule.example.good.strip()}\n```",
    ]
    return {
        "id": rule.code,
        "name": _pascal(rule.name),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.what},
        "help": {"text": f"{rule.what}\n\n{rule.why}", "markdown": "\n\n".join(sections)},
        "helpUri": rule.url,
        "defaultConfiguration": {"enabled": rule.default, "level": _LEVELS[rule.severity]},
        "properties": {"tags": ["pytorch", "device", rule.severity], "worlds": list(rule.worlds)},
    }


def _pascal(name: str) -> str:
    """Return the name as SARIF viewers expect identifiers: `dropped-move` becomes `DroppedMove`."""
    return "".join(part.capitalize() for part in name.split("-")) or "Unnamed"


def _result(report: Report, finding: Finding, rule_index: int, identity: str) -> dict[str, Any]:
    where = finding.location
    worlds = breaks_in(finding)
    cell = "" if where.cell is None else f"cell {where.cell}, row {where.start.row}: "
    error = f": {finding.error}" if finding.error else ""
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{cell}{finding.message}" + (f"\n{worlds}{error}" if worlds else "")},
        "locations": [_location(report, where)],
        "partialFingerprints": {"devlint/v1": identity},
        "properties": {"worlds": list(finding.worlds), "errors": dict(finding.errors)},
    }
    if finding.when:
        result["properties"]["when"] = [
            {"condition": choice.condition, "value": choice.value} for choice in finding.when
        ]
    if finding.trace:
        steps = [
            {"location": _location(report, step.location) | {"message": {"text": step.message}}}
            for step in finding.trace
        ]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.fix is not None and where.cell is None:
        result["fixes"] = [_fix(report, where, finding.fix)]
    return result


def _location(report: Report, where: Location) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(report, where.filename)}
    if where.cell is None:
        physical["region"] = _region(where.start, where.end)
        return {"physicalLocation": physical}
    name = f"cell {where.cell}, row {where.start.row}, column {where.start.column}"
    logical = {"name": f"cell {where.cell}", "fullyQualifiedName": f"{report.relative(where.filename)}, {name}"}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _artifact(report: Report, filename: str) -> dict[str, str]:
    relative = report.relative(filename)
    if PurePosixPath(relative).is_absolute() or relative.startswith("../"):
        return {"uri": Path(os.path.abspath(filename)).as_uri()}
    return {"uri": quote(os.fsencode(relative)), "uriBaseId": _ROOT}


def _region(start: Position, end: Position) -> dict[str, int]:
    return {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}


def _fix(report: Report, where: Location, fix: Fix) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(edit.start, edit.end), "insertedContent": {"text": edit.content}}
        for edit in fix.edits
    ]
    change = {"artifactLocation": _artifact(report, where.filename), "replacements": replacements}
    return {"description": {"text": f"{fix.message} ({fix.applicability})"}, "artifactChanges": [change]}
