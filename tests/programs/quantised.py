"""Quantisation-aware training: observers in buffers, fake quantisation with straight-through gradients."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function

from shared import device, fill, integers, normal, report


class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        q = torch.round(x / scale) + zero_point
        mask = (q >= qmin) & (q <= qmax)
        ctx.save_for_backward(mask)
        return (torch.clamp(q, qmin, qmax) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask.to(grad_output.dtype), None, None, None, None


class MovingAverageMinMaxObserver(nn.Module):
    def __init__(self, averaging_constant=0.1, qmin=0, qmax=255):
        super().__init__()
        self.averaging_constant, self.qmin, self.qmax = averaging_constant, qmin, qmax
        self.register_buffer("min_val", torch.tensor(float("inf")))
        self.register_buffer("max_val", torch.tensor(float("-inf")))

    def forward(self, x):
        min_val, max_val = torch.aminmax(x.detach())
        if torch.isinf(self.min_val) and torch.isinf(self.max_val):
            self.min_val.copy_(min_val)
            self.max_val.copy_(max_val)
        else:
            self.min_val.add_(self.averaging_constant * (min_val - self.min_val))
            self.max_val.add_(self.averaging_constant * (max_val - self.max_val))
        return x

    def calculate_qparams(self):
        low = torch.minimum(self.min_val, torch.zeros_like(self.min_val))
        high = torch.maximum(self.max_val, torch.zeros_like(self.max_val))
        scale = torch.clamp((high - low) / (self.qmax - self.qmin), min=torch.finfo(torch.float32).eps)
        zero_point = torch.clamp(self.qmin - torch.round(low / scale), self.qmin, self.qmax)
        return scale, zero_point


class QLinear(nn.Linear):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.observer = MovingAverageMinMaxObserver()

    def forward(self, x):
        scale, zero_point = self.observer(x) is not None and self.observer.calculate_qparams()
        x = FakeQuantize.apply(x, scale, zero_point, 0, 255)
        w_scale = self.weight.detach().abs().amax(dim=1, keepdim=True) / 127
        weight = FakeQuantize.apply(self.weight, w_scale, torch.zeros_like(w_scale), -128, 127)
        return F.linear(x, weight, self.bias)


model = fill(nn.Sequential(QLinear(8, 16), nn.ReLU6(), QLinear(16, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = normal(24, 8), integers(4, 24)
for step in range(5):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    report(step, loss)
print([name for name, _ in model.named_buffers()])
with torch.no_grad():
    weight = model[2].weight
    scale = weight.abs().amax(dim=1, keepdim=True) / 127
    stored = torch.round(weight / scale).clamp(-128, 127).to(torch.int8)
    print(stored.dtype, int(stored.abs().max()), stored.element_size(), device.type in ("cpu", "cuda"))
    report("stored", ((stored.to(torch.float32) * scale - weight).abs() / scale).max() <= 0.5001)
