"""The two C++ objects that libtorch asks about CUDA, given answers: the device guard and the CUDA hooks.

libtorch refuses every operation on a device type without a `DeviceGuardImplInterface`, and the autograd engine wants
an accelerator for CUDA tensors. Both are objects with a vtable: each gets a copy of the vtable that the CPU build has,
with some slots filled from here. The slots come from the headers of the installed torch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from devlint.simulated import devices, stubs, transfers
from devlint.simulated.headers import virtual_slots
from devlint.simulated.memory import CUDA_TYPE, cuda_word

LIBRARIES = Path(torch.__file__).parent / "lib"
GUARD_HEADER = "c10/core/impl/DeviceGuardImplInterface.h"
HOOKS_HEADER = "ATen/detail/AcceleratorHooksInterface.h"
CUDA_HOOKS_HEADER = "ATen/detail/CUDAHooksInterface.h"
GUARD_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
GET_CUDA_HOOKS = "_ZN2at6detail12getCUDAHooksEv"
COPIED_SLOTS = 64
STUB_OF_SLOT = {
    **dict.fromkeys(("getStream", "getDefaultStream", "getStreamFromGlobalPool", "getNewStream"), "stream_of_device"),
    "exchangeStream": "same_stream",
    **dict.fromkeys(("destroyEvent", "record", "block", "synchronizeStream", "synchronizeEvent"), "nothing"),
    **dict.fromkeys(("recordDataPtrOnStream",), "nothing"),
    **dict.fromkeys(("queryEvent", "queryStream"), "true"),
}
CALLED_IN_DESTRUCTORS = ("getDevice", "exchangeDevice", "setDevice", "uncheckedSetDevice")
HIDDEN_WORDS = 2  # offset-to-top and type information stand before the first slot


def _immortal(*things: Any) -> None:
    """Keep things for ever: libtorch uses the vtables after the interpreter is gone, in its destructors."""
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(next(LIBRARIES.glob(f"lib{name}.*"))))


def _copied_vtable(table: int) -> Any:
    words = ctypes.c_void_p * (COPIED_SLOTS + HIDDEN_WORDS)
    return words(*words.from_address(table - 8 * HIDDEN_WORDS))


def _fill(vtable: Any, slot: int, prototype: Any, answer: Callable[..., Any]) -> None:
    callback = prototype(answer)
    _immortal(callback)
    vtable[slot + HIDDEN_WORDS] = ctypes.cast(callback, ctypes.c_void_p).value


def _keep_exceptions(vtable: Any, filled: list[int]) -> None:
    """Let callbacks be called while a guard goes because of an exception, raised by a hook of a backward pass."""
    wrapped = stubs.keeping_exceptions([vtable[slot + HIDDEN_WORDS] for slot in filled])
    for slot, address in zip(filled, wrapped, strict=True):
        vtable[slot + HIDDEN_WORDS] = address


def install_guard() -> None:
    """Register a device guard for CUDA that knows the current device, modelled on the CPU's, which does nothing."""
    library = _library("c10")
    registry: Any = (ctypes.c_void_p * 2).in_dll(library, GUARD_REGISTRY)
    model = ctypes.c_void_p.from_address(registry[0])
    assert model.value is not None
    vtable = _copied_vtable(model.value)
    slots = virtual_slots(GUARD_HEADER)
    this, device = ctypes.c_void_p, ctypes.c_uint16
    _fill(vtable, slots["type"], ctypes.CFUNCTYPE(ctypes.c_int8, this), lambda _: CUDA_TYPE)
    _fill(vtable, slots["getDevice"], ctypes.CFUNCTYPE(device, this), lambda _: cuda_word(devices.current()))
    _fill(vtable, slots["exchangeDevice"], ctypes.CFUNCTYPE(device, this, device), lambda _, word: _exchange(word))
    _fill(vtable, slots["setDevice"], ctypes.CFUNCTYPE(None, this, device), lambda _, word: _set(word))
    _fill(vtable, slots["uncheckedSetDevice"], ctypes.CFUNCTYPE(None, this, device), lambda _, word: _set(word))
    _fill(vtable, slots["deviceCount"], ctypes.CFUNCTYPE(ctypes.c_int8, this), lambda _: devices.count())
    _keep_exceptions(vtable, [slots[name] for name in CALLED_IN_DESTRUCTORS])
    code = stubs.addresses()
    for name, stub in STUB_OF_SLOT.items():
        if name in slots:
            vtable[slots[name] + HIDDEN_WORDS] = code[stub]
    synchronise = ctypes.CFUNCTYPE(None, this, ctypes.c_int8)
    if "synchronizeDevice" in slots:
        _fill(
            vtable,
            slots["synchronizeDevice"],
            synchronise,
            lambda _, index: transfers.note_synchronisation("synchronize"),
        )
    guard = ctypes.c_void_p(ctypes.addressof(vtable) + 8 * HIDDEN_WORDS)
    _immortal(vtable, guard, library)
    registry[CUDA_TYPE] = ctypes.addressof(guard)


def _set(word: int) -> None:
    """Follow the guard. The operation itself refuses an index out of range, and all work in a process forked from one
    that used CUDA: C++ can't take an exception here."""
    index = word >> 8
    if word & 0xFF == CUDA_TYPE and index < devices.count() and not devices.in_bad_fork():
        devices.set_current(index)


def _exchange(word: int) -> int:
    before = devices.current()
    _set(word)
    return cuda_word(before)


def install_hooks() -> None:
    """Let `at::getAccelerator()` answer CUDA, and nobody choose cuDNN. A destructor takes two slots: hence the 1."""
    library = _library("torch_cpu")
    get_hooks = getattr(library, GET_CUDA_HOOKS)
    get_hooks.restype, get_hooks.argtypes = ctypes.c_void_p, []
    hooks = ctypes.c_void_p.from_address(get_hooks())
    assert hooks.value is not None
    vtable = _copied_vtable(hooks.value)
    slots = virtual_slots(HOOKS_HEADER)
    this, index = ctypes.c_void_p, ctypes.c_int8
    _fill(vtable, slots["isBuilt"], ctypes.CFUNCTYPE(ctypes.c_bool, this), lambda _: True)
    if "isAvailable" in slots:
        _fill(vtable, slots["isAvailable"], ctypes.CFUNCTYPE(ctypes.c_bool, this), lambda _: devices.count() > 0)
    if "init" in slots:
        vtable[slots["init"] + HIDDEN_WORDS] = stubs.addresses()["nothing"]  # the CUDA build would look for a driver
    own = virtual_slots(CUDA_HOOKS_HEADER)["compiledWithCuDNN"]
    _fill(vtable, len(slots) + 1 + own, ctypes.CFUNCTYPE(ctypes.c_bool, this), lambda _: False)
    _fill(vtable, slots["hasPrimaryContext"], ctypes.CFUNCTYPE(ctypes.c_bool, this, index), lambda _, k: False)
    _immortal(vtable, library)
    hooks.value = ctypes.addressof(vtable) + 8 * HIDDEN_WORDS
