"""The formats for programs: keys, escapes, schemas."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from devlint.config import OUTPUT_FORMATS
from devlint.findings import Finding
from devlint.fingerprints import fingerprints
from devlint.reports import FORMATS
from devlint.rules.catalogue import CATALOGUE
from tests.reports.examples import ATTRIBUTE, COMPARED, DROPPED, MAIN, SOURCES, UNREAD, at, rendered, source

ALL = (COMPARED, UNREAD, ATTRIBUTE, DROPPED)
SCHEMA = Path(__file__).parent.parent / "data" / "sarif-schema-2.1.0.json"


def test_every_format_of_the_command_exists() -> None:
    assert set(FORMATS) == {*OUTPUT_FORMATS, "statistics"}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_ends_its_last_row(name: str) -> None:
    assert rendered(name, *ALL).endswith("\n")


def test_concise() -> None:
    assert rendered("concise", *ALL, checked=9).splitlines() == [
        "main.py:1:8: DEV701 never equal: 50 %, x,y:z second row (cpu)",
        "main.py:3:7: DEV000 invalid syntax",
        "model.py:5:9: DEV501 `self.attn_bias` stays on the CPU when the module moves (gpu1, gpu2)",
        "nb.ipynb:cell 2:2:1: DEV201 [*] the result of `x.to(device)` is thrown away (gpu1, gpu2)",
        "Found 3 errors and 1 warning in 9 files. Worlds: cpu 1, gpu1 2, gpu2 2; 1 could not be checked.",
        "1 fixable with `--fix`, 1 more with `--fix --unsafe-fixes`.",
    ]


def test_grouped() -> None:
    assert (
        rendered("grouped", *ALL, summary=False)
        == """\
main.py:
  1:8  DEV701 never equal: 50 %, x,y:z second row (cpu)
  3:7  DEV000 invalid syntax

model.py:
  5:9  DEV501 `self.attn_bias` stays on the CPU when the module moves (gpu1, gpu2)

nb.ipynb:
  cell 2:2:1  DEV201 [*] the result of `x.to(device)` is thrown away (gpu1, gpu2)
"""
    )


def test_statistics() -> None:
    assert rendered("statistics", DROPPED, *ALL) == (
        "2  DEV201  [*]  dropped-move\n1  DEV000  [ ]  not-analysed\n"
        "1  DEV501  [ ]  tensor-attribute\n1  DEV701  [ ]  device-compared-with-string\n"
    )
    assert rendered("statistics") == ""


def test_json_is_the_contract() -> None:
    findings = json.loads(rendered("json", *ALL))
    assert findings == [finding.as_json() for finding in ALL]
    assert findings[3] == {
        "code": "DEV201",
        "name": "dropped-move",
        "message": "the result of `x.to(device)` is thrown away",
        "filename": "nb.ipynb",
        "cell": 2,
        "location": {"row": 2, "column": 1},
        "end_location": {"row": 2, "column": 13},
        "severity": "error",
        "worlds": ["gpu1", "gpu2"],
        "when": None,
        "error": DROPPED.errors["gpu1"],
        "errors": dict(DROPPED.errors),
        "trace": [],
        "fix": {
            "applicability": "safe",
            "message": "assign it back",
            "edits": [
                {
                    "content": "x = ",
                    "location": {"row": 2, "column": 1},
                    "end_location": {"row": 2, "column": 1},
                    "cell": 2,
                }
            ],
        },
        "noqa_row": 2,
        "url": "",
    }
    assert json.loads(rendered("json")) == []


def test_json_lines() -> None:
    lines = rendered("json-lines", *ALL).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(rendered("json", *ALL))
    assert rendered("json-lines") == ""


def test_github() -> None:
    assert rendered("github", *ALL).splitlines() == [
        "::warning title=devlint (DEV701),file=main.py,line=1,endLine=3::main.py:1:8: DEV701 never equal: 50 %25, x,y:z"
        "%0Asecond row (goes wrong on cpu)",
        "::error title=devlint (DEV000),file=main.py,line=3,col=7,endLine=3,endColumn=7::main.py:3:7: DEV000 "
        "invalid syntax",
        "::error title=devlint (DEV501),file=model.py,line=5,col=9,endLine=5,endColumn=23::model.py:5:9: DEV501 "
        "`self.attn_bias` stays on the CPU when the module moves (breaks on gpu1, gpu2)",
        "::error title=devlint (DEV201),file=nb.ipynb::nb.ipynb:cell 2:2:1: DEV201 the result of `x.to(device)` is "
        "thrown away (breaks on gpu1, gpu2)",
    ]
    odd = replace(UNREAD, location=at(1, 1, 2, "a,b:c%\n.py"), severity="advice")
    assert rendered("github", odd).startswith("::notice title=devlint (DEV000),file=a%2Cb%3Ac%25%0A.py,line=1")


def test_paths_are_relative_to_the_root(tmp_path: Path) -> None:
    inside = replace(UNREAD, location=at(1, 1, 2, str(tmp_path / "sub" / "é a.py")))
    outside = replace(UNREAD, location=at(1, 1, 2, "/elsewhere/b.py"))
    issues = json.loads(rendered("gitlab", inside, outside, root=tmp_path))
    assert [issue["location"]["path"] for issue in issues] == ["sub/é a.py", "/elsewhere/b.py"]
    results = json.loads(rendered("sarif", inside, outside, root=tmp_path))["runs"][0]["results"]
    artifacts = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in results]
    assert artifacts == [
        {"uri": "sub/%C3%A9%20a.py", "uriBaseId": "%SRCROOT%"},
        {"uri": "file:///elsewhere/b.py"},
    ]


def test_gitlab() -> None:
    issues = json.loads(rendered("gitlab", *ALL))
    assert [issue["severity"] for issue in issues] == ["minor", "major", "major", "major"]
    assert issues[2] | {"fingerprint": ""} == {
        "description": "`self.attn_bias` stays on the CPU when the module moves (breaks on gpu1, gpu2)",
        "check_name": "DEV501",
        "fingerprint": "",
        "severity": "major",
        "location": {"path": "model.py", "lines": {"begin": 5, "end": 5}},
    }
    assert issues[3]["description"].startswith("cell 2, row 2: ")
    assert issues[3]["location"]["lines"] == {"begin": 1, "end": 1}


def test_fingerprints_survive_moved_rows() -> None:
    twice = [UNREAD, replace(UNREAD, location=at(5, 7, 7, "main.py"))]
    before = fingerprints(twice, {"main.py": source(MAIN + "\n    " + MAIN.splitlines()[2], "main.py")})
    moved = [replace(item, location=at(item.location.start.row + 2, 1, 1, "main.py")) for item in twice]
    after = fingerprints(moved, {"main.py": source("\n\n" + MAIN + "\n" + MAIN.splitlines()[2], "main.py")})
    assert before == after
    assert len(set(before)) == 2
    assert fingerprints([replace(UNREAD, code="DEV101")], SOURCES) != before[:1]


def validated(*findings: Finding, **options: Any) -> Any:
    document = json.loads(rendered("sarif", *findings, **options))
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    errors = list(validator(schema, format_checker=validator.FORMAT_CHECKER).iter_errors(document))
    assert errors == []
    return document["runs"][0]


def test_sarif_follows_the_schema() -> None:
    run = validated(*ALL, rules=CATALOGUE)
    rules = run["tool"]["driver"]["rules"]
    assert len(rules) == len({rule["id"] for rule in rules}) >= len(CATALOGUE)
    for result, finding in zip(run["results"], ALL, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding.code
    described = next(rule for rule in rules if rule["id"] == "DEV501")
    assert described["name"] == "TensorAttribute"
    assert described["helpUri"].endswith("/DEV501/")
    assert "```python" in described["help"]["markdown"]
    assert run["columnKind"] == "unicodeCodePoints"


def test_sarif_without_rules_or_findings() -> None:
    assert validated()["results"] == []
    assert [rule["id"] for rule in validated(*ALL)["tool"]["driver"]["rules"]] == [
        "DEV701",
        "DEV000",
        "DEV501",
        "DEV201",
    ]


def test_sarif_locations_traces_and_fixes() -> None:
    _, _, attribute, dropped = validated(*ALL)["results"]
    region = attribute["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 5, "startColumn": 9, "endLine": 5, "endColumn": 23}
    steps = attribute["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == [step.message for step in ATTRIBUTE.trace]
    replacements = attribute["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacements[1]["insertedContent"] == {"text": ")"}
    # Rows of a notebook count within the cell: a region would point anywhere.
    assert "region" not in dropped["locations"][0]["physicalLocation"]
    assert dropped["locations"][0]["logicalLocations"][0]["name"] == "cell 2"
    assert dropped["message"]["text"].startswith("cell 2, row 2: ")
    assert "fixes" not in dropped


def test_junit() -> None:
    odd = replace(UNREAD, message='<&\x00"é>')
    root = ElementTree.fromstring(rendered("junit", odd, *ALL[2:]))
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "3", "3")
    assert [suite.get("name") for suite in root] == ["main.py", "model.py", "nb.ipynb"]
    case = root[0][0]
    assert (case.get("name"), case.get("classname"), case.get("line")) == ("DEV000 not-analysed", "main", "3")
    assert case[0].get("message") == '<&\ufffd"é>'
    assert root[2][0][0].text == f"nb.ipynb:cell 2:2:1: {DROPPED.message}\nbreaks on gpu1, gpu2"


def test_junit_of_nothing_is_a_case_that_passed() -> None:
    root = ElementTree.fromstring(rendered("junit"))
    assert (root.get("tests"), root.get("failures"), len(root[0][0])) == ("1", "0", 0)


def test_rdjson_counts_bytes() -> None:
    text = "é = '日'; x.to(d)\n"
    column = text.index("x.to") + 1
    finding = replace(UNREAD, location=at(1, column, column + 7, "a.py"), url="https://example.org")
    document = json.loads(rendered("rdjson", finding, ATTRIBUTE, DROPPED, sources={"a.py": source(text, "a.py")}))
    first, attribute, dropped = document["diagnostics"]
    assert first["location"]["range"] == {"start": {"line": 1, "column": 13}, "end": {"line": 1, "column": 20}}
    assert first["code"] == {"value": "DEV000", "url": "https://example.org"}
    assert attribute["severity"] == "ERROR"
    assert len(attribute["suggestions"]) == 2
    assert "range" not in dropped["location"]
    assert "suggestions" not in dropped
