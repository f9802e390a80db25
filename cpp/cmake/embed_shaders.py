"""Writes the C++ unit that defines sg::embedded_spirv and sg::embedded_source.

Called by the build: embed_shaders.py LIST OUT.cpp, where LIST names one file a line: *.spv becomes a module under its
stem, everything else a text under its file name.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

HEAD = """// Written by cpp/cmake/embed_shaders.py.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "device/gpu/pipeline/compiler.hpp"

namespace sg {
namespace {

"""

TAIL = """
struct Module {
  std::string_view name;
  std::vector<uint32_t> words;
};

struct Text {
  std::string_view file, text;
};

const std::vector<Module>& modules() {
  static const std::vector<Module> table = {%s};
  return table;
}

const std::vector<Text>& texts() {
  static const std::vector<Text> table = {%s};
  return table;
}

}  // namespace

const std::vector<uint32_t>& embedded_spirv(std::string_view name) {
  static const std::vector<uint32_t> none;
  for (const Module& module : modules()) {
    if (module.name == name) return module.words;
  }
  return none;
}

std::string_view embedded_source(std::string_view file) {
  for (const Text& text : texts()) {
    if (text.file == file) return text.text;
  }
  return {};
}

}  // namespace sg
"""


def numbers(values: list[str], per_line: int) -> str:
    rows = (values[i : i + per_line] for i in range(0, len(values), per_line))
    return "\n".join("    " + ", ".join(row) + "," for row in rows)


def spirv_words(path: Path) -> list[str]:
    data = path.read_bytes()
    if len(data) % 4 or len(data) < 20 or struct.unpack_from("<I", data)[0] != 0x07230203:
        raise SystemExit(f"embed_shaders: {path} is not SPIR-V")
    return [f"0x{word:08x}" for (word,) in struct.iter_unpack("<I", data)]


def main(list_file: str, out_file: str) -> None:
    body, modules, texts = [HEAD], [], []
    for number, line in enumerate(Path(list_file).read_text().splitlines()):
        path = Path(line)
        if path.suffix == ".spv":
            words = spirv_words(path)
            body.append(f"constexpr uint32_t kModule{number}[] = {{  // {path.stem}\n{numbers(words, 12)}\n}};\n")
            modules.append(f'\n      {{"{path.stem}", {{kModule{number}, kModule{number} + {len(words)}}}}},')
        else:
            # Bytes, not a string literal: compilers limit the length of one.
            data = path.read_bytes()
            codes = [str(byte if byte < 128 else byte - 256) for byte in data] or ["0"]
            body.append(f"constexpr char kText{number}[] = {{  // {path.name}\n{numbers(codes, 32)}\n}};\n")
            texts.append(f'\n      {{"{path.name}", {{kText{number}, {len(data)}}}}},')
    body.append(TAIL % ("".join(modules), "".join(texts)))
    Path(out_file).write_text("".join(body))


if __name__ == "__main__":
    main(*sys.argv[1:3])
