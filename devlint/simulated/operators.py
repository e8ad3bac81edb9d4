"""What torch compiles in about each operator: has it a CUDA kernel, and how does it check its arguments' devices?

The source is `native_functions.yaml`, which comes with the installed torch. Only the handful of keys that matter are
read, line by line: a full YAML parse of the file takes seconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import torch

CATALOGUE = "packaged/ATen/native/native_functions.yaml"
OTHER_CUDA_KEYS = ("SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")
NAME = re.compile(r"- func: ([\w.]+)\(")
KEY = re.compile(r"  (\w+): *([^#\n]*)")
DISPATCH_ENTRY = re.compile(r"    ([\w, ]+): *(\w+)")


@dataclass(frozen=True, slots=True)
class Operator:
    """One overload, with its `name` in the catalogue (`add.Tensor`).

    `other_keys` are the kinds of CUDA tensor, like sparse ones, that it has kernels of their own for.
    `for_some_backends` says that no kernel serves all backends: without one of its own CUDA can't run the operator.
    """

    name: str
    has_cuda_kernel: bool
    other_keys: tuple[str, ...]
    for_some_backends: bool
    checks_devices: bool
    structured: bool


def read_catalogue() -> dict[str, Operator]:
    """Read the operators of the installed torch by name.

    Raises:
        OSError: the installed torch comes without its catalogue.
    """
    path = Path(torch.__file__).parent.parent / "torchgen" / CATALOGUE
    entries = [_entry(block) for block in _blocks(path.read_text(encoding="utf-8"))]
    own = {name: "CUDA" in dispatch or "ufunc_inner_loop" in keys for name, dispatch, keys in entries}
    operators = {}
    for name, dispatch, keys in entries:
        delegate = keys.get("structured_delegate")
        operators[name] = Operator(
            name=name,
            has_cuda_kernel=own[name] or bool(delegate and own.get(delegate)),
            for_some_backends=bool(dispatch) and not any("Composite" in key for key in dispatch),
            other_keys=tuple(key for key in OTHER_CUDA_KEYS if key in dispatch),
            checks_devices=keys.get("device_check") != "NoCheck",
            structured=bool(delegate) or keys.get("structured") == "True",
        )
    return operators


def _blocks(text: str) -> list[str]:
    return ["- func: " + block for block in text.split("\n- func: ")[1:]]


def _entry(block: str) -> tuple[str, frozenset[str], dict[str, str]]:
    match = NAME.match(block)
    assert match is not None, block
    keys: dict[str, str] = {}
    backends: set[str] = set()
    for line in block.splitlines()[1:]:
        if found := KEY.match(line):
            keys[found.group(1)] = found.group(2).strip()
        elif found := DISPATCH_ENTRY.match(line):
            backends.update(name.strip() for name in found.group(1).split(","))
    return match.group(1), frozenset(backends), keys
