"""The element type of every function of two tensors, for each pair of types: a line for each function."""

import warnings

import torch

warnings.filterwarnings("ignore")
TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
CODES = dict(zip(TYPES, "?uailLhbsd", strict=True))
NAMES = "add sub mul div true_divide floor_divide remainder fmod pow float_power maximum minimum fmax fmin atan2 hypot"
NAMES += " logaddexp logaddexp2 xlogy copysign nextafter ldexp gcd lcm bitwise_and bitwise_or bitwise_xor"
NAMES += " bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor eq ne lt le gt ge heaviside"
NAMES += " rsub special.xlog1py isclose clamp_min clamp_max dist outer inner dot mv"


def found(name):
    at = torch
    for part in name.split("."):
        at = getattr(at, part)
    return at


FUNCTIONS = {name: found(name) for name in NAMES.split()}
FUNCTIONS["div floor"] = lambda a, b: torch.div(a, b, rounding_mode="floor")
FUNCTIONS["div trunc"] = lambda a, b: torch.div(a, b, rounding_mode="trunc")
FUNCTIONS["where"] = lambda a, b: torch.where(torch.tensor([True]), a, b)
FUNCTIONS["cat"] = lambda a, b: torch.cat([a, b])
FUNCTIONS["add in place"] = lambda a, b: a.clone().add_(b)
FUNCTIONS["mul in place"] = lambda a, b: a.clone().mul_(b)
FUNCTIONS["div in place"] = lambda a, b: a.clone().div_(b)
FUNCTIONS["pow in place"] = lambda a, b: a.clone().pow_(b)
FUNCTIONS["copysign in place"] = lambda a, b: a.clone().copysign_(b)
FUNCTIONS["lerp"] = lambda a, b: torch.lerp(a, b, 0.5)
FUNCTIONS["addcmul"] = lambda a, b: torch.addcmul(a, b, b)
FUNCTIONS["addcdiv"] = lambda a, b: torch.addcdiv(a, b, b)
FUNCTIONS["searchsorted"] = lambda a, b: torch.searchsorted(a, b)
FUNCTIONS["masked_fill"] = lambda a, b: a.masked_fill(torch.tensor([True]), b[0])
FUNCTIONS["index_fill"] = lambda a, b: a.index_fill(0, torch.tensor([0]), b[0])
FUNCTIONS["hardtanh"] = lambda a, b: torch.nn.functional.hardtanh(a) if a.dtype == b.dtype else None


def code(function, a, b):
    try:
        out = function(a, b)
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError, AttributeError):
        return "."
    return "-" if out is None else CODES[str(out.dtype).rpartition(".")[2]]


for title, last in [("tensors", (1,)), ("the second of no dimension", ()), ("the first of no dimension", (1,))]:
    print(title, "".join(CODES.values()))
    first = () if title.startswith("the first") else (1,)
    for name, function in FUNCTIONS.items():
        rows = [
            "".join(
                code(function, torch.ones(first, dtype=getattr(torch, a)), torch.ones(last, dtype=getattr(torch, b)))
                for b in TYPES
            )
            for a in TYPES
        ]
        print(name.replace(" ", "_"), " ".join(rows))
print("a number")
for name in (
    "add",
    "mul",
    "div",
    "pow",
    "floor_divide",
    "remainder",
    "fmod",
    "copysign",
    "ldexp",
    "gcd",
    "xlogy",
    "atan2",
):
    numbers = (2, 2.5)
    rows = ["".join(code(found(name), torch.ones(1, dtype=getattr(torch, a)), n) for n in numbers) for a in TYPES]
    print(name, " ".join(rows))
for name in ("rsub", "xlogy", "float_power", "pow", "copysign", "special.xlog1py"):
    numbers = (2, 2.5)
    rows = ["".join(code(found(name), n, torch.ones(1, dtype=getattr(torch, a))) for n in numbers) for a in TYPES]
    print("of_number", name, " ".join(rows))
