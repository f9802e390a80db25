// Owns the commands of a run: the arena, argument blocks, barriers, status words. Whatever can fail happens before the
// one call that submits.
#include "device/gpu/record/record.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/driver/check.hpp"
#include "device/gpu/memory/parallel_copy.hpp"

namespace sg {
namespace {

constexpr size_t kStatusBytes = 32, kStatusBlocks = 256;
constexpr size_t kBlockAlignment = kBlockWords * sizeof(uint64_t), kUploadAlignment = 256;
constexpr size_t kMostRanges = 256;  // the tracker compares pairs: one barrier more is cheaper than longer lists

struct StatusWord {
  int32_t tag, pad;
  int64_t index, bound;
};
static_assert(sizeof(StatusWord) <= kStatusBytes);

size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

// Elementary operations a submission may hold: about 0.2 s on a slow device of the kind, where watchdogs bite at 2 s.
double most_cost(VkPhysicalDeviceType type) {
  if (type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU) return 5e10;
  if (type == VK_PHYSICAL_DEVICE_TYPE_CPU) return std::numeric_limits<double>::infinity();
  return 1e12;
}

Timing::Mark upload_mark(size_t bytes) { return {"Memcpy HtoD", "", "gpu_memcpy", static_cast<int64_t>(bytes)}; }

int64_t wanted_bytes(const Job& job) {
  int64_t bytes = 0;
  for (const Job::Wanted& w : job.wanted) bytes += static_cast<int64_t>(w.bytes);
  return bytes;
}

uint64_t number_bits(Number n, DType type) {
  uint64_t bits = 0;
  switch (type) {
    case DType::boolean:
      return n.i != 0;
    case DType::int32: {
      const auto v = static_cast<int32_t>(n.i);
      std::memcpy(&bits, &v, sizeof v);
      return bits;
    }
    case DType::int64:
      return static_cast<uint64_t>(n.i);
    case DType::float32: {
      const auto v = static_cast<float>(n.f);
      std::memcpy(&bits, &v, sizeof v);
      return bits;
    }
    case DType::float64:
      std::memcpy(&bits, &n.f, sizeof n.f);
      return bits;
    default:  // no number has a narrow type
      return bits;
  }
}

}  // namespace

Recorder::Recorder(const Context& context, Queue& queue, Pool& pool, Pipelines& pipelines, Proxy* proxy, Timing& timing,
                   DeviceStats& stats, Transfer& transfer)
    : context_(context),
      queue_(queue),
      pool_(pool),
      pipelines_(pipelines),
      proxy_(proxy),
      timing_(timing),
      stats_(stats),
      transfer_(transfer),
      most_cost_(most_cost(context.physical.type)),
      poisons_(env_flag("SPIROGRAD_POISON")),
      status_(make_host_buffer(context, kStatusBytes * kStatusBlocks, HostUse::arguments)) {}

void Recorder::reserve(int64_t arena_bytes) {
  if (arena_bytes <= 0 || (arena_ && arena_->bytes >= static_cast<size_t>(arena_bytes))) return;
  const size_t before = arena_ ? arena_->bytes : 0;
  arena_ = Ref<GpuBuffer>();  // goes to the pool: submissions in flight run before whoever gets it next
  try {
    arena_ = Ref<GpuBuffer>(pool_.take(static_cast<size_t>(arena_bytes), Pool::Use::scratch));
    transfer_.expect(*arena_);
  } catch (...) {
    if (before) arena_ = Ref<GpuBuffer>(pool_.take(before, Pool::Use::scratch));  // older plans still run
    throw;
  }
}

// Everything that can fail comes before the one call that submits, so a run that fails has changed nothing.
void Recorder::run(GpuPrepared& plan, const RunArguments& arguments) {
  const Stage stage("record", "stage", context_.id);
  if (plan.made_by != &pipelines_)
    fail<DeviceLostError>("run", "the plan is of " + context_.name() + " before its loss");
  poison(arena_);
  place_memories(plan, arguments);
  if (plan.uses_status) new_status();
  const size_t blocks = plan.words.size() * sizeof(uint64_t), uploads = round_up(blocks, kUploadAlignment);
  Slot& slot = next_slot(uploads + upload_bytes_.size());
  write_blocks(slot, plan, arguments);
  VkCommandBuffer cached = VK_NULL_HANDLE;
  times_.clear();
  if (may_cache(plan)) {
    if (!uploads_.empty()) {
      open(slot);
      record_uploads(slot, uploads);
    }
    cached = cached_commands(plan, slot);
  } else {
    record_parts(slot, plan, uploads);
  }
  const uint64_t value = submit(slot, cached, plan, arguments);
  uploads_.clear();
  upload_bytes_.clear();
  for (size_t i = 0; i < times_.size(); ++i) timing_.submitted(std::move(times_[i]), value + 1 - times_.size() + i);
  ++plan.runs;
}

uint64_t Recorder::submit(Slot& slot, VkCommandBuffer cached, const GpuPrepared& plan, const RunArguments& arguments) {
  if (!plan.uses_status) return queue_.submit(slot, cached, plan.names);
  constexpr uint64_t kNotYet = UINT64_MAX;
  const size_t sharing = first_report_.runs.size();
  reports_.push_back({status_block_, kNotYet, plan.plan, arguments.lines});
  try {
    if (first_report_.tag && arguments.lines) first_report_.runs.push_back(arguments.lines);
    reports_.back().value = queue_.submit(slot, cached, plan.names);
  } catch (...) {
    first_report_.runs.resize(sharing);
    reports_.pop_back();
    throw;
  }
  return reports_.back().value;
}

// Records each part as a submission. The first one includes the waiting uploads.
void Recorder::record_parts(Slot& slot, const GpuPrepared& plan, size_t uploads) {
  Part part{0, 0};
  do {
    part = next_part(plan, part.last);
    if (part.first == 0)
      queue_.open(slot);
    else
      queue_.open_next(slot);
    start(slot.commands);
    times_.push_back(timing_.begin(slot.commands, part.last - part.first + 1));
    if (part.first == 0 && record_uploads(slot, uploads))
      timing_.after(times_.back(), slot.commands, upload_mark(upload_bytes_.size()));
    else if (!plan.copies)
      work_ = Work::kernels;
    record_steps(slot, plan, part, times_.back());
  } while (part.last < plan.steps.size());
}

std::shared_ptr<GpuReadback> Recorder::record_wanted(const Job& job) {
  if (job.wanted.empty()) return nullptr;
  const auto bytes = static_cast<size_t>(wanted_bytes(job));
  const auto free =
      std::find_if(readbacks_.begin(), readbacks_.end(), [](const auto& p) { return p.use_count() == 1; });
  std::shared_ptr<GpuReadback> readback = free != readbacks_.end() ? *free : std::make_shared<GpuReadback>(queue_);
  if (free == readbacks_.end()) readbacks_.push_back(readback);
  queue_.wait(readback->value, false);  // dropped before it arrived: rare
  if (readback->memory.bytes < bytes) {
    HostBuffer larger = make_host_buffer(context_, std::max<size_t>(2 * bytes, 64 << 10), HostUse::staging);
    std::swap(readback->memory, larger);
    free_host_buffer(context_, larger);
  }
  work_ = Work::kernels_and_copies;
  put_barrier();
  size_t at = 0;
  for (const Job::Wanted& w : job.wanted) {
    const VkBufferCopy region{w.at, at, w.bytes};
    vkCmdCopyBuffer(commands_, static_cast<GpuBuffer&>(*w.from).handle, readback->memory.handle, 1, &region);
    at += w.bytes;
  }
  barrier_to_host(commands_);
  ++stats_.barriers;
  return readback;
}

std::shared_ptr<Readback> Recorder::run(const Job& job) {
  const Stage stage("record", "stage", context_.id);
  Lowered low;
  low.name = job.kernel;
  std::vector<const Pipeline*> variants;
  for (const std::vector<uint32_t>& constants : job.variants) {
    low.shader = sealed({.builtin = job.kernel, .constants = constants});
    variants.push_back(&pipelines_.get(low));
  }
  size_t bytes = 0, words = 0;
  for (const Job::Piece& p : job.pieces) bytes += p.bytes;
  for (const Job::Launch& l : job.launches) words += round_up(l.words.size() * sizeof(uint64_t), kBlockAlignment);
  const size_t copied = round_up(upload_bytes_.size(), kUploadAlignment),
               arguments = copied + round_up(bytes, kUploadAlignment);
  Slot& slot = next_slot(arguments + words);
  open(slot);
  Timing::BatchRef times = timing_.begin(slot.commands, job.launches.size() + 3);
  if (record_uploads(slot, 0)) timing_.after(times, slot.commands, upload_mark(upload_bytes_.size()));
  auto* mapped = static_cast<std::byte*>(slot.arguments.mapped);
  if (bytes) {
    constexpr size_t kWorthThreads = size_t{256} << 10;
    ParallelCopy copier(bytes);
    size_t at = copied;
    for (const Job::Piece& p : job.pieces) {
      if (p.bytes < kWorthThreads)
        std::memcpy(mapped + at, p.from, p.bytes);
      else
        copier.copy(mapped + at, p.from, p.bytes);
      at += p.bytes;
    }
    const VkBufferCopy region{copied, 0, bytes};
    vkCmdCopyBuffer(slot.commands, slot.arguments.handle, static_cast<GpuBuffer&>(*job.to).handle, 1, &region);
    fresh_ = false;
    timing_.after(times, slot.commands, upload_mark(bytes));
  }
  size_t at = arguments;
  for (const Job::Launch& l : job.launches) {
    if (!fresh_) put_barrier();
    work_ = Work::kernels;
    const Pipeline* pipeline = variants.at(l.variant);
    if (bound_ != pipeline) vkCmdBindPipeline(slot.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->handle);
    bound_ = pipeline;
    std::memcpy(mapped + at, l.words.data(), l.words.size() * sizeof(uint64_t));
    const uint64_t address = slot.arguments.address + at;
    vkCmdPushConstants(slot.commands, pipelines_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof address, &address);
    vkCmdDispatch(slot.commands, l.groups, 1, 1);
    ++stats_.dispatches;
    fresh_ = false;
    at += round_up(l.words.size() * sizeof(uint64_t), kBlockAlignment);
    if (times) timing_.after(times, slot.commands, {job.kernel, " [" + std::to_string(l.groups) + "]"});
  }
  std::shared_ptr<GpuReadback> readback = record_wanted(job);
  if (readback) timing_.after(times, slot.commands, {"Memcpy DtoH", "", "gpu_memcpy", wanted_bytes(job)});
  transfer_.expect_all();  // its kernels have addresses of any buffer
  const uint64_t value =
      queue_.submit(slot, VK_NULL_HANDLE, std::make_shared<const std::vector<std::string>>(1, job.kernel));
  if (readback) readback->value = value;
  uploads_.clear();
  upload_bytes_.clear();
  timing_.submitted(std::move(times), value);
  return readback;
}

void Recorder::place_memories(const GpuPrepared& plan, const RunArguments& arguments) {
  const std::vector<Memory>& memories = plan.plan->memories;
  places_.resize(memories.size());
  same_.assign(1, 0);  // where the blocks are, is known later
  ++runs_;
  for (size_t i = 0; i < memories.size(); ++i) {
    const Memory& m = memories[i];
    Place& place = places_[i];
    if (m.kind == Memory::Kind::leaf) {
      place_buffer(place, m, arguments.leaves, "leaf");
    } else if (m.kind == Memory::Kind::output) {
      place_buffer(place, m, arguments.outputs, "output");
    } else {
      place.handle = arena_ ? arena_->handle : VK_NULL_HANDLE;
      place.offset = static_cast<uint64_t>(m.offset);
      place.range.begin = (arena_ ? arena_->address : 0) + place.offset;
      place.range.end = place.range.begin + static_cast<uint64_t>(m.bytes);
    }
  }
}

void Recorder::place_buffer(Place& place, const Memory& memory, const BufferRef* buffers, const char* what) {
  Buffer* buffer = buffers ? buffers[memory.index].get() : nullptr;
  if (!buffer || buffer->device != context_.id || buffer->bytes < static_cast<size_t>(memory.bytes))
    fail<Error>("run", std::string(what) + " " + std::to_string(memory.index) + " of the plan needs " +
                           std::to_string(memory.bytes) + " bytes on " + context_.name() + ", given " +
                           (buffer ? std::to_string(buffer->bytes) + " on " + buffer->device.str() : "nothing"));
  raise_if_gone("run", *buffer);
  auto* gpu = static_cast<GpuBuffer*>(buffer);
  transfer_.expect(*gpu);
  if (std::exchange(gpu->placed_by, runs_) != runs_) gpu->place = same_.size();
  same_.push_back(gpu->place);
  place.handle = gpu->handle;
  place.offset = 0;
  place.range = {gpu->address, gpu->address + static_cast<uint64_t>(memory.bytes)};
}

Recorder::Part Recorder::next_part(const GpuPrepared& plan, size_t first) const {
  Part part{first, first};
  double cost = 0;
  for (; part.last < plan.steps.size(); ++part.last) {
    const GpuStep& step = plan.steps[part.last];
    const double more = static_cast<double>(step.cost.bytes) + static_cast<double>(step.cost.flops);
    if (part.last > first && cost + more > most_cost_) break;
    cost += more;
  }
  return part;
}

uint64_t Recorder::word(const ArgWord& w, const RunArguments& arguments) const {
  switch (w.kind) {
    case ArgWord::Kind::value:
      return static_cast<uint64_t>(w.value);
    case ArgWord::Kind::address: {
      const int64_t offset = w.start >= 0 ? w.element_bytes * arguments.offsets[w.start] : 0;
      return places_[static_cast<size_t>(w.memory)].range.begin + static_cast<uint64_t>(w.value + offset);
    }
    case ArgWord::Kind::number:
      return number_bits(arguments.numbers[w.index], w.dtype);
    case ArgWord::Kind::status:
      return status_address_;
  }
  return 0;
}

Slot& Recorder::next_slot(size_t argument_bytes) {
  Slot& slot = queue_.next();
  if (slot.arguments.bytes < argument_bytes) {  // idle: next() has waited for it
    HostBuffer larger =
        make_host_buffer(context_, std::max(argument_bytes, 2 * slot.arguments.bytes), HostUse::arguments);
    std::swap(slot.arguments, larger);
    free_host_buffer(context_, larger);
  }
  return slot;
}

void Recorder::open(Slot& slot) {
  queue_.open(slot);
  start(slot.commands);
}

void Recorder::start(VkCommandBuffer commands) {
  commands_ = commands;
  hazards_.clear();
  fresh_ = false;
  status_written_ = status_read_ = false;
  bound_ = nullptr;
  work_ = Work::kernels_and_copies;
  put_barrier();  // everything submitted before, whatever it was
}

void Recorder::write_blocks(Slot& slot, const GpuPrepared& plan, const RunArguments& arguments) {
  words_.clear();
  for (const ArgWord& w : plan.words) words_.push_back(word(w, arguments));
  if (!words_.empty()) std::memcpy(slot.arguments.mapped, words_.data(), words_.size() * sizeof(uint64_t));
}

// Commands with copies and descriptors contain buffers, those with timestamps queries: they are recorded each time. A
// plan that runs once needs no cached ones.
bool Recorder::may_cache(const GpuPrepared& plan) const {
  return plan.runs > 0 && !plan.copies && !proxy_ && !Timing::wanted() && next_part(plan, 0).last == plan.steps.size();
}

// The cached commands if they fit this run, else new ones in their place.
VkCommandBuffer Recorder::cached_commands(GpuPrepared& plan, Slot& slot) {
  if (!plan.cached) plan.cached = new_cached();
  CachedCommands::OfSlot& cached = plan.cached->slots[slot.index];
  same_[0] = slot.arguments.address;
  if (cached.recorded_for == same_) {
    stats_.dispatches += cached.dispatches;
    stats_.barriers += cached.barriers;
    ++stats_.resubmissions;
    return cached.commands;
  }
  cached.recorded_for.clear();
  if (!cached.commands) cached.commands = make_command_buffer(context_, cached_pool_);
  vk_check(vkResetCommandBuffer(cached.commands, 0), "vkResetCommandBuffer");
  const DeviceStats before = stats_;
  begin_commands(cached.commands, Submissions::many);
  start(cached.commands);
  work_ = Work::kernels;
  record_steps(slot, plan, {0, plan.steps.size()}, nullptr);
  end_commands(cached.commands);
  cached.dispatches = stats_.dispatches - before.dispatches;
  cached.barriers = stats_.barriers - before.barriers;
  cached.recorded_for = same_;
  return cached.commands;
}

// Reuses the commands of a plan that no longer exists.
std::shared_ptr<CachedCommands> Recorder::new_cached() {
  if (!cached_pool_) cached_pool_ = make_command_pool(context_, context_.physical.family, Submissions::many);
  for (const auto& unused : cached_)
    if (unused.use_count() == 1) {
      for (CachedCommands::OfSlot& cached : unused->slots) cached.recorded_for.clear();
      return unused;
    }
  return cached_.emplace_back(std::make_shared<CachedCommands>());
}

void Recorder::empty_cache() {
  const auto unused = std::partition(cached_.begin(), cached_.end(), [](const auto& c) { return c.use_count() > 1; });
  if (unused == cached_.end()) return;
  queue_.wait(queue_.submitted(), false);
  for (auto it = unused; it != cached_.end(); ++it)
    for (const CachedCommands::OfSlot& cached : (*it)->slots)
      if (cached.commands) vkFreeCommandBuffers(context_.device, cached_pool_, 1, &cached.commands);
  cached_.erase(unused, cached_.end());
}

void Recorder::record_steps(Slot& slot, const GpuPrepared& plan, const Part& part, const Timing::BatchRef& times) {
  for (size_t i = part.first; i < part.last; ++i) {
    const GpuStep& step = plan.steps[i];
    record_step(slot, plan, step, slot.arguments.address + step.first_word * sizeof(uint64_t), times);
  }
  if (!plan.uses_status) return;
  barrier_to_host(commands_);
  ++stats_.barriers;
}

void Recorder::put_barrier() {
  barrier(commands_, work_);
  ++stats_.barriers;
  hazards_.clear();
  status_written_ = status_read_ = false;
  fresh_ = true;
}

bool Recorder::status_conflicts(const GpuStep& step) const {
  return (step.predicated && status_written_) || (step.reports && status_read_);
}

// A barrier if `step` must wait for what was recorded since the last one; then notes what it touches.
void Recorder::synchronize(const GpuPrepared& plan, const GpuStep& step) {
  reads_.clear();
  writes_.clear();
  for (int32_t m : step.reads) reads_.push_back(places_[static_cast<size_t>(m)].range);
  for (int32_t m : step.writes) writes_.push_back(places_[static_cast<size_t>(m)].range);
  const bool wanted = plan.barriers == BarrierMode::all || hazards_.size() > kMostRanges ||
                      hazards_.conflicts(reads_, writes_) || status_conflicts(step);
  if (wanted && !fresh_ && plan.barriers != BarrierMode::drop) {
    put_barrier();
    if (!plan.copies) work_ = Work::kernels;  // the uploads are behind us: from here on only kernels
  }
  hazards_.add(reads_, writes_);
  status_written_ |= step.reports;
  status_read_ |= step.predicated;
  fresh_ = false;
}

void Recorder::record_step(Slot& slot, const GpuPrepared& plan, const GpuStep& step, uint64_t arguments,
                           const Timing::BatchRef& times) {
  if (step.groups[0] == 0 || step.groups[1] == 0 || step.groups[2] == 0) return;
  synchronize(plan, step);
  if (context_.labels) {
    VkDebugUtilsLabelEXT label{};
    label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
    label.pLabelName = step.name.c_str();
    vkCmdBeginDebugUtilsLabelEXT(commands_, &label);
  }
  if (!step.pipeline) {
    record_copy(step);
  } else if (step.proxy) {
    record_proxy(slot, step);
  } else {
    if (bound_ != step.pipeline) vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, step.pipeline->handle);
    bound_ = step.pipeline;
    vkCmdPushConstants(commands_, pipelines_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof arguments, &arguments);
    vkCmdDispatch(commands_, step.groups[0], step.groups[1], step.groups[2]);
  }
  if (step.pipeline) ++stats_.dispatches;
  if (context_.labels) vkCmdEndDebugUtilsLabelEXT(commands_);
  if (times)
    timing_.after(times, commands_,
                  {step.name,
                   " [" + std::to_string(step.groups[0]) + ", " + std::to_string(step.groups[1]) + ", " +
                       std::to_string(step.groups[2]) + "]",
                   step.pipeline ? "kernel" : "gpu_memcpy", step.cost.bytes, step.cost.flops, step.cost.shapes});
}

void Recorder::record_copy(const GpuStep& step) {
  const Place& from = places_[static_cast<size_t>(step.copy_from)];
  const Place& to = places_[static_cast<size_t>(step.copy_to)];
  const uint64_t bytes = std::min(from.range.end - from.range.begin, to.range.end - to.range.begin);
  if (bytes == 0 || from.range.begin == to.range.begin) return;
  const VkBufferCopy region{from.offset, to.offset, bytes};
  vkCmdCopyBuffer(commands_, from.handle, to.handle, 1, &region);
}

void Recorder::record_proxy(Slot& slot, const GpuStep& step) {
  std::vector<BufferRange> reads, writes;
  const auto place = [&](int32_t m) {
    const Place& p = places_[static_cast<size_t>(m)];
    return BufferRange{p.handle, p.offset, p.range.end - p.range.begin};
  };
  for (int32_t m : step.reads) reads.push_back(place(m));
  for (int32_t m : step.writes) writes.push_back(place(m));
  proxy_->record(slot, *step.proxy, reads, writes);
}

void Recorder::upload_small(const Ref<GpuBuffer>& to, const void* from, size_t bytes) {
  constexpr size_t kMostPending = size_t{1} << 20;
  if (upload_bytes_.size() + bytes > kMostPending || uploads_.size() >= 256) flush_uploads();
  const size_t at = round_up(upload_bytes_.size(), 16);
  upload_bytes_.resize(at + bytes);
  if (bytes) std::memcpy(upload_bytes_.data() + at, from, bytes);
  uploads_.push_back({to, at, bytes});
}

void Recorder::poison(const Ref<GpuBuffer>& buffer) {
  if (poisons_ && buffer) upload_small(buffer, nullptr, 0);
}

bool Recorder::record_uploads(Slot& slot, size_t at) {
  if (uploads_.empty()) return false;
  if (!upload_bytes_.empty())
    std::memcpy(static_cast<std::byte*>(slot.arguments.mapped) + at, upload_bytes_.data(), upload_bytes_.size());
  reads_.clear();
  for (const Upload& u : uploads_) {
    writes_.assign(1, {u.to->address, u.to->address + (u.bytes ? u.bytes : u.to->bytes)});
    if (hazards_.conflicts(reads_, writes_)) put_barrier();
    hazards_.add(reads_, writes_);
    fresh_ = false;
    transfer_.expect(*u.to);
    const VkBufferCopy region{at + u.at, 0, u.bytes};
    if (u.bytes)
      vkCmdCopyBuffer(commands_, slot.arguments.handle, u.to->handle, 1, &region);
    else
      vkCmdFillBuffer(commands_, u.to->handle, 0, VK_WHOLE_SIZE, ~0u);
  }
  return true;
}

void Recorder::flush_uploads() {
  if (uploads_.empty()) return;
  Slot& slot = next_slot(upload_bytes_.size());
  open(slot);
  Timing::BatchRef times = timing_.begin(slot.commands, 1);
  record_uploads(slot, 0);
  timing_.after(times, slot.commands, upload_mark(upload_bytes_.size()));
  timing_.submitted(std::move(times), queue_.submit(slot));
  uploads_.clear();
  upload_bytes_.clear();
}

// A run shares the status word of an earlier run that may still report: a report then counts for both.
void Recorder::new_status() {
  harvest();
  if (!reports_.empty() || first_report_.tag) return;
  status_block_ = (status_block_ + 1) % kStatusBlocks;
  const size_t at = status_block_ * kStatusBytes;
  std::memset(static_cast<std::byte*>(status_.mapped) + at, 0, kStatusBytes);
  status_address_ = status_.address + at;
}

// Reads the words of finished runs, oldest first.
void Recorder::harvest() {
  if (reports_.empty()) return;
  const uint64_t done = queue_.completed();
  while (!reports_.empty() && reports_.front().value <= done) {
    const Report& report = reports_.front();
    StatusWord word;
    std::memcpy(&word, static_cast<std::byte*>(status_.mapped) + report.block * kStatusBytes, sizeof word);
    if (word.tag != 0 && first_report_.tag == 0) {
      Status first = {word.tag, word.index, word.bound, "", {}};
      for (const Report& r : reports_) {  // any of them wrote the word
        if (first.name.empty()) first.name = r.plan->reporter(word.tag);
        if (r.lines) first.runs.push_back(r.lines);
      }
      first_report_ = std::move(first);
    }
    reports_.pop_front();
  }
}

Status Recorder::take_status() {
  harvest();
  if (first_report_.tag) reports_.clear();  // all of them share the word
  return std::exchange(first_report_, Status{});
}

}  // namespace sg
