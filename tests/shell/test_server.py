"""`devlint server`, as an editor talks to it."""

from __future__ import annotations

import io
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devlint.findings import Position
from devlint.server.documents import Document, Encoding, from_client, path_of, position_at, to_client, units
from devlint.server.transport import Malformed, read_message, write_message

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
            env={"PYTHONPATH": str(ROOT)},
            cwd=ROOT.anchor,
        )
        self.received: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.number = 0

    def _read(self) -> None:
        assert self.process.stdout is not None
        while (message := read_message(self.process.stdout)) is not None:  # type: ignore[arg-type]
            self.received.put(message)
        self.received.put(None)

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        write_message(self.process.stdin, message)  # type: ignore[arg-type]

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
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
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
    assert client.begin() == {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": True, "change": 1, "save": {"includeText": False}},
        "codeActionProvider": {"codeActionKinds": ["quickfix"]},
        "hoverProvider": True,
    }
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
    assert client.ask("textDocument/codeAction", **(asked | {"context": {"only": ["refactor"]}})) == []

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
    assert client.ask("textDocument/hover")["code"] == -32002
    client.begin()
    assert client.ask("textDocument/rename")["code"] == -32601
    assert client.ask("textDocument/hover")["code"] == -32602
    client.notify("$/setTrace", value="off")
    client.notify("textDocument/didOpen", textDocument={})
    assert client.process.stdin is not None
    client.process.stdin.write(b"Content-Length: 3\r\n\r\n{,}")
    item = {"uri": "untitled:Untitled-1", "languageId": "python", "version": 1, "text": BAD}
    client.notify("textDocument/didOpen", textDocument=item)
    client.open(tmp_path / "notes.txt", BAD)
    assert client.ask("shutdown") is None
    assert client.ask("textDocument/hover")["code"] == -32600
    client.process.stdin.close()  # the editor is gone without a word
    assert client.process.wait(timeout=60) == 0


def test_an_editor_that_crashed(client: Client) -> None:
    client.begin()
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(timeout=60) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_there_and_back(encoding: Encoding) -> None:
    document = Document("file:///a.py", Path("/a.py"), "a = 1\nx = 'é😀', y\n", None)
    row = document.row(1)
    for column in range(1, len(row) + 2):
        place = to_client(row, Position(2, column), encoding)
        assert from_client(document, place, encoding) == Position(2, column)
    assert to_client(row, Position(2, len(row) + 1), encoding)["character"] == units(row, encoding)
    assert from_client(document, {"line": 9, "character": 9}, encoding) == Position(10, 1)
    assert position_at("a\r\nbc\n", 4) == Position(2, 2)


def test_files_of_uris() -> None:
    assert path_of("file:///tmp/with%20space/a.py") == Path("/tmp/with space/a.py")
    assert path_of("untitled:Untitled-1") is None
    assert path_of("vscode-notebook-cell:/tmp/a.ipynb#W0") is None


def test_the_text_is_in_the_encoding_that_it_declares() -> None:
    assert Document("", Path("/a.py"), "# coding: latin-1\nx = 'é'\n", None).encoded.endswith(b"'\xe9'\n")
    assert Document("", Path("/a.py"), "# coding: nonsense\nx = 'é'\n", None).encoded.endswith("é'\n".encode())


def test_messages() -> None:
    stream = io.BytesIO()
    write_message(stream, {"method": "é"})
    stream.write(b"Content-Type: x\r\ncontent-length: 2\r\n\r\n[]Content-Length: 9\r\n\r\n{}")
    stream.seek(0)
    assert read_message(stream) == {"jsonrpc": "2.0", "method": "é"}
    with pytest.raises(Malformed):
        read_message(stream)
    assert read_message(stream) is None
    assert json.loads(stream.getvalue().partition(b"\r\n\r\n")[2].partition(b"Content")[0])["method"] == "é"
