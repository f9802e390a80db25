"""An encoder and decoder with buckets of relative positions (T5): words reversed, checkpoints, Adafactor."""

import copy
import math
from collections import OrderedDict, namedtuple

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from shared import device, fill, integers, report

Output = namedtuple("Output", ["loss", "logits", "cache"], defaults=[None, None, None])
PAD, EOS, WIDTH, HEADS, VOCABULARY = 0, 1, 24, 3, 16


class Attention(nn.Module):
    def __init__(self, has_bias=False, bidirectional=True, buckets=8, max_distance=20):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.bidirectional, self.buckets, self.max_distance = bidirectional, buckets, max_distance
        if has_bias:
            self.relative = nn.Embedding(buckets, HEADS)

    def bucket(self, relative):
        found, buckets = 0, self.buckets
        if self.bidirectional:
            buckets //= 2
            found = found + (relative > 0).to(torch.long) * buckets
            relative = torch.abs(relative)
        else:
            relative = -torch.min(relative, torch.zeros_like(relative))
        exact = buckets // 2
        far = exact + (
            torch.log(relative.float() / exact) / math.log(self.max_distance / exact) * (buckets - exact)
        ).to(torch.long)
        far = torch.min(far, torch.full_like(far, buckets - 1))
        return found + torch.where(relative < exact, relative, far)

    def bias(self, queries, keys):
        context = torch.arange(queries, dtype=torch.long, device=device)[:, None]
        memory = torch.arange(keys, dtype=torch.long, device=device)[None, :]
        return self.relative(self.bucket(memory - context)).permute([2, 0, 1]).unsqueeze(0)

    def forward(self, x, memory=None, bias=None):
        memory = x if memory is None else memory
        q, k, v = (
            f(s).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for f, s in ((self.q, x), (self.k, memory), (self.v, memory))
        )
        scores = torch.matmul(q, k.transpose(3, 2))
        scores += bias
        weights = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)
        return self.o(torch.matmul(weights, v).transpose(1, 2).contiguous().view(x.shape[0], -1, WIDTH))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.wi_0, self.wi_1 = nn.Linear(WIDTH, 32, bias=False), nn.Linear(WIDTH, 32, bias=False)
        self.wo = nn.Linear(32, WIDTH, bias=False)

    def forward(self, x):
        return self.wo(F.gelu(self.wi_0(x), approximate="tanh") * self.wi_1(x))


class Layer(nn.Module):
    def __init__(self, decoder, first):
        super().__init__()
        parts = [("own", Attention(first, not decoder))]
        parts += [("other", Attention())] if decoder else []
        self.parts = nn.ModuleDict(OrderedDict([*parts, ("gated", Gated())]))
        self.norms = nn.ModuleDict({name: nn.RMSNorm(WIDTH, eps=1e-6) for name in self.parts})

    def forward(self, x, bias, memory=None, memory_bias=None):
        x = x + self.parts["own"](self.norms["own"](x), bias=bias)
        if "other" in self.parts:
            x = x + self.parts["other"](self.norms["other"](x), memory, memory_bias)
        return x + self.parts["gated"](self.norms["gated"](x))


class Stack(nn.Module):
    def __init__(self, embedding, decoder):
        super().__init__()
        self.embedding, self.decoder, self.gradient_checkpointing = embedding, decoder, True
        self.block = nn.ModuleList([Layer(decoder, i == 0) for i in range(2)])
        self.final = nn.RMSNorm(WIDTH, eps=1e-6)

    def forward(self, ids, mask, memory=None, memory_mask=None):
        x = self.embedding(ids)
        lowest = torch.finfo(x.dtype).min
        extended = mask[:, None, None, :].to(x.dtype)
        if self.decoder:
            place = torch.arange(ids.shape[1], device=ids.device)
            causal = place[None, None, :].repeat(ids.shape[0], ids.shape[1], 1) <= place[None, :, None]
            extended = extended * causal[:, None, :, :].to(x.dtype)
        bias = self.block[0].parts["own"].bias(ids.shape[1], ids.shape[1]) + (1.0 - extended) * lowest
        far = None if memory is None else (1.0 - memory_mask[:, None, None, :].to(x.dtype)) * lowest
        for layer in self.block:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(layer.__call__, x, bias, memory, far, use_reentrant=False)
            else:
                x = layer(x, bias, memory, far)
        return self.final(x)


class T5(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Embedding(VOCABULARY, WIDTH, padding_idx=PAD)
        self.encoder, self.decoder = Stack(self.shared, False), Stack(self.shared, True)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def shift(self, labels):
        shifted = labels.new_zeros(labels.shape)
        shifted[..., 1:] = labels[..., :-1].clone()
        return shifted.masked_fill_(shifted == -100, PAD)

    def forward(self, ids, labels=None, decoder_ids=None):
        mask = ids.ne(PAD)
        memory = self.encoder(ids, mask)
        decoder_ids = self.shift(labels) if labels is not None else decoder_ids
        x = self.decoder(decoder_ids, torch.ones_like(decoder_ids), memory, mask)
        logits = self.lm_head(x * (WIDTH**-0.5))
        if labels is None:
            return Output(logits=logits)
        criterion = nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=0.1)
        return Output(criterion(logits.view(-1, logits.size(-1)), labels.view(-1)), logits)


def batch(seed):
    ids = integers(VOCABULARY - 2, 5, 8, seed=seed) + 2
    lengths = integers(4, 5, seed=seed + 50) + 4
    behind = torch.arange(8, device=device) >= lengths.unsqueeze(1)
    ids = ids.masked_fill(behind, PAD)
    labels = torch.full((5, 9), -100, dtype=torch.int64, device=device)
    for row, (words, n) in enumerate(zip(ids.unbind(), lengths.tolist(), strict=False)):
        labels[row, :n] = words[:n].flip(0)
        labels[row, n] = EOS
    return ids, labels


model = fill(T5())
with torch.no_grad():
    model.shared.weight[PAD].zero_()
average = copy.deepcopy(model).requires_grad_(False).eval()
optimizer = torch.optim.Adafactor(model.parameters(), lr=0.05, d=1.0, weight_decay=0.0)
sizes = {}
for name, module in model.named_modules():
    if isinstance(module, Gated) and name.startswith("decoder"):
        module.register_full_backward_hook(lambda m, gi, go, name=name: sizes.update({name: go[0].norm().item()}))
model.train()
for step in range(5):
    ids, labels = batch(step)
    out = model(ids, labels=labels)
    optimizer.zero_grad()
    out.loss.backward()
    optimizer.step()
    mine, new = list(average.parameters()), [p.detach() for p in model.parameters()]
    torch._foreach_mul_(mine, 0.9)
    torch._foreach_add_(mine, new, alpha=0.1)
    report(step, out.loss)
    right = (out.logits.argmax(-1) == labels)[labels != -100]
    print("right", f"{right.float().mean().item():.4f}")
print(*sorted(sizes), f"{sum(sizes.values()):.5g}")
print("pad", model.shared.weight.grad[PAD].abs().max().item() == 0.0)

model.eval()
with torch.no_grad():
    ids, labels = batch(9)
    answer = torch.full((ids.shape[0], 1), PAD, dtype=torch.long, device=device)
    unfinished = answer.new_ones(ids.shape[0])
    for _ in range(6):
        next_token = model(ids, decoder_ids=answer).logits[:, -1, :].argmax(dim=-1)
        next_token = next_token * unfinished + PAD * (1 - unfinished)
        answer = torch.cat([answer, next_token[:, None]], dim=-1)
        unfinished = unfinished.mul((next_token != EOS).long())
        if unfinished.max() == 0:
            break
    print("answers", answer.shape[0], answer.dtype)
    report("average", average(ids, labels).loss)
