"""What a GPU brings on this machine: matrix products, a fused chain and a training step, on the CPU and on each GPU.

    python benchmarks/benchmark_gpu.py [--quick] [--device cpu|gpu|gpu:1|all] [--json FILE] [--plot FILE.png]

The first line says whether there is a GPU. Writes benchmarks/results/gpu-DATE.json, and a picture of time against size
where matplotlib is installed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import common
import numpy as np
from slice_ops import chain
from slice_train import MLP, spirograd_steps

import spirograd as sg

Part = Callable[[Any, int], tuple[Callable[[], Any], int]]  # (device, size) -> (work, units of work in it)


def products(device: Any, n: int) -> tuple[Callable[[], Any], int]:
    a = np.random.default_rng(n).standard_normal((n, n), dtype=np.float32) / np.float32(n**0.5)
    sa = sg.tensor(a, device=device)
    inside = max(1, min(16, 2**33 // n**3)) if str(device) != "cpu" else 1

    def work() -> float:
        x = sa
        for _ in range(inside):  # each needs the one before
            x = sa @ x
        return float(x[0, 0].item())

    return work, inside


def chains(device: Any, n: int) -> tuple[Callable[[], Any], int]:
    x = sg.tensor(np.random.default_rng(n).standard_normal(n, dtype=np.float32), device=device)

    def work() -> Any:
        kept = chain(x, sg.relu, sg.tanh)
        sg.synchronize()  # the result is alive: so it is computed and written
        return kept

    return work, 1


def steps(device: Any, batch: int) -> tuple[Callable[[], Any], int]:
    run = spirograd_steps(MLP, batch, device)
    inside = 10 if batch <= 256 else 3
    return lambda: run(inside), inside


# name -> (what the size is, sizes, sizes with --quick, how to make the work)
PARTS: dict[str, tuple[str, list[int], list[int], Part]] = {
    "matrix product": ("rows and columns", [128, 256, 512, 1024, 2048], [128, 256, 512], products),
    "fused chain of 8 ops": ("float32 elements", [2**k for k in (12, 14, 16, 18, 20, 22, 24)], [2**14, 2**18], chains),
    "training step": ("batch", [16, 64, 256, 1024, 4096], [16, 64], steps),
}


def run(places: list[Any], quick: bool) -> Iterator[common.Result]:
    for name, (unit, sizes, few, make) in PARTS.items():
        for size in few if quick else sizes:
            works = {str(d): make(d, size) for d in places}
            for device, (work, inside) in works.items():
                timing = common.measure(
                    {device: work}, calls_inside=inside, seconds=0.1 if quick else 0.6, least=3, most=100
                )[device]
                case = f"{size:,} {unit}"
                value = timing.median * 1e3
                yield common.Result(name, case, "spirograd", device, value, "ms", timing, "", {"size": size})


def comparison(results: list[common.Result]) -> str:
    """A line a case, a column a device, and how much faster than the CPU each is."""
    devices = list(dict.fromkeys(r.device for r in results))
    lines = [f"{'':<24} {'size':<28}" + "".join(f"{d + ', ms':>14}" for d in devices)]
    lines[0] += "".join(f"{d + ' / cpu':>14}" for d in devices if d != "cpu" and "cpu" in devices)
    for row, case in dict.fromkeys((r.row, r.case) for r in results):
        times = {r.device: r.value for r in results if (r.row, r.case) == (row, case)}
        line = f"{row:<24} {case:<28}" + "".join(f"{times[d]:>14.4g}" for d in devices)
        line += "".join(f"{times['cpu'] / times[d]:>13.1f}x" for d in devices if d != "cpu" and "cpu" in devices)
        lines.append(line)
    return "\n".join(lines)


def plot(results: list[common.Result], names: dict[str, str], path: Path) -> None:
    from spirograd import viz

    figure, axes = viz.panels(len(PARTS), "Time of one run, median and quartiles (less is better)")
    for panel, (name, (unit, *_)) in zip(axes, PARTS.items(), strict=True):
        series: dict[str, list[tuple[float, float, float, float]]] = {}
        for r in results:
            if r.row == name and r.timing:
                point = (r.facts["size"], *(1e3 * s for s in (r.timing.median, r.timing.low, r.timing.high)))
                series.setdefault(names[r.device], []).append(point)
        viz.label(panel, name, unit, "time, ms")
        viz.draw_times(panel, series)
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What a GPU brings on this machine.")
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
        places = sg.Device.list() if options.device == "all" else [sg.Device(options.device)]
    except (ValueError, sg.Error) as error:
        print(error, file=sys.stderr)
        return 2
    env = common.environment(places)
    for facts in env["devices"]:
        print("  ".join(str(facts[k]) for k in ("device", "type", "name", "driver") if k in facts))
    results = list(run(places, options.quick))
    print("\n" + comparison(results))
    target = common.save("gpu", results, env, options.json)
    print(f"\nresults: {target}")
    picture = Path(options.plot) if options.plot else target.with_suffix(".png")
    names = {f["device"]: f"{f['device']} ({f.get('name', f.get('type', ''))})" for f in env["devices"]}
    try:
        plot(results, names, picture)
        print(f"picture: {picture}")
    except ImportError:
        print("picture: not drawn, matplotlib is not installed (pip install matplotlib)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
