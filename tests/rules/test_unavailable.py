"""Exactly one rule speaks of a device that is not there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from devlint.analysis.events import DeviceUnavailable, Site
from devlint.rules.catalogue import CATALOGUE
from devlint.rules.unavailable import speaker, where

USE = Site("a.py", SimpleNamespace(lineno=3, col_offset=0, end_lineno=3, end_col_offset=8))
LITERAL = Site("a.py", SimpleNamespace(lineno=1, col_offset=4, end_lineno=1, end_col_offset=12))

CASES: list[tuple[dict[str, Any], str | None]] = [
    ({}, "DEV102"),
    ({"index": 0}, "DEV102"),
    ({"kind": "legacy"}, "DEV102"),
    ({"device": "mps"}, "DEV102"),
    ({"hidden": True, "index": 0}, "DEV102"),
    ({"guarded": True}, None),
    ({"guarded": True, "index": 1}, None),
    ({"guarded": True, "kind": "query"}, None),
    ({"index": 1}, "DEV101"),
    ({"index": 1, "kind": "query"}, "DEV101"),
    ({"index": 1, "at_import": True}, "DEV101"),
    ({"kind": "query"}, "DEV107"),
    ({"kind": "query", "at_import": True}, "DEV107"),
    ({"at_import": True}, "DEV110"),
    ({"at_import": True, "kind": "legacy"}, "DEV110"),
    ({"at_import": True, "device": "mps"}, "DEV102"),
    ({"hidden": True, "index": 1}, "DEV604"),
    ({"hidden": True, "index": 1, "guarded": True}, "DEV604"),
]


class Texts:
    """A text context that knows nothing."""

    def text(self, site: Site) -> str:
        return "x.cuda()"


@pytest.mark.parametrize(("facts", "code"), CASES, ids=[str(index) for index in range(len(CASES))])
def test_one_rule_speaks(facts: dict[str, Any], code: str | None) -> None:
    event = DeviceUnavailable(world="cpu", site=USE, root=USE, literal=LITERAL, **facts)
    spoken = [
        (rule.code, diagnosis.site)
        for rule in CATALOGUE
        for event_type, handler in rule.handlers
        if event_type is DeviceUnavailable
        for diagnosis in handler(event, Texts())
    ]
    assert speaker(event) == code
    assert [item[0] for item in spoken] == ([code] if code else [])


def test_stands_where_the_device_is_named() -> None:
    assert where(DeviceUnavailable(world="cpu", site=USE, root=USE, literal=LITERAL)) == LITERAL
    assert where(DeviceUnavailable(world="cpu", site=USE, root=USE)) == USE
