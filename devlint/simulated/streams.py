"""Streams and events of simulated devices: work is done at once, so that waiting is only counted."""

from __future__ import annotations

import importlib
import itertools
import time
from typing import Any

import torch

from devlint.simulated import devices, transfers

CUDA_TYPE = 1
_numbers = itertools.count(1)
_current: dict[int, Any] = {}


class StreamBase:
    """What `torch.cuda.Stream` derives from, with the attributes of `torch._C._CudaStreamBase`."""

    def __new__(
        cls, priority: int = 0, stream_id: int = 0, device_index: int | None = None, device_type: int = 0, **kwargs: Any
    ) -> Any:
        self: Any = object.__new__(cls)
        cuda: Any = torch.cuda
        cuda._lazy_init()
        fresh = device_index is None
        self.device_index = devices.current() if fresh else device_index
        self.stream_id = self.cuda_stream = (
            next(_numbers) * 32 + 3 if fresh and not kwargs.get("stream_ptr") else stream_id
        )
        self.device_type = CUDA_TYPE
        self.device = torch.device("cuda", self.device_index)
        self.priority = priority
        return self

    def synchronize(self) -> None:
        transfers.note_synchronisation("stream synchronize")

    def query(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        mine = (self.device_index, self.stream_id)  # type: ignore[attr-defined]
        return isinstance(other, StreamBase) and mine == (other.device_index, other.stream_id)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.device_index, self.stream_id))  # type: ignore[attr-defined]

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -5


class EventBase:
    """What `torch.cuda.Event` derives from, with the attributes of `torch._C._CudaEventBase`."""

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **kwargs: Any
    ) -> Any:
        self: Any = object.__new__(cls)
        self.enable_timing, self.recorded_at, self.cuda_event = enable_timing, None, 0
        self.device = None
        return self

    recorded_at: float | None
    enable_timing: bool

    def record(self, stream: Any) -> None:
        self.recorded_at = time.perf_counter()
        self.device = stream.device

    def wait(self, stream: Any) -> None:
        """Let a stream wait: it has nothing left to do."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        transfers.note_synchronisation("event synchronize")

    def elapsed_time(self, other: EventBase) -> float:
        """Return milliseconds.

        Raises:
            ValueError: one of the events doesn't take the time, or was not recorded.
        """
        if not (self.enable_timing and other.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.recorded_at is None or other.recorded_at is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (other.recorded_at - self.recorded_at) * 1e3


def _data(index: int, stream_id: int) -> tuple[int, int, int]:
    return stream_id, index, CUDA_TYPE


def _current_stream(index: int) -> tuple[int, int, int]:
    index = devices.checked(index)
    return _data(index, _current.get(index, 0))


def _set_stream(stream_id: int, device_index: int, device_type: int) -> None:
    _current[device_index] = stream_id
    devices.set_current(device_index)


def install() -> None:
    """Put the bases under `torch.cuda.Stream` and `torch.cuda.Event`."""
    c: Any = torch._C
    cuda: Any = torch.cuda
    c._CudaStreamBase, c._CudaEventBase = StreamBase, EventBase
    try:
        cuda.Stream.__bases__, cuda.Event.__bases__ = (StreamBase,), (EventBase,)
    except TypeError:  # in the CUDA build the bases are C types, which can't be exchanged
        importlib.reload(cuda.streams)
        for name in ("Stream", "Event", "ExternalStream"):
            setattr(cuda, name, getattr(cuda.streams, name))
    c._cuda_getCurrentStream = _current_stream
    c._cuda_getDefaultStream = lambda index: _data(devices.checked(index), 0)
    c._cuda_setStream = _set_stream
    c._cuda_getStreamFromExternal = lambda pointer, index: _data(devices.checked(index), pointer)
