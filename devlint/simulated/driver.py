"""The functions of `torch._C` that `torch.cuda` is written on (`_cuda_getDevice` and the like), for simulated devices.

`torch.cuda` itself stays as it is: what it checks, queues and raises is torch's own.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from devlint.simulated import devices, generators, transfers
from devlint.simulated.errors import cannot_simulate, invalid_ordinal

MEMORY = 16 << 30
CUDA_VERSION = "12.8"
CUDNN_VERSION = 91002
NVTX = ("rangePushA", "rangePop", "rangeStartA", "rangeEnd", "markA", "deviceRangeStart", "deviceRangeEnd")


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """What `torch.cuda.get_device_properties` answers: a GPU of compute capability 8.0 that nobody sells."""

    name: str = "Simulated CUDA device"
    major: int = 8
    minor: int = 0
    total_memory: int = MEMORY
    multi_processor_count: int = 108
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 166912
    shared_memory_per_multiprocessor: int = 167936
    warp_size: int = 32
    L2_cache_size: int = 41943040
    clock_rate: int = 1410000
    memory_clock_rate: int = 1215000
    memory_bus_width: int = 5120
    gcnArchName: str = "Simulated CUDA device"
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0
    uuid: str = "00000000-0000-0000-0000-000000000000"


_peak: dict[int, int] = {}
_sync_debug = [0]


def _init() -> None:
    devices.initialise()
    torch.cuda.default_generators = tuple(generators.default_generator(k) for k in range(devices.count()))  # type: ignore[assignment]


def _exchange(index: int) -> int:
    if index < 0:
        return -1
    before = devices.current()
    devices.set_current(index)
    return before


def _properties(index: int) -> DeviceProperties:
    if not 0 <= index < devices.count():
        raise invalid_ordinal()
    return DeviceProperties()


def allocated(index: int) -> int:
    """Return the bytes in the storages on a device that Python objects hold."""
    sizes: dict[int, int] = {}
    for candidate in gc.get_objects():
        if not issubclass(type(candidate), torch.Tensor) or not candidate.is_cuda:
            continue
        if candidate.device.index == index and candidate.layout is torch.strided:
            storage = candidate.untyped_storage()
            sizes[storage._cdata] = storage.nbytes()
    return sum(sizes.values())


def _statistics(index: int) -> dict[str, Any]:
    now = allocated(index)
    _peak[index] = max(now, _peak.get(index, 0))
    count = {"current": now, "peak": _peak[index], "allocated": _peak[index], "freed": _peak[index] - now}
    none = dict.fromkeys(count, 0)

    def kinds(numbers: dict[str, int]) -> dict[str, dict[str, int]]:
        return {"all": dict(numbers), "small_pool": dict(none), "large_pool": dict(numbers)}

    bytes_of = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes", "inactive_split_bytes")
    counts_of = ("allocation", "segment", "active", "inactive_split")
    zeros = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free")
    return {
        **{name: kinds(count if name != "inactive_split_bytes" else none) for name in bytes_of},
        **{name: kinds(none) for name in counts_of},
        **{name: dict(none) for name in ("oversize_allocations", "oversize_segments")},
        **dict.fromkeys(zeros, 0),
        "max_split_size": -1,
    }


def _mem_get_info(index: int) -> tuple[int, int]:
    return MEMORY - allocated(index), MEMORY


def _synchronise(*args: Any) -> None:
    transfers.note_synchronisation("synchronize")


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _refuse(what: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise cannot_simulate(what)

    return refuse


def _cudart() -> types.SimpleNamespace:
    zero = lambda *args, **kwargs: 0  # noqa: E731
    return types.SimpleNamespace(
        cudaError=types.SimpleNamespace(success=0),
        cudaGetErrorString=lambda code: "no error",
        cudaMemGetInfo=lambda device: _mem_get_info(device),
        cudaDeviceSynchronize=lambda: _synchronise() or 0,  # type: ignore[func-returns-value]
        cudaProfilerStart=zero,
        cudaProfilerStop=zero,
        cudaHostRegister=zero,
        cudaHostUnregister=zero,
    )


DRIVER: dict[str, Any] = {
    "_cuda_init": _init,
    "_cuda_getDeviceCount": devices.count,  # once: a forked process has the number of its parent
    "_cuda_getDevice": devices.current,
    "_cuda_setDevice": devices.set_current,
    "_cuda_exchangeDevice": _exchange,
    "_cuda_maybeExchangeDevice": _exchange,
    "_cuda_isInBadFork": devices.in_bad_fork,
    "_cuda_synchronize": _synchronise,
    "_cuda_emptyCache": _nothing,
    "_cuda_ipc_collect": _nothing,
    "_cuda_sleep": _nothing,
    "_cuda_memoryStats": _statistics,
    "_cuda_resetPeakMemoryStats": lambda index: _peak.pop(index, None),
    "_cuda_resetAccumulatedMemoryStats": _nothing,
    "_cuda_hostMemoryStats": dict,
    "_cuda_resetPeakHostMemoryStats": _nothing,
    "_cuda_resetAccumulatedHostMemoryStats": _nothing,
    "_cuda_setMemoryFraction": _nothing,
    "_cuda_getMemoryFraction": lambda device: 1.0,
    "_cuda_getAllocatorBackend": lambda: "native",
    "_cuda_getArchFlags": lambda: "sm_80",
    "_cuda_canDeviceAccessPeer": lambda device, peer: device != peer,
    "_cuda_getCurrentRawStream": lambda index: 0,
    "_cuda_isCurrentStreamCapturing": lambda: False,
    "_cuda_get_sync_debug_mode": lambda: _sync_debug[0],
    "_cuda_set_sync_debug_mode": lambda mode: _sync_debug.__setitem__(0, mode),
    "_cuda_hasPrimaryContext": lambda index: devices.count() > index,
    "_cuda_getCompiledVersion": lambda: 12080,
    "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
    "_cuda_cudaCachingAllocator_enable": _nothing,
    "_cuda_memorySnapshot": _refuse("memory snapshots"),
    "_cuda_record_memory_history": _nothing,
    "_cuda_cudaCachingAllocator_raw_alloc": _refuse("raw allocations"),
    "_cuda_jiterator_compile_and_launch_kernel": _refuse("jiterator kernels"),
    "_cuda_changeCurrentAllocator": _refuse("allocators of its own"),
}
ACCELERATOR: dict[str, Any] = {
    "_accelerator_isAllocatorInitialized": lambda: True,
    "_accelerator_emptyCache": _nothing,
    "_accelerator_emptyHostCache": _nothing,
    "_accelerator_getDeviceStats": _statistics,
    "_accelerator_resetAccumulatedStats": _nothing,
    "_accelerator_resetPeakStats": lambda index: _peak.pop(index, None),
    "_accelerator_getMemoryInfo": _mem_get_info,
}


def _replace_imported(replaced: dict[int, Any]) -> None:
    """Exchange the CUDA build's own functions where modules of torch have imported them by name."""
    for module_name in [name for name in sys.modules if name.startswith(("torch.cuda", "torch._dynamo.device"))]:
        module: Any = sys.modules[module_name]
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in replaced:
                setattr(module, name, replaced[id(value)])


def install() -> None:
    """Give `torch._C` and `torch.cuda` their driver."""
    originals = {name: getattr(torch._C, name) for name in DRIVER if hasattr(torch._C, name)}
    for name, function in DRIVER.items():
        setattr(torch._C, name, function)
    _replace_imported({id(original): DRIVER[name] for name, original in originals.items()})
    for name, function in ACCELERATOR.items():
        if hasattr(torch._C, name):  # older releases have fewer
            setattr(torch._C, name, function)
    cuda: Any = torch.cuda
    cuda._cudart = _cudart()
    cuda._exchange_device = cuda._maybe_exchange_device = _exchange
    cuda._is_in_bad_fork = devices.in_bad_fork
    cuda._get_device_properties = _properties
    cuda._device_count_nvml = devices.count_from_outside
    cuda.nvtx._nvtx = types.SimpleNamespace(**dict.fromkeys(NVTX, _nothing))
    cuda._initialized = False
    cuda._cached_device_count = None
    torch.version.cuda = CUDA_VERSION
    torch.backends.cuda.is_built = lambda: True
    torch.backends.cudnn.version = lambda: CUDNN_VERSION
    torch.backends.cudnn.is_available = lambda: True
    torch.backends.cudnn.is_acceptable = lambda tensor: False
