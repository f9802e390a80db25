"""Link libraries as of an older glibc, made from this system's own: older_glibc.py VERSION FOLDER NM CC.

A program asks for the newest version of each function that the linker sees, so it does not start on an older system,
although today's glibc still has the old versions too. The libraries written here list, for each name, the newest
version that is no newer than VERSION, and hold no code. Names that came later are absent: older_glibc.c has those that
are needed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LINE = re.compile(r"[0-9a-f]* ([A-Za-z]) ([A-Za-z_]\w*)@@?GLIBC_([\d.]+)$")


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def system_file(cc: str, name: str) -> str:
    run = subprocess.run([cc, f"-print-file-name={name}"], check=True, capture_output=True, text=True)
    return run.stdout.strip()


def versions(nm: str, library: str) -> dict[str, dict[tuple[int, ...], str]]:
    """Name -> version -> the letter that nm shows for its kind."""
    found: dict[str, dict[tuple[int, ...], str]] = {}
    text = subprocess.run(
        [nm, "-D", "--with-symbol-versions", library], check=True, capture_output=True, text=True
    ).stdout
    for line in text.splitlines():
        if match := LINE.search(line.strip()):
            found.setdefault(match[2], {})[number(match[3])] = match[1]
    return found


def library_of(name: str, library: str, known: dict[tuple[int, ...], str], wanted: tuple[int, ...]) -> str:
    """Where a name was: with 2.34, libpthread and libdl became part of libc."""
    if library == "libc" and wanted < (2, 34) and (2, 34) in known:
        return "libdl" if name.startswith("dl") else "libpthread"
    return library


def main(wanted_version: str, folder: Path, nm: str, cc: str) -> None:
    wanted = number(wanted_version)
    names: dict[str, list[tuple[str, str, str]]] = {"libc": [], "libm": [], "libpthread": [], "libdl": []}
    files = {"libc": "libc.so.6", "libm": "libm.so.6", "libpthread": "libpthread.so.0", "libdl": "libdl.so.2"}
    for library in ("libc", "libm"):
        for name, known in versions(nm, system_file(cc, files[library])).items():
            if old := [v for v in known if v <= wanted]:
                newest = ".".join(map(str, max(old)))
                names[library_of(name, library, known, wanted)].append((name, newest, known[max(old)]))
    folder.mkdir(parents=True, exist_ok=True)
    for library, listed in names.items():
        lines = [".text"]
        for i, (name, version, kind) in enumerate(sorted(listed)):
            of = "object" if kind in "BDRVbdrv" else "function"
            lines += [f".globl s{i}", f".type s{i}, %{of}", f"s{i}:", f".symver s{i}, {name}@@GLIBC_{version}, remove"]
        lines += [".byte 0", '.section .note.GNU-stack,"",%progbits', ""]
        nodes = sorted({version for _, version, _ in listed}, key=number)
        (folder / f"{library}.s").write_text("\n".join(lines))
        (folder / f"{library}.map").write_text("".join(f"GLIBC_{version} {{}};\n" for version in nodes) or "NONE {};\n")
        file = files[library] if library == "libc" else f"{library}.so"
        options = ["-shared", "-nostdlib", f"-Wl,-soname,{files[library]}", f"-Wl,--version-script={library}.map"]
        subprocess.run([cc, *options, "-o", file, f"{library}.s"], check=True, cwd=folder)
    # As the system's own libc.so: with it go functions that are linked into each library, and the dynamic loader.
    loaders = [system_file(cc, name) for name in ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")]
    loader = next(path for path in loaders if "/" in path)
    (folder / "libc.so").write_text(
        f"GROUP ( {folder / files['libc']} {system_file(cc, 'libc_nonshared.a')} AS_NEEDED ( {loader} ) )\n"
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4])
