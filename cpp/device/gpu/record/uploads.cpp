// Owns what comes first in the next submission, until it is submitted.
#include "device/gpu/record/uploads.hpp"

#include <cstring>

#include "base/log.hpp"

namespace sg {

Uploads::Uploads() : poisons_(env_flag("SPIROGRAD_POISON")) {}

bool Uploads::has_room_for(size_t bytes) const {
  constexpr size_t kMostBytes = size_t{1} << 20, kMost = 256;
  return bytes_.size() + bytes <= kMostBytes && uploads_.size() < kMost;
}

void Uploads::add(const Ref<GpuBuffer>& to, const void* from, size_t bytes) {
  const size_t at = round_up(bytes_.size(), 16);
  bytes_.resize(at + bytes);
  if (bytes) std::memcpy(bytes_.data() + at, from, bytes);
  uploads_.push_back({to, at, bytes});
}

void Uploads::take_back(const std::vector<BufferRef>& buffers, const std::vector<BufferCopy>& copies) {
  for (const BufferRef& b : buffers) returned_.emplace_back(&static_cast<GpuBuffer&>(*b));
  copies_.insert(copies_.end(), copies.begin(), copies.end());
}

bool Uploads::record(Slot& slot, size_t at, Commands& commands, Transfer& transfer, Copier& copier) {
  if (empty()) return false;
  commands.change_owner(returned_, Owner::us);
  copier.record(copies_, commands, slot, at + table_at());
  if (!bytes_.empty()) std::memcpy(static_cast<std::byte*>(slot.arguments.mapped) + at, bytes_.data(), bytes_.size());
  for (const Upload& u : uploads_) {
    access_.writes.assign(1, {u.to->address, u.to->address + (u.bytes ? u.bytes : u.to->bytes)});
    commands.wait_for(access_);
    transfer.expect(*u.to);
    if (u.bytes)
      commands.copy(slot.arguments.handle, u.to->handle, {at + u.at, 0, u.bytes});
    else
      commands.fill(u.to->handle);
  }
  return true;
}

void Uploads::clear() {
  uploads_.clear();
  bytes_.clear();
  returned_.clear();
  copies_.clear();
}

}  // namespace sg
