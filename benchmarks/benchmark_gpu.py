"""What a GPU brings on this machine, and from which size on: the CPU beside each GPU.

    python benchmarks/benchmark_gpu.py [--quick] [--device cpu|gpu|gpu:1|all] [--json FILE] [--plot FILE.png]

The first line says whether there is a GPU, the last table and the sentence below it when it pays. Writes
benchmarks/results/gpu-DATE.json, and a picture of time against size where matplotlib is installed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import spirograd as sg
from harness import common
from rows.gpu import report
from rows.gpu.networks import NETWORK
from rows.gpu.scalars import BASIC
from rows.gpu.section import Bench
from rows.gpu.sizes import SIZES
from rows.gpu.tensors import TENSORS

SECTIONS = (BASIC, NETWORK, TENSORS, SIZES)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What a GPU brings on this machine, and from which size on.")
    parser.add_argument("--quick", action="store_true", help="small sizes, few samples")
    parser.add_argument("--device", default="all", help="cpu, gpu, gpu:1 or all (default)")
    parser.add_argument("--json", metavar="FILE", help="where the numbers go")
    parser.add_argument("--plot", metavar="FILE.png", help="where the picture goes (default: beside the numbers)")
    return parser.parse_args()


def main() -> int:
    options = parse()
    available = sg.Device.is_gpu_available()
    print(f"GPU Available: {available}")
    if not available and options.device == "all":
        print("(python -m spirograd info says why; SPIROGRAD_ALLOW_CPU_VULKAN=1 accepts a software driver)")
    try:
        devices = sg.Device.list() if options.device == "all" else [sg.Device(options.device)]
    except (ValueError, sg.Error) as error:
        print(error, file=sys.stderr)
        return 2
    env = common.environment(devices)
    for facts in env["devices"]:
        print("  ".join(str(facts[k]) for k in ("device", "type", "name", "driver") if k in facts))
    names = {f["device"]: f"{f['device']} ({f.get('name', f['type'])})" for f in env["devices"]}

    results: list[common.Result] = []
    env["skipped"] = []
    for section in SECTIONS:
        print(f"\n{section.name}: {section.doc}", flush=True)
        measured = []
        for device in devices:
            place = Bench(device, section.name, options.quick)
            measured += section.run(place)
            env["skipped"] += place.skipped
            sg.empty_cache()
        print(report.comparison(measured))
        results += measured
    for line in env["skipped"]:
        print(line)
    print(f"\n{report.verdict(results, names)}")

    target = common.save("gpu", results, env, options.json)
    print(f"\nresults: {target}")
    picture = Path(options.plot) if options.plot else target.with_suffix(".png")
    try:
        report.picture(results, names, picture)
        print(f"picture: {picture}")
    except ImportError:
        print("picture: not drawn, matplotlib is not installed (pip install matplotlib)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
