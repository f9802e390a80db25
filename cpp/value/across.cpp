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

struct Part {  // of the graph: one tape
  TapeRunner* runner = nullptr;
  std::vector<Node*> owed;     // its nodes that nodes elsewhere read
  std::vector<Node*> foreign;  // its nodes that pass their gradients on to nodes elsewhere
};

class Parts {
 public:
  explicit Parts(Node* root) { walk(root); }
  std::map<uint32_t, Part> tapes;
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
  Part& note(Node* n) {
    TapeRunner& runner = runner_of(n);
    runner.run();
    Part& part = tapes[TapeRunner::home_of(n)];
    part.runner = &runner;
    if (n->op == Op::move || n->op == Op::custom) {
      if (std::find(part.foreign.begin(), part.foreign.end(), n) == part.foreign.end()) part.foreign.push_back(n);
    }
    return part;
  }
  std::unordered_set<const Node*> seen_;
};

}  // namespace

void backward_across(Node* root) {
  Parts parts(root);
  std::reverse(parts.on_cpu.begin(), parts.on_cpu.end());
  std::stable_sort(parts.on_cpu.begin(), parts.on_cpu.end(), [](Node* a, Node* b) { return a->tape > b->tape; });
  set_grad(root, 1, true);
  std::unordered_set<TapeRunner*> runners;
  for (auto& [number, part] : parts.tapes)
    if (runners.insert(part.runner).second) part.runner->begin_pass();
  auto next = parts.on_cpu.begin();
  auto run_younger_than = [&](uint32_t number) {
    for (; next != parts.on_cpu.end() && (*next)->tape >= number; ++next) local_backward(*next);
  };
  for (auto it = parts.tapes.rbegin(); it != parts.tapes.rend(); ++it) {
    run_younger_than(it->first);
    Part& part = it->second;
    const bool has_root = root->device >= 0 && TapeRunner::home_of(root) == it->first;
    part.runner->backward_tape(it->first, has_root ? root : nullptr, part.owed);
    for (Node* n : part.foreign) local_backward(n);
  }
  run_younger_than(0);
}

}  // namespace sg::value
