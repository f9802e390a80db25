"""Text: packed sequences through a bidirectional LSTM, and a mask for the padding."""

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from shared import device, fill, integers, report


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 12, padding_idx=0)
        self.lstm = nn.LSTM(12, 10, num_layers=2, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(20, 5)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embedding(words), lengths, batch_first=True, enforce_sorted=False)
        out, (h, _) = self.lstm(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        return self.tags(out), torch.cat((h[-2], h[-1]), dim=1)


model = fill(Tagger())
lengths = torch.LongTensor([7, 3, 5, 7, 2])
words, tags = integers(29, 5, 7) + 1, integers(5, 5, 7, seed=4)
mask = torch.arange(7).expand(5, 7).to(device) < lengths.to(device).unsqueeze(1)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss(reduction="none")
for step in range(5):
    scores, state = model(words * mask.long(), lengths.cpu())
    losses = criterion(scores.view(-1, 5), tags.view(-1)).view_as(tags)
    loss = losses.masked_select(mask).mean() + 0.01 * state.pow(2).mean()
    model.zero_grad()
    loss.backward()
    optimizer.step()
    report(step, loss)
