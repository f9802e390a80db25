// Backward through a graph that lies on several devices, or has nodes with gradient functions of the language.
// Tapes and nodes of the CPU take turns, the youngest first: a node made from a node of another device is always
// younger (clock_ticks). Knows no Vulkan.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "value/graph.hpp"
#include "value/tape.hpp"

namespace sg::value {
namespace {

struct TapeNodes {  // of the graph: one tape
  TapeRunner* runner = nullptr;
  std::vector<Node*> owed;     // its nodes that nodes elsewhere read
  std::vector<Node*> foreign;  // its nodes that pass their gradients on to nodes elsewhere
};

class GraphTapes {
 public:
  explicit GraphTapes(Node* root) { walk(root); }
  std::map<uint32_t, TapeNodes> tapes;
  std::vector<Node*> on_cpu;  // each after its operands

 private:
  struct Entry {
    Node* node;
    bool done;
  };
  void walk(Node* root) {
    std::vector<Entry> stack = {{root, false}};
    while (!stack.empty()) {
      const Entry top = stack.back();
      stack.pop_back();
      if (top.done) {
        on_cpu.push_back(top.node);
        continue;
      }
      Node* n = top.node;
      if (n->op == Op::leaf || !seen_.insert(n).second) continue;
      if (n->device < 0)
        stack.push_back({n, true});
      else
        note(n);
      const bool passes_on = n->device < 0 || n->op == Op::move || n->op == Op::custom;
      for_operands(n, [&](Node* c) {
        if (c->device >= 0 && passes_on) note(c).owed.push_back(c);
        stack.push_back({c, false});
      });
    }
  }
  TapeNodes& note(Node* n) {
    TapeRunner& runner = runner_of(n);
    runner.run();
    TapeNodes& nodes = tapes[TapeRunner::home_of(n)];
    nodes.runner = &runner;
    if (n->op == Op::move || n->op == Op::custom) {
      if (std::find(nodes.foreign.begin(), nodes.foreign.end(), n) == nodes.foreign.end()) nodes.foreign.push_back(n);
    }
    return nodes;
  }
  std::unordered_set<const Node*> seen_;
};

}  // namespace

void backward_across(Node* root) {
  GraphTapes graph(root);
  std::reverse(graph.on_cpu.begin(), graph.on_cpu.end());
  std::stable_sort(graph.on_cpu.begin(), graph.on_cpu.end(), [](Node* a, Node* b) { return a->tape > b->tape; });
  set_grad(root, 1, true);
  std::unordered_set<TapeRunner*> runners;
  for (auto& [number, nodes] : graph.tapes)
    if (runners.insert(nodes.runner).second) nodes.runner->begin_pass();
  auto next = graph.on_cpu.begin();
  auto run_younger_than = [&](uint32_t number) {
    for (; next != graph.on_cpu.end() && (*next)->tape >= number; ++next) local_backward(*next);
  };
  for (auto it = graph.tapes.rbegin(); it != graph.tapes.rend(); ++it) {
    run_younger_than(it->first);
    TapeNodes& nodes = it->second;
    const bool has_root = root->device >= 0 && TapeRunner::home_of(root) == it->first;
    nodes.runner->backward_tape(it->first, has_root ? root : nullptr, nodes.owed);
    for (Node* n : nodes.foreign) local_backward(n);
  }
  run_younger_than(0);
}

}  // namespace sg::value
