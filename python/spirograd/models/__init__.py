"""Models to read, to train, and to load with published weights.

Example:
    >>> model = sg.models.GPT2.named("gpt2", layers=1, vocabulary=100)
    >>> model(sg.zeros(1, 3, dtype=sg.int64)).shape
    (1, 3, 100)
"""

from .bert import Bert
from .decoder import Decoder, KeyValueCache
from .gguf_files import save_gguf
from .gpt2 import GPT2
from .llama import Llama
from .lstm import LSTMDecoder
from .pretrained import Pretrained, read_weights
from .quantized import QuantizedLinear, quantize
from .resnet import ResNet
from .unet import UNet
from .vit import ViT

__all__ = ["GPT2", "Bert", "Decoder", "KeyValueCache", "LSTMDecoder", "Llama", "Pretrained", "QuantizedLinear"]
__all__ += ["ResNet", "UNet", "ViT"]
__all__ += ["quantize", "read_weights", "save_gguf"]
