"""What inputs of which nothing is known answer to who asks where they are, in each world."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.analysis.project import Project
from devlint.analysis.reveal import reveal
from devlint.sources import read_source
from devlint.worlds import WORLDS

ANSWERS = {
    "x.is_cuda": ("False", "True", "True"),
    "x.data.is_cuda": ("False", "True", "True"),
    "x.detach().is_cuda": ("False", "True", "True"),
    "scale(x).is_cpu": ("True", "False", "False"),
    "x['left'][0].is_cuda": ("False", "True", "True"),
    "all(part.is_cuda for part in (x, y))": ("False", "True", "True"),
    "x.device.type": ("'cpu'", "'cuda'", "'cuda'"),
    "x.device.index": ("None", "0", "0"),
    "x.detach().device.type": ("'cpu'", "'cuda'", "'cuda'"),
    "str(x.device).split(':')[0]": ("'cpu'", "'cuda'", "'cuda'"),
    "f'{x.device}'.startswith('cuda')": ("False", "True", "True"),
    "str(x.detach().device).startswith('cuda')": ("False", "True", "True"),
    "'cuda' in str(x.device)": ("False", "True", "True"),
    "'cpu' not in str(x.device)": ("False", "True", "True"),
    "str(x.device) != 'cpu'": ("unknown (not x.device == 'cpu')", "True", "True"),
    "x.device.type in ('cuda', 'xpu')": ("False", "True", "True"),
    "x.get_device() >= 0": ("a bool", "True", "True"),
    "torch.get_device(x) >= 0": ("a bool", "True", "True"),
    "x.type() == 'torch.cuda.FloatTensor'": ("False", "True", "True"),
    "x.type() != 'torch.FloatTensor'": ("False", "True", "True"),
    "device.type": ("'cpu'", "'cuda'", "'cuda'"),
    "device.index is None": ("True", "False", "False"),
    # What may be another's, or hangs on whether it is a text, is not known.
    "x.device == 'cuda'": ("False", "unknown (x.device == 'cuda')", "unknown (x.device == 'cuda')"),
    "x.type() == 'image'": ("a bool", "a bool", "a bool"),
}


@pytest.mark.parametrize("asked", ANSWERS)
def test_what_an_input_answers(asked: str, tmp_path: Path) -> None:
    path = tmp_path / "losses.py"
    path.write_text(
        "import torch\nfrom elsewhere import scale\n\n\ndef loss(x, y, device):\n"
        f"    made = torch.ones(3, device=y.device)\n    answer = {asked}\n    return made, answer\n"
    )
    source = read_source(path, str(path))
    project = Project(tmp_path, {str(path): source})
    for world, answer in zip(WORLDS, ANSWERS[asked], strict=True):
        known = reveal(project, str(path), 7, world, lambda site: "")
        assert known is not None and known["answer"] == [answer], world
