"""DEV303 default-device-tensor: a tensor created without `device=` meets the accelerator's tensors."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import edits, handles, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Rule, TextContext

RULE = Rule(
    code="DEV303",
    name="default-device-tensor",
    summary="A tensor created on the default device meets the accelerator's tensors.",
    what=(
        "`torch.zeros(...)`, `torch.randn(...)`, `torch.arange(...)` and the other factories called without `device=` "
        "give CPU tensors. The rule speaks where such a tensor then meets one on the accelerator: in `forward`, in a "
        "loss, in a training step or any other function. It is silent where the tensor is moved on its way, is "
        "0-dimensional and takes part in elementwise operations only, serves as an index into a CUDA tensor, or is "
        "read as a number."
    ),
    why=(
        "Factories create on the default device, which is the CPU unless the program sets another. `zeros_like(x)`, "
        "`x.new_zeros(...)` and `device=x.device` follow a tensor that is already where it should be."
    ),
    example=Example(
        bad="""\
import torch


def reparameterize(mu, std):
    eps = torch.randn(std.shape)  # DEV303: gpu1 gpu2
    return mu + eps * std


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(reparameterize(torch.zeros(3, device=device), torch.ones(3, device=device)))
""",
        good="""\
import torch


def reparameterize(mu, std):
    eps = torch.randn(std.shape, device=std.device)
    return mu + eps * std


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(reparameterize(torch.zeros(3, device=device), torch.ones(3, device=device)))
""",
    ),
    worlds=("gpu1", "gpu2"),
    error=(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    ),
    fix_safety=(
        "Adding `device=` is safe: on the CPU, where the code worked, the tensor is the same. It is offered where the "
        "tensor that it clashes with, or the device handle of the program, can be named at the factory."
    ),
    references=("https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",),
)

FACTORY_NAMES = """
arange as_tensor asarray bartlett_window blackman_window empty eye full hamming_window hann_window kaiser_window
linspace logspace ones rand randint randn randperm scalar_tensor tensor tril_indices triu_indices zeros
"""
FACTORIES = frozenset(FACTORY_NAMES.split())
"""Functions of torch that take `device=`; a test checks each against the installed torch."""


@RULE.on(MixedDevices)
def two_devices(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """A tensor from a factory call without a device met one of another device."""
    if event.cause == "factory":
        culprit = event.culprit
        made = text.quoted(context.text(event.root))
        how = "" if any(mark.kind == "host" for mark in culprit.marks) else " without `device=`"
        message = f"{made} is created on {culprit.device}{how}, and {text.meeting(event)}"
        yield Diagnosis(event.root, message, event, text.clash_trace(event))


@RULE.fix
def create_there(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Create the tensor on the device of the tensor that it meets."""
    call = edits.call_at(context, diagnosis.site)
    if call is None or edits.keyword(call, "device") is not None or edits.makes_distribution(call):
        return None
    device = handles.follow(diagnosis, context, call) or handles.handle(diagnosis, context, call)
    if device is None:
        return None
    if edits.function_name(call) in FACTORIES:
        added = edits.add_keyword(context, call, f"device={device}")
        return None if added is None else Mend("safe", f"Create it there: `device={device}`", added)
    if edits.is_taken_apart(context, call):
        return None
    return Mend("safe", f"Move it there: `.to({device})`", edits.after(context, call, f".to({device})"))
