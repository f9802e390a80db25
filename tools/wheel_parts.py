"""tools/wheel_parts.py WHEEL BUILD: what a wheel's bytes are, by part, as a table in Markdown.

Of each part of the package the bytes as they lie in the wheel, compressed. Of the module the bytes of code and data in
the objects of each folder of cpp/, not compressed, from the build folder that it was linked in; the rest is libraries.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path


def part_of(name: str) -> str:
    """The folder of the package, or what a single file is."""
    place = Path(name)
    if place.parts[0].endswith(".dist-info"):
        return "metadata and licences"
    if place.suffix in {".so", ".pyd"}:
        return "the module"
    return "/".join(place.parts[:2]) if len(place.parts) > 2 else "single files of spirograd"


def parts_of_wheel(wheel: Path) -> Counter[str]:
    """Compressed bytes of each part."""
    parts: Counter[str] = Counter()
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            parts[part_of(entry.filename)] += entry.compress_size
        parts["the archive itself"] = wheel.stat().st_size - sum(parts.values())
    return parts


def sizes(files: list[Path]) -> int:
    """Bytes of code and data in objects."""
    rows = subprocess.run(["size", *map(str, files)], check=True, capture_output=True, text=True).stdout.splitlines()[
        1:
    ]
    return sum(int(text) + int(data) for text, data, *_ in map(str.split, rows))


def parts_of_module(wheel: Path, build: Path) -> Counter[str]:
    """Bytes of the objects of each folder, and what else the module has."""
    parts: Counter[str] = Counter()
    for folder in sorted(build.glob("CMakeFiles/*.dir")):
        objects = list(folder.rglob("*.o"))
        if objects and (folder.name.startswith("sg_") or folder.name == "_core.dir"):
            parts[folder.stem.removeprefix("sg_").replace("_core", "bind")] += sizes(objects)
    with zipfile.ZipFile(wheel) as archive:
        whole = sum(e.file_size for e in archive.infolist() if part_of(e.filename) == "the module")
    parts["libraries, less what the linker drops"] = whole - sum(parts.values())
    return parts


def table(title: str, parts: Counter[str]) -> list[str]:
    """Lines of one table, the largest part first."""
    rows = [f"| {name} | {count:,} |" for name, count in parts.most_common()]
    return [f"| {title} | bytes |", "|---|---|", *rows, f"| sum | {sum(parts.values()):,} |", ""]


def main() -> None:
    """Prints both tables."""
    wheel, build = Path(sys.argv[1]), Path(sys.argv[2])
    lines = table("part of the wheel, compressed", parts_of_wheel(wheel))
    print("\n".join(lines + table("part of the module", parts_of_module(wheel, build))))


if __name__ == "__main__":
    main()
