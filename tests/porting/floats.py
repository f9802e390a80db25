"""Neighbours and signs of numbers, and functions that are flat wherever they have a slope."""

import math

import torch

values = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 65504.0, 6e-8, -6e-8, 1e-40, 3.4e38]


def show(label, *tensors):
    print(label, *[[repr(v) for v in t.detach().double().flatten().tolist()] for t in tensors])


def slopes(label, function, *inputs):
    inputs = [x.clone().requires_grad_() for x in inputs]
    y = function(*inputs)
    print(label, y.requires_grad)
    show("  by", *torch.autograd.grad(y.sum(), inputs))


# ---- neighbours, signs ----
wholes = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32}
for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    a = torch.tensor(values, dtype=torch.float64).to(kind)
    for i in range(len(values)):
        after = torch.nextafter(a[i].expand(len(values)).contiguous(), a)
        bits = torch.where(after.isnan(), 0.0, after).view(wholes.get(kind, torch.int64))
        print(kind, i, bits.tolist(), after.isnan().sum().item())
signs = torch.tensor([0.0, -0.0, 2.0, -2.0, math.inf, -math.inf])
show("copysign", 1 / torch.copysign(torch.tensor([[0.0], [-3.0]]), signs), torch.copysign(torch.tensor([3]), signs))
x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.5, 5.0])
for name in ("nextafter", "copysign", "logaddexp2", "ldexp"):
    slopes(name, getattr(torch, name), x, y)
slopes("xlog1py", torch.special.xlog1py, x, y)
show("ldexp", torch.ldexp(x, torch.tensor([-3, 100, 2])))
show("xlog1py", torch.special.xlog1py(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([-1.0, math.nan, 2.0])))
show("of numbers", torch.special.xlog1py(x.double(), 0.1), torch.special.xlog1py(0.1, x.double()))

# ---- integers ----
small, large = torch.tensor([12, -18, 0, 100], dtype=torch.int8), torch.tensor([[8], [27]])
show("gcd", torch.gcd(small, large), torch.gcd(small, torch.tensor(6)))
show("lcm", torch.lcm(small, large), torch.lcm(small, torch.tensor(6, dtype=torch.int32)))
hardtanh = torch.nn.functional.hardtanh
print(hardtanh(torch.tensor([1, 2, -3, 0])), hardtanh(small, -2.7, 1.9))

# ---- flat functions ----
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
slopes("matrix_power", lambda x: torch.matrix_power(x, 0), a)
slopes("matrix_power of linalg", lambda x: torch.linalg.matrix_power(x, 0), a)
slopes("cdist", lambda x, y: torch.cdist(x, y, p=0.0), a, a + 1)
slopes("poisson", torch.poisson, a)
image, grid = torch.ones(1, 1, 3, 3), torch.tensor([[[[0.1, -0.2], [0.7, 0.3]]]])
sample = torch.nn.functional.grid_sample
slopes("grid_sample", lambda x, g: sample(x, g, mode="nearest", align_corners=False), image, grid)
slopes("bernoulli", lambda x: torch.bernoulli(x / 9), a)
slopes("normal", torch.normal, a, a)
y = torch.heaviside(a.clone().requires_grad_(), torch.tensor(1.0))
print("heaviside", y.requires_grad, torch.linalg.slogdet(a.clone().requires_grad_())[0].requires_grad)
z = torch.complex(torch.tensor([0.0, -0.0, 0.0, -0.0, -1.0]), torch.tensor([0.0, 0.0, -0.0, -0.0, -0.0]))
show("angle", z.angle(), torch.tensor([-1.0, 2.0, -0.0], dtype=torch.float64).angle())
