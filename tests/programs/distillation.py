"""Knowledge distillation: soft targets with a temperature, hints from a middle layer through hooks."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from shared import fill, integers, normal, report

device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"


class DeepNN(nn.Module):
    def __init__(self, width, num_classes=6):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2),
            nn.Conv2d(width, 2 * width, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2),
        )
        self.classifier = nn.Sequential(
            nn.Linear(2 * width * 4, 16), nn.ReLU(), nn.Dropout(0.0), nn.Linear(16, num_classes)
        )

    def forward(self, x):
        x = self.features(x)
        return self.classifier(torch.flatten(x, 1))


def loss_kd(student_logits, teacher_logits, labels, T, alpha):
    criterion = nn.KLDivLoss(reduction="batchmean", log_target=False)
    soft = criterion(F.log_softmax(student_logits / T, dim=1), F.softmax(teacher_logits / T, dim=1)) * (alpha * T * T)
    return soft + F.cross_entropy(student_logits, labels) * (1.0 - alpha)


teacher, student = fill(DeepNN(8)), fill(DeepNN(4), seed=2)
teacher.eval().requires_grad_(False)
hints = {}
teacher.features[2].register_forward_hook(lambda m, i, o: hints.__setitem__("teacher", o.detach()))
student.features[2].register_forward_hook(lambda m, i, o: hints.__setitem__("student", o))
regressor = fill(nn.Conv2d(4, 8, kernel_size=1, bias=False), seed=3)
optimizer = torch.optim.Adam([*student.parameters(), *regressor.parameters()], lr=3e-3)
inputs, labels = normal(6, 3, 8, 8).to(device), integers(6, 6).to(device)
total, best = sum(p.numel() for p in teacher.parameters()), sum(p.numel() for p in student.parameters())
print(f"Teacher parameters: {total:,} Student parameters: {best:,}")
running_loss = 0.0
for step in range(6):
    optimizer.zero_grad()
    with torch.no_grad():
        teacher_logits = teacher(inputs)
    student_logits = student(inputs)
    loss = loss_kd(student_logits, teacher_logits, labels, T=4.0, alpha=0.7)
    loss = loss + 0.1 * F.mse_loss(regressor(hints["student"]), hints["teacher"])
    loss.backward()
    optimizer.step()
    running_loss += loss.item()
    report(step, loss)
_, predicted = torch.max(student(inputs).data, 1)
report("mean", running_loss / 6)
print((predicted == labels).sum().item() >= 0)
