"""Skip-grams with negative samples, sparse embeddings, and the words nearest to one."""

import collections

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

from shared import device, fill, report

corpus = (
    "we are about to study the idea of a computational process processes are abstract beings that inhabit computers"
)
corpus = (corpus + " as they evolve processes manipulate other abstract things called data").split()
vocab = sorted(set(corpus))
word_to_ix = {word: i for i, word in enumerate(vocab)}
counts = collections.Counter(corpus)
frequencies = np.array([counts[w] for w in vocab]) ** 0.75
frequencies /= frequencies.sum()
random = np.random.RandomState(0)


class SkipGramModel(nn.Module):
    def __init__(self, emb_size, emb_dimension):
        super().__init__()
        self.u_embeddings = nn.Embedding(emb_size, emb_dimension, sparse=False)
        self.v_embeddings = nn.Embedding(emb_size, emb_dimension, sparse=False)
        initrange = 0.5 / emb_dimension
        self.u_embeddings.weight.data.uniform_(-initrange, initrange)
        self.v_embeddings.weight.data.uniform_(-0, 0)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u = self.u_embeddings(pos_u)
        emb_v = self.v_embeddings(pos_v)
        score = torch.mul(emb_u, emb_v).squeeze()
        score = F.logsigmoid(torch.sum(score, dim=1))
        neg_emb_v = self.v_embeddings(neg_v)
        neg_score = torch.bmm(neg_emb_v, emb_u.unsqueeze(2)).squeeze()
        neg_score = F.logsigmoid(-1 * neg_score)
        return -1 * (torch.sum(score) + torch.sum(neg_score))


class CBOW(nn.Module):
    def __init__(self, size, dim):
        super().__init__()
        self.embeddings = nn.EmbeddingBag(size, dim, mode="mean")
        self.linear = nn.Linear(dim, size)

    def forward(self, context, offsets):
        return self.linear(self.embeddings(context, offsets))


pairs = [
    (word_to_ix[corpus[i]], word_to_ix[corpus[j]])
    for i in range(len(corpus))
    for j in range(max(0, i - 2), min(len(corpus), i + 3))
    if i != j
]
model = fill(SkipGramModel(len(vocab), 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(4):
    batch = pairs[step * 16 : step * 16 + 16]
    pos_u = Variable(torch.LongTensor([pair[0] for pair in batch])).to(device)
    pos_v = Variable(torch.LongTensor([pair[1] for pair in batch])).to(device)
    neg_v = Variable(torch.LongTensor(random.choice(len(vocab), size=(16, 4), p=frequencies))).to(device)
    optimizer.zero_grad()
    loss = model(pos_u, pos_v, neg_v)
    loss.backward()
    optimizer.step()
    report(step, loss)
cbow = fill(CBOW(len(vocab), 8))
optimizer = torch.optim.Adagrad(cbow.parameters(), lr=0.1)
contexts = [[word_to_ix[w] for w in corpus[max(0, i - 2) : i] + corpus[i + 1 : i + 3]] for i in range(12)]
offsets = torch.tensor([0] + [len(c) for c in contexts[:-1]], device=device).cumsum(dim=0)
context = torch.tensor([w for c in contexts for w in c], device=device)
target = torch.tensor([word_to_ix[w] for w in corpus[:12]], device=device)
for _ in range(4):
    loss = nn.functional.cross_entropy(cbow(context, offsets), target)
    cbow.zero_grad()
    loss.backward()
    optimizer.step()
    report("bag", loss)
embeddings = model.u_embeddings.weight.cpu().data.numpy()
unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
print([vocab[i] for i in np.argsort(-(unit @ unit[word_to_ix["processes"]]))[:3]])
