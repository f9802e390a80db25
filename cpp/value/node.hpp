// A node of a scalar graph: micrograd's Value. One cache line; nodes come from an arena and are counted by hand.
// Promises: a graph is built, walked and freed without recursion and without asking the system for memory.
// Callers: forward.cpp, backward.cpp, the binding. Threads: one at a time (the binding holds the GIL).
// Must not know: tensors, Vulkan, Python (what a language keeps for a node hangs on `owner` and kExtra).
#pragma once
#include <cstddef>
#include <cstdint>

namespace sg::value {

enum class Op : uint8_t {
  leaf,
  add,
  mul,
  power,  // a ** k, k a number
  pow,    // a ** b
  relu,
  exp,
  log,
  tanh,
  sigmoid,
  sqrt,
  abs,
  sin,
  cos,
  move,    // a on another device
  neuron,  // b + w0 * x0 + w1 * x1 ..., and relu if kNonlinear: shown as the nodes it stands for (expand)
  custom,  // made by hand: any children, gradient by a function of the language
};

enum Flag : uint16_t {
  kInt = 1,        // data was an integer and is shown as one
  kGradInt = 2,    // so is grad
  kNumber = 4,     // the second operand is the number k: it becomes a node when operands() is asked for
  kNumberInt = 8,  // k is an integer
  kNumberGradInt = 16,
  kNonlinear = 32,      // neuron: ends in relu
  kPassed = 64,         // neuron: was part of a backward, k_grad is the gradient of what is inside
  kOwnBackward = 128,   // the language replaced the gradient function
  kExtra = 256,         // the language keeps something for this node
  kBridged = 512,       // a parameter that tensors were made of: grad may have to be fetched
  kDataWritten = 1024,  // on a device: `data` was set here and is not yet there
  kGradWritten = 2048,
  kInner = 4096,  // on a device: part of a neuron that was recorded as one
};

struct Node;

// The inputs of a neuron or of a custom node: nodes, or numbers where the node is nullptr.
struct Input {
  Node* node;
  double number;  // of a node: its data when the neuron was computed
  bool is_int;
  bool literal = false;  // was given as a number, although there is a node for it now (on a device)
};
struct List {
  uint32_t refs;
  uint32_t count;
  uint32_t room;    // items it was made for
  uint32_t inside;  // weights of a neuron on a device: its first place inside
  Input items[1];

  static List* make(size_t count);  // one reference; the caller fills the items and owns a reference for each node
};

// Where a node on a device is: its slot at home, and its index among the externals of Node::tape.
struct TapeSlot {
  uint32_t slot, entry;
};

struct alignas(64) Node {
  double data, grad;
  union {
    Node* a;
    List* weights;   // neuron: w0 ... and, last, the bias
    List* children;  // custom
  };
  union {
    Node* b;
    double k;
    List* inputs;  // neuron: x0 ...
  };
  union {
    double k_grad;   // gradient of k; of a neuron: see kPassed
    TapeSlot place;  // on a device
  };
  union {
    void* owner;  // the object of the language that shows this node, if there is one now
    Node* next;   // while it is being freed
  };
  uint32_t refs;
  Op op;
  int8_t device;  // -1: the CPU, else the number of the GPU
  uint16_t flags;
  uint32_t mark;  // CPU: of the last walk that came here. On a device: number of the tape where it is at home
  uint32_t tape;  // on a device: of the last tape that read or made it. CPU: the clock when it was made

  bool has(uint16_t f) const { return (flags & f) != 0; }
  void set(uint16_t f, bool on) { flags = static_cast<uint16_t>(on ? flags | f : flags & ~f); }
};
static_assert(sizeof(Node) == 64);

// Ticks when a tape begins and when it ends, so that a node that depends on one of another device is always younger.
extern uint32_t clock_ticks;

struct FreeNodes {
  Node* first = nullptr;  // used before, the last freed first
  size_t count = 0;
};
extern FreeNodes free_nodes;
Node* fresh_node();  // never used before
// Of a live node, unlike that of any other: in the first 16,384 the same in every run of a program, unlike the address.
int64_t place_of(const Node* n);

// From the arena: everything 0 but refs = 1, device = -1; contents of the unions undefined.
inline Node* take_node() {
  Node* n = free_nodes.first;
  if (n) {
    free_nodes.first = n->next;
    --free_nodes.count;
    __builtin_prefetch(free_nodes.first, 1);
  } else {
    n = fresh_node();
  }
  n->data = n->grad = 0;
  n->owner = nullptr;
  n->refs = 1;
  n->op = Op::leaf;
  n->device = -1;
  n->flags = kGradInt;
  n->mark = 0;
  n->tape = clock_ticks;
  return n;
}
inline Node* retain(Node* n) {
  ++n->refs;
  return n;
}
void free_node(Node* n);  // refs has become 0
inline void release(Node* n) {
  if (--n->refs == 0) free_node(n);
}
void release(List* list);

// The operands in order, as nodes: numbers become leaves, a neuron becomes the nodes it stands for.
// `visit(Node*)` for each; an operand may come twice.
void make_operands_nodes(Node* n);
template <class F>
void for_operands(const Node* n, F visit);
// Node by node what `n`, a neuron, stands for; `n` itself becomes the last of them.
void expand(Node* n);

uint32_t next_mark();

struct ArenaStats {
  size_t live = 0;   // nodes
  size_t bytes = 0;  // asked from the system
};
ArenaStats arena_stats();
void trim_arena();  // gives blocks without a live node back

// What the language, Python, is asked to do; set once by the binding.
struct Language {
  void (*forget)(Node*) = nullptr;                                        // a node with kExtra is being freed
  void (*own_backward)(Node*) = nullptr;                                  // run the function that the language set
  double (*power)(double, double, bool is_int, bool k_is_int) = nullptr;  // where pow has an edge: may throw
  void (*fetch_grad)(Node*) = nullptr;                                    // a node with kBridged
};
extern Language language;

// Scalar operations computed by the processor, forward and backward: never those of nodes on a GPU.
extern uint64_t host_scalar_ops;

template <class F>
void for_operands(const Node* n, F visit) {
  switch (n->op) {
    case Op::leaf:
      break;
    case Op::custom:
      for (uint32_t i = 0; i < n->children->count; ++i) visit(n->children->items[i].node);
      break;
    case Op::neuron:
      for (uint32_t i = 0; i < n->weights->count; ++i) visit(n->weights->items[i].node);
      for (uint32_t i = 0; i < n->inputs->count; ++i)
        if (n->inputs->items[i].node) visit(n->inputs->items[i].node);
      break;
    case Op::add:
    case Op::mul:
    case Op::pow:
      visit(n->a);
      if (!n->has(kNumber)) visit(n->b);
      break;
    default:
      visit(n->a);
  }
}

}  // namespace sg::value
