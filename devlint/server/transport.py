"""JSON-RPC messages over two byte streams, framed as the Language Server Protocol wants them (3.17, base protocol)."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

Message = dict[str, Any]

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
NOT_INITIALISED = -32002


class Malformed(Exception):
    """The body of a message is no JSON object; the next message can be read all the same."""


def read_message(stream: BinaryIO) -> Message | None:
    """Return the next message; None where the stream has ended.

    Raises:
        Malformed: its body is no JSON object.
    """
    length = 0
    while True:
        line = stream.readline()
        if not line:
            return None
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
        elif not line.strip() and length:
            break
    body = stream.read(length)
    if len(body) < length:
        return None
    try:
        message = json.loads(body)
    except ValueError as error:
        raise Malformed(str(error)) from None
    if not isinstance(message, dict):
        raise Malformed("not an object")
    return message


def write_message(stream: BinaryIO, message: Message) -> None:
    """Write a message and flush.

    Raises:
        OSError: nobody reads any more.
    """
    body = json.dumps({"jsonrpc": "2.0", **message}).encode("ascii")
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()
