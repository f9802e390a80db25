"""Data: own datasets and samplers, workers, collate functions, splits, an endless stream."""

import itertools

import numpy as np
import torch
import torch.utils.data as data
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, WeightedRandomSampler, random_split

from shared import device, fill, report


class Sentences(Dataset):
    """Sentences of several lengths and whether they are long."""

    def __init__(self, count=24, transform=None):
        random = np.random.RandomState(0)
        self.lengths = random.randint(2, 9, count)
        self.words = [random.randint(1, 20, n) for n in self.lengths]
        self.transform = transform

    def __len__(self):
        return len(self.words)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        sample = {"words": torch.as_tensor(self.words[idx]), "label": int(self.lengths[idx] > 5)}
        return self.transform(sample) if self.transform else sample


class Stream(IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return (torch.tensor([float(i), i / 2]) for i in itertools.count(start, step))


def collate(batch):
    words = pad_sequence([b["words"] for b in batch], batch_first=True, padding_value=0)
    return words, torch.tensor([b["label"] for b in batch], dtype=torch.float32)


def worker_init_fn(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        self.out = nn.Linear(8, 1)

    def forward(self, words):
        mask = (words != 0).unsqueeze(-1)
        return self.out((self.embed(words) * mask).sum(1) / mask.sum(1)).squeeze(-1)


def main():
    dataset = Sentences(transform=lambda s: s)
    train_set, test_set = Subset(dataset, range(18)), Subset(dataset, range(18, 24))
    loader = DataLoader(
        train_set,
        batch_size=6,
        shuffle=False,
        num_workers=2,
        collate_fn=collate,
        pin_memory=True,
        worker_init_fn=worker_init_fn,
        persistent_workers=True,
        prefetch_factor=2,
    )
    model = fill(Net())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for epoch in range(2):
        for words, labels in loader:
            words, labels = words.to(device), labels.to(device, non_blocking=True)
            loss = nn.functional.binary_cross_entropy_with_logits(model(words), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            report(f"{epoch} {tuple(words.shape)}", loss)
    with torch.no_grad():
        for words, labels in DataLoader(test_set, batch_size=4, collate_fn=collate, drop_last=True):
            report("test", nn.functional.binary_cross_entropy_with_logits(model(words.to(device)), labels.to(device)))
    first, second = random_split(dataset, [20, 4], generator=torch.Generator().manual_seed(42))
    print(len(first), len(second), sorted(first.indices + second.indices) == list(range(24)))
    sampler = WeightedRandomSampler([0.0] * 20 + [1.0] * 4, num_samples=10, replacement=True)
    print(all(i >= 20 for i in sampler), len(DataLoader(dataset, batch_size=5, sampler=sampler, collate_fn=collate)))
    batch = next(iter(DataLoader(Stream(), batch_size=3)))
    print(batch.tolist())
    default = next(iter(DataLoader([{"x": np.float32(i), "y": (i, str(i))} for i in range(4)], batch_size=2)))
    print(default["x"], default["y"])


if __name__ == "__main__":
    main()
