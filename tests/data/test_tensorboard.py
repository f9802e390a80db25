"""Event files: read back by TensorBoard where it is installed, and by their own checksums."""

from __future__ import annotations

import io
import struct
import wave
from pathlib import Path

import numpy as np
import pytest

import spirograd as sg
from spirograd.utils.tensorboard import SummaryWriter, _events
from spirograd.utils.tensorboard._graph import graph_of


class Residual(sg.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = sg.nn.Sequential(sg.nn.Linear(2, 2), sg.nn.ReLU())

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        return x + self.layers(x)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss/train", sg.tensor(1 / (step + 1)), step)
        writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 5)
        writer.add_histogram("weights", sg.tensor([-1.0, 0.0, 0.5, 0.5, 2.0]), 1)
        writer.add_image("picture", np.arange(12, dtype=np.uint8).reshape(2, 2, 3), 2, dataformats="HWC")
        writer.add_images("pictures", sg.zeros(2, 1, 3, 4), 0)
        writer.add_text("notes", "**bold** ü", 7)
        writer.add_graph(sg.nn.Linear(2, 1))
        writer.add_graph(Residual(), sg.ones(3, 2))
        writer.add_audio("tone", sg.sin(sg.arange(100.0)).unsqueeze(0), 4, sample_rate=8000)
        writer.add_pr_curve("curve", [1, 0, 1, 1], sg.tensor([0.9, 0.6, 0.4, 1.0]), 2, num_thresholds=5)
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.5})
    return tmp_path


def test_tensorboard_reads_it(folder: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(folder), size_guidance={"tensors": 0, "images": 0})
    events.Reload()
    assert [(e.step, round(e.value, 4)) for e in events.Scalars("loss/train")] == [(0, 1.0), (1, 0.5), (2, 0.3333)]
    assert events.Scalars("accuracy")[0].value == 0.5
    for name, expected in (("a", 1.0), ("b", 2.0)):  # each in its own folder: TensorBoard draws them together
        other = accumulator.EventAccumulator(str(folder / f"both_{name}"))
        other.Reload()
        assert [(e.step, e.value) for e in other.Scalars("both")] == [(5, expected)]
    (histogram,) = events.Histograms("weights")
    value = histogram.histogram_value
    assert (value.min, value.max, value.num, value.sum, value.sum_squares) == (-1.0, 2.0, 5.0, 2.0, 5.5)
    assert sum(value.bucket) == 5 and len(value.bucket) == len(value.bucket_limit)
    (picture,) = events.Images("picture")
    assert (picture.step, picture.width, picture.height) == (2, 2, 2)
    assert picture.encoded_image_string.startswith(b"\x89PNG")
    assert (events.Images("pictures")[0].height, events.Images("pictures")[0].width) == (6, 4)
    (text,) = events.Tensors("notes/text_summary")
    assert text.step == 7 and text.tensor_proto.string_val[0].decode() == "**bold** ü"
    (tone,) = events.Audio("tone")
    assert (tone.step, tone.sample_rate, tone.length_frames, tone.content_type) == (4, 8000.0, 100, "audio/wav")
    with wave.open(io.BytesIO(tone.encoded_audio_string)) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getnframes()) == (8000, 1, 100)
    (curve,) = events.Tensors("curve")
    rows = np.frombuffer(curve.tensor_proto.tensor_content, np.float32).reshape(6, 5)
    assert curve.step == 2 and [d.size for d in curve.tensor_proto.tensor_shape.dim] == [6, 5]
    np.testing.assert_allclose(rows[0], [3, 3, 2, 2, 1])  # of the three, as many are at least 0, 1/4, 1/2, 3/4 and 1
    np.testing.assert_allclose(rows[4:], [[0.75, 0.75, 2 / 3, 1, 1], [1, 1, 2 / 3, 2 / 3, 1 / 3]], rtol=1e-6)
    assert events.SummaryMetadata("curve").plugin_data.plugin_name == "pr_curves"
    graph = {node.name: node for node in events.Graph().node}
    assert list(graph["output/0"].input) == ["Residual/Add"]
    assert list(graph["Residual/Add"].input) == ["input/0", "Residual/Sequential[layers]/ReLU[1]/Relu"]
    sizes = graph["Residual/Sequential[layers]/Linear[0]/weight"].attr["_output_shapes"].list.shape[0].dim
    assert [d.size for d in sizes] == [2, 2]
    assert b"in_features=2" in events.Tensors("graph/text_summary")[0].tensor_proto.string_val[0]


def test_records_are_whole(folder: Path) -> None:
    (path,) = folder.glob("events*")
    data, count = path.read_bytes(), 0
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert data[: 16 + length] == _events.record(data[12 : 12 + length])
        data, count = data[16 + length :], count + 1
    assert count == 14


def test_a_graph_has_operations_in_their_modules(device: sg.Device) -> None:
    model = Residual().to(device)
    model.layers.requires_grad_(False)
    model.layers[0].weight.requires_grad_()
    model.layers[1].eval()
    nodes = {node.name: node for node in graph_of(model, sg.ones(3, 2, device=device))}
    assert model.training and model.layers[0].training and not model.layers[1].training
    inside = "Residual/Sequential[layers]"
    assert nodes["Residual/Add"].inputs == ["input/0", f"{inside}/ReLU[1]/Relu"] and nodes["input/0"].shape == (3, 2)
    assert nodes[f"{inside}/Linear[0]/weight"].op == "Parameter" and f"{inside}/Linear[0]/bias" not in nodes
    assert nodes["output/0"] == ("output/0", "Output", ["Residual/Add"], (3, 2))
    assert all(name in nodes for node in nodes.values() for name in node.inputs)
    assert sum(name.startswith(f"{inside}/Linear[0]/") for name in nodes) >= 3


def test_sounds_have_one_channel(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"add_audio: shape \[2, 5\]; give one channel"):
        SummaryWriter(tmp_path).add_audio("stereo", np.zeros((2, 5)))


def test_checksums_and_pictures_are_those_of_the_standards() -> None:
    assert _events._masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF
    image = pytest.importorskip("PIL.Image")
    import io

    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(_events.png(pixels)))), pixels)


def test_nothing_is_lost_before_close(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path, max_queue=2)
    writer.add_scalar("a", 1.0, 0)
    writer.add_scalar("a", 2.0, 1)
    size = next(tmp_path.iterdir()).stat().st_size
    writer.add_scalar("a", 3.0, 2)
    writer.flush()
    assert next(tmp_path.iterdir()).stat().st_size > size > 50


def test_wrong_arguments(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    with pytest.raises(ValueError, match="add_histogram: 'w' has no values"):
        writer.add_histogram("w", sg.zeros(0))
    with pytest.raises(ValueError, match="add_image: 2 channels; use 1, 3 or 4"):
        writer.add_image("x", np.zeros((2, 3, 3)))
    with pytest.raises(ValueError, match=r"add_image: shape \[2, 3\] as 'CHW'"):
        writer.add_image("x", np.zeros((2, 3)))


def test_points_for_the_projector(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_embedding(sg.arange(6.0).reshape(3, 2), ["a", "b", "c"], sg.ones(3, 1, 4, 5), global_step=7, tag="x/y")
    writer.add_embedding(np.eye(2), [["a", 1], ["b", 2]], metadata_header=["name", "number"])
    place = tmp_path / "00007" / "x%2Fy"
    assert (place / "tensors.tsv").read_text() == "0.0\t1.0\n2.0\t3.0\n4.0\t5.0\n"
    assert (place / "metadata.tsv").read_text() == "a\nb\nc\n"
    assert struct.unpack(">II", (place / "sprite.png").read_bytes()[16:24]) == (10, 8)  # two rows of two
    assert (tmp_path / "00000" / "default" / "metadata.tsv").read_text() == "name\tnumber\na\t1\nb\t2\n"
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 2 and 'tensor_path: "00007/x%2Fy/tensors.tsv"' in config
    assert "single_image_dim: 5 single_image_dim: 4" in config
    with pytest.raises(ValueError, match=r"add_embedding: points \[2, 2\], \[1\] labels or pictures"):
        writer.add_embedding(np.eye(2), ["a"])
    with pytest.raises(ValueError, match="add_pr_curve: 2 labels and 1 predictions"):
        writer.add_pr_curve("p", [0, 1], [0.5])
