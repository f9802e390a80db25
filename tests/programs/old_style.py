"""A program of PyTorch's first years: Variable, typed tensors, size_average, .data, implicit dimensions."""

import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
from torch.autograd import Variable

from shared import fill, normal, report

warnings.filterwarnings("ignore")
use_cuda = torch.cuda.is_available()
FloatTensor = torch.cuda.FloatTensor if use_cuda else torch.FloatTensor
LongTensor = torch.cuda.LongTensor if use_cuda else torch.LongTensor


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()  # noqa: UP008
        self.conv = nn.Conv2d(1, 6, 3)
        self.fc1 = nn.Linear(6 * 3 * 3, 20)
        self.fc2 = nn.Linear(20, 4)
        init.constant(self.fc2.bias, 0.1)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = x.view(x.size(0), -1)
        return F.log_softmax(self.fc2(F.tanh(self.fc1(x))))


model = fill(Net())
if use_cuda:
    model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
images = normal(8, 1, 8, 8).type(FloatTensor)
target = LongTensor([0, 1, 2, 3, 3, 2, 1, 0])
total = FloatTensor(1).zero_()
for step in range(5):
    x, y = Variable(images), Variable(target)
    optimizer.zero_grad()
    loss = F.nll_loss(model(x), y, size_average=False)
    loss.backward()
    optimizer.step()
    total += loss.data
    report(step, loss.data.item())
model.eval()
output = model(Variable(images, volatile=True))
prediction = output.data.max(1, keepdim=True)[1]
report("correct", prediction.eq(target.data.view_as(prediction)).cpu().sum())
report("total", total[0])
