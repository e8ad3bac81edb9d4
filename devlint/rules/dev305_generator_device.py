"""DEV305 generator-device: a random generator and the tensor that it fills are on two devices."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import GeneratorDevice
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Rule, TextContext

RULE = Rule(
    code="DEV305",
    name="generator-device",
    summary="A random generator is on one device and what it is used for on another.",
    what=(
        "`generator=` of a random function or method is a CPU generator while the tensor is created on the "
        "accelerator, or the reverse: a CUDA generator given to `torch.randperm(n)`, to a sampler or to a DataLoader, "
        "which draw on the CPU. A check of the program's own that refuses a generator of another device is told, too. "
        "Keeping the generator on the CPU and moving what it drew is right, and silent."
    ),
    why="A generator belongs to one device, and torch raises where it is used on another.",
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
generator = torch.Generator().manual_seed(0)
noise = torch.randn(3, generator=generator, device=device)  # DEV305: gpu1 gpu2
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
generator = torch.Generator(device=device).manual_seed(0)
noise = torch.randn(3, generator=generator, device=device)
""",
    ),
    worlds=("gpu1", "gpu2"),
    error="RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'",
    fix_safety=(
        "Drawing on the CPU and moving the result is safe: on the CPU, where the code worked, the numbers are the "
        "same, and on the GPU they are those of the CPU. Taking the device away from the generator of a DataLoader is "
        "safe too."
    ),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.Generator.html",),
)


@RULE.on(GeneratorDevice)
def other_device(event: GeneratorDevice, context: TextContext) -> Iterator[Diagnosis]:
    """A generator was used on another device than its own."""
    if event.checked:
        message = f"the generator is on {event.generator_device}, and this check demands {event.expected_device}"
        yield Diagnosis(event.root, message, event, text.operand_trace(event, None, "refused here"))
        return
    used = text.quoted(event.operation or context.text(event.site))
    message = f"the generator is on {event.generator_device}, and {used} draws on {event.expected_device}"
    trace = text.operand_trace(event, None, f"{used} draws on {event.expected_device} here")
    yield Diagnosis(event.root, message, event, trace)


@RULE.fix
def draw_on_cpu(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Draw with the CPU generator and move the result, or leave the generator on the CPU."""
    call = edits.call_at(context, diagnosis.site)
    event = diagnosis.event
    if call is None or not isinstance(event, GeneratorDevice):
        return None
    device = edits.keyword(call, "device")
    if device is None:
        return None
    removed = edits.remove_argument(context, call, device)
    if edits.function_name(call) == "Generator" and event.expected_device == "cpu":
        return Mend("safe", "Leave the generator on the CPU", removed)
    if edits.keyword(call, "generator") is None or event.generator_device != "cpu" or len(removed) != 1:
        return None
    if edits.keyword(call, "out") is not None or edits.keyword(call, "requires_grad") is not None:
        return None
    moved = edits.after(context, call, f".to({context.source(device.value)})")
    return Mend("safe", "Draw on the CPU and move the result", (*removed, *moved))
