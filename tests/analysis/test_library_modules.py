"""Modules and data of other libraries: where their parameters are, what a call demands, what comes back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devlint.analysis.domain.values import Sequence, Tensor
from devlint.analysis.events import Event, MixedDevices, MoveOnArray, ToHost
from devlint.analysis.project import Project
from devlint.analysis.run import analyse
from devlint.sources import read_source
from devlint.worlds import CPU, GPU1, GPU2, World
from tests.analysis.programs import Run

SETUP = """
import torch
from torch import nn
device = "cuda" if torch.cuda.is_available() else "cpu"
"""


def programs(text: str) -> dict[str, str]:
    """The programs of a text, by the titles before them."""
    parts = re.split(r"^# -- (.*)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def device_of(run: Run, name: str) -> str | None:
    value = run[name]
    assert isinstance(value, Tensor), value
    return value.device


def clashes(text: str, world: World = GPU1) -> list[int]:
    """The rows, from the line after the setup, in which tensors met that could not."""
    run = Run(SETUP + text, world)
    return sorted(event.site.row - SETUP.count("\n") for event in run.events(MixedDevices))


RESNET = """\
import torchvision
net = torchvision.models.resnet18(weights=None)
"""


@pytest.mark.parametrize(
    ("move", "places"),
    [("", ("cpu", "cpu", "cpu")), ("net = net.to(device)", ("cpu", "cuda:0", "cuda:0")), ("net.cpu()", ("cpu",) * 3)],
)
def test_one_tensor_stands_for_the_parameters(move: str, places: tuple[str, str, str]) -> None:
    for world, place in zip((CPU, GPU1, GPU2), places, strict=True):
        run = Run(
            f"{SETUP}{RESNET}{move}\np = next(net.parameters())\nout = net(torch.rand(2, 3, 8, 8, device=p.device))\n",
            world,
        )
        assert device_of(run, "p") == device_of(run, "out") == place


NAMED = """\
seen = []
for name, p in net.named_parameters():
    if 'fc' in name:
        seen.append(p)
keys = list(net.state_dict())
"""


def test_names_of_such_parameters_are_not_known() -> None:
    run = Run(SETUP + RESNET + NAMED)
    seen, keys = run["seen"], run["keys"]
    assert isinstance(seen, Sequence)
    assert isinstance(keys, Sequence)
    assert seen.open
    assert keys.open


MEETING = programs(
    """
# -- input
net.to(device)
net(torch.rand(1, 3, 8, 8))
# -- input of a part
net.to(device)
net.layer1(torch.rand(1, 3, 8, 8))
# -- a part that was moved alone
net.layer1.to(device)
net.layer1(torch.rand(1, 3, 8, 8))
# -- a part that stayed
part = net.layer1
part(torch.rand(1, 3, 8, 8, device=device))
# -- a member
import torchvision.models as m
m.vgg11().features[0].to(device)(torch.rand(1, 3, 8, 8))
# -- some members
import torchvision.models as m
m.vgg11().features[:3].to(device)(torch.rand(1, 3, 8, 8))
# -- with keywords
from transformers import AutoModel
AutoModel.from_pretrained('x').to(device)(input_ids=torch.ones(1, 4))
"""
)


@pytest.mark.parametrize("name", MEETING)
def test_what_a_call_demands(name: str) -> None:
    text = RESNET + MEETING[name]
    assert clashes(text)
    assert not clashes(text, CPU)


RIGHT = programs(
    """
# -- moved together
net.to(device)
net(torch.rand(1, 3, 8, 8, device=device))
# -- a part moves with the whole
part = net.layer1
net.to(device)
part(torch.rand(1, 3, 8, 8, device=device))
# -- a slice moves with the whole
import torchvision.models as m
v = m.vgg11()
part = v.features[:3]
v.to(device)
part(torch.rand(1, 3, 8, 8, device=device))
# -- halves on two devices
a = nn.Sequential(net.conv1, net.bn1).to('cuda:0')
b = nn.Sequential(net.layer1).to('cuda:1')
b(a(torch.rand(1, 3, 8, 8, device='cuda:0')).to('cuda:1'))
# -- a head of one's own
net.fc = nn.Linear(512, 2)
net.to(device)
net(torch.rand(1, 3, 8, 8, device=device))
# -- placed by the library
from transformers import AutoModel
m = AutoModel.from_pretrained('x', device_map='auto')
m(torch.ones(1, 4, device=device))
m(torch.ones(1, 4))
# -- quantised
from transformers import AutoModel
m = AutoModel.from_pretrained('x', load_in_8bit=True)
m(torch.ones(1, 4, device=device))
# -- with what is not seen
from transformers import AutoModel
def make(**options):
    return AutoModel.from_pretrained('x', **options)
import json
m = make(**json.load(open('o')))
m(torch.ones(1, 4, device=device))
# -- masks and labels are moved
from transformers import AutoModel
m = AutoModel.from_pretrained('x').to(device)
m(torch.ones(1, 4, device=device), attention_mask=torch.ones(1, 4), labels=torch.ones(1))
# -- a trainer has moved it
from transformers import AutoModel, Trainer
m = AutoModel.from_pretrained('x')
Trainer(model=m).train()
m(torch.ones(1, 4, device=device))
# -- an engine of another library
import trl
trl.SFTTrainer(model=net)
net(torch.rand(1, 3, 8, 8, device=device))
# -- from a hub that places
m = torch.hub.load('ultralytics/yolov5', 'yolov5s')
m(torch.rand(1, 3, 8, 8, device=device))
"""
)


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs(name: str) -> None:
    assert not clashes(RESNET + RIGHT[name], GPU2)
    assert not clashes(RESNET + RIGHT[name], GPU1)


TRANSFORM = """\
from torchvision import datasets, transforms as T
from torchvision.transforms import v2
"""
LOADED = {
    "to a tensor": "T.ToTensor()",
    "one after the other": "T.Compose([T.Resize(8), T.ToTensor(), T.Normalize((0.5,), (0.5,))])",
    "a function of one's own": "T.Compose([T.ToTensor(), T.Lambda(lambda x: x.view(-1))])",
    "perhaps": "T.Compose([T.RandomApply([T.ColorJitter()]), T.RandomChoice([T.Resize(3), T.Pad(4)]), T.ToTensor()])",
    "the second version": "v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])",
}


@pytest.mark.parametrize("name", LOADED)
def test_batches_of_pictures_are_on_the_cpu(name: str) -> None:
    text = (
        f"data = datasets.CIFAR10('.', True, {LOADED[name]})\nx, y = next(iter(torch.utils.data.DataLoader(data, 4)))\n"
    )
    run = Run(SETUP + TRANSFORM + text)
    assert device_of(run, "x") == device_of(run, "y") == "cpu"


@pytest.mark.parametrize("given", ["picture", "inpt=picture"])
def test_an_image_is_made_of_what_is_given_by_position_or_name(given: str) -> None:
    text = f"from PIL import Image\npicture = Image.open('a')\nx = v2.ToImage()({given})\n"
    assert device_of(Run(SETUP + TRANSFORM + text), "x") == "cpu"


def test_transforms_on_the_gpu() -> None:
    transform = "T.Compose([T.ToTensor(), T.Lambda(lambda x: x.to(device))])"
    text = f"data = datasets.ImageFolder('.', {transform})\nx, y = data[0]\n"
    assert device_of(Run(SETUP + TRANSFORM + text), "x") == "cuda:0"


@pytest.mark.parametrize("transform", ["None", "unknown()", "lambda image: image"])
def test_pictures_that_nothing_makes_tensors(transform: str) -> None:
    run = Run(
        f"{SETUP}{TRANSFORM}from elsewhere import unknown\nx, y = datasets.MNIST('.', transform={transform})[0]\n"
    )
    assert not isinstance(run["x"], Tensor)


def test_data_of_digits() -> None:
    run = Run(f"{SETUP}{TRANSFORM}data = datasets.MNIST('.')\nx = data.data\ny = data.targets\n")
    assert device_of(run, "x") == device_of(run, "y") == "cpu"


TOKENS = """\
from transformers import AutoTokenizer, AutoModel
tok = AutoTokenizer.from_pretrained('x')
model = AutoModel.from_pretrained('x').to(device)
"""


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("model(**tok('a', return_tensors='pt'))", [5]),
        ("model(**tok('a', return_tensors='pt').to(device))", []),
        ("e = tok('a', return_tensors='pt')\ne.to(device)\nmodel(**e)", []),
        ("e = tok('a', return_tensors='pt')\nmodel(e['input_ids'])", [6]),
        ("e = tok('a', return_tensors='pt')\nmodel(e.input_ids.to(device))", []),
        ("e = {k: v.to(device) for k, v in tok('a', return_tensors='pt').items()}\nmodel(**e)", []),
        ("e = tok('a', return_tensors='pt')\nfor k in e:\n    e[k] = e[k].to(device)\nmodel(**e)", []),
        ("model(**tok('a', return_tensors='np'))", []),
        ("model(**tok('a'))", []),
        ("model(torch.tensor(tok('a')['input_ids'], device=device))", []),
    ],
)
def test_what_tokenizers_make_is_on_the_cpu(text: str, rows: list[int]) -> None:
    assert clashes(TOKENS + text) == [row - 1 for row in rows]
    assert not clashes(TOKENS + text, CPU)


@pytest.mark.parametrize(
    "read", ["last_hidden_state", "pooler_output[:, 0]", "hidden_states[-1]", "logits.argmax(-1)", "loss"]
)
def test_outputs_are_where_the_model_is(read: str) -> None:
    run = Run(f"{SETUP}{TOKENS}out = model(torch.ones(1, 4, device=device))\nx = out.{read}\nx.numpy()\n")
    assert run.events(ToHost)


def test_outputs_by_name_and_number() -> None:
    run = Run(
        f"{SETUP}{TOKENS}out = model(torch.ones(1, 4, device=device))\nx, y, z = out[0], out['logits'], out[:2][0]\n"
    )
    assert device_of(run, "x") == device_of(run, "y") == device_of(run, "z") == "cuda:0"


GRAPH = """\
from torch_geometric.datasets import Planetoid
from torch_geometric.nn import GCNConv
from torch_geometric.loader import DataLoader
data = Planetoid('.', 'Cora')
conv = GCNConv(3, 4).to(device)
"""


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("d = data[0]\nconv(d.x, d.edge_index)", False),
        ("d = data[0].to(device)\nconv(d.x, d.edge_index)", True),
        ("d = data[0]\nx = d.x\nd = d.to(device)\nconv(x.to(device), d.edge_index)", True),
        ("d = data[0]\nconv(d.x.to(device), d.edge_index)", False),
        ("for d in DataLoader(data, 4):\n    conv(d.x, d.edge_index)", False),
        ("for d in DataLoader(data, 4):\n    d.to(device)\n    conv(d.x, d.edge_index)", True),
        ("d = data.shuffle()[0]\nconv(d.x, d.edge_index)", False),
        ("import elsewhere\nfor d in DataLoader(elsewhere.graphs(), 4):\n    conv(d.x, d.edge_index)", True),
    ],
)
def test_graphs(text: str, is_right: bool) -> None:
    assert bool(clashes(GRAPH + text)) is not is_right
    assert not clashes(GRAPH + text, CPU)


ACCELERATE = """\
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
net, loader = nn.Linear(2, 2), DataLoader(TensorDataset(torch.rand(8, 2)))
"""


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("net, loader = Accelerator().prepare(net, loader)\nfor x, in loader:\n    net(x)", True),
        ("a = Accelerator()\nnet, loader = a.prepare(net, loader)\nfor x, in loader:\n    net(x.to(a.device))", True),
        ("net = Accelerator().prepare(net)\nfor x, in loader:\n    net(x)", False),
        ("net = Accelerator(cpu=True).prepare(net)\nfor x, in loader:\n    net(x)", True),
        ("net = Accelerator(device_placement=False).prepare(net)\nfor x, in loader:\n    net(x)", True),
        ("net, loader = Accelerator().prepare(net, loader)\nfor x, in loader:\n    net(x) + torch.rand(2)", False),
    ],
)
def test_accelerate(text: str, is_right: bool) -> None:
    assert bool(clashes(ACCELERATE + text)) is not is_right
    assert not clashes(ACCELERATE + text, CPU)


FRAMES = """\
import pandas as pd
from sklearn.model_selection import train_test_split
table = pd.read_csv("x.csv")
x = table.drop("y", axis=1).fillna(0)
a, b, c, d = train_test_split(x.values, table["y"])
"""


@pytest.mark.parametrize(
    "given", ["a", "c", "x.values", "x.to_numpy()", "table['y']", "table.loc[:, 'z'].astype('float32').values"]
)
def test_tables_make_tensors_on_the_cpu(given: str) -> None:
    assert device_of(Run(f"{SETUP}{FRAMES}t = torch.tensor({given})\n"), "t") == "cpu"


@pytest.mark.parametrize(
    ("given", "is_told"),
    [("{'a': [x, x]}", False), ("[x, x]", False), ("{'a': x}", True), ("x", True)],
)
def test_a_table_keeps_tensors_in_lists_as_they_are(given: str, is_told: bool) -> None:
    run = Run(f"{SETUP}import pandas as pd\nx = torch.ones(3, device=device)\npd.DataFrame({given})\n")
    assert bool(run.events(ToHost)) is is_told


def test_parts_of_tensors_are_where_the_whole_is() -> None:
    text = "a, b = train_test_split(torch.rand(8, 2, device=device))\n"
    assert device_of(Run(SETUP + FRAMES + text), "b") == "cuda:0"


@pytest.mark.parametrize(
    ("data", "device"),
    [
        ("x.values - scale", "cpu"),
        ("(x.values - scale) / scale", "cpu"),
        ("(scale * x.isnull().values).copy()", "cpu"),
        ("np.ones(3) + scale", "cpu"),
        ("np.ones(3).sum() * scale", None),
        ("scale - scale", None),
        ("x * scale", None),
    ],
)
def test_arithmetic_of_arrays_stays_on_the_host(data: str, device: str | None) -> None:
    """A number may be multiplied with a tensor of the GPU; an array can't."""
    text = f"""import pickle
import numpy as np
scale = pickle.load(open("scale.pk", "rb"))
class Rows(torch.utils.data.Dataset):
    def __init__(self): self.data = {data}
    def __getitem__(self, index): return self.data[index]
    def __len__(self): return 4
for t in torch.utils.data.DataLoader(Rows(), batch_size=2):
    pass
"""
    made = Run(SETUP + FRAMES + text)["t"]
    assert (made.device if isinstance(made, Tensor) else None) == device


ENVIRONMENT = """\
import argparse, gym
parser = argparse.ArgumentParser()
parser.add_argument("--env", default="CartPole-v1")
env = gym.wrappers.TimeLimit(gym.make(parser.parse_args().env), 100)
state = env.reset()
for _ in range(3):
    state, reward, done, _ = env.step(env.action_space.sample())
"""


@pytest.mark.parametrize("given", ["state", "[state, state]", "reward", "env.observation_space.high", "[reward + 1.0]"])
def test_environments_give_arrays_and_numbers(given: str) -> None:
    assert device_of(Run(f"{SETUP}{ENVIRONMENT}t = torch.tensor({given})\n"), "t") == "cpu"


def test_rewards_weigh_tensors_where_they_are() -> None:
    run = Run(f"{SETUP}{ENVIRONMENT}t = reward * torch.ones(2, device=device)\n")
    assert device_of(run, "t") == "cuda:0"


@pytest.mark.parametrize("name", ["Isaac-Ant-v0", "PickCube-v1", "my_package/Grid-v0"])
def test_environments_of_others_may_give_anything(name: str) -> None:
    run = Run(f"{SETUP}import gym\nt = torch.as_tensor(gym.make({name!r}).reset())\n")
    assert device_of(run, "t") is None


SOUNDS = "import cv2, librosa, soundfile\ny, rate = librosa.load('a')\nz, rate = soundfile.read('b')\n"


@pytest.mark.parametrize("given", ["y", "z", "librosa.feature.mfcc(y=y, sr=rate)", "cv2.cvtColor(cv2.imread('c'), 4)"])
def test_files_of_pictures_and_sounds_are_arrays(given: str) -> None:
    assert device_of(Run(f"{SETUP}{SOUNDS}t = torch.tensor({given})\n"), "t") == "cpu"


LIGHTNING = """\
import lightning.pytorch as pl
class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2)
        self.scale = torch.ones(2)
    def training_step(self, batch, i):
        return (self.net(batch[0]) * self.scale).sum()
"""


def test_a_module_of_lightning_knows_whether_it_is_on_the_gpu() -> None:
    text = LIGHTNING.replace("self.scale)", "(self.scale.cuda() if self.on_gpu else self.scale))")
    assert not clashes(f"{text}pl.Trainer(accelerator='gpu').fit(Model())\n")


@pytest.mark.parametrize(
    ("trainer", "is_told"),
    [("accelerator='gpu'", True), ("accelerator='auto'", True), ("accelerator='cpu'", False), ("", False)],
)
def test_a_trainer_runs_the_steps_of_a_module_that_was_built(trainer: str, is_told: bool) -> None:
    text = f"{LIGHTNING}pl.Trainer({trainer}).fit(Model())\n"
    assert bool(clashes(text)) is is_told
    assert not clashes(text, CPU)


@pytest.mark.parametrize(("step", "is_told"), [("training_step", False), ("validation_step", True)])
def test_a_trainer_sets_the_mode_of_the_module(step: str, is_told: bool) -> None:
    text = LIGHTNING.replace("training_step", step).replace("self.scale)", "(1 if self.training else self.scale))")
    assert bool(clashes(f"{text}pl.Trainer(accelerator='gpu').fit(Model())\n")) is is_told


EMBEDDER = """\
import torch
from sentence_transformers import SentenceTransformer, util
model = SentenceTransformer("all-MiniLM-L6-v2")
other = torch.rand(1, 384)
"""


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("model.encode('a', convert_to_tensor=True) + other\n", True),
        ("util.cos_sim(model.encode('a', convert_to_tensor=True), other)\n", True),
        ("util.semantic_search(model.encode('a', convert_to_tensor=True), other)\n", False),
        ("model.encode('a', convert_to_tensor=True) + other.to(model.device)\n", False),
        ("torch.from_numpy(model.encode('a')) + other\n", False),
        ("model.encode('a', convert_to_tensor=True, device='cpu') + other\n", False),
        ("model = SentenceTransformer('b', device='cpu')\nmodel.encode('a', convert_to_tensor=True) + other\n", False),
        ("model.encode('a', convert_to_tensor=input()) + other\n", False),
    ],
)
def test_what_an_embedder_gives_is_where_it_is(text: str, is_told: bool) -> None:
    assert bool(clashes(EMBEDDER + text)) is is_told
    assert not clashes(EMBEDDER + text, CPU)


def test_a_tokenizer_of_clip_gives_tensors_of_the_host() -> None:
    text = (
        "import open_clip\nimport torch\n"
        "model, _, prepare = open_clip.create_model_and_transforms('ViT-B-32', device='cuda')\n"
        "tokenizer = open_clip.get_tokenizer('ViT-B-32')\n"
    )
    assert clashes(text + "model.encode_text(tokenizer(['a']))\n")
    assert not clashes(text + "model.encode_text(tokenizer(['a']).cuda())\n")


COLLECTING = """\
import torch
import pytorch_lightning as pl
from torch import nn
class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2)
        self.kept = []
        self.weight = torch.ones(2)
    def validation_step(self, batch, i):
        made = self.net(batch[0]).detach()
        self.kept.append(made)
        return {"made": made}
    def on_validation_epoch_end(self):
        pass
"""
ENDS = {
    "what was collected": ("on_validation_epoch_end(self)", "torch.cat(self.kept)"),
    "what steps gave back": ("validation_epoch_end(self, outputs)", "torch.cat([out['made'] for out in outputs])"),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_an_epoch_reads_what_the_steps_left(name: str) -> None:
    head, read = ENDS[name]
    text = COLLECTING.replace("on_validation_epoch_end(self)", head)
    wrong = text.replace("        pass", f"        print(({read} * self.weight).sum())")
    run = "pl.Trainer(accelerator='gpu').validate(Model())\n"
    assert clashes(wrong + run)
    assert not clashes(wrong + run, CPU)
    assert not clashes(wrong.replace("self.weight)", "self.weight.to(self.device))") + run)
    assert not clashes(wrong.replace(".detach()", ".detach().cpu()") + run)


TRAINER = """\
from transformers import Trainer
class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        weight = torch.tensor([1.0, 2.0])
        loss = nn.CrossEntropyLoss(weight=weight)(outputs.get("logits").view(-1, 2), labels.view(-1))
        return (loss, outputs) if return_outputs else loss
"""


def by_protocol(text: str, tmp_path: Path) -> list[Event]:
    """What is found in a file of which nobody in sight calls anything."""
    path = tmp_path / "library.py"
    path.write_text(SETUP + text)
    source = read_source(path, str(path))
    found = analyse(Project(tmp_path, {source.path: source}))
    assert not found.failures
    return [event for event in found.events if isinstance(event, MixedDevices)]


def test_steps_of_a_trainer_are_on_the_accelerator(tmp_path: Path) -> None:
    found = by_protocol(TRAINER, tmp_path)
    assert {event.world for event in found} == {"gpu1", "gpu2"}
    assert not by_protocol(TRAINER.replace("2.0]", "2.0], device=labels.device"), tmp_path)
    assert not by_protocol(TRAINER.replace("(Trainer)", "(list)"), tmp_path)


CHILDREN = """\
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        resnet = torchvision.models.resnet101(weights=None)
        self.body = nn.Sequential(*list(resnet.children())[:-2])
    def forward(self, x):
        return self.body(x)
x = torch.rand(1, 3, 8, 8, device=device)
"""


def test_sequences_of_children() -> None:
    assert clashes(RESNET + CHILDREN + "Encoder()(x)")
    assert not clashes(RESNET + CHILDREN + "Encoder().to(device)(x)")
    assert not clashes(RESNET + CHILDREN + "Encoder()(x)", CPU)


HALVES = """\
parts = list(net.children())
first, second = nn.Sequential(*parts[:5]).to('cuda:0'), nn.Sequential(*parts[5:]).to('cuda:1')
second(first(torch.rand(1, 3, 8, 8, device='cuda:0')).to('cuda:1'))
"""


def test_halves_of_children() -> None:
    assert not clashes(RESNET + HALVES, GPU2)


@pytest.mark.parametrize(
    ("put", "is_right"),
    [
        ("net.to(device)\nnet.fc = nn.Linear(512, 2)", False),
        ("net.fc = nn.Linear(512, 2)\nnet.to(device)", True),
        ("net.to(device)\nnet.fc = nn.Identity()", True),
        ("net.to(device)\nnet.fc = nn.Linear(512, 2).to(device)", True),
        ("net.to(device)\nnet.spare = nn.Linear(512, 2)", True),
        ("net = torchvision.models.vgg16().to(device)\nnet.classifier[6] = nn.Linear(4096, 2)", False),
        ("net = torchvision.models.vgg16()\nnet.classifier[6] = nn.Linear(4096, 2)\nnet.to(device)", True),
    ],
)
def test_what_is_put_inside_after_the_move(put: str, is_right: bool) -> None:
    text = f"{RESNET}{put}\nnet(torch.rand(1, 3, 8, 8, device=device))"
    assert bool(clashes(text)) is not is_right
    assert not clashes(text, CPU)


def test_a_summary_makes_its_input_on_the_gpu() -> None:
    told = "from torchsummary import summary\nlinear = nn.Linear(3, 4)\n"
    assert clashes(f"{told}summary(linear, (3,))")
    assert not clashes(f"{told}summary(linear, (3,))", CPU)
    assert not clashes(f"{told}summary(linear, (3,), device='cpu')")
    assert not clashes(f"{told}summary(linear.to(device), (3,))")


AUGMENTED = """\
import albumentations as A
from albumentations.pytorch import ToTensorV2
import cv2
made = A.Compose([A.Resize(8, 8)STEP])(image=cv2.imread("a"), mask=cv2.imread("b"))
x = torch.as_tensor(made["image"])
"""


@pytest.mark.parametrize("step", ["", ", ToTensorV2()"])
def test_augmented_pictures_are_on_the_cpu(step: str) -> None:
    assert device_of(Run(SETUP + AUGMENTED.replace("STEP", step)), "x") == "cpu"


FILE = """\
import numpy as np
held = torch.load("a.pt", map_location=device)
a = np.array(["x"]) == held["names"]
b = held["names"] == np.array(["x"])
c = np.array([1.0]) * held["scale"]
"""


def test_what_a_file_holds_may_be_an_array_where_it_meets_one() -> None:
    assert not clashes(FILE)
    assert clashes(FILE.replace('held["names"]', "torch.ones(2, device=device)"))


def test_a_batch_of_graphs_is_no_list() -> None:
    text = "import dgl\ng = dgl.batch([dgl.rand_graph(3, 4)] * 2).to(device)\nd = g.device\n"
    assert not Run(SETUP + text).events(MoveOnArray)
