// Finds where a log repeats itself and chooses where to cut it (docs/decisions/023-loops-run-in-pieces.md). Compares
// operations, types and kinds of operands only: sizes, offsets and numbers must not move a cut.
#include "schedule/loops.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <iterator>

#include "base/hash.hpp"

namespace sg {
namespace {

// The fewest rounds of a loop. On a GPU each kernel costs time, so short loops are better fused, although that makes
// the first run slower.
constexpr int32_t kRounds = 3, kRoundsGpu = 16, kNodes = 8;
constexpr int32_t kOneIn = 3;           // one reading in three must read what the previous round read
constexpr int32_t kFewer = 2;           // by how many rounds a backward pass may be shorter or longer
constexpr int32_t kPieces[] = {16, 1};  // rounds of a piece, the largest first
constexpr int32_t kMaxRound = 512;      // nodes
constexpr int32_t kWindow = 4;          // nodes that are hashed together
constexpr size_t kMaxPeriods = 16;      // tried, the most frequent ones

struct Loop {
  int32_t begin, period, rounds;  // followed by at least part of one more round
  bool over_time = false;         // stores something in any case, and uses the same weights in each round
  int32_t end() const { return begin + period * rounds; }
  int32_t worth() const { return period * (rounds - 2); }
};

// The facts of a node that are the same in each round. Which nodes it reads is not one of them.
uint64_t word_of(const Node& node) {
  uint64_t word = hash_add(reinterpret_cast<uint64_t>(node.op),
                           uint64_t(node.dtype) | uint64_t(node.compute) << 4 | uint64_t(node.inputs) << 8 |
                               uint64_t(node.reduced) << 16 | uint64_t(node.domain.rank) << 32);
  for (int k = 0; k < node.inputs; ++k) {
    const Operand& o = node.in[k];
    const bool pending = o.kind == Operand::Kind::node && o.node->pending();
    word = hash_add(word, uint64_t(o.kind) | uint64_t(o.dtype) << 4 | uint64_t(pending) << 8);
  }
  return hash_mix(word);
}

class Loops {
 public:
  explicit Loops(const Log& log) : log_(log), least_(log.device.is_gpu() ? kRoundsGpu : kRounds) {
    int32_t starts = 0;
    words_.reserve(log.nodes.size());
    first_start_.reserve(log.nodes.size());
    for (const NodeRef& node : log.nodes) {
      words_.push_back(word_of(*node));
      first_start_.push_back(starts);
      for (int k = 0; k < node->inputs; ++k) starts += node->in[k].kind == Operand::Kind::node;
    }
  }

  std::vector<Loop> find() {
    std::vector<Loop> loops = longest();
    const auto follows = [&](const Loop& a) {
      return std::ranges::any_of(loops, [&](const Loop& b) {
        return b.over_time && (std::abs(a.rounds - b.rounds) <= kFewer || (a.rounds > b.rounds && is_cut_off(b)));
      });
    };
    std::vector<Loop> found;
    std::ranges::copy_if(loops, std::back_inserter(found), follows);
    std::ranges::sort(found, {}, &Loop::begin);
    return found;
  }

 private:
  // Longest first, since an inner loop is part of the outer one's round.
  std::vector<Loop> longest() const {
    std::vector<Loop> all, loops;
    for (int32_t period : periods()) find(period, all);
    std::ranges::stable_sort(all, std::greater<>(), &Loop::worth);
    for (const Loop& loop : all)
      if (!overlaps(loop, loops)) loops.push_back(loop);
    return loops;
  }

  int32_t count() const { return static_cast<int32_t>(words_.size()); }

  // Whether the loop began in the previous log or continues in the next one, because a log has a limited size.
  bool is_cut_off(const Loop& b) const {
    const bool is_full = log_.nodes.size() >= kMaxLogNodes && log_.whole_from == SIZE_MAX;
    return (log_.goes_on && b.begin <= kFewer * b.period) || (is_full && count() - b.end() <= kFewer * b.period);
  }

  // The most frequent distances between equal windows, in increasing order.
  std::vector<int32_t> periods() const {
    struct Last {
      uint64_t window;
      int32_t at;
    };
    std::vector<Last> last(std::bit_ceil(2 * words_.size() + 1), {0, -1});  // open addressing: at its hash or after it
    std::vector<int32_t> found(kMaxRound + 1, 0);                           // how often each distance occurs
    for (int32_t i = 0; i + kWindow <= count(); ++i) {
      uint64_t window = 0;
      for (int32_t k = 0; k < kWindow; ++k) window = hash_add(window, words_[static_cast<size_t>(i + k)]);
      size_t at = hash_mix(window) & (last.size() - 1);
      while (last[at].at >= 0 && last[at].window != window) at = (at + 1) & (last.size() - 1);
      if (const int32_t distance = i - last[at].at; last[at].at >= 0 && distance <= kMaxRound)
        ++found[static_cast<size_t>(distance)];
      last[at] = {window, i};
    }
    std::vector<std::pair<int32_t, int32_t>> often;
    for (int32_t distance = 1; distance <= kMaxRound; ++distance)
      if (const int32_t times = found[static_cast<size_t>(distance)]; times >= least_)
        often.emplace_back(-times, distance);
    std::sort(often.begin(), often.end());
    often.resize(std::min(often.size(), kMaxPeriods));
    std::vector<int32_t> periods;
    for (const auto& [times, distance] : often)
      if (distance <= count() / least_) periods.push_back(distance);  // the log has room for so many rounds
    std::sort(periods.begin(), periods.end());
    return periods;
  }

  void find(int32_t period, std::vector<Loop>& loops) const {
    for (int32_t begin = 0, i = 0; i <= count() - period; ++i) {
      if (i < count() - period && same(i, i + period)) continue;
      const int32_t rounds = (i - begin) / period + 1;
      if (rounds >= least_ && rounds * period >= kNodes)
        if (const Readings r = readings(begin, i, period); kOneIn * r.shared >= r.count)
          loops.push_back(turned({begin, period, rounds, r.shared > 0 && stores(begin, period)}));
      begin = i + 1;
    }
  }

  // Lets the round begin where the fewest formulas are cut; any of its nodes could be the first.
  Loop turned(Loop loop) const {
    std::vector<int32_t> torn(static_cast<size_t>(loop.period), 0);  // formulas that a cut before each node cuts
    for (int32_t i = loop.begin + loop.period; i < loop.begin + 2 * loop.period; ++i) {
      const Node& node = *log_.nodes[static_cast<size_t>(i)];
      for (int k = 0; k < node.inputs; ++k) {
        if (node.in[k].kind != Operand::Kind::node || !node.in[k].node->pending() || !node.reads_value(k)) continue;
        const int32_t from = node.in[k].node->log_index;
        if (i - from > loop.period) continue;
        for (int32_t at = from + 1; at <= i; ++at) ++torn[static_cast<size_t>((at - loop.begin) % loop.period)];
      }
    }
    loop.begin += static_cast<int32_t>(std::ranges::min_element(torn) - torn.begin());
    --loop.rounds;  // the last one ends later
    return loop;
  }

  bool same(int32_t a, int32_t b) const { return words_[static_cast<size_t>(a)] == words_[static_cast<size_t>(b)]; }

  static bool overlaps(const Loop& a, const std::vector<Loop>& loops) {
    return std::any_of(loops.begin(), loops.end(),
                       [&](const Loop& b) { return a.begin < b.end() && b.begin < a.end(); });
  }

  bool stores(int32_t begin, int32_t period) const {
    const auto first = log_.nodes.begin() + begin;
    return std::any_of(first, first + period,
                       [](const NodeRef& n) { return n->op->kind != Kind::pointwise && n->op->kind != Kind::indexed; });
  }

  // How many readings of memory a round has, and how many of these the previous round has too. Rounds of a loop over
  // time share weights; layers of a model have their own. Weights are what products read or, without products, any
  // memory. An element of what the previous round wrote counts as shared.
  struct Readings {
    int32_t count = 0, shared = 0;
  };
  Readings readings(int32_t begin, int32_t end, int32_t period) const {
    Readings products, others;
    for (int32_t i = begin; i < end; ++i) {
      const Node &a = *log_.nodes[static_cast<size_t>(i)], &b = *log_.nodes[static_cast<size_t>(i + period)];
      int32_t next = first_start_[static_cast<size_t>(i)];
      Readings& readings = a.op->kind == Kind::contraction || a.op->kind == Kind::kernel ? products : others;
      for (int k = 0; k < a.inputs; ++k) {
        if (a.in[k].kind != Operand::Kind::node) continue;
        const int32_t start = log_.starts[static_cast<size_t>(next++)];
        if (a.in[k].node->pending() && start < 0) continue;
        ++readings.count;
        readings.shared += a.in[k].node->pending() || a.in[k].node == b.in[k].node;
      }
    }
    return products.count ? products : others;
  }

  const Log& log_;
  const int32_t least_;  // rounds
  std::vector<uint64_t> words_;
  std::vector<int32_t> first_start_;  // index of each node's first operand in the log's starts
};

// Leaves the first round to the piece before and the last one to the piece after, because the first reads other values,
// and other nodes may read values of the last.
void cut(const Loop& loop, std::vector<int32_t>& cuts) {
  int32_t at = loop.begin + loop.period, left = loop.rounds - 1;
  for (int32_t rounds : kPieces)
    for (; left >= rounds; left -= rounds) {
      cuts.push_back(at);
      at += rounds * loop.period;
    }
  cuts.push_back(at);
}

}  // namespace

std::vector<int32_t> loop_cuts(const Log& log) {
  std::vector<int32_t> cuts;
  for (const Loop& loop : Loops(log).find()) cut(loop, cuts);
  std::erase_if(cuts, [&](int32_t cut) {
    return static_cast<size_t>(cut) > log.whole_from || log.nodes[static_cast<size_t>(cut)]->op->follows;
  });
  return cuts;
}

size_t end_of_round(const Log& log) {
  const size_t size = log.nodes.size();
  const std::vector<Loop> loops = Loops(log).find();
  if (loops.empty()) return size;
  const auto period = static_cast<size_t>(loops.back().period);
  const size_t behind = size - static_cast<size_t>(loops.back().end());
  return behind < 2 * period ? size + (period - behind % period) % period : size;
}

}  // namespace sg
