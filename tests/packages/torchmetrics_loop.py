import torch
import torchmetrics

from shared import filled, numbers, three_steps

model = filled(torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4)))
x, label = numbers(16, 5), torch.arange(16) % 4
metrics = torchmetrics.MetricCollection(
    [
        torchmetrics.classification.MulticlassAccuracy(4),
        torchmetrics.classification.MulticlassF1Score(4),
        torchmetrics.classification.MulticlassAUROC(4),
    ]
)
mean = torchmetrics.MeanMetric()


def loss_of(step):
    out = model(x)
    metrics.update(out.softmax(1).detach(), label)
    loss = torch.nn.functional.cross_entropy(out, label)
    mean.update(loss.detach())
    return loss


three_steps(model, loss_of)
for name, value in metrics.compute().items():
    print(name, f"{value.item():.6f}")
print(f"{mean.compute().item():.6f}")
