"""The operator table of torch.testing (OpInfo) against spirograd: values, types, sizes, gradients and their gradients.

python tests/oracle/opinfo.py TABLE.json.xz [--device cpu|cuda] [--only NAME,...] [--exact]

The table is what tests/oracle/opinfo_record.py wrote: calls with what PyTorch gives. This process has no PyTorch: it
reads the table, and runs each row under the names of `spirograd.torch` in a process of its own kind, so that a crash or
a hang is a finding of the row that it happened in. Rows whose findings docs/porting.md explains are counted apart.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import json
import lzma
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "porting.md"
HEADING = "## Operators that differ"
LIMIT = 120  # seconds for a row
KINDS = ["crash", "error", "missing", "values", "types", "gradients", "second gradients"]


# ---- what is known ---------------------------------------------------------------------------------------------------
def known() -> dict[str, set[str]]:
    """The table of docs/porting.md: for each operator the kinds of differences that it explains."""
    section = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    found: dict[str, set[str]] = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            operators, kinds, _ = line.strip("| ").split(" | ")
            for name in re.findall("`([^`]+)`", operators):
                found.setdefault(name, set()).update(kinds.split(", "))
    return found


# ---- processes -------------------------------------------------------------------------------------------------------
def work(table: str, device: str, begin: int, only: set[str]) -> None:
    """Runs rows from the given one on, and prints a line of JSON before and after each."""
    sys.path.insert(0, str(HERE))
    import spirograd.torch

    spirograd.torch.install()
    import torch

    from opinfo_calls import evaluate, function
    from opinfo_compare import compare, said

    out = os.fdopen(os.dup(1), "w")

    def tell(**words: Any) -> None:
        print(json.dumps(words), file=out, flush=True)

    with lzma.open(table, "rt") as file:
        for number, line in enumerate(file):
            row_name = line[9:120].partition('"')[0]
            if number < begin or (only and row_name not in only):
                continue
            row = json.loads(line)
            tell(begin=number, name=row["name"], variant=row["variant"], cases=len(row["cases"]))
            faulthandler.dump_traceback_later(LIMIT, exit=True)
            try:
                if row["cases"]:
                    function(row["name"], row["variant"])
            except AttributeError as e:
                tell(kind="missing", what=str(e)[:150], case="")
                continue
            for case in row["cases"]:
                try:
                    torch.manual_seed(0)
                    findings = compare(row, case, evaluate(row, case, device))
                except Exception as e:
                    missing = type(e).__name__ in ("MissingName", "AttributeError")
                    findings = [("missing" if missing else "error", f"{type(e).__name__}: {str(e)[:200]}")]
                for kind, what in findings:
                    tell(kind=kind, what=what, case=said(case))
    faulthandler.cancel_dump_traceback_later()


def replay(table: str, device: str, only: set[str]) -> Iterator[dict[str, Any]]:
    """A dict a row: its name, variant, number of cases, and findings. Begins anew behind a row that crashed."""
    row: dict[str, Any] = {}
    begin = 0
    while True:
        command = [sys.executable, __file__, table, "--device", device, "--begin", str(begin), "--only", ",".join(only)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stderr is not None
        errors: list[str] = []
        reader = threading.Thread(target=errors.extend, args=(process.stderr,))
        reader.start()
        for line in process.stdout:
            told = json.loads(line)
            if "begin" in told:
                if row:
                    yield row
                row = {**told, "findings": []}
            else:
                row["findings"].append(told)
        code = process.wait()
        reader.join()
        if code != 0 and not row:
            raise SystemExit("".join(errors[-20:]))
        if code == 0:
            if row:
                yield row
            return
        words = f"ended with {code}: {''.join(errors[-12:])}"
        row["findings"].append({"kind": "crash", "what": words, "case": ""})
        begin = row["begin"] + 1
        yield row
        row = {}


def main() -> None:
    """Prints the findings and counts; fails when one is not explained."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("table")
    options.add_argument("--device", default="cpu")
    options.add_argument("--only", default="")
    options.add_argument("--begin", type=int, help="used by the program itself")
    options.add_argument("--exact", action="store_true", help="fail for a listed difference that is not there")
    options.add_argument("--show", type=int, default=2, help="findings of a row that are printed")
    given = options.parse_args()
    only = set(filter(None, given.only.split(",")))
    if given.begin is not None:
        work(given.table, given.device, given.begin, only)
        return
    explained = known()
    unseen = {(name, kind) for name, listed in explained.items() for kind in listed}
    counts: collections.Counter[str] = collections.Counter()
    kinds: collections.Counter[str] = collections.Counter()
    calls = 0
    for row in replay(given.table, given.device, only):
        calls += row["cases"]
        excused = explained.get(row["name"], set())
        unseen -= {(row["name"], f["kind"]) for f in row["findings"]}
        findings = [f for f in row["findings"] if f["kind"] not in excused]
        name = f"{row['name']} {row['variant']}".strip()
        counts["right" if not row["findings"] else "explained" if not findings else "wrong"] += 1
        kinds.update({f["kind"] for f in findings})
        if findings:
            print(f"{name}: {len(findings)} of {row['cases']}: {', '.join(sorted({f['kind'] for f in findings}))}")
            for f in findings[: given.show]:
                print(f"    {f['kind']}: {f['what']}\n        {f['case']}")
    print(f"{calls} calls of {sum(counts.values())} operators: {dict(counts)}; of those wrong {dict(kinds)}")
    failed = counts["wrong"]
    if given.exact:
        failed += len(unseen)
        for name, kind in sorted(unseen):
            print(f"{name}: docs/porting.md lists a difference in {kind}; there is none")
    print(f"{counts['right'] + counts['explained']} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
