// Takes a log apart and refills it part by part, so that each is an ordinary log to whoever runs it, and holds what later
// parts read. Who decides where a log is cut: schedule/loops.cpp, schedule/cuts.cpp, engine/stream.cpp.
#include "engine/parts.hpp"

#include <algorithm>
#include <utility>

#include "engine/flush.hpp"
#include "engine/rescue.hpp"
#include "graph/tensor.hpp"

namespace sg {
namespace {

// Nodes keep their place in nodes_ until their part has run, or until they go back into the log. What may find no memory
// comes before they are taken.
class Parts {
 public:
  Parts(Log& log, const Division& division) : log_(log), division_(division), nodes_of_(at(division.parts)) {
    for (size_t i = 0; i < log.nodes.size(); ++i)
      if (const int32_t part = division.part[i]; part >= 0 && part < division.parts)
        nodes_of_[at(part)].push_back(static_cast<int32_t>(i));
    hold_across();
    find_places();
    nodes_ = std::move(log.nodes);
    assignments_ = std::move(log.assignments);
    reporters_ = std::move(log.reporters);
    whole_from_ = log.whole_from;
    most_ = log.most;
    goes_on_ = log.goes_on;
    hints_ = std::move(log.hints);
    log.clear();
    drop();
  }

  void run(RunLog run) {
    for (int32_t part = 0; part < division_.parts; ++part) {
      across_[at(part)].clear();  // the part's operands hold them now; it may write over them
      begun_ = part;
      try {
        take(part);
        if (!log_.nodes.empty()) run(log_);
      } catch (...) {
        take_assignments(part);
        put_back();
        throw;
      }
      end(part);
    }
    put_back();
  }

 private:
  static size_t at(int32_t i) { return static_cast<size_t>(i); }
  bool is_again(size_t i) const { return !division_.again.empty() && division_.again[i]; }

  // Holds values that a later part reads until the last part that reads them begins, or goes back into the log.
  void hold_across() {
    std::vector<int32_t> last(log_.nodes.size(), -1), last_of_leaf(log_.leaves.size(), -1);
    const auto read = [&](const Node& node, int32_t part) {
      for (int k = 0; k < node.inputs; ++k)
        if (const Node* from = node.in[k].node.get()) {
          int32_t& known = from->pending() ? last[at(from->log_index)] : last_of_leaf[at(node.in[k].leaf)];
          known = std::max(known, part);
        }
    };
    for (size_t i = 0; i < log_.nodes.size(); ++i)
      read(*log_.nodes[i], is_again(i) ? division_.parts : division_.part[i]);
    across_.resize(at(division_.parts) + 1);
    for (size_t i = 0; i < log_.nodes.size(); ++i)
      if (division_.part[i] >= 0 && last[i] > division_.part[i] && !is_again(i))
        across_[at(last[i])].emplace_back(log_.nodes[i]);
    for (size_t i = 0; i < division_.kept.size(); ++i)
      if (division_.kept[i]) across_.back().emplace_back(log_.nodes[i]);
    for (size_t leaf = 0; leaf < log_.leaves.size(); ++leaf)
      if (last_of_leaf[leaf] > 0) across_[at(last_of_leaf[leaf])].emplace_back(log_.leaves[leaf]);
  }

  void find_places() {
    reporter_of_.assign(log_.nodes.size(), -1);
    assignment_of_.assign(log_.nodes.size(), -1);
    int32_t reporter = 0;
    for (size_t i = 0; i < log_.nodes.size(); ++i)
      if (log_.nodes[i]->op->reports) reporter_of_[i] = reporter++;
    for (size_t a = 0; a < log_.assignments.size(); ++a)
      assignment_of_[at(log_.assignments[a].node)] = static_cast<int32_t>(a);
  }

  void drop() {
    for (size_t i = nodes_.size(); i-- > 0;)
      if (division_.part[i] == Division::kDropped) {
        nodes_[i]->drop_inputs();
        nodes_[i] = {};
        ++counters().nodes;
      }
  }

  void take(int32_t part) {
    for (int32_t i : nodes_of_[at(part)]) {
      nodes_[at(i)]->again = is_again(at(i));
      append(at(i));
    }
  }

  void append(size_t i) {
    if (i >= whole_from_ && log_.whole_from == SIZE_MAX) begin_whole_here();
    const NodeRef& node = nodes_[i];
    log_.make_room(*node);
    if (const int32_t a = assignment_of_[i]; a >= 0) {
      log_.assignments.push_back(std::move(assignments_[at(a)]));
      log_.assignments.back().node = static_cast<int32_t>(log_.nodes.size());
    }
    if (const int32_t r = reporter_of_[i]; r >= 0) log_.reporters.push_back(reporters_[at(r)]);
    log_.append_in_room(node);
  }

  void begin_whole_here() {
    log_.whole_from = log_.nodes.size();
    log_.whole_writes = log_.writes();
  }

  // Back from the log whose run failed.
  void take_assignments(int32_t part) {
    for (Assignment& a : log_.assignments)
      assignments_[at(assignment_of_[at(nodes_of_[at(part)][at(a.node)])])] = std::move(a);
  }

  void end(int32_t part) {
    for (int32_t i : nodes_of_[at(part)])
      if (!is_again(at(i)) || !nodes_[at(i)]->pending()) nodes_[at(i)] = {};
  }

  // What has not run.
  void put_back() {
    try {
      log_.clear();
      std::vector<size_t> places = {0};  // where each is now; 0: all before it has been computed
      for (size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i]) {
          nodes_[i]->late |= std::exchange(nodes_[i]->again, false);
          if (nodes_[i]->pending()) append(i);
        }
        const bool is_new = nodes_[i] && nodes_[i]->pending() && !nodes_[i]->late;
        places.push_back(is_new || places.back() > 0 ? log_.nodes.size() : 0);
      }
      if (log_.nodes.empty()) return;
      put_back_hints(places);
      if (whole_from_ != SIZE_MAX && log_.whole_from == SIZE_MAX) begin_whole_here();
      log_.most = most_;
      log_.goes_on = begun_ == 0 && goes_on_;
    } catch (...) {  // there is no memory even for that
      const std::vector<Assignment> begun = std::move(log_.assignments);
      log_.clear();
      std::erase_if(nodes_, [](const NodeRef& node) { return !node; });
      std::erase_if(assignments_, [](const Assignment& a) { return !a.storage; });
      fail_pending(nodes_, assignments_, std::current_exception());
      fail_pending({}, begun, std::current_exception());  // the earlier writes
      for (const NodeRef& node : nodes_) node->drop_inputs();
      throw;
    }
  }

  void put_back_hints(const std::vector<size_t>& places) {
    log_.hints.model_end = places[hints_.model_end];
    for (size_t wait : hints_.waits) log_.hints.waits.push_back(places[wait]);
    for (int32_t i : hints_.gradients)
      if (const NodeRef& node = nodes_[at(i)]; node && node->pending()) log_.hints.gradients.push_back(node->log_index);
  }

  Log& log_;
  const Division& division_;
  std::vector<std::vector<int32_t>> nodes_of_;  // each part
  std::vector<std::vector<Held>> across_;       // values of earlier parts, by the last part that reads them
  std::vector<NodeRef> nodes_;
  std::vector<Assignment> assignments_;
  std::vector<Reporter> reporters_;
  std::vector<int32_t> reporter_of_, assignment_of_;  // each node; -1: none
  Hints hints_;
  size_t whole_from_ = SIZE_MAX, most_ = kMaxLogNodes;
  bool goes_on_ = false;
  int32_t begun_ = 0;
};

}  // namespace

void run_parts(Log& log, const Division& division, RunLog run) {
  const Running running(log);
  Parts(log, division).run(run);
}

}  // namespace sg
