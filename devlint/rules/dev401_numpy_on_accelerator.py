"""DEV401 numpy-on-accelerator: `.numpy()` or `np.asarray(t)` on a CUDA tensor."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import ToHost
from devlint.rules import hosts
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Rule, TextContext

RULE = Rule(
    code="DEV401",
    name="numpy-on-accelerator",
    summary="A CUDA tensor is converted to a numpy array.",
    what=(
        "`t.numpy()`, `np.asarray(t)` or `np.array(t)` while `t` is on the accelerator. `.item()`, `.tolist()`, "
        "`float(t)` and `.numpy(force=True)` copy by themselves and are silent. Of the parameters of one module that "
        "are read in one function the first is reported, with how many rows follow: to move the module back mends all."
    ),
    why=(
        "A numpy array shares the memory of the tensor it is made from, and numpy can't see GPU memory. torch doesn't "
        "copy in secret; it raises. On a machine without a GPU the tensor is on the CPU and nothing shows."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.rand(3, device=device)
print(scores.numpy())  # DEV401: gpu1 gpu2
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.rand(3, device=device)
print(scores.cpu().numpy())
""",
    ),
    worlds=("gpu1", "gpu2"),
    error=(
        "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
        "memory first."
    ),
    fix_safety=(
        "`.cpu()` is safe: a CPU tensor returns itself, and the array shares its memory as before. Where the tensor "
        "needs a gradient, `.detach()` is added, which numpy demands anyway."
    ),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html",),
)


@RULE.on(ToHost)
def to_numpy(event: ToHost, context: TextContext) -> Iterator[Diagnosis]:
    """A CUDA tensor was converted; a dropped or rebound move upstream has its own rule."""
    if event.kind == "numpy":
        yield from hosts.diagnose(event)


@RULE.fix
def bring_to_cpu(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Insert `.cpu()`, with `.detach()` where the tensor needs a gradient."""
    return hosts.bring_to_cpu(diagnosis, context)
