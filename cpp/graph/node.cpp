#include "graph/node.hpp"

#include <new>
#include <vector>

namespace sg {
namespace {

// Nodes come from a free list: making one costs no call of malloc.
struct FreeList {
  std::vector<void*> blocks;
};
FreeList& free_list() {
  thread_local FreeList* list = new FreeList;  // leaked on purpose: nodes may die after thread-local destructors
  return *list;
}

}  // namespace

void* Node::operator new(size_t size) {
  auto& blocks = free_list().blocks;
  if (blocks.empty()) return ::operator new(size);
  void* p = blocks.back();
  blocks.pop_back();
  return p;
}

void Node::operator delete(void* p) {
  auto& blocks = free_list().blocks;
  if (blocks.size() < 16384)
    blocks.push_back(p);
  else
    ::operator delete(p);
}

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
