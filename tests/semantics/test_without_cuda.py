"""What the table says about a machine without CUDA, on this one: `query` raises, `harmless` does not."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

from devlint.semantics import errors, table

pytestmark = pytest.mark.skipif(
    torch.cuda.is_available() or torch.version.cuda is not None, reason="a CUDA build answers otherwise"
)

ARGUMENTS: dict[str, str] = {
    "seed": "1",
    "device": "0",
    "peer_device": "1",
    "new_state": "torch.get_rng_state()",
    "new_states": "[torch.get_rng_state()]",
    "fraction": "0.5",
    "size": "8",
    "debug_mode": "0",
    "mem_ptr": "0",
    "data_ptr": "0",
    "msg": "'text'",
    "device_type": "'cuda'",
    "d": "torch.float32",
    "mode": "True",
    "enabled": "True",
}
# Not called here: they want objects that can't be had without CUDA, a package of NVIDIA's, or exist in part.
APART = {
    "torch.cuda.set_stream",
    "torch.cuda.check_error",
    "torch.accelerator.set_stream",
    "torch.cuda.nvtx.range_start",
    "torch.cuda.nvtx.range_end",
    "torch.cuda.MemPool",
    "torch.cuda.CUDAPluggableAllocator",
    "torch.cuda.graph",
    "torch.accelerator.Graph",
    "torch.cuda.nccl.version",
    "torch.cuda.nvtx.range",
}
CASES = [
    row
    for row in table.rows("devices")
    if row.effect in ("query", "harmless")
    and row.name.startswith(("torch.cuda.", "torch.accelerator.", "torch.random.", "torch.amp."))
    and row.name not in APART
    and "needs-nvml" not in row.flags
    and all(p.optional or p.name in ARGUMENTS for p in row.parameters)
]

PROGRAM = """
import json, os, sys, warnings
import torch, torch.cuda.nvtx, torch.cuda.comm
warnings.simplefilter("ignore")
answers = {}
for name, code in json.load(sys.stdin).items():
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            eval(code)
            text = "fine"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    answers[name] = os.fdopen(reader).read()
    os.wait()
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    codes = {}
    for row in CASES:
        given = ", ".join(ARGUMENTS[p.name] for p in row.parameters if not p.optional)
        codes[row.name] = f"{row.name}({given})"
    run = subprocess.run([sys.executable, "-c", PROGRAM], input=json.dumps(codes), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found: dict[str, str] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("row", CASES, ids=lambda row: row.name)
def test_what_a_machine_without_cuda_answers(row: table.Row, answers: dict[str, str]) -> None:
    said = answers[row.name]
    if row.effect == "harmless":
        assert said == "fine"
    else:
        expected = errors.message("no-cuda", operation=row.name)
        assert said.startswith(expected)
        assert errors.matches(expected, said)


def test_most_rows_are_tried() -> None:
    assert len(CASES) > 80
