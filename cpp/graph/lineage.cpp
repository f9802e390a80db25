// The lineages of integer values, and the table of what is kept by them.
#include "graph/lineage.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "graph/log.hpp"
#include "graph/update.hpp"
#include "graph/watcher.hpp"

namespace sg {
namespace {

constexpr int64_t kMostEntries = 128;             // of nodes, and of numbers
constexpr size_t kMostBytes = size_t{256} << 20;  // of all nodes

// 128 bits that are taken for what they stand for: two values meet by chance once in 2^64 of them.
class Words {
 public:
  void add(uint64_t word) {
    lineage_.low = hash_mix(lineage_.low, word);
    lineage_.high = hash_add(lineage_.high, word ^ lineage_.low);
  }
  void add(const Dims& dims) {
    add(static_cast<uint64_t>(dims.rank));
    for (int64_t size : dims) add(static_cast<uint64_t>(size));
  }
  void add(const Lineage& from) {
    add(from.low);
    add(from.high);
    if (!lineage_.root) lineage_.root = from.root;
  }
  Lineage lineage() && {
    lineage_.high = hash_mix(lineage_.high) | 1;
    return std::move(lineage_);
  }

 private:
  Lineage lineage_{.low = 1, .high = 1, .root = {}};
};

// A ready value without a root stands for itself: nothing says how it was made, or it was memory of any contents. While a
// step is recorded, every ready value does, in one log: a replay may find others in their places.
Lineage lineage_of(Node& value) {
  if (value.state != Node::State::ready || (value.lineage.root && !watcher)) return value.lineage;
  Words words;
  if (watcher) {
    words.add(log_of(value.device).epoch);
    words.add(reinterpret_cast<uint64_t>(&value));
    return std::move(words).lineage();
  }
  static uint64_t last = 0;  // engine lock
  words.add(++last);
  value.lineage = std::move(words).lineage();
  value.lineage.root = Ref<Root>(new (std::nothrow) Root);  // without one, nothing is kept
  return value.lineage;
}

bool has_lineage(const Node& node) {
  if (Aside::now || !node.device.is_gpu() || is_float(node.dtype) || is_float(node.compute)) return false;
  switch (node.op->kind) {
    case Kind::kernel:
      return node.op->repeats;
    case Kind::effect:
      // A write to a ready value is the end of what is known of that.
      return node.inputs >= 2 && node.in[1].node->pending() && (node.inputs == 2 || node.op->repeats);
    case Kind::pointwise:
    case Kind::reduce:
    case Kind::indexed:
    case Kind::memory:
      return true;
    default:
      return false;
  }
}

struct Entry {
  Lineage of;  // without the root, which would live as long as the entry
  const Root* root;
  uint64_t used;
  Held node;
  int64_t number;
};

// Roots end in any thread, so the table has a lock of its own. Nodes are let go without it: with a node, a root may end.
class Table {
 public:
  template <class Result>
  Result find(const Lineage& lineage, Result (*result)(const Entry&)) {
    const std::lock_guard lock(mutex_);
    for (Entry& e : entries_)
      if (e.of == lineage) {
        e.used = ++now_;
        return result(e);
      }
    return {};
  }

  void insert(const Lineage& lineage, Held node, int64_t number) {
    std::vector<Entry> let_go;
    const std::lock_guard lock(mutex_);
    take_out(let_go, [&](const Entry& e) { return e.of == lineage; });
    bytes_ += bytes_of(node);
    entries_.push_back({{lineage.low, lineage.high, {}}, lineage.root.get(), ++now_, std::move(node), number});
    const bool is_node = bytes_of(entries_.back().node) > 0;
    const auto is_like_it = [&](const Entry& e) { return (bytes_of(e.node) > 0) == is_node; };
    while (std::ranges::count_if(entries_, is_like_it) > kMostEntries || bytes_ > kMostBytes) {
      uint64_t oldest = now_;
      for (const Entry& e : entries_)
        if (is_like_it(e)) oldest = std::min(oldest, e.used);
      take_out(let_go, [&](const Entry& e) { return e.used == oldest; });
    }
  }

  template <class Where>
  void drop(const Where& where) {
    std::vector<Entry> let_go;
    const std::lock_guard lock(mutex_);
    take_out(let_go, where);
  }

 private:
  static size_t bytes_of(const Held& node) { return node.get() ? node.get()->bytes() : 0; }
  // `let_go` is destroyed after the caller's lock, which is declared behind it.
  template <class Where>
  void take_out(std::vector<Entry>& let_go, const Where& where) {
    for (size_t i = entries_.size(); i-- > 0;) {
      if (!where(entries_[i])) continue;
      bytes_ -= bytes_of(entries_[i].node);
      let_go.push_back(std::move(entries_[i]));
      if (i + 1 < entries_.size()) entries_[i] = std::move(entries_.back());
      entries_.pop_back();
    }
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;
  size_t bytes_ = 0;
  uint64_t now_ = 0;
};
Table& table() {  // values may end after static objects
  static auto* all = new Table;
  return *all;
}

// What a step that is recorded has found in its log, which holds these nodes: in it alone, and for it alone.
struct Recorded {
  uint64_t epoch = 0;
  std::vector<Node*> nodes;
  static Recorded& in(const Log& log) {
    static thread_local Recorded own;
    if (own.epoch != log.epoch) own = {log.epoch, {}};
    return own;
  }
};

}  // namespace

void Root::destroy(Root* root) {
  table().drop([root](const Entry& e) { return e.root == root; });
  delete root;
}

void find_lineage(Node& node) {
  if (node.lineage || !has_lineage(node)) return;
  Words words;
  // Checks of an index differ by name alone.
  const bool is_check = node.op->reports && node.op->kind == Kind::pointwise;
  words.add(is_check ? reinterpret_cast<uint64_t>(node.op->emit) : reinterpret_cast<uint64_t>(node.op));
  words.add(uint64_t(node.dtype) | uint64_t(node.compute) << 8 | uint64_t(node.inputs) << 16 |
            uint64_t(node.reduced) << 32);
  words.add(static_cast<uint64_t>(node.numel));
  words.add(node.domain);
  if (node.op->kind == Kind::kernel)
    for (int64_t word : node.parameters.words) words.add(static_cast<uint64_t>(word));
  for (int k = 0; k < node.inputs; ++k) {
    const Operand& operand = node.in[k];
    words.add(uint64_t(operand.kind) | uint64_t(operand.dtype) << 8);
    words.add(static_cast<uint64_t>(operand.kind == Operand::Kind::number ? operand.number.i : operand.offset));
    words.add(uint64_t(operand.slot.number) | uint64_t(operand.slot.complements) << 32);  // another number in a replay
    words.add(operand.strides);
    if (operand.kind != Operand::Kind::node) continue;
    const Lineage from = is_float(operand.dtype) ? Lineage() : lineage_of(*operand.node);
    if (!from) return;
    words.add(from);
  }
  node.lineage = std::move(words).lineage();
}

NodeRef kept_node(const Node& node) {
  if (!node.lineage) return {};
  if (watcher) {
    for (Node* known : Recorded::in(log_of(node.device)).nodes)
      if (known->lineage == node.lineage) return known;
    return {};
  }
  NodeRef known = table().find<NodeRef>(node.lineage, [](const Entry& e) { return NodeRef(e.node.get()); });
  if (known && has_failed(*known)) {
    table().drop([&](const Entry& e) { return e.of == node.lineage; });
    return {};
  }
  return known;
}

void keep_node(const NodeRef& node) {
  if (watcher && node->lineage && node->pending()) Recorded::in(*node->log).nodes.push_back(node.get());
  if (watcher || !node->lineage.root || node->bytes() > kMostBytes) return;
  table().insert(node->lineage, Held(node), 0);
  node->lineage.root = {};  // what is kept does not keep it
}

Lineage lineage_of_number(const Tensor& x) {
  Node& value = *x->storage->node.get();
  if (watcher || !x.device().is_gpu() || is_float(x.dtype()) || value.state == Node::State::failed) return {};
  const Lineage from = lineage_of(value);
  if (!from.root) return {};
  Words words;
  words.add(from);
  words.add(static_cast<uint64_t>(x->offset));
  return std::move(words).lineage();
}

std::optional<int64_t> kept_number(const Lineage& lineage) {
  if (!lineage) return {};
  return table().find<std::optional<int64_t>>(lineage, [](const Entry& e) { return std::optional(e.number); });
}

void keep_number(const Lineage& lineage, int64_t number) {
  if (lineage) table().insert(lineage, {}, number);
}

void drop_kept() {
  table().drop([](const Entry&) { return true; });
}

}  // namespace sg
