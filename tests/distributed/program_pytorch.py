"""A program for several GPUs as people write it for PyTorch, with spirograd as torch."""

from __future__ import annotations

import spirograd.torch

spirograd.torch.install()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402
from torch.utils.data.distributed import DistributedSampler  # noqa: E402


def main() -> None:
    assert dist.is_available() and not dist.is_initialized()
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", init_method="env://")
    torch.manual_seed(0)
    rows = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
    torch.manual_seed(dist.get_rank())
    model = DDP(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows))
    for epoch in range(2):
        loader.sampler.set_epoch(epoch)
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    everyone = [torch.zeros(1, 8) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, model.module.weight.detach())
    assert all(torch.equal(w, model.module.weight) for w in everyone)
    losses = [None] * dist.get_world_size()
    dist.all_gather_object(losses, loss.item())
    assert len(set(losses)) == dist.get_world_size(), "each process sees rows of its own"
    dist.destroy_process_group()
    print("all right")


main()
