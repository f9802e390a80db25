"""Logs for TensorBoard: `from spirograd.utils.tensorboard import SummaryWriter`. Writing them needs no package."""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..._core import Tensor
from . import _events
from ._graph import graph_of
from ._projector import write_points

__all__ = ["SummaryWriter"]

_numbers = itertools.count()
# Bounds of histograms: those of TensorBoard, a tenth apart from each other.
_POSITIVE = 1e-12 * 1.1 ** np.arange(775)
_LIMITS = [*-_POSITIVE[::-1], 0.0, *_POSITIVE, 1.7976931348623157e308]


def _values(x: Any) -> np.ndarray[Any, Any]:
    if isinstance(x, Tensor):
        x = x.detach().cpu()
        x = (x.float() if x.dtype.name == "bfloat16" else x).numpy()
    return np.asarray(x)


class SummaryWriter:
    """Writes an event file that TensorBoard shows: numbers, histograms, pictures, sounds, texts and graphs.

    Args:
        log_dir: the folder; None: runs/ with the time and the machine's name.
        comment: added to that name.
        purge_step: accepted.
        max_queue: how many events are kept before they are written.
        flush_secs: after so many seconds they are written as well.
        filename_suffix: added to the file's name.

    Example:
        >>> import tempfile
        >>> from spirograd.utils.tensorboard import SummaryWriter
        >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("loss", 1 / (step + 1), step)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if log_dir is None:
            log_dir = Path("runs") / (time.strftime("%b%d_%H-%M-%S_") + socket.gethostname() + comment)
        self.log_dir, self._max, self._seconds = str(log_dir), max_queue, flush_secs
        Path(log_dir).mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
        self._path = Path(log_dir) / (name + filename_suffix)
        self._queue: list[bytes] = []
        self._others: dict[str, SummaryWriter] = {}
        self._written = time.time()
        self._add(_events.event(time.time(), version="brain.Event:2"))
        self.flush()

    def _add(self, data: bytes) -> None:
        self._queue.append(_events.record(data))
        if len(self._queue) >= self._max or time.time() - self._written > self._seconds:
            self.flush()

    def _values_at(self, values: list[bytes], step: int | None, walltime: float | None) -> None:
        at = None if step is None else int(step)
        self._add(_events.event(time.time() if walltime is None else walltime, at, values))

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Adds a number.

        Args:
            tag: its name; a slash makes groups.
            scalar_value: a number, or a tensor of one element, which is read.
            global_step: where it stands.
            walltime: seconds since 1970; None is now.
            new_style: accepted.
            double_precision: accepted; numbers are written as float32.
        """
        self._values_at([_events.scalar(tag, float(_values(scalar_value)))], global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Adds several numbers that TensorBoard draws into one picture: each in a folder of its own, under one tag."""
        for name, x in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{name}")
            if folder not in self._others:
                self._others[folder] = SummaryWriter(folder, max_queue=self._max, flush_secs=self._seconds)
            self._others[folder].add_scalar(main_tag, x, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Adds the distribution of values.

        Args:
            tag: its name.
            values: a tensor or an array, not empty.
            global_step: where it stands.
            bins: "tensorflow", a number of bins, a name that numpy.histogram knows, or their bounds.
            walltime: seconds since 1970; None is now.
            max_bins: accepted.

        Raises:
            ValueError: there are no values.
        """
        x = _values(values).astype(np.float64).ravel()
        if not x.size:
            raise ValueError(f"add_histogram: '{tag}' has no values; leave it out")
        limits = _LIMITS if isinstance(bins, str) and bins == "tensorflow" else np.histogram_bin_edges(x, bins).tolist()
        self._values_at([_events.histogram(tag, x, limits)], global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Adds a picture.

        Args:
            tag: its name.
            img_tensor: fractions from 0 to 1, or uint8.
            global_step: where it stands.
            walltime: seconds since 1970; None is now.
            dataformats: the order of its dimensions: "CHW", "HWC" or "HW".

        Raises:
            ValueError: another order, or another number of channels than 1, 3 or 4.
        """
        self._values_at([_events.image(tag, _pixels(img_tensor, dataformats))], global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Adds pictures, as many rows of one."""
        each = [_pixels(x, dataformats.replace("N", "")) for x in _values(img_tensor)]
        self._values_at([_events.image(tag, np.concatenate(each))], global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Adds a figure of matplotlib."""
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        self._values_at([_events.image(tag, np.ascontiguousarray(pixels))], global_step, walltime)
        if close:
            from matplotlib import pyplot

            pyplot.close(figure)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Adds a text in Markdown."""
        self._values_at([_events.text(f"{tag}/text_summary", text_string)], global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Adds a sound.

        Args:
            tag: its name.
            snd_tensor: [1, frames] or [frames] of fractions from -1 to 1.
            global_step: where it stands.
            sample_rate: frames in a second.
            walltime: seconds since 1970; None is now.

        Raises:
            ValueError: several channels.
        """
        sound = _values(snd_tensor).squeeze()
        if sound.ndim != 1:
            raise ValueError(f"add_audio: shape {list(_values(snd_tensor).shape)}; give one channel, [1, frames]")
        samples = (sound.astype(np.float64).clip(-1, 1) * 32767).astype(np.int16)
        self._values_at([_events.audio(tag, samples, sample_rate)], global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Adds a curve of precision and recall.

        Args:
            tag: its name.
            labels: 0 or 1 for each sample.
            predictions: the probability of 1 for each.
            global_step: where it stands.
            num_thresholds: how many points the curve has, 127 at most.
            weights: of the samples; None: 1.
            walltime: seconds since 1970; None is now.

        Raises:
            ValueError: the shapes differ.
        """
        truth, chance = _values(labels).astype(np.float64).ravel(), _values(predictions).astype(np.float64).ravel()
        if truth.shape != chance.shape:
            raise ValueError(f"add_pr_curve: {truth.size} labels and {chance.size} predictions; give one for each")
        count, each = min(num_thresholds, 127), 1.0 if weights is None else _values(weights).ravel()
        bins = np.floor(chance * (count - 1)).astype(np.int64).clip(0, count - 1)
        right, wrong = (np.bincount(bins, x * each, count)[::-1].cumsum()[::-1] for x in (truth, 1 - truth))
        precision, recall = right / np.maximum(1e-7, right + wrong), right / max(1e-7, right[0])
        rows = np.stack([right, wrong, wrong[0] - wrong, right[0] - right, precision, recall])
        self._values_at([_events.curve(tag, rows)], global_step, walltime)

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Writes points for the projector: files beside the events.

        Args:
            mat: [n, coordinates].
            metadata: a label for each point, or with a header a list of them.
            label_img: a picture for each: [n, channels, height, width].
            global_step: where it stands.
            tag: the name of the points.
            metadata_header: the names of several labels.

        Raises:
            ValueError: another number of labels or of pictures than of points.
        """
        points = _values(mat)
        others = [len(x) for x in (metadata, label_img) if x is not None]
        if points.ndim != 2 or any(n != len(points) for n in others):
            raise ValueError(
                f"add_embedding: points {list(points.shape)}, {others} labels or pictures; give one for each"
            )
        pixels = None if label_img is None else np.stack([_pixels(x, "CHW") for x in _values(label_img)])
        step = 0 if global_step is None else int(global_step)
        write_points(Path(self.log_dir), tag, step, points, metadata, metadata_header, pixels)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Adds the graph of a model: its operations, in the modules that they belong to.

        The model is called once, in evaluation mode, with gradients: what has none is not in the graph.

        Args:
            model: a module.
            input_to_model: a tensor, or a tuple of arguments; None: only a text, of the modules.
            verbose, use_strict_trace: accepted.
        """
        if input_to_model is None:
            self.add_text("graph", "\n".join(f"    {line}" for line in repr(model).splitlines()))
            return
        self._add(_events.graph(time.time(), graph_of(model, input_to_model)))

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Adds options, as a table in a text, and metrics, as numbers."""
        rows = "".join(f"| {name} | {value} |\n" for name, value in hparam_dict.items())
        self.add_text("hparams", f"| option | value |\n|---|---|\n{rows}", global_step)
        for name, value in metric_dict.items():
            self.add_scalar(name, value, global_step)

    def flush(self) -> None:
        """Writes what is kept."""
        with self._path.open("ab") as file:
            file.write(b"".join(self._queue))
        self._queue.clear()
        self._written = time.time()
        for other in self._others.values():
            other.flush()

    def close(self) -> None:
        """Writes what is kept; the writer can be used again."""
        self.flush()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _pixels(x: Any, order: str) -> np.ndarray[Any, Any]:
    """[height, width, channels] of uint8."""
    values = _values(x)
    if sorted(order) not in (["C", "H", "W"], ["H", "W"]) or values.ndim != len(order):
        raise ValueError(f"add_image: shape {list(values.shape)} as '{order}'; use CHW, HWC or HW")
    values = values[..., None] if len(order) == 2 else values.transpose([order.index(d) for d in "HWC"])
    if values.shape[2] not in (1, 3, 4):
        raise ValueError(f"add_image: {values.shape[2]} channels; use 1, 3 or 4")
    return values if values.dtype == np.uint8 else (values * 255).clip(0, 255).astype(np.uint8)
