// Where an integer value on a GPU comes from: the ready values that it was computed from, and how. Two values of equal
// lineage are equal, so what was found out about one, such as the order of an index, holds for the other, in the next step
// too. What is kept is bounded, and goes with the values that it comes from.
#pragma once
#include <cstdint>
#include <optional>

#include "base/ref.hpp"

namespace sg {

struct Node;
class Tensor;

// A ready value that others come from. What is kept of them is dropped with its last reference.
struct Root : RefCounted<Root> {
  static void destroy(Root* root);
};

struct Lineage {
  uint64_t low = 0, high = 0;  // a hash of all that the value depends on; 0: not known
  Ref<Root> root;              // empty: made from numbers alone
  explicit operator bool() const { return (low | high) != 0; }
  bool operator==(const Lineage& o) const { return low == o.low && high == o.high; }
};

// Under the engine lock.
void find_lineage(Node& recorded);
// What a node of the same lineage is: pending or ready, without a failure; nullptr: none is kept.
Ref<Node> kept_node(const Node& node);
void keep_node(const Ref<Node>& node);
// A tensor's only element, if it was read before.
Lineage lineage_of_number(const Tensor& x);
std::optional<int64_t> kept_number(const Lineage& lineage);
void keep_number(const Lineage& lineage, int64_t number);

void drop_kept();

}  // namespace sg
