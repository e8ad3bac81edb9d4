"""What torch raises where it was built without CUDA, or without the other accelerator that is asked for."""

from __future__ import annotations

from devlint.semantics import table

_SPLIT_LIBRARIES = (
    "without ATen_cuda library. PyTorch splits its backend into two shared libraries: a CPU library and a CUDA "
    "library; this error has occurred because you are trying to use some CUDA functionality, but the CUDA library has "
    "not been loaded by the dynamic linker for some reason."
)


def without_cuda(operation: str, device: str, form: str) -> str:
    """CUDA on a CPU wheel. `form`: `index` where the device was given as a number."""
    if (special := _WITHOUT_CUDA.get(operation)) is not None:
        return special
    if operation.startswith("torch.cuda.") and operation.endswith("Tensor"):
        return f"TypeError: type {operation} not available. Torch not compiled with CUDA enabled."
    if operation.startswith("torch.accelerator.") or form == "index":
        return "RuntimeError: Cannot access accelerator device when none is available."
    kind = device.partition(":")[0]
    if kind == "mps":
        row = table.lookup(operation)
        if row is not None and row.effect in ("create", "like"):
            return (
                "NotImplementedError: Could not run 'aten::empty.memory_format' with arguments from the 'MPS' backend."
            )
        return "RuntimeError: PyTorch is not linked with support for mps devices"
    if kind == "xpu":
        return "AssertionError: Torch not compiled with XPU enabled"
    if kind not in ("cuda", ""):
        return f"ModuleNotFoundError: No module named 'torch.{kind}'"
    return "AssertionError: Torch not compiled with CUDA enabled"


def _missing(name: str) -> str:
    return f"AttributeError: module 'torch._C' has no attribute '{name}'"


def _dummy(name: str) -> str:
    return f"RuntimeError: Tried to instantiate dummy base class {name}"


_WITHOUT_CUDA = {
    "torch.cuda.set_device": _missing("_cuda_setDevice"),
    "torch.cuda.reset_peak_memory_stats": _missing("_cuda_resetPeakMemoryStats"),
    "torch.cuda.reset_max_memory_allocated": _missing("_cuda_resetPeakMemoryStats"),
    "torch.cuda.reset_max_memory_cached": _missing("_cuda_resetPeakMemoryStats"),
    "torch.cuda.reset_accumulated_memory_stats": _missing("_cuda_resetAccumulatedMemoryStats"),
    "torch.cuda.memory_snapshot": _missing("_cuda_memorySnapshot"),
    "torch.cuda.get_allocator_backend": _missing("_cuda_getAllocatorBackend"),
    "torch.cuda.reset_peak_host_memory_stats": _missing("_cuda_resetPeakHostMemoryStats"),
    "torch.cuda.reset_accumulated_host_memory_stats": _missing("_cuda_resetAccumulatedHostMemoryStats"),
    "torch.cuda.caching_allocator_delete": _missing("_cuda_cudaCachingAllocator_raw_delete"),
    "torch.cuda.change_current_allocator": _missing("_cuda_changeCurrentAllocator"),
    "torch.cuda.is_current_stream_capturing": _dummy("_cuda_isCurrentStreamCapturing"),
    "torch.cuda.graph_pool_handle": _dummy("_graph_pool_handle"),
    "torch.cuda.memory_summary": "KeyError: 'allocated_bytes.all.current'",
    "torch.cuda.Stream": "RuntimeError: torch.cuda.Stream requires CUDA support",
    "torch.cuda.graph": "RuntimeError: torch.cuda.Stream requires CUDA support",
    "torch.cuda.Event": _dummy("Event"),
    "torch.cuda.CUDAGraph": _dummy("CUDAGraph"),
    "torch.cuda.make_graphed_callables": _dummy("CUDAGraph"),
    "torch.cuda.device": "RuntimeError: PyTorch was compiled without CUDA support",
    **dict.fromkeys(
        ("torch.cuda.nvtx.range_push", "torch.cuda.nvtx.range_pop", "torch.cuda.nvtx.mark", "torch.cuda.nvtx.range"),
        "RuntimeError: NVTX functions not installed. Are you sure you have a CUDA build?",
    ),
    "torch.device": "RuntimeError: Cannot access accelerator device when none is available.",
    "torch.Tensor.pin_memory": "RuntimeError: Cannot access accelerator device when none is available.",
    "torch.Tensor.type": f"RuntimeError: Cannot initialize CUDA {_SPLIT_LIBRARIES}",
    "torch.Generator": f"RuntimeError: Cannot get CUDA generator {_SPLIT_LIBRARIES}",
    "torch.distributed.init_process_group": "RuntimeError: Distributed package doesn't have NCCL built in",
    "torch.set_default_tensor_type": (
        "TypeError: type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled."
    ),
}
