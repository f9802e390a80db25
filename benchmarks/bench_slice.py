"""Every figure that spirograd promises, measured, with the libraries it is compared to beside it.

    python benchmarks/bench_slice.py                          # every row, every device, every library installed
    python benchmarks/bench_slice.py --rows step64,matmul --device gpu --anchors torch
    python benchmarks/bench_slice.py --list

Writes benchmarks/results/slice-DATE.json. Close other programs first; compiled PyTorch needs a C++ compiler.
"""

from __future__ import annotations

import argparse
import sys

import anchors
import common
import slice_host
import slice_ops
import slice_train
from rows import ROWS, Context

import spirograd as sg

MODULES = (slice_train, slice_ops, slice_host)  # each enters its rows when imported


def devices(wanted: str) -> list[sg.Device]:
    if wanted == "cpu":
        return [sg.Device.cpu()]
    if wanted == "all":
        return sg.Device.list()
    return [sg.Device.gpu()] if wanted == "gpu" else [sg.Device(wanted)]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Every figure that spirograd promises.")
    parser.add_argument("--rows", default="all", help="names with commas, or all")
    parser.add_argument("--device", default="all", help="cpu, gpu, gpu:1, or all (default)")
    parser.add_argument(
        "--anchors", default="all", help=f"with commas: {', '.join(anchors.NAMES)}; all (default), none"
    )
    parser.add_argument("--quick", action="store_true", help="few samples and small sizes: does it run at all")
    parser.add_argument("--json", metavar="FILE", help="where the results go")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.list:
        for r in ROWS.values():
            where = " and ".join(w for w, on in (("cpu", r.cpu), ("gpu", r.gpu)) if on)
            print(f"{r.name:<10} {where:<12} {r.doc}")
        return 0
    names = list(ROWS) if options.rows == "all" else options.rows.split(",")
    if unknown := [n for n in names if n not in ROWS]:
        print(f"no row {', '.join(unknown)}; --list names them", file=sys.stderr)
        return 2
    try:
        beside = anchors.available(options.anchors)
        places = devices(options.device)
    except (ValueError, sg.Error) as error:
        print(error, file=sys.stderr)
        return 2
    env = common.environment(places)
    results: list[common.Result] = []
    failed = 0
    for device in places:
        gpu = str(device).startswith("gpu")
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
    print(common.table(results))
    print(f"\nresults: {common.save('slice', results, env, options.json)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
