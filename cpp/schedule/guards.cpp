// Answers comparisons of sizes, remembers those that a plan depends on, and checks them against another log of the same
// structure. Knows nothing of why a pass asks.
#include "schedule/guards.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/log.hpp"

namespace sg::schedule_detail {
namespace {

constexpr int64_t kSlack = 4;

int64_t elements(const Log& log, Size size) {
  const Dims& domain = log.nodes[static_cast<size_t>(size.node)]->domain;
  int64_t n = 1;
  for (int d = 0; d < domain.rank; ++d)
    if (size.mask >> d & 1) n *= domain[d];
  return n;
}

// Whether two views of the same shape and strides certainly have no element in common. Tried for each split into inner
// and outer dimensions: the outer ones move by multiples of `apart`, the gcd of their strides, and the inner ones reach
// less far than the distance leaves modulo `apart`, from either side.
bool are_disjoint(const Dims& domain, const Dims& strides, int64_t distance) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, distance from the first to the last element
  for (int d = 0; d < domain.rank; ++d)
    if (domain[d] > 1) dims.emplace_back(std::abs(strides[d]), std::abs(strides[d]) * (domain[d] - 1));
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (size_t inner = 0; inner <= dims.size(); ++inner) {
    int64_t apart = 0;
    for (size_t d = inner; d < dims.size(); ++d) apart = std::gcd(apart, dims[d].first);
    const int64_t off = apart ? std::abs(distance) % apart : std::abs(distance);
    if (off > reach && (!apart || apart - off > reach)) return true;
    if (inner < dims.size()) reach += dims[inner].second;
  }
  return false;
}

bool answer(const Guard& guard, const Log& log) {
  const Node& a = *log.nodes[static_cast<size_t>(guard.a.node)];
  const Node& b = *log.nodes[static_cast<size_t>(std::max(guard.b.node, 0))];
  switch (guard.asked) {
    case Guard::Asked::exceeds:
      return elements(log, guard.a) > guard.limit;
    case Guard::Asked::repeats:
      return elements(log, guard.a) * guard.limit <= elements(log, guard.b);
    case Guard::Asked::same_size:
      return elements(log, guard.a) == elements(log, guard.b);
    case Guard::Asked::same_domain:
      return a.domain == b.domain;
    case Guard::Asked::apart:
      return are_disjoint(a.domain, a.in[1].strides, a.in[1].offset - b.in[1].offset);
  }
  return false;
}

// The same, but a soft guard also holds near its limit.
bool nearly_holds(Guard guard, const Log& log) {
  if (answer(guard, log) == guard.answer) return true;
  if (!guard.soft) return false;
  if (guard.asked == Guard::Asked::same_size || guard.asked == Guard::Asked::same_domain) return true;
  const bool more = guard.answer == (guard.asked == Guard::Asked::exceeds);
  guard.limit = more ? guard.limit / kSlack : guard.limit * kSlack;
  return answer(guard, log) == guard.answer;
}

}  // namespace

void Guards::note(const Guard& guard) {
  if (noting_ && (asked_.empty() || guard != asked_.back())) asked_.push_back(guard);
}

bool Guards::ask(Guard guard) {
  guard.answer = answer(guard, log_);
  note(guard);
  return guard.answer;
}

Classes* Guards::known(const Guard& guard) {
  if (guard.asked == Guard::Asked::same_domain) return &one_domain_;
  return guard.a.mask == kAll && guard.b.mask == kAll ? &one_size_ : nullptr;
}

bool Guards::ask_equal(const Guard& asked) {
  static const bool checking = env_flag("SPIROGRAD_BOUNDS");
  Classes* equal = known(asked);
  if (equal && equal->are_one(asked.a.node, asked.b.node)) return true;
  Guard guard = asked;
  guard.answer = answer(guard, log_);
  guard.soft = !guard.answer;
  if (!guard.answer) {
    if (checking) note(guard);
  } else if (trying_) {
    maybe_.push_back(guard);
  } else {
    note(guard);
    if (equal) equal->join(guard.a.node, guard.b.node);
  }
  return guard.answer;
}

void Guards::decide(bool merged) {
  for (const Guard& guard : maybe_) {
    if (!merged) break;
    note(guard);
    if (Classes* equal = known(guard)) equal->join(guard.a.node, guard.b.node);
  }
  maybe_.clear();
}

std::vector<Guard> Guards::take() {
  stop();
  std::sort(asked_.begin(), asked_.end());
  asked_.erase(std::unique(asked_.begin(), asked_.end()), asked_.end());
  return std::exchange(asked_, {});
}

const Guard* first_broken(const std::vector<Guard>& guards, const Log& log, bool nearly) {
  for (const Guard& g : guards)
    if (nearly ? !nearly_holds(g, log) : answer(g, log) != g.answer) return &g;
  return nullptr;
}

std::string describe(const Guard& g, const Log& log) {
  const auto name = [&](Size size) {
    const Node& node = *log.nodes[static_cast<size_t>(size.node)];
    return std::string(node.op->name) + " " + node.domain.str();
  };
  const std::string a = name(g.a), limit = std::to_string(g.limit);
  switch (g.asked) {
    case Guard::Asked::exceeds:
      return a + (g.answer ? " no longer exceeds " : " exceeds ") + limit + " elements now";
    case Guard::Asked::repeats:
      return name(g.b) + (g.answer ? " no longer has " : " has ") + limit + " elements for one of " + a;
    case Guard::Asked::same_size:
    case Guard::Asked::same_domain:
      return a + " and " + name(g.b) + (g.answer ? " are no longer of one size" : " are of one size now");
    case Guard::Asked::apart:
      return a + (g.answer ? " and the write before it share a place now" : " is apart from the write before it now");
  }
  return "";
}

}  // namespace sg::schedule_detail
