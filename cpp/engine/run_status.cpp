// Hands out the bits of checks, finds by one pass over a log what belongs to them, and keeps what failed. Asks devices
// for their reports; what a kernel does with a bit is the device's business.
#include "engine/run_status.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/host.hpp"
#include "engine/engine.hpp"
#include "engine/flush.hpp"
#include "graph/update.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

// Never set in a device's block: part of every mask whose runs nobody has waited for, so that whether a plan looks at
// failures does not depend on how fast a device is.
constexpr uint64_t kUnchecked = uint64_t{1} << 63;
constexpr uint64_t kBits = kKnownFailure - 1;  // that checks can have

struct Failure {
  Reporter reporter;
  int64_t index, bound;
  bool lost = false;    // it kept a write from being done
  bool raised = false;  // in its thread
  bool over = false;    // raised, or what was lost to it is taken back: later steps are done
};
using FailureRef = std::shared_ptr<Failure>;

struct Run {
  DeviceId device;
  uint64_t own, used, guards;  // bits of its checks; in its masks; in those of its writes
  std::vector<Reporter> reporters;
};

// A failure that was raised, and the last run of that moment.
struct Told {
  Reporter reporter;
  uint32_t run;
};

// Numbers are given in order over all devices and never reused.
struct Runs {
  uint32_t last = 0;
  std::map<uint32_t, Run> open;                                             // not known to have finished
  std::map<uint32_t, DeviceId> unchecked;                                   // nobody has waited for them
  std::map<uint32_t, std::vector<std::pair<uint64_t, FailureRef>>> failed;  // of each run, by bit
  std::map<int, uint64_t> set;                                              // by device: bits that are set in its block
  std::deque<FailureRef> not_raised;                                        // the latest
  std::deque<Told> told;                                                    // the latest, of runs that may be open
};
constexpr size_t kMostNotRaised = 256, kMostTold = 16;

Runs& runs() {
  static auto* all = new Runs;
  return *all;
}
int number_of(DeviceId device) { return device.is_gpu() ? device.index : -1; }

// The checks of one statement are one error.
bool is_same(const Reporter& a, const Reporter& b) {
  return a.thread == b.thread && a.op == b.op && at(a.location) == at(b.location);
}

// Whether the statement's error was raised when the run was under way already: values that are computed again report a
// second time.
bool was_told(uint32_t run, const Reporter& r) {
  return std::ranges::any_of(runs().told, [&](const Told& t) { return run <= t.run && is_same(t.reporter, r); });
}

[[noreturn]] void raise(Failure& f) {
  const Reporter& r = f.reporter;
  std::string where = at(r.location);
  if (r.thread == thread_number()) {
    f.raised = f.over = true;
    for (const FailureRef& other : runs().not_raised)
      if (is_same(other->reporter, r)) other->raised = other->over = true;
    runs().told.push_back({r, runs().last});
    if (runs().told.size() > kMostTold) runs().told.pop_front();
    const uint64_t since = operations_recorded - r.operations;  // the first of them reads what was checked
    if (since > 1)
      where += ", recorded " + std::to_string(since - 1) + (since == 2 ? " operation" : " operations") + " ago";
  }
  const char* const remedy = "what depends on it has no value, and writes of it were not done";
  if (r.op->fault) sg::fail<Error>(r.op->name, r.op->fault + where, r.op->remedy);
  if (const char* fault = parameter_fault(r.op->name)) sg::fail<ValueError>(r.op->name, fault + where, remedy);
  sg::fail<IndexError>(
      r.op->name, "index " + std::to_string(f.index) + " out of range [0, " + std::to_string(f.bound) + ")" + where,
      remedy);
}

// The failures of a run that are in a mask.
template <class F>
void each_failure(uint32_t run, uint64_t mask, F f) {
  if (!run || !mask) return;
  const auto it = runs().failed.find(run);
  if (it == runs().failed.end()) return;
  for (const auto& [bit, failure] : it->second)
    if (bit & mask) f(bit, failure);
}

Failure* failure_of(uint32_t run, uint64_t mask) {
  Failure* found = nullptr;
  each_failure(run, mask, [&](uint64_t, const FailureRef& failure) {
    if (!found) found = failure.get();
  });
  return found;
}

}  // namespace

void raise_if_failed(const Node& node) {
  if (node.state == Node::State::failed) {
    forget_lost_write(node.error);
    std::rethrow_exception(node.error);
  }
  if (node.buffer && node.buffer->gone)
    fail<DeviceLostError>("tensor", "its values were on " + node.device.str() + " when it was lost, and are gone",
                          "load or compute them again");
  if (Failure* failure = failure_of(node.run, node.failed_by)) raise(*failure);
}

bool has_failed(const Node& node) {
  return node.state == Node::State::failed || (node.buffer && node.buffer->gone) ||
         failure_of(node.run, node.failed_by);
}

void raise_if_lost(const Node& node) {
  raise_if_failed(node);
  each_failure(node.run, node.lost_by, [](uint64_t, const FailureRef& failure) {
    if (!failure->over) raise(*failure);
  });
}

bool is_told(const Node& node) {
  const Failure* failure = failure_of(node.run, node.failed_by);
  return failure && failure->raised;
}

bool unchecked(const Node& node) {
  return node.run && (runs().unchecked.count(node.run) || failure_of(node.run, node.failed_by | node.lost_by));
}

uint32_t last_run() { return runs().last; }

namespace {
// `is_meant`: whether a run, by its number, may be one that has reported.
// A bit is one failure for all runs of a GPU that have it in a mask: none is given to another check while one of them is
// open.
template <class F>
void take_reports(const Status& status, DeviceId device, F is_meant) {
  Runs& r = runs();
  for (const Report& report : status.reports) {
    const uint64_t bit = uint64_t{1} << report.bit;
    FailureRef failure;
    for (auto& [number, run] : r.open) {
      if (!(run.device == device) || !is_meant(number)) continue;
      if (!failure && run.own & bit) {
        failure = std::make_shared<Failure>(run.reporters.at(report.reporter), report.index, report.bound);
        failure->raised = failure->over = was_told(number, failure->reporter);
      }
      if (!failure || !(run.used & bit)) continue;
      r.failed[number].emplace_back(bit, failure);
      failure->lost = failure->lost || run.guards & bit;
    }
    r.set[number_of(device)] |= bit;
    if (failure) r.not_raised.push_back(std::move(failure));
  }
  if (r.not_raised.size() > kMostNotRaised) r.not_raised.pop_front();
}
}  // namespace

void learn(DeviceId device) {
  const Status status = device_of(device).take_status();
  if (!status.done) return;
  take_reports(status, device, [](uint32_t) { return true; });
  std::erase_if(runs().open, [&](const auto& run) { return run.first <= status.done && run.second.device == device; });
}

void learn(DeviceId device, uint32_t run, const Status& status) {
  take_reports(status, device, [run](uint32_t number) { return number == run; });
  runs().open.erase(run);
}

void retire(DeviceId device, uint32_t last_run) {
  Runs& r = runs();
  const auto is_old = [&](uint32_t number, DeviceId id) { return number <= last_run && id == device; };
  if (device.is_gpu()) std::erase_if(r.open, [&](const auto& run) { return is_old(run.first, run.second.device); });
  std::erase_if(r.unchecked,
                [&](const auto& run) { return is_old(run.first, run.second) && !r.open.contains(run.first); });
}

void raise_own(bool all) {
  auto& failures = runs().not_raised;
  std::erase_if(failures, [](const FailureRef& f) { return f->raised; });
  const uint32_t self = failures.empty() ? 0 : thread_number();
  for (const FailureRef& f : failures)
    if (f->reporter.thread == self && (all || f->lost)) raise(*f);
}

namespace {
thread_local Ref<Transaction> begun;  // keeps what `transaction` refers to
}
void begin_transaction() {
  begun = new Transaction;
  transaction = begun.get();
}
Ref<Transaction> end_transaction() {
  transaction = nullptr;
  return std::exchange(begun, {});
}

Fate fate_of(const Transaction& t) {
  if (t.waiting) return Fate::open;
  if (failure_of(t.run, t.lost_by)) return Fate::lost;
  return t.run && runs().open.count(t.run) ? Fate::open : Fate::done;
}

void raise_lost(const Transaction& t) {
  Failure* failure = failure_of(t.run, t.lost_by);
  if (!failure || failure->over) return;
  failure->over = true;
  raise(*failure);
}

// ---- one run ---------------------------------------------------------------------------------------------------------
Flow flow_of(const Log& log, std::vector<Ref<Transaction>>& transactions) {
  Flow flow;
  flow.nodes.reserve(log.nodes.size());
  const auto place = [](const Operand& o) { return o.node->pending() ? o.node->log_index : -1 - o.leaf; };
  for (const NodeRef& node : log.nodes) {
    Flow::Of of;
    of.made = node->op->kind == Kind::memory;
    if (node->op->reports) of.kind = Flow::Kind::check;
    if (node->op->kind == Kind::effect) {
      of.kind = node->overwrites_all() ? Flow::Kind::whole_write : Flow::Kind::write;
      of.target = place(node->in[1]);
      of.made = of.target >= 0 && flow.nodes[static_cast<size_t>(of.target)].made;
      if (node->together) {
        const auto at = std::ranges::find(transactions, node->together) - transactions.begin();
        if (at == std::ssize(transactions)) transactions.push_back(node->together);
        of.transaction = 1 + static_cast<int32_t>(at);
      }
    }
    for (int k = 0; k < node->inputs; ++k)
      if (node->in[k].node && !(k == 1 && node->op->kind == Kind::effect)) flow.reads.push_back(place(node->in[k]));
    of.end = flow.reads.size();
    flow.nodes.push_back(of);
  }
  for (const Reporter& r : log.reporters) {
    const auto at = static_cast<size_t>(r.node->log_index);
    const bool here = r.node->epoch == log.epoch && at < log.nodes.size() && log.nodes[at].get() == r.node;
    flow.checks.push_back(here ? static_cast<int32_t>(at) : -1);
  }
  flow.transactions = static_cast<int32_t>(transactions.size());
  return flow;
}

namespace {

// Bits for the checks of a run: each its own, as long as there are enough; else those of one thread share some.
class Bits {
 public:
  Bits(DeviceId device, const Flow& flow, std::span<const Reporter> reporters) : device_(device) {
    for (size_t k = 0; k < reporters.size(); ++k) {
      if (flow.checks[k] < 0) continue;
      ++count_;
      threads_.push_back(reporters[k].thread);
    }
    std::ranges::sort(threads_);
    const auto [first, last] = std::ranges::unique(threads_);
    threads_.erase(first, last);
    find_free(!device.is_gpu());
    if (threads_.size() > free_.size() && device.is_gpu()) {  // threads share none, so runs in flight are waited for
      const HostPaused paused;
      device_of(device).wait();
      learn(device);
      std::erase_if(runs().open, [&](const auto& run) { return run.second.device == device; });
      find_free(true);
    }
    used_.resize(threads_.size());
  }
  bool is_fresh() const { return fresh_; }

  int next(uint32_t thread) {
    if (count_ <= free_.size()) return free_[next_++];
    const auto t = static_cast<size_t>(std::ranges::lower_bound(threads_, thread) - threads_.begin());
    const size_t each = std::max<size_t>(1, free_.size() / threads_.size());
    return free_.at((t * each + std::min(used_[t]++, each - 1)) % free_.size());
  }

 private:
  // `all`: leaves none to runs that follow.
  void find_free(bool all) {
    Runs& r = runs();
    uint64_t taken = 0;
    fresh_ = true;
    for (const auto& [number, run] : r.open)  // a CPU's runs have a block each
      if (run.device == device_ && device_.is_gpu()) taken |= run.used, fresh_ = false;
    if (!fresh_) taken |= r.set[number_of(device_)];
    free_.clear();
    for (uint64_t bits = kBits & ~taken; bits; bits &= bits - 1) free_.push_back(__builtin_ctzll(bits));
    if (!all) free_.resize((free_.size() + 1) / 2);
  }

  const DeviceId device_;
  size_t count_ = 0, next_ = 0;
  std::vector<uint32_t> threads_;
  std::vector<size_t> used_;  // by each thread
  std::vector<int> free_;
  bool fresh_ = true;
};

struct Masks {
  uint64_t failed_by = 0, lost_by = 0;
  Masks& operator|=(const Masks& o) {
    failed_by |= o.failed_by;
    lost_by |= o.lost_by;
    return *this;
  }
};

// What is known and unknown of a value that an earlier run made. `known` collects the failures.
uint64_t still(uint64_t mask, const Node& node, DeviceId device, bool lost, std::vector<FailureRef>& known) {
  if (!mask) return 0;
  const Runs& r = runs();
  uint64_t out = r.unchecked.count(node.run) ? kUnchecked : 0, failed = 0;
  each_failure(node.run, mask, [&](uint64_t bit, const FailureRef& failure) {
    failed |= bit;
    if (lost && failure->over) return;
    out |= kKnownFailure | kUnchecked;
    if (std::ranges::find(known, failure) == known.end()) known.push_back(failure);
  });
  const auto open = r.open.find(node.run);
  if (open != r.open.end() && open->second.device == device) out |= mask & ~failed;
  return out;
}

// What lies behind each node, in the order of the log.
class Pass {
 public:
  Pass(const Flow& flow, const std::vector<Masks>& leaves, Marks& marks) : flow_(flow), leaves_(leaves), marks_(marks) {
    for (std::vector<uint64_t>* of : {&marks.words, &marks.failed_by, &marks.lost_by}) of->assign(flow.nodes.size(), 0);
    marks.transactions.assign(static_cast<size_t>(flow.transactions) + 1, 0);
  }
  void run(const std::vector<uint64_t>& words_of_checks) {
    for (size_t k = 0; k < flow_.checks.size(); ++k)
      if (flow_.checks[k] >= 0) marks_.words[static_cast<size_t>(flow_.checks[k])] = words_of_checks[k];
    size_t begin = 0;
    for (size_t i = 0; i < flow_.nodes.size(); begin = flow_.nodes[i++].end) take(i, begin);
    for (size_t i = 0; i < flow_.nodes.size(); ++i)
      if (const int32_t t = flow_.nodes[i].transaction)
        marks_.words[i] = marks_.lost_by[i] = marks_.transactions[static_cast<size_t>(t)];
  }

 private:
  void take(size_t i, size_t begin) {
    const Flow::Of& of = flow_.nodes[i];
    Masks read;
    for (size_t k = begin; k < of.end; ++k) read |= of_place(flow_.reads[k]);
    if (of.kind == Flow::Kind::value) return set(i, read);
    if (of.kind == Flow::Kind::check) {
      const uint64_t own = uint64_t{1} << (marks_.words[i] & 63) | kUnchecked;
      return set(i, read |= {own, own});
    }
    const Masks old = of_place(of.target);
    if (of.transaction) {
      marks_.transactions[static_cast<size_t>(of.transaction)] |=
          read.failed_by | read.lost_by | old.failed_by | old.lost_by;
      return set(i, old);
    }
    if (!of.made) marks_.words[i] = read.failed_by;
    if (of.kind == Flow::Kind::whole_write && !read.failed_by) return set(i, read);
    Masks all = read;
    all |= old;
    set(i, {of.made ? all.failed_by : old.failed_by, all.lost_by});
  }

  void set(size_t i, const Masks& masks) {
    marks_.failed_by[i] = masks.failed_by;
    marks_.lost_by[i] = masks.lost_by;
  }

  Masks of_place(int32_t place) const {
    if (place < 0) return leaves_[static_cast<size_t>(-1 - place)];
    const auto i = static_cast<size_t>(place);
    const int32_t t = flow_.nodes[i].transaction;
    return {marks_.failed_by[i], t ? marks_.transactions[static_cast<size_t>(t)] : marks_.lost_by[i]};
  }

  const Flow& flow_;
  const std::vector<Masks>& leaves_;
  Marks& marks_;
};

// Values on their way from another device: its failures are known when they are there.
void await(std::span<const NodeRef> leaves) {
  for (const NodeRef& leaf : leaves)
    if (leaf->run && leaf->buffer) leaf->buffer->arrive();
}

}  // namespace

Marks begin_run(DeviceId device, const Flow& flow, std::span<const Reporter> reporters, std::span<const NodeRef> leaves,
                bool kernels) {
  await(leaves);
  learn(device);
  Bits bits(device, flow, reporters);
  Runs& r = runs();
  Marks marks;
  marks.run = ++r.last;
  marks.fresh = kernels && bits.is_fresh();
  if (marks.fresh) r.set[number_of(device)] = 0;
  Run run{device, 0, 0, 0, {reporters.begin(), reporters.end()}};
  std::vector<uint64_t> words;
  for (size_t k = 0; k < reporters.size(); ++k) {
    const int bit = flow.checks[k] < 0 ? 0 : bits.next(reporters[k].thread);
    words.push_back(report_word(bit, static_cast<uint32_t>(k)));
    if (flow.checks[k] >= 0) run.own |= uint64_t{1} << bit;
  }
  marks.own = run.own;
  std::vector<FailureRef> known;
  std::vector<Masks> masks;
  for (const NodeRef& leaf : leaves)
    masks.push_back(
        {still(leaf->failed_by, *leaf, device, false, known), still(leaf->lost_by, *leaf, device, true, known)});
  Pass(flow, masks, marks).run(words);
  for (const auto* masks : {&marks.failed_by, &marks.lost_by})
    for (uint64_t mask : *masks) run.used |= mask;
  for (size_t i = 0; i < flow.nodes.size(); ++i)
    if (flow.nodes[i].kind >= Flow::Kind::write) run.guards |= marks.words[i];
  run.used = (run.used | run.guards) & kBits;
  for (const FailureRef& failure : known) {
    r.failed[marks.run].emplace_back(kKnownFailure, failure);
    failure->lost = failure->lost || run.guards & kKnownFailure;
  }
  r.open.emplace(marks.run, std::move(run));
  r.unchecked.emplace(marks.run, device);
  return marks;
}

void abandon_run(DeviceId device, const Marks& marks) {
  Runs& r = runs();
  r.open.erase(marks.run);
  r.unchecked.erase(marks.run);
  if (marks.fresh) r.set[number_of(device)] = kBits;  // the block was not cleared
}

void set_marks(Node& node, const Marks& marks, int32_t of) {
  node.failed_by = marks.failed_by[static_cast<size_t>(of)];
  node.lost_by = marks.lost_by[static_cast<size_t>(of)];
  node.run = node.failed_by || node.lost_by ? marks.run : 0;
}
void set_marks(std::span<const Ref<Transaction>> transactions, const Marks& marks) {
  for (size_t t = 0; t < transactions.size(); ++t) {
    transactions[t]->lost_by = marks.transactions[t + 1] & ~kUnchecked;
    transactions[t]->run = transactions[t]->lost_by ? marks.run : 0;
  }
}

}  // namespace sg
