"""torch.cuda: this machine's GPUs, through Vulkan."""

from __future__ import annotations

import contextlib
import time
from types import TracebackType
from typing import Any, NamedTuple

from .... import _core, accelerator
from ....accelerator import memory
from ...kinds import KINDS

__all__ = ["CUDAGraph", "Event", "StreamContext", "default_generators", "graph", "is_current_stream_capturing"]
__all__ += ["OutOfMemoryError", "Stream", "can_device_access_peer", "current_device", "current_stream"]
__all__ += ["default_stream", "device", "device_count", "empty_cache", "get_arch_list", "get_device_capability"]
__all__ += ["get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "init", "initial_seed"]
__all__ += ["ipc_collect", "is_available", "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all"]
__all__ += ["max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached"]
__all__ += ["memory_reserved", "memory_stats", "memory_summary", "reset_max_memory_allocated"]
__all__ += ["reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_per_process_memory_fraction"]
__all__ += ["set_rng_state", "set_rng_state_all", "stream", "synchronize"]
__all__ += KINDS["gpu"]

globals().update(KINDS["gpu"])
OutOfMemoryError = _core.OutOfMemoryError
is_available, device_count = accelerator.is_available, accelerator.device_count
current_device, set_device, synchronize = (
    accelerator.current_device_index,
    accelerator.set_device_index,
    accelerator.synchronize,
)
empty_cache, mem_get_info, memory_stats = memory.empty_cache, memory.get_memory_info, memory.memory_stats
memory_allocated, max_memory_allocated = memory.memory_allocated, memory.max_memory_allocated
memory_reserved = memory_cached = max_memory_reserved = memory.memory_reserved
reset_peak_memory_stats = reset_max_memory_allocated = memory.reset_peak_memory_stats
# One generator serves all devices.
manual_seed = manual_seed_all = _core.manual_seed
seed = seed_all = _core.seed
initial_seed = _core.initial_seed


def get_rng_state(device: Any = None) -> _core.Tensor:
    """The state of the generator that all devices share."""
    return _core.get_rng_state()


def set_rng_state(new_state: _core.Tensor, device: Any = None) -> None:
    """Sets the state of the generator that all devices share."""
    _core.set_rng_state(new_state)


def get_rng_state_all() -> list[_core.Tensor]:
    """The same for each GPU."""
    return [_core.get_rng_state()] * device_count()


def set_rng_state_all(new_states: list[_core.Tensor]) -> None:
    """Sets the first one, which all devices share."""
    if new_states:
        _core.set_rng_state(new_states[0])


def init() -> None:
    """Accepted: a GPU is opened when it is first used."""


def is_initialized() -> bool:
    """Whether there is a GPU: it is opened when it is first used."""
    return is_available()


def ipc_collect() -> None:
    """Accepted: memory is not shared between processes."""


def _gpu(device: Any) -> _core.Device:
    return _core.Device.gpu(accelerator.devices.index_of(device))


class Properties(NamedTuple):
    """What get_device_properties() tells."""

    name: str
    total_memory: int
    major: int
    minor: int
    multi_processor_count: int
    uuid: str


def get_device_name(device: Any = None) -> str:
    """The product's name."""
    return _gpu(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """(0, 0): a GPU has no compute capability under Vulkan; its features are in sg.Device.features."""
    _gpu(device)
    return 0, 0


def get_device_properties(device: Any = None) -> Properties:
    """Name, memory and uuid; what Vulkan does not tell is 0."""
    gpu = _gpu(device)
    return Properties(gpu.name, gpu.memory_total, 0, 0, 0, gpu.uuid)


def get_arch_list() -> list[str]:
    """Empty: kernels are made for the GPU that runs them."""
    return []


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether there is a GPU: each computes bfloat16, in float32 inside."""
    return is_available()


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """False: copies between GPUs go through the host."""
    return False


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Accepted; SPIROGRAD_MEMORY_LIMIT limits memory."""


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counters of memory_stats(), a line each."""
    return "\n".join(f"{name:34} {value:>16,}" for name, value in memory_stats(device).items())


class device(contextlib.AbstractContextManager["device"]):
    """The current GPU inside a `with`.

    Args:
        device: its number, or the device; a negative number changes nothing.
    """

    def __init__(self, device: Any) -> None:
        self.idx = device if isinstance(device, int) else accelerator.devices.index_of(device)

    def __enter__(self) -> device:
        self.before = current_device()
        if self.idx >= 0:
            set_device(self.idx)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_device(self.before)


class Event:
    """A point in the order of work. Its time is the host's, once all work before it is done: record() of an event with
    timing waits for the GPU.

    Args:
        enable_timing: whether elapsed_time() will be asked.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.enable_timing, self._at = enable_timing, 0.0

    def record(self, stream: Any = None) -> None:
        """The point is here."""
        if self.enable_timing:
            self.synchronize()
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """Waits until all work is done."""
        if is_available():
            synchronize()

    wait = synchronize

    def query(self) -> bool:
        """Whether the work before it is done; waits for it."""
        self.synchronize()
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another one."""
        if not (self.enable_timing and end_event.enable_timing):
            raise RuntimeError("elapsed_time: an event keeps no time; make both with enable_timing=True")
        return (end_event._at - self._at) * 1e3


class Stream(contextlib.AbstractContextManager["Stream"]):
    """An order of work. A GPU has one here, so all of them are the same, and waiting for one is a matter of course."""

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        self.device = device

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def synchronize(self) -> None:
        """Waits until all work is done."""
        if is_available():
            synchronize()

    def query(self) -> bool:
        """True, after waiting."""
        self.synchronize()
        return True

    def record_event(self, event: Event | None = None) -> Event:
        """An event that is recorded here."""
        event = event or Event()
        event.record()
        return event

    def wait_event(self, event: Event) -> None:
        """Accepted: work runs in the order in which it is written."""

    def wait_stream(self, stream: Stream) -> None:
        """Accepted: work runs in the order in which it is written."""


_only = Stream()


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _only


default_stream = current_stream


def stream(stream: Stream | None) -> contextlib.AbstractContextManager[Any]:
    """A context in which nothing changes: there is one stream."""
    return stream or contextlib.nullcontext()


StreamContext = contextlib.AbstractContextManager  # what stream() gives, for annotations


class CUDAGraph:
    """A recorded order of kernels. Making one is an error: plans are kept anyway, and sg.compile() replays a step."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("CUDAGraph: graphs of kernels are not there; call the function, or use sg.compile()")


class graph:
    """Would record a CUDAGraph, which is an error."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        CUDAGraph()


def is_current_stream_capturing() -> bool:
    """False: there are no graphs of kernels."""
    return False


def __getattr__(name: str) -> Any:
    """default_generators: that of the process for each GPU."""
    if name != "default_generators":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return (_core.manual_seed(_core.initial_seed()),) * device_count()
