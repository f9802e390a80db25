// The CPU as a Device: memory, preparing plans, running them on the calling thread and the pool.
#include "device/device.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/profile.hpp"
#include "device/cpu/compiled.hpp"
#include "device/cpu/executable.hpp"
#include "device/cpu/memory.hpp"
#include "device/cpu/product.hpp"
#include "device/cpu/threads.hpp"
#include "os/memory.hpp"
#include "os/process.hpp"
#include "os/processor.hpp"
#include "plan/cost.hpp"

namespace sg {
namespace cpu {
namespace {

// Where a view begins in one run: the memory's address, plus a run-time offset if `start` names one.
struct BoundView {
  int32_t memory = -1, start = -1;
  int64_t size = 1;  // bytes of an element: run-time offsets count elements
};

// A store that a failure may keep from being done.
struct GuardedStore {
  int32_t view, node;
};

struct ReadyInstance {
  Kernel::Kind kind = Kernel::Kind::program;
  std::shared_ptr<Executable> program;
  Boxed<ProductPlan> product;
  std::vector<BoundView> views;  // of the program or the epilogue
  BoundView a, b;                // product operands; copy: from, to
  const CustomKernel* custom = nullptr;
  std::vector<int64_t> custom_offsets;  // bytes
  int64_t copy_bytes = 0;
  std::vector<int32_t> numbers, checks;
  std::vector<GuardedStore> guarded;
  bool only_guarded = false;  // it stores nothing else
  std::vector<char*> bases;   // filled anew in each run
};

void raise_to(ScratchSizes& sizes, const ScratchSizes& others) {
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::max(sizes[i], others[i]);
}

// Bytes of a kernel apart from its program, which others may share; 0 where it is a function of this library.
int64_t compiled_bytes(const ReadyInstance& r) {
  if (r.custom || r.kind == Kernel::Kind::copy) return 0;
  return static_cast<int64_t>(sizeof(ReadyInstance) + (r.product ? sizeof(ProductPlan) : 0));
}

// A plan's calls, ready to run: addresses alone are filled in anew. Equal programs of one plan share an Executable, so
// two steps never run at once.
class CpuPrepared final : public Prepared {
 public:
  explicit CpuPrepared(DeviceStats& stats) : stats_(stats) {}
  CpuPrepared(const CpuPrepared&) = delete;
  CpuPrepared& operator=(const CpuPrepared&) = delete;
  ~CpuPrepared() override {
    stats_.kernels_kept -= kernels_;
    stats_.kernel_bytes -= bytes_;
  }
  int64_t bytes() const override { return bytes_; }
  void count_kernels(const Compiled& compiled) {
    bytes_ = compiled.bytes();
    for (const auto& step : steps)
      for (const ReadyInstance& r : step)
        if (const int64_t bytes = compiled_bytes(r)) ++kernels_, bytes_ += bytes;
    stats_.kernels_kept += kernels_;
    stats_.kernel_bytes += bytes_;
  }

  std::shared_ptr<const Plan> plan;
  std::vector<std::vector<ReadyInstance>> steps;
  std::vector<Cost> costs;                      // of each step
  ScratchSizes scratch{}, scratch_of_others{};  // of all steps
  std::vector<char*> memory;                    // address of each Plan memory, filled anew in each run
  std::vector<bool> copies;                     // of each output: whether it is apart from the leaf that it takes over
  size_t last_stop = 0;                         // steps that come before the first one to write over a leaf
  // Of one run at a time; the others that run the plan at once take copies. Under the device's mutex.
  bool busy = false;
  std::vector<std::unique_ptr<CpuPrepared>> copies_of_plan;
  bool wants_copy(int32_t output) const override { return copies[static_cast<size_t>(output)]; }

 private:
  DeviceStats& stats_;
  int64_t kernels_ = 0, bytes_ = 0;
};

// A run can be interrupted between and inside steps as long as no leaf was overwritten. Outputs that would overwrite
// one before the last long step get a copy of the leaf, which is cheap beside that step; the others come after it.
constexpr int64_t kLongWork = 1 << 28;  // arithmetic operations: a tenth of a second and more
constexpr int64_t kWorkOfByte = 8;      // steps of fewer operations a byte end as fast as memory is

void plan_stops(CpuPrepared& p) {
  const Plan& plan = *p.plan;
  size_t after_long = 0;
  for (size_t i = 0; i < p.costs.size(); ++i)
    if (p.costs[i].flops > std::max(kLongWork, kWorkOfByte * p.costs[i].bytes)) after_long = i + 1;
  p.copies.assign(static_cast<size_t>(plan.outputs), false);
  p.last_stop = plan.steps.size();
  for (size_t i = 0; i < plan.steps.size(); ++i)
    for (const Instance& instance : plan.steps[i].instances)
      for (int32_t w : instance.writes) {
        const Memory& m = plan.memories[static_cast<size_t>(w)];
        if (m.kind != Memory::Kind::output || m.donor < 0) continue;
        if (i < after_long)
          p.copies[static_cast<size_t>(m.index)] = true;
        else if (!p.copies[static_cast<size_t>(m.index)])
          p.last_stop = std::min(p.last_stop, i);
      }
}

// Bindings that may share bytes get the same number: an output and the leaf it takes over, temporaries that overlap.
std::vector<int32_t> memory_groups(const Plan& plan, const Instance& instance) {
  std::vector<int32_t> groups(instance.bindings.size());
  const auto same = [&](int32_t x, int32_t y) {
    if (x == y) return true;
    const Memory &a = plan.memories[x], &b = plan.memories[y];
    using Kind = Memory::Kind;
    if (a.kind == Kind::temp && b.kind == Kind::temp)
      return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
    const auto leaf = [](const Memory& m) {
      return m.kind == Kind::leaf ? m.index : m.kind == Kind::output ? m.donor : -1;
    };
    return leaf(a) >= 0 && leaf(a) == leaf(b);
  };
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i] = static_cast<int32_t>(i);
    for (size_t j = 0; j < i; ++j) {
      if (!same(instance.bindings[i].memory, instance.bindings[j].memory)) continue;
      const int32_t from = groups[i], to = groups[j];
      for (size_t k = 0; k <= i; ++k)
        if (groups[k] == from) groups[k] = to;
    }
  }
  return groups;
}

BoundView bind(const Instance& instance, int32_t binding, int64_t size) {
  if (binding < 0) return {};
  return {instance.bindings[binding].memory, instance.bindings[binding].start, size};
}

// Everything that may fail or allocate happens here; run() only fills in addresses and numbers.
ReadyInstance make_ready(const Plan& plan, const Instance& instance, Compiled& compiled) {
  ReadyInstance r;
  const Kernel& kernel = instance.kernel;
  r.kind = kernel.kind;
  r.numbers = instance.numbers;
  r.checks = instance.checks;
  if (kernel.kind == Kernel::Kind::copy) {
    r.a = bind(instance, 0, 1);
    r.b = bind(instance, 1, 1);
    r.copy_bytes = plan.memories[r.b.memory].bytes;
    return r;
  }
  if (kernel.kind == Kernel::Kind::custom) {
    if (!kernel.custom->cpu)
      fail<LimitError>("cpu", "this kernel runs on a GPU only", "move the inputs with .to(\"gpu\")");
    r.custom = &*kernel.custom;
    for (const CustomKernel::Tensor& t : kernel.custom->tensors) {
      const auto size = static_cast<int64_t>(size_of(t.dtype));
      r.views.push_back(bind(instance, t.binding, size));
      r.custom_offsets.push_back(t.offset * size);
    }
    r.bases.resize(r.views.size());
    return r;
  }
  const std::vector<int32_t> groups = memory_groups(plan, instance);
  const bool product = kernel.kind == Kernel::Kind::product;
  const Program& program = kernel.elementwise();
  r.only_guarded = true;
  for (const Instr& i : program.code) {
    if (!is_store(i.code)) continue;
    if (i.imm.i) r.guarded.push_back({i.slot, instance.guards.at(static_cast<size_t>(i.imm.i) - 1)});
    r.only_guarded = r.only_guarded && i.imm.i;
  }
  if (product) {
    const auto size = static_cast<int64_t>(size_of(kernel.product->dtype));
    r.product = plan_product(*kernel.product, groups, compiled);
    r.a = bind(instance, kernel.product->a_binding, size);
    r.b = bind(instance, kernel.product->b_binding, size);
  } else {
    Program collapsed = program;
    collapse(collapsed);
    r.program = compiled.of(std::move(collapsed), {&groups, false});
  }
  r.views.reserve(program.views.size());
  for (const View& v : program.views)
    r.views.push_back(bind(instance, v.binding, static_cast<int64_t>(size_of(v.dtype))));
  r.bases.resize(r.views.size());
  return r;
}

// The scratch memory that a run needs: reserved before anything is written.
void count_scratch(CpuPrepared& p) {
  for (const auto& step : p.steps)
    for (const ReadyInstance& r : step) {
      ScratchSizes own{r.program ? r.program->frame_bytes : 0, 0, 0, 0}, others = own;
      if (r.custom && r.custom->scratch) own = others = {0, blocks().gemm_scratch, 0, r.custom->scratch};
      if (r.kind == Kernel::Kind::product) own = scratch_of(*r.product), others = cpu::scratch_of_others(*r.product);
      raise_to(p.scratch, own);
      raise_to(p.scratch_of_others, others);
    }
}

void copy_bytes(void* to, const void* from, size_t bytes) {
  constexpr int64_t kPiece = 1 << 20;
  parallel_for(static_cast<int64_t>(bytes), bytes > 4 * kPiece ? kPiece : 4 * kPiece, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

// While it lives, a run uses so many bytes of its arena.
class Inside {
 public:
  Inside(MemoryPool& pool, int64_t bytes) : pool_(pool), bytes_(bytes) { pool_.use_inside(bytes_); }
  ~Inside() { pool_.use_inside(-bytes_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  MemoryPool& pool_;
  int64_t bytes_;
};

// What a run has for itself.
struct Workspace {
  int block;        // of status_blocks
  BufferRef arena;  // of its temporaries
};

class CpuDevice final : public Device {
 public:
  CpuDevice() : pool_(stats_) {
    features_.memory_bytes = os::memory_total();
    env_whole("SPIROGRAD_DEBUG", 0, 5);
    debug(1, "cpu: " + std::to_string(thread_count()) + " threads, " + blocks().name);
  }

  DeviceInfo info() const override {
    DeviceInfo i;
    i.type = "cpu";
    i.name = os::processor_name();
    i.memory_total = features_.memory_bytes;
    i.memory_free = os::memory_free();
    i.limits = {{"threads", std::to_string(thread_count())}};
    i.features = {{"instruction set", blocks().name}, {"matrix products", std::string("own, ") + blocks().name}};
    return i;
  }
  const Features& features() const override { return features_; }
  DeviceStats& stats() override { return stats_; }

  BufferRef allocate(size_t bytes, bool) override { return pool_.allocate(bytes); }
  void upload(const BufferRef& to, const void* from, size_t bytes) override {
    Stage stage("upload");
    stage.bytes = static_cast<int64_t>(bytes);
    to->arrive();
    copy_bytes(to->host, from, bytes);
    stats_.bytes_written += static_cast<int64_t>(bytes);
  }
  void download(void* to, const BufferRef& from, size_t offset, size_t bytes) override {
    Stage stage("download");
    stage.bytes = static_cast<int64_t>(bytes);
    from->arrive();
    copy_bytes(to, static_cast<const char*>(from->host) + offset, bytes);
    stats_.bytes_read += static_cast<int64_t>(bytes);
  }

  std::shared_ptr<Prepared> prepare(std::shared_ptr<const Plan> plan, bool) override {
    std::unique_ptr<CpuPrepared> prepared = ready(std::move(plan));
    const InUse use(*this, nullptr);
    grow_arena(use->arena, static_cast<size_t>(prepared->plan->arena_bytes));
    return prepared;
  }

  void run(Prepared& prepared, const RunArguments& arguments) override {
    const InUse use(*this, static_cast<CpuPrepared*>(&prepared));
    const Computing computing;
    CpuPrepared& p = use.prepared();
    const EnoughScratch enough(p.scratch, p.scratch_of_others);
    BufferRef& arena = use->arena;
    grow_arena(arena, static_cast<size_t>(p.plan->arena_bytes));  // it has room, unless the cache was emptied
    place_memory(p, arguments, arena);
    if (arena) poison(arena->host, arena->bytes);
    if (arguments.status) arguments.status->reports.reserve(static_cast<size_t>(__builtin_popcountll(arguments.own)));
    status_blocks[use->block].failed.store(kKnownFailure, std::memory_order_relaxed);
    const Inside inside(pool_, p.plan->arena_bytes);
    run_steps(p, arguments, use->block);
    ++stats_.submissions;
    if (arguments.run) note_reports(arguments, use->block);
  }

  void wait() override {}
  Status take_status() override { return {}; }
  void empty_cache() override {
    {
      const std::lock_guard lock(mutex_);
      for (Workspace* workspace : free_) workspace->arena = {};
    }
    pool_.empty_cache();
  }

  void before_fork() { pool_.lock(); }
  void after_fork() { pool_.unlock(); }

 private:
  // Of one run: a workspace and, of a plan that another thread is running, a copy.
  class InUse {
   public:
    InUse(CpuDevice& device, CpuPrepared* plan) : device_(device), workspace_(device.take_workspace()) {
      try {
        if (plan) prepared_ = &device.not_busy(*plan);
      } catch (...) {
        device.give_back(workspace_, nullptr);
        throw;
      }
    }
    ~InUse() { device_.give_back(workspace_, prepared_); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    Workspace* operator->() const { return &workspace_; }
    CpuPrepared& prepared() const { return *prepared_; }

   private:
    CpuDevice& device_;
    Workspace& workspace_;
    CpuPrepared* prepared_ = nullptr;
  };

  // Waits while as many as there are blocks compute.
  Workspace& take_workspace() {
    std::unique_lock lock(mutex_);
    if (free_.empty() && workspaces_.size() < kMostRuns) {
      free_.reserve(kMostRuns);
      workspaces_.push_back({static_cast<int>(workspaces_.size()), {}});
      return workspaces_.back();
    }
    freed_.wait(lock, [this] { return !free_.empty(); });
    Workspace& last = *free_.back();
    free_.pop_back();
    return last;
  }

  void give_back(Workspace& workspace, CpuPrepared* prepared) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (prepared) prepared->busy = false;
      free_.push_back(&workspace);
    }
    freed_.notify_one();
  }

  CpuPrepared& not_busy(CpuPrepared& plan) {
    {
      const std::lock_guard lock(mutex_);
      if (!std::exchange(plan.busy, true)) return plan;
      for (const auto& copy : plan.copies_of_plan)
        if (!std::exchange(copy->busy, true)) return *copy;
    }
    std::unique_ptr<CpuPrepared> fresh = ready(plan.plan);
    fresh->busy = true;
    const std::lock_guard lock(mutex_);
    return *plan.copies_of_plan.emplace_back(std::move(fresh));
  }

  std::unique_ptr<CpuPrepared> ready(std::shared_ptr<const Plan> plan) {
    const Stage stage("prepare");
    auto prepared = std::make_unique<CpuPrepared>(stats_);
    Compiled compiled;
    for (const Step& step : plan->steps) {
      prepared->costs.push_back(cost_of(*plan, step));
      auto& ready = prepared->steps.emplace_back();
      for (const Instance& instance : step.instances) ready.push_back(make_ready(*plan, instance, compiled));
    }
    prepared->memory.resize(plan->memories.size());
    prepared->plan = std::move(plan);
    plan_stops(*prepared);
    count_scratch(*prepared);
    prepared->count_kernels(compiled);
    return prepared;
  }

  void run_steps(CpuPrepared& p, const RunArguments& arguments, int block) {
    for (size_t i = 0; i < p.steps.size(); ++i) {
      const Interruptible scope(i < p.last_stop && !arguments.to_the_end);
      Stage stage(p.plan->steps[i].name.c_str(), "step");
      stage.bytes = p.costs[i].bytes;
      stage.flops = p.costs[i].flops;
      stage.shapes = p.costs[i].shapes.c_str();
      for (ReadyInstance& instance : p.steps[i]) run_instance(p, instance, arguments, block);
      ++stats_.dispatches;
    }
  }

  static void note_reports(const RunArguments& arguments, int number) {
    const StatusBlock& block = status_blocks[number];
    arguments.status->done = arguments.run;
    for (uint64_t bits = block.failed.load(std::memory_order_relaxed) & arguments.own; bits; bits &= bits - 1) {
      const int bit = __builtin_ctzll(bits);
      const auto& report = block.reports[bit];
      arguments.status->reports.push_back({bit, report.reporter, report.index, report.bound});
    }
  }

  // With room for larger batches, which then find their pages mapped. Untouched pages cost nothing, but they count
  // where memory is limited.
  void grow_arena(BufferRef& arena, size_t bytes) {
    const size_t before = arena ? arena->bytes : 0;
    if (bytes <= before) return;
    arena = {};  // first, so that both need not fit at once
    if (!poisons() && env_bytes("SPIROGRAD_MEMORY_LIMIT") == 0) {
      try {
        arena = pool_.allocate(bytes + bytes / 2, true);
        return;
      } catch (const OutOfMemoryError&) {  // then without
      }
    }
    try {
      arena = pool_.allocate(bytes, true);
    } catch (...) {
      if (before) arena = pool_.allocate(before, true);  // older plans still run
      throw;
    }
  }

  void place_memory(CpuPrepared& p, const RunArguments& arguments, const BufferRef& arena) {
    for (size_t i = 0; i < p.memory.size(); ++i) {
      const Memory& m = p.plan->memories[i];
      switch (m.kind) {
        case Memory::Kind::leaf:
          arguments.leaves[m.index]->arrive();
          p.memory[i] = static_cast<char*>(arguments.leaves[m.index]->host);
          break;
        case Memory::Kind::output:
          p.memory[i] = static_cast<char*>(arguments.outputs[m.index]->host);
          break;
        case Memory::Kind::temp:
          p.memory[i] = arena ? static_cast<char*>(arena->host) + m.offset : nullptr;
          break;
      }
    }
  }

  static char* address(const CpuPrepared& p, const BoundView& v, const RunArguments& arguments) {
    if (v.memory < 0) return nullptr;
    return p.memory[v.memory] + (v.start < 0 ? 0 : arguments.offsets[v.start] * v.size);
  }

  void run_instance(CpuPrepared& p, ReadyInstance& r, const RunArguments& arguments, int block) {
    if (r.kind == Kernel::Kind::copy)
      return copy_bytes(p.memory[r.b.memory], p.memory[r.a.memory], static_cast<size_t>(r.copy_bytes));
    for (size_t v = 0; v < r.views.size(); ++v) r.bases[v] = address(p, r.views[v], arguments);
    std::vector<BufferRef> aside;
    if (!r.guarded.empty() && !keep_old(p, r, arguments, block, aside)) return;
    if (r.custom) return run_custom(r);
    const bool product = r.kind == Kernel::Kind::product;
    if (Executable* e = product ? r.product->epilogue.get() : r.program.get()) set_cells(*e, r, arguments, block);
    if (product)
      run_product(*r.product, address(p, r.a, arguments), address(p, r.b, arguments), r.bases);
    else
      run_all(*r.program, r.bases.data());
  }

  static void set_cells(Executable& e, const ReadyInstance& r, const RunArguments& arguments, int block) {
    for (const NumberUse& n : e.numbers) e.cells[n.cell] = cell_of(n.dtype, arguments.numbers[r.numbers[n.number]]);
    for (const CheckUse& c : e.checks)
      if (arguments.nodes)
        e.cells[c.cell].i = static_cast<int64_t>(arguments.nodes[r.checks[static_cast<size_t>(c.number) - 1]] |
                                                 static_cast<uint64_t>(block) << kBlockShift);
  }

  // Stores that a failure keeps from being done go to memory that nobody reads. False: there is nothing else to do.
  bool keep_old(const CpuPrepared& p, ReadyInstance& r, const RunArguments& arguments, int block,
                std::vector<BufferRef>& aside) {
    const uint64_t failed = status_blocks[block].failed.load(std::memory_order_relaxed);
    const auto is_kept = [&](const GuardedStore& s) { return arguments.nodes && failed & arguments.nodes[s.node]; };
    if (r.only_guarded && std::ranges::all_of(r.guarded, is_kept)) return false;
    for (const GuardedStore& s : r.guarded) {
      if (!is_kept(s)) continue;
      const auto view = static_cast<size_t>(s.view);
      const auto memory = static_cast<size_t>(r.views[view].memory);
      aside.push_back(pool_.allocate(static_cast<size_t>(p.plan->memories[memory].bytes)));
      r.bases[view] += static_cast<char*>(aside.back()->host) - p.memory[memory];
    }
    return true;
  }

  static void run_custom(ReadyInstance& r) {
    for (size_t v = 0; v < r.bases.size(); ++v) r.bases[v] += r.custom_offsets[v];
    r.custom->cpu({reinterpret_cast<void* const*>(r.bases.data()), r.custom->words.data(), parallel_for, multiply,
                   [](DType t, void* x, int64_t n) { blocks().alu(Code::exp, t, t, 0)(x, x, nullptr, nullptr, n); },
                   blocks().lstm_forward, blocks().lstm_backward,
                   [](int64_t bytes) { return static_cast<void*>(scratch(3, bytes)); }, look_for_interrupt});
  }

  DeviceStats stats_;
  Features features_;
  MemoryPool pool_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::deque<Workspace> workspaces_;
  std::vector<Workspace*> free_;  // the last used comes last, and is the next to be used
};

CpuDevice& instance() {
  static CpuDevice* device = [] {  // never destroyed: buffers may outlive main()
    auto* d = new CpuDevice;
    os::at_fork([] { instance().before_fork(); }, [] { instance().after_fork(); }, [] { instance().after_fork(); });
    return d;
  }();
  return *device;
}

}  // namespace
}  // namespace cpu

Device& cpu_device() { return cpu::instance(); }

}  // namespace sg
