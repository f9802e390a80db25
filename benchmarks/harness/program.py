"""What bench_*.py are made of: options, the loop over devices and rows, table and results."""

from __future__ import annotations

import argparse
import importlib.metadata
import sys

import spirograd as sg
from harness import anchors, common
from harness.rows import ROWS, Context


def parse(description: str, libraries: tuple[str, ...]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", default="all", help="names with commas, or all")
    parser.add_argument("--device", default="all", help="cpu, gpu, gpu:1, or all (default)")
    parser.add_argument("--anchors", default="all", help=f"with commas: {', '.join(libraries)}; all (default), none")
    parser.add_argument("--quick", action="store_true", help="few samples and small sizes: does it run at all")
    parser.add_argument("--json", metavar="FILE", help="where the results go")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    return parser.parse_args()


def run(name: str, description: str, libraries: tuple[str, ...], rows: tuple[str, ...] = ()) -> int:
    """Runs rows; `libraries` are those measured beside. Returns the status of the process.

    `rows` are those of this program, when it is not all that were entered.
    """
    options = parse(description, libraries)
    known = rows or tuple(ROWS)
    if options.list:
        for r in (ROWS[n] for n in known):
            where = " and ".join(w for w, on in (("cpu", r.cpu), ("gpu", r.gpu)) if on)
            print(f"{r.name:<12} {where:<12} {r.doc}")
        return 0
    names = list(known) if options.rows == "all" else options.rows.split(",")
    if unknown := [n for n in names if n not in known]:
        print(f"no row {', '.join(unknown)}; --list names them", file=sys.stderr)
        return 2
    try:
        beside = anchors.available(options.anchors, libraries)
        places = sg.Device.list() if options.device == "all" else [sg.Device(options.device)]
    except (ValueError, sg.Error) as error:
        print(error, file=sys.stderr)
        return 2
    env = common.environment(places)
    results: list[common.Result] = []
    failed: dict[str, str] = {}
    for device in places:
        gpu = device.kind == "gpu"
        for row in names:
            if not (ROWS[row].gpu if gpu else ROWS[row].cpu):
                continue
            print(f"{device} {row}: {ROWS[row].doc}", file=sys.stderr, flush=True)
            try:
                results.extend(ROWS[row].run(Context(device, gpu, options.quick, beside)))
                sg.empty_cache()
                common.save(name, results, env, options.json)  # what there is, should a later row be cut
            except Exception as error:  # the other rows are still worth having
                failed[f"{device} {row}"] = f"{type(error).__name__}: {error}"
                print(f"{device} {row}: FAILED: {failed[f'{device} {row}']}", file=sys.stderr, flush=True)
    env["versions"] = common.environment([])["versions"]  # now that the other libraries are imported
    if "micrograd" in beside:  # does not say its version itself
        env["versions"]["micrograd"] = importlib.metadata.version("micrograd")
    env["failed"] = failed
    print(common.table(results))
    for where, error in failed.items():
        print(f"FAILED {where}: {error}")
    print(f"\nresults: {common.save(name, results, env, options.json)}")
    return 1 if failed else 0
