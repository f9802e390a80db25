import tempfile

from datasets import Dataset
from datasets.table import InMemoryTable
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

from shared import filled

words = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "and", "cat"]
inside = Tokenizer(models.WordLevel({w: i for i, w in enumerate([*words, "<end>"])}, unk_token="<end>"))
inside.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=inside, eos_token="<end>", pad_token="<end>")
texts = [tokenizer(" ".join(words[i : i + 5]))["input_ids"] for i in range(6)]
# With a name of its own, the set is not pickled for one.
data = Dataset(InMemoryTable.from_pydict({"input_ids": texts}), fingerprint="words")
model = filled(GPT2LMHeadModel(GPT2Config(vocab_size=11, n_positions=16, n_embd=16, n_layer=1, n_head=2)))
with tempfile.TemporaryDirectory() as folder:
    how = SFTConfig(
        folder, max_steps=3, per_device_train_batch_size=6, learning_rate=1e-2, logging_steps=1, report_to=[],
        save_strategy="no", use_cpu=True, bf16=False, gradient_checkpointing=False, disable_tqdm=True, max_length=16,
        dataset_kwargs={"skip_prepare_dataset": True},
    )  # fmt: skip
    trainer = SFTTrainer(model, args=how, train_dataset=data, processing_class=tokenizer)
    trainer.train()
for row in trainer.state.log_history[:3]:
    print(f"{row['loss']:.6f}")
