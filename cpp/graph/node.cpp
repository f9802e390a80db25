#include "graph/node.hpp"

#include <vector>

#include "graph/free_list.hpp"

namespace sg {
void* Node::operator new(size_t size) { return FreeList<Node, 16384>::take(size); }
void Node::operator delete(void* p) { FreeList<Node, 16384>::give(p); }

void Node::drop_inputs() {
  for (int i = 0; i < inputs; ++i) in[i].node = {};
}

void Node::destroy(Node* node) {
  thread_local std::vector<Node*>* waiting = nullptr;
  if (waiting) {
    waiting->push_back(node);
    return;
  }
  std::vector<Node*> list{node};
  waiting = &list;
  while (!list.empty()) {
    Node* n = list.back();
    list.pop_back();
    delete n;  // releases its inputs, which land in `list`
  }
  waiting = nullptr;
}

}  // namespace sg
