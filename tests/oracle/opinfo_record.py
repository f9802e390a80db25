"""Runs the operator table of torch.testing in PyTorch, and writes calls and what comes out, a row in JSON each.

python tests/oracle/opinfo_record.py OUT.json.xz [--small]
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

sys.path.insert(0, str(Path(__file__).parent))
from opinfo_calls import encode, evaluate, function
from opinfo_compare import TOLERANCE, differ

# Type, samples at most, orders of gradients.
ALL = [("float32", 8, 1), ("float64", 5, 2), ("float16", 3, 1), ("bfloat16", 3, 1), ("int64", 4, 0), ("int32", 2, 0)]
ALL += [("int16", 2, 0), ("int8", 2, 0), ("uint8", 2, 0), ("bool", 2, 0)]
SMALL = [("float32", 2, 1), ("float64", 1, 2), ("int64", 1, 0)]
# Seeds that give the same are no proof that there is none.
RANDOM = frozenset(["bernoulli", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d"])
ELEMENTS = {False: 20_000, True: 250}  # of a call's arguments, at most; twice as many of its results


def spread(samples: list[Any], count: int) -> list[Any]:
    """So many of them, from the first to the last."""
    if len(samples) <= count:
        return samples
    return [samples[i * (len(samples) - 1) // max(count - 1, 1)] for i in range(count)]


def elements(x: Any) -> int:
    """How many characters the encoded tensors have, about eight for each element."""
    if isinstance(x, dict) and "tensor" in x:
        return len(x["tensor"][3])
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, list) else ()
    return sum(elements(part) for part in parts)


def size(case: dict[str, Any]) -> int:
    return elements(case["args"]) + elements(case["kwargs"])


def calls(op: Any, dtype: torch.dtype, orders: int) -> list[dict[str, Any]]:
    """The samples of a row in this type; each of them as a method and in place too."""
    torch.manual_seed(0)
    differentiable = orders > 0 and op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    if not op.supports_gradgrad:
        orders = min(orders, 1)
    found = []
    for sample in op.sample_inputs("cpu", dtype, requires_grad=differentiable):
        try:
            args = encode((sample.input, *sample.args))
            kwargs = encode(sample.kwargs)
        except TypeError:  # a function or a generator among the arguments
            continue
        found.append({"args": args, "kwargs": kwargs, "orders": orders if differentiable else 0, "form": "function"})
    return found


def forms(op: Any, case: dict[str, Any]) -> list[dict[str, Any]]:
    out = [case]
    if op.name in ("where", "polygamma", "embedding") or "lambda" in repr(op.method_variant):
        return out
    if op.method_variant is not None and not op.name.startswith("__") and hasattr(torch.Tensor, op.name):
        out.append({**case, "orders": min(case["orders"], 1), "form": "method"})
    if op.inplace_variant is not None and hasattr(torch.Tensor, f"{op.name}_"):
        out.append({**case, "orders": min(case["orders"], 1), "form": "in place"})
    return out


def record(op: Any, small: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": op.name,
        "variant": op.variant_test_name,
        "random": op.name in RANDOM or "empty" in op.name,
        "cases": [],
    }
    try:
        function(op.name, op.variant_test_name)
    except AttributeError as e:
        row["skipped"] = f"no public function: {e}"
        return row
    types = [t for t in (SMALL if small else ALL) if getattr(torch, t[0]) in op.supported_dtypes("cpu")]
    if not types and not small:  # complex numbers alone
        types = [(str(t).partition(".")[2], 3, 1) for t in sorted(op.supported_dtypes("cpu"), key=str)[:1]]
    for name, count, orders in types:
        try:
            found = calls(op, getattr(torch, name), orders)
        except Exception as e:
            row.setdefault("notes", []).append(f"{name}: no samples: {e!r}"[:200])
            continue
        least = min(map(size, found), default=0)  # a larger one is better than none
        limit = least if ELEMENTS[small] * 8 < least < ELEMENTS[small] * 16 else ELEMENTS[small] * 8
        fits = [case for case in found if size(case) <= limit]
        for i, case in enumerate(spread(fits, count)):
            for call in forms(op, case) if i < 2 else [case]:
                row["cases"] += one(row, {**call, "type": name}, 2 * limit)
    return row


def one(row: dict[str, Any], case: dict[str, Any], limit: int) -> list[dict[str, Any]]:
    """The call with what comes out; none where PyTorch refuses it, fewer gradients where it has not written them."""
    while True:
        try:
            found, other = ({k: encode(v) for k, v in seeded(seed, row, case).items()} for seed in (0, 1))
        except Exception as e:
            if case["orders"] == 0 or "NotImplemented" in repr(e):
                row.setdefault("notes", []).append(f"{case['type']} {case['form']}: {e!r}"[:200])
                if case["orders"] == 0:
                    return []
            case = {**case, "orders": case["orders"] - 1}
            continue
        random = differ(other["out"], found["out"], False, TOLERANCE.get(case["type"], 1e-4)) is not None
        out = {**case, **found, "random": random}
        return [out] if elements(found) <= limit else []


def seeded(seed: int, row: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    torch.manual_seed(seed)
    return evaluate(row, case, "cpu")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("out")
    options.add_argument("--small", action="store_true", help="few and small samples, for the test on stored values")
    options.add_argument("--only", default="")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with lzma.open(given.out, "wt", preset=9 | lzma.PRESET_EXTREME) as file:
        for op in op_db:
            if given.only and op.name not in given.only.split(","):
                continue
            row = record(op, given.small)
            notes = [row["skipped"]] if "skipped" in row else row.get("notes", [])[:2]
            print(f"{op.name} {op.variant_test_name}: {len(row['cases'])} {notes}", flush=True)
            json.dump(row, file, separators=(",", ":"))
            file.write("\n")


if __name__ == "__main__":
    main()
