"""ViT (Dosovitskiy et al., 2021): an image as a sequence of patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .. import nn
from .._core import Tensor, cat, zeros
from .pretrained import Pretrained

__all__ = ["ViT"]

F = nn.functional


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        y: Tensor = self.proj(F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))
        return y


class _Block(nn.Module):
    def __init__(self, width: int, inner: int, heads: int, eps: float) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width, eps), _Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, inner), "fc2": nn.Linear(inner, width)})

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        y: Tensor = x + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))
        return y


class ViT(Pretrained):
    """Images [batch, channels, side, side] -> scores of classes [batch, classes].

    Its names are those of timm; files of transformers are read too.

    Args:
        classes: how many there are.
        side: pixels of an image.
        patch: pixels of a patch, which divide it.
        width: features of a patch.
        inner: features between the products of a layer.
        layers: of attention and products.
        heads: of attention.
        channels: of an image.
        eps: of the norms.

    Raises:
        ValueError: side is not a multiple of patch, or width of heads.

    Example:
        >>> model = sg.models.ViT(10, side=8, patch=4, width=16, inner=32, layers=2, heads=2)
        >>> model(sg.zeros(1, 3, 8, 8)).shape
        (1, 10)
    """

    published: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "vit_tiny_patch16_224": {"width": 192, "inner": 768, "heads": 3, "eps": 1e-6},
        "vit_small_patch16_224": {"width": 384, "inner": 1536, "heads": 6, "eps": 1e-6},
        "vit_base_patch16_224": {"eps": 1e-6},
        "vit_base_patch32_224": {"patch": 32, "eps": 1e-6},
        "vit_large_patch16_224": {"width": 1024, "inner": 4096, "layers": 24, "heads": 16, "eps": 1e-6},
    }

    def __init__(
        self,
        classes: int = 1000,
        side: int = 224,
        patch: int = 16,
        width: int = 768,
        inner: int = 3072,
        layers: int = 12,
        heads: int = 12,
        channels: int = 3,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        if side % patch or width % heads:
            raise ValueError(
                f"ViT: side {side} and patch {patch}, width {width} and heads {heads}; "
                "use multiples of patch and of heads"
            )
        self.cls_token = nn.Parameter(zeros(1, 1, width))
        self.pos_embed = nn.Parameter(zeros(1, (side // patch) ** 2 + 1, width))
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(channels, width, patch, stride=patch)})
        self.blocks = nn.ModuleList([_Block(width, inner, heads, eps) for _ in range(layers)])
        self.norm = nn.LayerNorm(width, eps)
        self.head = nn.Linear(width, classes)
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch_embed["proj"](x).flatten(2).transpose(1, 2)
        x = cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        y: Tensor = self.head(self.norm(x)[:, 0])
        return y

    @classmethod
    def largest(cls, sizes: Mapping[str, Any]) -> int:
        side, patch = sizes["side"], sizes["patch"]
        return int(sizes["width"] * max((side // patch) ** 2, patch**2 * sizes["channels"], sizes["classes"]))

    @classmethod
    def arguments_of(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        if "hidden_size" not in config:
            raise ValueError("ViT: config.json is not that of transformers; use ViT.named() and load_pretrained()")
        names = {"side": "image_size", "patch": "patch_size", "width": "hidden_size", "inner": "intermediate_size"}
        names |= {"layers": "num_hidden_layers", "heads": "num_attention_heads", "channels": "num_channels"}
        found = {own: config[name] for own, name in (names | {"eps": "layer_norm_eps"}).items()}
        return found | {"classes": len(config.get("id2label") or range(2))}

    def own_names(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Those of transformers turned into timm's: queries, keys and values side by side."""
        if "vit.embeddings.cls_token" not in weights:
            return weights
        moved = {
            "vit.embeddings.cls_token": "cls_token",
            "vit.embeddings.position_embeddings": "pos_embed",
            "vit.embeddings.patch_embeddings.projection.": "patch_embed.proj.",
            "vit.layernorm.": "norm.",
            "classifier.": "head.",
            "vit.encoder.layer.": "blocks.",
            "attention.output.dense.": "attn.proj.",
            "intermediate.dense.": "mlp.fc1.",
            "output.dense.": "mlp.fc2.",
            "layernorm_before.": "norm1.",
            "layernorm_after.": "norm2.",
        }
        kept = {}
        for name, x in weights.items():
            for theirs, own in moved.items():
                name = name.replace(theirs, own)
            kept[name] = x
        for name in [n for n in kept if ".attention.attention.query." in n]:
            parts = [kept.pop(name.replace("query", part)) for part in ("query", "key", "value")]
            kept[name.replace("attention.attention.query", "attn.qkv")] = cat(parts, 0)
        return kept
