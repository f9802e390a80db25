// Memory of nodes, and their end: chains of nodes are freed in a loop, since recursion would overflow the stack.
#include "graph/node.hpp"

#include "graph/free_list.hpp"

namespace sg {
namespace {
constexpr size_t kApart = 64;  // bytes between two: at multiples of 512, nodes would share few sets of a cache
}

constinit thread_local Transaction* transaction = nullptr;

void* Node::operator new(size_t size) { return FreeList<Node, 16384>::take(size + kApart); }
void Node::operator delete(void* p) { FreeList<Node, 16384>::give(p); }

void Node::drop_inputs() {
  for (int i = 0; i < inputs; ++i) in[i].node = {};
  if (together) together->waiting = false;
  together = {};
}

NodeRef copy_of(const Node& n) {
  NodeRef copy(new Node);
  copy->dtype = n.dtype;
  copy->compute = n.compute;
  copy->op = n.op;
  copy->epoch = n.epoch;
  copy->log_index = n.log_index;
  copy->reduced = n.reduced;
  copy->numel = n.numel;
  copy->device = n.device;
  copy->domain = n.domain;
  copy->parameters = n.parameters;
  copy->location = n.location;
  copy->make_room(n.inputs);
  for (; copy->inputs < n.inputs; ++copy->inputs) copy->in[copy->inputs] = n.in[copy->inputs];
  return copy;
}

// Nodes that wait to be freed are linked through their epochs, which are no longer read.
void Node::destroy(Node* node) {
  Waiting<Node>& waiting = Waiting<Node>::own();
  node->epoch = reinterpret_cast<uint64_t>(waiting.first);
  waiting.first = node;
  if (waiting.freeing) return;
  waiting.freeing = true;
  while (Node* n = waiting.first) {
    waiting.first = reinterpret_cast<Node*>(n->epoch);
    delete n;  // releases its inputs, which come to wait
  }
  waiting.freeing = false;
}

}  // namespace sg
