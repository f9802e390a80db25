"""Masked language modelling: dynamic masking, segments, padding, and sentence pairs, as BERT was trained."""

import torch
from torch import nn
from torch.nn import functional as F

from shared import device, fill, integers, report

PAD, CLS, SEP, MASK, VOCAB = 0, 1, 2, 3, 60


class BertEmbeddings(nn.Module):
    def __init__(self, hidden=24, positions=16):
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCAB, hidden, padding_idx=PAD)
        self.position_embeddings = nn.Embedding(positions, hidden)
        self.token_type_embeddings = nn.Embedding(2, hidden)
        self.LayerNorm = nn.LayerNorm(hidden, eps=1e-12)
        self.register_buffer("position_ids", torch.arange(positions).expand((1, -1)), persistent=False)

    def forward(self, input_ids, token_type_ids):
        words = self.word_embeddings(input_ids)
        positions = self.position_embeddings(self.position_ids[:, : input_ids.size(1)])
        return self.LayerNorm(words + positions + self.token_type_embeddings(token_type_ids))


class BertForPreTraining(nn.Module):
    def __init__(self, hidden=24, layers=2):
        super().__init__()
        self.embeddings = BertEmbeddings(hidden)
        layer = nn.TransformerEncoderLayer(hidden, 4, 48, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=layers, enable_nested_tensor=False)
        self.transform = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.LayerNorm(hidden))
        self.bias = nn.Parameter(torch.zeros(VOCAB))
        self.pooler, self.seq_relationship = nn.Linear(hidden, hidden), nn.Linear(hidden, 2)

    def forward(self, input_ids, token_type_ids):
        h = self.encoder(self.embeddings(input_ids, token_type_ids), src_key_padding_mask=input_ids.eq(PAD))
        predictions = F.linear(self.transform(h), self.embeddings.word_embeddings.weight, self.bias)
        return predictions, self.seq_relationship(torch.tanh(self.pooler(h[:, 0])))


def mask_tokens(inputs, special):
    """80 in 100 of those chosen become MASK, 10 another token, 10 stay."""
    labels = inputs.clone()
    chosen = (integers(100, *inputs.shape, seed=7) < 40) & ~special
    labels[~chosen] = -100
    dice = integers(100, *inputs.shape, seed=8)
    inputs = inputs.masked_fill(chosen & (dice < 80), MASK)
    other = chosen & (dice >= 80) & (dice < 90)
    inputs[other] = integers(VOCAB, *inputs.shape, seed=9)[other]
    return inputs, labels


tokens = integers(VOCAB - 4, 6, 14) + 4
tokens[:, 0], tokens[:, 7], tokens[:, 13] = CLS, SEP, SEP
tokens[4:, 10:] = PAD
types = (torch.arange(14, device=device) > 7).long().expand_as(tokens)
inputs, labels = mask_tokens(tokens, tokens < 4)
is_next = integers(2, 6)
model = fill(BertForPreTraining())
no_decay = ["bias", "LayerNorm.weight"]
groups = [
    {"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], "weight_decay": 0.01},
    {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=2e-3, eps=1e-8)
print(sum(p.numel() for p in model.parameters() if p.requires_grad), int((labels != -100).sum()))
for step in range(5):
    predictions, relation = model(inputs, types)
    mlm = F.cross_entropy(predictions.view(-1, VOCAB), labels.view(-1))
    loss = mlm + F.cross_entropy(relation, is_next)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    report(step, loss)
    report("masked", mlm)
