"""Built-in modules and losses: their parameters and buffers against their inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.analysis.events import MixedDevices
from tests.analysis.analysed import analysed, told
from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "a causal mask is not read": """
net = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).to(device)
x = torch.rand(2, 4, 8, device=device)
mask = nn.Transformer.generate_square_subsequent_mask(4)
a = net(x, x, tgt_mask=mask)  #= gpu
b = net(x, x, src_mask=mask, tgt_key_padding_mask=torch.zeros(2, 4, dtype=torch.bool, device=device))  #= gpu
""",
    "a causal mask is read where there is one of padding": """
net = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).to(device)
x = torch.rand(2, 4, 8, device=device)
mask = nn.Transformer.generate_square_subsequent_mask(4)
padding = torch.zeros(2, 4, device=device)
net(x, x, tgt_mask=mask, tgt_key_padding_mask=padding)  # DEV302: gpu1 gpu2
""",
    "an encoder reads its mask where there is one of padding": """
net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1).to(device)
x = torch.rand(2, 4, 8, device=device)
mask = nn.Transformer.generate_square_subsequent_mask(4)
a = net(x, mask)  #= gpu
net(x, mask, src_key_padding_mask=torch.zeros(2, 4, device=device))  # DEV302: gpu1 gpu2
""",
    "linear and convolution": """
x = torch.zeros(1, 3, 8, 8, device=device)
a = nn.Conv2d(3, 4, 3).to(device)(x)  #= gpu
b = nn.Linear(8, 2).to(device)(x)  #= gpu
c = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()).to(device)(x)  #= gpu
d = nn.Softmax(dim=1)(x)  #= gpu
e = nn.Identity()(x)  #= gpu
""",
    "a convolution with weights of the program's own": """
class Scaled(nn.Conv2d):
    def forward(self, x):
        return self._conv_forward(x, self.weight * 2, self.bias)
layer = Scaled(1, 2, 3).to(device)
a = layer(torch.zeros(1, 1, 4, 4, device=device))  #= gpu
layer(torch.zeros(1, 1, 4, 4))  # DEV302: gpu1 gpu2
""",
    "a layer left behind": """
layer = nn.Linear(2, 2)
layer(torch.zeros(1, 2, device=device))  # DEV302: gpu1 gpu2
""",
    "an input left behind": """
layer = nn.Conv1d(2, 2, 1).to(device)
layer(torch.zeros(1, 2, 4))  # DEV302: gpu1 gpu2
""",
    "buffers of a norm": """
norm = nn.BatchNorm1d(2).to(device)
mean = norm.running_mean  #= gpu
out = norm(torch.zeros(3, 2, device=device))  #= gpu
plain = nn.BatchNorm1d(2, affine=False, track_running_stats=False)(torch.zeros(3, 2, device=device))  #= gpu
layer_norm = nn.LayerNorm(2).to(device)(out)  #= gpu
group = nn.GroupNorm(1, 2).to(device)(out)  #= gpu
""",
    "a norm left behind": """
nn.BatchNorm1d(2)(torch.zeros(3, 2, device=device))  # DEV302: gpu1 gpu2
""",
    "embedding": """
embed = nn.Embedding(10, 4).to(device)
out = embed(torch.tensor([1, 2], device=device))  #= gpu
w = embed.weight  #= gpu
pretrained = nn.Embedding.from_pretrained(torch.zeros(3, 2)).to(device)
p = pretrained  #= gpu
""",
    "embedding of host indices": """
embed = nn.Embedding(10, 4).to(device)
embed(torch.tensor([1, 2]))  # DEV302: gpu1 gpu2
""",
    "recurrent": """
rnn = nn.LSTM(2, 3, batch_first=True).to(device)
x = torch.zeros(1, 5, 2, device=device)
out, (h, c) = rnn(x)
o = out  #= gpu
hidden = h  #= gpu
cell = c  #= gpu
out2, state = nn.GRU(2, 3).to(device)(x, torch.zeros(1, 5, 3, device=device))
s = state  #= gpu
step = nn.GRUCell(2, 3).to(device)(x[0], torch.zeros(5, 3, device=device))  #= gpu
hx, cx = nn.LSTMCell(2, 3).to(device)(x[0])
k = cx  #= gpu
""",
    "a hidden state left behind": """
rnn = nn.GRU(2, 3).to(device)
h = torch.zeros(1, 1, 3)
rnn(torch.zeros(4, 1, 2, device=device), h)  # DEV302: gpu1 gpu2
""",
    "hidden states as a tuple left behind": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(2, 3)
    def forward(self, x):
        state = (torch.zeros(1, x.shape[1], 3), torch.zeros(1, x.shape[1], 3, device=x.device))  # DEV303: gpu1 gpu2
        return self.rnn(x, state)[0]
Net().to(device)(torch.zeros(4, 1, 2, device=device))
""",
    "attention": """
attention = nn.MultiheadAttention(4, 2).to(device)
q = torch.zeros(3, 1, 4, device=device)
out, weights = attention(q, q, q)
o = out  #= gpu
w = weights  #= gpu
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 1).to(device)
e = encoder(q)  #= gpu
scores = torch.nn.functional.scaled_dot_product_attention(q, q, q)  #= gpu
""",
    "an attention mask left behind": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2)
    def forward(self, x):
        mask = torch.triu(torch.ones(len(x), len(x)), 1).bool()  # DEV303: gpu1 gpu2
        return self.attention(x, x, x, attn_mask=mask)[0]
Net().to(device)(torch.zeros(3, 1, 4, device=device))
""",
    "losses": """
x = torch.rand(2, 3, device=device)
y = torch.tensor([0, 1], device=device)
a = nn.CrossEntropyLoss()(x, y)  #= gpu
b = nn.MSELoss()(x, torch.zeros(2, 3, device=device))  #= gpu
c = nn.CrossEntropyLoss(weight=torch.ones(3)).to(device)(x, y)  #= gpu
d = nn.BCEWithLogitsLoss(pos_weight=torch.ones(3, device=device))(x, x)  #= gpu
e = nn.functional.nll_loss(x, y)  #= gpu
f = a + b  #= gpu
""",
    "a weighted loss left behind": """
loss = nn.CrossEntropyLoss(weight=torch.ones(3))  # DEV307: gpu1 gpu2
loss(torch.rand(2, 3, device=device), torch.tensor([0, 1], device=device))
""",
    "targets left behind": """
loss = nn.MSELoss()
loss(torch.rand(2, device=device), torch.rand(2))  # DEV301: gpu1 gpu2
""",
    "losses of one's own": """
class Focal(nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha  # DEV501: gpu1 gpu2
    def forward(self, x, y):
        return (self.alpha * nn.functional.cross_entropy(x, y, reduction="none")).mean()
loss = Focal(torch.ones(2)).to(device)
loss(torch.rand(2, 3, device=device), torch.tensor([0, 1], device=device))
""",
    "numbers of no dimension may meet": """
scale = torch.tensor(0.5)
x = torch.ones(2, device=device)
a = scale * x  #= gpu
b = x + torch.tensor(1)  #= gpu
c = torch.where(x > 0, x, torch.tensor(0.0))  #= gpu
d = x.clamp(min=torch.tensor(0.0).item())  #= gpu
x += scale
e = x  #= gpu
f = nn.Parameter(torch.tensor(1.0)) * x  #= gpu
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)


@pytest.mark.parametrize(("bias", "is_found"), [("True", True), ("trained.bias", False), ("False", False)])
def test_a_bias_that_may_not_be_there_tells_nothing(bias: str, is_found: bool) -> None:
    text = (
        "import torch\nfrom torch import nn\nfrom elsewhere import trained\n"
        f"layer = nn.Linear(4, 4, bias={bias})\n"
        "layer.weight = nn.Parameter(torch.ones(4, 4, device='cuda'))\n"
        "print(layer(torch.ones(2, 4, device='cuda')))\n"
    )
    assert bool(told(analysed(text), MixedDevices)) is is_found
