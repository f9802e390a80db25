import torch
from ultralytics.cfg import get_cfg
from ultralytics.nn.tasks import DetectionModel

from shared import filled, numbers, three_steps

model = filled(DetectionModel("yolov8n.yaml", nc=3, verbose=False)).train()
model.args = get_cfg()
batch = {
    "img": numbers(2, 3, 64, 64).abs(),
    "batch_idx": torch.tensor([0.0, 0.0, 1.0]),
    "cls": torch.tensor([[0.0], [2.0], [1.0]]),
    "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.4], [0.3, 0.6, 0.2, 0.5], [0.6, 0.4, 0.5, 0.3]]),
}
three_steps(model, lambda step: model(batch)[0].sum(), lr=1e-3)
