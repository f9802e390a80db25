import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from shared import filled, three_steps

config = LlamaConfig(
    vocab_size=30, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
    num_key_value_heads=1, max_position_embeddings=32,
)  # fmt: skip
model = get_peft_model(LlamaForCausalLM(config), LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"]))
filled(model).train()
words = (torch.arange(24).reshape(3, 8) * 11) % 30
three_steps(model, lambda step: model(input_ids=words, labels=words).loss, lr=5e-2)
