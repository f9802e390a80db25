// Goes through a log in order: ordinary nodes are taken as they are, updates are recorded aside as ops. Where those read
// the memory and the numbers of an update, they read from the same offsets and arguments. A value that is computed again
// gets a second node, of which its later readers' copies read.
#include "engine/written_out.hpp"

#include <algorithm>
#include <utility>

#include "graph/update.hpp"

namespace sg {

WrittenOut::WrittenOut(const Log& log, const std::vector<bool>& held, std::vector<Again> again)
    : log_(log), was_held_(held), again_(std::move(again)) {
  out_.device = log.device;
  out_.leaves = log.leaves;
  out_.offsets = log.offsets;
  out_.numbers = log.numbers;
  out_.leaf_of = log.leaf_of;
  out_.goes_on = log.goes_on;
  find_first();
  try {
    for (int32_t i = 0; i < static_cast<int32_t>(log.nodes.size()); ++i) take(i);
  } catch (...) {
    for (size_t i = 0; i < log_.nodes.size(); ++i) log_.nodes[i]->log_index = static_cast<int32_t>(i);
    throw;
  }
}

WrittenOut::~WrittenOut() {
  for (size_t i = 0; i < log_.nodes.size(); ++i) log_.nodes[i]->log_index = static_cast<int32_t>(i);
}

void WrittenOut::find_first() {
  First next;
  for (const NodeRef& node : log_.nodes) {
    first_.push_back(next);
    for (int k = 0; k < node->inputs; ++k) {
      next.start += node->in[k].kind == Operand::Kind::node;
      next.number += node->in[k].kind == Operand::Kind::number;
    }
  }
}

void WrittenOut::take(int32_t i) {
  const NodeRef& node = log_.nodes[static_cast<size_t>(i)];
  place_.push_back(static_cast<int32_t>(out_.nodes.size()));
  if (node->op == &kUpdateNumbers) return;
  if (node->op->update) return write_out(i);
  if (node->op == &kUpdatedState) return write_state(i);
  for (; next_again_ < again_.size() && again_[next_again_].reader == i; ++next_again_)
    compute_again(again_[next_again_].node);
  append(reading_second(node), i, was_held_[static_cast<size_t>(i)]);
  node->log_index = static_cast<int32_t>(out_.nodes.size()) - 1;
}

void WrittenOut::compute_again(int32_t i) {
  const NodeRef& node = log_.nodes[static_cast<size_t>(i)];
  second_.push_back(static_cast<int32_t>(out_.nodes.size()));
  NodeRef second = copy_of(*node);
  append(second, i, false);
  seconds_[node.get()] = std::move(second);
}

// The node, or a copy that reads values computed again.
NodeRef WrittenOut::reading_second(const NodeRef& node) const {
  NodeRef out = node;
  for (int k = 0; k < node->inputs && !seconds_.empty(); ++k) {
    const auto second = seconds_.find(node->in[k].node.get());
    if (second == seconds_.end()) continue;
    if (out == node) out = copy_of(*node);
    out->in[k].node = second->second;
  }
  return out;
}

// A node that reads from the offsets and numbers of a node of the log.
void WrittenOut::append(const NodeRef& node, int32_t i, bool held) {
  const auto [start, number] = first_[static_cast<size_t>(i)];
  size_t starts = 0, numbers = 0;
  for (int k = 0; k < node->inputs; ++k) {
    if (node->in[k].kind == Operand::Kind::node) out_.starts.push_back(log_.starts[start + starts++]);
    if (node->in[k].kind == Operand::Kind::number) out_.number_of.push_back(static_cast<int32_t>(number + numbers++));
  }
  add(node, i, held);
}

void WrittenOut::write_out(int32_t i) {
  const Node& update = *log_.nodes[static_cast<size_t>(i)];
  update_ = i;
  Aside aside;
  values_ = update.op->update(update);
  assign_as(update, values_.front());
  add_aside(aside.nodes, i);
}

void WrittenOut::write_state(int32_t i) {
  const Node& state = *log_.nodes[static_cast<size_t>(i)];
  Aside aside;
  assign_as(state, values_[static_cast<size_t>(state.in[0].offset)]);
  add_aside(aside.nodes, i);
}

// The last of them is the node of the log.
void WrittenOut::add_aside(const std::vector<NodeRef>& nodes, int32_t i) {
  for (const NodeRef& node : nodes) {
    for (int k = 0; k < node->inputs; ++k) {
      if (node->in[k].kind == Operand::Kind::node) out_.starts.push_back(start_of(node->in[k]));
      if (node->in[k].kind == Operand::Kind::number) out_.number_of.push_back(number_of(node->in[k]));
    }
    add(node, i, node == nodes.back() && was_held_[static_cast<size_t>(i)]);
  }
  log_.nodes[static_cast<size_t>(i)]->log_index = static_cast<int32_t>(out_.nodes.size()) - 1;
}

void WrittenOut::add(const NodeRef& node, int32_t from, bool held) {
  node->log_index = static_cast<int32_t>(out_.nodes.size());
  out_.nodes.push_back(node);
  from_.push_back(from);
  held_.push_back(held);
}

// Of an operand that reads what the update reads, as the same leaf; what the ops compute themselves has none.
int32_t WrittenOut::start_of(Operand& operand) const {
  const Node& update = *log_.nodes[static_cast<size_t>(update_)];
  const Node* const numbers = update.in[0].node.get();
  for (const Node* reader : {&update, numbers}) {
    size_t start = first_[static_cast<size_t>(reader == numbers ? numbers->log_index : update_)].start;
    for (int k = 0; k < reader->inputs; ++k) {
      const Operand& known = reader->in[k];
      if (known.kind != Operand::Kind::node) continue;
      if (known.node == operand.node) operand.leaf = known.leaf;
      if (known.node == operand.node && known.offset == operand.offset) return log_.starts[start];
      ++start;
    }
  }
  return -1;
}

int32_t WrittenOut::number_of(const Operand& operand) const {
  const Node& numbers = *log_.nodes[static_cast<size_t>(update_)]->in[0].node;
  const int k = number_operand(operand.slot);
  if (k < 0) return -1;
  size_t number = first_[static_cast<size_t>(numbers.log_index)].number;
  for (int before = 0; before < k; ++before) number += numbers.in[before].kind == Operand::Kind::number;
  return static_cast<int32_t>(number);
}

std::vector<int32_t> WrittenOut::places(std::vector<int32_t> nodes) const {
  for (int32_t& node : nodes) node = place_[static_cast<size_t>(node)];
  return nodes;
}

void WrittenOut::translate(Scheduled& made) const {
  for (int32_t& node : made.output_nodes) node = from_[static_cast<size_t>(node)];
  for (Step& step : made.plan.steps) {
    for (Instance& instance : step.instances)
      for (auto* nodes : {&instance.checks, &instance.guards})
        for (int32_t& node : *nodes) node = from_[static_cast<size_t>(node)];
    for (int32_t& node : step.nodes) node = from_[static_cast<size_t>(node)];
    std::sort(step.nodes.begin(), step.nodes.end());
    step.nodes.erase(std::unique(step.nodes.begin(), step.nodes.end()), step.nodes.end());
  }
}

}  // namespace sg
