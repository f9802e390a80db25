// A step of training stores many values twice over: what a product reads, and what that was made of, which a gradient
// reads as well. GELU of a sum, a normalised row, a cast: whoever has the one can compute the other.
#include "schedule/again.hpp"

#include <algorithm>

#include "schedule/passes.hpp"

namespace sg {
namespace {

constexpr size_t kLeastBytes = 16 << 20;  // of a value: smaller ones are not worth a kernel that writes one tensor more
constexpr int32_t kLeastGap = 16;         // nodes between two readers

class Finder {
 public:
  Finder(const Log& log, const std::vector<bool>& held)
      : log_(log),
        held_(held),
        needed_(held),
        stored_(held),
        in_memory_(log.nodes.size(), false),
        again_(log.nodes.size(), false),
        latest_(log.nodes.size(), -1),
        readers_(log.nodes.size()) {
    for (int32_t i = count() - 1; i >= 0; --i)
      if (needed_[at(i)]) consider(i);
  }

  std::vector<Again> find() {
    std::vector<Again> found;
    for (int32_t i = 0; i < count(); ++i)
      if (const int32_t reader = reader_after_gap(i); reader >= 0 && is_cheap(i, reader)) {
        again_[at(i)] = true;
        found.push_back({i, reader});
      }
    std::ranges::stable_sort(found, {}, &Again::reader);
    return found;
  }

 private:
  static size_t at(int32_t i) { return static_cast<size_t>(i); }
  int32_t count() const { return static_cast<int32_t>(log_.nodes.size()); }
  const Node& node(int32_t i) const { return *log_.nodes[at(i)]; }
  static int32_t pending(const Operand& o) {
    return o.kind == Operand::Kind::node && o.node->pending() ? o.node->log_index : -1;
  }

  // Tells what a node reads that it does so; its own readers are known.
  void consider(int32_t i) {
    const Node& reader = node(i);
    stored_[at(i)] = stored_[at(i)] || reader.op->kind != Kind::pointwise || reader.op->stores;
    for (int k = 0; k < reader.inputs; ++k) {
      const int32_t from = pending(reader.in[k]);
      if (from < 0) continue;
      needed_[at(from)] = true;
      if (!reader.reads_value(k)) stored_[at(from)] = in_memory_[at(from)] = true;
      latest_[at(from)] = std::max(latest_[at(from)], read_until(i));
      readers_[at(from)].push_back(i);
    }
  }
  // The last kernel that reads what node i reads: its own, or the last that computes it.
  int32_t read_until(int32_t i) const { return stored_[at(i)] ? i : latest_[at(i)]; }

  // Of a value that products or kernels read from memory: its first reader behind the widest gap, or -1.
  int32_t reader_after_gap(int32_t i) const {
    const Node& value = node(i);
    if (!in_memory_[at(i)] || held_[at(i)] || value.op->kind != Kind::pointwise || value.bytes() < kLeastBytes)
      return -1;
    const std::vector<int32_t>& readers = readers_[at(i)];  // latest first
    int32_t gap = kLeastGap - 1, first = -1;
    for (size_t r = 0; r + 1 < readers.size(); ++r)
      if (readers[r] - readers[r + 1] > gap) gap = readers[r] - readers[r + 1], first = readers[r];
    const auto fits = [&](int32_t reader) {
      return reader < first ? read_until(reader) < first : node(reader).op->kind != Kind::effect;
    };
    return first >= 0 && std::ranges::all_of(readers, fits) ? first : -1;
  }

  // Whether what the value is made of is there when `reader` runs, or small, and the formula short.
  bool is_cheap(int32_t i, int32_t reader) const {
    int weight = 0, large = 0;
    std::vector<int32_t> open = {i};
    while (!open.empty() && weight <= kMostWeight) {
      const Node& value = node(open.back());
      open.pop_back();
      if (value.op->kind != Kind::pointwise || value.op->reports) return false;
      weight += schedule_detail::weight_of(value);
      for (int k = 0; k < value.inputs; ++k) {
        if (value.in[k].kind != Operand::Kind::node) continue;
        const int32_t from = pending(value.in[k]);
        if (from >= 0 && !is_there(from, i, reader)) {
          open.push_back(from);
        } else if (value.in[k].node->bytes() * kSmall > node(i).bytes()) {
          ++large;
        }
      }
    }
    return weight <= kMostWeight && large <= 1;
  }
  bool is_there(int32_t from, int32_t value, int32_t reader) const {
    const bool small = stored_[at(from)] && node(from).bytes() * kSmall <= node(value).bytes();
    return held_[at(from)] || small || (latest_[at(from)] >= reader && !again_[at(from)]);
  }

  const Log& log_;
  const std::vector<bool>& held_;
  std::vector<bool> needed_, stored_;
  std::vector<bool> in_memory_;  // is read by products or kernels
  std::vector<bool> again_;      // is computed again
  std::vector<int32_t> latest_;  // the last kernel that reads it
  std::vector<std::vector<int32_t>> readers_;
};

}  // namespace

std::vector<Again> computed_again(const Log& log, const std::vector<bool>& held) { return Finder(log, held).find(); }

}  // namespace sg
