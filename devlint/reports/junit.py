"""JUnit XML: one suite a file, one failing case a finding."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from devlint.reports.report import Report, breaks_in, place

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report) -> str:
    """Render the suites; where nothing was found, one suite with one case that passed."""
    from xml.etree import ElementTree  # late: it costs more than all other formats together

    total = len(report.findings)
    root = ElementTree.Element("testsuites", name="devlint", tests=str(total or 1), failures=str(total), errors="0")
    for filename, group in groupby(report.findings, key=lambda finding: finding.location.filename):
        findings = list(group)
        suite = _suite(root, report.relative(filename), len(findings), len(findings))
        for finding in findings:
            where = finding.location
            cell = "" if where.cell is None else f"cell{where.cell}."
            case = ElementTree.SubElement(
                suite,
                "testcase",
                name=f"{finding.code} {finding.name}",
                classname=_text(re.sub(r"\.\w+$", "", report.relative(filename)).replace("/", ".")),
                line=str(where.start.row),
                column=str(where.start.column),
                id=f"{cell}{where.start.row}.{where.start.column}",
            )
            worlds = breaks_in(finding)
            failure = ElementTree.SubElement(case, "failure", message=_text(finding.message), type=finding.severity)
            failure.text = _text(f"{place(where)}: {finding.message}" + (f"\n{worlds}" if worlds else ""))
    if not total:
        ElementTree.SubElement(_suite(root, "devlint", 1, 0), "testcase", name="no findings", classname="devlint")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, name: str, tests: int, failures: int) -> Element:
    from xml.etree import ElementTree

    return ElementTree.SubElement(
        root, "testsuite", name=_text(name), tests=str(tests), failures=str(failures), errors="0", skipped="0"
    )


def _text(text: str) -> str:
    """Return the text without characters that XML 1.0 can't hold."""
    return _NO_XML.sub("\ufffd", text)
