"""The same-device rules of the table against those that torchgen compiles into torch (`device_check`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.model import DeviceCheckType, DispatchKey, NativeFunction, Variant

from devlint.semantics import table

# Rows that differ from the declaration, and why torch behaves as the row says.
EXPLAINED = {
    "index.Tensor": "Tensor.index of Python is the method of first-class dimensions; x[i] is __getitem__",
    "mse_loss": "torch.nn.functional expands the tensors first: none is 0-dimensional when they meet",
    "smooth_l1_loss": "torch.nn.functional expands the tensors first: none is 0-dimensional when they meet",
    "fractional_max_pool": "the random samples stand elsewhere in the function of torch.nn.functional",
    "cudnn_": "a kernel of one backend, whose row leaves most arguments away",
    "miopen_": "a kernel of one backend, whose row leaves most arguments away",
}


def declared() -> Iterator[tuple[str, table.Row, str, tuple[str, ...]]]:
    """Yield (operator, row, demand, parameters) for each native function that has a CUDA kernel and several tensors."""
    folder = Path(torchgen.__file__).parent / "packaged/ATen/native"
    native = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    by_name = {str(function.func.name): function for function in native.native_functions}
    cuda = native.backend_indices[DispatchKey.CUDA]
    for function in native.native_functions:
        delegate = by_name.get(str(function.structured_delegate), function)
        if not (cuda.has_kernel(function) or cuda.has_kernel(delegate)):
            continue
        if function.func.kind().name == "out":
            continue
        if function.device_check is DeviceCheckType.ExactSame:
            demand = "strict"
        elif delegate.structured_inherits == "TensorIteratorBase":
            demand = "combine"
        else:
            continue
        for path in paths(function):
            row = table.lookup(path)
            if row is None:
                continue
            is_method = path.startswith("torch.Tensor.")
            given = list(function.func.arguments.flat_positional)
            arguments = [argument for argument in given if argument.type.is_tensor_like()]
            if len(arguments) < 2:
                continue
            positional = [p.name for p in row.parameters]
            if is_method:
                positional.insert(0, "self")
            spelled = []
            for argument in arguments:
                name, number = argument.name, given.index(argument)
                known = name in positional or not number < len(positional)
                spelled.append(name if known else positional[number])
            yield str(function.func.name), row, demand, tuple(spelled)


def paths(function: NativeFunction) -> Iterator[str]:
    name = function.func.name.name
    base = str(name)
    module = function.python_module
    if Variant.method in function.variants:
        yield f"torch.Tensor.{base}"
    if Variant.function in function.variants:
        if module in ("linalg", "fft", "special"):
            yield f"torch.{module}.{base.removeprefix(f'{module}_')}"
        elif module == "nn":
            yield f"torch.nn.functional.{base}"
        elif not base.startswith("_") and hasattr(torch, base):
            yield f"torch.{base}"


def disagreements() -> list[str]:
    found = []
    for operator, row, demand, parameters in declared():
        demands = dict(row.demands)
        for parameter in parameters:
            said = demands.get(parameter)
            written = "inplace" in row.flags and parameter == parameters[0]
            expected = "strict" if written else demand
            if said != expected and not any(operator.startswith(word) for word in EXPLAINED):
                found.append(f"{operator}: {row.name}({parameter}) is {said}, torch says {demand}")
    return found


def test_the_table_agrees_with_the_declarations() -> None:
    rows = {row.name for _, row, _, _ in declared()}
    assert len(rows) > 200
    assert not disagreements()


def test_every_exception_is_needed() -> None:
    operators = {operator for operator, _, _, _ in declared()}
    assert all(any(operator.startswith(word) for operator in operators) for word in EXPLAINED)


def test_the_comparison_would_notice_a_wrong_row() -> None:
    wrong = table.parse("torch.mm", "(input, mat2): combine(input, mat2) -> tensor rank=2")
    right = [parameters for operator, row, _, parameters in declared() if operator == "mm" and row.name == "torch.mm"]
    assert right == [("input", "mat2")]
    assert dict(wrong.demands)["mat2"] != "strict"
