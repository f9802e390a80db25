"""A script as a user of PyTorch writes it. test_torch_script.py runs it with its import line changed."""

import math

import torch


def title(text):
    print(f"\n== {text}")


def show(name, *tensors):
    for t in tensors:
        print(f"{name}: {tuple(t.shape)} {[round(v, 4) for v in t.flatten().tolist()]}")


def noise(*shape):
    """Numbers that look random and are the same everywhere."""
    n = math.prod(shape)
    i = torch.arange(n, dtype=torch.float64)
    return torch.frac(torch.sin(i * 12.9898 + 78.233) * 43758.5453).reshape(shape).to(torch.float32)


title("creation")
print(torch.zeros(2, 3))
print(torch.ones((2,), dtype=torch.int64), torch.full((2, 2), 7.5))
print(torch.arange(0, 10, 3), torch.arange(5.0), torch.linspace(0, 1, 5))
print(torch.eye(3), torch.tensor([[1, 2], [3, 4]]))
print(torch.tensor([True, False]), torch.zeros_like(torch.arange(3)), torch.empty(0))
x = torch.tensor([[1.5, -2.0, 3.0], [0.0, 5.25, -6.0]])
print(x, tuple(x.shape), x.dim(), x.numel(), x.size(1), x.stride(), x.is_contiguous())
print(x.dtype == torch.float32, len(x), x[1, 1].item(), bool(x.sum() > 1))

title("elementwise")
print(x + 1, x * x, x / 2, 2 - x, x**2, -x, x // 2, x % 2)
print(x.abs().sqrt(), torch.exp(x / 4), torch.log(x.abs() + 1), torch.sigmoid(x), x.tanh(), torch.relu(x))
print(torch.maximum(x, torch.zeros(3)), x.clamp(-1, 1), torch.where(x > 0, x, torch.tensor(0.5)), x.sign())
print(x > 0, x == 0, (x > 0) & (x < 4), ~(x > 0), torch.isclose(x, x + 1e-9).all())
print(torch.floor(x), torch.ceil(x), x.round(), torch.trunc(x), torch.square(x), torch.reciprocal(x.abs() + 1))
print(torch.pow(2.0, x), torch.atan2(x, torch.ones_like(x)), torch.lerp(x, -x, 0.25), torch.erf(x))
i = torch.tensor([7, -7, 9])
print(i // 2, i % 4, i / 2, i << 1, i & 3, i | 8, torch.bitwise_not(i), i.float().mean())
print((i + 0.5).dtype == torch.float32, (i + True).dtype == torch.int64, torch.tensor(3.7).int(), i.bool())

title("reductions")
print(x.sum(), x.sum(0), x.mean(dim=1, keepdim=True), x.prod(1), x.max(), x.min(), x.argmax(), x.argmin(dim=1))
values, indices = x.max(dim=1)
print(values, indices, x.min(0).values, x.amax((0, 1)), torch.any(x > 5), torch.all(x > -7, 1))
print(x.std(), x.var(0), x.var(dim=1, unbiased=False), x.norm(), torch.logsumexp(x, 1), torch.median(x))
print(x.cumsum(1), torch.cumprod(x, 0), torch.cummax(x, 1).values, torch.count_nonzero(x))
print(torch.softmax(x, dim=1), torch.log_softmax(x, dim=0))

title("shape")
y = torch.arange(24).reshape(2, 3, 4)
print(tuple(y.permute(2, 0, 1).shape), y.transpose(0, 1)[1], y.view(4, -1), tuple(y.flatten(1).shape))
print(tuple(y.unsqueeze(0).squeeze().shape), tuple(torch.squeeze(y[:1]).shape))
print(torch.cat([x, x], dim=1), torch.stack([x[0], x[1]], dim=1), tuple(torch.vstack([x, x]).shape))
print(y.split(2, dim=2)[0].tolist(), [tuple(t.shape) for t in torch.chunk(y, 2, 1)], y.unbind(0)[1])
print(y.expand(2, 3, 4).is_contiguous(), x[0].expand(2, 3), x.repeat(1, 2), torch.tile(x[0], (2,)), x.T)
print(torch.flip(x, [1]), torch.roll(x, 1, 0), torch.rot90(x), x.mT.contiguous())
print(torch.tril(x), torch.triu(x, 1), torch.diag(torch.ones(2)))
a, b = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
print(a, b, torch.diagonal(y, 0, 1, 2), tuple(y.movedim(0, -1).shape), torch.repeat_interleave(i, 2))
print(tuple(y.unfold(2, 2, 2).shape), tuple(y.unflatten(2, (2, 2)).shape), torch.broadcast_to(i, (2, 3)))

title("indexing")
print(y[0], y[:, 1], y[..., -1], y[1, 1:, ::2], y[None, 0, 0], y[0, [2, 0]], y[y > 20])
rows, columns = torch.tensor([1, 0]), torch.tensor([[0], [2]])
print(x[rows, columns], x[:, torch.tensor([2, 0])], x[torch.tensor([True, False])])
print(
    torch.gather(x, 1, torch.tensor([[0, 2], [1, 1]])),
    x.index_select(1, rows),
    torch.take_along_dim(x, x.argsort(1), 1),
)
print(torch.masked_select(x, x > 0), torch.nonzero(x > 0), x.masked_fill(x < 0, 0.0))
z = torch.zeros(2, 3)
z[0] = 1
z[:, 1] = torch.tensor([5.0, 6.0])
z[1, 2:] += 3
z[z > 5] = -1
z[[0, 1], [0, 0]] = torch.tensor([8.0, 9.0])
print(z, torch.zeros(3).scatter_add(0, torch.tensor([0, 2, 0]), torch.ones(3)))
print(torch.zeros(2, 3).scatter(1, torch.tensor([[2], [0]]), 4.0), torch.zeros(3).index_add_(0, i % 3, torch.ones(3)))

title("sorting")
s = torch.tensor([[3.0, 1.0, 2.0], [0.5, -4.0, 9.0]])
values, indices = torch.sort(s, dim=1, descending=True)
print(values, indices, s.argsort(0), torch.topk(s, 2).values, s.topk(1, largest=False).indices)

title("products")
m, n = noise(2, 3), noise(3, 4)
show(
    "m",
    m @ n,
    torch.mm(m, n) - torch.matmul(m, n),
    torch.mv(m, n[:, 0]),
    torch.dot(m[0], m[1]),
    torch.outer(m[0], n[0]),
)
show(
    "e",
    torch.einsum("ij,jk->ki", m, n),
    torch.einsum("ij->j", m),
    torch.einsum("bij,bkj->bik", noise(2, 2, 3), noise(2, 1, 3)),
)
show("b", torch.bmm(noise(2, 2, 3), noise(2, 3, 2)), torch.addmm(torch.ones(4), m, n), torch.tensordot(m, n, dims=1))
show("k", torch.baddbmm(torch.ones(2, 2, 2), noise(2, 2, 3), noise(2, 3, 2)), noise(2, 1, 2, 3) @ n)

title("functional")
f = torch.nn.functional
print(f.relu(x), f.gelu(x / 4), f.silu(x), f.leaky_relu(x, 0.1), f.softplus(x), f.elu(x), f.hardtanh(x))
print(f.pad(x, (1, 0, 0, 1)), f.one_hot(torch.tensor([1, 0, 2])), f.softmax(x, dim=-1).sum(1))

title("linalg")
q = noise(3, 3) + 2 * torch.eye(3)
show(
    "inv",
    torch.linalg.inv(q),
    torch.linalg.solve(q, torch.ones(3)),
    torch.linalg.det(q),
    torch.linalg.cholesky(q @ q.T),
)
show("svd", torch.linalg.svd(q).S, torch.linalg.eigh(q + q.T).eigenvalues, torch.linalg.slogdet(q).logabsdet)
show("norm", torch.linalg.norm(q), torch.linalg.norm(q, ord=1), torch.linalg.qr(q).R.diagonal().abs())

title("autograd")
w = torch.tensor([2.0, -3.0], requires_grad=True)
loss = (w**3).sum() + w.prod()
loss.backward()
print(w.grad, w.is_leaf, loss.requires_grad, loss.grad_fn is not None)
(g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
print(g.detach(), torch.autograd.grad(g.sum(), w)[0])
with torch.no_grad():
    w -= 0.1 * w.grad
    print((w * 2).requires_grad)
w.grad.zero_()
h = w * 2
h.register_hook(lambda gradient: gradient * 10)
h.retain_grad()
(h * torch.tensor([1.0, 2.0])).sum().backward()
print(w.detach(), w.grad, h.grad, w.grad.requires_grad)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


v = torch.tensor([1.0, -4.0], dtype=torch.float64, requires_grad=True)
Square.apply(v).sum().backward()
print(v.grad.tolist(), torch.autograd.gradcheck(Square.apply, v), v.detach().requires_grad)
print(torch.func.grad(lambda t: torch.sin(t).sum())(torch.zeros(2)), torch.func.jacrev(torch.exp)(torch.zeros(2)))
print(torch.func.vmap(lambda t: t.sum() * t)(x))

title("in place")
c = torch.arange(6.0).reshape(2, 3)
d = c[0]
c.mul_(2).add_(1)
d.zero_()
c[1].clamp_(max=8.0)
c.t()[2] += 10
print(c, d, c.fill_(3.0), c.copy_(x), c.sub_(x, alpha=2), c.relu_())
try:
    u = torch.ones(2, requires_grad=True)
    t = u.exp()
    t.mul_(t)
    t += 1
    (t * t).sum().backward()
    print("no error", u.grad)
except RuntimeError as error:
    print("RuntimeError", "in place" in str(error) or "inplace" in str(error))
for wrong in (
    lambda: x @ x,
    lambda: x + torch.ones(4),
    lambda: x[5],
    lambda: x.reshape(7),
    lambda: torch.cat([x, y[0]]),
):
    try:
        wrong()
        print("no error")
    except (RuntimeError, ValueError, IndexError):
        print("an error, as it should be")

title("modules")
nn, F = torch.nn, torch.nn.functional


class Net(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.table = nn.Embedding(10, 6, padding_idx=0)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.GELU(), nn.Dropout(0.0)) for _ in range(layers)
        )
        self.norm = nn.BatchNorm1d(6)
        self.heads = nn.ModuleDict({"a": nn.Linear(6, 2), "b": nn.Bilinear(6, 6, 1, bias=False)})
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("offset", torch.full((1,), 0.5))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)
        self.register_parameter("absent", None)

    def forward(self, index):
        x = self.table(index).mean(1)
        for layer in self.layers:
            x = x + layer(x)
        x = self.norm(x) * self.scale + self.offset
        return self.heads["a"](x), self.heads["b"](x, x)


net = Net(2)
print(net)
for p in net.parameters():
    with torch.no_grad():
        p.copy_(noise(*p.shape) * (0.5 if p.ndim > 1 else 1.0))
print(list(net.state_dict()), [name for name, _ in net.named_children()], len(list(net.modules())))
print([name for name, _ in net.named_buffers()], sum(p.numel() for p in net.parameters() if p.requires_grad))
index = torch.tensor([[1, 2, 0], [3, 9, 9], [4, 0, 1], [7, 7, 7]])
seen = []
handle = net.norm.register_forward_hook(lambda module, args, output: seen.append(tuple(output.shape)))
first, second = net(index)
handle.remove()
(first.square().sum() + second.sum()).backward()
show("outputs", first.detach(), second.detach())
show("gradients", net.table.weight.grad[7:], net.layers[1][0].bias.grad, net.norm.weight.grad, net.scale.grad)
show("running values", net.norm.running_mean, net.norm.running_var)
print(seen, net.norm.num_batches_tracked.item(), net.training, net.eval().training, net.layers[0][3].training)
show("evaluation", net(index)[0].detach())
other = Net(2)
print(other.load_state_dict(net.state_dict()), torch.equal(other.eval()(index)[1], net(index)[1]))
print(other.load_state_dict({"scale": torch.zeros(1)}, strict=False).missing_keys[:2], other.scale.item())
print(net.double().scale.dtype == torch.float64, net.norm.num_batches_tracked.dtype == torch.int64)
net.zero_grad()
print(net.scale.grad, net.get_submodule("layers.1.0"), net.requires_grad_(False).scale.requires_grad)
image = noise(1, 2, 3, 4)
show("resized", F.interpolate(image, scale_factor=2), F.interpolate(image, size=(2, 5), mode="bilinear"))
show("normalised", F.group_norm(image, 2), F.instance_norm(image), F.rms_norm(image, (4,)), nn.PixelShuffle(1)(image))
print(nn.init.calculate_gain("tanh"), nn.init.eye_(torch.empty(2, 3)), nn.init.dirac_(torch.empty(1, 1, 3)))

title("training: a net of two layers learns a circle")
points = noise(200, 2)
inside = (points.square().sum(1) < 0.5).long()
w1, b1 = (noise(2, 16) * 1.5).requires_grad_(), torch.zeros(16, requires_grad=True)
w2, b2 = (noise(16, 2) * 0.5).requires_grad_(), torch.zeros(2, requires_grad=True)
parameters = [w1, b1, w2, b2]
momentum = [torch.zeros_like(p) for p in parameters]
for step in range(101):
    hidden = torch.tanh(points @ w1 + b1)
    logits = hidden @ w2 + b2
    log_p = torch.log_softmax(logits, dim=1)
    loss = -log_p.gather(1, inside.unsqueeze(1)).mean() + 1e-4 * sum((p * p).sum() for p in parameters)
    same = torch.nn.functional.cross_entropy(logits, inside)
    loss.backward()
    with torch.no_grad():
        for p, m in zip(parameters, momentum, strict=True):
            m.mul_(0.9).add_(p.grad)
            p.sub_(m, alpha=0.1)
            p.grad = None
    if step % 20 == 0:
        right = (logits.argmax(dim=1) == inside).float().mean().item()
        print(f"step {step:3d}  loss {loss.item():.4f}  cross entropy {same.item():.4f}  right {right:.3f}")

title("printing")
torch.set_printoptions(precision=2)
print(noise(3, 4), torch.tensor([1e10, 1.0]), torch.tensor([float("nan"), float("inf")]), torch.arange(2000))
