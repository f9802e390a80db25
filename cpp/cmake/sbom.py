"""A CycloneDX bill of what is linked into the module: sbom.py OUT NAME=VERSION...

An entry for each name of PARTS; the licences are those of licenses/. Equal arguments give equal bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

GITHUB = "pkg:github/"
# Name -> package URL without its version, licence.
PARTS = {
    "glslang": (
        GITHUB + "KhronosGroup/glslang",
        "BSD-3-Clause AND BSD-2-Clause AND MIT AND Apache-2.0 AND GPL-3.0-or-later WITH Bison-exception-2.2"
        " AND LicenseRef-NVIDIA-2002",
    ),
    "volk": (GITHUB + "zeux/volk", "MIT"),
    "VulkanMemoryAllocator": (GITHUB + "GPUOpen-LibrariesAndSDKs/VulkanMemoryAllocator", "MIT"),
    "Vulkan-Headers": (GITHUB + "KhronosGroup/Vulkan-Headers", "Apache-2.0 OR MIT"),
    "pybind11": ("pkg:pypi/pybind11", "BSD-3-Clause"),
    "libstdc++": (GITHUB + "gcc-mirror/gcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libc++": (GITHUB + "llvm/llvm-project", "Apache-2.0 WITH LLVM-exception"),
    "zig": (GITHUB + "ziglang/zig", "MIT AND ZPL-2.1"),  # its compiler runtime and mingw-w64
}


def component(name: str, version: str) -> dict[str, object]:
    url, licence = PARTS[name]
    purl = f"{url}@{version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": [{"expression": licence}],
    }


def bill(version: str, parts: list[tuple[str, str]]) -> dict[str, object]:
    own = f"pkg:pypi/spirograd@{version}"
    components = [component(*part) for part in parts]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": "spirograd",
                "version": version,
                "purl": own,
                "licenses": [{"expression": "MIT"}],
            }
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [c["bom-ref"] for c in components]}],
    }


def main(out: str, pairs: list[str]) -> None:
    versions = dict(pair.split("=", 1) for pair in pairs)
    own = versions.pop("spirograd")
    text = json.dumps(bill(own, sorted(versions.items())), indent=2) + "\n"
    Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
