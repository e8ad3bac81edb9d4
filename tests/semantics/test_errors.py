"""The error texts are those that torch raises: on the plain CPU, and under simulated CUDA with two devices."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from devlint.semantics import errors

ON_THE_CPU: list[tuple[str, str, dict[str, object]]] = [
    ("torch.zeros(3).cuda()", "no-cuda", {"operation": "torch.Tensor.cuda"}),
    ("torch.zeros(3, device='cuda')", "no-cuda", {"operation": "torch.zeros"}),
    ("torch.zeros(3).to('cuda:1')", "no-cuda", {"operation": "torch.Tensor.to", "device": "cuda:1"}),
    ("nn.Linear(2, 2).to('cuda')", "no-cuda", {"operation": "torch.nn.Module.to"}),
    ("torch.zeros(3).to(0)", "no-cuda", {"operation": "torch.Tensor.to", "form": "index"}),
    ("torch.zeros(3, device='mps')", "no-cuda", {"operation": "torch.zeros", "device": "mps"}),
    ("torch.zeros(3).to('mps')", "no-cuda", {"operation": "torch.Tensor.to", "device": "mps"}),
    ("torch.zeros(3, device='xpu')", "no-cuda", {"operation": "torch.zeros", "device": "xpu"}),
    ("torch.zeros(3, device='hpu')", "no-cuda", {"operation": "torch.zeros", "device": "hpu"}),
    ("torch.cuda.FloatTensor(3)", "no-cuda", {"operation": "torch.cuda.FloatTensor"}),
    ("torch.cuda.LongTensor([1])", "no-cuda", {"operation": "torch.cuda.LongTensor"}),
    ("torch.zeros(2).type('torch.cuda.FloatTensor')", "no-cuda", {"operation": "torch.Tensor.type"}),
    (
        "torch.set_default_tensor_type('torch.cuda.FloatTensor')",
        "no-cuda",
        {"operation": "torch.set_default_tensor_type"},
    ),
    ("torch.Generator(device='cuda')", "no-cuda", {"operation": "torch.Generator"}),
    ("torch.zeros(3).pin_memory()", "no-cuda", {"operation": "torch.Tensor.pin_memory"}),
    ("torch.cuda.set_device(0)", "no-cuda", {"operation": "torch.cuda.set_device"}),
    ("torch.cuda.current_device()", "no-cuda", {"operation": "torch.cuda.current_device"}),
    ("torch.cuda.get_device_name()", "no-cuda", {"operation": "torch.cuda.get_device_name"}),
    ("torch.cuda.synchronize()", "no-cuda", {"operation": "torch.cuda.synchronize"}),
    ("torch.cuda.Stream()", "no-cuda", {"operation": "torch.cuda.Stream"}),
    ("torch.cuda.Event()", "no-cuda", {"operation": "torch.cuda.Event"}),
    ("torch.cuda.reset_peak_memory_stats()", "no-cuda", {"operation": "torch.cuda.reset_peak_memory_stats"}),
    ("torch.cuda.memory_snapshot()", "no-cuda", {"operation": "torch.cuda.memory_snapshot"}),
    ("torch.cuda.memory_summary()", "no-cuda", {"operation": "torch.cuda.memory_summary"}),
    ("torch.cuda.device(0).__enter__()", "no-cuda", {"operation": "torch.cuda.device"}),
    ("torch.cuda.nvtx.range_push('a')", "no-cuda", {"operation": "torch.cuda.nvtx.range_push"}),
    ("torch.accelerator.synchronize()", "no-cuda", {"operation": "torch.accelerator.synchronize"}),
    ("torch.device('gpu')", "invalid-device", {"text": "gpu"}),
    ("torch.zeros(3, device='gpu:0')", "invalid-device", {"text": "gpu:0"}),
    ("torch.device('cuda:x')", "invalid-device", {"text": "cuda:x"}),
    ("torch.zeros(2).to('cuda0')", "invalid-device", {"text": "cuda0"}),
    ("torch.device('')", "invalid-device", {"text": ""}),
    ("torch.LongTensor([0], device='cuda')", "invalid-device", {"form": "legacy", "text": "cuda"}),
    ("torch.zeros(2, device=-1)", "invalid-device", {"text": "-1"}),
    (
        "torch.zeros(2, device=torch.cuda.device(0))",
        "invalid-device",
        {"form": "context", "operation": "torch.zeros"},
    ),
    (
        "torch.zeros(2).to(torch.cuda.device(0))",
        "invalid-device",
        {"form": "context", "operation": "torch.Tensor.to"},
    ),
    ("np.zeros(3).to('cuda')", "no-attribute", {"type": "numpy.ndarray", "name": "to"}),
    ("[1].to('cpu')", "no-attribute", {"type": "list", "name": "to"}),
    ("nn.Linear(2, 2).device", "no-attribute", {"type": "Linear", "name": "device"}),
    ("torch.accelerator.current_accelerator().type", "no-attribute", {"type": "NoneType", "name": "type"}),
    ("torch.optim.SGD([nn.Parameter(torch.zeros(2)).clone()], lr=1)", "non-leaf", {}),
    ("'cuda' in torch.device('cpu')", "not-iterable", {}),
    ("torch.zeros(2, device='meta').cpu()", "meta", {}),
    ("torch.device(cpu)", "unbound", {"name": "cpu"}),
    ("(lambda: [x for _ in [0]] and 0)()", "unbound", {"name": "x"}),
]

CUDA, CPU = "cuda:0", "cpu"
SIMULATED: list[tuple[str, str, dict[str, object]]] = [
    ("a + b", "mixed", {"operation": "torch.Tensor.__add__", "operands": [("self", CUDA), ("other", CPU)]}),
    ("b + a", "mixed", {"operation": "torch.Tensor.__add__", "operands": [("self", CPU), ("other", CUDA)]}),
    ("b.add_(a)", "mixed", {"operation": "torch.Tensor.add_", "operands": [("self", CPU), ("other", CUDA)]}),
    ("a @ b", "mixed", {"operation": "torch.Tensor.__matmul__", "operands": [("self", CUDA), ("other", CPU)]}),
    ("b @ a", "mixed", {"operation": "torch.matmul", "operands": [("input", CPU), ("other", CUDA)]}),
    (
        "a[None] @ b[None]",
        "mixed",
        {"operation": "torch.matmul", "operands": [("input", CUDA), ("other", CPU)], "ranks": [3, 3]},
    ),
    (
        "a @ b[0]",
        "mixed",
        {"operation": "torch.Tensor.__matmul__", "operands": [("self", CUDA), ("other", CPU)], "ranks": [2, 1]},
    ),
    (
        "a[0] @ b[0]",
        "mixed",
        {"operation": "torch.matmul", "operands": [("input", CUDA), ("other", CPU)], "ranks": [1, 1]},
    ),
    (
        "a[None] @ b",
        "mixed",
        {"operation": "torch.matmul", "operands": [("input", CUDA), ("other", CPU)], "ranks": [3, 2]},
    ),
    (
        "torch.einsum('ij,kj->ik', a, b)",
        "mixed",
        {"operation": "torch.einsum", "operands": [("operands", CUDA), ("operands", CPU)]},
    ),
    (
        "torch.stft(torch.ones(1, 64, device='cuda'), 8, window=b[0], win_length=3, return_complex=True)",
        "mixed",
        {"operation": "torch.stft", "operands": [("input", CUDA), ("window", CPU)]},
    ),
    (
        "torch.istft(torch.ones(5, 9, device='cuda') + 0j, 8, window=torch.ones(8))",
        "mixed",
        {"operation": "torch.istft", "operands": [("input", CUDA), ("window", CPU)]},
    ),
    (
        "b.__setitem__((i, i), a[0, :2])",
        "mixed",
        {"operation": "torch.Tensor.__setitem__", "operands": [("self", CPU), ("value", CUDA)]},
    ),
    (
        "nn.MultiheadAttention(3, 1, device='cuda')(a, a, a, attn_mask=b)",
        "mixed",
        {
            "operation": "torch.nn.MultiheadAttention.forward",
            "operands": [("query", CUDA), ("attn_mask", CPU), ("in_proj_weight", CUDA)],
        },
    ),
    (
        "nn.TransformerEncoderLayer(4, 1, 4, batch_first=True, device='cuda')(a.new_ones(1, 3, 4), None, b[:1] > 2)",
        "mixed",
        {
            "operation": "torch.nn.TransformerEncoderLayer.forward",
            "operands": [("src", CUDA), ("src_key_padding_mask", CPU), ("self_attn.in_proj_weight", CUDA)],
        },
    ),
    ("a.mv(b[0])", "mixed", {"operation": "torch.Tensor.mv", "operands": [("self", CUDA), ("vec", CPU)]}),
    ("a[0].dot(b[0])", "mixed", {"operation": "torch.Tensor.dot", "operands": [("self", CUDA), ("tensor", CPU)]}),
    ("torch.mm(a, b)", "mixed", {"operation": "torch.mm", "operands": [("input", CUDA), ("mat2", CPU)]}),
    (
        "torch.addmm(b, a, a)",
        "mixed",
        {"operation": "torch.addmm", "operands": [("input", CPU), ("mat1", CUDA), ("mat2", CUDA)]},
    ),
    ("torch.cat([a, b])", "mixed", {"operation": "torch.cat", "operands": [("tensors", CUDA), ("tensors", CPU)]}),
    ("torch.stack([b, a])", "mixed", {"operation": "torch.stack", "operands": [("tensors", CPU), ("tensors", CUDA)]}),
    ("torch.cdist(a, b)", "mixed", {"operation": "torch.cdist", "operands": [("x1", CUDA), ("x2", CPU)]}),
    ("a.equal(b)", "mixed", {"operation": "torch.Tensor.equal", "operands": [("self", CUDA), ("other", CPU)]}),
    (
        "torch.isin(a, b)",
        "mixed",
        {"operation": "torch.isin", "operands": [("elements", CUDA), ("test_elements", CPU)]},
    ),
    (
        "torch.clamp(a, b)",
        "mixed",
        {"operation": "torch.clamp", "operands": [("input", CUDA), ("min", CPU)]},
    ),
    (
        "torch.linalg.solve(a, b)",
        "mixed",
        {"operation": "torch.linalg.solve", "operands": [("A", CUDA), ("B", CPU)]},
    ),
    (
        "nn.Linear(3, 2)(a)",
        "mixed",
        {"operation": "torch.nn.Linear.forward", "operands": [("input", CUDA), ("weight", CPU), ("bias", CPU)]},
    ),
    (
        "nn.Linear(3, 2).cuda()(b)",
        "mixed",
        {"operation": "torch.nn.Linear.forward", "operands": [("input", CPU), ("weight", CUDA), ("bias", CUDA)]},
    ),
    (
        "nn.Linear(3, 2, bias=False)(a)",
        "mixed",
        {"operation": "torch.nn.Linear.forward", "operands": [("input", CUDA), ("weight", CPU)]},
    ),
    (
        "nn.Embedding(4, 3)(i.cuda())",
        "mixed",
        {"operation": "torch.nn.Embedding.forward", "operands": [("weight", CPU), ("input", CUDA)]},
    ),
    (
        "F.embedding(i, a)",
        "mixed",
        {"operation": "torch.nn.functional.embedding", "operands": [("input", CPU), ("weight", CUDA)]},
    ),
    (
        "nn.Conv2d(1, 2, 3)(picture.cuda())",
        "mixed",
        {"operation": "torch.nn.Conv2d.forward", "operands": [("input", CUDA), ("weight", CPU), ("bias", CPU)]},
    ),
    (
        "nn.Conv2d(1, 2, 3).cuda()(picture)",
        "mixed",
        {"operation": "torch.nn.Conv2d.forward", "operands": [("input", CPU), ("weight", CUDA), ("bias", CUDA)]},
    ),
    (
        "nn.Conv2d(1, 2, 3).cuda(1)(picture.cuda(0))",
        "mixed",
        {"operation": "torch.nn.Conv2d.forward", "operands": [("input", CUDA), ("weight", "cuda:1")]},
    ),
    (
        "nn.LSTM(3, 4)(a)",
        "mixed",
        {"operation": "torch.nn.LSTM.forward", "operands": [("input", CUDA), ("weight_ih_l0", CPU)]},
    ),
    (
        "nn.GRU(3, 4).cuda()(a, torch.zeros(1, 4))",
        "mixed",
        {
            "operation": "torch.nn.GRU.forward",
            "operands": [("input", CUDA), ("hx", CPU), ("weight_ih_l0", CUDA)],
        },
    ),
    (
        "nn.BatchNorm1d(3)(a)",
        "mixed",
        {"operation": "torch.nn.BatchNorm1d.forward", "operands": [("input", CUDA), ("weight", CPU)]},
    ),
    (
        "nn.LayerNorm(3).cuda()(b)",
        "mixed",
        {"operation": "torch.nn.LayerNorm.forward", "operands": [("input", CPU), ("weight", CUDA)]},
    ),
    (
        "nn.PReLU()(a)",
        "mixed",
        {"operation": "torch.nn.PReLU.forward", "operands": [("input", CUDA), ("weight", CPU)]},
    ),
    (
        "nn.MultiheadAttention(3, 1)(a, a, a)",
        "mixed",
        {
            "operation": "torch.nn.MultiheadAttention.forward",
            "operands": [("query", CUDA), ("in_proj_weight", CPU), ("in_proj_bias", CPU)],
        },
    ),
    (
        "F.cross_entropy(a, i[[0, 1, 1]])",
        "mixed",
        {"operation": "torch.nn.functional.cross_entropy", "operands": [("input", CUDA), ("target", CPU)]},
    ),
    (
        "nn.CrossEntropyLoss(torch.ones(3))(a, i[[0, 1, 1]].cuda())",
        "mixed",
        {
            "operation": "torch.nn.CrossEntropyLoss.forward",
            "operands": [("input", CUDA), ("target", CUDA), ("weight", CPU)],
        },
    ),
    (
        "F.mse_loss(a, b)",
        "mixed",
        {"operation": "torch.nn.functional.mse_loss", "operands": [("input", CUDA), ("target", CPU)]},
    ),
    (
        "F.binary_cross_entropy(a, b)",
        "mixed",
        {"operation": "torch.nn.functional.binary_cross_entropy", "operands": [("input", CUDA), ("target", CPU)]},
    ),
    (
        "F.scaled_dot_product_attention(a[None], b[None], b[None])",
        "mixed",
        {
            "operation": "torch.nn.functional.scaled_dot_product_attention",
            "operands": [("query", CUDA), ("key", CPU), ("value", CPU)],
        },
    ),
    (
        "a.masked_fill(b > 0, 0.0)",
        "mixed",
        {"operation": "torch.Tensor.masked_fill", "operands": [("self", CUDA), ("mask", CPU)]},
    ),
    (
        "b.masked_fill_(a > 0, 0.0)",
        "mixed",
        {"operation": "torch.Tensor.masked_fill_", "operands": [("self", CPU), ("mask", CUDA)]},
    ),
    (
        "a.masked_select(b > 0)",
        "mixed",
        {"operation": "torch.Tensor.masked_select", "operands": [("self", CUDA), ("mask", CPU)]},
    ),
    (
        "a.gather(0, i[None])",
        "mixed",
        {"operation": "torch.Tensor.gather", "operands": [("self", CUDA), ("index", CPU)]},
    ),
    (
        "a.index_select(0, i)",
        "mixed",
        {"operation": "torch.Tensor.index_select", "operands": [("self", CUDA), ("index", CPU)]},
    ),
    (
        "a.index_add_(0, i, a[:2])",
        "mixed",
        {"operation": "torch.Tensor.index_add_", "operands": [("self", CUDA), ("index", CPU), ("source", CUDA)]},
    ),
    (
        "a.scatter_add_(0, i[None], a)",
        "mixed",
        {"operation": "torch.Tensor.scatter_add_", "operands": [("self", CUDA), ("index", CPU), ("src", CUDA)]},
    ),
    ("a.take(i)", "mixed", {"operation": "torch.Tensor.take", "operands": [("self", CUDA), ("index", CPU)]}),
    (
        "a.clone().requires_grad_().mul(2).backward(b)",
        "mixed",
        {"operation": "torch.Tensor.backward", "operands": [("self", CUDA), ("gradient", CPU)]},
    ),
    (
        "nn.utils.parameters_to_vector([a, b])",
        "mixed",
        {"operation": "torch.nn.utils.parameters_to_vector", "operands": [("parameters", CUDA), ("parameters", CPU)]},
    ),
    (
        "torch.where(a > 0, b, a)",
        "mixed",
        {"operation": "torch.where", "operands": [("condition", CUDA), ("input", CPU)]},
    ),
    ("a.numpy()", "numpy", {"device": CUDA}),
    ("np.asarray(a.to('cuda:1'))", "numpy", {"device": "cuda:1"}),
    ("np.sqrt(a)", "numpy", {"device": CUDA}),
    ("b[i.cuda()]", "index", {"device": CPU}),
    ("b[a > 0]", "index", {"device": CPU}),
    ("torch.ones(3, device='cuda:7')", "ordinal", {}),
    ("torch.cuda.set_device(5)", "ordinal", {"operation": "torch.cuda.set_device"}),
    ("torch.cuda.get_device_name(5)", "ordinal", {"operation": "torch.cuda.get_device_name"}),
    (
        "nn.DataParallel(nn.Linear(3, 2).cuda(), device_ids=[0, 5])",
        "ordinal",
        {"operation": "torch.nn.DataParallel"},
    ),
    (
        "next(iter(torch.utils.data.RandomSampler(range(4), generator=torch.Generator('cuda'))))",
        "generator",
        {"operation": "RandomSampler", "expected": CPU, "found": CUDA},
    ),
    (
        "torch.set_rng_state(torch.get_rng_state().cuda())",
        "cpu-argument",
        {"operation": "set_rng_state", "device": CUDA},
    ),
    ("a.normal_(generator=torch.Generator())", "generator", {"expected": CUDA, "found": CPU}),
    (
        "torch.randperm(3, generator=torch.Generator('cuda'))",
        "generator",
        {"operation": "torch.randperm", "expected": CPU, "found": CUDA},
    ),
    ("a.pin_memory()", "pin", {}),
    ("i.cuda().pin_memory()", "pin", {"type": "torch.cuda.LongTensor"}),
    (
        "nn.utils.rnn.pack_padded_sequence(a[None], torch.tensor([1, 1, 1]).cuda())",
        "cpu-argument",
        {"operation": "torch.nn.utils.rnn.pack_padded_sequence", "device": CUDA},
    ),
    ("torch.tensor_split(a, i.cuda())", "cpu-argument", {"operation": "torch.tensor_split", "device": CUDA}),
    (
        "nn.DataParallel(nn.Linear(3, 2).cuda(0), device_ids=[1, 0])(a)",
        "data-parallel",
        {"expected": "cuda:1", "found": CUDA},
    ),
    ("setattr(a.requires_grad_(), 'grad', b)", "gradient", {"gradient": CPU, "tensor": CUDA}),
    ("setattr(nn.Linear(3, 3), 'weight', a)", "not-a-parameter", {"name": "weight"}),
    (
        "nn.Linear(3, 3).register_parameter('scale', nn.Parameter(b).cuda())",
        "not-a-parameter",
        {"name": "scale", "form": "register"},
    ),
    (
        "torch.serialization._deserialize('cuda', b.untyped_storage(), 'cuda:5')",
        "deserialize",
        {"index": 5, "count": 2},
    ),
    ("torch.optim.SGD([nn.Parameter(b).cuda()], lr=1)", "non-leaf", {}),
]

PROGRAM = """
import json, sys
if "simulated" in sys.argv:
    from devlint import simulated
    simulated.activate(2)
import numpy as np, torch, torch.serialization
from torch import nn
from torch.nn import functional as F
answers = []
for code in json.load(sys.stdin):
    a, b = torch.ones(3, 3, device="cuda"), torch.ones(3, 3)
    i, picture = torch.tensor([0, 1]), torch.ones(2, 1, 5, 5)
    try:
        eval(code)
        answers.append("no error")
    except Exception as error:
        answers.append(f"{type(error).__name__}: {error}")
print(json.dumps(answers))
"""


def answers(codes: list[str], *options: str) -> dict[str, str]:
    """What each line raises, run in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, *options]
    run = subprocess.run(command, input=json.dumps(codes), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return dict(zip(codes, json.loads(run.stdout), strict=True))


@pytest.fixture(scope="module")
def simulated() -> dict[str, str]:
    if torch.version.cuda is not None:
        pytest.skip("simulated CUDA wants a CPU build of torch")
    return answers([code for code, _, _ in SIMULATED], "simulated")


@pytest.fixture(scope="module")
def real() -> dict[str, str]:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    two = ("cuda:1", "cuda(1)", "device_ids")
    codes = [code for code, _, _ in SIMULATED if torch.cuda.device_count() > 1 or not any(word in code for word in two)]
    return answers(codes)


def raised(code: str) -> str:
    try:
        eval(code, {"torch": torch, "nn": nn, "F": F, "np": np})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


@pytest.mark.parametrize(("code", "kind", "facts"), ON_THE_CPU, ids=[case[0] for case in ON_THE_CPU])
@pytest.mark.skipif(
    torch.cuda.is_available() or torch.version.cuda is not None, reason="a CUDA build answers otherwise"
)
def test_errors_of_a_machine_without_cuda(code: str, kind: str, facts: dict[str, object]) -> None:
    expected, observed = errors.message(kind, **facts), raised(code)
    assert observed.startswith(expected)
    assert errors.matches(expected, observed)


@pytest.mark.parametrize(("code", "kind", "facts"), SIMULATED, ids=[case[0] for case in SIMULATED])
def test_errors_of_a_machine_with_two_gpus(
    code: str, kind: str, facts: dict[str, object], simulated: dict[str, str]
) -> None:
    expected, observed = errors.message(kind, **facts), simulated[code]
    assert observed.partition("\n")[0] == expected
    assert errors.matches(expected, observed)


@pytest.mark.gpu
@pytest.mark.parametrize(("code", "kind", "facts"), SIMULATED, ids=[case[0] for case in SIMULATED])
def test_errors_of_a_real_gpu(code: str, kind: str, facts: dict[str, object], real: dict[str, str]) -> None:
    if code not in real:
        pytest.skip("needs a second GPU")
    assert errors.matches(errors.message(kind, **facts), real[code])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU to load to")
def test_a_checkpoint_from_a_gpu() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.serialization._deserialize("cuda", torch.ones(3).untyped_storage(), "cuda:0")  # type: ignore[attr-defined]
    assert f"RuntimeError: {caught.value}" == errors.message("deserialize")


@pytest.mark.parametrize(
    ("short", "operands", "full", "named"),
    [
        (
            "Linear",
            [("self", CUDA), ("Linear.weight", CPU), ("Linear.bias", CPU)],
            "torch.nn.Linear.forward",
            [("input", CUDA), ("weight", CPU), ("bias", CPU)],
        ),
        (
            "Conv2d",
            [("self", CPU), ("Conv2d.weight", CUDA)],
            "torch.nn.Conv2d.forward",
            [("input", CPU), ("weight", CUDA)],
        ),
        (
            "LSTM",
            [("self", CUDA), ("LSTM.weight_ih_l0", CPU)],
            "torch.nn.LSTM.forward",
            [("input", CUDA), ("weight_ih_l0", CPU)],
        ),
        ("matmul", [("self", CUDA), ("self", CPU)], "torch.Tensor.matmul", [("self", CUDA), ("other", CPU)]),
        ("masked_fill", [("self", CUDA), ("self", CPU)], "torch.Tensor.masked_fill", [("self", CUDA), ("mask", CPU)]),
        ("cat", [("self", CUDA), ("self", CPU)], "torch.cat", [("tensors", CUDA), ("tensors", CPU)]),
        (
            "cross_entropy",
            [("self", CUDA), ("self", CPU)],
            "torch.nn.functional.cross_entropy",
            [("input", CUDA), ("target", CPU)],
        ),
    ],
)
def test_operations_may_be_named_in_short(
    short: str, operands: list[tuple[str, str]], full: str, named: list[tuple[str, str]]
) -> None:
    said = errors.message("mixed", operation=short, operands=operands)
    assert said == errors.message("mixed", operation=full, operands=named)


def test_a_cpu_tensor_indexed_by_a_cuda_tensor() -> None:
    said = errors.message("mixed", operation="index", operands=[("self", CPU), ("self", CUDA)])
    assert said == errors.message("index", device=CPU)


def test_other_kinds_of_failure_do_not_match() -> None:
    for left in errors.kinds():
        for right in errors.kinds():
            same = errors.matches(errors.message(left), errors.message(right))
            alike = {left, right} <= {"no-cuda", "no-driver"} or {left, right} <= {"mixed", "metric"}
            assert same == (left == right or alike), (left, right)


def test_an_unknown_kind_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        errors.message("no-such-kind")
