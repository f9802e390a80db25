#include "engine/rescue.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/tensor.hpp"

namespace sg {
namespace {

constexpr int kMostAttempts = 64;  // a device without any memory left fails at every node

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
    written_ = written_by(assignments_);
    log_.clear();
  }

  bool in_halves() {
    if (whole_from_ == nodes_.size() || !attempt(0, whole_from_)) halve(0, whole_from_);
    run_whole();
    const auto asked = nodes_.begin() + static_cast<std::ptrdiff_t>(whole_from_ < nodes_.size() ? whole_from_ : 0);
    const bool failed =
        std::any_of(asked, nodes_.end(), [](const NodeRef& n) { return n->state == Node::State::failed; });
    undo();
    for (const NodeRef& n : nodes_) n->drop_inputs();
    return failed;
  }

 private:
  void run_whole() {
    const std::exception_ptr* before = nullptr;
    for (size_t i = whole_from_; i < nodes_.size(); ++i)
      if (const std::exception_ptr* error = error_of_inputs(*nodes_[i])) before = error;
    if (!before && attempt(whole_from_, nodes_.size())) return;
    for (size_t i = whole_from_; i < nodes_.size(); ++i) fail(*nodes_[i], before ? *before : error_);
  }

  // [begin, end) failed together. What nobody held stays pending where a run succeeded: it was never memory.
  void halve(size_t begin, size_t end) {
    if (end - begin < 2 || attempts_ >= kMostAttempts) {
      for (size_t i = begin; i < end; ++i) fail(*nodes_[i], error_);
      return;
    }
    const size_t middle = begin + (end - begin) / 2;
    if (!attempt(begin, middle)) halve(begin, middle);
    if (!attempt(middle, end)) halve(middle, end);
  }

  bool attempt(size_t begin, size_t end) {
    ++attempts_;
    for (size_t i = begin; i < end; ++i) {
      Node& node = *nodes_[i];
      if (const std::exception_ptr* error = error_of_inputs(node))
        fail(node, *error);
      else
        log_.append(nodes_[i]);
    }
    if (log_.nodes.empty()) return true;
    log_.reporters = reporters_;
    const std::vector<Held> later = inputs_behind(end);
    const bool before = std::exchange(log_.to_the_end, true);
    bool done = true;
    try {
      run_(log_);
    } catch (...) {
      error_ = std::current_exception();
      log_.clear();
      done = false;
    }
    log_.to_the_end = before;
    return done;
  }

  // Held, so that they are kept for those that come later.
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

  static void fail(Node& node, const std::exception_ptr& error) {
    if (!node.pending()) return;
    node.state = Node::State::failed;
    node.error = error;
  }

  // The last write first. What was written over one that failed, and did not need it, stays.
  void undo() {
    for (size_t i = assignments_.size(); i-- > 0;) {
      Storage& storage = *assignments_[i].storage;
      if (written_[i]->state == Node::State::failed && storage.node.get() == written_[i].get())
        storage.node = Held(assignments_[i].before);
    }
  }

  Log& log_;
  RunLog run_;
  std::exception_ptr error_;
  std::vector<NodeRef> nodes_;
  std::vector<Assignment> assignments_;
  std::vector<NodeRef> written_;  // by each assignment
  std::vector<Reporter> reporters_;
  size_t whole_from_;
  int attempts_ = 0;
};

}  // namespace

std::vector<NodeRef> written_by(const std::vector<Assignment>& assignments) {
  std::vector<NodeRef> written(assignments.size());
  for (size_t i = 0; i < assignments.size(); ++i) {
    const Storage& storage = *assignments[i].storage;
    written[i] = storage.node.ref();
    for (size_t j = i; j-- > 0;)
      if (&*assignments[j].storage == &storage) {
        written[j] = assignments[i].before;
        break;
      }
  }
  return written;
}

bool rescue(Log& log, const std::exception_ptr& error, RunLog run) { return Rescue(log, error, run).in_halves(); }

}  // namespace sg
