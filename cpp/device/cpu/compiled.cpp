// The compiled programs of a plan, found by what they compute and where. Knows no device memory.
#include "device/cpu/compiled.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"

namespace sg::cpu {
namespace {

bool are_equal(const View& a, const View& b) {
  return a.binding == b.binding && a.dtype == b.dtype && a.strides == b.strides && a.offset == b.offset &&
         a.aligned == b.aligned && a.reach == b.reach;
}

bool are_equal(const Program& a, const Program& b) {
  return a.domain == b.domain && a.inner == b.inner && a.numbers == b.numbers && a.in_place == b.in_place &&
         a.piece_limit == b.piece_limit && a.part_rows == b.part_rows && a.code == b.code &&
         std::ranges::equal(a.views, b.views, [](const View& x, const View& y) { return are_equal(x, y); });
}

}  // namespace

std::shared_ptr<Executable> Compiled::of(Program program, const CompileOptions& options) {
  uint64_t hash = hash_mix(program.structure_hash(), uint64_t{options.tile});
  for (int64_t size : program.domain) hash = hash_mix(hash, static_cast<uint64_t>(size));
  const auto [first, last] = known_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Known& known = it->second;
    if (known.tile == options.tile && known.memory_of == *options.memory_of && are_equal(known.program, program))
      return known.executable;
  }
  auto executable = std::make_shared<Executable>(compile(program, options));
  known_.emplace(hash, Known{std::move(program), *options.memory_of, options.tile, executable});
  return executable;
}

int64_t Compiled::bytes() const {
  int64_t sum = 0;
  for (const auto& [hash, known] : known_) sum += known.executable->bytes();
  return sum;
}

}  // namespace sg::cpu
