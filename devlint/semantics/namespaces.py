"""Which table file has the rows of a dotted name, and under which name."""

from __future__ import annotations

import re

_TORCH_FILES = {
    "torch": "torch",
    "torch.Tensor": "torch",
    "torch.nn": "modules",
    "torch.nn.functional": "functional",
    "torch.nn.init": "functional",
    "torch.nn.utils": "functional",
    "torch.linalg": "mathematics",
    "torch.fft": "mathematics",
    "torch.special": "mathematics",
    "torch.signal": "mathematics",
    "torch.cuda": "devices",
    "torch.accelerator": "devices",
    "torch.amp": "devices",
    "torch.random": "devices",
    "torch.Generator": "devices",
    "torch.backends": "devices",
    "torch.mps": "devices",
    "torch.xpu": "devices",
    "torch.cpu": "devices",
    "torch.distributed": "distributed",
    "torch.utils": "toolkit",
    "torch.optim": "toolkit",
    "torch.distributions": "toolkit",
    "torch.autograd": "toolkit",
    "torch.jit": "toolkit",
    **dict.fromkeys(
        ("torch.func", "torch.hub", "torch.multiprocessing", "torch.nn.attention", "torch.onnx", "torch.profiler"),
        "toolkit",
    ),
    **dict.fromkeys(("torch.sparse", "torch.testing"), "toolkit"),
}
_LIBRARIES = {
    "numpy": "host",
    "matplotlib": "host",
    "seaborn": "host",
    "sklearn": "host",
    "pandas": "host",
    "cv2": "host",
    "PIL": "host",
    "scipy": "host",
    "skimage": "host",
    "imageio": "host",
    "plotly": "host",
    "h5py": "host",
    "librosa": "host",
    "soundfile": "host",
    "torchvision": "vision",
    "timm": "vision",
    "torchaudio": "vision",
    **dict.fromkeys(
        ("albumentations", "efficientnet_pytorch", "einops", "facenet_pytorch", "lpips", "pytorch_msssim"), "vision"
    ),
    "segmentation_models_pytorch": "vision",
    "torchsummary": "vision",
    "clip": "vision",
    "open_clip": "vision",
    "monai": "vision",
    "torchdiffeq": "training",
    "torchmetrics": "training",
    "transformers": "training",
    "sentence_transformers": "training",
    "diffusers": "training",
    "accelerate": "training",
    "peft": "training",
    "lightning": "training",
    "pytorch_lightning": "training",
    "torch_geometric": "graphs",
    "dgl": "graphs",
    "tqdm": "host",
}
_MOVED = (
    (re.compile(r"torch\.nn\.modules\.(?:[a-z]\w*\.)*([^\W_]\w*)"), r"torch.nn.\1"),
    (re.compile(r"torch\.nn\.parameter\.(\w+)"), r"torch.nn.\1"),
    (re.compile(r"torch\.nn\.parallel\.(?:\w+\.)*(\w+)"), r"torch.nn.parallel.\1"),
    (re.compile(r"torch\.functional\.(\w+)"), r"torch.\1"),
    (re.compile(r"torch\._tensor\.Tensor\.(\w+)"), r"torch.Tensor.\1"),
    (re.compile(r"torch\.optim\.(?!lr_scheduler|swa_utils)[a-z_0-9]+\.(\w+)"), r"torch.optim.\1"),
    (re.compile(r"torch\.utils\.data\.(?:dataloader|dataset|sampler|distributed)\.(\w+)"), r"torch.utils.data.\1"),
    (
        re.compile(r"torch\.distributions\.(?!constraints|transforms|constraint_registry)[a-z_]+\.(\w+)"),
        r"torch.distributions.\1",
    ),
    (re.compile(r"torch\.distributed\.distributed_c10d\.(\w+)"), r"torch.distributed.\1"),
    (re.compile(r"torch\.autocast_mode\.(\w+)"), r"torch.\1"),
    (re.compile(r"torch\.cuda\.(?:memory|random|streams|graphs)\.(\w+)"), r"torch.cuda.\1"),
    (re.compile(r"torch\.serialization\.(load|save)"), r"torch.\1"),
)
"""Where a class or function is defined, against where it is public."""
_PRETRAINED = [
    (re.compile(rf"transformers\.(?:\w+\.)*(?!TF|Flax){kind}\.(from_pretrained|from_config|_from_config)"), base)
    for kind, base in (
        (r"[A-Z]\w*(?:Model|For[A-Z]\w*)", "transformers.PreTrainedModel"),
        (r"[A-Z]\w*Tokenizer(?:Fast)?", "transformers.PreTrainedTokenizerBase"),
        (r"[A-Z]\w*ImageProcessor(?:Fast)?", "transformers.BaseImageProcessor"),
        (r"[A-Z]\w*(?:Processor|FeatureExtractor)", "transformers.ProcessorMixin"),
    )
]
"""The class methods that make what transformers has hundreds of classes for, which are named alike."""
_BUNDLED = [
    (
        re.compile(r"torchvision\.models\.(?:\w+\.)*\w+_Weights\.\w+\.(transforms)"),
        "torchvision.models.weights",
    ),
    (
        re.compile(r"torchaudio\.pipelines\.(?:(?:WAV2VEC2|HUBERT|WAVLM|VOXPOPULI)_\w+|MMS_FA)\.(get_model)"),
        "torchaudio.pipelines.acoustic",
    ),
]
"""What comes with published weights: how pictures are prepared for them (`ResNet50_Weights.DEFAULT.transforms()`), and
their network (`HUBERT_BASE.get_model()`)."""


def public(path: str) -> str:
    """Return the public name of what may be named by where it is defined."""
    if path.startswith("torch."):
        for pattern, name in _MOVED:
            if match := pattern.fullmatch(path):
                return match.expand(name)
    return path


def alike(path: str) -> str:
    """Return the name under which the tables have what is named like many others; the name itself if it is not."""
    for root, patterns in (("transformers.", _PRETRAINED), ("torchvision.", _BUNDLED), ("torchaudio.", _BUNDLED)):
        for pattern, base in patterns if path.startswith(root) else ():
            if match := pattern.fullmatch(path):
                return f"{base}.{match[1]}"
    return path


def file_of(path: str) -> str | None:
    """Return the table file, without ending, that has the rows of a name; None if none has."""
    root = path.partition(".")[0]
    if root != "torch":
        return _LIBRARIES.get(root)
    namespace = path
    while "." in namespace:
        namespace = namespace.rpartition(".")[0]
        if file := _TORCH_FILES.get(namespace):
            return file
    return None


def files() -> frozenset[str]:
    """Return the names of all table files, without ending."""
    return frozenset({*_TORCH_FILES.values(), *_LIBRARIES.values()})
