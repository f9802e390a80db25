"""Translation with nn.Transformer: masks, padding, sine positions, label smoothing and the schedule of the paper."""

import math

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn import Transformer

from shared import fill, integers, report

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
PAD_IDX, BOS_IDX = 1, 2


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size: int, dropout: float, maxlen: int = 50):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        pos_embedding = torch.zeros((maxlen, emb_size))
        pos_embedding[:, 0::2] = torch.sin(pos * den)
        pos_embedding[:, 1::2] = torch.cos(pos * den)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pos_embedding", pos_embedding.unsqueeze(-2))

    def forward(self, token_embedding: Tensor):
        return self.dropout(token_embedding + self.pos_embedding[: token_embedding.size(0), :])


class Seq2SeqTransformer(nn.Module):
    def __init__(self, layers: int, emb_size: int, nhead: int, src_vocab: int, tgt_vocab: int):
        super().__init__()
        self.transformer = Transformer(
            d_model=emb_size,
            nhead=nhead,
            num_encoder_layers=layers,
            num_decoder_layers=layers,
            dim_feedforward=32,
            dropout=0.0,
        )
        self.generator = nn.Linear(emb_size, tgt_vocab)
        self.src_tok_emb = nn.Embedding(src_vocab, emb_size)
        self.tgt_tok_emb = nn.Embedding(tgt_vocab, emb_size)
        self.positional_encoding = PositionalEncoding(emb_size, dropout=0.0)
        self.scale = math.sqrt(emb_size)

    def forward(self, src, trg, src_mask, tgt_mask, src_padding_mask, tgt_padding_mask, memory_key_padding_mask):
        src_emb = self.positional_encoding(self.src_tok_emb(src.long()) * self.scale)
        tgt_emb = self.positional_encoding(self.tgt_tok_emb(trg.long()) * self.scale)
        outs = self.transformer(
            src_emb, tgt_emb, src_mask, tgt_mask, None, src_padding_mask, tgt_padding_mask, memory_key_padding_mask
        )
        return self.generator(outs)


def generate_square_subsequent_mask(sz):
    mask = (torch.triu(torch.ones((sz, sz), device=DEVICE)) == 1).transpose(0, 1)
    return mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, 0.0)


def create_mask(src, tgt):
    tgt_mask = generate_square_subsequent_mask(tgt.shape[0])
    src_mask = torch.zeros((src.shape[0], src.shape[0]), device=DEVICE).type(torch.bool)
    src_padding_mask = (src == PAD_IDX).transpose(0, 1)
    # A float mask beside a float mask: PyTorch warns about a bool one.
    tgt_padding_mask = torch.zeros(tgt.shape[1], tgt.shape[0], device=DEVICE)
    tgt_padding_mask.masked_fill_((tgt == PAD_IDX).transpose(0, 1), float("-inf"))
    return src_mask, tgt_mask, src_padding_mask, tgt_padding_mask


model = fill(Seq2SeqTransformer(2, 16, 4, 25, 20))
loss_fn = nn.CrossEntropyLoss(ignore_index=PAD_IDX, label_smoothing=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
noam = lambda step: 16**-0.5 * min((step + 1) ** -0.5, (step + 1) * 4**-1.5) * 0.1  # noqa: E731
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=noam)
src, tgt = integers(22, 7, 4) + 3, integers(17, 8, 4, seed=1) + 3
src[5:, 1] = PAD_IDX
tgt[6:, 2], tgt[0] = PAD_IDX, BOS_IDX
for step in range(5):
    model.train()
    tgt_input, tgt_out = tgt[:-1, :], tgt[1:, :]
    src_mask, tgt_mask, src_padding, tgt_padding = create_mask(src, tgt_input)
    logits = model(src, tgt_input, src_mask, tgt_mask, src_padding, tgt_padding, src_padding)
    optimizer.zero_grad()
    loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt_out.reshape(-1))
    loss.backward()
    optimizer.step()
    scheduler.step()
    report(step, loss)
report("lr", scheduler.get_last_lr()[0])
