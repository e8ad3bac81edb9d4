"""What the server does: documents come and change, findings go out, and fixes and explanations are asked for."""

from __future__ import annotations

import os
import queue
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from devlint import __version__
from devlint.config import Config, ConfigError, Resolver
from devlint.files import FoundFile, excluded
from devlint.findings import Edit, Finding, Location, Position, Severity
from devlint.linter import Options, Report, lint
from devlint.reports.report import breaks_in
from devlint.server.documents import Document, Encoding, from_client, path_of, position_at, to_client
from devlint.server.transport import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_INITIALISED,
    PARSE_ERROR,
    Malformed,
    Message,
    read_message,
    write_message,
)

QUIET: Final = 0.25
"""Seconds without a message after which changed documents are checked: while somebody types, nothing is."""
FILE_TIMEOUT: Final = 20.0
"""Seconds for one file in one world."""

_SEVERITIES: Final[dict[Severity, int]] = {"error": 1, "warning": 2, "advice": 3}
_ERROR: Final = 1

Handler = Callable[[dict[str, Any]], Any]


class Gone(Exception):
    """Nobody reads any more what the server says."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What was told of a document: its findings, and the text that they were found in."""

    document: Document
    findings: tuple[Finding, ...]
    report: Report


class Server:
    """A session with one editor. Messages are read by a thread of their own; all else is done by the caller's."""

    def __init__(self, received: BinaryIO, sent: BinaryIO, quiet: float = QUIET) -> None:
        self.received = received
        self.sent = sent
        self.quiet = quiet
        self.waiting: queue.SimpleQueue[Message | Malformed | None] = queue.SimpleQueue()
        self.documents: dict[str, Document] = {}
        self.shown: dict[str, Shown] = {}
        self.changed = False
        self.encoding: Encoding = "utf-16"
        self.initialised = self.ended = False
        self.complaints: set[str] = set()
        self.requests: dict[str, Handler] = {
            "initialize": self.initialise,
            "shutdown": self.shut_down,
            "textDocument/codeAction": self.code_actions,
            "textDocument/hover": self.hover,
        }
        self.notifications: dict[str, Handler] = {
            "textDocument/didOpen": self.opened,
            "textDocument/didChange": self.edited,
            "textDocument/didClose": self.closed,
            "textDocument/didSave": self.disk_changed,
            "workspace/didChangeWatchedFiles": self.disk_changed,
            "workspace/didChangeConfiguration": self.disk_changed,
        }

    def run(self) -> int:
        """Serve until the editor says `exit` or is gone; return the exit status."""
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            try:
                message = self.waiting.get(timeout=self.quiet if self.changed else None)
            except queue.Empty:
                message = {}
            if message is None or (isinstance(message, dict) and message.get("method") == "exit"):
                return 0 if self.ended else 1
            try:
                if message:
                    self._answer(message)
                else:
                    self._check_quietly()
            except Gone:  # what is still to be read is the end
                while self.waiting.get() is not None:
                    pass
                return 1

    def _read(self) -> None:
        """Read until the editor says `exit` or is gone: Python can't end while a thread still reads standard input."""
        while True:
            try:
                message = read_message(self.received)
            except Malformed as error:
                self.waiting.put(error)
                continue
            except (OSError, ValueError):
                message = None
            self.waiting.put(message)
            if message is None or message.get("method") == "exit":
                return

    # -- messages

    def _answer(self, message: Message | Malformed) -> None:
        """Do what a message asks; a request gets an answer, whatever happens."""
        if isinstance(message, Malformed):
            self._fail(None, PARSE_ERROR, str(message))
            return
        method, identity = message.get("method"), message.get("id")
        if not isinstance(method, str):
            return  # the answer to a request of ours: there are none
        is_request = "id" in message
        handler = (self.requests if is_request else self.notifications).get(method)
        if is_request and not self.initialised and method != "initialize":
            self._fail(identity, NOT_INITIALISED, "the server is not initialised")
        elif is_request and self.ended:
            self._fail(identity, INVALID_REQUEST, "the server has been shut down")
        elif handler is None:
            if is_request:
                self._fail(identity, METHOD_NOT_FOUND, f"{method} is not known")
        else:
            try:
                result = handler(message.get("params") or {})
            except (KeyError, TypeError, AttributeError) as error:
                self._log(traceback.format_exc())
                if is_request:
                    self._fail(identity, INVALID_PARAMS, f"{type(error).__name__}: {error}")
            except Gone:
                raise
            except Exception as error:
                self._log(traceback.format_exc())
                if is_request:
                    self._fail(identity, INTERNAL_ERROR, f"{type(error).__name__}: {error}")
            else:
                if is_request:
                    self._send({"id": identity, "result": result})

    def _send(self, message: Message) -> None:
        try:
            write_message(self.sent, message)
        except (OSError, ValueError):
            raise Gone from None

    def _fail(self, identity: Any, code: int, text: str) -> None:
        self._send({"id": identity, "error": {"code": code, "message": text}})

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def _log(self, text: str) -> None:
        self._notify("window/logMessage", {"type": _ERROR, "message": text})

    # -- the session

    def initialise(self, params: dict[str, Any]) -> dict[str, Any]:
        """Say what the server can do, and agree on how columns are counted."""
        offered = params.get("capabilities", {}).get("general", {}).get("positionEncodings") or ["utf-16"]
        wanted: tuple[Encoding, ...] = ("utf-32", "utf-8", "utf-16")
        self.encoding = next((encoding for encoding in wanted if encoding in offered), "utf-16")
        self.initialised = True
        return {
            "capabilities": {
                "positionEncoding": self.encoding,
                "textDocumentSync": {"openClose": True, "change": 1, "save": {"includeText": False}},
                "codeActionProvider": {"codeActionKinds": ["quickfix"]},
                "hoverProvider": True,
            },
            "serverInfo": {"name": "devlint", "version": __version__},
        }

    def shut_down(self, params: dict[str, Any]) -> None:
        """Stop working; `exit` follows."""
        self.ended = True
        self.changed = False

    # -- documents

    def opened(self, params: dict[str, Any]) -> None:
        """A document was opened."""
        item = params["textDocument"]
        self._take(item["uri"], item["text"], item.get("version"))

    def edited(self, params: dict[str, Any]) -> None:
        """A document was changed; the last of the changes is its whole text."""
        item = params["textDocument"]
        self._take(item["uri"], params["contentChanges"][-1]["text"], item.get("version"))

    def _take(self, uri: str, text: str, version: int | None) -> None:
        path = path_of(uri)
        if path is not None:
            self.documents[uri] = Document(uri, path, text, version)
            self.changed = True

    def closed(self, params: dict[str, Any]) -> None:
        """A document was closed: its findings are for the command line again."""
        uri = params["textDocument"]["uri"]
        self.documents.pop(uri, None)
        if self.shown.pop(uri, None) is not None:
            self._notify("textDocument/publishDiagnostics", {"uri": uri, "diagnostics": []})
        self.changed = bool(self.documents)  # what was imported from it is now what is on disk

    def disk_changed(self, params: dict[str, Any]) -> None:
        """A file was saved, or changed outside of the editor; settings among them."""
        self.changed = bool(self.documents)

    # -- checking

    def _check_quietly(self) -> None:
        """Check; a fault of devlint itself goes to the editor's log, and the session goes on."""
        try:
            self.check()
        except Gone:
            raise
        except Exception:
            self._log(traceback.format_exc())

    def check(self) -> None:
        """Check all open documents and tell what was found. Those of one configuration are one program, as they stand
        in the editor; what they import besides is read from disk."""
        self.changed = False
        known, self.complaints = self.complaints, set()
        resolver = Resolver()
        groups: dict[Config, list[Document]] = {}
        for document in self.documents.values():
            if not document.is_checked:
                continue
            try:
                config = resolver.config(document.path.parent)
            except ConfigError as error:
                self._complain(str(error), known)
                continue
            if not excluded(document.path, config):
                groups.setdefault(config, []).append(document)
        checked: set[str] = set()
        for config, documents in groups.items():
            contents = {document.path: document.encoded for document in documents}
            files = [FoundFile(document.path, config, named=True) for document in documents]
            try:
                report = lint(files, Options(contents=contents, file_timeout=FILE_TIMEOUT))
            except ConfigError as error:
                self._complain(str(error), known)
                continue
            for document in documents:
                found = [item.finding for item in report.checked if item.path == str(document.path)]
                self._show(document, Shown(document, tuple(found), report))
                checked.add(document.uri)
        for uri in self.shown.keys() - checked:  # excluded by now, or behind a mistake in the settings
            del self.shown[uri]
            self._notify("textDocument/publishDiagnostics", {"uri": uri, "diagnostics": []})

    def _complain(self, text: str, known: set[str]) -> None:
        """Tell of a mistake in the settings: once, until it is gone."""
        self.complaints.add(text)
        if text not in known:
            known.add(text)
            self._notify("window/showMessage", {"type": _ERROR, "message": f"devlint: {text}"})

    def _show(self, document: Document, shown: Shown) -> None:
        self.shown[document.uri] = shown
        diagnostics = [self._diagnostic(finding, shown) for finding in shown.findings]
        params: dict[str, Any] = {"uri": document.uri, "diagnostics": diagnostics}
        if document.version is not None:
            params["version"] = document.version
        self._notify("textDocument/publishDiagnostics", params)

    def _diagnostic(self, finding: Finding, shown: Shown) -> dict[str, Any]:
        breaks = breaks_in(finding)
        error = f": {finding.error}" if finding.error else ""
        diagnostic: dict[str, Any] = {
            "range": self._range(finding.location, shown),
            "severity": _SEVERITIES[finding.severity],
            "code": finding.code,
            "source": "devlint",
            "message": finding.message + (f"\n{breaks}{error}" if breaks else ""),
        }
        if finding.url:
            diagnostic["codeDescription"] = {"href": finding.url}
        related = [
            {"location": self._location(step.location, shown), "message": step.message}
            for step in finding.trace
            if step.location.cell is None
        ]
        if related:
            diagnostic["relatedInformation"] = related
        return diagnostic

    def _range(self, where: Location, shown: Shown) -> dict[str, Any]:
        source = shown.report.sources.get(where.filename)

        def row(number: int) -> str:
            return source.line(number) if source is not None else shown.document.row(number - 1)

        return {
            "start": to_client(row(where.start.row), where.start, self.encoding),
            "end": to_client(row(where.end.row), where.end, self.encoding),
        }

    def _location(self, where: Location, shown: Shown) -> dict[str, Any]:
        path = Path(os.path.abspath(where.filename))
        uri = next((uri for uri, document in self.documents.items() if document.path == path), path.as_uri())
        return {"uri": uri, "range": self._range(where, shown)}

    # -- questions

    def _current(self, params: dict[str, Any]) -> Shown | None:
        """What is told of the document that is asked about, as it stands now."""
        if self.changed:
            self.check()
        return self.shown.get(params["textDocument"]["uri"])

    def hover(self, params: dict[str, Any]) -> dict[str, Any] | None:
        """Explain the rule of the finding under the cursor."""
        from devlint.rules.catalogue import rule_with_code
        from devlint.rules.pages import page

        shown = self._current(params)
        if shown is None:
            return None
        at = from_client(shown.document, params["position"], self.encoding)
        here = [finding for finding in shown.findings if _touches(finding, at, at)]
        if not here:
            return None
        text = "\n\n---\n\n".join(page(rule_with_code(code)) for code in dict.fromkeys(item.code for item in here))
        return {
            "contents": {"kind": "markdown", "value": text},
            "range": self._range(here[0].location, shown),
        }

    def code_actions(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        """Offer the fixes of the findings in a range, and to suppress each by a comment."""
        only = params.get("context", {}).get("only")
        shown = self._current(params)
        if shown is None or (only and not any("quickfix".startswith(kind) for kind in only)):
            return []
        start = from_client(shown.document, params["range"]["start"], self.encoding)
        end = from_client(shown.document, params["range"]["end"], self.encoding)
        actions = []
        for finding in shown.findings:
            if not _touches(finding, start, end):
                continue
            if finding.fix is not None:
                is_safe = finding.fix.applicability == "safe"
                title = f"devlint: {finding.fix.message}" + ("" if is_safe else " (unsafe)")
                actions.append(self._action(title, finding, finding.fix.edits, shown) | {"isPreferred": is_safe})
            edits = self._suppression(finding, shown)
            if edits:
                actions.append(self._action(f"devlint: Suppress {finding.code} here", finding, edits, shown))
        return actions

    def _action(self, title: str, finding: Finding, edits: tuple[Edit, ...], shown: Shown) -> dict[str, Any]:
        changes = [
            {
                "range": self._range(Location(finding.location.filename, edit.start, edit.end), shown),
                "newText": edit.content,
            }
            for edit in edits
        ]
        return {
            "title": title,
            "kind": "quickfix",
            "diagnostics": [self._diagnostic(finding, shown)],
            "edit": {"changes": {shown.document.uri: changes}},
        }

    def _suppression(self, finding: Finding, shown: Shown) -> tuple[Edit, ...]:
        """The edits that put a comment on the row of a finding."""
        from devlint.suppression import noqa_replacements

        source = shown.report.sources.get(finding.location.filename)
        if source is None or source.kind != "python" or finding.code == "DEV000":
            return ()
        return tuple(
            Edit(content, position_at(source.text, start), position_at(source.text, end))
            for start, end, content in noqa_replacements(source, [finding])
        )


def _touches(finding: Finding, start: Position, end: Position) -> bool:
    """Whether a finding and a range of its document have a place in common, be it an end of theirs."""
    return finding.location.start <= end and start <= finding.location.end
