"""`torch.cuda.FloatTensor` and its kin: types that the CPU build has by name only, refusing every use."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from devlint.simulated import devices

NAMES = ("Float", "Double", "Half", "BFloat16", "Int", "Long", "Short", "Char", "Byte", "Bool")


class LegacyType(type):
    """The type of `torch.cuda.FloatTensor`: `isinstance` asks device and dtype."""

    dtype: torch.dtype
    is_cuda = True
    is_sparse = False
    layout = torch.strided

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


def _current() -> torch.device:
    cuda: Any = torch.cuda
    cuda._lazy_init()
    return torch.device("cuda", devices.current())


def _new(host_type: Any, cls: type[Any], *args: Any, **kwargs: Any) -> torch.Tensor:
    if args and isinstance(args[0], torch.Tensor) and args[0].dtype is cls.dtype:
        return args[0].alias() if hasattr(args[0], "alias") else args[0]
    result: torch.Tensor = host_type(*args, **kwargs).to(_current())
    return result


def _named(name: str) -> LegacyType | None:
    found = getattr(torch.cuda, name.removeprefix("torch.cuda."), None) if name.startswith("torch.cuda.") else None
    return found if isinstance(found, LegacyType) else None


def _type(original: Any) -> Any:
    @functools.wraps(original)
    def type_(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        kind = _named(dtype) if isinstance(dtype, str) else dtype
        if isinstance(kind, LegacyType):
            device = self.device if self.is_cuda else _current()
            return self.to(device=device, dtype=kind.dtype, non_blocking=non_blocking)
        if dtype is None:
            return original(self)
        return original(self, dtype, non_blocking, **kwargs)

    return type_


def _set_default_tensor_type(original: Any) -> Any:
    @functools.wraps(original)
    def set_default_tensor_type(kind: Any) -> None:
        named = _named(kind) if isinstance(kind, str) else kind
        if isinstance(named, LegacyType):
            if not named.dtype.is_floating_point:
                raise TypeError("only floating-point types are supported as the default type")
            torch.set_default_dtype(named.dtype)
            torch.set_default_device("cuda")
            _chosen_by_type.append(_default_context())
            return
        original(kind)
        torch.set_default_device(None)

    return set_default_tensor_type


_chosen_by_type: list[Any] = []  # the contexts that stand for a default type


def _default_context() -> Any:
    return getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)


def _get_default_device(original: Any) -> Any:
    """A default type is no default device: torch says that it is the CPU, wherever it creates (seen on an H200)."""

    @functools.wraps(original)
    def get_default_device() -> torch.device:
        stack: list[Any] = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
        modes = [mode for mode in stack if isinstance(mode, DeviceContext)]
        if modes and any(modes[-1] is chosen for chosen in _chosen_by_type):
            return torch.device("cpu")
        found: torch.device = original()
        return found

    return get_default_device


def install() -> None:
    """Put working types into `torch.cuda`, and teach the functions that take a type about them."""
    for name in NAMES:
        host_type = getattr(torch, f"{name}Tensor")
        members: dict[str, Any] = {"dtype": host_type.dtype, "__module__": "torch.cuda"}
        members["__new__"] = staticmethod(functools.partial(_new, host_type))
        setattr(torch.cuda, f"{name}Tensor", LegacyType(f"{name}Tensor", (), members))
    tensor: Any = torch.Tensor
    tensor.type = _type(tensor.type)
    torch.set_default_tensor_type = _set_default_tensor_type(torch.set_default_tensor_type)
    torch.get_default_device = _get_default_device(torch.get_default_device)
