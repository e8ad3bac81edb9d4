"""What simulated CUDA raises: torch's own texts for CUDA's errors, `SimulationError` for what can't be simulated."""

from __future__ import annotations


class SimulationError(NotImplementedError):
    """The program uses something of CUDA that simulated CUDA refuses, rather than give a wrong result."""


def cannot_simulate(what: str, advice: str = "run this part on a real GPU") -> SimulationError:
    """Return the refusal for `what`, phrased as one sentence that says what to do."""
    return SimulationError(f"simulated CUDA can't do {what}: {advice}.")


BRINGS = 'pip install "devlint[confirm]" brings what is needed'


def told(error: Exception) -> str:
    """Return what an error says that keeps CUDA from being simulated, with what to do where a library is missing."""
    return f"{error}; {BRINGS}" if isinstance(error, ModuleNotFoundError) else str(error)


# c10/cuda/CUDAMiscFunctions.cpp and CUDAException.cpp
INVALID_ORDINAL = (
    "CUDA error: invalid device ordinal\n"
    "GPU device may be out of range, do you have enough GPUs?\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, "
    "so the stacktrace below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
# Seen on an H200: torch itself speaks (BAD_FORK) only where it is asked to initialise CUDA.
INITIALIZATION_ERROR = (
    "CUDA error: initialization error\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, "
    "so the stacktrace below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
NO_GPUS = "No CUDA GPUs are available"
BAD_FORK = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, "
    "you must use the 'spawn' start method"
)


def invalid_ordinal() -> RuntimeError:
    """Return what CUDA says to a device index that the machine doesn't have (`torch.AcceleratorError`)."""
    return _of_cuda(INVALID_ORDINAL)


def initialization_error() -> RuntimeError:
    """Return what CUDA says to work on tensors that were there before a fork (`torch.AcceleratorError`)."""
    return _of_cuda(INITIALIZATION_ERROR)


def _of_cuda(text: str) -> RuntimeError:
    import torch

    kind: type[RuntimeError] = getattr(torch, "AcceleratorError", RuntimeError)
    return kind(text)
