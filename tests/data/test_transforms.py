"""Transforms: Pillow's pixels, the same for arrays and tensors, and what chance may do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import transforms as T
from spirograd.transforms import functional as F
from spirograd.transforms.auto_augment import CHANGES


def picture(height: int = 24, width: int = 31, channels: int = 3, seed: int = 0) -> np.ndarray[Any, Any]:
    """Smooth enough that half a pixel does not decide."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [
        sum(np.sin(random.uniform(-0.5, 0.5) * x + random.uniform(-0.5, 0.5) * y + random.uniform(0, 6)) for _ in "abc")
        for _ in range(channels)
    ]
    return (127.5 + 42 * np.stack(waves)).astype(np.uint8)


def pillow(image: np.ndarray[Any, Any]) -> Any:
    return pytest.importorskip("PIL.Image").fromarray(image.transpose(1, 2, 0))


def planes(image: Any) -> np.ndarray[Any, Any]:
    return np.asarray(image).transpose(2, 0, 1)


def tensor(image: np.ndarray[Any, Any], device: sg.Device) -> sg.Tensor:
    return sg.tensor(np.ascontiguousarray(image), device=device)


# ---- what Pillow computes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(12, 9), (48, 50), (24, 15), (7, 60)], ids=str)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
def test_resize_gives_the_pixels_of_pillow(mode: str, size: tuple[int, int]) -> None:
    image = picture()
    Image = pytest.importorskip("PIL.Image")
    wanted = planes(pillow(image).resize(size[::-1], getattr(Image.Resampling, mode.upper())))
    assert np.abs(F.resize(image, size, mode).astype(int) - wanted).max() <= (0 if mode == "nearest" else 1)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (F.autocontrast, lambda m, x: m("ImageOps").autocontrast(x)),
        (F.equalize, lambda m, x: m("ImageOps").equalize(x)),
        (F.invert, lambda m, x: m("ImageOps").invert(x)),
        (lambda x: F.posterize(x, 3), lambda m, x: m("ImageOps").posterize(x, 3)),
        (lambda x: F.solarize(x, 100), lambda m, x: m("ImageOps").solarize(x, 100)),
        (lambda x: F.adjust_brightness(x, 1.4), lambda m, x: m("ImageEnhance").Brightness(x).enhance(1.4)),
        (lambda x: F.adjust_contrast(x, 0.3), lambda m, x: m("ImageEnhance").Contrast(x).enhance(0.3)),
        (lambda x: F.adjust_saturation(x, 1.7), lambda m, x: m("ImageEnhance").Color(x).enhance(1.7)),
        (lambda x: F.adjust_sharpness(x, 1.8), lambda m, x: m("ImageEnhance").Sharpness(x).enhance(1.8)),
        (lambda x: F.rgb_to_grayscale(x, 3), lambda m, x: x.convert("L").convert("RGB")),
        (F.horizontal_flip, lambda m, x: m("ImageOps").mirror(x)),
        (F.vertical_flip, lambda m, x: m("ImageOps").flip(x)),
        (lambda x: F.pad(x, [1, 2, 3, 4], 9), lambda m, x: m("ImageOps").expand(x, (1, 2, 3, 4), (9, 9, 9))),
    ],
    ids=[
        *(
            "autocontrast",
            "equalize",
            "invert",
            "posterize",
            "solarize",
            "brightness",
            "contrast",
            "color",
            "sharpness",
        ),
        *("grey", "flip", "vflip", "pad"),
    ],
)
def test_changes_give_the_pixels_of_pillow(ours: Callable[..., Any], theirs: Callable[..., Any]) -> None:
    image = picture()
    module = lambda name: pytest.importorskip(f"PIL.{name}")  # noqa: E731
    wanted = planes(theirs(module, pillow(image)))
    assert np.abs(ours(image).astype(int) - wanted).max() <= 2  # Pillow's grey is 0.299 red and so on


@pytest.mark.parametrize("angle", [0, 10, -35, 90, 200])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_rotate_gives_the_pixels_of_pillow(mode: str, angle: float) -> None:
    image = picture(31, 31)
    Image = pytest.importorskip("PIL.Image")
    wanted = planes(pillow(image).rotate(angle, getattr(Image.Resampling, mode.upper()))).astype(int)
    ours = F.rotate(image, angle, mode).astype(int)
    middle = (slice(None), slice(8, 23), slice(8, 23))  # Pillow clamps, where this mixes with black
    assert np.mean(np.abs(ours - wanted)[middle] > 2) < (0.03 if mode == "nearest" else 0.001)


def test_affine_moves_scales_and_shears() -> None:
    image = np.zeros((1, 21, 21), np.float32)
    image[0, 10, 14] = 1
    place = lambda x: tuple(np.argwhere(x[0] == 1)[0])  # noqa: E731
    assert place(F.affine(image, translate=(2, -3))) == (7, 16)
    assert place(F.affine(image, angle=90)) == (14, 10)  # clockwise
    assert F.affine(image, scale=2.0)[0, 9:12, 17:20].sum() >= 4
    high = np.zeros((1, 21, 21), np.float32)
    high[0, 4, 10] = 1
    moved = place(F.affine(high, shear=(45.0, 0.0)))
    assert moved[0] == 4 and abs(moved[1] - 10) == 6


def test_hue_turns_the_colours() -> None:
    red = np.array([[[1.0]], [[0.0]], [[0.0]]], np.float32)
    for turn, wanted in ((1 / 3, [0, 1, 0]), (-1 / 3, [0, 0, 1]), (0.5, [0, 1, 1]), (0.0, [1, 0, 0])):
        np.testing.assert_allclose(F.adjust_hue(red, turn).ravel(), wanted, atol=1e-6)
    image = picture() / np.float32(255)
    np.testing.assert_allclose(F.adjust_hue(image, 0.0), image, atol=1e-5)
    np.testing.assert_allclose(F.adjust_hue(F.adjust_hue(image, 0.2), -0.2), image, atol=1e-5)


def test_a_blur_keeps_what_is_even_and_spreads_a_point() -> None:
    np.testing.assert_allclose(F.gaussian_blur(np.full((1, 9, 9), 0.3, np.float32), 5, 1.0), 0.3, rtol=1e-6)
    point = np.zeros((1, 9, 9), np.float32)
    point[0, 4, 4] = 1
    blurred = F.gaussian_blur(point, (3, 5), (0.8, 1.2))
    weights = [np.exp(-0.5 * (np.arange(k) - k // 2) ** 2 / s**2) for k, s in ((5, 1.2), (3, 0.8))]
    wanted = np.outer(*(w / w.sum() for w in weights))
    np.testing.assert_allclose(blurred[0, 2:7, 3:6], wanted, rtol=1e-5)


# ---- arrays and tensors ----------------------------------------------------------------------------------------------

FIXED: dict[str, Callable[[Any], Any]] = {
    "resize": lambda x: F.resize(x, (17, 40)),
    "resize_bicubic": lambda x: F.resize(x, 11, "bicubic"),
    "resize_nearest": lambda x: F.resize(x, (50, 20), "nearest"),
    "center_crop": lambda x: F.center_crop(x, (9, 40)),
    "crop": lambda x: F.crop(x, -2, 3, 10, 40),
    "pad": lambda x: F.pad(x, (2, 3), 7),
    "pad_reflect": lambda x: F.pad(x, 3, padding_mode="reflect"),
    "pad_edge": lambda x: F.pad(x, [1, 0, 2, 3], padding_mode="edge"),
    "hflip": F.hflip,
    "vflip": F.vflip,
    "brightness": lambda x: F.adjust_brightness(x, 1.3),
    "contrast": lambda x: F.adjust_contrast(x, 0.6),
    "saturation": lambda x: F.adjust_saturation(x, 1.6),
    "hue": lambda x: F.adjust_hue(x, 0.13),
    "sharpness": lambda x: F.adjust_sharpness(x, 0.2),
    "grey": lambda x: F.rgb_to_grayscale(x, 3),
    "autocontrast": F.autocontrast,
    "invert": F.invert,
    "solarize": lambda x: F.solarize(x, 0.5),
    "posterize": lambda x: F.posterize(x, 3),
    "affine": lambda x: F.affine(x, 12.0, (1.5, -2), 1.1, (5.0, 3.0)),
    "rotate": lambda x: F.rotate(x, 33.0, "bilinear"),
    "blur": lambda x: F.gaussian_blur(x, (3, 5), 0.9),
    "to_dtype": lambda x: F.to_dtype(x, "float32", scale=True),
}


@pytest.mark.parametrize("kind", ["bytes", "floats"])
@pytest.mark.parametrize("name", FIXED)
def test_tensors_give_the_pixels_of_arrays(name: str, kind: str, device: sg.Device) -> None:
    image = np.stack([picture(seed=1), picture(seed=2)])
    image = image if kind == "bytes" else image / np.float32(255)
    array, there = FIXED[name](image), FIXED[name](tensor(image, device))
    assert there.device == device and str(there.dtype) == f"spirograd.{array.dtype}" and there.shape == array.shape
    difference = np.abs(array.astype(float) - there.cpu().numpy().astype(float))
    if name in ("affine", "hue"):  # a pixel may lie on the border between two
        assert np.mean(difference > 1e-4) < 0.01
    else:
        assert difference.max() <= (1 if kind == "bytes" else 2e-5)
    assert np.array_equal(
        image, np.stack([picture(seed=1), picture(seed=2)]) / (1 if kind == "bytes" else np.float32(255))
    )


def test_types_and_forms() -> None:
    grey, image = picture(channels=1)[0], picture()
    assert T.ToTensor()(grey).shape == (1, 24, 31) and T.Resize(12)(grey).shape == (1, 12, 15)
    as_tensor = T.ToTensor()(image)
    assert as_tensor.dtype == sg.float32
    np.testing.assert_allclose(as_tensor.numpy(), image / 255, rtol=1e-6)
    np.testing.assert_array_equal(T.ToTensor()(as_tensor.numpy()).numpy(), as_tensor.numpy())
    np.testing.assert_array_equal(F.to_dtype(as_tensor, sg.uint8, scale=True).numpy(), image)
    assert T.ToDtype(np.float32, scale=True)(image).dtype == np.float32
    assert T.ConvertImageDtype()(image).max() <= 1
    np.testing.assert_array_equal(T.ToImage()(pillow(image)), image)
    np.testing.assert_array_equal(T.PILToTensor()(pillow(image)).numpy(), image)
    assert T.Resize(8)(pillow(image)).shape == (3, 8, 10)
    assert T.Grayscale()(np.zeros((2, 4, 3, 8, 8), np.uint8)).shape == (2, 4, 1, 8, 8)


@pytest.mark.parametrize("shape", [(24, 31), (31, 24), (40, 40)], ids=str)
def test_the_shorter_side_gets_the_size(shape: tuple[int, int]) -> None:
    out = F.resize(np.zeros((1, *shape), np.uint8), 12).shape[1:]
    assert min(out) == 12 and max(out) == int(max(shape) * 12 / min(shape))
    assert max(F.resize(np.zeros((1, *shape), np.uint8), 30, max_size=32).shape) <= 32


def test_normalize(device: sg.Device) -> None:
    image = picture() / np.float32(255)
    mean, std = [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]
    wanted = (image - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    for x in (image, tensor(image, device), np.stack([image, image])):
        out = T.Normalize(mean, std)(x)
        out = out.cpu().numpy() if isinstance(out, sg.Tensor) else out
        assert out.dtype == np.float32
        np.testing.assert_allclose(out if out.ndim == 3 else out[1], wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match=r"normalize: the image has uint8; put ToTensor\(\)"):
        F.normalize(picture(), mean, std)
    with pytest.raises(ValueError, match=r"for 3 channels; give one each"):
        F.normalize(image, mean[:2], std[:2])


# ---- chance ----------------------------------------------------------------------------------------------------------

CHANCE: dict[str, Any] = {
    "crop": T.RandomCrop(20, padding=4),
    "resized_crop": T.RandomResizedCrop((16, 20)),
    "hflip": T.RandomHorizontalFlip(),
    "vflip": T.RandomVerticalFlip(),
    "rotation": T.RandomRotation(30),
    "jitter": T.ColorJitter(0.4, 0.4, 0.4, 0.1),
    "grey": T.RandomGrayscale(0.5),
    "erasing": T.RandomErasing(0.9),
    "blur": T.GaussianBlur(3),
    "apply": T.RandomApply([T.RandomHorizontalFlip(1.0)], 0.5),
    "choice": T.RandomChoice([T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0)]),
    "order": T.RandomOrder([T.RandomHorizontalFlip(0.5), T.RandomRotation(10)]),
}


@pytest.mark.parametrize("name", CHANCE)
@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_a_seed_decides(name: str, kind: str, device: sg.Device) -> None:
    images = np.stack([picture()] * 12)
    x = images if kind == "array" else tensor(images / np.float32(255), device)
    if kind == "array" and device.kind == "gpu":
        pytest.skip("arrays are on no device")

    def some(seed: int) -> list[np.ndarray[Any, Any]]:
        sg.manual_seed(seed)
        made = [CHANCE[name](x) for _ in range(4)]
        return [m if kind == "array" else m.cpu().numpy() for m in made]

    first, again, other = some(0), some(0), some(1)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    if name not in ("blur", "apply", "choice") and not (name in ("rotation", "order") and kind == "tensor"):
        assert not all(np.array_equal(one, first[0][0]) for one in first[0]), "each image in its own way"


def test_a_crop_is_a_part_of_the_image(device: sg.Device) -> None:
    image = np.arange(10 * 12, dtype=np.float32).reshape(1, 1, 10, 12).repeat(40, 0)
    for x in (image, tensor(image, device)):
        made = T.RandomCrop((4, 5))(x)
        made = made.cpu().numpy() if isinstance(made, sg.Tensor) else made
        corners = set()
        for one in made[:, 0]:
            row, column = divmod(int(one[0, 0]), 12)
            corners.add((row, column))
            np.testing.assert_array_equal(one, image[0, 0, row : row + 4, column : column + 5])
        assert len({r for r, _ in corners}) >= 5 and len({c for _, c in corners}) >= 5
        assert max(r for r, _ in corners) <= 6 and max(c for _, c in corners) <= 7


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
def test_a_hole_stays_a_hole(mode: str, device: sg.Device) -> None:
    depths = np.random.default_rng(4).uniform(size=(1, 12, 15)).astype("float32")
    whole = F.resize(depths, (7, 20), mode)
    for value in (np.nan, np.inf):
        holed = depths.copy()
        holed[0, 5, 6] = value
        changed = depths.copy()
        changed[0, 5, 6] += 1
        hole = F.resize(changed, (7, 20), mode) != whole
        for got in (F.resize(holed, (7, 20), mode), F.resize(sg.tensor(holed, device=device), (7, 20), mode).numpy()):
            np.testing.assert_array_equal(np.isnan(got), hole)
            np.testing.assert_allclose(got[~hole], whole[~hole], rtol=1e-5)


def test_a_resized_crop_has_the_given_share_and_shape(device: sg.Device) -> None:
    """A ramp: the differences between the pixels of the result say how large the part was."""
    y, x = np.mgrid[0:60, 0:80].astype(np.float32)
    image = np.stack([y, x])[None].repeat(60, 0)
    for given in (image, tensor(image, device)):
        made = T.RandomResizedCrop(20, scale=(0.2, 0.5), ratio=(0.5, 2.0))(given)
        made = made.cpu().numpy() if isinstance(made, sg.Tensor) else made
        heights = (made[:, 0, 15, 10] - made[:, 0, 5, 10]) / 10 * 20
        widths = (made[:, 1, 10, 15] - made[:, 1, 10, 5]) / 10 * 20
        areas, ratios = heights * widths / 4800, widths / heights
        assert areas.min() > 0.17 and areas.max() < 0.53 and np.ptp(areas) > 0.15
        assert 0.45 < ratios.min() < 0.8 and 1.2 < ratios.max() < 2.2


def test_a_resized_crop_is_a_crop_and_a_resize(device: sg.Device) -> None:
    image = picture() / np.float32(255)
    wanted = F.resize(image[:, 3:18, 5:25], (8, 13))
    for x in (image[None], tensor(image[None], device)):
        made = F.resized_crop_at(x, 3, 5, 15, 20, (8, 13))
        made = made.cpu().numpy() if isinstance(made, sg.Tensor) else made
        np.testing.assert_allclose(made[0], wanted, atol=2e-6)


def test_erased_parts_have_the_value_and_the_share(device: sg.Device) -> None:
    image = np.ones((200, 1, 20, 20), np.float32)
    for x in (image, tensor(image, device)):
        made = T.RandomErasing(p=0.5, scale=(0.1, 0.2), value=0.25)(x)
        made = made.cpu().numpy() if isinstance(made, sg.Tensor) else made
        assert set(np.unique(made)) == {0.25, 1.0}
        share = (made == 0.25).mean((1, 2, 3))
        assert 0.35 < (share > 0).mean() < 0.65 and share[share > 0].min() > 0.07 and share.max() < 0.24


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_of_randaugment_grows_with_its_strength(name: str) -> None:
    image = picture(32, 32)
    far = [np.abs(CHANGES[name](image, s).astype(int) - image).mean() for s in (0.05, 0.9)]
    assert CHANGES[name](image, -0.9).dtype == np.uint8
    if name in ("Identity", "AutoContrast", "Equalize"):
        assert far[0] == far[1]
    else:
        assert far[0] < far[1]


def test_randaugment_changes_bytes_and_says_so() -> None:
    sg.manual_seed(0)
    images = np.stack([picture()] * 8)
    made = T.RandAugment(num_ops=3)(images)
    assert made.dtype == np.uint8 and len({one.tobytes() for one in made}) > 5
    with pytest.raises(TypeError, match=r"RandAugment: images are Tensor of spirograd.uint8; put it before ToTensor"):
        T.RandAugment()(sg.tensor(images))


@pytest.mark.parametrize("mixing", [T.MixUp, T.CutMix])
def test_images_and_targets_are_mixed_alike(mixing: Any, device: sg.Device) -> None:
    """Image i is i everywhere, so that its mean says how much of which one is in it."""
    images = np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1) * np.ones((1, 2, 10, 12), np.float32)
    for x, y in ((images, np.arange(4)), (tensor(images, device), sg.arange(4, device=device))):
        sg.manual_seed(3)
        mixed, targets = mixing(num_classes=5)(x, y)
        if isinstance(mixed, sg.Tensor):
            assert mixed.device == targets.device == device
            mixed, targets = mixed.cpu().numpy(), targets.cpu().numpy()
        assert targets.shape == (4, 5) and 0.01 < targets[1, 1] < 0.99
        np.testing.assert_allclose(targets.sum(1), 1, rtol=1e-6)
        np.testing.assert_allclose(mixed.mean((1, 2, 3)), targets @ np.arange(5), rtol=1e-5, atol=1e-6)
        assert (len(np.unique(mixed[1])) == 2) == (mixing is T.CutMix)
    with pytest.raises(ValueError, match="give num_classes"):
        mixing()(images, np.arange(4))
    shares = np.eye(4, dtype=np.float32)
    assert mixing()(images, shares)[1].shape == (4, 4)


def test_a_batch_on_a_device_is_changed_without_new_plans(device: sg.Device) -> None:
    augment = T.Compose(
        [
            T.RandomResizedCrop(16),
            T.RandomHorizontalFlip(),
            T.ColorJitter(0.2, 0.2),
            T.RandomErasing(),
            T.Normalize([0.5], [0.2]),
        ]
    )
    x = tensor(picture()[None].repeat(4, 0) / np.float32(255), device)
    orders = 2
    for _ in range(8 * orders):  # the orders of brightness and contrast
        augment(x).cpu()
    sg.reset_stats()
    for _ in range(8):
        augment(x).cpu()
    assert sg.stats()["plan_misses"] == 0


def test_workers_draw_the_same_for_the_same_seed() -> None:
    class Images(sg.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return 16

        def __getitem__(self, i: Any) -> Any:
            return T.RandomResizedCrop(8)(picture(seed=i))

    def epoch(seed: int) -> np.ndarray[Any, Any]:
        loader = sg.utils.data.DataLoader(
            Images(), batch_size=4, num_workers=2, generator=sg.Generator().manual_seed(seed)
        )
        return np.concatenate([batch.numpy() for batch in loader])

    assert np.array_equal(epoch(0), epoch(0)) and not np.array_equal(epoch(0), epoch(1))


def test_what_is_wrong_is_said() -> None:
    image = picture()
    for message, call in (
        ("Resize: the image is a str; give an array, a tensor or a picture", lambda: T.Resize(3)("a.png")),
        ("resize: interpolation is 'lanczos'; use bilinear", lambda: F.resize(image, 8, "lanczos")),
        ("resize: to [0, 1]; use sizes of 1 or more", lambda: F.resize(image, (0, 1))),
        ("pad: padding is -1; give one number", lambda: F.pad(image, -1)),
        ("pad: padding_mode is 'wrap'; use constant", lambda: F.pad(image, 1, padding_mode="wrap")),
        ("RandomCrop: the image has [24, 31] pixels, size is [40, 40]", lambda: T.RandomCrop(40)(image)),
        ("RandomHorizontalFlip: p is 2; use a number in [0, 1]", lambda: T.RandomHorizontalFlip(2)),
        ("ColorJitter: hue is 0.7; use", lambda: T.ColorJitter(hue=0.7)),
        ("RandAugment: magnitude is 31; use 0 to 30", lambda: T.RandAugment(magnitude=31)),
        ("gaussian_blur: kernel_size 4, sigma 1; use odd", lambda: F.gaussian_blur(image, 4, 1)),
        ("rgb_to_grayscale: the image has 2 channels; give 3 or 1", lambda: F.rgb_to_grayscale(image[:2])),
        ("MixUp: alpha is 0; use a number above 0", lambda: T.MixUp(alpha=0)),
        ("MixUp: images have shape [3, 24, 31]", lambda: T.MixUp(num_classes=2)(image, np.zeros(3, int))),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert str(caught.value).startswith(message), str(caught.value)
    assert repr(T.CenterCrop(3)) == "CenterCrop(size=(3, 3))" and math.isclose(T.ColorJitter(0.3).brightness[0], 0.7)
