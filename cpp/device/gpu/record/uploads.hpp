// What waits for the next submission, whose commands begin with it: the return of buffers from another driver, copies
// from these, and small uploads, which are copied from the argument memory.
#pragma once
#include <cstddef>
#include <vector>

#include "device/gpu/memory/memory.hpp"
#include "device/gpu/memory/transfer.hpp"
#include "device/gpu/queue/queue.hpp"
#include "device/gpu/record/commands.hpp"
#include "device/gpu/record/copier.hpp"

namespace sg {

// Values that a program makes one by one (an index, a label) would each cost a submission; here they cost a copy in the
// next one. The bytes are copied when they are added, so the source may change.
class Uploads {
 public:
  Uploads();
  bool empty() const { return count() == 0; }
  size_t count() const { return uploads_.size() + returned_.size() + copies_.size(); }  // only grows, until clear()
  size_t bytes() const { return bytes_.size(); }
  size_t argument_bytes() const { return table_at() + Copier::argument_bytes(copies_.size()); }  // of a slot
  bool has_room_for(size_t bytes) const;
  void add(const Ref<GpuBuffer>& to, const void* from, size_t bytes);
  // Another driver has used them; copies are made when they are back, before all uploads that are added later.
  void take_back(const std::vector<BufferRef>& buffers, const std::vector<BufferCopy>& copies);
  // With SPIROGRAD_POISON: the buffer is full of NaN before what comes next.
  bool poisons(const Ref<GpuBuffer>& buffer) const { return poisons_ && buffer; }
  // Copies them through the slot's arguments, from byte `at` on. false: there are none.
  bool record(Slot& slot, size_t at, Commands& commands, Transfer& transfer, Copier& copier);
  void clear();  // they are submitted

 private:
  struct Upload {
    Ref<GpuBuffer> to;
    size_t at, bytes;  // place in bytes_; no bytes: the whole of it is filled with NaN
  };
  size_t table_at() const { return round_up(bytes_.size(), 16); }
  bool poisons_;
  std::vector<Ref<GpuBuffer>> returned_;
  std::vector<BufferCopy> copies_;
  std::vector<Upload> uploads_;
  std::vector<std::byte> bytes_;
  Access access_;  // kept for its capacity
};

}  // namespace sg
