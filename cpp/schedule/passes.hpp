// What the passes of schedule/ share: the log as numbered nodes, and the kernels that are being put together.
#pragma once
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/fold_order.hpp"
#include "schedule/guards.hpp"
#include "schedule/schedule.hpp"

namespace sg::schedule_detail {

// Where a read finds its value.
struct ValueRef {
  int32_t node = -1;   // of the log, or
  int32_t leaf = -1;   // leaf number and
  int32_t start = -1;  // which of the run-time offsets
  bool aligned = true;
  bool operator==(const ValueRef&) const = default;
};

// One reading of a node or leaf from a kernel's domain: element offset + sum(coordinate * stride).
// For a pointwise node without memory, `inputs` are the readings its formula needs.
// Invariant: a reading is affine in the kernel's coordinates. A formula that is not (a reshape that no strides follow)
// is stored.
struct Use {
  ValueRef source;
  DType dtype = DType::float32;
  Dims strides;
  int64_t offset = 0;
  bool inlined = false;
  bool elsewhere = false;                     // strides and offset add to a computed offset
  bool moved = false;                         // through a formula that is not read from its beginning
  int32_t inputs[kFewInputs] = {-1, -1, -1};  // uses; for number and index operands see the node
};

// What expand_uses() knows of the readings it has listed. Kept between calls, so that they need not allocate.
struct Scratch {
  std::vector<int32_t> latest;  // reading of each node, of no tensor, of each view of a leaf; -1 between calls
  std::vector<int32_t> before;  // for each reading, the previous one of the same source
  std::vector<std::pair<int32_t, int32_t>> open;  // (node, -reading), still to be expanded
};

// The log, and what the passes ask about it.
struct Context {
  // For lists that live as long as the planning: allocating is quick, and everything is freed at once.
  mutable std::pmr::monotonic_buffer_resource memory;
  const Log& log;
  const ScheduleInput& input;
  std::vector<bool> needed, stored;  // is computed at all; is a kernel's root
  std::vector<bool> exported;        // needs memory: held, or read by another kernel
  std::vector<bool> guarded;         // is a write that a failure may keep from being done
  std::vector<int32_t> readers;      // how many operands of needed nodes read it or write to it
  std::vector<int32_t> pieces;       // of each node: the piece between two cuts that it belongs to
  mutable int64_t work = 0;          // elementary steps so far
  mutable Scratch scratch;
  mutable Guards guards;  // every comparison of sizes goes through them
  explicit Context(const ScheduleInput& input);
  const Node& node(int32_t i) const { return *log.nodes[i]; }
  // The pending node an operand reads, or -1 (leaf, number, index).
  int32_t pending(const Operand& o) const;
  const ValueRef& source(int32_t node, int operand) const {
    return values_of_operands_[first_operand_[node] + operand];
  }
  int32_t number(int32_t node, int operand) const { return numbers_[first_operand_[node] + operand]; }
  int32_t count() const { return static_cast<int32_t>(log.nodes.size()); }

 private:
  void find_values();
  std::vector<int32_t> first_operand_;        // of each node: index of its first operand in the lists below
  std::vector<ValueRef> values_of_operands_;  // of each operand; empty for numbers and positions
  std::vector<int32_t> numbers_;              // of each operand; -1: not a number
};

// A kernel: stored nodes (roots) computed over one domain.
// Invariants: roots run over `domain`, as elements or, if they are folded, as rows; `reduced` and `across` do not
// overlap; no third kernel must run between two roots.
struct FusionGroup {
  template <class T>
  using List = std::pmr::vector<T>;
  enum class Kind : uint8_t { program, product, custom };
  Kind kind = Kind::program;
  Dims domain;           // products: batch, m, n
  uint16_t reduced = 0;  // dimensions that some root folds: a row
  uint16_t across = 0;   // the other dimensions, if some root adds up over rows
  int32_t shape = -1;    // the root whose domain it is; of products: without the folded dimensions
  List<int32_t> roots;   // log order; a product's first root is the product itself
  List<Use> uses;        // all readings; inputs come after their users
  List<int32_t> root_uses;
  List<int32_t> reads;                        // stored nodes read, other than own roots
  List<std::pair<int32_t, int32_t>> sources;  // (node, leaf) of what is read, each once, in order
  int whole = 0;                              // readings of every element of something
  bool tried = false;                         // against all others that were tried
  bool dead = false;                          // merged into another, or split

  explicit FusionGroup(const Context& context)
      : roots(&context.memory),
        uses(&context.memory),
        root_uses(&context.memory),
        reads(&context.memory),
        sources(&context.memory) {}

  Size size(const Context& context) const;       // of the domain
  Size row_count(const Context& context) const;  // rows(), as guards ask for it
  Size row_size() const { return {shape, reduced}; }
  int64_t rows() const;
  int64_t columns() const;
  Dims element_strides() const { return contiguous_strides(domain); }
  Dims row_strides() const;  // of a per-row value over the domain: 0 along folded dimensions
};

// Lists every reading that the roots need over the domain. This fails if a root does not fit the domain, or if a node
// must be stored first, because its formula is too long or cannot be followed through a reshape. In the second case the
// kernels that compute the node must be made again.
struct Listed {
  bool fits = true;
  int32_t store = -1;  // the node
  explicit operator bool() const { return fits && store < 0; }
};
Listed expand_uses(const Context& context, FusionGroup& group);

// Cuts formulas that are too long to be followed from each of their readers.
void store_long(Context& context);

// A node whose formula the group would compute so often that storing the node is cheaper; -1: none.
int32_t find_repeated(const Context& context, const FusionGroup& group);

// What a node's formula costs for one element, in simple operations.
int weight_of(const Node& node);

// Whether a product's epilogue takes longer inside it than as a kernel of its own.
bool heavy_epilogue(Context& context, const FusionGroup& group);

// Marks values that several kernels would each compute from several large tensors, such as the sum that runs through
// the layers of a transformer. True: there are some, and the kernels must be put together again.
bool store_shared(Context& context, const std::vector<FusionGroup>& groups);

// Whether a use reads every element of a tensor.
bool reads_whole(const FusionGroup& group, const Use& use);

// True when a reading of `root` from the group's domain is the element (or row) that is being computed.
bool reads_in_place(const Context& context, const FusionGroup& group, const Use& use);

// Whether all that a kernel does is to compute a value again.
bool computes_again(const Context& context, const FusionGroup& group);

// False when a kernel writes memory in place that it also reads in another order.
bool writes_safely(const Context& context, const FusionGroup& group);

// A kernel for one stored node. Its readings are still to be listed.
FusionGroup group_of(const Context& context, int32_t root);

// Groups stored nodes into kernels.
std::vector<FusionGroup> fuse(Context& context);
// The same after more nodes are stored: kernels that this does not affect stay as they are.
std::vector<FusionGroup> fuse_again(Context& context, std::vector<FusionGroup> groups);

// Lets nodes that compute a value again join kernels that end behind them, when all others have joined.
std::vector<FusionGroup> join_seconds(Context& context, std::vector<FusionGroup> groups);

// The order of a group's folds along its rows. Kernels whose folds have different orders stay apart.
FoldOrder fold_order(const Context& context, const FusionGroup& group);
bool same_order(const Context& context, const FusionGroup& a, const FusionGroup& b);
// Whether its folds, if it has some, go along rows in memory.
bool folds_along(const Context& context, const FusionGroup& group);
// Whether all that it does is to add up columns, part by part.
bool adds_parts(const Context& context, const FusionGroup& group);
// Whether folds of the group would be cut in pieces in a kernel of their own (split_rows.cpp). Sizes alone decide.
bool is_long(const Context& context, const FusionGroup& group);

// A kernel with names for memory instead of memory: binding i is sources[i].
struct Emitted {
  Kernel kernel;
  std::pmr::vector<ValueRef> sources;
  std::vector<int32_t> numbers;
  std::vector<int32_t> nodes;           // those it computes
  std::vector<int32_t> checks, guards;  // those of them that check; that may be kept from being done
  std::string name;
  explicit Emitted(const Context& context) : sources(&context.memory) {}
};
Emitted emit(Context& context, const FusionGroup& group);

// Splits long rows, of which there are too few for a wide machine: a second kernel folds the partial results.
// Bindings after `sources.size()` are the partials, in both kernels.
struct SplitRows {
  Program first, second;
  std::vector<DType> partials;
  int64_t partial_numel = 0;  // of each
};
std::optional<SplitRows> split_rows(const Program& program, int32_t first_partial_binding);

// Sums over the rows of a row kernel: each part of the rows stores partial sums, and a second kernel adds these.
// Bindings from first_partial_binding on are the partials, in both kernels.
SplitRows finish_row_sums(const Program& program, int32_t first_partial_binding);
// Whether that is worth it, and possible on every device. Sizes alone decide.
bool can_sum_rows(const Context& context, Size rows, Size columns);
int64_t rows_of_a_part(int64_t rows, int64_t columns);

// A product of few long sums, for GPUs (split_product.cpp). In both kernels, `binding` is the binding of the slices.
struct SplitProduct {
  Product first;
  Program second;
  int64_t partial_numel = 0;
};
std::optional<SplitProduct> split_product(const Product& product, int32_t binding);

// A float32 product on matrix units (halves.cpp): its operands as halves. Bindings of the programs: 0 the operand, 1 its
// halves, 2 the exponents of its rows or columns.
struct OperandHalves {
  Program program;
  Product::Halves halves;  // without bindings
  int64_t elements = 0, exponents = 0;
};
struct ProductOfHalves {
  OperandHalves a, b;
};
std::optional<ProductOfHalves> product_of_halves(const Product& product, const Features* gpu);

// Whether an op is computed inside its readers, unless its value must be stored.
inline bool inlines(const OpInfo& op) { return op.kind == Kind::pointwise || op.kind == Kind::indexed; }

// Gives each temporary of a plan its place in the arena. `work` counts comparisons.
void pack_arena(Plan& plan, int64_t& work);

// Turns groups into steps on memory.
Scheduled place(Context& context, const std::vector<FusionGroup>& groups);

}  // namespace sg::schedule_detail
