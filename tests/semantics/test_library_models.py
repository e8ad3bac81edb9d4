"""What the tables say of the modules of other libraries that are installed: run on a GPU or under simulated CUDA."""

from __future__ import annotations

import pytest

from devlint.semantics import errors
from tests.semantics.test_libraries import REAL, need, on_a_gpu

BERT = "BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=50)"
GPT2 = "GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=50)"
VIT = (
    "ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=32, "
    "patch_size=16)"
)
UNET = (
    'UNet2DModel(sample_size=8, block_out_channels=(32,), down_block_types=("DownBlock2D",), '
    'up_block_types=("UpBlock2D",), layers_per_block=1)'
)
PICTURE = "torch.rand(1, 3, 32, 32)"

TOKENS = "torch.ones(1, 4).long()"
EDGES = "torch.tensor([[0, 1], [1, 2]])"
VISION, HUGGING, GRAPH = "torchvision.models", "transformers.PreTrainedModel", "torch_geometric.nn.layer"
REFUSED = [
    ("from torchvision.models import resnet18", "resnet18()", PICTURE, f"{VISION}.network", "input"),
    ("from torchvision.models import vgg11", "vgg11().features[:5]", PICTURE, f"{VISION}.part", "input"),
    ("import timm", 'timm.create_model("resnet18")', PICTURE, "timm.network", "input"),
    ("from transformers import BertConfig, BertModel", f"BertModel({BERT})", TOKENS, HUGGING, "input_ids"),
    ("from transformers import GPT2Config, GPT2Model", f"GPT2Model({GPT2})", TOKENS, HUGGING, "input_ids"),
    ("from transformers import ViTConfig, ViTModel", f"ViTModel({VIT})", PICTURE, HUGGING, "pixel_values"),
    ("from torch_geometric.nn import GCNConv", "GCNConv(3, 4)", f"torch.rand(4, 3), {EDGES}", GRAPH, "x"),
    (
        "from torch_geometric.nn import GATConv",
        "GATConv(3, 4)",
        f"torch.rand(4, 3).cuda(), {EDGES}",
        GRAPH,
        "edge_index",
    ),
    ("from diffusers import UNet2DModel", UNET, "torch.rand(1, 3, 8, 8), 1", "diffusers.denoiser", "sample"),
]


@pytest.mark.parametrize(
    ("imports", "module", "arguments", "base", "guilty"),
    [pytest.param(*case, marks=need(case[0].split()[1].partition(".")[0])) for case in REFUSED],
)
def test_input_must_be_where_the_parameters_are(
    imports: str, module: str, arguments: str, base: str, guilty: str
) -> None:
    said = on_a_gpu(f"""
import torch
{imports}
module = {module}
assert {{str(p.device) for p in module.parameters()}} == {{"cpu"}}
module.to("cuda").eval()
try:
    module({arguments})
except RuntimeError as error:
    print(f"RuntimeError: {{error}}")
""")
    others = [("x", "cuda:0")] if guilty == "edge_index" else []
    operands = [*others, (guilty, "cpu"), ("weight", "cuda:0")]
    raised = said.strip().splitlines()[-1]
    predicted = errors.message("mixed", operation=f"{base}.forward", operands=operands)
    assert errors.matches(predicted, raised) if REAL else predicted == raised


@need("transformers")
def test_masks_and_labels_of_language_models_are_moved_by_the_model() -> None:
    said = on_a_gpu(f"""
import torch
from transformers import BatchEncoding, BertConfig, BertModel, GPT2Config, GPT2LMHeadModel
ids = torch.ones(1, 4).long()
print(BertModel({BERT}).cuda()(ids.cuda(), attention_mask=torch.ones(1, 4)).last_hidden_state.device)
print(GPT2LMHeadModel({GPT2}).cuda()(ids.cuda(), labels=ids).logits.device)
encoding = BatchEncoding({{"input_ids": ids}})
print(encoding.to("cuda") is encoding, encoding["input_ids"].device)
""")
    assert said.strip().splitlines()[-3:] == ["cuda:0", "cuda:0", "True cuda:0"]


@need("diffusers")
def test_schedulers_move_time_steps_and_not_noise() -> None:
    said = on_a_gpu("""
import torch
from diffusers import DDPMScheduler
scheduler, picture = DDPMScheduler(), torch.rand(1, 3, 8, 8, device="cuda")
print(scheduler.add_noise(picture, torch.rand_like(picture), torch.tensor([1])).device)
try:
    scheduler.add_noise(picture, torch.rand(1, 3, 8, 8), torch.tensor([1]))
except RuntimeError as error:
    print(error)
""")
    assert "cuda:0\n" in said
    assert "found at least two devices" in said


@need("accelerate")
def test_accelerate_places_modules_and_batches() -> None:
    said = on_a_gpu("""
import torch
from accelerate import Accelerator
accelerator = Accelerator()
module, loader = accelerator.prepare(torch.nn.Linear(2, 2), torch.utils.data.DataLoader(torch.rand(4, 2)))
print(accelerator.device, module.weight.device, next(iter(loader)).device)
""")
    assert said.strip().splitlines()[-1] == "cuda cuda:0 cuda:0"


@need("einops")
def test_what_einops_arranges_stays_where_it_is() -> None:
    said = on_a_gpu("""
import torch
from einops import rearrange, repeat
picture = torch.rand(1, 3, 4, 4, device="cuda")
print(rearrange(picture, "b c h w -> b (h w) c").device, repeat(picture, "b c h w -> (n b) c h w", n=2).device)
try:
    rearrange([picture[0], torch.rand(3, 4, 4)], "b c h w -> b (c h w)")
except RuntimeError as error:
    print(error)
""")
    assert said.startswith("cuda:0 cuda:0\n")
    assert "Expected all tensors to be on the same device" in said
