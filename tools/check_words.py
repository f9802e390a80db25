"""Words that the glossary of docs/ARCHITECTURE.md replaced, in sources and tests: the lane `style` refuses them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("cpp", "python", "tests")
SUFFIXES = {".cpp", ".def", ".hpp", ".inl", ".py"}
RETIRED = re.compile(
    r"\b(_check_row|add_row_check|Arrival|autopsy|contention_hooks|CopyCrew|cut_hook|cut_in_pieces|cut_log|doubtful"
    r"|Draft|Emitter|is not to be had|KeptCommands|lower_own|lower_turned|manieth|MustStore|Own|own_kernel|Parcel|Place"
    r"|realise|recorders|ReporterLines|settled|slice_product|spoil(?:ed)?|turned_dimension|WhereScope)\b"
)


def main() -> int:
    """1 when a file has one of them."""
    found = 0
    for path in sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for word in RETIRED.findall(line):
                print(f"{path.relative_to(ROOT)}:{number}: {word!r} is retired; use the glossary's word")
                found = 1
    return found


if __name__ == "__main__":
    sys.exit(main())
