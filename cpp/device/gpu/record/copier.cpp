// Owns the table that shaders/copies.comp reads.
#include "device/gpu/record/copier.hpp"

#include <cstring>

#include "base/round.hpp"

namespace sg {
namespace {

constexpr uint64_t kPiece = 65536;  // bytes of a workgroup; PIECE of the shader
constexpr uint64_t kMostGroups = 65535;
constexpr uint64_t kUnit = 4;

}  // namespace

void Copier::record(const std::vector<BufferCopy>& copies, Commands& commands, Slot& slot, size_t at) {
  if (copies.empty()) return;
  access_.reads.clear();
  access_.writes.clear();
  for (const BufferCopy& c : copies) {
    const uint64_t from = c.from->address + c.from_at, to = c.to->address + c.to_at;
    access_.reads.push_back({from, from + c.bytes});
    access_.writes.push_back({to, to + c.bytes});
    transfer_.expect(static_cast<GpuBuffer&>(*c.from));
    transfer_.expect(static_cast<GpuBuffer&>(*c.to));
  }
  commands.wait_for(access_);
  words_.assign(1, 0);
  uint64_t groups = 0;
  for (size_t i = 0; i < copies.size(); ++i) {
    const BufferCopy& c = copies[i];
    const uint64_t from = access_.reads[i].begin, to = access_.writes[i].begin, more = divide_up(c.bytes, kPiece);
    if ((from | to | c.bytes) % kUnit || groups + more > kMostGroups) {
      commands.copy(static_cast<GpuBuffer&>(*c.from).handle, static_cast<GpuBuffer&>(*c.to).handle,
                    {c.from_at, c.to_at, c.bytes});
      continue;
    }
    words_.insert(words_.end(), {from, to, c.bytes, groups});
    ++words_[0];
    groups += more;
  }
  if (!groups) return;
  std::memcpy(static_cast<std::byte*>(slot.arguments.mapped) + at, words_.data(), words_.size() * sizeof(uint64_t));
  Lowered kernel;
  kernel.name = "copies";
  kernel.shader = sealed({.builtin = kernel.name});
  commands.dispatch(pipelines_.get(kernel), slot.arguments.address + at, {static_cast<uint32_t>(groups), 1, 1});
}

}  // namespace sg
