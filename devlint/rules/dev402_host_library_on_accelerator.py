"""DEV402 host-library-on-accelerator: numpy functions, matplotlib, sklearn, cv2 or pandas given a CUDA tensor."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import ToHost
from devlint.rules import hosts
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Rule, TextContext

RULE = Rule(
    code="DEV402",
    name="host-library-on-accelerator",
    summary="A library that works on host memory is given a CUDA tensor.",
    what=(
        "A function of numpy, matplotlib, scikit-learn, OpenCV, pandas or scipy gets a CUDA tensor, or a list that "
        "holds one: `np.mean(losses)`, `plt.plot(losses)`, `accuracy_score(y, predicted)`. Or one is stored in a part "
        "of an array: `scores[start:end] = output`."
    ),
    why=(
        "These libraries turn their arguments into numpy arrays, which a CUDA tensor refuses. On a machine without a "
        "GPU the same call works."
    ),
    example=Example(
        bad="""\
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.rand(3, device=device)
print(np.linalg.norm(scores))  # DEV402: gpu1 gpu2
""",
        good="""\
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.rand(3, device=device)
print(np.linalg.norm(scores.cpu()))
""",
    ),
    worlds=("gpu1", "gpu2"),
    error=(
        "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
        "memory first."
    ),
    fix_safety=(
        "`.cpu()` is safe: a CPU tensor returns itself. It is offered where the tensor itself is passed, not a list "
        "that holds tensors; there, appending `loss.item()` is the usual change."
    ),
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cpu.html",
        "https://numpy.org/doc/stable/user/basics.interoperability.html",
    ),
)


@RULE.on(ToHost)
def to_library(event: ToHost, context: TextContext) -> Iterator[Diagnosis]:
    """A CUDA tensor was passed; a dropped or rebound move upstream has its own rule."""
    if event.kind == "library":
        yield from hosts.diagnose(event)


@RULE.fix
def bring_to_cpu(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Pass a copy on the CPU."""
    return hosts.bring_to_cpu(diagnosis, context)
