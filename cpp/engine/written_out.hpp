// A log as a plan is made of it: updates are written out as the ops that they stand for (graph/update.hpp), and what is
// computed again has a second node (schedule/again.hpp). Leaves, offsets and numbers are those of the log itself. For
// engine/ only. Threads: under the engine lock.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "graph/log.hpp"
#include "schedule/again.hpp"
#include "schedule/schedule.hpp"

namespace sg {

// While it lives, pending nodes have their positions in the log that is written out.
class WrittenOut {
 public:
  WrittenOut(const Log& log, const std::vector<bool>& held, std::vector<Again> again = {});
  ~WrittenOut();
  WrittenOut(const WrittenOut&) = delete;
  WrittenOut& operator=(const WrittenOut&) = delete;
  const Log& log() const { return out_; }
  const std::vector<bool>& held() const { return held_; }
  const std::vector<int32_t>& second() const { return second_; }  // nodes that compute a value again
  std::vector<int32_t> places(std::vector<int32_t> nodes) const;  // of nodes of the log
  void translate(Scheduled& made) const;                          // back to nodes of the log

 private:
  struct First {  // of a node: its first operand that is a tensor, and its first number
    size_t start = 0, number = 0;
  };
  void find_first();
  void take(int32_t node);
  void compute_again(int32_t node);
  NodeRef reading_second(const NodeRef& node) const;
  void append(const NodeRef& node, int32_t from, bool held);
  void write_out(int32_t update);
  void write_state(int32_t state);
  void add(const NodeRef& node, int32_t from, bool held);
  void add_aside(const std::vector<NodeRef>& nodes, int32_t from);
  int32_t start_of(Operand& operand) const;
  int32_t number_of(const Operand& operand) const;

  const Log& log_;
  const std::vector<bool>& was_held_;
  Log out_;
  std::vector<bool> held_;
  std::vector<First> first_;
  std::vector<int32_t> from_;   // of each node: the log's node that it is, or belongs to
  std::vector<int32_t> place_;  // of each of the log's nodes
  std::vector<Again> again_;
  size_t next_again_ = 0;
  std::unordered_map<const Node*, NodeRef> seconds_;  // of nodes of the log, so far
  std::vector<int32_t> second_;
  std::vector<Tensor> values_;  // that the latest update writes
  int32_t update_ = -1;         // that one
};

}  // namespace sg
