import logging

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset

from shared import filled, numbers

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.BatchNorm1d(12), torch.nn.ReLU())
        self.head = torch.nn.Linear(12, 3)

    def training_step(self, batch, batch_idx):
        x, label = batch
        loss = torch.nn.functional.cross_entropy(self.head(self.layers(x)), label)
        self.log("loss", loss)
        print(f"{loss.item():.6f}")
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


data = DataLoader(TensorDataset(numbers(24, 6), torch.arange(24) % 3), batch_size=8)
trainer = L.Trainer(
    max_steps=3, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, gradient_clip_val=1.0,
)  # fmt: skip
trainer.fit(filled(Classifier()), data)
