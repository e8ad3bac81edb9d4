"""Checks of the documents that an editor has open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pygls.workspace import PositionCodec

from devlint.config import Config, ConfigError, Resolver
from devlint.files import FoundFile, excluded
from devlint.linter import Options, lint
from devlint.server.documents import Document
from devlint.server.shown import Shown

FILE_TIMEOUT = 20.0
"""Seconds for one file in one world."""


class Outdated(BaseException):
    """The documents are not any more what they were; no mistake of the analysis, which catches those."""


def check(
    documents: Sequence[Document], codec: PositionCodec, is_outdated: Callable[[], bool]
) -> tuple[dict[str, Shown], set[str]]:
    """Return what to show, by URI, and the mistakes in the settings. Documents of one configuration are one program,
    as they stand in the editor; what they import besides is read from disk.

    Raises:
        Outdated: `is_outdated` said so before one of the files.
    """

    def proceed(done: int, total: int) -> None:
        if is_outdated():
            raise Outdated

    shown: dict[str, Shown] = {}
    mistakes: set[str] = set()
    resolver = Resolver()
    groups: dict[Config, list[Document]] = {}
    for document in documents:
        try:
            config = resolver.config(document.path.parent)
            if not excluded(document.path, config):
                groups.setdefault(config, []).append(document)
        except ConfigError as error:
            mistakes.add(str(error))
    for config, group in groups.items():
        files = [FoundFile(document.path, config, named=True) for document in group]
        contents = {document.path: document.encoded for document in group}
        try:
            report = lint(files, Options(contents=contents, file_timeout=FILE_TIMEOUT, progress=proceed))
        except ConfigError as error:
            mistakes.add(str(error))
            continue
        uris = {document.path: document.uri for document in group}
        for document in group:
            found = tuple(item.finding for item in report.checked if item.path == str(document.path))
            shown[document.uri] = Shown(document, found, report, uris, codec)
    return shown, mistakes
