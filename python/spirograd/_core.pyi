# What the C++ core offers to Python, the source of its signatures and docstrings: the build reads it
# (cpp/cmake/signatures.py), and installs it with all docstrings written out.
import builtins
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, final, overload

import numpy as np

from .base.types import DeviceLike, DTypeLike

_T = TypeVar("_T", bound=Tensor)
_Number: TypeAlias = builtins.int | builtins.float | builtins.bool
_Rows = dict[str, tuple[str, str, str]]  # parameters, result, doc
_methods: _Rows
_functions: _Rows
_tensor_functions: _Rows
__version__: str

class Error(RuntimeError):
    """An error of a device or of the engine."""

class OutOfMemoryError(Error, MemoryError):
    """A device has no memory left, after its caches were freed."""

class DeviceLostError(Error):
    """The device was lost, with all values on it."""

class DeviceTimeoutError(Error, TimeoutError):
    """A device made no progress for SPIROGRAD_TIMEOUT seconds."""

class DeviceUnavailableError(Error):
    """There is no such device; the message says why."""

class LimitError(Error, ValueError):
    """A size is beyond a limit of the device."""

class KernelCompileError(Error):
    """A kernel did not compile; the message has the line."""

class ForkError(Error):
    """A GPU was used in a forked child; start processes with 'spawn'."""

class DistributedError(Error):
    """Another process failed, is late, or does something else."""

class FileFormatError(Error, ValueError):
    """A file is damaged or of another format."""

class FallbackWarning(UserWarning):
    """An operation runs on a slower path than asked for."""

class CacheWarning(UserWarning):
    """The cache on disk cannot be used."""

@final
class dtype:
    """The type of a tensor's elements: sg.float32 and friends."""

    @property
    def name(self) -> str:
        """Such as "float32"."""
    @property
    def itemsize(self) -> builtins.int:
        """Bytes of one element."""
    @property
    def is_floating_point(self) -> builtins.bool:
        """Whether tensors of it can have gradients."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype; makes np.dtype(sg.float32) work."""

class Device:
    """Where tensors live: the CPU, or a GPU through Vulkan."""

    def __init__(self, device: Device | str) -> None: ...
    @staticmethod
    def cpu() -> Device:
        """The CPU."""
    @staticmethod
    def gpu(index: builtins.int = 0, name: str | None = None, uuid: str | None = None) -> Device:
        """A GPU by number, by part of its name, or by uuid.

        Raises:
            DeviceUnavailableError: there is none; the message says why.
        """
    def recover(self) -> None:
        """Opens a GPU anew that was lost or made no progress; one that works, and the CPU, are left alone.

        What was pending fails, and tensors whose values were there raise DeviceLostError when they are used, until they
        are written whole, as load_state_dict() does.

        Raises:
            DeviceUnavailableError: the driver refuses.
        """
    @staticmethod
    def is_gpu_available() -> builtins.bool:
        """Whether there is a GPU; software drivers count only with SPIROGRAD_ALLOW_CPU_VULKAN=1."""
    @staticmethod
    def best() -> Device:
        """A GPU if there is one, else the CPU; says which through logging."""
    @property
    def type(self) -> str:
        """cpu, discrete, integrated, virtual or software."""
    @property
    def kind(self) -> str:
        """cpu or gpu."""
    @property
    def index(self) -> builtins.int:
        """Number among its kind."""
    @property
    def name(self) -> str:
        """The product's name."""
    @property
    def vendor(self) -> str:
        """Who made it."""
    @property
    def driver(self) -> str:
        """Name and version of the driver."""
    @property
    def api_version(self) -> str:
        """Vulkan's version."""
    @property
    def uuid(self) -> str:
        """Stays the same over restarts."""
    @property
    def memory_total(self) -> builtins.int:
        """Bytes."""
    @property
    def memory_free(self) -> builtins.int:
        """Bytes that are free now."""
    @property
    def limits(self) -> dict[str, str]:
        """What kernels may use."""
    @property
    def features(self) -> dict[str, str]:
        """What kernels use."""
    def __enter__(self) -> Device:
        """Makes it the default device inside a `with`."""
    def __exit__(self, *_: object) -> None: ...
    # Last: its name hides the builtin from what follows.
    @staticmethod
    def list() -> builtins.list[Device]:
        """All devices, the CPU first."""

class Generator:
    """A stream of random numbers of its own: the same seed gives the same words on every device.

    Example:
        >>> g = sg.Generator().manual_seed(7)
        >>> a = sg.rand(2, generator=g)
        >>> g = g.manual_seed(7)
        >>> a.tolist() == sg.rand(2, generator=g).tolist()
        True
    """

    def __init__(self, device: DeviceLike | None = None) -> None: ...
    @property
    def device(self) -> Device:
        """What was asked for; the numbers do not depend on it."""
    def manual_seed(self, seed: builtins.int) -> Generator:
        """Starts anew; returns the generator."""
    def seed(self) -> builtins.int:
        """Starts anew from a seed that nobody can guess; returns it."""
    def initial_seed(self) -> builtins.int:
        """The seed."""
    def get_state(self) -> Tensor:
        """Where the stream is."""
    def _go_to(self, seed: builtins.int, blocks: builtins.int) -> None:
        """Goes on elsewhere; initial_seed() stays."""
    def set_state(self, new_state: Tensor) -> None:
        """Goes on from a state of get_state()."""

class GradFn:
    """The operation that made a tensor, or a leaf's AccumulateGrad."""

    def name(self) -> str:
        """For example "MulBackward0"."""
    @property
    def next_functions(self) -> tuple[tuple[GradFn | None, builtins.int], ...]:
        """Where its gradients go: for each input a pair of the operation that made it (None: no gradient) and the
        number of its output.
        """
    @property
    def variable(self) -> Tensor | None:
        """The leaf, of an AccumulateGrad."""

class HookHandle:
    """Ends a hook: by remove(), or at the end of a with."""

    def remove(self) -> None:
        """The hook is not called any more."""
    def __enter__(self) -> HookHandle: ...
    def __exit__(self, *args: Any) -> None: ...

class _Checkpoint:
    def __init__(self, again: Callable[[], None]) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: Any) -> None: ...

class PlanStep:
    """One kernel launch."""

    @property
    def name(self) -> str:
        """Its operations, joined by '_'."""
    @property
    def nodes(self) -> list[builtins.int]:
        """Numbers of the graph's nodes that it computes; one that several kernels compute for themselves is in each."""
    @property
    def shapes(self) -> str:
        """Of its domain, or of a product's operands."""
    @property
    def bytes(self) -> builtins.int:
        """Read and written."""
    @property
    def flops(self) -> builtins.int:
        """Arithmetic; 2 m n k for a product."""
    @property
    def source(self) -> str:
        """GLSL; empty on the CPU."""
    @property
    def spirv(self) -> builtins.bytes:
        """The compiled kernel; empty on the CPU."""
    @property
    def lines(self) -> list[str]:
        """Lines of the program, as ``train.py:12``, that recorded its operations, each once; those of gradients are the
        lines of their operations. Empty unless Python is interactive or SPIROGRAD_LINES=1.
        """
    def print(self) -> str:
        """The program, and what it reads and writes, as text."""

class _Mode:
    """A mode of a thread, which a `with` switches on and back."""

    def __init__(
        self,
        grad: builtins.bool | None = None,
        inference: builtins.bool | None = None,
        kind: builtins.int | None = None,
        half: dtype | None = None,
        interceptor: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] | None = None,
        alone: builtins.bool = False,
        classes: builtins.bool = True,
        from_here: builtins.bool = False,
    ) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, kind: Any, error: Any, trace: Any, /) -> None: ...
    @staticmethod
    def interceptors() -> tuple[Any, ...]: ...
    @staticmethod
    def intercept(function: Any, args: Any, kwargs: Any, /) -> Any: ...
    @staticmethod
    def asks_classes() -> builtins.bool: ...

class _Overridable:
    """A function written in Python that asks classes of arguments and interceptors, as those of the core do."""

    def __init__(self, function: Callable[..., Any], /) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattribute__(self, name: str, /) -> Any: ...
    def __setattr__(self, name: str, value: Any, /) -> None: ...

class _Recording:
    def run(
        self,
        arguments: Sequence[Tensor],
        numbers: Sequence[builtins.float],
        changes: list[tuple[Any, str, Any]],
    ) -> tuple[list[Tensor], list[_Transaction]] | None: ...
    def outside(self) -> list[builtins.bool]: ...
    def generators(self) -> list[Generator]: ...
    def difference(self, other: _Recording) -> str: ...
    def allow_open_reports_of(self, other: _Recording) -> None: ...

class _Capture:
    def __init__(self, arguments: Sequence[Tensor]) -> None: ...
    def arguments(self) -> list[Tensor]: ...
    def stop(self) -> None: ...
    def abandon(self) -> None: ...
    def outside(self, result: Tensor) -> Tensor: ...
    def recording(self, results: Sequence[Tensor]) -> tuple[_Recording | None, str]: ...

def _signature(arguments: Sequence[Tensor]) -> bytes:
    """What a recording of a call with these tensors depends on."""

class _Transaction:
    def fate(self) -> str: ...  # "open", "done" or "lost"
    def raise_if_lost(self) -> None: ...

class _Update:
    def __init__(self, rule: str, parameters: list[Tensor], states: Sequence[Sequence[Tensor | None]]) -> None: ...
    def step(
        self,
        numbers: Sequence[builtins.float | Tensor],
        weight_decay: builtins.float,
        maximize: builtins.bool,
        found_inf: Tensor | None,
    ) -> None: ...

class _ValuesAndIndices(NamedTuple):
    values: Tensor
    indices: Tensor

class Value:
    """A number that remembers how it was made: micrograd's Value, in float64, on the CPU or a GPU.

    Example:
        >>> import spirograd as sg
        >>> a, b = sg.Value(2.0), sg.Value(-3.0)
        >>> c = (a * b + 10).relu()
        >>> c.backward()
        >>> a.grad, b.grad
        (-3.0, 2.0)
    """

    data: builtins.float
    """The number. Writing it changes no node that was computed from the old one."""
    grad: builtins.float
    """d root / d self, summed over the calls of backward()."""
    label: str
    """A name for pictures."""
    _op: str
    """The operation that made the node, '' for a leaf."""
    _backward: Callable[[], Any]
    """A function that adds this node's part to its operands' gradients."""
    def __init__(
        self,
        data: Any,
        _children: Iterable[Value] = (),
        _op: str = "",
        label: str = "",
        device: DeviceLike | None = None,
    ) -> None: ...
    @property
    def device(self) -> Device:
        """Where the number is computed."""
    @property
    def _prev(self) -> set[Value]:
        """The nodes this one was made of, a set."""
    def backward(self) -> None:
        """Sets self.grad to 1 and adds d self / d node to the gradient of every node it depends on."""
    def to(self, device: DeviceLike, /) -> Value:
        """The value on another device; the graph goes on through it."""
    def cpu(self) -> Value:
        """The value on the CPU; the graph goes on through it."""
    def item(self) -> builtins.float:
        """The number."""
    def __format__(self, spec: str, /) -> str:
        """The number in this format."""
    def __round__(self, digits: builtins.int | None = None, /) -> Any:
        """The number, rounded."""
    def __lt__(self, other: Any) -> builtins.bool: ...
    def __le__(self, other: Any) -> builtins.bool: ...
    def __gt__(self, other: Any) -> builtins.bool: ...
    def __ge__(self, other: Any) -> builtins.bool: ...
    def relu(self) -> Value:
        """self where it is not negative, else 0."""
    def exp(self) -> Value:
        """e to the power of self."""
    def log(self) -> Value:
        """The natural logarithm; -inf at 0, NaN below."""
    def tanh(self) -> Value:
        """The hyperbolic tangent."""
    def sigmoid(self) -> Value:
        """1 / (1 + exp(-self))."""
    def sqrt(self) -> Value:
        """The square root; NaN below 0."""
    def abs(self) -> Value:
        """The absolute value; its gradient at 0 is 0."""
    def sin(self) -> Value:
        """The sine of self in radians."""
    def cos(self) -> Value:
        """The cosine of self in radians."""
    def __add__(self, other: Any) -> Value: ...
    def __radd__(self, other: Any) -> Value: ...
    def __sub__(self, other: Any) -> Value: ...
    def __rsub__(self, other: Any) -> Value: ...
    def __mul__(self, other: Any) -> Value: ...
    def __rmul__(self, other: Any) -> Value: ...
    def __truediv__(self, other: Any) -> Value: ...
    def __rtruediv__(self, other: Any) -> Value: ...
    def __pow__(self, other: Any) -> Value: ...
    def __rpow__(self, other: Any) -> Value: ...
    def __neg__(self) -> Value: ...
    def __pos__(self) -> Value: ...
    def __abs__(self) -> Value: ...
    def __float__(self) -> builtins.float: ...

def _neurons(neuron: builtins.type, neurons: list[Any], x: list[Any]) -> list[Value] | None:
    """The outputs of a layer's neurons, or None where they are no plain ones."""

def _tensor_of(values: list[Value], shape: tuple[builtins.int, ...], like: Tensor) -> Tensor:
    """A tensor of the data of Values; its gradient goes to them."""

def _set_grad_enabled(on: builtins.bool) -> None:
    """Turns that on or off."""

_autocast_narrow: list[str]
_autocast_wide: list[str]

def _autocast() -> tuple[dtype | None, dtype | None]:
    """The half types on a CPU and on a GPU."""

def _set_autocast(cpu: DTypeLike | None, gpu: DTypeLike | None) -> None:
    """Sets them."""

def _autocast_arguments(
    arguments: tuple[Any, ...], keywords: dict[str, Any], narrow: builtins.bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with their tensors in the type that products (narrow) or sums get under the open autocast."""

def _set_complex(type: Any) -> None:
    """The class that answers for complex numbers and arrays, from its module."""

def _is_inferring() -> builtins.bool:
    """Whether an inference_mode() is open in this thread."""

def _runs_at_once() -> builtins.bool:
    """Whether SPIROGRAD_SYNC=1 is set."""

def _finish_before_clocks(packages: Iterable[str]) -> None:
    """From here on, clocks of `time` first finish what is pending on the CPU, unless one of these packages asks."""

def _with_gradient(tensors: list[Tensor]) -> bytes:
    """Which of the tensors have a gradient, to compare."""

def _submit(groups: list[list[Tensor]]) -> None:
    """Runs what is pending on the devices of these tensors."""

def _begin_whole(groups: list[list[Tensor]]) -> None:
    """What is recorded from here on is done as a whole or not at all."""

def _end_whole(groups: list[list[Tensor]]) -> None:
    """Up to here."""

def _submit_step(
    groups: list[list[Tensor]],
    changes: list[tuple[Any, str, Any]],
    open: list[tuple[_Transaction, Any]],
    before: Any,
) -> None:
    """Submits it, and gives attributes of objects new values, which an error takes back. A step that may not be done is
    added to `open`, with `before`.
    """

def _take_back(groups: list[list[Tensor]]) -> None:
    """Nothing of a step that was begun is done."""

def _drop_gradients(groups: list[list[Tensor]], set_to_none: builtins.bool) -> None:
    """Sets gradients to None, or to zeros."""

def _frozen(options: Any, numbers: builtins.bool) -> Any:
    """Options to compare."""

def _grad(
    roots: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    retain_graph: builtins.bool,
    create_graph: builtins.bool,
) -> list[Tensor | None]:
    """Gradients of chosen inputs; None where there is no path."""

def _profile_start(with_stack: builtins.bool, with_memory: builtins.bool) -> None:
    """Starts to note events."""

def _profile_stop() -> tuple[list[tuple[Any, ...]], builtins.int, builtins.int]:
    """The events, when they ended, and the number of this thread."""

def _watch_busy(on: builtins.bool) -> None:
    """One more, or one less, who wants to know how long GPUs compute."""

def _busy_nanoseconds(device: DeviceLike) -> builtins.int:
    """How long a GPU has computed while it was watched, in submissions that have finished; 0 where it has no clock."""

def _profile_now() -> builtins.int:
    """The time of events, in nanoseconds."""

def _group_open(
    library: str,
    handle_bytes: builtins.int,
    communicator: builtins.int,
    byte_type: builtins.int,
    rank: builtins.int,
    processes: Sequence[builtins.int],
    pids: Sequence[builtins.int],
    limit: builtins.float,
) -> builtins.int:
    """Makes a group of an MPI communicator."""

def _groups_close() -> None:
    """Forgets all groups."""

def _groups_leave(why: str) -> None:
    """Tells all members that this process takes part no more."""

def _groups_broken() -> builtins.bool:
    """Whether processes of a group no longer work together."""

def _groups_ended() -> builtins.bool:
    """Whether all other members take part no more."""

def _heap_can_grow() -> builtins.bool:
    """Whether the heap has room behind it, where MPI may try it."""

def _note_death() -> None:
    """Some process has died; for those on other machines."""

def _nccl_open(group: builtins.int, gpu: builtins.int, library: str, lacks: str) -> str:
    """Has GPU tensors of a group go by NCCL; all its members call this. Returns what one of them lacks."""

def _exchange(
    tensors: Sequence[Tensor], kind: str, fold: str, root: builtins.int, group: builtins.int, later: builtins.bool
) -> tuple[Tensor, ...]:
    """One collective on each of the tensors, in one hand-over. later: on a GPU it ends when something needs it."""

def _exchange_write(targets: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """Each target = its result, without a copy where that can be."""

def _exchange_finish() -> None:
    """Waits for the collective that is to end later, if there is one."""

def _profile_annotate(name: str, begin: builtins.int, end: builtins.int) -> None:
    """Notes an event of the user's."""

def _backward(
    roots: Tensor | Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    retain_graph: builtins.bool,
    create_graph: builtins.bool,
    inputs: Tensor | Sequence[Tensor] | None,
) -> None:
    """backward() of several tensors."""

def _record_function(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor | None],
    backward: Callable[..., Any],
    free: Callable[[], None],
) -> None:
    """Records a function of the user's."""

def _as_output(x: Tensor, function: GradFn, number: builtins.int) -> Tensor:
    """x as output `number` of the function that is going back."""

def _arrived(leaf: Tensor) -> Tensor | None:
    """In a hook on a leaf: the gradient of another one, or None where the pass did not reach it."""

def _set_arrived(leaf: Tensor, gradient: Tensor) -> None:
    """Puts another gradient in its place."""

def _written_at(x: Tensor) -> str:
    """The line that wrote the memory of x."""

def _running_line() -> str:
    """The user's line that runs now."""

def _warn_at_line(message: str) -> None:
    """Warns, once at each line of the user's."""

def _saved_bytes(x: Tensor) -> builtins.int:
    """Bytes of the values that the graph of x keeps."""

def _depends_on_others(x: Tensor, known: list[Tensor]) -> builtins.bool:
    """Whether x was made from a leaf that wants a gradient and is none of `known`."""

def _generator_of_thread(own: Generator | None) -> Generator | None:
    """Gives the calling thread a common stream of its own, which the caller keeps alive, or that of the process.

    Returns:
        The thread's own stream before.
    """

def _linear_cross_entropy(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
    ignore_index: builtins.int,
    reduction: str,
    label_smoothing: builtins.float,
) -> Tensor | None:
    """The loss in slices of rows, float32 where logits are of a half type; None: there are too few for that."""

def _check_parameter(op: str, x: Tensor, good: Tensor) -> Tensor:
    """x; where `good` is false, the next read raises the ValueError of that op."""

def _random_state() -> tuple[builtins.int, builtins.int]:
    """The common seed, and blocks drawn since."""

def _set_random_state(state: tuple[builtins.int, builtins.int]) -> None:
    """Goes on from there."""

def _is_anomaly_enabled() -> builtins.bool:
    """Whether the first NaN is an error."""

def _set_anomaly_enabled(on: builtins.bool) -> None:
    """Turns that on or off."""

def _device_stats(device: DeviceLike) -> dict[str, builtins.int]:
    """Memory of one device."""

def _reset_peak(device: DeviceLike) -> None:
    """The peak is what is live now."""

def _glsl_run(
    name: str,
    source: str,
    inputs: list[tuple[str, Tensor]],
    outputs: list[tuple[str, tuple[builtins.int, ...], Any]],
    constants: dict[str, builtins.int | builtins.float | builtins.bool],
    groups: tuple[builtins.int, ...],
    local_size: tuple[builtins.int, ...],
    unchecked: builtins.bool,
) -> list[Tensor]:
    """Runs a kernel of the user's."""

def _stored(input: Tensor) -> Tensor:
    """The input, written to memory by the kernel that makes it. A formula is computed again by each kernel that needs
    it; in a loop, where each step reads the one before, that becomes all steps before.
    """

def _snapshot(input: Tensor) -> Tensor:
    """The value that the input has now, and its place in the gradient graph, whatever is written into it later."""

def _glsl_limits(device: Device) -> tuple[builtins.int, builtins.int]:
    """The most groups along a dimension, and the most threads of one."""

def _drain() -> None:
    """Waits for all devices and lets go of what is pending."""

def _has_arrived(x: Tensor) -> builtins.bool:
    """Whether the values of a CPU tensor have come from where to(non_blocking=True) sent them."""

def _count_fallback(op: str) -> None:
    """Notes work that a GPU has no kernel for.

    Raises:
        Error: SPIROGRAD_STRICT=1 is set.
    """

def _ops() -> list[dict[str, Any]]:
    """The rows of the op table: name, doc, kind, result, takes, gradient."""

def _environment() -> list[tuple[str, str, str, str]]:
    """Variables of the environment: name, value, fallback, doc."""

def _keep_lines(interactive: builtins.bool) -> None:
    """From now on plans say which line recorded what, where SPIROGRAD_LINES says so or, if it does not, Python is
    interactive.
    """

def _cache_folder() -> str:
    """Where compiled kernels are kept."""

def _gpu_reason() -> tuple[str, str]:
    """Why there is no GPU, and what to do."""

def _convolutions_ignore_sizes(ignore: builtins.bool) -> builtins.bool:
    """Whether small convolutions, too, go the ways of large ones on any GPU from now on. Returns whether they did."""

def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: builtins.float,
    causal: builtins.bool,
    mask: Tensor | None = None,
    dropout: builtins.float = 0.0,
    generator: Generator | None = None,
) -> Tensor:
    """Attention that keeps no weights, for nn.functional."""

def _attention_after(query: Tensor, key: Tensor, value: Tensor, start: Tensor, scale: builtins.float) -> Tensor:
    """Attention of queries that follow a cache, for models."""

def _banded(
    input: Tensor, dim: builtins.int, first: Tensor, weights: Tensor, transpose_first: Tensor, transpose_weights: Tensor
) -> Tensor:
    """The product of a banded matrix with the vectors along a dimension, for nn.functional."""

def _lstm(
    x: Tensor, weight: Tensor, h: Tensor, c: Tensor, reverse: builtins.bool, keep: builtins.bool
) -> tuple[Tensor, ...]:
    """All steps of a layer of LSTM, for nn."""

def _lstm_gradient(
    dh: Tensor,
    dc: Tensor,
    weight: Tensor,
    before: Tensor,
    after: Tensor,
    gates: Tensor,
    reverse: builtins.bool,
) -> tuple[Tensor, ...]:
    """The gradients of its sums, for nn."""

def _gru(
    x: Tensor, weight: Tensor, bias: Tensor | None, h: Tensor, reverse: builtins.bool, keep: builtins.bool
) -> tuple[Tensor, ...]:
    """All steps of a layer of GRU on a GPU, for nn."""

def _gru_gradient(
    dh: Tensor, weight: Tensor, before: Tensor, gates: Tensor, reverse: builtins.bool
) -> tuple[Tensor, ...]:
    """The gradients of its products and inputs, and a part of the first state's, for nn."""

def _rnn(x: Tensor, weight: Tensor, h: Tensor, relu: builtins.bool, reverse: builtins.bool) -> Tensor:
    """All steps of a layer of tanh or relu on a GPU, for nn."""

def _rnn_gradient(dh: Tensor, weight: Tensor, after: Tensor, relu: builtins.bool, reverse: builtins.bool) -> Tensor:
    """The gradients of its sums, for nn."""

def _set_gpu_alias(word: str) -> None:
    """Another word for "gpu" in names of devices."""

def _set_argument_errors(value: type[Exception], type: type[Exception], /) -> None:
    """Sets the classes of exceptions for values and types that do not fit."""

def _ask_classes(who: Any, silent: Any) -> None:
    """Has `who` answer for objects whose class has a __torch_function__ other than `silent`."""

def _alias(x: Tensor, cls: Any) -> Any:
    """Another name for a tensor, of a subclass: it shares its memory and its place in the gradient graph."""

def _set_constructor(function: Any) -> None:
    """Sets what makes a tensor of the arguments of Tensor() and its subclasses."""

def _set_legacy_keys(on: builtins.bool) -> None:
    """Whether keys are read as PyTorch reads those that it deprecates: uint8 as a mask, a list of sequences as a
    tuple.
    """

def _allow_mixed_types(allow: builtins.bool) -> None:
    """Whether the factors of a product, and the parameters of a norm and its input, may have two element types."""

def _meet_mixed_types(op: str, a: DTypeLike, b: DTypeLike) -> None:
    """Warns of two types, or raises TypeError where _allow_mixed_types() says so."""

def _count_vulkan_calls(on: builtins.bool) -> None:
    """Counts what really goes to the driver, under volk (tests)."""

def _vulkan_calls() -> dict[str, builtins.int]:
    """What was counted."""

def _set_faults(rules: str) -> None:
    """Which calls of Vulkan fail: SPIROGRAD_FAULTS (tests)."""

def _fault_report() -> dict[str, Any]:
    """What failed."""

class Tensor:
    """A multi-dimensional array on a device, and its place in the gradient graph.

    Operations are recorded and run when a value is looked at. Names and meanings are PyTorch's.
    """

    def __new__(
        cls: type[_T],
        data: Any,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: builtins.bool = False,
    ) -> _T: ...
    @property
    def shape(self) -> tuple[builtins.int, ...]:
        """Sizes of the dimensions, a tuple."""
    @property
    def dtype(self) -> _dtype:
        """Type of the elements."""
    @property
    def device(self) -> Device:
        """Where the elements are."""
    @property
    def ndim(self) -> builtins.int:
        """Number of dimensions."""
    @property
    def T(self) -> Tensor:
        """The dimensions in reverse order."""
    @property
    def mT(self) -> Tensor:
        """The last two dimensions swapped."""
    @property
    def H(self) -> Tensor:
        """The transpose of a matrix."""
    @property
    def mH(self) -> Tensor:
        """The last two dimensions swapped."""
    @property
    def itemsize(self) -> builtins.int:
        """Bytes of one element."""
    @property
    def nbytes(self) -> builtins.int:
        """Bytes of all elements."""
    @property
    def is_cpu(self) -> builtins.bool:
        """Whether the elements are on the CPU."""
    @property
    def is_cuda(self) -> builtins.bool:
        """Never: GPUs are used through Vulkan."""
    @property
    def is_leaf(self) -> builtins.bool:
        """Whether no recorded operation made the tensor."""
    @property
    def grad_fn(self) -> GradFn | None:
        """The operation that made the tensor, or None."""
    @property
    def retains_grad(self) -> builtins.bool:
        """Whether .grad is kept although the tensor is no leaf."""
    @property
    def _version(self) -> builtins.int:
        """How often the tensor's memory was written in place."""
    requires_grad: builtins.bool
    """Whether backward() reaches the tensor."""
    grad: Tensor | None
    """The gradient collected by backward(), or None."""
    data: Tensor
    """The tensor without its place in the gradient graph; may be replaced."""
    __array_ufunc__: Callable[..., Any] | None
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, value: object) -> builtins.bool: ...
    def __bool__(self) -> builtins.bool: ...
    def __float__(self) -> builtins.float: ...
    def __int__(self) -> builtins.int: ...
    def __index__(self) -> builtins.int: ...
    def __hash__(self) -> builtins.int: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __iadd__(self, other: Any) -> Tensor: ...
    def __sub__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __isub__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __imul__(self, other: Any) -> Tensor: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __itruediv__(self, other: Any) -> Tensor: ...
    def __pow__(self, other: Any) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __ipow__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __ifloordiv__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __imod__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __iand__(self, other: Any) -> Tensor: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __ior__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __ixor__(self, other: Any) -> Tensor: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __ilshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __irshift__(self, other: Any) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> np.ndarray[Any, Any]:
        """For NumPy: np.asarray(x)."""
    def __copy__(self) -> Tensor:
        """For copy.copy: another handle on the same memory."""
    def __deepcopy__(self, memo: Any) -> Tensor:
        """For copy.deepcopy: a copy of a leaf and its gradient; tensors that share memory still do among the copies.

        Raises:
            Error: an operation made the tensor.
        """
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[builtins.int, builtins.int] | None = None,
        dl_device: tuple[builtins.int, builtins.int] | None = None,
        copy: builtins.bool | None = None,
    ) -> Any:
        """For other array libraries: a DLPack capsule on the memory of a CPU tensor, or on a copy of a GPU tensor's
        when dl_device=(1, 0) asks for one.

        Raises:
            BufferError: the tensor wants a gradient, or it is on a GPU and no copy on the CPU was asked for or
                allowed.

        Example:
            >>> import numpy as np
            >>> np.from_dlpack(sg.ones(2)).tolist()
            [1.0, 1.0]
        """
    def __dlpack_device__(self) -> tuple[builtins.int, builtins.int]:
        """DLPack's numbers for the device: (1, 0) for the CPU, (7, index) for a GPU."""
    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickle: the values as an array, the device by name, whether a gradient is wanted. Where the device is not
        there, the tensor comes back on the CPU, with a warning.
        """
    def __format__(self, format_spec: str) -> str:
        """format(x, ".3f") of a 0-d tensor is that of its number.

        Example:
            >>> f"{sg.tensor(1.2345):.2f}"
            '1.23'
        """
    def _repr_html_(self) -> str:
        """A small table, for notebooks."""
    def _take_view(self, view: Tensor) -> Tensor:
        """Makes the tensor the view of it that is given: shape, strides, and place in the gradient graph."""
    def abs(self) -> Tensor: ...
    absolute = abs
    def abs_(self) -> Tensor: ...
    def acos(self) -> Tensor: ...
    arccos = acos
    def acos_(self) -> Tensor: ...
    def acosh(self) -> Tensor: ...
    arccosh = acosh
    def acosh_(self) -> Tensor: ...
    def add(self, other: Tensor | builtins.float, *, alpha: builtins.float = 1) -> Tensor: ...
    def add_(self, other: Tensor | builtins.float, *, alpha: builtins.float = 1) -> Tensor: ...
    def addbmm(
        self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1
    ) -> Tensor: ...
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = 1) -> Tensor: ...
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = 1) -> Tensor: ...
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = 1) -> Tensor: ...
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = 1) -> Tensor: ...
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor: ...
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor: ...
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor: ...
    def all(
        self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False
    ) -> Tensor: ...
    def allclose(
        self,
        other: Tensor,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> builtins.bool: ...
    def amax(
        self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False
    ) -> Tensor: ...
    def amin(
        self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False
    ) -> Tensor: ...
    def aminmax(
        self, *, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False
    ) -> tuple[Tensor, ...]: ...
    def any(
        self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False
    ) -> Tensor: ...
    def argmax(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor: ...
    def argmin(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor: ...
    def argsort(
        self, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False
    ) -> Tensor: ...
    def argwhere(self) -> Tensor: ...
    def as_strided(
        self,
        size: builtins.int | Sequence[builtins.int],
        stride: builtins.int | Sequence[builtins.int],
        storage_offset: builtins.int | None = None,
    ) -> Tensor: ...
    def asin(self) -> Tensor: ...
    arcsin = asin
    def asin_(self) -> Tensor: ...
    def asinh(self) -> Tensor: ...
    arcsinh = asinh
    def asinh_(self) -> Tensor: ...
    def atan(self) -> Tensor: ...
    arctan = atan
    def atan2(self, other: Tensor | builtins.float) -> Tensor: ...
    arctan2 = atan2
    def atan2_(self, other: Tensor | builtins.float) -> Tensor: ...
    def atan_(self) -> Tensor: ...
    def atanh(self) -> Tensor: ...
    arctanh = atanh
    def atanh_(self) -> Tensor: ...
    def atleast_1d(self) -> Tensor: ...
    def atleast_2d(self) -> Tensor: ...
    def atleast_3d(self) -> Tensor: ...
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: builtins.bool | None = None,
        create_graph: builtins.bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        """Adds the gradient of this tensor to the .grad of every leaf it was made from.

        Args:
            gradient: the gradient of this tensor; 1 for a tensor of one element.
            retain_graph: keep what a second backward() needs.
            create_graph: record the gradients themselves, so that they have gradients.
            inputs: only these collect a .grad, and only what leads to them is computed.

        Raises:
            ValueError: more than one element and no gradient given.
            Error: values were freed by an earlier backward or overwritten, or nothing wants a gradient.

        Example:
            >>> x = sg.tensor(3.0, requires_grad=True)
            >>> (x * x).backward()
            >>> x.grad.item()
            6.0
        """
    def baddbmm(
        self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1
    ) -> Tensor: ...
    def baddbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1
    ) -> Tensor: ...
    def bernoulli(self, p: builtins.float | None = None, *, generator: Generator | None = None) -> Tensor: ...
    def bernoulli_(self, p: Tensor | builtins.float = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Writes 1 with probability p, else 0.

        Returns:
            The tensor itself.

        Raises: as in bernoulli.

        Example:
            >>> sg.empty(2).bernoulli_(1.0).tolist()
            [1.0, 1.0]
        """
    def bfloat16(self) -> Tensor:
        """The same values as bfloat16, rounded to the nearest."""
    def bincount(self, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor: ...
    def bitwise_and(self, other: Tensor | builtins.float) -> Tensor: ...
    def bitwise_and_(self, other: Tensor | builtins.float) -> Tensor: ...
    def bitwise_left_shift(self, other: Tensor | builtins.float) -> Tensor: ...
    def bitwise_left_shift_(self, other: Tensor | builtins.float) -> Tensor: ...
    def bitwise_not(self) -> Tensor: ...
    def bitwise_not_(self) -> Tensor: ...
    def bitwise_or(self, other: Tensor | builtins.float) -> Tensor: ...
    def bitwise_or_(self, other: Tensor | builtins.float) -> Tensor: ...
    def bitwise_right_shift(self, other: Tensor | builtins.float) -> Tensor: ...
    def bitwise_right_shift_(self, other: Tensor | builtins.float) -> Tensor: ...
    def bitwise_xor(self, other: Tensor | builtins.float) -> Tensor: ...
    def bitwise_xor_(self, other: Tensor | builtins.float) -> Tensor: ...
    def bmm(self, mat2: Tensor) -> Tensor: ...
    def bool(self) -> Tensor:
        """Whether the values differ from 0."""
    def byte(self) -> Tensor:
        """The same values as uint8."""
    def ceil(self) -> Tensor: ...
    def ceil_(self) -> Tensor: ...
    def char(self) -> Tensor:
        """The same values as int8."""
    def chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> tuple[Tensor, ...]: ...
    def clamp(
        self, min: Tensor | builtins.float | None = None, max: Tensor | builtins.float | None = None
    ) -> Tensor: ...
    clip = clamp
    def clamp_(
        self, min: Tensor | builtins.float | None = None, max: Tensor | builtins.float | None = None
    ) -> Tensor: ...
    clip_ = clamp_
    def clamp_max(self, max: Tensor | builtins.float) -> Tensor: ...
    def clamp_max_(self, max: Tensor | builtins.float) -> Tensor: ...
    def clamp_min(self, min: Tensor | builtins.float) -> Tensor: ...
    def clamp_min_(self, min: Tensor | builtins.float) -> Tensor: ...
    def clone(self) -> Tensor: ...
    def contiguous(self) -> Tensor:
        """The tensor itself when it lies in C order, else a copy that does."""
    def copy_(self, src: Tensor | builtins.float, non_blocking: builtins.bool = False) -> Tensor:
        """Writes the values of src; non_blocking is accepted, for what waits is a read in place, through the view; part
        of gradients.

        Raises:
            Error: the tensor is a leaf that requires grad.
        """
    def corrcoef(self) -> Tensor: ...
    def cos(self) -> Tensor: ...
    def cos_(self) -> Tensor: ...
    def cosh(self) -> Tensor: ...
    def cosh_(self) -> Tensor: ...
    def count_nonzero(self, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor: ...
    def cov(
        self, *, correction: builtins.int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
    ) -> Tensor: ...
    def cpu(self) -> Tensor:
        """The same values on the CPU."""
    def cuda(self, device: Any = None) -> Tensor:
        """Raises DeviceUnavailableError: use .to("gpu")."""
    def cummax(self, dim: builtins.int) -> _ValuesAndIndices: ...
    def cummin(self, dim: builtins.int) -> _ValuesAndIndices: ...
    def cumprod(self, dim: builtins.int, *, dtype: DTypeLike | None = None) -> Tensor: ...
    def cumsum(self, dim: builtins.int, *, dtype: DTypeLike | None = None) -> Tensor: ...
    def data_ptr(self) -> builtins.int:
        """The address of the first element, of the host or of the device. Runs what is pending; the next write in place
        may move it.
        """
    def deg2rad(self) -> Tensor: ...
    def deg2rad_(self) -> Tensor: ...
    def detach(self) -> Tensor:
        """The same memory without a place in the gradient graph."""
    def detach_(self) -> Tensor:
        """Forgets how the tensor was made, which makes it a leaf.

        Raises:
            Error: the tensor is a view.
        """
    def diag(self, diagonal: builtins.int = 0) -> Tensor: ...
    def diag_embed(self, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor: ...
    def diagonal(self, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor: ...
    def diff(
        self, n: builtins.int = 1, dim: builtins.int = -1, prepend: Tensor | None = None, append: Tensor | None = None
    ) -> Tensor: ...
    def dim(self) -> builtins.int:
        """The number of dimensions."""
    def div(self, other: Tensor | builtins.float, *, rounding_mode: str | None = None) -> Tensor: ...
    divide = div
    true_divide = div
    def div_(self, other: Tensor | builtins.float, *, rounding_mode: str | None = None) -> Tensor: ...
    def dot(self, tensor: Tensor) -> Tensor: ...
    def double(self) -> Tensor:
        """The same values as float64."""
    def element_size(self) -> builtins.int:
        """Bytes of one element."""
    def eq(self, other: Tensor | builtins.float) -> Tensor: ...
    def equal(self, other: Tensor) -> builtins.bool: ...
    def erf(self) -> Tensor: ...
    def erf_(self) -> Tensor: ...
    def erfc(self) -> Tensor: ...
    def erfc_(self) -> Tensor: ...
    def exp(self) -> Tensor: ...
    def exp2(self) -> Tensor: ...
    def exp2_(self) -> Tensor: ...
    def exp_(self) -> Tensor: ...
    def expand(self, *size: builtins.int | Sequence[builtins.int]) -> Tensor: ...
    broadcast_to = expand
    def expand_as(self, other: Tensor) -> Tensor:
        """expand, to the shape of other."""
    def expm1(self) -> Tensor: ...
    def expm1_(self) -> Tensor: ...
    def exponential_(self, lambd: builtins.float = 1, *, generator: Generator | None = None) -> Tensor:
        """Writes exponentially distributed numbers of rate lambd.

        Returns, Raises: as in uniform_.

        Example:
            >>> x = sg.empty(3).exponential_()
        """
    def fill_(self, value: Tensor | builtins.float) -> Tensor:
        """Writes one value in place, through the view; part of gradients.

        Raises:
            Error: the tensor is a leaf that requires grad.
        """
    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor: ...
    def flip(self, *dims: builtins.int | Sequence[builtins.int]) -> Tensor: ...
    def fliplr(self) -> Tensor: ...
    def flipud(self) -> Tensor: ...
    def float(self) -> Tensor:
        """The same values as float32."""
    def floor(self) -> Tensor: ...
    def floor_(self) -> Tensor: ...
    def floor_divide(self, other: Tensor | builtins.float) -> Tensor: ...
    def floor_divide_(self, other: Tensor | builtins.float) -> Tensor: ...
    def fmod(self, other: Tensor | builtins.float) -> Tensor: ...
    def fmod_(self, other: Tensor | builtins.float) -> Tensor: ...
    def frac(self) -> Tensor: ...
    def frac_(self) -> Tensor: ...
    def gather(self, dim: builtins.int, index: Tensor) -> Tensor: ...
    def ge(self, other: Tensor | builtins.float) -> Tensor: ...
    greater_equal = ge
    def get_device(self) -> builtins.int:
        """The number of the GPU; -1 on the CPU."""
    def gpu(self, device: DeviceLike | builtins.int | None = None) -> Tensor:
        """The same values on a GPU; None is the first."""
    def graph(self) -> str:
        """What is pending behind this tensor: a text with a line for each operation, which is shown as a table. Runs
        nothing.
        """
    def gt(self, other: Tensor | builtins.float) -> Tensor: ...
    greater = gt
    def half(self) -> Tensor:
        """The same values as float16, rounded to the nearest."""
    def hsplit(self, indices_or_sections: builtins.int | Sequence[builtins.int]) -> tuple[Tensor, ...]: ...
    def hypot(self, other: Tensor | builtins.float) -> Tensor: ...
    def hypot_(self, other: Tensor | builtins.float) -> Tensor: ...
    def index_add(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: builtins.float = 1) -> Tensor: ...
    def index_add_(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: builtins.float = 1) -> Tensor: ...
    def index_copy(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor: ...
    def index_copy_(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor: ...
    def index_fill(self, dim: builtins.int, index: Tensor, value: builtins.float) -> Tensor: ...
    def index_fill_(self, dim: builtins.int, index: Tensor, value: builtins.float) -> Tensor: ...
    def index_put(
        self, indices: Sequence[Tensor | None], values: Tensor | builtins.float, accumulate: builtins.bool = False
    ) -> Tensor: ...
    def index_put_(
        self, indices: Sequence[Tensor | None], values: Tensor | builtins.float, accumulate: builtins.bool = False
    ) -> Tensor: ...
    def index_select(self, dim: builtins.int, index: Tensor) -> Tensor: ...
    def inner(self, other: Tensor) -> Tensor: ...
    def int(self) -> Tensor:
        """The same values as int32."""
    def is_complex(self) -> builtins.bool: ...
    def is_contiguous(self) -> builtins.bool:
        """Whether the elements lie in C order without gaps."""
    def is_floating_point(self) -> builtins.bool: ...
    def is_inference(self) -> builtins.bool:
        """Whether the memory was made inside inference_mode()."""
    def is_same_size(self, other: Tensor) -> builtins.bool:
        """Whether the shapes are equal."""
    def is_signed(self) -> builtins.bool: ...
    def isclose(
        self,
        other: Tensor,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> Tensor: ...
    def isfinite(self) -> Tensor: ...
    def isinf(self) -> Tensor: ...
    def isnan(self) -> Tensor: ...
    def item(self) -> _Number:
        """The value of a tensor of one element, as a Python number."""
    def item_async(self) -> Coroutine[Any, Any, Any]:
        """item() for `await`, as in a server or a cell of a notebook.

        Raises:
            ValueError: there is not one element.

        Example:
            >>> import asyncio
            >>> async def main():
            ...     return await sg.arange(3).sum().item_async()
            >>> asyncio.run(main())
            3
        """
    def kron(self, other: Tensor) -> Tensor: ...
    def kthvalue(
        self, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False
    ) -> _ValuesAndIndices: ...
    def le(self, other: Tensor | builtins.float) -> Tensor: ...
    less_equal = le
    def lerp(self, end: Tensor, weight: Tensor | builtins.float) -> Tensor: ...
    def lerp_(self, end: Tensor, weight: Tensor | builtins.float) -> Tensor: ...
    def log(self) -> Tensor: ...
    def log10(self) -> Tensor: ...
    def log10_(self) -> Tensor: ...
    def log1p(self) -> Tensor: ...
    def log1p_(self) -> Tensor: ...
    def log2(self) -> Tensor: ...
    def log2_(self) -> Tensor: ...
    def log_(self) -> Tensor: ...
    def log_softmax(self, dim: builtins.int, dtype: DTypeLike | None = None) -> Tensor: ...
    def logaddexp(self, other: Tensor | builtins.float) -> Tensor: ...
    def logaddexp_(self, other: Tensor | builtins.float) -> Tensor: ...
    def logcumsumexp(self, dim: builtins.int) -> Tensor: ...
    def logical_and(self, other: Tensor | builtins.float) -> Tensor: ...
    def logical_not(self) -> Tensor: ...
    def logical_or(self, other: Tensor | builtins.float) -> Tensor: ...
    def logical_xor(self, other: Tensor | builtins.float) -> Tensor: ...
    def logsumexp(self, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False) -> Tensor: ...
    def long(self) -> Tensor:
        """The same values as int64."""
    def lt(self, other: Tensor | builtins.float) -> Tensor: ...
    less = lt
    def masked_fill(self, mask: Tensor, value: Tensor | builtins.float) -> Tensor: ...
    def masked_fill_(self, mask: Tensor, value: Tensor | builtins.float) -> Tensor: ...
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor: ...
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor: ...
    def masked_select(self, mask: Tensor) -> Tensor: ...
    def matmul(self, other: Tensor) -> Tensor: ...
    @overload
    def max(self) -> Tensor: ...
    @overload
    def max(self, dim: builtins.int, keepdim: builtins.bool = False) -> _ValuesAndIndices: ...
    @overload
    def max(self, dim: Tensor) -> Tensor: ...
    @overload
    def max(self, *, other: Tensor) -> Tensor: ...
    @overload
    def max(
        self,
        dim: builtins.int | Tensor | None = None,
        keepdim: builtins.bool | None = None,
        *,
        other: Tensor | None = None,
    ) -> Tensor | _ValuesAndIndices: ...
    def maximum(self, other: Tensor | builtins.float) -> Tensor: ...
    def maximum_(self, other: Tensor | builtins.float) -> Tensor: ...
    def mean(
        self,
        dim: builtins.int | Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    @overload
    def median(self) -> Tensor: ...
    @overload
    def median(self, dim: builtins.int, keepdim: builtins.bool = False) -> _ValuesAndIndices: ...
    @overload
    def median(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor | _ValuesAndIndices: ...
    @overload
    def min(self) -> Tensor: ...
    @overload
    def min(self, dim: builtins.int, keepdim: builtins.bool = False) -> _ValuesAndIndices: ...
    @overload
    def min(self, dim: Tensor) -> Tensor: ...
    @overload
    def min(self, *, other: Tensor) -> Tensor: ...
    @overload
    def min(
        self,
        dim: builtins.int | Tensor | None = None,
        keepdim: builtins.bool | None = None,
        *,
        other: Tensor | None = None,
    ) -> Tensor | _ValuesAndIndices: ...
    def minimum(self, other: Tensor | builtins.float) -> Tensor: ...
    def minimum_(self, other: Tensor | builtins.float) -> Tensor: ...
    def mm(self, mat2: Tensor) -> Tensor: ...
    def moveaxis(
        self, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]
    ) -> Tensor: ...
    movedim = moveaxis
    def msort(self) -> Tensor: ...
    def mul(self, other: Tensor | builtins.float) -> Tensor: ...
    multiply = mul
    def mul_(self, other: Tensor | builtins.float) -> Tensor: ...
    def multinomial(
        self, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Generator | None = None
    ) -> Tensor: ...
    def mv(self, vec: Tensor) -> Tensor: ...
    def nan_to_num(
        self,
        nan: builtins.float | None = 0.0,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor: ...
    def nan_to_num_(
        self,
        nan: builtins.float | None = 0.0,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor: ...
    def nanmean(
        self,
        dim: builtins.int | Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    @overload
    def nanmedian(self) -> Tensor: ...
    @overload
    def nanmedian(self, dim: builtins.int, keepdim: builtins.bool = False) -> _ValuesAndIndices: ...
    @overload
    def nanmedian(
        self, dim: builtins.int | None = None, keepdim: builtins.bool = False
    ) -> Tensor | _ValuesAndIndices: ...
    def nanquantile(
        self,
        q: Tensor | builtins.float,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor: ...
    def nansum(
        self,
        dim: builtins.int | Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    def narrow(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor: ...
    def ndimension(self) -> builtins.int:
        """The number of dimensions."""
    def ne(self, other: Tensor | builtins.float) -> Tensor: ...
    not_equal = ne
    def neg(self) -> Tensor: ...
    negative = neg
    def neg_(self) -> Tensor: ...
    def nelement(self) -> builtins.int:
        """The number of elements."""
    def new_empty(
        self,
        *size: builtins.int | Sequence[builtins.int],
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: builtins.bool = False,
    ) -> Tensor:
        """A tensor with undefined contents, of the type and device of this one."""
    def new_full(
        self,
        size: builtins.int | Sequence[builtins.int],
        fill_value: builtins.float,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: builtins.bool = False,
    ) -> Tensor:
        """One value in the type and device of this tensor.

        Example:
            >>> sg.zeros(3).new_full((2,), 7).tolist()
            [7.0, 7.0]
        """
    def new_ones(
        self,
        *size: builtins.int | Sequence[builtins.int],
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: builtins.bool = False,
    ) -> Tensor:
        """Ones of the type and device of this tensor.

        Example:
            >>> sg.arange(3).new_ones(2).tolist()
            [1, 1]
        """
    def new_tensor(
        self,
        data: Any,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: builtins.bool = False,
    ) -> Tensor:
        """A tensor with a copy of the data, of the type and device of this one.

        Example:
            >>> sg.zeros(3).new_tensor([1, 2]).tolist()
            [1.0, 2.0]
        """
    def new_zeros(
        self,
        *size: builtins.int | Sequence[builtins.int],
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: builtins.bool = False,
    ) -> Tensor:
        """Zeros of the type and device of this tensor.

        Example:
            >>> sg.arange(3).new_zeros(2).tolist()
            [0, 0]
        """
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    @overload
    def nonzero(self, *, as_tuple: builtins.bool = False) -> Tensor | tuple[Tensor, ...]: ...
    def norm(
        self,
        p: builtins.float | str | None = "fro",
        dim: builtins.int | Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    def normal_(
        self, mean: builtins.float = 0, std: builtins.float = 1, *, generator: Generator | None = None
    ) -> Tensor:
        """Writes normal numbers.

        Returns, Raises: as in uniform_.

        Example:
            >>> x = sg.empty(3).normal_(0, 0.02)
        """
    def numel(self) -> builtins.int: ...
    def numpy(self, *, force: builtins.bool = False) -> np.ndarray[Any, Any]:
        """A NumPy array on the memory of a CPU tensor: each sees what the other writes. Of a GPU tensor, a copy. Runs
        what is pending.

        While the array lives, whatever reads or writes the tensor runs at once, so it is not fused with what comes
        later.

        Args:
            force: also from a tensor that wants a gradient.

        Raises:
            Error: the tensor wants a gradient; use .detach().numpy().

        Example:
            >>> x = sg.zeros(2)
            >>> x.numpy()[0] = 3
            >>> x.tolist()
            [3.0, 0.0]
        """
    def numpy_async(self) -> Coroutine[Any, Any, np.ndarray[Any, Any]]:
        """numpy() for `await`: what is pending is started at once, and the event loop goes on until the values are
        there.

        Example:
            >>> import asyncio
            >>> async def main():
            ...     return await sg.arange(3).numpy_async()
            >>> asyncio.run(main()).tolist()
            [0, 1, 2]
        """
    def one_hot(self, num_classes: builtins.int = -1) -> Tensor: ...
    def outer(self, vec2: Tensor) -> Tensor: ...
    ger = outer
    def permute(self, *dims: builtins.int | Sequence[builtins.int]) -> Tensor: ...
    permute_dims = permute
    def plan(self) -> list[PlanStep]:
        """The kernels that would run for this tensor: name, sizes, bytes, GLSL source, SPIR-V; shown as a table. Runs
        nothing.
        """
    def positive(self) -> Tensor: ...
    def pow(self, exponent: Tensor | builtins.float) -> Tensor: ...
    power = pow
    def pow_(self, exponent: Tensor | builtins.float) -> Tensor: ...
    def prod(
        self,
        dim: builtins.int | Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    def quantile(
        self,
        q: Tensor | builtins.float,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor: ...
    def rad2deg(self) -> Tensor: ...
    def rad2deg_(self) -> Tensor: ...
    def random_(
        self, from_: builtins.int | None = None, to: builtins.int | None = None, *, generator: Generator | None = None
    ) -> Tensor:
        """Writes integers from `from` up to but without `to`; without bounds, of all that the type holds exactly, from
        0.

        Returns:
            The tensor itself.

        Example:
            >>> x = sg.empty(3).random_(10)
        """
    def ravel(self) -> Tensor: ...
    def realize(self) -> Tensor:
        """Starts everything that is pending on this tensor's device, without waiting for its end; returns the tensor.
        Results never need it: reading a value does the same and waits.
        """
    def reciprocal(self) -> Tensor: ...
    def reciprocal_(self) -> Tensor: ...
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> HookHandle:
        """Calls hook with each gradient of this tensor; what it returns takes the gradient's place.

        Returns:
            A handle whose remove() ends it.

        Example:
            >>> x = sg.tensor(3.0, requires_grad=True)
            >>> handle = x.register_hook(lambda g: g * 10)
            >>> (x * x).backward()
            >>> x.grad.item()
            60.0
        """
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> HookHandle:
        """Calls hook with this leaf after a backward() has added to its .grad.

        Returns:
            A handle whose remove() ends it.
        """
    def relu(self) -> Tensor: ...
    def relu_(self) -> Tensor: ...
    def remainder(self, other: Tensor | builtins.float) -> Tensor: ...
    def remainder_(self, other: Tensor | builtins.float) -> Tensor: ...
    def repeat(self, *repeats: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Repeats the tensor along each dimension; new dimensions come first.

        Example:
            >>> sg.arange(2).repeat(2, 2).tolist()
            [[0, 1, 0, 1], [0, 1, 0, 1]]
        """
    def repeat_interleave(
        self,
        repeats: builtins.int | Tensor,
        dim: builtins.int | None = None,
        *,
        output_size: builtins.int | None = None,
    ) -> Tensor: ...
    def requires_grad_(self, requires_grad: builtins.bool = True) -> Tensor:
        """Asks for a gradient; returns the tensor.

        Raises:
            TypeError: integers have none.
        """
    def reshape(self, *shape: builtins.int | Sequence[builtins.int]) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """reshape, to the shape of other."""
    def retain_grad(self) -> None:
        """Keeps .grad of a tensor that is no leaf.

        Raises:
            Error: the tensor does not require grad.

        Example:
            >>> x = sg.tensor(3.0, requires_grad=True)
            >>> y = x * 2
            >>> y.retain_grad()
            >>> (y * y).backward()
            >>> y.grad.item()
            12.0
        """
    def roll(
        self, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] | None = None
    ) -> Tensor: ...
    def rot90(self, k: builtins.int = 1, dims: Sequence[builtins.int] = (0, 1)) -> Tensor: ...
    def round(self, *, decimals: builtins.int = 0) -> Tensor: ...
    def round_(self, *, decimals: builtins.int = 0) -> Tensor: ...
    def rsqrt(self) -> Tensor: ...
    def rsqrt_(self) -> Tensor: ...
    def scatter(self, dim: builtins.int, index: Tensor, src: Tensor | builtins.float) -> Tensor: ...
    def scatter_(self, dim: builtins.int, index: Tensor, src: Tensor | builtins.float) -> Tensor: ...
    def scatter_add(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor: ...
    def scatter_add_(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor: ...
    def scatter_reduce(
        self, dim: builtins.int, index: Tensor, src: Tensor, reduce: str, *, include_self: builtins.bool = True
    ) -> Tensor: ...
    def scatter_reduce_(
        self, dim: builtins.int, index: Tensor, src: Tensor, reduce: str, *, include_self: builtins.bool = True
    ) -> Tensor: ...
    def select(self, dim: builtins.int, index: builtins.int) -> Tensor: ...
    def short(self) -> Tensor:
        """The same values as int16."""
    def sigmoid(self) -> Tensor: ...
    def sigmoid_(self) -> Tensor: ...
    def sign(self) -> Tensor: ...
    sgn = sign
    def sign_(self) -> Tensor: ...
    def sin(self) -> Tensor: ...
    def sin_(self) -> Tensor: ...
    def sinh(self) -> Tensor: ...
    def sinh_(self) -> Tensor: ...
    @overload
    def size(self) -> tuple[builtins.int, ...]: ...
    @overload
    def size(self, dim: builtins.int) -> builtins.int: ...
    @overload
    def size(self, dim: builtins.int | None = None) -> builtins.int | tuple[builtins.int, ...]:
        """The shape, or the size of one dimension."""
    def softmax(self, dim: builtins.int, dtype: DTypeLike | None = None) -> Tensor: ...
    def sort(
        self, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False
    ) -> _ValuesAndIndices: ...
    def split(
        self, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0
    ) -> tuple[Tensor, ...]: ...
    def split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]: ...
    def sqrt(self) -> Tensor: ...
    def sqrt_(self) -> Tensor: ...
    def square(self) -> Tensor: ...
    def square_(self) -> Tensor: ...
    def squeeze(self, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor: ...
    def std(
        self,
        dim: builtins.int | Sequence[builtins.int] | builtins.bool | None = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        correction: builtins.float | None = None,
    ) -> Tensor: ...
    def std_mean(
        self,
        dim: builtins.int | Sequence[builtins.int] | builtins.bool | None = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        correction: builtins.float | None = None,
    ) -> tuple[Tensor, ...]: ...
    def storage_offset(self) -> builtins.int:
        """Elements of the memory before the first one."""
    @overload
    def stride(self) -> tuple[builtins.int, ...]: ...
    @overload
    def stride(self, dim: builtins.int) -> builtins.int: ...
    @overload
    def stride(self, dim: builtins.int | None = None) -> builtins.int | tuple[builtins.int, ...]:
        """Elements from one position to the next, for each dimension or for one."""
    def sub(self, other: Tensor | builtins.float, *, alpha: builtins.float = 1) -> Tensor: ...
    subtract = sub
    def sub_(self, other: Tensor | builtins.float, *, alpha: builtins.float = 1) -> Tensor: ...
    def sum(
        self,
        dim: builtins.int | Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DTypeLike | None = None,
    ) -> Tensor: ...
    def swapaxes(self, axis0: builtins.int, axis1: builtins.int) -> Tensor: ...
    def t(self) -> Tensor: ...
    def take(self, index: Tensor) -> Tensor: ...
    def take_along_dim(self, indices: Tensor, dim: builtins.int | None = None) -> Tensor: ...
    def tan(self) -> Tensor: ...
    def tan_(self) -> Tensor: ...
    def tanh(self) -> Tensor: ...
    def tanh_(self) -> Tensor: ...
    def tensor_split(
        self, indices_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0
    ) -> tuple[Tensor, ...]: ...
    def tile(self, *dims: builtins.int | Sequence[builtins.int]) -> Tensor: ...
    def to(
        self,
        other: Tensor | DeviceLike | DTypeLike | None = None,
        dtype: DTypeLike | None = None,
        non_blocking: builtins.bool = False,
        copy: builtins.bool = False,
        *,
        device: DeviceLike | None = None,
    ) -> Tensor:
        """The same values on another device, in another type, or both; the tensor itself when nothing changes.

        Args:
            other: a tensor to take device and type from, a device, or a type.
            dtype: type of the elements.
            non_blocking: to the CPU, return at once: whoever looks at the values waits.
            copy: a copy also when nothing changes.
            device: where to.

        Example:
            >>> sg.ones(2).to(sg.float64).dtype
            spirograd.float64
        """
    def to_sparse(self) -> Any:
        """A sparse tensor of the elements that are not 0, with their gradient. Reads how many there are.

        Raises:
            ValueError: the tensor has no dimensions.

        Example:
            >>> sg.eye(2).to_sparse().indices().tolist()
            [[0, 1], [0, 1]]
        """
    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
    def topk(
        self, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True
    ) -> _ValuesAndIndices: ...
    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor: ...
    swapdims = transpose
    def tril(self, diagonal: builtins.int = 0) -> Tensor: ...
    def tril_(self, diagonal: builtins.int = 0) -> Tensor: ...
    def triu(self, diagonal: builtins.int = 0) -> Tensor: ...
    def triu_(self, diagonal: builtins.int = 0) -> Tensor: ...
    def trunc(self) -> Tensor: ...
    fix = trunc
    def trunc_(self) -> Tensor: ...
    @overload
    def type(self) -> str: ...
    @overload
    def type(self, dtype: DTypeLike) -> Tensor: ...
    @overload
    def type(self, dtype: DTypeLike | None = None) -> str | Tensor:
        """The name of the type and device, or the values in another type.

        Example:
            >>> sg.ones(2).type()
            'spirograd.FloatTensor'
        """
    def type_as(self, other: Tensor) -> Tensor:
        """The same values in the type and on the device of another tensor."""
    def unbind(self, dim: builtins.int = 0) -> tuple[Tensor, ...]: ...
    def unflatten(self, dim: builtins.int, sizes: builtins.int | Sequence[builtins.int]) -> Tensor: ...
    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """Windows along a dimension, as a view: [..., n, ...] -> [..., windows, ..., size].

        Example:
            >>> sg.arange(4).unfold(0, 2, 1).tolist()
            [[0, 1], [1, 2], [2, 3]]
        """
    def uniform_(
        self, from_: builtins.float = 0, to: builtins.float = 1, *, generator: Generator | None = None
    ) -> Tensor:
        """Writes uniform numbers in [from, to).

        Returns:
            The tensor itself.

        Raises:
            TypeError: not a floating type.

        Example:
            >>> x = sg.empty(3).uniform_(-1, 1)
        """
    @overload
    def unique(
        self,
        sorted: builtins.bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: builtins.int | None = None,
    ) -> Tensor: ...
    @overload
    def unique(
        self,
        sorted: builtins.bool = True,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: builtins.int | None = None,
    ) -> Tensor | tuple[Tensor, ...]: ...
    @overload
    def unique_consecutive(
        self,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: builtins.int | None = None,
    ) -> Tensor: ...
    @overload
    def unique_consecutive(
        self,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: builtins.int | None = None,
    ) -> Tensor | tuple[Tensor, ...]: ...
    def unsqueeze(self, dim: builtins.int) -> Tensor: ...
    expand_dims = unsqueeze
    def var(
        self,
        dim: builtins.int | Sequence[builtins.int] | builtins.bool | None = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        correction: builtins.float | None = None,
    ) -> Tensor: ...
    def var_mean(
        self,
        dim: builtins.int | Sequence[builtins.int] | builtins.bool | None = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        correction: builtins.float | None = None,
    ) -> tuple[Tensor, ...]: ...
    def vdot(self, other: Tensor) -> Tensor: ...
    def view(self, *shape: builtins.int | Sequence[builtins.int] | DTypeLike) -> Tensor:
        """reshape, but never a copy; or with a dtype, view(sg.int32), the bytes as elements of that type, without a
        gradient: on a CPU in the same memory, on a GPU copied.

        Args:
            shape: sizes, as several ints or one tuple; one of them may be -1.

        Raises:
            ValueError: the numbers of elements differ.

        Example:
            >>> sg.arange(6).reshape(2, -1).shape
            (2, 3)
        """
    def view_as(self, other: Tensor) -> Tensor:
        """view, in the shape of other."""
    def vsplit(self, indices_or_sections: builtins.int | Sequence[builtins.int]) -> tuple[Tensor, ...]: ...
    def xlogy(self, other: Tensor | builtins.float) -> Tensor: ...
    def xlogy_(self, other: Tensor | builtins.float) -> Tensor: ...
    def zero_(self) -> Tensor:
        """Writes zeros in place, through the view; part of gradients.

        Raises:
            Error: the tensor is a leaf that requires grad.
        """

_dtype = dtype

_dtypes: tuple[str, ...]
bool: dtype
uint8: dtype
int8: dtype
int16: dtype
int32: dtype
int64: dtype
float16: dtype
bfloat16: dtype
float32: dtype
float64: dtype
half: dtype
float: dtype
double: dtype
short: dtype
int: dtype
long: dtype

def abs(input: Tensor) -> Tensor:
    """The absolute value; its gradient at 0 is 0.

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.abs(sg.tensor([0.5, 1.0]))
    """

absolute = abs

def acos(input: Tensor) -> Tensor:
    """The angle in [0, pi] whose cosine is a; NaN beyond 1.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.acos(sg.tensor([0.5, 1.0]))
    """

arccos = acos

def acosh(input: Tensor) -> Tensor:
    """The number >= 0 whose hyperbolic cosine is a; NaN below 1.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.acosh(sg.tensor([0.5, 1.0]))
    """

arccosh = acosh

def add(input: Tensor | builtins.float, other: Tensor | builtins.float, *, alpha: builtins.float = 1) -> Tensor:
    """a + b, element by element.

    Args:
        alpha: what other is multiplied with.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.add(sg.tensor([1.0, 2.0]), 2.0)
    """

def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1
) -> Tensor:
    """beta * input + alpha * the sum of bmm(batch1, batch2) over the batch; input is not read when beta is 0."""

def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = 1) -> Tensor:
    """input + value * tensor1 / tensor2.

    Example:
        >>> sg.ones(2).addcdiv(sg.ones(2), sg.ones(2) * 2).tolist()
        [1.5, 1.5]
    """

def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: builtins.float = 1) -> Tensor:
    """input + value * tensor1 * tensor2.

    Example:
        >>> sg.ones(2).addcmul(sg.ones(2), sg.ones(2), value=0.5).tolist()
        [1.5, 1.5]
    """

def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2); input is not read when beta is 0.

    Example:
        >>> sg.addmm(sg.ones(2), sg.ones(2, 3), sg.ones(3, 2)).tolist()
        [[4.0, 4.0], [4.0, 4.0]]
    """

def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec); input is not read when beta is 0."""

def all(
    input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False
) -> Tensor:
    """Whether no element is 0.

    Args: as in sum.

    Example:
        >>> sg.tensor([0, 2]).all().item()
        False
    """

def allclose(
    input: Tensor | builtins.float,
    other: Tensor,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> builtins.bool:
    """Whether all elements are close; see isclose. Runs what is pending.

    Example:
        >>> sg.ones(2).allclose(sg.ones(2))
        True
    """

def amax(
    input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False
) -> Tensor:
    """The largest value over dimensions; NaN wins, ties share the gradient.

    Raises:
        ValueError: nothing to choose from.

    Args, Returns: as in sum.

    Example:
        >>> sg.tensor([1.0, 3.0]).amax().item()
        3.0
    """

def amin(
    input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False
) -> Tensor:
    """The smallest value over dimensions; NaN wins, ties share the gradient.

    Args, Returns, Raises: as in amax.

    Example:
        >>> sg.tensor([1.0, 3.0]).amin().item()
        1.0
    """

def aminmax(
    input: Tensor, *, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False
) -> tuple[Tensor, ...]:
    """amin and amax.

    Args, Raises: as in amax.
    """

def any(
    input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False
) -> Tensor:
    """Whether any element is not 0.

    Args: as in sum.

    Example:
        >>> sg.tensor([0, 2]).any().item()
        True
    """

def argmax(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
    """Where the first largest value is, int64; NaN wins. Without dim: in the flat tensor.

    Example:
        >>> sg.tensor([1.0, 3.0]).argmax().item()
        1
    """

def argmin(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
    """Where the first smallest value is, int64; NaN wins. Without dim: in the flat tensor.

    Example:
        >>> sg.tensor([1.0, 3.0]).argmin().item()
        0
    """

def argsort(
    input: Tensor, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False
) -> Tensor:
    """The indices that sort along a dimension; equal elements keep their order.

    Example:
        >>> sg.tensor([3.0, 1.0, 2.0]).argsort().tolist()
        [1, 2, 0]
    """

def argwhere(input: Tensor) -> Tensor:
    """The same as nonzero. Runs what is pending and waits for how many there are.

    Example:
        >>> sg.argwhere(sg.tensor([0, 2])).tolist()
        [[1]]
    """

def as_strided(
    input: Tensor,
    size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int],
    storage_offset: builtins.int | None = None,
) -> Tensor:
    """A view of the tensor's memory with given sizes, strides and offset, in elements.

    Raises:
        ValueError: it leaves the memory, or a gradient is wanted of elements that are not the tensor's.

    Example:
        >>> sg.arange(4).as_strided((2, 2), (1, 1)).tolist()
        [[0, 1], [1, 2]]
    """

def asin(input: Tensor) -> Tensor:
    """The angle in [-pi/2, pi/2] whose sine is a; NaN beyond 1.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.asin(sg.tensor([0.5, 1.0]))
    """

arcsin = asin

def asinh(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine is a.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.asinh(sg.tensor([0.5, 1.0]))
    """

arcsinh = asinh

def atan(input: Tensor) -> Tensor:
    """The angle in [-pi/2, pi/2] whose tangent is a.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.atan(sg.tensor([0.5, 1.0]))
    """

arctan = atan

def atan2(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """The angle of the point (b, a), in [-pi, pi], with C99's special values.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.atan2(sg.tensor([1.0, 2.0]), 2.0)
    """

arctan2 = atan2

def atanh(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent is a; NaN beyond 1.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.atanh(sg.tensor([0.5, 1.0]))
    """

arctanh = atanh

def atleast_1d(input: Tensor) -> Tensor:
    """The tensor with at least one dimension."""

def atleast_2d(input: Tensor) -> Tensor:
    """The tensor with at least two dimensions."""

def atleast_3d(input: Tensor) -> Tensor:
    """The tensor with at least three dimensions."""

def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1
) -> Tensor:
    """beta * input + alpha * bmm(batch1, batch2); input is not read when beta is 0."""

def bernoulli(input: Tensor, p: builtins.float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that the tensor holds, or with p, else 0.

    Args:
        p: one probability for all.

    Raises:
        ValueError: what is no probability; in a tensor, at the next read.

    Args: as in rand.

    Example:
        >>> sg.bernoulli(sg.tensor([0.0, 1.0])).tolist()
        [0.0, 1.0]
    """

def bincount(input: Tensor, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
    """How often each of 0, 1, ... occurs; with weights, their sums. Reads the largest number.

    Args:
        weights: one an element.
        minlength: the least length of the result.

    Raises:
        ValueError: a negative number.
        TypeError: not integers of one dimension.

    Example:
        >>> sg.tensor([0, 2, 2]).bincount().tolist()
        [1, 0, 2]
    """

def bitwise_and(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """The bits that a and b share.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.bitwise_and(sg.tensor([1, 2]), 2)
    """

def bitwise_left_shift(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a * 2^b modulo the size of the type; 0 where b is negative.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.bitwise_left_shift(sg.tensor([1, 2]), 2)
    """

def bitwise_not(input: Tensor) -> Tensor:
    """Every bit of a inverted.

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.bitwise_not(sg.tensor([1, 2]))
    """

def bitwise_or(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """The bits of a and of b.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.bitwise_or(sg.tensor([1, 2]), 2)
    """

def bitwise_right_shift(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a / 2^b rounded down; only the sign is left where b is negative or too large.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.bitwise_right_shift(sg.tensor([1, 2]), 2)
    """

def bitwise_xor(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """The bits in which a and b differ.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.bitwise_xor(sg.tensor([1, 2]), 2)
    """

def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of a batch: [b, m, k] [b, k, n] -> [b, m, n]."""

def ceil(input: Tensor) -> Tensor:
    """The smallest whole number that is not below a.

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.ceil(sg.tensor([0.5, 1.0]))
    """

def chunk(input: Tensor, chunks: builtins.int, dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """Splits into at most this many parts of equal size; the last may be smaller.

    Example:
        >>> [x.tolist() for x in sg.arange(5).chunk(2)]
        [[0, 1, 2], [3, 4]]
    """

def clamp(
    input: Tensor, min: Tensor | builtins.float | None = None, max: Tensor | builtins.float | None = None
) -> Tensor:
    """input, at least min and at most max; where they cross, max.

    Args:
        min: a number, a tensor or None.
        max: the same.

    Raises:
        ValueError: neither is given.

    Example:
        >>> sg.tensor([1.0, 5.0]).clamp(2.0, 4.0).tolist()
        [2.0, 4.0]
    """

clip = clamp

def clamp_max(input: Tensor, max: Tensor | builtins.float) -> Tensor:
    """a, or b where a is above it; NaN on either side wins.

    Args:
        max: b, a tensor or a number; one of the two is a tensor, shapes broadcast.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.clamp_max(sg.tensor([1.0, 2.0]), 2.0)
    """

def clamp_min(input: Tensor, min: Tensor | builtins.float) -> Tensor:
    """a, or b where a is below it; NaN on either side wins.

    Args:
        min: b, a tensor or a number; one of the two is a tensor, shapes broadcast.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.clamp_min(sg.tensor([1.0, 2.0]), 2.0)
    """

def clone(input: Tensor) -> Tensor:
    """A copy with memory of its own; gradients flow through it."""

def corrcoef(input: Tensor) -> Tensor:
    """Correlations of variables (rows) from observations (columns): [n, m] -> [n, n]."""

def cos(input: Tensor) -> Tensor:
    """The cosine of a in radians.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.cos(sg.tensor([0.5, 1.0]))
    """

def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine, element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.cosh(sg.tensor([0.5, 1.0]))
    """

def count_nonzero(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
    """How many elements are not 0.

    Example:
        >>> sg.tensor([0, 2, 3]).count_nonzero().item()
        2
    """

def cov(
    input: Tensor, *, correction: builtins.int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Covariances of variables (rows) from observations (columns): [n, m] -> [n, n].

    Args:
        correction: what is taken off the number of observations.
        fweights: how often each observation was made, [m] of integers.
        aweights: how much each counts, [m].

    Raises:
        ValueError: the shapes do not fit.
    """

def cummax(input: Tensor, dim: builtins.int) -> _ValuesAndIndices:
    """The largest elements so far along a dimension. NaN wins; of equal ones the last. The gradient goes to the chosen
    elements.

    Args:
        dim: the dimension to go along.

    Returns:
        values, and indices (int64).

    Example:
        >>> sg.tensor([1, 3, 2]).cummax(0).values.tolist()
        [1, 3, 3]
    """

def cummin(input: Tensor, dim: builtins.int) -> _ValuesAndIndices:
    """The smallest elements so far along a dimension. NaN wins; of equal ones the last. The gradient goes to the chosen
    elements.

    Args, Returns: as in cummax.

    Example:
        >>> sg.tensor([3, 1, 2]).cummin(0).values.tolist()
        [3, 1, 1]
    """

def cumprod(input: Tensor, dim: builtins.int, *, dtype: DTypeLike | None = None) -> Tensor:
    """Running products along a dimension; their gradient is right at zeros, too.

    Args: as in cumsum.

    Example:
        >>> sg.tensor([1, 2, 3]).cumprod(0).tolist()
        [1, 2, 6]
    """

def cumsum(input: Tensor, dim: builtins.int, *, dtype: DTypeLike | None = None) -> Tensor:
    """Running sums along a dimension: out[i] = input[0] + ... + input[i].

    Args:
        dim: the dimension to go along.
        dtype: the type to compute in and of the result; None: that of the input, int64 for integers.

    Example:
        >>> sg.tensor([1, 2, 3]).cumsum(0).tolist()
        [1, 3, 6]
    """

def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.deg2rad(sg.tensor([0.5, 1.0]))
    """

def diag(input: Tensor, diagonal: builtins.int = 0) -> Tensor:
    """For a vector, the matrix with that diagonal; for a matrix, a copy of its diagonal.

    Example:
        >>> sg.arange(2).diag().tolist()
        [[0, 0], [0, 1]]
    """

def diag_embed(input: Tensor, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
    """Matrices whose diagonals are the last dimension."""

def diagonal(input: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
    """The diagonal of two dimensions, as a view whose last dimension it is.

    Example:
        >>> sg.arange(4).reshape(2, 2).diagonal().tolist()
        [0, 3]
    """

def diff(
    input: Tensor,
    n: builtins.int = 1,
    dim: builtins.int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Each element less the one before it along a dimension, n times over.

    Example:
        >>> sg.tensor([1, 4, 9]).diff().tolist()
        [3, 5]
    """

def div(input: Tensor | builtins.float, other: Tensor | builtins.float, *, rounding_mode: str | None = None) -> Tensor:
    """a / b, element by element; integers are divided as float32.

    Args:
        rounding_mode: None, 'floor' or 'trunc'; with the last two, integers stay integers.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.div(sg.tensor([1.0, 2.0]), 2.0)
    """

divide = div
true_divide = div

def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The product of two vectors: [k] [k] -> [].

    Example:
        >>> sg.ones(3).dot(sg.ones(3)).item()
        3.0
    """

def eq(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a == b, element by element.

    Returns:
        A tensor of the common shape, of type bool.

    Args, Raises: as in mul.

    Example:
        >>> y = sg.eq(sg.tensor([1.0, 2.0]), 2.0)
    """

def equal(input: Tensor | builtins.float, other: Tensor) -> builtins.bool:
    """Whether shape and elements are equal. Runs what is pending.

    Example:
        >>> sg.ones(2).equal(sg.ones(3))
        False
    """

def erf(input: Tensor) -> Tensor:
    """The error function, element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.erf(sg.tensor([0.5, 1.0]))
    """

def erfc(input: Tensor) -> Tensor:
    """1 - erf(a), accurate where that is tiny.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.erfc(sg.tensor([0.5, 1.0]))
    """

def exp(input: Tensor) -> Tensor:
    """e to the power of a, element by element.

    Args:
        input: a, a tensor of any shape. Integers and booleans become float32.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.exp(sg.tensor([0.5, 1.0]))
    """

def exp2(input: Tensor) -> Tensor:
    """2 to the power of a; exact for whole numbers.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.exp2(sg.tensor([0.5, 1.0]))
    """

def expand(input: Tensor, *size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Repeats dimensions of size 1 without a copy; -1 keeps a size.

    Example:
        >>> sg.zeros(1, 3).expand(4, -1).shape
        (4, 3)
    """

broadcast_to = expand

def expm1(input: Tensor) -> Tensor:
    """exp(a) - 1, accurate for small a.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.expm1(sg.tensor([0.5, 1.0]))
    """

def flatten(input: Tensor, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
    """Joins a range of dimensions into one.

    Example:
        >>> sg.zeros(2, 3, 4).flatten(1).shape
        (2, 12)
    """

def flip(input: Tensor, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """A copy with the elements in reverse order along dimensions.

    Example:
        >>> sg.arange(3).flip(0).tolist()
        [2, 1, 0]
    """

def fliplr(input: Tensor) -> Tensor:
    """A copy with the columns in reverse order."""

def flipud(input: Tensor) -> Tensor:
    """A copy with the rows in reverse order."""

def floor(input: Tensor) -> Tensor:
    """The largest whole number that is not above a.

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.floor(sg.tensor([0.5, 1.0]))
    """

def floor_divide(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a / b rounded down, as Python's //; integers by 0 give 0, floats inf or NaN.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.floor_divide(sg.tensor([1.0, 2.0]), 2.0)
    """

def fmod(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """The remainder of a / b with the sign of a, exact; integers by 0 give 0.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.fmod(sg.tensor([1.0, 2.0]), 2.0)
    """

def frac(input: Tensor) -> Tensor:
    """The fraction of a, with its sign: a - trunc(a).

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.frac(sg.tensor([0.5, 1.0]))
    """

def gather(input: Tensor, dim: builtins.int, index: Tensor) -> Tensor:
    """Elements picked along a dimension: out[i, j] = input[index[i, j], j] for dim 0.

    Args:
        dim: the dimension that index counts along.
        index: integers, of the rank of input.

    Raises:
        IndexError: an index is out of range; raised where the result, or a later one, is read.

    Example:
        >>> sg.tensor([[1, 2], [3, 4]]).gather(1, sg.tensor([[0], [1]])).tolist()
        [[1], [4]]
    """

def ge(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a >= b, element by element.

    Args, Returns, Raises: as in eq.

    Example:
        >>> y = sg.ge(sg.tensor([1.0, 2.0]), 2.0)
    """

greater_equal = ge

def gt(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a > b, element by element.

    Args, Returns, Raises: as in eq.

    Example:
        >>> y = sg.gt(sg.tensor([1.0, 2.0]), 2.0)
    """

greater = gt

def hsplit(input: Tensor, indices_or_sections: builtins.int | Sequence[builtins.int]) -> tuple[Tensor, ...]:
    """tensor_split along columns; of a vector, along its one dimension."""

def hypot(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """sqrt(a * a + b * b), without overflow on the way.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.hypot(sg.tensor([1.0, 2.0]), 2.0)
    """

def index_add(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: builtins.float = 1) -> Tensor:
    """A copy with alpha * source added to the slices that a one-dimensional index names.

    Raises: as in gather.
    """

def index_copy(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with the slices that a one-dimensional index names replaced.

    Raises: as in gather.
    """

def index_fill(input: Tensor, dim: builtins.int, index: Tensor, value: builtins.float) -> Tensor:
    """A copy with the slices that a one-dimensional index names filled.

    Raises: as in gather.
    """

def index_put(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor | builtins.float, accumulate: builtins.bool = False
) -> Tensor:
    """A copy with values written, or added, where indices, one tensor a dimension, point.

    Args:
        indices: integers, whose shapes broadcast, or masks.
        accumulate: add; else, where an index occurs twice, either value stays.

    Raises: as in gather.
    """

def index_select(input: Tensor, dim: builtins.int, index: Tensor) -> Tensor:
    """Slices along a dimension, by a one-dimensional index.

    Raises: as in gather.

    Example:
        >>> sg.arange(6).reshape(3, 2).index_select(0, sg.tensor([2, 0])).tolist()
        [[4, 5], [0, 1]]
    """

def inner(input: Tensor | builtins.float, other: Tensor) -> Tensor:
    """Products over the last dimensions of both."""

def is_complex(input: Tensor) -> builtins.bool:
    """Whether the elements are complex numbers: of complex(), not of tensors."""

def is_floating_point(input: Tensor) -> builtins.bool:
    """Whether the type holds fractions."""

def is_signed(input: Tensor) -> builtins.bool:
    """Whether the type has negative numbers."""

def isclose(
    input: Tensor | builtins.float,
    other: Tensor,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Tensor:
    """Whether abs(x - other) <= atol + rtol * abs(other), element by element.

    Example:
        >>> sg.tensor([1.0]).isclose(sg.tensor([1.0 + 1e-7])).item()
        True
    """

def isfinite(input: Tensor) -> Tensor:
    """Whether a is neither infinite nor NaN.

    Args, Returns: as in isnan.

    Example:
        >>> y = sg.isfinite(sg.tensor([0.5, 1.0]))
    """

def isinf(input: Tensor) -> Tensor:
    """Whether a is infinite.

    Args, Returns: as in isnan.

    Example:
        >>> y = sg.isinf(sg.tensor([0.5, 1.0]))
    """

def isnan(input: Tensor) -> Tensor:
    """Whether a is NaN.

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape, of type bool.

    Example:
        >>> y = sg.isnan(sg.tensor([0.5, 1.0]))
    """

def kron(input: Tensor | builtins.float, other: Tensor) -> Tensor:
    """The Kronecker product: each element of one by the whole of the other."""

def kthvalue(
    input: Tensor, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False
) -> _ValuesAndIndices:
    """The k-th smallest element along a dimension, counted from 1, and where it is.

    Args:
        k: from 1 to the size of the dimension.
        dim: the dimension.
        keepdim: keep it as size 1.

    Raises:
        ValueError: k is out of range.

    Example:
        >>> sg.tensor([3.0, 1.0, 2.0]).kthvalue(2).values.item()
        2.0
    """

def le(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a <= b, element by element.

    Args, Returns, Raises: as in eq.

    Example:
        >>> y = sg.le(sg.tensor([1.0, 2.0]), 2.0)
    """

less_equal = le

def lerp(input: Tensor, end: Tensor, weight: Tensor | builtins.float) -> Tensor:
    """From input (weight 0) to end (weight 1) on a straight line, exact at both ends.

    Example:
        >>> sg.zeros(2).lerp(sg.ones(2), 0.25).tolist()
        [0.25, 0.25]
    """

def log(input: Tensor) -> Tensor:
    """The natural logarithm; -inf at 0, NaN below.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.log(sg.tensor([0.5, 1.0]))
    """

def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.log10(sg.tensor([0.5, 1.0]))
    """

def log1p(input: Tensor) -> Tensor:
    """log(1 + a), accurate for small a.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.log1p(sg.tensor([0.5, 1.0]))
    """

def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2; exact for powers of two.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.log2(sg.tensor([0.5, 1.0]))
    """

def log_softmax(input: Tensor, dim: builtins.int, dtype: DTypeLike | None = None) -> Tensor:
    """The logarithm of softmax, accurate where softmax is tiny.

    Args: as in softmax.

    Example:
        >>> y = sg.randn(4, 10).log_softmax(dim=1)
    """

def logaddexp(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """log(exp(a) + exp(b)), without overflow on the way.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.logaddexp(sg.tensor([1.0, 2.0]), 2.0)
    """

def logcumsumexp(input: Tensor, dim: builtins.int) -> Tensor:
    """log(exp(input[0]) + ... + exp(input[i])) along a dimension, without overflow; integers become float32.

    Example:
        >>> sg.zeros(2).logcumsumexp(0)[0].item()
        0.0
    """

def logical_and(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """Whether neither a nor b is 0.

    Args, Returns, Raises: as in eq.

    Example:
        >>> y = sg.logical_and(sg.tensor([1.0, 2.0]), 2.0)
    """

def logical_not(input: Tensor) -> Tensor:
    """Whether a is 0.

    Args, Returns: as in isnan.

    Example:
        >>> y = sg.logical_not(sg.tensor([0.5, 1.0]))
    """

def logical_or(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """Whether a or b is not 0.

    Args, Returns, Raises: as in eq.

    Example:
        >>> y = sg.logical_or(sg.tensor([1.0, 2.0]), 2.0)
    """

def logical_xor(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """Whether one of a and b is 0, and the other is not.

    Args, Returns, Raises: as in eq.

    Example:
        >>> y = sg.logical_xor(sg.tensor([1.0, 2.0]), 2.0)
    """

def logsumexp(input: Tensor, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False) -> Tensor:
    """log(sum(exp(x))) without overflow.

    Args: as in sum.

    Example:
        >>> sg.zeros(1).logsumexp(0).item()
        0.0
    """

def lt(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a < b, element by element.

    Args, Returns, Raises: as in eq.

    Example:
        >>> y = sg.lt(sg.tensor([1.0, 2.0]), 2.0)
    """

less = lt

def masked_fill(input: Tensor, mask: Tensor, value: Tensor | builtins.float) -> Tensor:
    """value where the mask holds, else the tensor; shapes broadcast.

    Example:
        >>> sg.ones(2).masked_fill(sg.tensor([True, False]), 5.0).tolist()
        [5.0, 1.0]
    """

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the elements for which the mask holds replaced by those of source, in order.

    Raises: as in gather.

    Example:
        >>> sg.zeros(3).masked_scatter(sg.tensor([True, False, True]), sg.ones(2)).tolist()
        [1.0, 0.0, 1.0]
    """

def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements for which the mask holds, as one dimension; shapes broadcast. Runs what is pending and waits for how
    many there are.

    Example:
        >>> sg.tensor([1, 2, 3]).masked_select(sg.tensor([True, False, True])).tolist()
        [1, 3]
    """

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product: [..., m, k] @ [..., k, n] -> [..., m, n]; leading dimensions broadcast, vectors as in NumPy.

    Args:
        other: the right-hand side.

    Raises:
        ValueError: the inner sizes differ.

    Example:
        >>> (sg.ones(2, 3) @ sg.ones(3, 2)).tolist()
        [[3.0, 3.0], [3.0, 3.0]]
    """

@overload
def max(input: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False) -> _ValuesAndIndices: ...
@overload
def max(input: Tensor, dim: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, *, other: Tensor) -> Tensor: ...
@overload
def max(
    input: Tensor,
    dim: builtins.int | Tensor | None = None,
    keepdim: builtins.bool | None = None,
    *,
    other: Tensor | None = None,
) -> Tensor | _ValuesAndIndices:
    """The largest value; NaN wins.

    Args:
        dim: a dimension: the result is (values, indices), the first of equals, and the gradient goes there. A tensor:
            element by element. Without it: of all elements, and equals share the gradient.
        keepdim: keep the dimension as size 1.

    Raises:
        ValueError: nothing to choose from.

    Example:
        >>> sg.tensor([1.0, 3.0]).max(0).indices.item()
        1
    """

def maximum(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """The larger of a and b; a NaN on either side wins.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.maximum(sg.tensor([1.0, 2.0]), 2.0)
    """

def mean(
    input: Tensor,
    dim: builtins.int | Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The mean over dimensions; integers as float32.

    Args, Returns: as in sum.

    Example:
        >>> sg.tensor([1.0, 3.0]).mean().item()
        2.0
    """

@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False) -> _ValuesAndIndices: ...
@overload
def median(
    input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False
) -> Tensor | _ValuesAndIndices:
    """The median: the lower of two middle values; NaN wins.

    Args:
        dim: a dimension: the result is (values, indices), and the gradient goes there. Without it: of all elements, and
            equals share the gradient.

    Args: as in max.

    Example:
        >>> sg.tensor([3.0, 1.0, 2.0]).median().item()
        2.0
    """

@overload
def min(input: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False) -> _ValuesAndIndices: ...
@overload
def min(input: Tensor, dim: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, *, other: Tensor) -> Tensor: ...
@overload
def min(
    input: Tensor,
    dim: builtins.int | Tensor | None = None,
    keepdim: builtins.bool | None = None,
    *,
    other: Tensor | None = None,
) -> Tensor | _ValuesAndIndices:
    """The smallest value; NaN wins.

    Args, Raises: as in max.

    Example:
        >>> sg.tensor([1.0, 3.0]).min(0).values.item()
        1.0
    """

def minimum(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """The smaller of a and b; a NaN on either side wins.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.minimum(sg.tensor([1.0, 2.0]), 2.0)
    """

def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices: [m, k] [k, n] -> [m, n]."""

def moveaxis(
    input: Tensor, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]
) -> Tensor:
    """Moves dimensions to other places; the others keep their order.

    Example:
        >>> sg.zeros(2, 3, 4).moveaxis(0, -1).shape
        (3, 4, 2)
    """

movedim = moveaxis

def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension.

    Example:
        >>> sg.tensor([3, 1, 2]).msort().tolist()
        [1, 2, 3]
    """

def mul(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a * b, element by element.

    Args:
        input: a, a tensor or a number.
        other: b, a tensor or a number; one of the two is a tensor, shapes broadcast.

    Returns:
        A tensor of the common shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Example:
        >>> y = sg.mul(sg.tensor([1.0, 2.0]), 2.0)
    """

multiply = mul

def multinomial(
    input: Tensor, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Categories drawn by their weights: [categories] -> [num_samples], or row by row; weights need not sum to 1.

    Args:
        num_samples: how many.
        replacement: whether one may come again.

    Returns:
        int64 numbers of categories.

    Raises:
        ValueError: more samples than categories, without replacement; at the next read, a weight that is negative,
            infinite or NaN, or a row without another than 0.

    Args: as in rand.

    Example:
        >>> sg.multinomial(sg.tensor([0.0, 1.0]), 3, replacement=True).tolist()
        [1, 1, 1]
    """

def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector: [m, k] [k] -> [m]."""

def nan_to_num(
    input: Tensor,
    nan: builtins.float | None = 0.0,
    posinf: builtins.float | None = None,
    neginf: builtins.float | None = None,
) -> Tensor:
    """Numbers in place of NaN and infinities.

    Args:
        nan: for NaN.
        posinf: for inf; None: the largest finite number.
        neginf: for -inf; None: the lowest finite number.

    Example:
        >>> sg.tensor([0.0, 1.0]).log().nan_to_num(neginf=-9.0).tolist()
        [-9.0, 0.0]
    """

def nanmean(
    input: Tensor,
    dim: builtins.int | Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The mean of what is not NaN.

    Args, Returns: as in sum.
    """

@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False) -> _ValuesAndIndices: ...
@overload
def nanmedian(
    input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False
) -> Tensor | _ValuesAndIndices:
    """The median of what is not NaN.

    Args: as in median.
    """

def nanquantile(
    input: Tensor,
    q: Tensor | builtins.float,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The q-quantiles of what is not NaN.

    Args: as in quantile.
    """

def nansum(
    input: Tensor,
    dim: builtins.int | Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """sum, where NaN counts as 0.

    Args, Returns: as in sum.
    """

def narrow(input: Tensor, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
    """A range along a dimension.

    Example:
        >>> sg.arange(5).narrow(0, 1, 3).tolist()
        [1, 2, 3]
    """

def ne(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a != b, element by element.

    Args, Returns, Raises: as in eq.

    Example:
        >>> y = sg.ne(sg.tensor([1.0, 2.0]), 2.0)
    """

not_equal = ne

def neg(input: Tensor) -> Tensor:
    """-a, element by element.

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.neg(sg.tensor([0.5, 1.0]))
    """

negative = neg

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@overload
def nonzero(input: Tensor, *, as_tuple: builtins.bool = False) -> Tensor | tuple[Tensor, ...]:
    """Where the elements that are not 0 are, in row-major order. Runs what is pending and waits for how many there are.

    Args:
        as_tuple: one tensor a dimension, which index the input, in place of one row an element.

    Returns:
        [n, dimensions] of int64, or a tuple of [n].

    Example:
        >>> sg.tensor([0, 2, 3]).nonzero().tolist()
        [[1], [2]]
    """

def norm(
    input: Tensor,
    p: builtins.float | str | None = "fro",
    dim: builtins.int | Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The length of vectors: sum(abs(x)**p)**(1/p); p may be infinite, and 0 counts what is not 0.

    Args: as in amax.

    Example:
        >>> sg.tensor([3.0, 4.0]).norm().item()
        5.0
    """

def numel(input: Tensor) -> builtins.int:
    """The number of elements."""

def one_hot(input: Tensor, num_classes: builtins.int = -1) -> Tensor:
    """Classes as rows of zeros with a one: [...] -> [..., num_classes], int64.

    Args:
        num_classes: -1 counts them, and runs what is pending.

    Raises:
        IndexError: at the next read, when a class is out of range.

    Example:
        >>> sg.one_hot(sg.tensor([1, 0])).tolist()
        [[0, 1], [1, 0]]
    """

def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Each element of one vector by each of the other: [m] [n] -> [m, n].

    Example:
        >>> sg.outer(sg.tensor([1, 2]), sg.tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]
    """

ger = outer

def permute(input: Tensor, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Dimensions in another order.

    Example:
        >>> sg.zeros(2, 3, 4).permute(2, 0, 1).shape
        (4, 2, 3)
    """

permute_dims = permute

def positive(input: Tensor) -> Tensor:
    """The tensor itself.

    Raises:
        TypeError: it is of bool.

    Example:
        >>> sg.tensor([-1.0]).positive().tolist()
        [-1.0]
    """

def pow(input: Tensor, exponent: Tensor | builtins.float) -> Tensor:
    """a ** b, element by element, with C99's special values.

    Args:
        exponent: b, a tensor or a number; one of the two is a tensor, shapes broadcast.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.pow(sg.tensor([1.0, 2.0]), 2.0)
    """

power = pow

def prod(
    input: Tensor,
    dim: builtins.int | Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The product over dimensions; of bool and integers as int64.

    Args, Returns: as in sum.

    Example:
        >>> sg.tensor([2.0, 3.0]).prod().item()
        6.0
    """

def quantile(
    input: Tensor,
    q: Tensor | builtins.float,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The q-quantiles along a dimension, or of all elements; NaN wins.

    Args:
        q: in [0, 1]: a number, or a tensor [m], whose dimension comes first in the result.
        dim: None: of all elements.
        keepdim: keep folded dimensions as size 1.
        interpolation: between two elements: linear, lower, higher, nearest or midpoint; with linear, q has a gradient,
            too.

    Example:
        >>> sg.tensor([0.0, 1.0, 2.0, 4.0]).quantile(0.5).item()
        1.5
    """

def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.rad2deg(sg.tensor([0.5, 1.0]))
    """

def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, in C order; a view where that is possible."""

def reciprocal(input: Tensor) -> Tensor:
    """1 / a, element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.reciprocal(sg.tensor([0.5, 1.0]))
    """

def relu(input: Tensor) -> Tensor:
    """a where it is positive, else 0; NaN stays NaN.

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.relu(sg.tensor([0.5, 1.0]))
    """

def remainder(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """The remainder of a / b with the sign of b, as Python's %; integers by 0 give 0.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.remainder(sg.tensor([1.0, 2.0]), 2.0)
    """

def repeat_interleave(
    input: Tensor,
    repeats: builtins.int | Tensor,
    dim: builtins.int | None = None,
    *,
    output_size: builtins.int | None = None,
) -> Tensor:
    """Repeats each element; without dim, those of the flat tensor.

    Example:
        >>> sg.arange(2).repeat_interleave(2).tolist()
        [0, 0, 1, 1]
    """

def reshape(input: Tensor, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
    """The same elements in another shape; a view when the strides allow, else a copy.

    Args:
        shape: sizes, as several ints or one tuple; one of them may be -1.

    Raises:
        ValueError: the numbers of elements differ.

    Example:
        >>> sg.arange(6).reshape(2, -1).shape
        (2, 3)
    """

def roll(
    input: Tensor,
    shifts: builtins.int | Sequence[builtins.int],
    dims: builtins.int | Sequence[builtins.int] | None = None,
) -> Tensor:
    """Elements shifted along dimensions; what leaves at one end comes in at the other. Without dims, of the flat
    tensor.

    Example:
        >>> sg.arange(4).roll(1).tolist()
        [3, 0, 1, 2]
    """

def rot90(input: Tensor, k: builtins.int = 1, dims: Sequence[builtins.int] = (0, 1)) -> Tensor:
    """A plane turned by k quarter turns, from the first dimension towards the second.

    Example:
        >>> sg.arange(4).reshape(2, 2).rot90().tolist()
        [[1, 3], [0, 2]]
    """

def round(input: Tensor, *, decimals: builtins.int = 0) -> Tensor:
    """The nearest whole number, ties to the even one; or the nearest multiple of 10^-decimals.

    Example:
        >>> sg.tensor([0.5, 1.5, -2.25]).round().tolist()
        [0.0, 2.0, -2.0]
    """

def rsqrt(input: Tensor) -> Tensor:
    """1 / sqrt(a), element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.rsqrt(sg.tensor([0.5, 1.0]))
    """

def scatter(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor | builtins.float) -> Tensor:
    """A copy with src written where gather would read; where an index occurs twice, either value stays.

    Raises: as in gather.
    """

def scatter_add(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with src added where gather would read; the same sums in every run.

    Raises: as in gather.
    """

def scatter_reduce(
    input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, reduce: str, *, include_self: builtins.bool = True
) -> Tensor:
    """A copy with src folded into the elements where gather would read; the same result in every run.

    Args:
        reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'; a mean of integers is rounded down.
        include_self: the element itself counts too; else it is replaced where values arrive.

    Raises:
        ValueError: reduce is another word, or the shapes do not fit.

    Raises: as in gather.

    Example:
        >>> x, index = sg.tensor([1.0, 2.0, 3.0]), sg.tensor([0, 0, 2])
        >>> x.scatter_reduce(0, index, sg.tensor([5.0, 6.0, 2.0]), 'amax').tolist()
        [6.0, 2.0, 3.0]
    """

def select(input: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """One slice along a dimension, without it.

    Example:
        >>> sg.arange(6).reshape(2, 3).select(1, 0).tolist()
        [0, 3]
    """

def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-a)), element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.sigmoid(sg.tensor([0.5, 1.0]))
    """

def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1; NaN stays NaN.

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.sign(sg.tensor([0.5, 1.0]))
    """

sgn = sign

def sin(input: Tensor) -> Tensor:
    """The sine of a in radians.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.sin(sg.tensor([0.5, 1.0]))
    """

def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine, element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.sinh(sg.tensor([0.5, 1.0]))
    """

def softmax(input: Tensor, dim: builtins.int, dtype: DTypeLike | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension, without overflow.

    Args:
        dim: the dimension that adds up to 1.
        dtype: what the tensor is converted to first.

    Example:
        >>> sg.zeros(2).softmax(0).tolist()
        [0.5, 0.5]
    """

def sort(
    input: Tensor, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False
) -> _ValuesAndIndices:
    """The elements in order along a dimension, and where they were.

    NaN counts as the largest; equal elements always keep their order. The gradient of a value goes to the element it
    was.

    Args:
        dim: the dimension to sort along.
        descending: the largest first.
        stable: accepted; every sort is stable.

    Returns:
        (values, indices), of the shape of input; indices are int64.

    Example:
        >>> sg.tensor([3.0, 1.0, 2.0]).sort().indices.tolist()
        [1, 2, 0]
    """

def split(
    input: Tensor, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0
) -> tuple[Tensor, ...]:
    """Parts of one size (the last may be smaller) or of given sizes, as views.

    Example:
        >>> [x.tolist() for x in sg.arange(5).split(2)]
        [[0, 1], [2, 3], [4]]
    """

def split_with_sizes(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """Parts of given sizes, as views."""

def sqrt(input: Tensor) -> Tensor:
    """The square root; NaN below 0.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.sqrt(sg.tensor([0.5, 1.0]))
    """

def square(input: Tensor) -> Tensor:
    """a * a, element by element; booleans become int64.

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.square(sg.tensor([0.5, 1.0]))
    """

def squeeze(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
    """Removes dimensions of size 1: those named, or all.

    Example:
        >>> sg.zeros(1, 3).squeeze().shape
        (3,)
    """

def std(
    input: Tensor,
    dim: builtins.int | Sequence[builtins.int] | builtins.bool | None = None,
    unbiased: builtins.bool | None = None,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
) -> Tensor:
    """The square root of the variance.

    Args, Returns: as in var.

    Example:
        >>> sg.tensor([1.0, 3.0]).std(correction=0).item()
        1.0
    """

def std_mean(
    input: Tensor,
    dim: builtins.int | Sequence[builtins.int] | builtins.bool | None = None,
    unbiased: builtins.bool | None = None,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
) -> tuple[Tensor, ...]:
    """std and mean.

    Args, Returns: as in var.
    """

def sub(input: Tensor | builtins.float, other: Tensor | builtins.float, *, alpha: builtins.float = 1) -> Tensor:
    """a - b, element by element.

    Args:
        alpha: what other is multiplied with.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.sub(sg.tensor([1.0, 2.0]), 2.0)
    """

subtract = sub

def sum(
    input: Tensor,
    dim: builtins.int | Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The sum over dimensions; of bool and integers as int64.

    Args:
        dim: a dimension or several; None folds all. axis= is accepted.
        keepdim: keep folded dimensions as size 1. keepdims= is accepted.
        dtype: the input is converted to it first.

    Returns:
        A tensor without the folded dimensions.

    Example:
        >>> sg.ones(2, 3).sum(dim=1).tolist()
        [3.0, 3.0]
    """

def swapaxes(input: Tensor, axis0: builtins.int, axis1: builtins.int) -> Tensor:
    """The same as transpose."""

def t(input: Tensor) -> Tensor:
    """A matrix transposed; vectors and 0-d tensors as they are."""

def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements of the tensor as if it were one-dimensional; negative indices count from the end.

    Raises: as in gather.

    Example:
        >>> sg.tensor([[1, 2], [3, 4]]).take(sg.tensor([0, -1])).tolist()
        [1, 4]
    """

def take_along_dim(input: Tensor, indices: Tensor, dim: builtins.int | None = None) -> Tensor:
    """gather, with broadcasting and negative indices; without dim, on the flat tensor.

    Raises: as in gather.
    """

def tan(input: Tensor) -> Tensor:
    """The tangent of a in radians.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.tan(sg.tensor([0.5, 1.0]))
    """

def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent, element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.tanh(sg.tensor([0.5, 1.0]))
    """

def tensor_split(
    input: Tensor, indices_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0
) -> tuple[Tensor, ...]:
    """Splits into parts of nearly equal size, or at given indices.

    Example:
        >>> [x.tolist() for x in sg.arange(5).tensor_split((1, 3))]
        [[0], [1, 2], [3, 4]]
    """

def tile(input: Tensor, *dims: builtins.int | Sequence[builtins.int]) -> Tensor:
    """repeat, where fewer numbers than dimensions count from the last.

    Example:
        >>> sg.arange(2).tile(2).tolist()
        [0, 1, 0, 1]
    """

def topk(
    input: Tensor, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True
) -> _ValuesAndIndices:
    """The k largest elements along a dimension, and where they are; of equal ones the first.

    Args:
        k: how many.
        dim: the dimension to choose along.
        largest: False: the k smallest.
        sorted: False: in any order.

    Returns:
        (values, indices), with k elements along dim.

    Raises:
        ValueError: k is larger than the dimension.

    Example:
        >>> sg.tensor([3.0, 1.0, 2.0]).topk(2).values.tolist()
        [3.0, 2.0]
    """

def transpose(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Two dimensions swapped.

    Example:
        >>> sg.zeros(2, 3).transpose(0, 1).shape
        (3, 2)
    """

swapdims = transpose

def tril(input: Tensor, diagonal: builtins.int = 0) -> Tensor:
    """The lower triangle of matrices, with zeros above the diagonal.

    Example:
        >>> sg.ones(2, 2).tril().tolist()
        [[1.0, 0.0], [1.0, 1.0]]
    """

def triu(input: Tensor, diagonal: builtins.int = 0) -> Tensor:
    """The upper triangle of matrices, with zeros below the diagonal.

    Example:
        >>> sg.ones(2, 2).triu().tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """

def trunc(input: Tensor) -> Tensor:
    """a without its fraction.

    Args:
        input: a, a tensor of any shape.

    Returns:
        A tensor of the same shape.

    Example:
        >>> y = sg.trunc(sg.tensor([0.5, 1.0]))
    """

fix = trunc

def unbind(input: Tensor, dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension, without it.

    Example:
        >>> [x.tolist() for x in sg.arange(4).reshape(2, 2).unbind()]
        [[0, 1], [2, 3]]
    """

def unflatten(input: Tensor, dim: builtins.int, sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Splits one dimension into several; one of the sizes may be -1.

    Example:
        >>> sg.zeros(6, 2).unflatten(0, (2, -1)).shape
        (2, 3, 2)
    """

@overload
def unique(
    input: Tensor,
    sorted: builtins.bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: builtins.int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: builtins.bool = True,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    dim: builtins.int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The distinct elements, in order. Reads how many there are, so it waits for the input.

    Args:
        sorted: accepted; they always are.
        return_inverse: also, for each element, which of them it is.
        return_counts: also how often each occurs.
        dim: compare slices along it; None: elements.

    Returns:
        The elements [n], or the slices, with n along dim; or a tuple that begins with them.

    Example:
        >>> sg.tensor([3, 1, 3]).unique().tolist()
        [1, 3]
    """

@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: builtins.int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    dim: builtins.int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The first element of each run of equal ones. Reads how many there are.

    Args, Returns: as in unique.

    Example:
        >>> sg.tensor([1, 1, 2, 1]).unique_consecutive().tolist()
        [1, 2, 1]
    """

def unsqueeze(input: Tensor, dim: builtins.int) -> Tensor:
    """Inserts a dimension of size 1.

    Example:
        >>> sg.zeros(3).unsqueeze(0).shape
        (1, 3)
    """

expand_dims = unsqueeze

def var(
    input: Tensor,
    dim: builtins.int | Sequence[builtins.int] | builtins.bool | None = None,
    unbiased: builtins.bool | None = None,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
) -> Tensor:
    """The variance, in two passes.

    Args:
        unbiased: False is correction=0.
        correction: what is taken off the number of elements; 1 unless given. ddof= is accepted.

    Args, Returns: as in sum.

    Example:
        >>> sg.tensor([1.0, 3.0]).var().item()
        2.0
    """

def var_mean(
    input: Tensor,
    dim: builtins.int | Sequence[builtins.int] | builtins.bool | None = None,
    unbiased: builtins.bool | None = None,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
) -> tuple[Tensor, ...]:
    """var and mean.

    Args, Returns: as in var.
    """

def vdot(input: Tensor | builtins.float, other: Tensor) -> Tensor:
    """The same as dot."""

def vsplit(input: Tensor, indices_or_sections: builtins.int | Sequence[builtins.int]) -> tuple[Tensor, ...]:
    """tensor_split along rows."""

def xlogy(input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor:
    """a * log(b); 0 where a is 0, unless b is NaN.

    Args, Returns, Raises: as in mul.

    Example:
        >>> y = sg.xlogy(sg.tensor([1.0, 2.0]), 2.0)
    """

def arange(
    start: builtins.float | None = None,
    end: builtins.float | None = None,
    step: builtins.float = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """start, start + step, ... up to but without end; int64 when all three are integers, else float32.

    Args:
        start: the first value; the end when it is alone.
        end: the bound.
        step: the distance.

    Args: as in zeros.

    Example:
        >>> sg.arange(3).tolist()
        [0, 1, 2]
    """

def as_tensor(data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """The data as a tensor, without a copy where that can be: a tensor itself when nothing changes, an array's own
    memory on the CPU.

    Args:
        data: a tensor, an array, numbers, nested lists.
        dtype: type of the elements.
        device: a Device or its name; None is the tensor's own, or the default one.

    Example:
        >>> x = sg.ones(2)
        >>> sg.as_tensor(x) is x
        True
    """

def asarray(
    obj: Any,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    copy: builtins.bool | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """The data as a tensor that shares its memory where that can be.

    Args:
        obj: a tensor, an array, numbers, nested lists.
        device: a Device or its name.
        copy: True always copies, False never, None when it must.

    Raises:
        ValueError: a copy would be needed and is not allowed.

    Args: as in zeros.

    Example:
        >>> sg.asarray([1, 2]).tolist()
        [1, 2]
    """

def avg_pool1d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    ceil_mode: builtins.bool = False,
    count_include_pad: builtins.bool = True,
) -> Tensor:
    """The mean of each window: [n, channels, ...] -> [n, channels, ...]; n may be missing.

    Args:
        count_include_pad: whether padding counts.

    Args, Raises: as in max_pool1d.

    Example:
        >>> sg.avg_pool1d(sg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
        [[2.0, 1.0]]
    """

def avg_pool2d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    ceil_mode: builtins.bool = False,
    count_include_pad: builtins.bool = True,
    divisor_override: builtins.int | None = None,
) -> Tensor:
    """The mean of each window: [n, channels, ...] -> [n, channels, ...]; n may be missing.

    Args:
        divisor_override: what sums are divided by.

    Args, Raises: as in avg_pool1d.

    Example:
        >>> sg.avg_pool2d(sg.ones(2, 3, 8, 8), 2).shape
        (2, 3, 4, 4)
    """

def block_diag(*tensors: Tensor) -> Tensor:
    """Matrices along the diagonal of zeros."""

def broadcast_shapes(*shapes: Sequence[builtins.int]) -> tuple[builtins.int, ...]:
    """The shape that these shapes broadcast to.

    Example:
        >>> sg.broadcast_shapes((2, 1), (3,))
        (2, 3)
    """

def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """All tensors expanded to one shape."""

def bucketize(
    input: Tensor, boundaries: Tensor, *, out_int32: builtins.bool = False, right: builtins.bool = False
) -> Tensor:
    """The number of the bucket between sorted boundaries in which each element lies.

    Args:
        boundaries: sorted, of one dimension.
        right: an element equal to a boundary lies behind it.

    Example:
        >>> sg.bucketize(sg.tensor([0.5, 2.0]), sg.tensor([1.0, 2.0])).tolist()
        [0, 1]
    """

def can_cast(from_: DTypeLike, to: DTypeLike) -> builtins.bool:
    """Whether a result of one type may be written to a tensor of another: bool, integer and float never go down.

    Example:
        >>> sg.can_cast(sg.float64, sg.float32), sg.can_cast(sg.float32, sg.int64)
        (True, False)
    """

def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of elements of vectors, as rows."""

def cat(tensors: Sequence[Tensor], dim: builtins.int = 0) -> Tensor:
    """Joins tensors along a dimension; their types are promoted.

    Raises:
        ValueError: the shapes differ elsewhere.

    Example:
        >>> sg.cat([sg.ones(2), sg.zeros(1)]).tolist()
        [1.0, 1.0, 0.0]
    """

concat = cat
concatenate = cat

def celu(input: Tensor, alpha: builtins.float = 1.0) -> Tensor:
    """input where it is positive, else alpha * (exp(input / alpha) - 1).

    Example:
        >>> y = sg.celu(sg.randn(3), 2.0)
    """

def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices."""

def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: str | builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    groups: builtins.int = 1,
) -> Tensor:
    """The products of a kernel with each place of an input of one dimension, summed: [n, channels, ...] -> [n, outputs,
    ...]; n may be missing.

    Args:
        weight: [outputs, channels / groups, ...].
        bias: [outputs], added.
        stride: from place to place.
        padding: zeros on both sides; 'valid' is 0, 'same' keeps the size.
        dilation: from element to element of the kernel.
        groups: channels and outputs in so many parts, each for itself.

    Raises:
        ValueError: shapes or options that do not fit.

    Example:
        >>> sg.conv1d(sg.ones(1, 1, 4), sg.ones(1, 1, 3)).tolist()
        [[[3.0, 3.0]]]
    """

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: str | builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    groups: builtins.int = 1,
) -> Tensor:
    """The products of a kernel with each place of an input of two dimensions, summed: [n, channels, ...] -> [n,
    outputs, ...]; n may be missing.

    Args, Raises: as in conv1d.

    Example:
        >>> sg.conv2d(sg.ones(2, 3, 8, 8), sg.ones(4, 3, 3, 3), padding=1).shape
        (2, 4, 8, 8)
    """

def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: str | builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    groups: builtins.int = 1,
) -> Tensor:
    """The products of a kernel with each place of an input of three dimensions, summed: [n, channels, ...] -> [n,
    outputs, ...]; n may be missing.

    Args, Raises: as in conv1d.

    Example:
        >>> sg.conv3d(sg.ones(1, 1, 4, 4, 4), sg.ones(2, 1, 3, 3, 3)).shape
        (1, 2, 2, 2, 2)
    """

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: builtins.int | Sequence[builtins.int] = 0,
    output_padding: builtins.int | Sequence[builtins.int] = 0,
    groups: builtins.int = 1,
    dilation: builtins.int | Sequence[builtins.int] = 1,
) -> Tensor:
    """The transposed convolution over one dimension: what backward() of a convolution does to its input. [n, channels,
    ...] -> [n, outputs, ...].

    Args:
        weight: [channels, outputs / groups, ...].
        bias: [outputs], added.
        stride, padding, groups, dilation: of that convolution.
        output_padding: more of the result at its end.

    Raises: as in conv1d.

    Example:
        >>> sg.conv_transpose1d(sg.ones(1, 1, 2), sg.ones(1, 1, 3)).tolist()
        [[[1.0, 2.0, 2.0, 1.0]]]
    """

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: builtins.int | Sequence[builtins.int] = 0,
    output_padding: builtins.int | Sequence[builtins.int] = 0,
    groups: builtins.int = 1,
    dilation: builtins.int | Sequence[builtins.int] = 1,
) -> Tensor:
    """The transposed convolution over two dimensions: what backward() of a convolution does to its input. [n, channels,
    ...] -> [n, outputs, ...].

    Args, Raises: as in conv_transpose1d.

    Example:
        >>> sg.conv_transpose2d(sg.ones(1, 3, 4, 4), sg.ones(3, 2, 2, 2), stride=2).shape
        (1, 2, 8, 8)
    """

def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: builtins.int = -100,
    reduction: str = "mean",
    label_smoothing: builtins.float = 0.0,
) -> Tensor:
    """The negative log-likelihood of classes: logits [n, classes, ...], target [n, ...] of integers, or probabilities
    [n, classes, ...].

    Args:
        weight: of each class, [classes]; the mean is divided by the weights that it added up.
        ignore_index: targets that count nowhere.
        reduction: 'mean', 'sum' or 'none'.
        label_smoothing: share of the target that all classes have alike.

    Raises:
        IndexError: at the next read, when a class is out of range.

    Example:
        >>> loss = sg.cross_entropy(sg.randn(4, 10), sg.tensor([1, 2, 3, 4]))
    """

def device(device: Device | str, index: builtins.int | None = None) -> Device:
    """A device by name: "cpu", "gpu", "gpu:1", or "gpu" and a number."""

def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """cat along the third dimension."""

def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Einstein's sum: labels of dimensions for each operand, and after '->' for the result; '...' stands for leading
    dimensions that broadcast, a label twice in one operand for its diagonal.

    Raises:
        ValueError: the equation does not fit the operands.

    Example:
        >>> sg.einsum('ij,ij->i', sg.ones(2, 3), sg.ones(2, 3)).tolist()
        [3.0, 3.0]
    """

def elu(input: Tensor, alpha: builtins.float = 1.0) -> Tensor:
    """input where it is positive, else alpha * (exp(input) - 1).

    Example:
        >>> y = sg.elu(sg.randn(3))
    """

def embedding(input: Tensor, weight: Tensor) -> Tensor:
    """weight[input]: rows of a table by number.

    Raises: as in gather.
    """

def empty(
    *size: builtins.int | Sequence[builtins.int],
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """A tensor with undefined contents.

    Args: as in zeros.

    Example:
        >>> sg.empty(2, 3).shape
        (2, 3)
    """

def empty_cache() -> None:
    """Returns memory kept for reuse to the system."""

def empty_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """A tensor of the shape, type and device of another, with undefined contents.

    Args: as in zeros_like.
    """

def explain(input: Tensor) -> str:
    """Every stage of a pending tensor: graph, plan, kernels. A text, for print(); shown as a table of the kernels. Runs
    nothing.
    """

def eye(
    n: builtins.int,
    m: builtins.int | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Ones on the diagonal, [n, m].

    Args:
        n: rows.
        m: columns; None is n.

    Args: as in zeros.

    Example:
        >>> sg.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

def from_dlpack(ext_tensor: Any, *, device: DeviceLike | None = None, copy: builtins.bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array: each sees what the other writes.

    A read-only array is copied. Arrays on other devices come as a copy on the CPU if their library makes one.

    Args:
        ext_tensor: an array with __dlpack__, or a capsule.
        device: where the tensor is to be; None leaves it.
        copy: True always copies, False never, None when it must.

    Raises:
        BufferError: a copy would be needed and is not allowed; negative strides.
        TypeError: elements that tensors do not have.

    Example:
        >>> import numpy as np
        >>> a = np.zeros(2, np.float32)
        >>> x = sg.from_dlpack(a)
        >>> a[0] = 3
        >>> x.tolist()
        [3.0, 0.0]
    """

def from_numpy(array: Any) -> Tensor:
    """A CPU tensor on the array's own memory: each sees what the other writes.

    Whatever reads or writes such a tensor runs at once, so it is not fused with what comes later. A read-only array is
    copied, with a warning.

    Args:
        array: writable, of a supported type.

    Raises:
        TypeError: not an array, or a type that is not supported.
        ValueError: negative strides, another byte order.

    Example:
        >>> import numpy as np
        >>> a = np.zeros(2, np.float32)
        >>> x = sg.from_numpy(a)
        >>> a[0] = 3
        >>> x.tolist()
        [3.0, 0.0]
    """

def full(
    size: builtins.int | Sequence[builtins.int],
    fill_value: builtins.float,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """A tensor of one value; its type is the number's (float32, int64, bool).

    Args:
        size: an int or a tuple.
        fill_value: the number.

    Args: as in zeros.

    Example:
        >>> sg.full((2,), 7).tolist()
        [7, 7]
    """

def full_like(
    input: Tensor,
    fill_value: builtins.float,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """One value in the shape, type and device of another tensor.

    Args:
        fill_value: the number.

    Args: as in zeros_like.

    Example:
        >>> sg.full_like(sg.zeros(2), 7).tolist()
        [7.0, 7.0]
    """

def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """input times the normal distribution function of input.

    Args:
        approximate: 'none', or 'tanh' for the formula with tanh in place of erf.

    Example:
        >>> y = sg.gelu(sg.randn(3))
    """

def get_default_device() -> Device:
    """The device of tensors made without device=; at first that of SPIROGRAD_DEVICE."""

def get_default_dtype() -> dtype:
    """The type of Python floats.

    Example:
        >>> sg.get_default_dtype()
        spirograd.float32
    """

def get_float32_matmul_precision() -> str:
    """The precision that set_float32_matmul_precision() set.

    Example:
        >>> sg.get_float32_matmul_precision()
        'highest'
    """

def get_rng_state() -> Tensor:
    """The position of the stream of random numbers, for set_rng_state().

    Example:
        >>> state = sg.get_rng_state()
        >>> a = sg.rand(2)
        >>> sg.set_rng_state(state)
        >>> a.tolist() == sg.rand(2).tolist()
        True
    """

def hardshrink(input: Tensor, lambd: builtins.float = 0.5) -> Tensor:
    """input, and 0 within lambd of it.

    Example:
        >>> sg.hardshrink(sg.tensor([-2.0, 0.25])).tolist()
        [-2.0, 0.0]
    """

def hardsigmoid(input: Tensor) -> Tensor:
    """a / 6 + 1 / 2, at least 0 and at most 1.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.hardsigmoid(sg.tensor([0.5, 1.0]))
    """

def hardswish(input: Tensor) -> Tensor:
    """a * hardsigmoid(a), element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.hardswish(sg.tensor([0.5, 1.0]))
    """

def hardtanh(input: Tensor, min_val: builtins.float = -1.0, max_val: builtins.float = 1.0) -> Tensor:
    """input, at least min_val and at most max_val.

    Example:
        >>> sg.hardtanh(sg.tensor([-2.0, 0.5])).tolist()
        [-1.0, 0.5]
    """

def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """cat along columns; of vectors, end to end."""

def initial_seed() -> builtins.int:
    """The seed that the random numbers started from."""

def is_grad_enabled() -> builtins.bool:
    """Whether operations are recorded for gradients, in this thread."""

def is_tensor(obj: Any) -> builtins.bool:
    """Whether an object is a Tensor."""

def isin(
    elements: Tensor,
    test_elements: Tensor | builtins.float,
    *,
    assume_unique: builtins.bool = False,
    invert: builtins.bool = False,
) -> Tensor:
    """Whether each element is among others.

    Args:
        test_elements: the others.
        invert: whether it is not.

    Example:
        >>> sg.isin(sg.tensor([1, 2]), sg.tensor([2, 3])).tolist()
        [False, True]
    """

def leaky_relu(input: Tensor, negative_slope: Tensor | builtins.float = 0.01) -> Tensor:
    """input where it is positive, else input * negative_slope.

    Example:
        >>> sg.leaky_relu(sg.tensor([-2.0, 2.0]), 0.5).tolist()
        [-1.0, 2.0]
    """

def linspace(
    start: builtins.float,
    end: builtins.float,
    steps: builtins.int,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Evenly spaced values from start to end, both included.

    Args:
        start: the first value.
        end: the last one.
        steps: how many.

    Raises:
        ValueError: negative steps, a bound that is not finite.

    Args: as in zeros.

    Example:
        >>> sg.linspace(0, 1, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """

def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(a)), accurate where that is tiny or near 0.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.logsigmoid(sg.tensor([0.5, 1.0]))
    """

def logspace(
    start: builtins.float,
    end: builtins.float,
    steps: builtins.int,
    base: builtins.float = 10,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """base to the power of evenly spaced exponents.

    Args:
        start: the first exponent.
        end: the last one.
        steps: how many.
        base: of the power.

    Args: as in zeros.

    Example:
        >>> sg.logspace(0, 3, 4, base=2).tolist()
        [1.0, 2.0, 4.0, 8.0]
    """

def manual_seed(seed: builtins.int) -> Generator:
    """Restarts the random numbers of all devices from a seed.

    Returns:
        The common generator.

    Example:
        >>> g = sg.manual_seed(0)
    """

def max_pool1d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
) -> Tensor:
    """The largest element of each window: [n, channels, ...] -> [n, channels, ...]; n may be missing.

    Args:
        kernel_size: of the window.
        stride: from window to window; None: their size.
        padding: on both sides, at most half of the window.
        ceil_mode: whether windows may reach beyond the end.
        dilation: from element to element of a window.

    Raises:
        ValueError: a window larger than the input.

    Example:
        >>> sg.max_pool1d(sg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
        [[3.0, 2.0]]
    """

def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
) -> _ValuesAndIndices:
    """The largest element, and its place along the input, of each window: [n, channels, ...] -> [n, channels, ...]; n
    may be missing.

    Args, Raises: as in max_pool1d.

    Example:
        >>> sg.max_pool1d_with_indices(sg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).indices.tolist()
        [[1, 2]]
    """

def max_pool2d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
) -> Tensor:
    """The largest element of each window: [n, channels, ...] -> [n, channels, ...]; n may be missing.

    Args, Raises: as in max_pool1d.

    Example:
        >>> sg.max_pool2d(sg.ones(2, 3, 8, 8), 2).shape
        (2, 3, 4, 4)
    """

def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
) -> _ValuesAndIndices:
    """The largest element, and its place in the image as if that were flat, of each window: [n, channels, ...] -> [n,
    channels, ...]; n may be missing.

    Args, Raises: as in max_pool1d.

    Example:
        >>> sg.max_pool2d_with_indices(sg.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2).indices.tolist()
        [[[1]]]
    """

def meshgrid(*tensors: Tensor, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Vectors as coordinates of a grid: one tensor each, of the grid's shape.

    Args:
        indexing: 'ij', or 'xy' with the first two dimensions swapped.

    Example:
        >>> [x.shape for x in sg.meshgrid(sg.arange(2), sg.arange(3))]
        [(2, 3), (2, 3)]
    """

def mish(input: Tensor) -> Tensor:
    """a * tanh(softplus(a)), element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.mish(sg.tensor([0.5, 1.0]))
    """

def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: builtins.int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-probability of the target classes: input [n, classes, ...], target [n, ...] of integers.

    Args:
        weight: of each class, [classes]; the mean is divided by the weights that it added up.
        ignore_index: targets that count nowhere.
        reduction: 'mean', 'sum' or 'none'.

    Raises:
        IndexError: at the next read, when a class is out of range.

    Example:
        >>> sg.nll_loss(sg.tensor([[-1.0, -2.0]]), sg.tensor([1])).item()
        2.0
    """

def normal(
    mean: Tensor | builtins.float = 0.0,
    std: Tensor | builtins.float = 1.0,
    size: builtins.int | Sequence[builtins.int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Normal numbers of a mean and a standard deviation: two tensors, one, or two numbers and a size.

    Args:
        mean: where they lie.
        std: how far apart, 0 or more.
        size: the shape, when both are numbers.

    Raises:
        ValueError: a negative std; in a tensor, at the next read.

    Args: as in rand.

    Example:
        >>> sg.normal(2.0, 0.0, (2,)).tolist()
        [2.0, 2.0]
    """

def ones(
    *size: builtins.int | Sequence[builtins.int],
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """A tensor of ones.

    Args: as in zeros.

    Example:
        >>> sg.ones(2).tolist()
        [1.0, 1.0]
    """

def ones_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Ones of the shape, type and device of another tensor.

    Args: as in zeros_like.
    """

def pad(
    input: Tensor, pad: Sequence[builtins.int], mode: str = "constant", value: builtins.float | None = None
) -> Tensor:
    """Adds borders, or with negative widths removes them.

    Args:
        pad: (before, after) of the last dimension, then of the one before it, and so on.
        mode: 'constant', 'reflect', 'replicate' or 'circular'.
        value: of a constant border; 0 unless given.

    Example:
        >>> sg.pad(sg.ones(2), (1, 2)).tolist()
        [0.0, 1.0, 1.0, 0.0, 0.0]
    """

def promote_types(type1: DTypeLike, type2: DTypeLike) -> dtype:
    """The smallest type that holds the values of both, as tensors of them are combined.

    Example:
        >>> sg.promote_types(sg.int64, sg.float16)
        spirograd.float16
    """

def rand(
    *size: builtins.int | Sequence[builtins.int],
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1), the same bits on every device.

    Args:
        generator: the stream to take from; None is the common one.

    Args: as in zeros.

    Example:
        >>> x = sg.rand(2, 3)
    """

def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1) in the shape, type and device of another tensor.

    Args:
        input: the model.

    Args: as in rand.
    """

def randint(
    low: builtins.int | None = None,
    high: builtins.int | Sequence[builtins.int] | None = None,
    size: builtins.int | Sequence[builtins.int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Integers from low up to but without high, the same on every device; randint(high, size) starts at 0.

    Args:
        low: the smallest.
        high: the bound, at most 2**62 above.
        size: the shape.

    Raises:
        ValueError: an empty range.

    Args: as in rand.

    Example:
        >>> x = sg.randint(1, 7, (2, 3))
        >>> sg.randint(1, (2,)).tolist()
        [0, 0]
    """

def randint_like(
    input: Tensor,
    low: builtins.int | None = None,
    high: builtins.int | None = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Integers from low up to but without high in the shape, type and device of another tensor; randint_like(input,
    high) starts at 0.

    Args:
        low: the smallest.
        high: the bound.

    Args: as in rand_like.
    """

def randn(
    *size: builtins.int | Sequence[builtins.int],
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Standard normal numbers.

    Args: as in rand.

    Example:
        >>> x = sg.randn(2, 3)
    """

def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Standard normal numbers in the shape, type and device of another tensor.

    Args: as in rand_like.
    """

def randperm(
    n: builtins.int,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """The integers from 0 to n - 1 in a random order.

    Args:
        n: how many.

    Args: as in rand.

    Example:
        >>> sorted(sg.randperm(4).tolist())
        [0, 1, 2, 3]
    """

def reset_stats() -> None:
    """Sets the counters to 0."""

def result_type(tensor1: Tensor | builtins.float, tensor2: Tensor | builtins.float) -> dtype:
    """The type of a result of two tensors or numbers: 0-d tensors and numbers count only by their kind (bool, integer,
    float).

    Example:
        >>> sg.result_type(sg.tensor([1, 2]), 1.5)
        spirograd.float32
    """

def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | builtins.float,
    *,
    out_int32: builtins.bool = False,
    right: builtins.bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where values belong in a sorted sequence, so that it stays sorted.

    The sequence comes first: [n], or [..., n] for values [..., m]. NaN counts as the largest.

    Args:
        input: the values.
        out_int32: int32 instead of int64.
        right: behind equal elements instead of before them; the same as side='right'.
        sorter: the places of the elements in order, as argsort() gives them, when the sequence is not sorted.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> sg.searchsorted(sg.tensor([1, 3, 5]), sg.tensor([3, 6])).tolist()
        [1, 3]
    """

def seed() -> builtins.int:
    """Restarts the random numbers from an unpredictable seed, and returns it."""

def selu(input: Tensor) -> Tensor:
    """1.0507 * (a where it is positive, else 1.6733 * (exp(a) - 1)).

    Args, Returns: as in exp.

    Example:
        >>> y = sg.selu(sg.tensor([0.5, 1.0]))
    """

def set_default_device(device: Device | str | None) -> None:
    """The device of tensors made without device=; None for that of SPIROGRAD_DEVICE."""

def set_default_dtype(d: DTypeLike) -> None:
    """The type of Python floats, of zeros(), rand() and their like, and of what integers become where fractions are
    needed; at first float32.

    Raises:
        TypeError: not a floating type.
    """

def set_float32_matmul_precision(precision: str) -> None:
    """How exactly a GPU with matrix units multiplies float32 matrices from now on, gradients included. Other devices
    and convolutions compute in float32 throughout, and attention with the digits of float32.

    Args:
        precision: "highest", as at first: float32 throughout; "high": each factor is the sum of two halves, scaled
            row by row, with errors like those of float32; "medium": each factor is one scaled half, with errors of
            2^-11.

    Raises:
        ValueError: another word.

    Example:
        >>> sg.set_float32_matmul_precision("highest")
    """

def set_rng_state(new_state: Tensor) -> None:
    """Continues from a state of get_rng_state().

    Raises:
        ValueError: the tensor is no state.
    """

def silu(input: Tensor) -> Tensor:
    """a * sigmoid(a), element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.silu(sg.tensor([0.5, 1.0]))
    """

def softplus(input: Tensor, beta: builtins.float = 1.0, threshold: builtins.float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta, and input itself where beta * input is above the threshold.

    Example:
        >>> y = sg.softplus(sg.randn(3))
    """

def softshrink(input: Tensor, lambd: builtins.float = 0.5) -> Tensor:
    """input moved towards 0 by lambd, and 0 within lambd of it.

    Example:
        >>> sg.softshrink(sg.tensor([-2.0, 0.25])).tolist()
        [-1.5, 0.0]
    """

def softsign(input: Tensor) -> Tensor:
    """a / (1 + abs(a)), element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.softsign(sg.tensor([0.5, 1.0]))
    """

def stack(tensors: Sequence[Tensor], dim: builtins.int = 0) -> Tensor:
    """Tensors of one shape along a new dimension.

    Example:
        >>> sg.stack([sg.ones(2), sg.zeros(2)]).tolist()
        [[1.0, 1.0], [0.0, 0.0]]
    """

def stats() -> dict[str, builtins.int]:
    """Counters since the start or reset_stats(): submissions, dispatches, bytes, plans."""

def synchronize(device: Device | str | None = None) -> None:
    """Runs what is pending and waits until it is done.

    Raises:
        IndexError: a kernel met an index out of range.
        DeviceTimeoutError, DeviceLostError: the device failed.
    """

def tanhshrink(input: Tensor) -> Tensor:
    """a - tanh(a), element by element.

    Args, Returns: as in exp.

    Example:
        >>> y = sg.tanhshrink(sg.tensor([0.5, 1.0]))
    """

def tensor(
    data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None, requires_grad: builtins.bool = False
) -> Tensor:
    """A tensor with a copy of the data: numbers, nested lists, arrays, tensors.

    Python floats give float32, ints int64, bools bool; arrays keep their type.

    Args:
        data: the values.

    Raises:
        TypeError: a type that is not supported, such as float16.
        OverflowError: an integer beyond int64.

    Args: as in zeros.

    Example:
        >>> sg.tensor([[1.0, 2.0]]).shape
        (1, 2)
    """

def tensordot(a: Tensor, b: Tensor, dims: builtins.int | Sequence[Sequence[builtins.int]] = 2) -> Tensor:
    """Products summed over pairs of dimensions.

    Args:
        dims: how many of the last of a with the first of b, or two lists of dimensions.

    Example:
        >>> sg.tensordot(sg.ones(2, 3), sg.ones(3, 4), dims=1).shape
        (2, 4)
    """

def threshold(input: Tensor, threshold: builtins.float, value: builtins.float) -> Tensor:
    """input where it is above the threshold, else value.

    Example:
        >>> sg.threshold(sg.tensor([1.0, 3.0]), 2.0, 0.0).tolist()
        [0.0, 3.0]
    """

def tril_indices(
    row: builtins.int,
    col: builtins.int,
    offset: builtins.int = 0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Rows and columns of the lower triangle: [2, n].

    Example:
        >>> sg.tril_indices(2, 2).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """

def triu_indices(
    row: builtins.int,
    col: builtins.int,
    offset: builtins.int = 0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Rows and columns of the upper triangle: [2, n].

    Example:
        >>> sg.triu_indices(2, 2).tolist()
        [[0, 0, 1], [0, 1, 1]]
    """

def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """cat along rows; vectors are rows."""

@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Tensor | builtins.float, other: Tensor | builtins.float) -> Tensor: ...
@overload
def where(
    condition: Tensor, input: Tensor | builtins.float | None = None, other: Tensor | builtins.float | None = None
) -> Tensor | tuple[Tensor, ...]:
    """input where the condition holds, else other; shapes broadcast. The condition alone: where it is not 0, as
    nonzero(as_tuple=True).

    Example:
        >>> sg.where(sg.tensor([True, False]), 1.0, 2.0).tolist()
        [1.0, 2.0]
    """

def zeros(
    *size: builtins.int | Sequence[builtins.int],
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """A tensor of zeros.

    Args:
        size: several ints or one tuple.
        dtype: type of the elements.
        device: a Device or "cpu", "gpu", "gpu:1"; None is the default one.
        requires_grad: whether backward() reaches the tensor.

    Example:
        >>> sg.zeros(2).tolist()
        [0.0, 0.0]
    """

def zeros_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Zeros of the shape, type and device of another tensor.

    Args:
        input: the model.

    Args: as in zeros.
    """
