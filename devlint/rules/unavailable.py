"""Which rule speaks when a program uses a device that the world does not have: exactly one."""

from __future__ import annotations

from pathlib import Path

from devlint.analysis.events import DeviceUnavailable, Site
from devlint.findings import Severity
from devlint.sources.reading import is_document, kind_of


def speaker(event: DeviceUnavailable) -> str | None:
    """Return the code of the rule that speaks, or None where a flag of the user's own stands guard.

    A hard-coded index is nearer the cause than the missing machine, an import or a query nearer than a plain use.
    """
    beyond_first = event.index is not None and event.index >= 1
    if event.hidden and beyond_first:
        return "DEV604"
    if event.guarded:
        return None
    if beyond_first:
        return "DEV101"
    if event.at_import and event.device.startswith("cuda") and (event.kind != "query" or event.operation):
        return "DEV110"
    return "DEV107" if event.kind == "query" else "DEV102"


def severity(event: DeviceUnavailable) -> Severity | None:
    """Return advice for a program that nothing shows to be meant for a machine without a GPU, and for what a document
    shows; else the rule's own."""
    if in_document(event):
        return "advice"
    hidden = event.visible is not None and event.world != "cpu" and not event.is_visible_by_option
    return None if event.evidence or (hidden and not in_notebook(event)) else "advice"


def in_notebook(event: DeviceUnavailable) -> bool:
    """Whether the code is a notebook's, or what one calls: which of the GPUs is taken there its reader sets in the cell
    that says it, as elsewhere by an option."""
    paths = [where(event).path, *(site.path for site in event.calls[:1])]
    return any(kind_of(Path(path)) == "notebook" for path in paths)


def in_document(event: DeviceUnavailable) -> bool:
    """Whether the code is an excerpt that a document shows: for which machine it is the text around it says."""
    return is_document(where(event).path)


def where(event: DeviceUnavailable) -> Site:
    """Return the place of the finding: where the device is named in the project, else where it is used."""
    return event.literal if event.literal is not None else event.site


def what_follows(event: DeviceUnavailable) -> str:
    """Return what to add for a program that gets one finding though it uses CUDA again."""
    if not event.further:
        return ""
    return (
        ", and 1 more use of CUDA follows" if event.further == 1 else f", and {event.further} more uses of CUDA follow"
    )
