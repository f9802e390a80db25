"""What spirograd gives beside what PyTorch gave: the kind of the difference, and the difference in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from opinfo_calls import Json, array, encode

# Relative to a value, and to the largest of its tensor.
TOLERANCE = {"float64": 1e-7, "float32": 1e-4, "float16": 1e-2, "bfloat16": 6e-2}
HALVES = ("float16", "bfloat16")
Difference = tuple[str, str]


def differ(ours: Json, theirs: Json, random: bool, precision: float, least: float = 1e-3) -> Difference | None:
    """The first difference of encoded values; of random ones, of their types and sizes."""
    if isinstance(theirs, dict) and "tensor" in theirs:
        if not isinstance(ours, dict) or "tensor" not in ours:
            return "types", f"{str(ours)[:60]}, PyTorch a tensor"
        return differ_tensors(ours, theirs, random, precision, least)
    if isinstance(theirs, dict) and ("list" in theirs or "tuple" in theirs):
        a = (ours.get("list", ours.get("tuple")) if isinstance(ours, dict) else None) or []
        b = theirs.get("list", theirs.get("tuple"))
        if len(a) != len(b):
            return "values", f"{len(a)} results, PyTorch {len(b)}"
        return next((d for x, y in zip(a, b, strict=True) if (d := differ(x, y, random, precision, least))), None)
    if random or ours == theirs or (ours != ours and theirs != theirs):
        return None
    near = (
        isinstance(theirs, float) and isinstance(ours, (int, float)) and abs(ours - theirs) <= precision * abs(theirs)
    )
    return None if near else ("values", f"{str(ours)[:100]}, PyTorch {str(theirs)[:100]}")


def differ_tensors(ours: Json, theirs: Json, random: bool, precision: float, least: float) -> Difference | None:
    (a_type, a_shape, _, _), (b_type, b_shape, _, _) = ours["tensor"], theirs["tensor"]
    if a_type != b_type:
        return "types", f"{a_type}, PyTorch {b_type}"
    if a_shape != b_shape:
        return "values", f"sizes {a_shape}, PyTorch {b_shape}"
    if random:
        return None
    a, b = array(ours), array(theirs)
    if b.dtype.kind in "fc":
        precision = max(precision, TOLERANCE.get(b_type, 0.0))
        wide = np.complex128 if b.dtype.kind == "c" else np.float64
        a, b = a.astype(wide), b.astype(wide)
        finite = np.isfinite(b)
        size = np.abs(b[finite]).max(initial=0.0)
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= precision * (np.abs(b) + max(min(size, 1e3), least))
            other = (a == b) | (np.isnan(a) & np.isnan(b))
        if b_type in HALVES:  # PyTorch rounds on the way to the result, and may overflow there
            other = np.ones_like(finite)
        wrong = ~np.where(finite, near, other)
    else:
        wrong = a != b
    if not wrong.any():
        return None
    at = tuple(int(i[0]) for i in np.nonzero(wrong)) if wrong.ndim else ()
    return "values", f"{int(wrong.sum())} of {wrong.size} {b_type} values, at {list(at)} {a[at]}, PyTorch {b[at]}"


def compare(row: Json, case: Json, found: dict[str, Any]) -> list[Difference]:
    """The findings of a call."""
    random = row["random"] or case["random"]
    precision = TOLERANCE.get(case["type"], 1e-4)
    if d := differ(encode(found["out"]), case["out"], random, precision):
        return [d]
    if not random and wants(case["out"]) and not wants(encode(found["out"])):
        return [("gradients", "has no gradient graph")]
    for order, kind in (("first", "gradients"), ("second", "second gradients")):
        if random or case.get(order) is None or order not in found:
            continue
        theirs = case[order]["list"]
        ours = [None] * len(theirs) if found[order] is None else [encode(g) for g in found[order]]
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if a is None or b is None:
                if a is b or np.abs(array(b if a is None else a)).max(initial=0) <= 4 * precision:
                    continue  # none and zeros are the same gradient
                return [(kind, f"of input {i}: {'none' if a is None else 'some'}, PyTorch the reverse")]
            if d := differ(a, b, False, 4 * precision, 2.0):
                return [(kind, f"of input {i}: {d[1]}")]
    return []


def wants(x: Json) -> bool:
    """Whether an encoded value has a tensor that requires grad."""
    if isinstance(x, dict):
        return bool(x["tensor"][2]) if "tensor" in x else any(wants(part) for part in x.values())
    return isinstance(x, list) and any(wants(part) for part in x)


def said(case: Json) -> str:
    """A call in words."""

    def text(x: Json) -> str:
        if not isinstance(x, dict):
            return repr(x)
        ((kind, value),) = x.items()
        if kind == "tensor":
            values = array(x)
            small = f" {values.tolist()}" if values.size <= 6 else ""
            return f"<{value[0]} {value[1]}{small}>"
        if kind in ("list", "tuple"):
            return f"({', '.join(text(part) for part in value)})"
        return f"{kind} {value}"

    words = [text(a) for a in case["args"]["tuple"]]
    words += [f"{k}={text(v)}" for k, v in case["kwargs"]["dict"]]
    return f"{case['form']} {case['type']}({', '.join(words)})"[:300]
