"""A session with an editor: documents come and change, findings go out, and fixes and explanations are asked for.

pygls reads and writes the messages and keeps the texts. All here runs in its event loop, except for the checks: one at
a time is in a thread of its pool, on the texts as they were when it began.
"""

from __future__ import annotations

import asyncio
import traceback
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from devlint import __version__
from devlint.rules.catalogue import rule_with_code
from devlint.rules.pages import page
from devlint.server.checking import Outdated, check
from devlint.server.documents import document_of
from devlint.server.shown import Shown

QUIET = 0.25
"""Seconds without a change after which documents are checked: while somebody types, nothing is."""


class Protocol(LanguageServerProtocol):
    """pygls' own, which gives no answer to a request whose parameters it can't read."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Make a message of an object; called for every object that stands in one, too."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" in data and isinstance(data.get("id"), int | str):
                self._send_response(data["id"], error=error.to_response_error())
            raise


class Session(LanguageServer):
    """What is known of the documents of one editor."""

    def __init__(self) -> None:
        # One thread reads, one checks. Whole texts, since pygls ends rows where editors don't (at form feeds).
        whole = types.TextDocumentSyncKind.Full
        super().__init__("devlint", __version__, whole, protocol_cls=Protocol, max_workers=2)
        self.shown: dict[str, Shown] = {}
        self.mistakes: set[str] = set()
        self.stale = self.ended = False
        self.settled = asyncio.Event()  # what is shown is of the documents as they are
        self.settled.set()
        self.timer: asyncio.TimerHandle | None = None
        self.running: asyncio.Task[None] | None = None

    def changed(self) -> None:
        """Something is not what it was: check as soon as it has been quiet for a while."""
        self.stale = True
        self.settled.clear()
        if self.timer is not None:
            self.timer.cancel()
        self.timer = asyncio.get_running_loop().call_later(QUIET, self._quiet)

    def _quiet(self) -> None:
        self.timer = None
        if self.running is None and not self.ended:
            self.running = asyncio.ensure_future(self._check())

    async def _check(self) -> None:
        """Check the open documents, and tell what was found unless something has changed meanwhile."""
        self.stale = False
        opened = map(document_of, self.workspace.text_documents.values())
        documents = [document for document in opened if document is not None]
        try:
            codec = self.workspace.position_codec
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self.thread_pool, check, documents, codec, lambda: self.stale)
            if not self.stale:
                self._tell(*found)
        except Outdated:
            pass
        except Exception:  # a fault of devlint itself; the session goes on
            self.log(traceback.format_exc())
        self.running = None
        if not self.stale:
            self.settled.set()
        elif self.timer is None:
            self._quiet()

    def _tell(self, shown: dict[str, Shown], mistakes: set[str]) -> None:
        """Show findings, take back those of what isn't checked any more, and tell of each mistake once."""
        for text in mistakes - self.mistakes:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"devlint: {text}"))
        for uri in self.shown.keys() - shown.keys():
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        self.shown, self.mistakes = shown, mistakes
        for uri, item in shown.items():
            told = [item.diagnostic(finding) for finding in item.findings]
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, told, item.document.version))

    async def current(self, document: types.TextDocumentIdentifier) -> Shown | None:
        """Return what is shown of a document, once that is of the document as it is."""
        await self.settled.wait()
        return self.shown.get(document.uri)

    def shutdown(self) -> None:
        """End; a check that still runs is not waited for to its end."""
        self.stale = True
        super().shutdown()  # type: ignore[no-untyped-call]

    def log(self, text: str) -> None:
        """Write into the editor's log."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, text))

    def report_server_error(self, error: Exception, source: type[PyglsError] | type[JsonRpcException]) -> None:
        """Log it; pygls opens a window. That something can't be sent can't be sent either."""
        if source is not JsonRpcInternalError:
            self.log(f"{type(error).__name__}: {error}")


server = Session()


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
@server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
@server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
def changed(ls: Session, params: object) -> None:
    """A document, or a file outside of the editor, was changed; settings among them."""
    ls.changed()


@server.feature(types.SHUTDOWN)
def shut_down(ls: Session, params: None) -> None:
    """Stop working; `exit` follows."""
    ls.ended = ls.stale = True


@server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]))
async def code_actions(ls: Session, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Offer the fixes of the findings in a range, and to suppress each by a comment."""
    only = params.context.only
    if only and not any("quickfix".startswith(kind) for kind in only):
        return []
    shown = await ls.current(params.text_document)
    return [action for item in shown.touched(params.range) for action in shown.actions(item)] if shown else []


@server.feature(types.TEXT_DOCUMENT_HOVER)
async def hover(ls: Session, params: types.HoverParams) -> types.Hover | None:
    """Explain the rules of the findings under the cursor."""
    shown = await ls.current(params.text_document)
    here = shown.touched(types.Range(params.position, params.position)) if shown else []
    if not shown or not here:
        return None
    text = "\n\n---\n\n".join(page(rule_with_code(code)) for code in dict.fromkeys(item.code for item in here))
    place = shown.range(here[0].location, here[0].location.filename)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), place)


def serve(received: BinaryIO, sent: BinaryIO) -> int:
    """Serve until the editor says `exit` or is gone; return the exit status."""
    server.start_io(received, sent)
    return 0 if server.ended else 1
