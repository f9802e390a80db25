"""The scalar engine beside micrograd, Python's floats and PyTorch.

    python benchmarks/bench_value.py                          # every row, every device, every library installed
    python benchmarks/bench_value.py --rows mlp,moons --device cpu --anchors micrograd
    python benchmarks/bench_value.py --list

Writes benchmarks/results/value-DATE.json. Close other programs first. `pip install micrograd` brings the original.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import sys

import common
import value_rows  # noqa: F401  enters its rows
from rows import ROWS, Context

import spirograd as sg

ANCHORS = ("micrograd", "floats", "torch")


def available(wanted: str) -> frozenset[str]:
    """ "all", "none" or names with commas. Says what is left out.

    Raises:
        ValueError: a name is none of `ANCHORS`, or one asked for by name is not installed.
    """
    names = () if wanted == "none" else ANCHORS if wanted == "all" else tuple(wanted.split(","))
    found = set()
    for name in names:
        if name not in ANCHORS:
            raise ValueError(f"anchors: no library {name!r}; there are {', '.join(ANCHORS)}, all, none")
        if name == "floats" or importlib.util.find_spec(name):
            found.add(name)
        elif wanted == "all":
            print(f"without {name}: it is not installed")
        else:
            raise ValueError(f"anchors: {name} is not installed; pip install {name}")
    return frozenset(found)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The scalar engine beside micrograd, Python's floats and PyTorch.")
    parser.add_argument("--rows", default="all", help="names with commas, or all")
    parser.add_argument("--device", default="all", help="cpu, gpu, gpu:1, or all (default)")
    parser.add_argument("--anchors", default="all", help=f"with commas: {', '.join(ANCHORS)}; all (default), none")
    parser.add_argument("--quick", action="store_true", help="few samples and small sizes: does it run at all")
    parser.add_argument("--json", metavar="FILE", help="where the results go")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.list:
        for r in ROWS.values():
            where = " and ".join(w for w, on in (("cpu", r.cpu), ("gpu", r.gpu)) if on)
            print(f"{r.name:<12} {where:<12} {r.doc}")
        return 0
    names = list(ROWS) if options.rows == "all" else options.rows.split(",")
    if unknown := [n for n in names if n not in ROWS]:
        print(f"no row {', '.join(unknown)}; --list names them", file=sys.stderr)
        return 2
    try:
        beside = available(options.anchors)
        places = sg.Device.list() if options.device == "all" else [sg.Device(options.device)]
    except (ValueError, sg.Error) as error:
        print(error, file=sys.stderr)
        return 2
    env = common.environment(places)
    results: list[common.Result] = []
    failed = 0
    for device in places:
        gpu = device.kind == "gpu"
        for name in names:
            if not (ROWS[name].gpu if gpu else ROWS[name].cpu):
                continue
            print(f"{device} {name}: {ROWS[name].doc}", file=sys.stderr, flush=True)
            try:
                results += ROWS[name].run(Context(device, gpu, options.quick, beside))
            except (sg.Error, ArithmeticError, RuntimeError) as error:
                failed += 1
                print(f"{device} {name}: FAILED: {error}", file=sys.stderr, flush=True)
            sg.empty_cache()
    env["versions"] = common.environment([])["versions"]  # now that the other libraries are imported
    if "micrograd" in beside:
        env["versions"]["micrograd"] = importlib.metadata.version("micrograd")
    print(common.table(results))
    print(f"\nresults: {common.save('value', results, env, options.json)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
