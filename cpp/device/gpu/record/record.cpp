// Owns the order of a run: memory, status block, argument blocks, commands, submission. Whatever can fail happens before the
// one call that submits.
#include "device/gpu/record/record.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/memory/parallel_copy.hpp"

namespace sg {
namespace {

constexpr size_t kBlockAlignment = kBlockWords * sizeof(uint64_t), kUploadAlignment = 256;

// Elementary operations of one submission: about 0.2 s on a slow device of the kind. Watchdogs fire at 2 s.
// In the units of plan/cost.hpp: bytes moved plus operations. Software devices have no watchdog.
double most_cost(VkPhysicalDeviceType type) {
  if (!env("SPIROGRAD_SUBMISSION_COST").empty()) return env_positive("SPIROGRAD_SUBMISSION_COST");
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

// As an argument block holds it: the bits of the type in the low bytes.
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

CommandRecorder::CommandRecorder(const Context& context, Queue& queue, BufferPool& pool, Pipelines& pipelines,
                                 Proxy* proxy, Timing& timing, DeviceStats& stats, Transfer& transfer)
    : context_(context),
      queue_(queue),
      pipelines_(pipelines),
      proxy_(proxy),
      timing_(timing),
      stats_(stats),
      transfer_(transfer),
      most_cost_(most_cost(context.physical.type)),
      memory_(context, pool, transfer),
      copier_(pipelines, transfer),
      status_(context, queue),
      readbacks_(context, queue),
      cache_(context, queue),
      commands_(context, pipelines, stats) {}

void CommandRecorder::get_ready(GpuPrepared& plan, const RunArguments& arguments) {
  const Stage stage("record", "stage", context_.id);
  if (plan.made_by != &pipelines_)
    fail<DeviceLostError>("run", "the plan is of " + context_.name() + " before its loss");
  memory_.reserve(plan.arena_bytes);  // it has been, unless the cache was emptied
  poison(memory_.arena());
  memory_.place(plan, arguments);
  if (plan.uses_status && arguments.fresh) status_.clear();
  const size_t blocks = plan.words.size() * sizeof(uint64_t), uploads = round_up(blocks, kUploadAlignment);
  Slot& slot = next_slot(uploads + uploads_.argument_bytes());
  write_blocks(slot, plan, arguments);
  const Cached cached = may_cache(plan) ? cached_commands(plan, slot) : Cached();
  if (!cached.empty() && !uploads_.empty()) {
    open(slot);
    record_uploads(slot, uploads);
  }
  ready_ = {&slot, uploads, uploads_.count(), cached, queue_.submitted()};
}

// Everything that can fail comes before the one call that submits, so a run that fails has changed nothing.
void CommandRecorder::run(GpuPrepared& plan, const RunArguments& arguments) {
  const bool is_ready =
      arguments.ready && ready_.slot && ready_.after == queue_.submitted() && ready_.count == uploads_.count();
  if (!is_ready) get_ready(plan, arguments);
  Slot& slot = *ready_.slot;
  times_.clear();
  if (ready_.cached.empty()) record_parts(slot, plan, ready_.uploads);
  const uint64_t value = submit(slot, ready_.cached, plan, arguments);
  memory_.count(plan);
  uploads_.clear();
  for (size_t i = 0; i < times_.size(); ++i) timing_.submitted(std::move(times_[i]), value + 1 - times_.size() + i);
  ++plan.runs;
}

uint64_t CommandRecorder::submit(Slot& slot, Cached cached, const GpuPrepared& plan, const RunArguments& arguments) {
  const auto submitted = [&] { return queue_.submit(slot, cached, plan.names); };
  return arguments.run ? status_.expect(arguments.run, arguments.own, submitted) : submitted();
}

// Records each part as a submission. The first one includes the waiting uploads.
void CommandRecorder::record_parts(Slot& slot, const GpuPrepared& plan, size_t uploads) {
  StepRange range{0, 0};
  do {
    range = next_steps(plan, range.last);
    if (range.first == 0)
      queue_.open(slot);
    else
      queue_.open_next(slot);
    commands_.start(slot.commands);
    times_.push_back(timing_.begin(slot.commands, range.last - range.first + 1));
    if (range.first == 0 && record_uploads(slot, uploads))
      timing_.after(times_.back(), slot.commands, upload_mark(uploads_.bytes()));
    if (!plan.copies) commands_.expect(Work::kernels);
    record_steps(slot, plan, range, times_.back());
  } while (range.last < plan.steps.size());
}

void CommandRecorder::record_pieces(Slot& slot, const Job& job, size_t at, size_t bytes) {
  constexpr size_t kWorthThreads = size_t{256} << 10;
  auto* mapped = static_cast<std::byte*>(slot.arguments.mapped) + at;
  ParallelCopy copier(bytes);
  for (const Job::Piece& p : job.pieces) {
    if (p.bytes < kWorthThreads)
      std::memcpy(mapped, p.from, p.bytes);
    else
      copier.copy(mapped, p.from, p.bytes);
    mapped += p.bytes;
  }
  commands_.copy(slot.arguments.handle, static_cast<GpuBuffer&>(*job.to).handle, {at, 0, bytes});
}

// Copies to host memory at the end of the job's own submission, so that a small result costs no second one.
std::shared_ptr<GpuReadback> CommandRecorder::record_wanted(const Job& job) {
  if (job.wanted.empty()) return nullptr;
  std::shared_ptr<GpuReadback> readback = readbacks_.take(static_cast<size_t>(wanted_bytes(job)));
  commands_.expect(Work::kernels_and_copies);
  commands_.barrier();
  size_t at = 0;
  for (const Job::Wanted& w : job.wanted) {
    transfer_.expect(static_cast<GpuBuffer&>(*w.from));
    commands_.copy(static_cast<GpuBuffer&>(*w.from).handle, readback->memory.handle, {w.at, at, w.bytes});
    at += w.bytes;
  }
  commands_.barrier_to_host();
  return readback;
}

// The slot's argument memory holds, in this order: waiting uploads, the job's pieces, a block for each launch. Launches
// of a job depend on each other, so there is a barrier between any two.
std::shared_ptr<Readback> CommandRecorder::run_job(const Job& job) {
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
  const size_t copied = round_up(uploads_.argument_bytes(), kUploadAlignment),
               arguments = copied + round_up(bytes, kUploadAlignment);
  Slot& slot = next_slot(arguments + words);
  open(slot);
  Timing::BatchRef times = timing_.begin(slot.commands, job.launches.size() + 3);
  if (record_uploads(slot, 0)) timing_.after(times, slot.commands, upload_mark(uploads_.bytes()));
  if (bytes) {
    record_pieces(slot, job, copied, bytes);
    timing_.after(times, slot.commands, upload_mark(bytes));
  }
  commands_.expect(Work::kernels);
  auto* mapped = static_cast<std::byte*>(slot.arguments.mapped);
  size_t at = arguments;
  for (const Job::Launch& l : job.launches) {
    if (!commands_.is_fresh()) commands_.barrier();
    std::memcpy(mapped + at, l.words.data(), l.words.size() * sizeof(uint64_t));
    commands_.dispatch(*variants.at(l.variant), slot.arguments.address + at, {l.groups, 1, 1});
    at += round_up(l.words.size() * sizeof(uint64_t), kBlockAlignment);
    if (times) timing_.after(times, slot.commands, {job.kernel, " [" + std::to_string(l.groups) + "]"});
  }
  std::shared_ptr<GpuReadback> readback = record_wanted(job);
  if (readback) timing_.after(times, slot.commands, {"Memcpy DtoH", "", "gpu_memcpy", wanted_bytes(job)});
  transfer_.expect_all();  // its kernels have addresses of any buffer
  const uint64_t value = queue_.submit(slot, {}, std::make_shared<const std::vector<std::string>>(1, job.kernel));
  if (readback) readback->value = value;
  uploads_.clear();
  timing_.submitted(std::move(times), value);
  return readback;
}

// As many steps as stay below the watchdog's limit, one at least. Nearly every plan is one part. Where kernels are
// printed each is a submission, so that one which does not end comes behind the last line.
CommandRecorder::StepRange CommandRecorder::next_steps(const GpuPrepared& plan, size_t first) const {
  StepRange range{first, first};
  if (debug_level() >= 2 && first < plan.steps.size()) return {first, first + 1};
  double cost = 0;
  for (; range.last < plan.steps.size(); ++range.last) {
    const GpuStep& step = plan.steps[range.last];
    const double more = static_cast<double>(step.cost.bytes) + static_cast<double>(step.cost.flops);
    if (range.last > first && cost + more > most_cost_) break;
    cost += more;
  }
  return range;
}

uint64_t CommandRecorder::word(const ArgWord& w, const RunArguments& arguments) const {
  switch (w.kind) {
    case ArgWord::Kind::value:
      return static_cast<uint64_t>(w.value);
    case ArgWord::Kind::address: {
      const int64_t offset = w.start >= 0 ? w.element_bytes * arguments.offsets[w.start] : 0;
      return memory_[w.memory].range.begin + static_cast<uint64_t>(w.value + offset);
    }
    case ArgWord::Kind::number:
      return number_bits(arguments.numbers[w.index], w.dtype);
    case ArgWord::Kind::status:
      return status_.address();
    case ArgWord::Kind::node:
      return arguments.nodes ? arguments.nodes[w.index] : 0;
  }
  return 0;
}

// Argument memory only grows: its address is part of what cached commands depend on.
Slot& CommandRecorder::next_slot(size_t argument_bytes) {
  Slot& slot = queue_.next();
  if (slot.arguments.bytes < argument_bytes) {  // idle: next() has waited for it
    HostBuffer larger =
        make_host_buffer(context_, std::max(argument_bytes, 2 * slot.arguments.bytes), HostUse::arguments);
    std::swap(slot.arguments, larger);
    free_host_buffer(context_, larger);
  }
  return slot;
}

void CommandRecorder::open(Slot& slot) {
  queue_.open(slot);
  commands_.start(slot.commands);
}

void CommandRecorder::write_blocks(Slot& slot, const GpuPrepared& plan, const RunArguments& arguments) {
  words_.clear();
  for (const ArgWord& w : plan.words) words_.push_back(word(w, arguments));
  if (!words_.empty()) std::memcpy(slot.arguments.mapped, words_.data(), words_.size() * sizeof(uint64_t));
}

// Commands with copies or descriptors contain buffers, and timed ones contain queries, so these are recorded each time.
// A plan that runs once needs no cached commands.
bool CommandRecorder::may_cache(const GpuPrepared& plan) const {
  return plan.runs > 0 && !plan.copies && !proxy_ && !Timing::wanted();
}

// The cached commands if they fit this run, else new ones in their place.
CommandRecorder::Cached CommandRecorder::cached_commands(GpuPrepared& plan, Slot& slot) {
  if (!plan.cached) plan.cached = cache_.take();
  CachedCommands::OfSlot& cached = plan.cached->slots[slot.index];
  depends_on_.assign(1, slot.arguments.address);
  depends_on_.insert(depends_on_.end(), memory_.same().begin(), memory_.same().end());
  if (cached.recorded_for == depends_on_) {
    stats_.dispatches += cached.dispatches;
    stats_.barriers += cached.barriers;
    ++stats_.resubmissions;
    return cached.commands();
  }
  cached.recorded_for.clear();
  cached.used = 0;
  const DeviceStats before = stats_;
  StepRange range{0, 0};
  do {
    range = next_steps(plan, range.last);
    const VkCommandBuffer commands = cache_.begin_next(cached);
    commands_.start(commands);
    commands_.expect(Work::kernels);
    record_steps(slot, plan, range, nullptr);
    end_commands(commands);
  } while (range.last < plan.steps.size());
  cached.dispatches = stats_.dispatches - before.dispatches;
  cached.barriers = stats_.barriers - before.barriers;
  cached.recorded_for = depends_on_;
  return cached.commands();
}

void CommandRecorder::record_steps(Slot& slot, const GpuPrepared& plan, const StepRange& range,
                                   const Timing::BatchRef& times) {
  const bool reverse = plan.barriers == BarrierMode::reverse;
  reversed_.clear();
  for (size_t i = range.first; i < range.last; ++i) {
    const GpuStep& step = plan.steps[i];
    if (step.groups[0] == 0 || step.groups[1] == 0 || step.groups[2] == 0) continue;
    find_access(step);
    if (!reverse) {
      commands_.wait_for(access_, plan.barriers);
      record_step(slot, step, times);
      continue;
    }
    if (commands_.must_wait(access_, plan.barriers)) {
      record_reversed(slot, times);
      commands_.barrier();
    }
    commands_.note(access_);
    reversed_.push_back(&step);
  }
  record_reversed(slot, times);
  if (plan.uses_status) commands_.barrier_to_host();
}

void CommandRecorder::record_reversed(Slot& slot, const Timing::BatchRef& times) {
  while (!reversed_.empty()) {
    record_step(slot, *reversed_.back(), times);
    reversed_.pop_back();
  }
}

// Barriers are decided by the addresses of this run, so two memories that lie apart never wait for each other, whatever
// the plan says of their numbers.
void CommandRecorder::find_access(const GpuStep& step) {
  access_.reads.clear();
  access_.writes.clear();
  for (int32_t m : step.reads) access_.reads.push_back(memory_[m].range);
  for (int32_t m : step.writes) access_.writes.push_back(memory_[m].range);
  access_.reads_status = step.guarded;
  access_.writes_status = step.reports;
}

void CommandRecorder::record_step(Slot& slot, const GpuStep& step, const Timing::BatchRef& times) {
  if (context_.labels) {
    VkDebugUtilsLabelEXT label{};
    label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
    label.pLabelName = step.name.c_str();
    vkCmdBeginDebugUtilsLabelEXT(commands_.handle(), &label);
  }
  if (!step.pipeline) {
    record_copy(step);
  } else if (step.proxy) {
    record_proxy(slot, step);
  } else {
    commands_.dispatch(*step.pipeline, slot.arguments.address + step.first_word * sizeof(uint64_t), step.groups);
  }
  if (context_.labels) vkCmdEndDebugUtilsLabelEXT(commands_.handle());
  if (times)
    timing_.after(times, commands_.handle(),
                  {step.name,
                   " [" + std::to_string(step.groups[0]) + ", " + std::to_string(step.groups[1]) + ", " +
                       std::to_string(step.groups[2]) + "]",
                   step.pipeline ? "kernel" : "gpu_memcpy", step.cost.bytes, step.cost.flops, step.cost.shapes});
}

void CommandRecorder::record_copy(const GpuStep& step) {
  const PlanMemory::Placement &from = memory_[step.copy_from], &to = memory_[step.copy_to];
  const uint64_t bytes = std::min(from.range.end - from.range.begin, to.range.end - to.range.begin);
  if (bytes == 0 || from.range.begin == to.range.begin) return;
  commands_.copy(from.handle, to.handle, {from.offset, to.offset, bytes});
}

void CommandRecorder::record_proxy(Slot& slot, const GpuStep& step) {
  std::vector<BufferRange> reads, writes;
  const auto place = [&](int32_t m) {
    const PlanMemory::Placement& p = memory_[m];
    return BufferRange{p.handle, p.offset, p.range.end - p.range.begin};
  };
  for (int32_t m : step.reads) reads.push_back(place(m));
  for (int32_t m : step.writes) writes.push_back(place(m));
  proxy_->record(slot, *step.proxy, reads, writes);
  ++stats_.dispatches;
}

void CommandRecorder::upload_small(const Ref<GpuBuffer>& to, const void* from, size_t bytes) {
  if (!uploads_.has_room_for(bytes)) flush_uploads();
  uploads_.add(to, from, bytes);
}

void CommandRecorder::poison(const Ref<GpuBuffer>& buffer) {
  if (uploads_.poisons(buffer)) upload_small(buffer, nullptr, 0);
}

void CommandRecorder::flush_uploads() {
  if (uploads_.empty()) return;
  Slot& slot = next_slot(uploads_.argument_bytes());
  open(slot);
  Timing::BatchRef times = timing_.begin(slot.commands, 1);
  record_uploads(slot, 0);
  timing_.after(times, slot.commands, upload_mark(uploads_.bytes()));
  timing_.submitted(std::move(times), queue_.submit(slot));
  uploads_.clear();
}

// A submission of its own: what computes the buffers is often kept commands of a plan, which know no other driver.
void CommandRecorder::hand_over(const std::vector<BufferRef>& buffers, const std::vector<BufferCopy>& copies) {
  const size_t table = round_up(uploads_.argument_bytes(), kUploadAlignment);
  Slot& slot = next_slot(table + Copier::argument_bytes(copies.size()));
  open(slot);
  record_uploads(slot, 0);
  copier_.record(copies, commands_, slot, table);
  std::vector<Ref<GpuBuffer>> ours;
  for (const BufferRef& b : buffers) {
    ours.emplace_back(&static_cast<GpuBuffer&>(*b));
    transfer_.expect(*ours.back());
  }
  commands_.change_owner(ours, Owner::other_driver);
  queue_.submit(slot);
  uploads_.clear();
  ++stats_.hand_overs;
}

}  // namespace sg
