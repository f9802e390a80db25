// What an epilogue costs inside its product, and what a formula costs at all. Sizes and the device's kernels decide.
#include <algorithm>
#include <map>
#include <utility>

#include "schedule/fuse.hpp"

namespace sg::schedule_detail {
namespace {

// A product's threads hold its sums in registers while they compute the epilogue of one after the other, and nothing
// hides what that waits for. Beyond so many results, an epilogue of this weight is quicker in a kernel of its own,
// although that reads the results again.
constexpr int64_t kMany = 1 << 20;
constexpr int kHeavyOfFour = 40, kHeavyOfOne = 16;  // where the kernel has four neighbours at a time, or one

// The cost of an instruction, in simple operations.
int weight_of_code(Code code) {
  switch (code) {
    case Code::div:
    case Code::sqrt:
    case Code::exp:
    case Code::log:
      return 20;
    case Code::add:
    case Code::sub:
    case Code::mul:
    case Code::neg:
    case Code::cast:
    case Code::select:
    case Code::lt:
    case Code::le:
    case Code::eq:
    case Code::ne:
    case Code::abs:
    case Code::maximum:
    case Code::minimum:
      return 1;
    case Code::pow:
    case Code::sin:
    case Code::cos:
    case Code::random_bits:
    case Code::random_wide:
    case Code::random_normal:
      return 80;
    default:
      return 30;
  }
}

}  // namespace

namespace {

int weight_of_formula(const Node& node) {
  ProgramBuilder builder;
  Expr in[kFewInputs];
  for (int k = 0; k < node.inputs; ++k)
    in[k] = builder.number(node.in[k].kind == Operand::Kind::node ? node.compute : node.in[k].dtype);
  node.op->emit(builder, node, in);
  int weight = 0;
  for (const Instr& i : builder.program.code)
    if (i.code > Code::store_at) weight += weight_of_code(i.code);
  return weight;
}

}  // namespace

int weight_of(const Node& node) {
  if (node.op->kind != Kind::pointwise) return 1;
  uint64_t types = uint64_t(node.dtype) | uint64_t(node.compute) << 8;
  for (int k = 0; k < node.inputs; ++k)
    types |= (uint64_t(node.in[k].kind) | uint64_t(node.in[k].dtype) << 8) << 16 * (k + 1);
  thread_local std::map<std::pair<const OpInfo*, uint64_t>, int> known;  // a few for each operation
  const auto [at, is_new] = known.try_emplace({node.op, types});
  if (is_new) at->second = weight_of_formula(node);
  return at->second;
}

namespace {

int weight_of_epilogue(const Context& context, const FusionGroup& product) {
  int weight = 0;
  for (int32_t root : product.roots)
    if (root != product.roots[0]) weight += weight_of(context.node(root));
  for (const Use& use : product.uses)
    if (use.inlined && !context.stored[use.source.node]) weight += weight_of(context.node(use.source.node));
  return weight;
}

// Whether it reads more for each result than the sum.
bool reads_more(const FusionGroup& product) {
  return std::ranges::any_of(product.uses, [&](const Use& use) {
    return reads_whole(product, use) && !(use.source.node >= 0 && is_root(product, use.source.node));
  });
}

// Whether the kernel calls the epilogue for each element (product_cm2.glsl).
bool one_at_a_time(Context& context, const FusionGroup& product) {
  constexpr auto cm2 = MatrixUnits::Path::cm2;
  const Features& gpu = *context.input.gpu;
  if (gpu.float16_units.path != cm2 && gpu.bfloat16_units.path != cm2) return false;
  const Product p = *emit(context, product).kernel.product;
  const bool half = p.dtype == DType::float16 || p.dtype == DType::bfloat16;
  return half && gpu.units(p.dtype).path == cm2 && !p.a_walks() && !p.b_walks();
}

}  // namespace

bool heavy_epilogue(Context& context, const FusionGroup& group) {
  if (group.kind != FusionGroup::Kind::product || !context.input.gpu) return false;
  const int weight = weight_of_epilogue(context, group);
  if (weight < kHeavyOfOne && !reads_more(group)) return false;
  if (!context.guards.exceeds(group.size(context), kMany, true)) return false;
  return weight >= kHeavyOfFour || one_at_a_time(context, group);
}

}  // namespace sg::schedule_detail
