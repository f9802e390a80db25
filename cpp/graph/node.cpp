#include "graph/node.hpp"

#include "graph/free_list.hpp"

namespace sg {
void* Node::operator new(size_t size) { return FreeList<Node, 16384>::take(size); }
void Node::operator delete(void* p) { FreeList<Node, 16384>::give(p); }

void Node::drop_inputs() {
  for (int i = 0; i < inputs; ++i) in[i].node = {};
}

// Nodes that wait for their end are linked through their epochs, which nobody asks for any more.
void Node::destroy(Node* node) {
  thread_local Node* waiting = nullptr;
  thread_local bool freeing = false;
  node->epoch = reinterpret_cast<uint64_t>(waiting);
  waiting = node;
  if (freeing) return;
  freeing = true;
  while (Node* n = waiting) {
    waiting = reinterpret_cast<Node*>(n->epoch);
    delete n;  // releases its inputs, which come to wait
  }
  freeing = false;
}

}  // namespace sg
