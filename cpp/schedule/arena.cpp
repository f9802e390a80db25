// Where temporaries lie in a plan's arena. Knows steps and memories, not what is computed.
#include <algorithm>
#include <map>
#include <queue>

#include "base/round.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

constexpr int64_t kAlignment = 256;
constexpr size_t kMaxPlaced = 512;  // temporaries that are compared with each other

class Arena {
 public:
  Arena(Plan& plan, int64_t& work) : plan_(plan), work_(work) {}

  // Temporaries share memory when their lives do not overlap. The largest ones go first, each into the first gap that
  // fits; the rest take turns behind them.
  void run() {
    std::vector<Life> lives = temporaries();
    std::sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
    const size_t largest = std::min(lives.size(), kMaxPlaced);
    std::vector<Life> placed;  // sorted by their beginning
    placed.reserve(largest);
    for (size_t i = 0; i < largest; ++i) {
      Life& life = lives[i];
      work_ += static_cast<int64_t>(placed.size());
      for (const Life& o : placed) {
        if (life.begin + life.bytes <= o.begin) break;
        if (life.first <= o.last && o.first <= life.last) life.begin = std::max(life.begin, o.end());
      }
      const auto before = [](const Life& a, const Life& b) { return a.begin < b.begin; };
      placed.insert(std::upper_bound(placed.begin(), placed.end(), life, before), life);
    }
    for (const Life& life : placed) settle(life);
    lives.erase(lives.begin(), lives.begin() + static_cast<int64_t>(largest));
    take_turns(std::move(lives));
  }

 private:
  struct Life {
    int32_t memory;
    int first, last;  // steps
    int64_t bytes, begin = 0;
    int64_t end() const { return round_up(begin + bytes, kAlignment); }
  };
  std::vector<Life> temporaries() {
    std::vector<Life> all;
    std::vector<int32_t> at(plan_.memories.size(), -1);
    for (size_t s = 0; s < plan_.steps.size(); ++s)
      for (const Instance& instance : plan_.steps[s].instances)
        for (const auto* list : {&instance.reads, &instance.writes})
          for (int32_t m : *list) {
            const Memory& memory = plan_.memories[m];
            if (memory.kind != Memory::Kind::temp) continue;
            if (at[m] < 0) {
              at[m] = static_cast<int32_t>(all.size());
              all.push_back({.memory = m, .first = static_cast<int>(s), .last = 0, .bytes = memory.bytes});
            }
            all[at[m]].last = static_cast<int>(s);
          }
    std::sort(all.begin(), all.end(), [](const Life& a, const Life& b) { return a.memory < b.memory; });
    return all;
  }

  // Each takes the smallest range that an earlier one has left, or a new one.
  void take_turns(std::vector<Life> lives) {
    std::sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.first < b.first; });
    const auto later = [](const Life& a, const Life& b) { return a.last > b.last; };
    std::priority_queue<Life, std::vector<Life>, decltype(later)> living(later);
    std::multimap<int64_t, int64_t> left;  // size and beginning of a free range
    for (Life& life : lives) {
      for (; !living.empty() && living.top().last < life.first; living.pop())
        left.emplace(living.top().end() - living.top().begin, living.top().begin);
      const auto place = left.lower_bound(life.bytes);
      life.begin = place == left.end() ? plan_.arena_bytes : place->second;
      settle(life);
      if (place != left.end()) {
        life.bytes = place->first;  // takes all of it
        left.erase(place);
      }
      living.push(life);
    }
  }

  void settle(const Life& life) {
    plan_.memories[life.memory].offset = life.begin;
    plan_.arena_bytes = std::max(plan_.arena_bytes, life.end());
  }

  Plan& plan_;
  int64_t& work_;
};

}  // namespace

void pack_arena(Plan& plan, int64_t& work) { Arena(plan, work).run(); }

}  // namespace sg::schedule_detail
