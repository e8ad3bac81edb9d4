"""`devlint server`, as an editor talks to it."""

from __future__ import annotations

import asyncio
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.workspace import PositionCodec, TextDocument

from devlint.findings import Finding, Location, Position
from devlint.linter import Report
from devlint.server.checking import Outdated, check
from devlint.server.documents import Document, document_of
from devlint.server.shown import Shown
from devlint.sources.reading import read_source

ROOT = Path(__file__).parents[2]
BAD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.ones(3, device=device)
sample = torch.zeros(3)
sample.to(device)
print("😀", sample + weight)
"""
GOOD = BAD.replace("sample.to", "sample = sample.to")


class Client:
    """An editor: it sends messages, and keeps what comes."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "devlint", "server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": str(ROOT)},
            cwd=ROOT.anchor,
        )
        self.received: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.number = 0

    def _read(self) -> None:
        assert self.process.stdout is not None
        length = 0
        for header in self.process.stdout:
            name, _, value = header.partition(b":")
            if name == b"Content-Length":
                length = int(value)
            elif not header.strip():
                self.received.put(json.loads(self.process.stdout.read(length)))
        self.received.put(None)

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def write(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def wait(self, method: str) -> dict[str, Any]:
        """The parameters of the next notification of this kind."""
        while True:
            message = self.received.get(timeout=60)
            assert message is not None
            if message.get("method") == method:
                params: dict[str, Any] = message["params"]
                return params

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request, or its error."""
        self.send({"id": self.next(), "method": method, "params": params})
        return self.answer()

    def next(self) -> int:
        """The number of a request."""
        self.number += 1
        return self.number

    def answer(self) -> Any:
        """What the last request gets."""
        while True:
            message = self.received.get(timeout=60)
            assert message is not None
            if message.get("id") == self.number:
                return message["error"] if "error" in message else message["result"]

    def begin(self, *encodings: str) -> Any:
        general = {"general": {"positionEncodings": list(encodings)}} if encodings else {}
        answer = self.ask("initialize", processId=None, rootUri=None, capabilities=general)
        self.notify("initialized")
        return answer["capabilities"]

    def open(self, path: Path, text: str) -> None:
        language = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", textDocument=language)

    def change(self, path: Path, text: str, version: int) -> None:
        item = {"uri": path.as_uri(), "version": version}
        self.notify("textDocument/didChange", textDocument=item, contentChanges=[{"text": text}])

    def found(self) -> list[tuple[str, int]]:
        """Code and row, from 0, of what is told next."""
        return [
            (item["code"], item["range"]["start"]["line"])
            for item in self.wait("textDocument/publishDiagnostics")["diagnostics"]
        ]

    def end(self) -> int:
        assert self.ask("shutdown") is None
        self.notify("exit")
        return self.process.wait(timeout=60)


@pytest.fixture
def client() -> Iterator[Client]:
    started = Client()
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


def test_a_session(client: Client, tmp_path: Path) -> None:
    able = client.begin()
    assert able["positionEncoding"] == "utf-16"
    assert (able["textDocumentSync"]["openClose"], able["textDocumentSync"]["change"]) == (True, 1)
    assert able["codeActionProvider"] == {"codeActionKinds": ["quickfix"]} and able["hoverProvider"]
    file = tmp_path / "train.py"  # not saved yet
    client.open(file, BAD)
    told = client.wait("textDocument/publishDiagnostics")
    (diagnostic,) = told["diagnostics"]
    assert (told["uri"], told["version"]) == (file.as_uri(), 1)
    assert diagnostic["range"] == {"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 17}}
    assert (diagnostic["code"], diagnostic["severity"], diagnostic["source"]) == ("DEV201", 1, "devlint")
    assert "breaks on gpu1, gpu2: RuntimeError: Expected all tensors" in diagnostic["message"]
    met = diagnostic["relatedInformation"][-1]
    assert met["location"]["uri"] == file.as_uri()
    assert met["location"]["range"]["start"] == {"line": 6, "character": 12}  # the emoji is two units of UTF-16

    at = {"textDocument": {"uri": file.as_uri()}, "position": {"line": 5, "character": 3}}
    hover = client.ask("textDocument/hover", **at)
    assert hover["contents"]["value"].startswith("# DEV201 dropped-move")
    assert client.ask("textDocument/hover", **(at | {"position": {"line": 0, "character": 0}})) is None

    here = {"start": at["position"], "end": at["position"]}
    asked = {"textDocument": at["textDocument"], "range": here, "context": {"diagnostics": []}}
    mend, suppress = client.ask("textDocument/codeAction", **asked)
    assert (mend["kind"], mend["isPreferred"]) == ("quickfix", True)
    (edit,) = mend["edit"]["changes"][file.as_uri()]
    assert edit == {
        "range": {"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 0}},
        "newText": "sample = ",
    }
    (edit,) = suppress["edit"]["changes"][file.as_uri()]
    assert edit["newText"] == "  # noqa: DEV201" and edit["range"]["start"] == {"line": 5, "character": 17}
    assert (
        client.ask("textDocument/codeAction", **(asked | {"context": {"diagnostics": [], "only": ["refactor"]}})) == []
    )

    client.change(file, GOOD, 2)
    assert client.ask("textDocument/codeAction", **asked) == []  # of the text as it is now
    assert client.end() == 0


def test_while_it_is_typed(client: Client, tmp_path: Path) -> None:
    client.begin("utf-8", "utf-32")
    file = tmp_path / "train.py"
    client.open(file, BAD)
    assert client.found() == [("DEV201", 5)]
    client.change(file, BAD + "def half(", 2)
    assert client.found() == [("DEV000", 7)]
    for version, end in enumerate(("d", "de", "def", "def half(x):\n    return x\n"), 3):
        client.change(file, BAD + end, version)
    assert client.wait("textDocument/publishDiagnostics")["version"] == 6  # only what was typed last
    client.notify("textDocument/didClose", textDocument={"uri": file.as_uri()})
    assert client.found() == []
    assert client.end() == 0


def test_two_folders(client: Client, tmp_path: Path) -> None:
    client.begin()
    for name in ("one", "two", "wrong"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "pyproject.toml").write_text('[tool.devlint]\nignore = ["DEV2"]\n')
    (tmp_path / "two" / "pyproject.toml").write_text("[tool.devlint]\n")
    (tmp_path / "wrong" / "pyproject.toml").write_text("[tool.devlint]\nselct = []\n")
    (tmp_path / "wrong" / "train.py").write_text(BAD)
    client.open(tmp_path / "one" / "train.py", BAD)
    assert client.found() == []
    client.open(tmp_path / "wrong" / "train.py", BAD)
    assert "pyproject.toml:2: unknown key `selct`" in client.wait("window/showMessage")["message"]
    helper = tmp_path / "two" / "helper.py"
    helper.write_text("import torch\n\n\ndef weigh(x):\n    return x\n")
    text = BAD.replace("import torch\n", "import torch\nfrom helper import weigh\n", 1)
    text = text.replace("sample.to(device)", "sample = sample.to(device)")
    main = tmp_path / "two" / "main.py"
    client.open(main, text.replace("sample + weight", "weigh(sample) + weight"))
    while (told := client.wait("textDocument/publishDiagnostics"))["uri"] != main.as_uri():
        pass
    assert told["diagnostics"] == []
    client.open(helper, "import torch\n\n\ndef weigh(x):\n    return x + torch.ones(3)\n")  # changed, not saved
    while (told := client.wait("textDocument/publishDiagnostics"))["uri"] != helper.as_uri():
        pass
    assert [item["code"] for item in told["diagnostics"]] == ["DEV303"]
    assert client.end() == 0


def test_what_is_asked_wrongly(client: Client, tmp_path: Path) -> None:
    at = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 0}}
    assert client.ask("textDocument/hover", **at) is None  # too early
    client.open(tmp_path / "early.py", BAD)
    client.begin()
    assert client.ask("textDocument/rename", **at, newName="x")["code"] == -32601
    assert client.ask("textDocument/hover")["code"] == -32602
    assert client.ask("textDocument/hover", **at) is None  # not open
    client.notify("$/setTrace", value="off")
    client.notify("textDocument/didOpen", textDocument={})
    client.change(tmp_path / "unknown.py", BAD, 1)
    for body in (
        b"{,}",
        b"[]",
        b"{}",
        b"1",
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}',
    ):
        client.write(body)
    item = {"uri": "untitled:Untitled-1", "languageId": "python", "version": 1, "text": BAD}
    client.notify("textDocument/didOpen", textDocument=item)
    client.open(tmp_path / "notes.txt", BAD)
    client.notify("textDocument/didOpen", textDocument=item | {"uri": "file:///tmp/a%00b.py"})
    client.open(tmp_path / "train.py", BAD)
    while client.wait("textDocument/publishDiagnostics")["uri"] != (tmp_path / "train.py").as_uri():
        pass
    assert client.ask("shutdown") is None
    assert client.process.stdin is not None
    client.process.stdin.close()  # the editor is gone without a word
    assert client.process.wait(timeout=60) == 0


def test_messages_are_read_while_a_check_runs(client: Client, tmp_path: Path) -> None:
    client.begin()
    file = tmp_path / "train.py"
    client.open(file, BAD)
    at = {"textDocument": {"uri": file.as_uri()}, "position": {"line": 5, "character": 3}}
    client.send({"id": client.next(), "method": "textDocument/hover", "params": at})
    client.notify("$/cancelRequest", id=client.number)
    assert client.answer()["code"] == -32800
    assert client.found() == [("DEV201", 5)]
    assert client.ask("textDocument/hover", **at)["contents"]["kind"] == "markdown"
    assert client.end() == 0


def test_an_editor_that_crashed(client: Client) -> None:
    client.begin()
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(timeout=60) == 1


def test_pygls_as_the_editor(tmp_path: Path) -> None:
    file = tmp_path / "train.py"

    async def session() -> tuple[types.PublishDiagnosticsParams, types.Hover | None, int | None]:
        client = LanguageClient("editor", "1")
        told: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: told.put_nowait(params))
        await client.start_io(sys.executable, "-m", "devlint", "server", env={"PYTHONPATH": str(ROOT)})
        await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        client.initialized(types.InitializedParams())
        item = types.TextDocumentItem(file.as_uri(), types.LanguageKind.Python, 1, BAD)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        found = await asyncio.wait_for(told.get(), 60)
        place = types.HoverParams(types.TextDocumentIdentifier(file.as_uri()), types.Position(5, 3))
        hover = await asyncio.wait_for(client.text_document_hover_async(place), 60)
        await client.shutdown_async(None)
        client.exit(None)
        assert client._server is not None
        status = await asyncio.wait_for(client._server.wait(), 60)
        await client.stop()
        return found, hover, status

    found, hover, status = asyncio.run(session())
    assert (found.uri, found.version, [item.code for item in found.diagnostics]) == (file.as_uri(), 1, ["DEV201"])
    assert hover is not None and hover.range == found.diagnostics[0].range
    assert status == 0


def test_without_pygls_it_says_what_to_install(tmp_path: Path) -> None:
    blocked = "import sys; sys.modules['pygls'] = None; sys.argv[1:] = ['server']; from devlint.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", blocked], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install "devlint[server]"' in done.stderr


@pytest.mark.parametrize("encoding", list(types.PositionEncodingKind))
def test_columns_there_and_back(encoding: types.PositionEncodingKind, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    text = "a = 1\nx = 'é😀', y\f\nz\n"
    row = text.split("\n")[1]
    source = read_source(file, str(file), text.encode())
    report = Report(sources={source.filename: source})
    document = Document(file.as_uri(), file, text, None)
    finding = Finding("DEV201", "", "", Location(source.filename, Position(2, 6), Position(2, 8)), "error")
    shown = Shown(document, (finding,), report, {}, PositionCodec(encoding))
    size = {"utf-8": 6, "utf-16": 3, "utf-32": 2}[encoding.value]
    place = shown.range(finding.location, source.filename)
    assert place == types.Range(types.Position(1, 5), types.Position(1, 5 + size))
    for column in range(1, len(row) + 2):
        here = shown.range(Location(source.filename, Position(2, column), Position(2, column)), source.filename)
        assert bool(shown.touched(here)) == (6 <= column <= 8)
    for end in (types.Position(1, 99), types.Position(9, 9)):
        assert not shown.touched(types.Range(end, end))


def test_a_check_ends_where_the_text_has_changed(tmp_path: Path) -> None:
    document = Document("", tmp_path / "train.py", BAD, 1)
    assert [item.code for item in check([document], PositionCodec(), lambda: False)[0][""].findings] == ["DEV201"]
    with pytest.raises(Outdated):
        check([document], PositionCodec(), lambda: True)


def test_what_is_no_document() -> None:
    opened = document_of(TextDocument("file:///tmp/with%20space/a.py", "x"))
    assert opened is not None and opened.path == Path("/tmp/with space/a.py")
    for uri in ("untitled:Untitled-1", "vscode-notebook-cell:/tmp/a.ipynb#W0", "file:///tmp/a.txt", "file:", ""):
        assert document_of(TextDocument(uri, "x")) is None


def test_the_text_is_in_the_encoding_that_it_declares() -> None:
    assert Document("", Path("/a.py"), "# coding: latin-1\nx = 'é'\n", None).encoded.endswith(b"'\xe9'\n")
    assert Document("", Path("/a.py"), "# coding: nonsense\nx = 'é'\n", None).encoded.endswith("é'\n".encode())
