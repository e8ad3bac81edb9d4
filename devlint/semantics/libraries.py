"""Classes of torch and its neighbours: which are modules, which have a device, what is the same under two names."""

from __future__ import annotations

import re
from functools import lru_cache

from devlint.semantics import table

_SAME = {
    "torch.tensor.Tensor": "torch.Tensor",
    "torch._tensor.Tensor": "torch.Tensor",
    "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch.nn.parameter.Buffer": "torch.nn.Buffer",
    "torch.autograd.variable.Variable": "torch.autograd.Variable",
    "torch.nn.data_parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.data_parallel": "torch.nn.parallel.data_parallel",
    "torch.nn.parallel.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "torch.autograd.function.Function": "torch.autograd.Function",
    "torch.cuda.amp.autocast_mode.autocast": "torch.cuda.amp.autocast",
    "torch.nn.modules.module.Module": "torch.nn.Module",
    "torch.ScriptModule": "torch.jit.ScriptModule",
    "torch.jit._script.ScriptModule": "torch.jit.ScriptModule",
    "torch.nn.Module.nn": "torch.nn",
    "numpy.core.multiarray.array": "numpy.array",
}
_PREFIXES = (
    ("pytorch_lightning.", "lightning.pytorch."),
    ("lightning.LightningModule", "lightning.pytorch.LightningModule"),
    ("lightning.Trainer", "lightning.pytorch.Trainer"),
    ("lightning.LightningDataModule", "lightning.pytorch.LightningDataModule"),
    ("lightning.pytorch.core.LightningModule", "lightning.pytorch.LightningModule"),
    ("lightning.pytorch.core.lightning.LightningModule", "lightning.pytorch.LightningModule"),
    ("lightning.pytorch.core.module.LightningModule", "lightning.pytorch.LightningModule"),
    ("lightning.pytorch.trainer.Trainer", "lightning.pytorch.Trainer"),
    ("torch.nn.modules.container.", "torch.nn."),
    ("torch.utils.data.dataloader.", "torch.utils.data."),
    ("torch.utils.data.dataset.", "torch.utils.data."),
    ("torch.utils.data.sampler.", "torch.utils.data."),
)

_DISTRIBUTION = re.compile(r"torch\.distributions\.(?!constraint)\w+\.[A-Z]\w*")
"""A class of distributions or transforms where it is defined."""
_VISION = re.compile(
    r"(torchvision\.(?:transforms|datasets|models(?:\.detection|\.segmentation|\.video)?)\.)(?:[a-z_]\w*\.)+(?=[A-Z])"
)
"""A class of torchvision where it is defined, or in the second version of its transforms."""
_TRANSFORMED = frozenset(
    "LogNormal HalfNormal HalfCauchy Gumbel Kumaraswamy LogisticNormal Pareto RelaxedBernoulli Weibull InverseGamma "
    "RelaxedOneHotCategorical".split()
)
"""The distributions that are `TransformedDistribution`s."""

_DERIVED = {
    "_BatchNorm": r"(Lazy)?BatchNorm\dd|SyncBatchNorm",
    "_InstanceNorm": r"(Lazy)?InstanceNorm\dd",
    "_NormBase": r"(Lazy)?(Batch|Instance)Norm\dd|SyncBatchNorm|_(Batch|Instance)Norm",
    "_ConvNd": r"(Lazy)?Conv(Transpose)?\dd|_ConvTransposeNd",
    "_ConvTransposeNd": r"(Lazy)?ConvTranspose\dd",
    "_DropoutNd": r"(Feature)?(Alpha)?Dropout(\dd)?",
    "_Loss": r"\w+Loss2?d?",
    "_WeightedLoss": r"(BCE|(Linear)?CrossEntropy|MultiLabelSoftMargin|MultiMargin|NLL)Loss(2d)?",
    "_MaxPoolNd": r"MaxPool\dd",
    "_AvgPoolNd": r"AvgPool\dd",
    "_LPPoolNd": r"LPPool\dd",
    "_MaxUnpoolNd": r"MaxUnpool\dd",
    "_AdaptiveAvgPoolNd": r"AdaptiveAvgPool\dd",
    "_AdaptiveMaxPoolNd": r"AdaptiveMaxPool\dd",
    "RNNBase": r"RNN|LSTM|GRU",
    "RNNCellBase": r"(RNN|LSTM|GRU)Cell",
    "Linear": r"LazyLinear",
    "NLLLoss": r"NLLLoss2d",
    "Hardtanh": r"ReLU6",
    "Upsample": r"Upsampling\w+2d",
    **{f"Conv{kind}{n}d": rf"LazyConv{kind}{n}d" for kind in ("", "Transpose") for n in (1, 2, 3)},
    **{f"ConstantPad{n}d": rf"ZeroPad{n}d" for n in (1, 2, 3)},
}
"""The classes of torch.nn from which others there derive, and the names of those."""
_WRAPPERS = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel"})
_NO_LOSSES = frozenset({"AdaptiveLogSoftmaxWithLoss"})

LIGHTNING_MODULE = "lightning.pytorch.LightningModule"
_MODULES = frozenset({"torch.nn.Module", "torch.jit.ScriptModule", LIGHTNING_MODULE})
_CLOSED = frozenset(
    {
        "builtins.object",
        "builtins.Exception",
        "abc.ABC",
        "typing.Generic",
        "typing.NamedTuple",
        "typing.Protocol",
        "torch.utils.data.Dataset",
        "torch.utils.data.IterableDataset",
        "torch.autograd.Function",
        "torch.nn.Module",
        "torch.jit.ScriptModule",
    }
)
_OF_TUPLES = frozenset(
    {
        "builtins.tuple",
        "typing.Tuple",
        *(
            f"{module}.{name}"
            for module in ("typing", "collections.abc")
            for name in "Sequence Collection Iterable Sized Container Reversible Hashable".split()
        ),
    }
)
"""What every named tuple is an instance of."""
_TENSOR_CLASSES = frozenset({"torch.Tensor", "torch.nn.Parameter", "torch.FloatTensor", "torch.LongTensor"})
_LEGACY = {
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Float": "float32",
    "Double": "float64",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Bool": "bool",
}
_DTYPES = {
    "byte": "uint8",
    "char": "int8",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}
# Base classes that answer `.device`: the first three read in transformers 5.23.0, diffusers 0.42.1, Lightning 2.6.6.
_WITH_DEVICE = ("PreTrainedModel", "ModelMixin", "LightningModule", "SentenceTransformer", "PyTorchModelHubMixin")


@lru_cache(maxsize=4096)
def canonical(path: str) -> str:
    """Return the public name of a callable or class."""
    same = _SAME.get(path)
    if same is not None:
        return same
    for prefix, replacement in _PREFIXES:
        if path.startswith(prefix):
            return replacement + path[len(prefix) :]
    if path.startswith("torch.nn.modules."):
        last = path.rpartition(".")[2]
        return f"torch.nn.{last}" if last[:1].isupper() else path  # its files keep their names
    if path.startswith("torchvision."):
        return _VISION.sub(r"\1", path)
    if path.startswith("torch.distributions.") and _DISTRIBUTION.fullmatch(path):
        return "torch.distributions." + path.rpartition(".")[2]
    return path


@lru_cache(maxsize=4096)
def is_module(path: str) -> bool:
    """Whether instances of a class outside the project are surely `nn.Module`s."""
    path = canonical(path)
    if path in _MODULES:
        return True
    last = path.rpartition(".")[2]
    if last.endswith(("PreTrainedModel", "LightningModule", "ModelMixin")):
        return True
    row = table.lookup(path)
    if row is None:
        return False
    return row.effect == "module" or "module" in row.flags or row.base == "torch.nn.Module"


@lru_cache(maxsize=4096)
def is_closed_base(path: str) -> bool:
    """Whether an external class brings no attributes but those that are known."""
    path = canonical(path)
    return path in _CLOSED or (path.startswith("torch.nn.") and is_module(path) and path not in _WRAPPERS)


WRITTEN = {
    "torch.Tensor": "torch.Tensor",
    "torch.nn.Parameter": "torch.nn.parameter.Parameter",
    "numpy.ndarray": "numpy.ndarray",
    **{f"builtins.{cls.__name__}": cls.__name__ for cls in (bool, dict, float, int, list, set, str, tuple)},
}
"""How Python writes the classes that data are of."""


@lru_cache(maxsize=4096)
def class_name(path: str) -> str | None:
    """The `__name__` of a class of data, of torch's layers or optimizers; None for all else.

    A lazy layer becomes another when it is called.
    """
    path = canonical(path)
    package, _, name = path.rpartition(".")
    if path in WRITTEN:
        return name
    if not name[:1].isupper() or name.startswith("Lazy"):
        return None
    if package in ("torch.nn", "torch.nn.parallel"):
        return name if is_module(path) else None
    return name if package == "torch.optim" and table.lookup(path) is not None else None


def own_name(path: str, name: str) -> str | None:
    """The `__name__` or `__module__` of a class of data or a layer, and the name of a library itself (`numpy`)."""
    if name == "__name__":
        return class_name(path) if "." in path else path
    return path.rpartition(".")[0] if path in ("numpy.ndarray", "torch.Tensor") else None


def forget() -> None:
    """Drop what was remembered of the tables, after they have changed."""
    is_module.cache_clear()
    is_closed_base.cache_clear()
    class_name.cache_clear()
    _kind.cache_clear()


def has_device(path: str) -> bool:
    """Whether instances answer `.device`."""
    return path.rpartition(".")[2].endswith(_WITH_DEVICE) or not is_closed_base(path)


def derives(path: str, other: str) -> bool:
    """Whether one external class surely derives from another (or is the same)."""
    path, other = canonical(path), canonical(other)
    if path == other or other == "builtins.object":
        return True
    if other == "torch.nn.Module":
        return is_module(path) or path in _WRAPPERS
    if path.startswith("torch.nn.") and other.startswith("torch.nn."):
        last = path.rpartition(".")[2]
        family = _DERIVED.get(other.rpartition(".")[2])
        return family is not None and last not in _NO_LOSSES and re.fullmatch(family, last) is not None
    if path == "typing.NamedTuple":
        return other in _OF_TUPLES
    if other in ("collections.UserDict", "collections.abc.Mapping") and path == "transformers.BatchEncoding":
        return True
    if other.startswith("torch.distributions."):
        return _is_distribution(path, other.rpartition(".")[2])
    return path == "collections.OrderedDict" and other == "builtins.dict"


def _is_distribution(path: str, base: str) -> bool:
    """Whether a class of distributions surely derives from one of the two general ones."""
    row = table.lookup(path)
    if row is None or row.base != "torch.distributions.Distribution":
        return False
    return base == "Distribution" or (base == "TransformedDistribution" and path.rpartition(".")[2] in _TRANSFORMED)


def is_class(path: str) -> bool | None:
    """Whether a dotted name surely is a class; None when that is not known."""
    return True if path.startswith(("torch.nn.", "builtins.")) else None


def special_methods(path: str) -> frozenset[str]:
    """The special methods by which abstract classes know the modules of torch; empty for what is no module."""
    path = canonical(path)
    return _MODULE_METHODS.get(path.removeprefix("torch.nn."), _CALLED) if is_module(path) else frozenset()


_CALLED = frozenset({"__call__", "__hash__"})
_LISTED = _CALLED | {"__iter__", "__len__"}
_MODULE_METHODS = {
    "Sequential": _LISTED,
    "ModuleList": _LISTED,
    "ParameterList": _LISTED,
    "ModuleDict": _LISTED | {"__contains__"},
    "ParameterDict": _LISTED | {"__contains__", "__reversed__"},
}
_VALUES = frozenset(
    {
        *(f"builtins.{name}" for name in "int float complex bool str bytes list tuple dict set frozenset".split()),
        *_TENSOR_CLASSES,
        "torch.device",
        "torch.dtype",
        "numpy.ndarray",
    }
)
_OBJECTS = frozenset(
    {
        "torch.Generator",
        "torch.cuda.Stream",
        "torch.cuda.Event",
        "torch.amp.GradScaler",
        "torch.cuda.amp.GradScaler",
        "torch.utils.data.DataLoader",
        "torch.utils.data.Subset",
        "torch.utils.data.TensorDataset",
        "argparse.ArgumentParser",
        "argparse.Namespace",
        "PIL.Image.Image",
        "logging.Logger",
        "threading.Thread",
        "types.SimpleNamespace",
    }
)


@lru_cache(maxsize=4096)
def _kind(path: str) -> str:
    """Of which of the kinds that have no object in common a class surely is; "" where that is not known."""
    package, _, name = path.rpartition(".")
    if is_module(path) or path in _WRAPPERS:
        return "module"
    if path in _TENSOR_CLASSES or legacy_type(path) is not None:
        return "tensor"
    if path in _VALUES:
        return package if package == "builtins" else path
    if path in ("torch.Size", "torch.nn.utils.rnn.PackedSequence"):
        return "builtins"
    if path in _OBJECTS:
        return name
    if package.startswith("torch.distributions"):
        return "distribution"
    return {"torch.optim": "optimizer", "torch.optim.lr_scheduler": "scheduler"}.get(package, "")


def are_apart(path: str, other: str) -> bool:
    """Whether no object is of both classes: one is of modules, say, and the other of optimizers or of lists."""
    one, two = _kind(canonical(path)), _kind(canonical(other))
    return bool(one and two) and one != two


def same_class(path: str, other: str) -> bool | None:
    """Whether two dotted names are the same class or dtype (`type(x) == torch.Tensor`); None when that is not known."""
    path, other = canonical(path), canonical(other)
    if path == other or dtype_named(path) == dtype_named(other):
        return True
    return False if _is_one_class(path) and _is_one_class(other) else None


def _is_one_class(path: str) -> bool:
    """Whether a canonical name is that of a class which has no other."""
    if path.startswith("torch.nn."):
        return path.rpartition(".")[2][:1].isupper()
    return path in _TENSOR_CLASSES or path == "numpy.ndarray" or path.startswith("builtins.")


def legacy_type(path: str) -> tuple[str, str] | None:
    """The type of device and the dtype of a legacy tensor type: `torch.cuda.LongTensor`."""
    module, _, name = path.rpartition(".")
    dtype = _LEGACY.get(name.removesuffix("Tensor")) if name.endswith("Tensor") else None
    if dtype is None or module not in ("torch", "torch.cuda"):
        return None
    return "cpu" if module == "torch" else "cuda", f"torch.{dtype}"


def dtype_named(path: str) -> str:
    """The one name of a dtype that may have two: `torch.long` is `torch.int64`."""
    name = path.removeprefix("torch.")
    return f"torch.{_DTYPES[name]}" if name in _DTYPES and name is not path else path


def is_tensor_class(path: str) -> bool:
    """Whether a class is the tensor class or one of its old names."""
    return path in _TENSOR_CLASSES


def exports(module: str, name: str) -> bool:
    """Whether `from module import *` brings `name`."""
    if table.lookup(f"{module}.{name}") is not None:
        return True
    return module == "torch" and name in ("nn", "optim", "cuda", "utils", "device", "Tensor", "float32", "long")


_FOR_GPUS = frozenset(
    "MultiScaleDeformableAttention amp_C apex awq_ext awq_inference_engine causal_conv1d cucim cudf cugraph cuml cupy "
    "diff_gaussian_rasterization diff_surfel_rasterization exllama_kernels exllamav2_kernels flash_attn flashinfer "
    "fused_ssim gsplat isaacgym isaacgymenvs isaaclab isaacsim lietorch_extras mamba_ssm nerfacc neural_renderer "
    "nvdiffrast nvidia omni omniisaacgymenvs pointnet2_ops pycuda selective_scan_cuda simple_knn tensorrt tinycudann "
    "torch2trt torch_tensorrt transformer_engine".split()
)
"""Packages that are built for CUDA alone, by their own installation pages."""


_FAIL_WITHOUT = frozenset(
    "MultiScaleDeformableAttention amp_C awq_ext awq_inference_engine causal_conv1d diff_gaussian_rasterization "
    "diff_surfel_rasterization exllama_kernels exllamav2_kernels flash_attn fused_ssim lietorch_extras mamba_ssm "
    "neural_renderer pointnet2_ops selective_scan_cuda simple_knn tinycudann".split()
)
"""Those of them that are compiled kernels, or import such at once: without CUDA they can't be built, nor imported."""


_WORKS_WITHOUT = frozenset(["nvidia"])
"""Those of them that can be imported, and do part of their work, without a GPU: DALI decodes on the CPU, too."""


_MOVERS = re.compile(
    r"\w*(Trainer|Learner|Engine|Estimator|Pipeline)|fit|train|initialize|init_inference|prepare\w*|\w*dispatch\w*|(de)?parallelize\w*|fully_shard|enable_\w*offload"
)


def may_move(path: str) -> bool:
    """Whether a library may move the modules that it is given by this name: trainers, engines, launchers."""
    root, _, _ = path.partition(".")
    return root not in ("builtins", "numpy") and _MOVERS.fullmatch(path.rpartition(".")[2]) is not None


_HOLDS_NOTHING = frozenset("PIL io logging pandas pathlib".split())
"""Packages whose objects are for the host alone, and keep nothing of what they are given."""


def holds_nothing(path: str) -> bool:
    """Whether the instances of a class outside the project never hold a tensor, a module or a device."""
    return path.partition(".")[0] in _HOLDS_NOTHING


def needs_gpu(path: str) -> bool:
    """Whether a module belongs to a package that can't be used without a GPU."""
    return path.partition(".")[0] in _FOR_GPUS or is_kernel(path)


def is_absent_without_gpu(path: str) -> bool:
    """Whether a module belongs to a package that a machine without a GPU would not have."""
    return needs_gpu(path) and path.partition(".")[0] not in _WORKS_WITHOUT


def fails_without_gpu(path: str) -> bool:
    """Whether a module belongs to a package that can't even be imported without one."""
    return path.partition(".")[0] in _FAIL_WITHOUT or is_kernel(path)


def is_kernel(path: str) -> bool:
    """Whether a module that is none of the project's files is compiled from kernels for CUDA, as those who build such
    call it: `iou3d_nms_cuda`, `correlation_cuda`."""
    return "." not in path and path.endswith("_cuda")
