"""Right programs that use other libraries: what nobody can know of their modules and data stays silent."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MixedDevices, MoveOnArray, ToHost
from devlint.worlds import GPU1, GPU2, World
from tests.analysis.programs import Run
from tests.analysis.test_library_modules import SETUP, programs

PROGRAMS = programs(
    """
# -- layers without parameters, of a network that was moved in part
import torchvision
m = torchvision.models.resnet18()
m.conv1.to(device); m.bn1.to(device); m.layer1.to(device)
m.layer1(m.maxpool(m.relu(m.bn1(m.conv1(torch.rand(1, 3, 8, 8).to(device))))))
# -- a member that may be no more than an activation
import torchvision
vgg = torchvision.models.vgg16()
relu = vgg.features[1]
relu(torch.rand(1, 3, 8, 8).to(device))
# -- the same layer by another name
import torchvision
m = torchvision.models.resnet18()
body = nn.Sequential(*list(m.children())[:-1]).to(device)
m.conv1(torch.rand(1, 3, 8, 8, device=device))
# -- a member of a slice that was moved
import torchvision
vgg = torchvision.models.vgg16()
start = vgg.features[:5].to(device)
vgg.features[0](torch.rand(1, 3, 8, 8, device=device))
# -- children moved one by one
import torchvision
m = torchvision.models.resnet18()
for child in m.children():
    child.to(device)
m.layer1(torch.rand(1, 3, 8, 8, device=device)); m(torch.rand(1, 3, 8, 8, device=device))
# -- children moved by their dict
import torchvision
m = torchvision.models.resnet18()
for name, child in m._modules.items():
    child.to(device)
m(torch.rand(1, 3, 8, 8, device=device))
# -- the last child stays
import torchvision
parts = list(torchvision.models.resnet18().children())
body, head = nn.Sequential(*parts[:-1]).to(device), parts[-1]
head(body(torch.rand(1, 3, 8, 8, device=device)).flatten(1).cpu())
# -- the device of a network whose first layer was moved
import torchvision
m = torchvision.models.resnet18()
m.conv1.to(device)
m.conv1(torch.rand(1, 3, 8, 8).to(next(m.parameters()).device))
# -- children of a model of transformers
from transformers import BertModel
m = BertModel.from_pretrained("x")
for child in m.children():
    child.to(device)
m(torch.ones(1, 4, device=device))
# -- a pipeline has moved its model
from transformers import AutoModel, AutoTokenizer, pipeline
m = AutoModel.from_pretrained("x")
p = pipeline("feature-extraction", model=m, tokenizer=AutoTokenizer.from_pretrained("x"), device=0)
m(torch.ones(1, 4, device=device))
# -- a model inside another
from transformers import AutoModel, EncoderDecoderModel
a, b = AutoModel.from_pretrained("x"), AutoModel.from_pretrained("y")
m = EncoderDecoderModel(encoder=a, decoder=b).to(device)
a(torch.ones(1, 4, device=device))
# -- a model that an adapter holds
from peft import get_peft_model
from transformers import AutoModel
m = AutoModel.from_pretrained("x")
get_peft_model(m, None).to(device)
m(torch.ones(1, 4, device=device))
# -- a module that a class of another library holds
import mylib
m = nn.Linear(2, 2)
w = mylib.Wrapper(m).to(device)
m(torch.rand(1, 2, device=device))
# -- a library is told the device
import mylib
m = nn.Linear(2, 2)
mylib.evaluate(m, device=device)
m(torch.rand(1, 2, device=device))
# -- a checkpoint in fewer bits
from transformers import AutoModelForCausalLM
m = AutoModelForCausalLM.from_pretrained("unsloth/llama-3-8b-bnb-4bit")
m(torch.ones(1, 4, device="cuda"))
# -- what can be moved is
from transformers import AutoModel, AutoTokenizer
m = AutoModel.from_pretrained("x").to(device)
def move(batch):
    if hasattr(batch, "to"):
        return batch.to(device)
    return batch
m(**move(AutoTokenizer.from_pretrained("x")("a", return_tensors="pt")))
# -- a copy of an encoding
from transformers import AutoTokenizer
AutoTokenizer.from_pretrained("x")("a", return_tensors="pt").copy().to(device)
# -- pictures that were on the GPU before
from transformers import ViTImageProcessor, ViTModel
m = ViTModel.from_pretrained("x").to(device)
pixels = ViTImageProcessor.from_pretrained("x")(images=torch.rand(1, 3, 8, 8, device=device), return_tensors="pt")
m(**pixels)
# -- a transform that moves graphs
import torch_geometric.transforms as T
from torch_geometric.datasets import Planetoid
from torch_geometric.nn import GCNConv
d = Planetoid("d", "Cora", transform=T.ToDevice(device))[0]
GCNConv(3, 4).to(device)(d.x, d.edge_index)
# -- a data set whose data were moved
from torch_geometric.datasets import Planetoid
from torch_geometric.nn import GCNConv
data = Planetoid("d", "Cora")
data.data.to(device)
GCNConv(3, 4).to(device)(data[0].x, data[0].edge_index)
# -- graphs that a class of one's own makes
import torch_geometric
from torch_geometric.nn import GCNConv
class Graphs(torch_geometric.data.Dataset):
    def get(self, i):
        return torch_geometric.data.Data(x=torch.ones(2, 3, device=device))
g = Graphs()[0]
GCNConv(3, 4).to(device)(g.x, torch.ones(2, 2, device=device))
# -- data changed in place
from torch_geometric.datasets import Planetoid
d = Planetoid("d", "Cora")[0]
d.apply(lambda t: t.to(device))
d.y + torch.ones(1, device=device)
# -- accelerate leaves a loader and a model where they are
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
a, net = Accelerator(), nn.Linear(2, 2)
loader = DataLoader(TensorDataset(torch.rand(8, 2)))
net = a.prepare_model(net, device_placement=False)
for x, in a.prepare_data_loader(loader, device_placement=False):
    net(x)
# -- the loader that accelerate was given
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.rand(8, 2)))
prepared = Accelerator().prepare(loader)
for x, in loader:
    x.numpy()
# -- a first part that scatters its input
import torchvision
v = torchvision.models.vgg16()
v.features = nn.DataParallel(v.features)
v.cuda()
v(torch.rand(4, 3, 32, 32))
# -- augmentations inside augmentations
import albumentations as A, cv2
from albumentations.pytorch import ToTensorV2
t = A.Compose([A.Resize(64, 64), A.Compose([A.Normalize(), ToTensorV2()])])
t(image=cv2.imread("a"))["image"].to(device)
# -- a column of tensors
import pandas as pd
net = nn.Linear(1, 1).to(device)
table = pd.DataFrame({"x": [1.0, 2.0]})
table["made"] = table["x"].apply(lambda v: net(torch.tensor([v]).to(device)))
torch.stack([e.cpu() for e in table["made"].values])
# -- a picture and its boxes
from PIL import Image
from torchvision.transforms import v2
picture, boxes = v2.Compose([v2.ToImage(), v2.Resize(8)])(Image.open("a"), torch.ones(1, 4, device=device))
boxes + torch.ones(4, device=device)
"""
)


@pytest.mark.parametrize("world", [GPU1, GPU2], ids=["gpu1", "gpu2"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_silent(name: str, world: World) -> None:
    run = Run(SETUP + PROGRAMS[name], world)
    assert run.ended
    assert not [event for kind in (MixedDevices, MoveOnArray, ToHost) for event in run.events(kind)]


def test_an_open_clip_model_gives_more_than_two_values() -> None:
    text = "import open_clip\nm, a, b = open_clip.create_model_and_transforms('x', device=device)\n"
    run = Run(f"{SETUP}{text}x, y, scale = m(None, None)\ntorch.ones(1) + torch.ones(1, device=device)\n")
    assert run.events(MixedDevices)


NUMBERED = """
from yacs.config import CfgNode
defaults = CfgNode()
defaults.SYSTEM = CfgNode()
defaults.SYSTEM.GPUS = [1]
defaults.SYSTEM.WHOLE = defaults
number = torch.cuda.device_count() - 1
cfg = defaults.clone()
cfg.merge_from_list(["SYSTEM.GPUS", LIST])
net = nn.Linear(2, 2).to(f"cuda:{cfg.SYSTEM.GPUS[0]}")
net(torch.ones(1, 2, device="cuda:0"))
"""


def test_a_list_of_the_program_changes_its_configuration() -> None:
    for numbers in ("[0]", "'[0]'", "[number - 1]"):
        assert not Run(SETUP + NUMBERED.replace("LIST", numbers), GPU2).events(MixedDevices)
    for numbers in ("[1]", "'[1]'", "[number]"):
        assert Run(SETUP + NUMBERED.replace("LIST", numbers), GPU2).events(MixedDevices)
