"""Models of torchvision with fixed weights: what they compute in evaluation, and two steps of a training.

With PyTorch, an installation whose compiled operations do not load will do as well.
"""

import sys

import numpy as np
import torch

if "spirograd" not in torch.__version__:
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
    for name in ("register_fake", "register_autograd", "register_kernel"):
        setattr(torch.library, name, lambda *args, **kwargs: lambda function: function)

from torchvision import models


def fill(module):
    random = np.random.RandomState(0)
    with torch.no_grad():
        for name, p in [*module.named_parameters(), *module.named_buffers()]:
            if not p.is_floating_point() or name.endswith(("logit_scale", "relative_coords_table")):
                continue
            if "running_var" in name:
                values = 0.5 + random.rand(*p.shape)
            elif p.dim() <= 1 or "layer_scale" in name:
                values = (name.endswith("weight") and p.dim() <= 1) + 0.1 * random.randn(*p.shape)
            else:
                values = random.randn(*p.shape) / np.sqrt(p[0].numel())
            p.copy_(torch.from_numpy(np.asarray(values, np.float32)))
    return module.eval()


def vgg():
    made = models.vgg11_bn(init_weights=False)
    made.classifier = torch.nn.Linear(512 * 7 * 7, 10)
    return made


def segmentation(name):
    return lambda: getattr(models.segmentation, name)(weights=None, weights_backbone=None, num_classes=10)


MODELS = {
    "vgg11_bn": vgg,
    "vit": lambda: models.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10),
    "maxvit": lambda: models.MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 8, 0.2, num_classes=10),
    "inception_v3": lambda: models.inception_v3(num_classes=10, init_weights=False),
    "googlenet": lambda: models.googlenet(num_classes=10, init_weights=False),
    "lraspp": segmentation("lraspp_mobilenet_v3_large"),
    "deeplabv3": segmentation("deeplabv3_mobilenet_v3_large"),
}
for name in ["resnet18", "resnet50", "resnext50_32x4d", "densenet121", "mobilenet_v2", "mobilenet_v3_small"]:
    MODELS[name] = lambda name=name: getattr(models, name)(num_classes=10)
for name in ["efficientnet_b0", "convnext_tiny", "swin_t", "swin_v2_t", "squeezenet1_1", "shufflenet_v2_x0_5"]:
    MODELS[name] = lambda name=name: getattr(models, name)(num_classes=10)
for name in ["mnasnet0_5", "regnet_y_400mf"]:
    MODELS[name] = lambda name=name: getattr(models, name)(num_classes=10)


def show(name, y):
    y = y.detach().double().flatten()
    print(name, y.numel(), f"{float(y.mean()):.5g} {float(y.std()):.5g} {float(y[3]):.5g}", flush=True)


for name in sys.argv[1:] or sorted(MODELS):
    model = fill(MODELS[name]())
    side = {"vit": 32, "inception_v3": 96}.get(name, 64)
    x = torch.from_numpy(np.random.RandomState(1).randn(2, 3, side, side).astype(np.float32))
    with torch.no_grad():
        y = model(x)
    show(name, y["out"] if isinstance(y, dict) else y)
    if name in ("resnet18", "vit"):
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        optimizer = torch.optim.SGD(model.train().parameters(), lr=0.01, momentum=0.9)
        for _ in range(2):
            loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([3, 7]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(name, "loss", f"{loss.item():.5g}")
    print(name, sum(p.numel() for p in model.parameters()), len(model.state_dict()))
