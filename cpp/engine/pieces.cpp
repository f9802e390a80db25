// Runs the pieces of a log in order and holds what a later piece reads. schedule/loops.cpp decides where the cuts are.
#include "engine/pieces.hpp"

#include <algorithm>
#include <utility>

#include "engine/flush.hpp"
#include "graph/tensor.hpp"
#include "schedule/schedule.hpp"

namespace sg {
namespace {

// Takes the log apart and refills it piece by piece, so that each piece is an ordinary log to whoever runs it. Nodes
// keep their place in nodes_ until their piece has run: if a piece fails, the log gets back that piece and all later
// ones.
class Pieces {
 public:
  Pieces(Log& log, const std::vector<int32_t>& cuts, const std::vector<bool>& held)
      : log_(log), needed_(needed(log, held)), ends_(cuts.begin(), cuts.end()) {
    ends_.push_back(log.nodes.size());
    hold_across();
    nodes_ = std::move(log.nodes);
    assignments_ = std::move(log.assignments);
    reporters_ = std::move(log.reporters);
    whole_from_ = log.whole_from;
    goes_on_ = log.goes_on;
    log.clear();
  }

  void run(RunLog run) {
    size_t begin = 0;
    try {
      for (size_t piece = 0; piece < ends_.size(); begin = ends_[piece++]) {
        across_[piece].clear();  // the piece's operands hold them now; it may write over them
        take(begin, ends_[piece]);
        if (!log_.nodes.empty()) run(log_);
        end(begin, ends_[piece]);
      }
    } catch (...) {
      try {
        put_back(begin);
      } catch (...) {  // there is no memory even for that
        log_.clear();
        nodes_.erase(nodes_.begin(), nodes_.begin() + static_cast<int64_t>(begin));
        fail_pending(nodes_, assignments_, std::current_exception());
        for (const NodeRef& node : nodes_) node->drop_inputs();
      }
      throw;
    }
  }

 private:
  // Holds values that a later piece reads until the last piece that reads them begins.
  void hold_across() {
    std::vector<size_t> last(log_.nodes.size()), last_of_leaf(log_.leaves.size());
    each([&](size_t i, size_t piece) {
      last[i] = piece;
      const Node& node = *log_.nodes[i];
      for (int k = 0; needed_[i] && k < node.inputs; ++k)
        if (const Node* from = node.in[k].node.get())
          (from->pending() ? last : last_of_leaf)[static_cast<size_t>(from->log_index)] = piece;
    });
    across_.resize(ends_.size());
    each([&](size_t i, size_t piece) {
      if (last[i] > piece) across_[last[i]].emplace_back(log_.nodes[i]);
    });
    for (size_t leaf = 0; leaf < last_of_leaf.size(); ++leaf)
      if (last_of_leaf[leaf] > 0) across_[last_of_leaf[leaf]].emplace_back(log_.leaves[leaf]);
  }
  template <class F>
  void each(F f) const {
    size_t piece = 0;
    for (size_t i = 0; i < log_.nodes.size(); ++i) {
      while (i >= ends_[piece]) ++piece;
      f(i, piece);
    }
  }

  // Reporters belong to nodes in order, so they are counted also for nodes that nothing needs.
  void take(size_t begin, size_t end) {
    first_reporter_ = next_reporter_;
    for (size_t i = begin; i < end; ++i) {
      if (i == whole_from_) log_.whole_from = log_.nodes.size();
      const bool reports = nodes_[i]->op->reports;
      if (needed_[i]) log_.append(nodes_[i]);
      if (needed_[i] && reports) log_.reporters.push_back(reporters_[next_reporter_]);
      next_reporter_ += reports;
    }
  }

  void end(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!needed_[i]) {
        nodes_[i]->drop_inputs();
        ++counters().nodes;
      }
      nodes_[i] = {};
    }
  }

  // From the first node of the piece that failed on.
  void put_back(size_t begin) {
    log_.clear();
    for (size_t i = begin; i < nodes_.size(); ++i) {
      if (i == whole_from_) log_.whole_from = log_.nodes.size();
      log_.append(nodes_[i]);
    }
    log_.reporters.assign(reporters_.begin() + static_cast<int64_t>(first_reporter_), reporters_.end());
    log_.goes_on = begin == 0 && goes_on_;
    log_.assignments = std::move(assignments_);  // also those of pieces that have run: these stay done
  }

  Log& log_;
  const std::vector<bool> needed_;
  std::vector<size_t> ends_;
  std::vector<std::vector<Held>> across_;  // values of earlier pieces, by the last piece that reads them
  std::vector<NodeRef> nodes_;
  std::vector<Assignment> assignments_;
  std::vector<Reporter> reporters_;
  size_t first_reporter_ = 0, next_reporter_ = 0;  // of this piece and of the next one
  size_t whole_from_;
  bool goes_on_;
};

}  // namespace

void run_in_pieces(Log& log, const std::vector<int32_t>& cuts, const std::vector<bool>& held, RunLog run) {
  Pieces(log, cuts, held).run(run);
}

}  // namespace sg
