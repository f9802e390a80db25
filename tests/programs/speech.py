"""Speech: convolutions over spectrogram-like features, a bidirectional GRU, and CTC."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from shared import fill, integers, normal, report


class CNNLayerNorm(nn.Module):
    def __init__(self, n_feats):
        super().__init__()
        self.layer_norm = nn.LayerNorm(n_feats)

    def forward(self, x):
        return self.layer_norm(x.transpose(2, 3).contiguous()).transpose(2, 3).contiguous()


class ResidualCNN(nn.Module):
    def __init__(self, channels, n_feats):
        super().__init__()
        self.cnn = nn.Conv2d(channels, channels, 3, padding=1)
        self.layer_norm = CNNLayerNorm(n_feats)

    def forward(self, x):
        residual = x
        x = self.cnn(F.gelu(self.layer_norm(x)))
        x += residual
        return x


class SpeechRecognitionModel(nn.Module):
    def __init__(self, n_class=6, n_feats=8):
        super().__init__()
        self.cnn = nn.Conv2d(1, 4, 3, stride=2, padding=1)
        self.rescnn_layers = nn.Sequential(*[ResidualCNN(4, n_feats // 2) for _ in range(2)])
        self.fully_connected = nn.Linear(n_feats // 2 * 4, 12)
        self.gru = nn.GRU(12, 10, num_layers=1, batch_first=True, bidirectional=True)
        self.classifier = nn.Sequential(nn.Linear(20, 12), nn.GELU(), nn.Linear(12, n_class))

    def forward(self, x):
        x = self.rescnn_layers(self.cnn(x))
        sizes = x.size()
        x = x.view(sizes[0], sizes[1] * sizes[2], sizes[3]).transpose(1, 2)
        x, _ = self.gru(self.fully_connected(x))
        return self.classifier(x)


def greedy_decoder(output, blank_label=0):
    decodes = []
    for args in torch.argmax(output, dim=2):
        decode = []
        for j, index in enumerate(args):
            if index != blank_label and not (j != 0 and index == args[j - 1]):
                decode.append(index.item())
        decodes.append(decode)
    return decodes


model = fill(SpeechRecognitionModel())
optimizer = torch.optim.AdamW(model.parameters(), 5e-3)
criterion = nn.CTCLoss(blank=0, zero_infinity=True)
spectrograms, labels = normal(3, 1, 8, 24), integers(5, 3, 5) + 1
input_lengths, label_lengths = torch.tensor([12, 10, 12]), torch.tensor([5, 3, 4])
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=1e-2, steps_per_epoch=5, epochs=1, anneal_strategy="linear"
)
for step in range(5):
    optimizer.zero_grad()
    output = F.log_softmax(model(spectrograms), dim=2).transpose(0, 1)
    loss = criterion(output, labels, input_lengths, label_lengths)
    loss.backward()
    optimizer.step()
    scheduler.step()
    report(step, loss)
print(len(greedy_decoder(output.transpose(0, 1))))
