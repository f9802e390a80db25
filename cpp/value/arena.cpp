// Owns the memory of nodes and of their lists of operands, which is reused. Knows no formulas.
#include <cstdlib>
#include <new>
#include <unordered_map>
#include <vector>

#include "os/memory.hpp"
#include "value/tape.hpp"

namespace sg::value {

Language language;
uint64_t host_scalar_ops = 0;
uint32_t clock_ticks = 0;
FreeNodes free_nodes;

namespace {

constexpr size_t kBlockBytes = size_t(1) << 20;
constexpr size_t kBlockNodes = kBlockBytes / sizeof(Node);

struct Arena {
  std::vector<Node*> blocks;
  Node *fresh = nullptr, *fresh_end = nullptr;  // never used so far
};
Arena arena;

void recycle(Node* n) {
  n->next = free_nodes.first;
  free_nodes.first = n;
  ++free_nodes.count;
}

uintptr_t first_block = 0;

uintptr_t block_of(const Node* n) { return reinterpret_cast<uintptr_t>(n) & ~uintptr_t(kBlockBytes - 1); }

}  // namespace

Node* fresh_node() {
  if (arena.fresh == arena.fresh_end) {
    arena.blocks.reserve(arena.blocks.size() + 1);
    void* block = os::allocate_aligned(kBlockBytes, kBlockBytes);
    if (!block) throw std::bad_alloc();
    arena.fresh = static_cast<Node*>(block);
    arena.fresh_end = arena.fresh + kBlockNodes;
    arena.blocks.push_back(arena.fresh);
    if (!first_block) first_block = reinterpret_cast<uintptr_t>(block);
  }
  return arena.fresh++;
}

int64_t place_of(const Node* n) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(n) - first_block) / static_cast<int64_t>(sizeof(Node));
}

// Freed short lists are kept by length: the system would give their memory out again page by page.
namespace {

constexpr size_t kShort = 256;
List* kept_lists[kShort];  // linked through the node of their first item

}  // namespace

List* List::make(size_t count) {
  List* list = count < kShort ? kept_lists[count] : nullptr;
  if (list) {
    kept_lists[count] = reinterpret_cast<List*>(list->items[0].node);
  } else {
    list = static_cast<List*>(std::malloc(offsetof(List, items) + sizeof(Input) * (count ? count : 1)));
    if (!list) throw std::bad_alloc();
    list->room = static_cast<uint32_t>(count);
  }
  list->refs = 1;
  list->count = static_cast<uint32_t>(count);
  return list;
}

namespace {

void drop(List* list, Node*& dead) {
  if (--list->refs) return;
  for (uint32_t i = 0; i < list->count; ++i) {
    Node* c = list->items[i].node;
    if (c && --c->refs == 0) {
      c->next = dead;
      dead = c;
    }
  }
  if (list->room >= kShort) return std::free(list);
  list->items[0].node = reinterpret_cast<Node*>(kept_lists[list->room]);
  kept_lists[list->room] = list;
}

void free_all(Node* dead) {
  auto drop_node = [&dead](Node* c) {
    if (--c->refs) return;
    c->next = dead;
    dead = c;
  };
  while (dead) {
    Node* n = dead;
    dead = n->next;
    if (n->has(kExtra)) {
      n->owner = nullptr;
      language.forget(n);
    }
    if (n->device >= 0) runner_of(n).forget(n);
    switch (n->op) {
      case Op::leaf:
        break;
      case Op::custom:
        drop(n->children, dead);
        break;
      case Op::neuron:
        drop(n->weights, dead);
        drop(n->inputs, dead);
        break;
      default:
        for_operands(n, drop_node);
    }
    recycle(n);
  }
}

}  // namespace

void free_node(Node* n) {
  n->next = nullptr;
  free_all(n);
}

void release(List* list) {
  Node* dead = nullptr;
  drop(list, dead);
  free_all(dead);
}

uint32_t next_mark() {
  static uint32_t mark = 0;
  if (++mark == 0) {  // the marks of 2^32 walks are used up: begin again
    for (Node* block : arena.blocks)
      for (Node* n = block; n < block + kBlockNodes && n != arena.fresh; ++n) n->mark = 0;
    mark = 1;
  }
  return mark;
}

ArenaStats arena_stats() {
  const size_t unused = static_cast<size_t>(arena.fresh_end - arena.fresh) + free_nodes.count;
  return {arena.blocks.size() * kBlockNodes - unused, arena.blocks.size() * kBlockBytes};
}

void trim_arena() {
  for (List*& kept : kept_lists)
    while (List* list = kept) {
      kept = reinterpret_cast<List*>(list->items[0].node);
      std::free(list);
    }
  std::unordered_map<uintptr_t, size_t> unused;
  for (Node* n = free_nodes.first; n; n = n->next) ++unused[block_of(n)];
  if (arena.fresh != arena.fresh_end) unused[block_of(arena.fresh)] = 0;  // the block that is being filled stays
  auto empty = [&unused](const Node* n) { return unused[block_of(n)] == kBlockNodes; };
  Node** link = &free_nodes.first;
  while (*link) {
    if (empty(*link)) {
      *link = (*link)->next;
      --free_nodes.count;
    } else {
      link = &(*link)->next;
    }
  }
  std::erase_if(arena.blocks, [&empty](Node* block) {
    if (!empty(block)) return false;
    os::free_aligned(block);
    return true;
  });
}

}  // namespace sg::value
