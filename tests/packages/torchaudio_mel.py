import torch
import torchaudio

from shared import filled, numbers, three_steps

sound = numbers(4, 1600)
mel = torchaudio.transforms.MelSpectrogram(sample_rate=8000, n_fft=128, hop_length=64, n_mels=16)
spectra = torchaudio.transforms.AmplitudeToDB()(mel(sound)).unsqueeze(1) / 40
model = filled(
    torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 3),
    )
)
label = torch.tensor([0, 1, 2, 1])
three_steps(model, lambda step: torch.nn.functional.cross_entropy(model(spectra), label))
