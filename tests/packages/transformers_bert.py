import torch
from transformers import BertConfig, BertForSequenceClassification

from shared import filled, three_steps

config = BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, num_labels=3
)
model = filled(BertForSequenceClassification(config)).train()
words, labels = (torch.arange(24).reshape(4, 6) * 7) % 40, torch.tensor([0, 2, 1, 1])
three_steps(model, lambda step: model(words, attention_mask=words > 3, labels=labels).loss)
