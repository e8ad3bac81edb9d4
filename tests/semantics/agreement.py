"""Compare the rows with what torch does: each tensor argument of torch's own samples (OpInfo) moved to the CPU in turn.

    python tests/semantics/agreement.py [--every N] [--report FILE]

runs on a real GPU where there is one, else under simulated CUDA. Every sample first runs with all its tensors on
`cuda:0`; then each of them is put on the CPU, whole, and as a 0-dimensional tensor. Whether torch raises an error about
devices, and where the result is, is compared with what the row says. A sample that fails for another reason is no
evidence and is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from devlint.semantics import errors, table

CUDA, CPU = "cuda:0", "cpu"
DEVICE_ERRORS = tuple(errors.message(kind) for kind in ("mixed", "index", "cpu-argument"))
SECONDS_FOR_ONE_OPERATOR = 30


@dataclass(frozen=True)
class Operand:
    """A tensor argument: its device and its number of dimensions."""

    device: str
    rank: int


@dataclass(frozen=True)
class Trial:
    """One call with one tensor moved: what torch did, and what the row says. An outcome is `error` or a device."""

    operator: str
    row: str
    argument: int
    form: str
    observed: str
    predicted: str
    said: str = ""

    @property
    def agrees(self) -> bool:
        return self.predicted in (self.observed, "unknown") or self.observed == "no tensor"


def forms(op: Any) -> Iterator[tuple[table.Row, Callable[..., Any]]]:
    """The rows that an OpInfo is evidence for, each with its callable: function, method, in-place method."""
    for path, function in (
        (f"torch.{op.name}", op.op),
        (f"torch.Tensor.{op.name}", op.method_variant),
        (f"torch.Tensor.{op.name}_", op.inplace_variant),
    ):
        row = table.lookup(path)
        if row is not None and function is not None:
            yield row, function


def predict(row: table.Row, bound: dict[str, Any]) -> str:
    """Apply a row to operands: `error`, or the device of the result, or `unknown`."""
    demands = dict(row.demands)
    if row.effect in ("create", "data", "unknown", "none", "model", "move", "harmless", "query"):
        return "unknown"
    agreeing: list[str] = []
    for name, demand in demands.items():
        for operand in flat(bound.get(name)):
            if demand == "strict" or (demand == "combine" and (operand.rank > 0 or operand.device != CPU)):
                agreeing.append(operand.device)
            elif demand == "single" and operand.rank > 0:
                agreeing.append(operand.device)
            elif demand == "cpu" and operand.device != CPU:
                return "error"
    first = next(iter(flat([bound.get(name) for name in row.concerned])), None)
    if len(set(agreeing)) > 1:
        return "error"
    for name, demand in demands.items():
        if (
            demand == "index"
            and first is not None
            and any(operand.device not in (CPU, first.device) for operand in flat(bound.get(name)))
        ):
            return "error"
    if row.effect in ("combine", "strict"):
        return agreeing[0] if agreeing else (first.device if first else "unknown")
    return first.device if first is not None else "unknown"


def describe(tensor: Any) -> Operand:
    return Operand(str(tensor.device), tensor.dim())


def flat(value: object) -> Iterator[Operand]:
    if isinstance(value, Operand):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)


def trials(op: Any, row: table.Row, function: Callable[..., Any]) -> Iterator[Trial]:
    """Run the samples of one OpInfo with each tensor moved in turn."""
    import torch
    from torch.utils._pytree import tree_flatten, tree_map_only

    name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
    for sample in chosen_samples(op):
        whole = (sample.input, tuple(sample.args), dict(sample.kwargs))
        count = sum(isinstance(leaf, torch.Tensor) for leaf in tree_flatten(whole)[0])

        def placed(moved: int, scalar: bool, whole: Any = whole) -> Any:
            number = -1

            def place(tensor: Any) -> Any:
                nonlocal number
                number += 1
                if number != moved:
                    return tensor.detach().clone().to(CUDA)
                tensor = tensor.detach().clone()
                return tensor.reshape(-1)[0].clone() if scalar and tensor.numel() else tensor

            return tree_map_only(torch.Tensor, place, whole)

        if attempt(function, placed(-1, False))[0] == "failed" or count > 8:
            continue
        for moved in range(count):
            for scalar in (False, True):
                values = placed(moved, scalar)
                observed, said = attempt(function, values)
                if observed == "failed":
                    continue
                value, args, kwargs = tree_map_only(torch.Tensor, describe, values)
                if row.name.startswith("torch.Tensor."):
                    bound = table.bind(row, args, kwargs, receiver=value)
                else:
                    bound = table.bind(row, (value, *args), kwargs)
                form = "0-dimensional" if scalar else "whole"
                yield Trial(name, row.name, moved, form, observed, predict(row, bound), said)


def chosen_samples(op: Any) -> list[Any]:
    """Up to three samples whose arguments differ in kind, those with the most and the largest tensors first."""
    import torch
    from torch.utils._pytree import tree_flatten

    if not op.dtypes:
        return []
    dtype = torch.float32 if torch.float32 in op.dtypes else sorted(op.dtypes, key=str)[0]
    found: dict[Any, Any] = {}
    for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
        leaves = tree_flatten((sample.input, sample.args, sample.kwargs))[0]
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if number > 40:
            break
        if any(tensor.layout != torch.strided for tensor in tensors):
            continue
        kind = tuple(leaf.dim() if isinstance(leaf, torch.Tensor) else type(leaf).__name__ for leaf in leaves)
        small = sum(tensor.numel() < 2 for tensor in tensors)
        found.setdefault(kind, (small > 0, -len(tensors), number, sample))
    return [sample for *_, sample in sorted(found.values(), key=lambda entry: entry[:3])[:3]]


def attempt(function: Callable[..., Any], values: Any) -> tuple[str, str]:
    """Call and return the outcome: `error`, `failed` for another reason, or the device of the first result."""
    import torch
    from torch.utils._pytree import tree_flatten

    value, args, kwargs = values
    try:
        result = function(value, *args, **kwargs)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        expected = any(errors.matches(known, text) for known in DEVICE_ERRORS)
        return ("error" if expected else "failed"), text.splitlines()[0]
    devices = {str(leaf.device) for leaf in tree_flatten(result)[0] if isinstance(leaf, torch.Tensor)}
    return (devices.pop() if len(devices) == 1 else "no tensor"), ""


def run(every: int = 1, offset: int = 0) -> list[Trial]:
    """Try every n-th operator, each in a process of its own."""
    import torch

    if not torch.cuda.is_available():
        from devlint import simulated

        simulated.activate(1)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    from torch.testing._internal.common_methods_invocations import op_db

    results: list[Trial] = []
    for op in op_db[offset::every]:
        for row, function in forms(op):
            work = partial(list, trials(op, row, function))
            results += work() if torch.version.cuda else in_a_fork(work)
    return results


def in_a_fork(work: Callable[[], list[Trial]]) -> list[Trial]:
    """A crash or an endless loop of one operator costs its own trials only."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        signal.alarm(SECONDS_FOR_ONE_OPERATOR)
        os.close(reader)
        try:
            with os.fdopen(writer, "w") as stream:
                json.dump([asdict(trial) for trial in work()], stream)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return [Trial(**fields) for fields in json.loads(text or "[]")]


def summary(results: list[Trial]) -> dict[str, Any]:
    """Figures: trials and rows that agree, and every trial that does not."""
    rows = {trial.row for trial in results if trial.predicted != "unknown"}
    wrong = [trial for trial in results if not trial.agrees]
    return {
        "operators": len({trial.operator for trial in results}),
        "rows": len(rows),
        "rows that agree": len(rows - {trial.row for trial in wrong}),
        "trials": len(results),
        "trials that agree": len(results) - len(wrong),
        "differences": [asdict(trial) for trial in wrong],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--offset", type=int, default=0)
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    started = time.time()
    answer = summary(run(options.every, options.offset))
    answer["seconds"] = round(time.time() - started, 1)
    text = json.dumps(answer, indent=1)
    if options.report:
        options.report.write_text(text)
    else:
        sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
