"""A physics-informed network for Burgers' equation: second derivatives, Adam, then LBFGS with a line search."""

from collections import OrderedDict

import numpy as np
import torch

from shared import fill, report

if torch.cuda.is_available():  # noqa: SIM108
    device = torch.device("cuda")
else:
    device = torch.device("cpu")


class DNN(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.depth = len(layers) - 1
        self.activation = torch.nn.Tanh
        layer_list = list()
        for i in range(self.depth - 1):
            layer_list.append(("layer_%d" % i, torch.nn.Linear(layers[i], layers[i + 1])))  # noqa: UP031
            layer_list.append(("activation_%d" % i, self.activation()))  # noqa: UP031
        layer_list.append(("layer_%d" % (self.depth - 1), torch.nn.Linear(layers[-2], layers[-1])))  # noqa: UP031
        self.layers = torch.nn.Sequential(OrderedDict(layer_list))

    def forward(self, x):
        return self.layers(x)


class PhysicsInformedNN:
    def __init__(self, X_u, u, X_f, layers, nu):
        self.x_u = torch.tensor(X_u[:, 0:1], requires_grad=True).float().to(device)
        self.t_u = torch.tensor(X_u[:, 1:2], requires_grad=True).float().to(device)
        self.x_f = torch.tensor(X_f[:, 0:1], requires_grad=True).float().to(device)
        self.t_f = torch.tensor(X_f[:, 1:2], requires_grad=True).float().to(device)
        self.u = torch.tensor(u).float().to(device)
        self.nu, self.dnn, self.iter = nu, fill(DNN(layers)).to(device), 0

    def net_u(self, x, t):
        return self.dnn(torch.cat([x, t], dim=1))

    def net_f(self, x, t):
        u = self.net_u(x, t)
        ones = torch.ones_like(u)
        u_t = torch.autograd.grad(u, t, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, grad_outputs=torch.ones_like(u_x), retain_graph=True, create_graph=True)[0]
        return u_t + u * u_x - self.nu * u_xx

    def loss_func(self):
        self.optimizer.zero_grad()
        loss_u = torch.mean((self.u - self.net_u(self.x_u, self.t_u)) ** 2)
        loss_f = torch.mean(self.net_f(self.x_f, self.t_f) ** 2)
        loss = loss_u + loss_f
        loss.backward()
        self.iter += 1
        return loss


random = np.random.RandomState(0)
X_u, X_f = random.uniform(-1, 1, (10, 2)), random.uniform(-1, 1, (30, 2))
model = PhysicsInformedNN(X_u, -np.sin(np.pi * X_u[:, 0:1]), X_f, [2, 12, 12, 1], 0.01 / np.pi)
model.optimizer = torch.optim.Adam(model.dnn.parameters(), lr=1e-2)
for step in range(5):
    loss = model.loss_func()
    model.optimizer.step()
    report(step, loss.item())
model.optimizer = torch.optim.LBFGS(
    model.dnn.parameters(), lr=1.0, max_iter=3, history_size=10, line_search_fn="strong_wolfe"
)
report("lbfgs", model.optimizer.step(model.loss_func).item())
print(model.iter)
