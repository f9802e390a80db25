"""Checks a bill of materials against CycloneDX's schema, and that what every build links is in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

PARTS = {"glslang", "volk", "VulkanMemoryAllocator", "Vulkan-Headers", "pybind11"}


def main(path: str) -> str | None:
    text = Path(path).read_text(encoding="utf-8")
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        return str(error)
    components = json.loads(text)["components"]
    if missing := PARTS - {c["name"] for c in components}:
        return f"it lacks {sorted(missing)}"
    if unknown := [c["name"] for c in components if not c["version"][:1].isdigit()]:
        return f"no version of {unknown}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
