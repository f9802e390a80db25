// Gives tapes of scalar graphs device memory and lists the launches of the tape machine (shaders/tape.glsl, which has
// the same modes and words). Knows no formula: the shader has them.
#include "engine/tape.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/round.hpp"
#include "engine/engine.hpp"
#include "graph/log.hpp"
#include "value/graph.hpp"

namespace sg {
namespace {

using value::Op;
using value::Tape;

// The tape machine's modes and argument words, as in shaders/tape.glsl.
enum Mode : uint32_t { kPrepare, kWrite, kForward, kBackward, kExternals, kLong };
enum Word {
  kMode,
  kFirst,
  kLast,
  kRoot,
  kEpoch,
  kData,
  kGrad,
  kMarks,
  kDebts,
  kHeads,
  kLevels,
  kUses,
  kChunks,
  kLists,
  kExternalTable,
  kExternalUses,
  kWrites,
  kSlots,
  kLinks,
  kMore,
  kWords
};

constexpr uint32_t kThreads = 256;    // of a workgroup, where the device runs so many
constexpr uint32_t kFewThreads = 64;  // wide levels are spread over many processors
// A launch for a level costs 2.0 to 2.3 us. Inside one workgroup of 256 threads, a level costs 0.6 us up to 64 strands,
// 0.9 us at 256 and 2.2 us at 1,024 (H200).
constexpr size_t kNarrow = 1024;
constexpr uint32_t kMostLevels = 65536;  // in one launch, because of watchdogs
constexpr uint32_t kMostGroups = 16384;
// The slots of smaller tapes are copied back with each run; those of larger ones when they are read.
constexpr uint32_t kSmallData = 32768, kSmallGrad = 8192;

bool is_source(const value::Node* n) { return n->op == Op::leaf || n->op == Op::custom || n->op == Op::move; }

constexpr size_t kPieceAlignment = 16;  // bytes: of each array of a tape

}  // namespace

GpuTapes::GpuTapes(Device& device)
    : device_(device),
      real_bytes_(device.features().float64 && env("SPIROGRAD_TAPE") != "float32" ? 8 : 4),
      threads_(static_cast<uint32_t>(std::min<int64_t>(kThreads, device.features().max_group_threads))) {}

uint64_t GpuTapes::bits(double x) const {
  return real_bytes_ == 8 ? std::bit_cast<uint64_t>(x) : std::bit_cast<uint32_t>(static_cast<float>(x));
}

// Raises an error if the tape's values were not computed or are gone.
void GpuTapes::check(const Memory& m) {
  if (!m.cells) fail<Error>("Value", "the run that should have computed it failed", "build the graph again");
  raise_if_gone("Value", *m.cells);
}

uint64_t GpuTapes::nowhere() {
  if (!nowhere_ || nowhere_->gone) nowhere_ = device_.allocate(16);
  return nowhere_->address;
}

std::vector<uint64_t> GpuTapes::words(const Memory& m, uint32_t mode, uint32_t first, uint32_t last) const {
  std::vector<uint64_t> w(kWords, 0);
  w[kMode] = mode, w[kFirst] = first, w[kLast] = last, w[kRoot] = value::kNone;
  w[kEpoch] = passes_;
  w[kSlots] = m.slots;
  w[kData] = m.data, w[kGrad] = m.grad, w[kMarks] = m.marks;
  w[kHeads] = m.heads, w[kLinks] = m.links, w[kMore] = m.more, w[kLevels] = m.levels;
  w[kUses] = m.uses, w[kChunks] = m.chunks, w[kLists] = m.lists;
  w[kExternalTable] = m.payments.empty() ? m.data : m.externals;  // must be a valid address even if there are none
  w[kExternalUses] = m.external_uses;
  return w;
}

// Groups the externals by the launch that adds up their gradients: one with many uses gets a workgroup of its own.
void GpuTapes::find_payments(const value::TapeWords& from, Memory& m) const {
  constexpr uint32_t kMany = 384;
  for (uint32_t i = 0; i < from.external_uses.size(); ++i) {
    const uint32_t use = from.external_uses[i];
    const bool many =
        use != value::kNone && (use & value::kElsewhere) && from.chunks[(use & ~value::kElsewhere) + 1] >> 16 >= kMany;
    const bool same = !m.payments.empty() && (m.payments.back().groups == 0) == many;
    if (same)
      ++m.payments.back().last;
    else
      m.payments.push_back({i, i + 1, many ? 0u : 1u});
  }
}

// Groups the levels into launches: a wide level has its own, narrow neighbours share one.
void GpuTapes::add_levels(const value::TapeWords& from, Script& script, Memory& m) const {
  uint32_t first = 0;
  for (uint32_t l = 0; l < from.depth; ++l) {
    const auto count = static_cast<uint32_t>(from.levels[l].heads.size());
    script.levels.push_back(first);
    script.levels.push_back(count);
    first += count;
    Memory::Run* last = m.runs.empty() ? nullptr : &m.runs.back();
    if (count > kNarrow)
      m.runs.push_back({l, l + 1, std::min((count + kFewThreads - 1) / kFewThreads, kMostGroups)});
    else if (last && last->groups == 1 && l - last->first < kMostLevels)
      ++last->last;
    else
      m.runs.push_back({l, l + 1, 1});
  }
}

// The addresses of slots in other tapes. The tape's own leaves are treated like these, as no operation makes them.
void GpuTapes::add_externals(Script& script, Tape& tape, Memory& m) {
  value::TapeWords& from = *tape.words;
  for (auto [slot, number] : from.numbers) {
    if (from.uses[slot] == value::kNone) continue;
    from.externals.push_back({tape.number, slot});
    from.external_uses.push_back(from.uses[slot]);
  }
  find_payments(from, m);
  script.table.reserve(3 * from.externals.size());
  for (const value::TapeWords::External& e : from.externals) {
    const auto home = memory_.find(e.tape);
    if (home == memory_.end()) {
      script.table.insert(script.table.end(), 3, nowhere());
      continue;
    }
    check(home->second);
    script.table.push_back(home->second.data + e.slot * real_bytes_);
    script.table.push_back(home->second.grad + e.slot * real_bytes_);
    script.table.push_back(home->second.marks + e.slot * real_bytes_);
    if (e.tape != tape.number && (m.homes.empty() || m.homes.back() != e.tape)) m.homes.push_back(e.tape);
  }
}

// Allocates the tape's memory and puts its arrays into one buffer.
void GpuTapes::add_code(Script& script, Tape& tape, Memory& m) {
  const value::TapeWords& from = *tape.words;
  m.slots = from.slots;
  m.inside = from.inside;
  const uint64_t reals = round_up(uint64_t(m.slots + m.inside) * real_bytes_, kPieceAlignment);
  m.cells = device_.allocate(2 * reals + m.slots * real_bytes_);
  m.data = m.cells->address, m.grad = m.data + reals, m.marks = m.grad + reals;

  add_levels(from, script, m);
  add_externals(script, tape, m);
  for (auto [slot, number] : from.numbers) {
    script.writes.push_back(m.data + slot * real_bytes_);
    script.writes.push_back(bits(number));
  }

  uint64_t at = 0;
  auto piece = [&](const auto& v) {
    const uint64_t begin = at;
    at += script.add(v.data(), v.size() * sizeof v[0]);
    return begin;
  };
  m.heads = at;
  for (uint32_t l = 0; l < from.depth; ++l) piece(from.levels[l].heads);
  m.links = at;
  for (uint32_t l = 0; l < from.depth; ++l)
    at += script.add_part(from.levels[l].links.data(), from.levels[l].links.size() * sizeof(value::TapeWords::Chunks));
  at += script.pad(at);
  m.more = piece(from.more), m.levels = piece(script.levels), m.uses = piece(from.uses), m.chunks = piece(from.chunks);
  m.lists = piece(from.lists), m.externals = piece(script.table), m.external_uses = piece(from.external_uses);
  m.code = device_.allocate(at + 16 * (from.numbers.size() + 2 * written_.size() + 1));
  for (uint64_t* place :
       {&m.heads, &m.links, &m.more, &m.levels, &m.uses, &m.chunks, &m.lists, &m.externals, &m.external_uses})
    *place += m.code->address;
  script.job.to = m.code;
  script.writes_at = m.code->address + at;
}

// Adds bytes to send to the device; returns how many.
size_t GpuTapes::Script::add_part(const void* from, size_t bytes) {
  if (bytes) job.pieces.push_back({from, bytes});
  return bytes;
}
size_t GpuTapes::Script::pad(size_t at) {  // to a multiple of 16
  static const std::byte zeros[16] = {};
  return add_part(zeros, round_up(at, kPieceAlignment) - at);
}
size_t GpuTapes::Script::add(const void* from, size_t bytes) {
  const size_t added = add_part(from, bytes);
  return added + pad(added);
}

// Adds the values that the host has written since the last run.
// Each write is two words, address and bits, so that one launch can write anywhere.
void GpuTapes::add_writes(Script& script) {
  for (value::Node* n : written_) {
    const auto home = memory_.find(home_of(n));
    if (home != memory_.end() && home->second.cells && !home->second.cells->gone) {
      Memory& m = home->second;
      const uint32_t slot = n->place.slot;
      auto put = [&](uint64_t address, double x, Mirror& mirror) {
        script.writes.push_back(address + slot * real_bytes_);
        script.writes.push_back(bits(x));
        if (mirror.readback) mirror.reset();  // copied before the write
        if (slot < mirror.values.size()) mirror.values[slot] = x;
      };
      if (n->has(value::kDataWritten)) put(m.data, n->data, m.data_mirror);
      if (n->has(value::kGradWritten)) put(m.grad, n->grad, m.grad_mirror);
    }
  }
  if (script.writes.empty()) return;
  const size_t count = script.writes.size() / 2;
  const size_t bytes = script.add(script.writes.data(), script.writes.size() * sizeof(uint64_t));
  if (!script.job.to) {
    script.job.to = device_.allocate(bytes);
    script.writes_at = script.job.to->address;
  }
  std::vector<uint64_t> w(kWords, 0);
  w[kMode] = kWrite, w[kLast] = count, w[kWrites] = script.writes_at;
  script.job.launches.push_back(
      {std::move(w), static_cast<uint32_t>(std::min<size_t>(count / threads_ + 1, kMostGroups))});
}

void GpuTapes::add_forward(Script& script, const Memory& m) {
  for (const Memory::Run& r : m.runs)
    script.job.launches.push_back({words(m, kForward, r.first, r.last), r.groups, r.groups > 1});
}

// Levels from the last to the first, each when all that reads it has paid; then the externals, whose homes are other
// tapes. A gradient is a sum over its uses in a fixed order, so its bits do not depend on the number of threads.
void GpuTapes::add_backward(Script& script, Memory& m, uint32_t root, std::vector<BufferRef>& scratch) {
  check(m);
  scratch.push_back(device_.allocate((2 * uint64_t(m.slots) + m.inside) * real_bytes_));
  auto launch = [&](uint32_t mode, uint32_t first, uint32_t last, uint32_t groups, bool few_threads) {
    std::vector<uint64_t> w = words(m, mode, first, last);
    w[kDebts] = scratch.back()->address;
    w[kRoot] = root;
    script.job.launches.push_back({std::move(w), groups, few_threads});
  };
  for (size_t i = m.runs.size(); i-- > 0;)
    launch(kBackward, m.runs[i].first, m.runs[i].last, m.runs[i].groups, m.runs[i].groups > 1);
  for (const Memory::Run& p : m.payments) {
    const uint32_t count = p.last - p.first;
    if (p.groups == 0)
      for (uint32_t i = 0; i < count; i += kMostGroups)
        launch(kLong, p.first + i, p.last, std::min(count - i, kMostGroups), false);
    else
      launch(kExternals, p.first, p.last, std::min(count / kFewThreads + 1, kMostGroups), true);
  }
  touch(script, m);
  for (uint32_t home : m.homes)
    if (const auto it = memory_.find(home); it != memory_.end()) touch(script, it->second);
}

// Notes that this script changes the tape's gradients.
void GpuTapes::touch(Script& script, Memory& m) {
  check(m);
  m.touched = true;
  if (std::find(script.mirrors.begin(), script.mirrors.end(), &m.grad_mirror) != script.mirrors.end()) return;
  m.grad_mirror.reset();
  if (m.slots <= kSmallGrad) want(script, m, m.grad_mirror, m.grad);
}

void GpuTapes::want(Script& script, const Memory& m, Mirror& mirror, uint64_t address) {
  const size_t bytes = m.slots * real_bytes_;
  script.job.wanted.push_back({m.cells, address - m.cells->address, bytes});
  script.mirrors.push_back(&mirror);
  mirror.at = script.wanted_bytes;
  script.wanted_bytes += bytes;
}

void GpuTapes::send(Script& script) {
  if (script.job.launches.empty()) return;
  static const uint32_t mistake = env("SPIROGRAD_TAPE") == "mistake";  // for the test that this machine computes
  script.job.kernel = real_bytes_ == 8 ? "tape" : "tape32";
  script.job.variants = {{threads_, mistake}, {kFewThreads, mistake}};
  const std::shared_ptr<Readback> readback = device_.run_job(script.job);
  for (Mirror* mirror : script.mirrors) mirror->readback = readback;
}

// Adds the pending tape to a script: its code, the writes, its computation.
void GpuTapes::close(Script& script, Tape& tape) {
  Memory& m = memory_[tape.number];
  add_code(script, tape, m);
  if (m.slots)
    script.job.launches.push_back(
        {words(m, kPrepare, 0, m.slots + m.inside), std::min((m.slots + m.inside) / threads_ + 1, kMostGroups)});
  add_writes(script);
  add_forward(script, m);
  if (m.slots <= kSmallData && !m.runs.empty()) want(script, m, m.data_mirror, m.data);
}

// Sends the pending tape (or only what was written) and `more`. If this fails, nothing was sent: the tape's values
// cannot be computed, and the writes go with the next script.
template <class F>
void GpuTapes::send_with(Tape* pending, F&& more) {
  Script script;
  try {
    if (pending)
      close(script, *pending);
    else
      add_writes(script);
    more(script);
    send(script);
  } catch (...) {
    if (pending) memory_[pending->number] = {};
    throw;
  }
  sent(pending);
}

void GpuTapes::start(Tape& tape) {
  send_with(&tape, [](Script&) {});
}

bool GpuTapes::backward(value::Node* root) {
  if (root->has(value::kInner))
    fail<ValueError>("backward", "a node inside a neuron on a GPU is no root", "start from the neuron's output");
  if (root->op == Op::leaf) {
    value::set_grad(root, 1, true);
    return true;
  }
  std::set<uint32_t> all = {home_of(root)}, open = all;
  while (!open.empty()) {
    const auto it = tapes_.find(*open.begin());
    open.erase(open.begin());
    if (it == tapes_.end()) continue;
    if (it->second->foreign) return false;
    for (uint32_t source : it->second->sources)
      if (all.insert(source).second) open.insert(source);
  }
  std::vector<BufferRef> scratch;  // may go back to the pool at the end, because the device works in order
  send_with(take_pending(), [&](Script& script) {
    begin_pass();
    for (auto number = all.rbegin(); number != all.rend(); ++number) {  // a tape owes only to older ones
      const auto m = memory_.find(*number);
      if (m == memory_.end()) continue;
      add_backward(script, m->second, *number == home_of(root) ? root->place.slot : value::kNone, scratch);
    }
  });
  root->grad = 1;
  root->set(value::kGradInt, true);
  return true;
}

void GpuTapes::backward_tape(uint32_t number, const value::Node* root, const std::vector<value::Node*>& owed) {
  Memory& m = memory_.at(number);
  Script script;
  for (const value::Node* n : owed) {
    script.writes.push_back(m.marks + n->place.slot * real_bytes_);
    script.writes.push_back(passes_);
  }
  add_writes(script);
  std::vector<BufferRef> scratch;
  add_backward(script, m, root && root->op != Op::move && root->op != Op::custom ? root->place.slot : value::kNone,
               scratch);
  send(script);
  sent(nullptr);
}

double GpuTapes::from_bytes(const std::byte* p) const {
  if (real_bytes_ == 8) {
    double x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
  float x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

// Other threads may run while this one waits. If they change the values, the copy is out of date and is made again.
// Small tapes have been sent back with their job; of large ones a block of 32,768 slots is read at a time.
double GpuTapes::look(const Memory& m, Mirror& mirror, uint64_t address, uint32_t slot) {
  constexpr uint32_t kBlock = 32768;
  const uint32_t all = m.slots + m.inside, first = slot / kBlock * kBlock;
  const uint32_t count = std::min(kBlock, all - std::min(all, first));
  const BufferRef cells = m.cells;
  if (slot >= all) check({});
  for (;;) {
    if (mirror.values.empty()) {
      mirror.values.resize(all);
      mirror.here.assign((all + kBlock - 1) / kBlock, false);
    }
    if ((mirror.arrived && slot < m.slots) || mirror.here[slot / kBlock]) return mirror.values[slot];
    const uint32_t version = mirror.version;
    if (const std::shared_ptr<Readback> readback = mirror.readback; readback && slot < m.slots) {
      const std::byte* raw;
      {
        const HostPaused unlocked;
        raw = readback->wait() + mirror.at;
      }
      if (version != mirror.version || !mirror.readback) continue;
      for (size_t i = 0; i < m.slots; ++i) mirror.values[i] = from_bytes(raw + i * real_bytes_);
      mirror.readback.reset();
      mirror.arrived = true;
    } else {
      std::vector<std::byte> raw(count * real_bytes_);
      {
        const HostPaused unlocked;
        device_.download(raw.data(), cells, address - cells->address + first * real_bytes_, raw.size());
      }
      if (version != mirror.version) continue;
      for (size_t i = 0; i < count; ++i) mirror.values[first + i] = from_bytes(raw.data() + i * real_bytes_);
      mirror.here[first / kBlock] = true;
    }
  }
}

double GpuTapes::read_data(value::Node* n) {
  if (is_source(n) || n->has(value::kDataWritten)) return n->data;
  before_look(n);
  Memory& m = memory_.at(home_of(n));
  return look(m, m.data_mirror, m.data, n->place.slot);
}

double GpuTapes::read_grad(value::Node* n) {
  const auto m = memory_.find(home_of(n));
  if (n->has(value::kGradWritten) || m == memory_.end() || !m->second.touched) return n->grad;
  const double grad = look(m->second, m->second.grad_mirror, m->second.grad, n->place.slot);
  if (grad != n->grad) n->set(value::kGradInt, false);  // no longer the integer that was written here
  return grad;
}

namespace value {
namespace {
std::unordered_map<int, TapeRunner*>& runners() {
  static auto* all = new std::unordered_map<int, TapeRunner*>;
  return *all;
}
}  // namespace

TapeRunner& tape_runner(int gpu) {
  TapeRunner*& one = runners()[gpu];
  if (!one) one = new GpuTapes(device_of({DeviceId::Kind::gpu, static_cast<uint8_t>(gpu)}));  // lives for ever
  return *one;
}
void install(TapeRunner& runner, int gpu) { runners()[gpu] = &runner; }
}  // namespace value

}  // namespace sg
