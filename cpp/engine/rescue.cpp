// Runs a failed log in halves until only the nodes that cannot be computed have failed, as described in
// docs/decisions/020-a-run-that-fails-is-halved.md. Does not know how a log is run: it is given a RunLog.
#include "engine/rescue.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace sg {
namespace {

constexpr int kMostAttempts = 64;  // without any memory left, every node fails

void fail(Node& node, const std::exception_ptr& error) noexcept {
  if (!node.pending()) return;
  node.state = Node::State::failed;
  node.error = error;
}

// Returns the error of the first write that is undone.
std::exception_ptr go_back(const std::vector<Assignment>& assignments) noexcept {
  std::exception_ptr lost;
  for (size_t i = assignments.size(); i-- > 0;) {  // the last write first
    const Assignment& write = assignments[i];
    if (write.storage->node->state != Node::State::failed) continue;
    lost = write.storage->node->error;
    write.undo();
  }
  return lost;
}

// Invariant: between attempts the log is empty, and each node is pending, ready or failed. Work that must run as a
// whole comes last in the log and is never halved.
class Rescue {
 public:
  Rescue(Log& log, std::exception_ptr error, RunLog run)
      : log_(log),
        run_(run),
        error_(std::move(error)),
        nodes_(std::move(log.nodes)),
        assignments_(std::move(log.assignments)),
        reporters_(std::move(log.reporters)),
        whole_from_(std::min(log.whole_from, nodes_.size())) {
    log_.clear();
  }

  Rescued run() {
    drop_kept();  // that may have been the memory that was missing
    Rescued rescued;
    try {
      rescued.failed = in_halves();
    } catch (...) {  // there is no memory even for that
      log_.clear();
      for (const NodeRef& n : nodes_) fail(*n, std::current_exception());
      rescued.failed = true;
    }
    rescued.lost = go_back(assignments_);
    for (const NodeRef& n : nodes_)
      if (!n->again || !n->pending()) n->drop_inputs();
    return rescued;
  }

 private:
  // First what comes before the whole part, then that part. With no whole part, all of it has failed already as the log
  // it was. Returns whether what was asked for failed.
  bool in_halves() {
    for (const Assignment& write : assignments_) old_values_.emplace_back(write.before);
    size_t reporters = 0;
    for (const NodeRef& node : nodes_) {
      reporter_of_.push_back(reporters);
      reporters += node->op->reports;
    }
    if (whole_from_ == nodes_.size() || !attempt(0, whole_from_)) halve(0, whole_from_);
    run_whole();
    const auto asked = nodes_.begin() + static_cast<std::ptrdiff_t>(whole_from_ < nodes_.size() ? whole_from_ : 0);
    return std::any_of(asked, nodes_.end(), [](const NodeRef& n) { return n->state == Node::State::failed; });
  }

  void run_whole() {
    const std::exception_ptr* before = nullptr;
    for (size_t i = whole_from_; i < nodes_.size(); ++i)
      if (const std::exception_ptr* error = error_of_inputs(*nodes_[i])) before = error;
    if (!before && attempt(whole_from_, nodes_.size())) return;
    for (size_t i = whole_from_; i < nodes_.size(); ++i) fail(*nodes_[i], before ? *before : error_);
  }

  // [begin, end) failed together. Nodes that nothing holds stay pending after a successful run: they never had memory.
  void halve(size_t begin, size_t end) {
    const size_t middle = middle_of(begin, end);
    if (middle == begin || attempts_ >= kMostAttempts) {
      for (size_t i = begin; i < end; ++i) fail(*nodes_[i], error_);
      return;
    }
    if (!attempt(begin, middle)) halve(begin, middle);
    if (!attempt(middle, end)) halve(middle, end);
  }

  // Where a run may begin, near the middle; `begin`: nowhere.
  size_t middle_of(size_t begin, size_t end) const {
    const auto follows = [&](size_t i) { return nodes_[i]->op->follows; };
    const size_t middle = begin + (end - begin) / 2;
    for (size_t i = middle; i < end; ++i)
      if (i > begin && !follows(i)) return i;
    for (size_t i = middle; i > begin; --i)
      if (!follows(i)) return i;
    return begin;
  }

  bool attempt(size_t begin, size_t end) {
    ++attempts_;
    const bool before = std::exchange(log_.to_the_end, true);
    bool done = true;
    try {
      for (size_t i = begin; i < end; ++i) {
        Node& node = *nodes_[i];
        const std::exception_ptr* error = error_of_inputs(node);
        if (error) {
          fail(node, *error);
          continue;
        }
        log_.append(nodes_[i]);
        if (node.op->reports) log_.reporters.push_back(reporters_[reporter_of_[i]]);
      }
      const std::vector<Held> later = inputs_behind(end);
      if (!log_.nodes.empty()) run_(log_);
    } catch (...) {
      error_ = std::current_exception();
      log_.clear();
      done = false;
    }
    log_.to_the_end = before;
    return done;
  }

  // Holds what later nodes read, so that it is stored.
  std::vector<Held> inputs_behind(size_t end) const {
    std::vector<Held> held;
    for (size_t i = end; i < nodes_.size(); ++i)
      for (int k = 0; k < nodes_[i]->inputs; ++k)
        if (nodes_[i]->in[k].node) held.emplace_back(nodes_[i]->in[k].node);
    return held;
  }

  static const std::exception_ptr* error_of_inputs(const Node& node) {
    for (int k = 0; k < node.inputs; ++k)
      if (const Node* in = node.in[k].node.get(); in && in->state == Node::State::failed) return &in->error;
    return nullptr;
  }

  Log& log_;
  RunLog run_;
  std::exception_ptr error_;
  std::vector<NodeRef> nodes_;
  std::vector<Assignment> assignments_;
  std::vector<Held> old_values_;  // that storages may go back to
  std::vector<Reporter> reporters_;
  std::vector<size_t> reporter_of_;  // each node
  size_t whole_from_;
  int attempts_ = 0;
};

}  // namespace

void fail_pending(const std::vector<NodeRef>& nodes, const std::vector<Assignment>& assignments,
                  const std::exception_ptr& error) noexcept {
  for (const NodeRef& n : nodes) fail(*n, error);
  go_back(assignments);
}

Rescued rescue(Log& log, const std::exception_ptr& error, RunLog run) { return Rescue(log, error, run).run(); }

}  // namespace sg
