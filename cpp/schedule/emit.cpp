// Writes a fusion group as a Program, or as a product with its epilogue. Chooses nothing: fuse.cpp chose the group.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "kernel/fold_order.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

class ProgramEmitter {
 public:
  ProgramEmitter(Context& context, const FusionGroup& group)
      : context_(context),
        group_(group),
        values_(group.uses.size(), &context.memory),
        numbers_(&context.memory),
        offsets_(&context.memory),
        writes_(&context.memory),
        out_(context) {
    for (int d = 0; d < group.domain.rank; ++d)
      if (!(group.reduced >> d & 1)) order_.push(d);
    for (int d = 0; d < group.domain.rank; ++d)
      if (group.reduced >> d & 1) order_.push(d);
  }

  Emitted run() {
    if (group_.kind == FusionGroup::Kind::custom) return custom();
    Program& p = builder_.program;
    p.code.reserve(2 * (group_.uses.size() + group_.roots.size()));
    p.views.reserve(group_.uses.size() + group_.roots.size());
    for (int64_t d : order_) p.domain.push(group_.domain[static_cast<int>(d)]);
    p.inner = __builtin_popcount(group_.reduced);
    if (group_.kind == FusionGroup::Kind::product) bind_accumulator();
    std::pmr::vector<std::pair<int32_t, int32_t>> computed(&context_.memory);  // node, reading
    computed.reserve(group_.uses.size());
    for (size_t i = 0; i < group_.uses.size(); ++i)
      if (group_.uses[i].inlined || is_product(static_cast<int32_t>(i)))
        computed.emplace_back(group_.uses[i].source.node, static_cast<int32_t>(i));
    std::sort(computed.begin(), computed.end());
    for (const auto& [node, id] : computed) values_[id] = compute(id);
    for (size_t r = 0; r < group_.roots.size(); ++r)
      if (context_.exported[group_.roots[r]]) store(r);
    if (group_.across) p.part_rows = rows_of_a_part(p.rows(), p.columns());
    prune(p);
    annotate(p);
    set_order(p, fold_order(context_, group_));
    if (group_.kind == FusionGroup::Kind::program)
      out_.kernel.program = std::move(p);
    else
      fill_product();
    out_.nodes = nodes();
    out_.name = name();
    return std::move(out_);
  }

 private:
  // The memory that the node's launches work on: inputs, then the result. place.cpp lists the launches.
  Emitted custom() {
    const int32_t root = group_.roots[0];
    const Node& node = context_.node(root);
    out_.kernel.kind = Kernel::Kind::custom;
    for (int k = 0; k < node.inputs; ++k) out_.sources.push_back(context_.source(root, k));
    ValueRef result;
    result.node = root;
    out_.sources.push_back(result);
    out_.nodes = {root};
    out_.name = node.op->name;
    return std::move(out_);
  }

  bool is_product(int32_t id) const { return group_.kind == FusionGroup::Kind::product && id == group_.root_uses[0]; }

  int32_t binding(const ValueRef& source, bool write) {
    for (size_t b = 0; b < out_.sources.size(); ++b)
      if (out_.sources[b] == source && writes_[b] == write) return static_cast<int32_t>(b);
    out_.sources.push_back(source);
    writes_.push_back(write);
    return static_cast<int32_t>(out_.sources.size()) - 1;
  }

  // Strides in the program's order of dimensions: folded ones last.
  View view_of(int32_t binding, DType dtype, const Dims& strides, int64_t offset, bool aligned) const {
    View v;
    v.binding = binding;
    v.dtype = dtype;
    v.offset = offset;
    v.aligned = aligned;
    for (int64_t d : order_) v.strides.push(strides[static_cast<int>(d)]);
    return v;
  }

  // Operands a and b are bindings 0 and 1; view 0 is the accumulator, which has no memory.
  void bind_accumulator() {
    const Node& product = context_.node(group_.roots[0]);
    out_.kernel.kind = Kernel::Kind::product;
    binding(context_.source(group_.roots[0], 0), false);
    binding(context_.source(group_.roots[0], 1), false);
    builder_.add_view(view_of(-1, product.compute, group_.element_strides(), 0, true));
  }

  // A number of the log is one argument of the kernel, however often it is read. Its value is not part of the plan, unless
  // it is part of an update's formula.
  Expr number(int32_t node, int operand) {
    const int32_t global = context_.number(node, operand);
    const auto [value, dtype] =
        std::pair(context_.node(node).in[operand].number, context_.node(node).in[operand].dtype);
    if (global < 0) return is_float(dtype) ? builder_.constant(dtype, value.f) : builder_.constant_int(dtype, value.i);
    auto [it, fresh] = numbers_.try_emplace({global, dtype});
    if (fresh) {
      it->second = builder_.number(dtype);
      out_.numbers.push_back(global);
    }
    return it->second;
  }

  Expr value(int32_t id) {
    const Use& use = group_.uses[id];
    if (use.inlined) return values_[id];
    for (size_t r = 0; r < group_.roots.size(); ++r)
      if (group_.roots[r] == use.source.node) return values_[group_.root_uses[r]];
    if (use.source.node < 0 && use.source.leaf < 0)
      return builder_.index(builder_.add_view(view_of(-1, use.dtype, use.strides, use.offset, true)));
    const int32_t b = binding(use.source, false);
    return builder_.load(builder_.add_view(view_of(b, use.dtype, use.strides, use.offset, use.source.aligned)));
  }

  // The element at a computed offset, moved by the view through which the tensor is read.
  Expr at(const Use& use, Expr offset) {
    const int64_t reach =
        use.source.leaf >= 0 ? context_.log.leaves[use.source.leaf]->numel : context_.node(use.source.node).numel;
    View v = view_of(binding(use.source, false), use.dtype, Dims::filled(group_.domain.rank, 0), 0, false);
    v.reach = reach;
    const bool moves = use.offset || !(use.strides == Dims::filled(group_.domain.rank, 0));
    if (moves) {
      const View place = view_of(-1, DType::int64, use.strides, use.offset, true);
      offset = builder_.alu(Code::add, DType::int64, builder_.index(builder_.add_view(place)), offset);
    }
    return builder_.load_at(builder_.add_view(v), offset);
  }

  Expr compute(int32_t id) {
    const Use& use = group_.uses[id];
    const int32_t index = use.source.node;
    const Node& node = context_.node(index);
    if (is_product(id)) return builder_.cast(builder_.load(0), node.dtype);
    Expr in[kFewInputs];
    for (int k = 0; k < node.inputs; ++k) {
      const Operand& o = node.in[k];
      if (!node.reads_value(k)) continue;
      in[k] = o.kind == Operand::Kind::number ? number(index, k) : value(use.inputs[k]);
      const bool offset = k == (node.op->kind == Kind::effect ? 2 : 1) && takes_offset(node);
      if (o.kind == Operand::Kind::node) in[k] = builder_.cast(in[k], offset ? DType::int64 : node.compute);
    }
    switch (node.op->kind) {
      case Kind::indexed:
        return builder_.cast(at(group_.uses[use.inputs[0]], in[1]), node.dtype);
      case Kind::effect:
        if (takes_offset(node)) offsets_[index] = in[2];
        return builder_.cast(in[0], node.dtype);
      case Kind::reduce:
        if (sums_rows(node)) return in[0];  // see store()
        return builder_.cast(node.reduced ? builder_.reduce(node.op->fold, in[0]) : in[0], node.dtype);
      default:
        break;
    }
    const size_t before = builder_.program.code.size();
    const Expr out = builder_.cast(node.op->emit(builder_, node, in), node.dtype);
    for (size_t i = before; i < builder_.program.code.size(); ++i)
      if (builder_.program.code[i].code == Code::check_index)
        builder_.program.code[i].imm.i = number_in(out_.checks, index);
    return out;
  }

  // Writes of a transaction have one guard.
  int64_t guard_of(int32_t root) {
    const auto& together = context_.node(root).together;
    const auto same = std::ranges::find_if(
        out_.guards, [&](int32_t other) { return together && context_.node(other).together == together; });
    return number_in(out_.guards, same == out_.guards.end() ? root : *same);
  }

  // From 1 on.
  static int64_t number_in(std::vector<int32_t>& nodes, int32_t node) {
    const auto at = std::find(nodes.begin(), nodes.end(), node) - nodes.begin();
    if (at == static_cast<int64_t>(nodes.size())) nodes.push_back(node);
    return at + 1;
  }

  // Whether a reduce adds up over the rows of a kernel that folds along them: store() then adds to the sums of its
  // part.
  bool sums_rows(const Node& node) const {
    return node.op->kind == Kind::reduce && group_.across && node.reduced == group_.across;
  }

  static bool takes_offset(const Node& node) {
    return node.op->kind == Kind::indexed || (node.op->kind == Kind::effect && node.inputs == 3);
  }

  // A reduce stores a value a row, a write goes through the view of its target, everything else is contiguous.
  void store(size_t r) {
    const int32_t root = group_.roots[r];
    const Node& node = context_.node(root);
    const Use& use = group_.uses[group_.root_uses[r]];
    const Expr value = values_[group_.root_uses[r]];
    ValueRef target;
    target.node = root;
    if (sums_rows(node)) {
      Dims strides = group_.element_strides();
      for (int d = 0; d < group_.domain.rank; ++d)
        if (group_.across >> d & 1) strides[d] = 0;
      builder_.sum_rows(builder_.add_view(view_of(binding(target, true), node.dtype, strides, 0, true)), value);
      return;
    }
    if (node.op->kind != Kind::effect) {
      const bool per_row = node.op->kind == Kind::reduce && node.reduced;
      const Dims strides = per_row ? group_.row_strides() : use.strides;
      builder_.store(builder_.add_view(view_of(binding(target, true), node.dtype, strides, 0, true)), value);
      return;
    }
    const ValueRef base = context_.source(root, 1);
    target.start = base.start;
    target.aligned = base.aligned;
    const int64_t offset = base.start >= 0 ? 0 : node.in[1].offset;
    const int32_t b = binding(target, true);
    builder_.program.in_place = true;
    const int64_t guard = context_.guarded[root] ? guard_of(root) : 0;
    if (takes_offset(node)) {
      View v = view_of(b, node.dtype, Dims::filled(group_.domain.rank, 0), 0, false);
      v.reach = node.numel;
      Expr at = offsets_[root];
      if (offset) {
        const Expr skip = builder_.constant_int(DType::int64, -1), zero = builder_.constant_int(DType::int64, 0);
        const Expr moved = builder_.alu(Code::add, DType::int64, at, builder_.constant_int(DType::int64, offset));
        at = builder_.alu(Code::select, DType::int64, builder_.alu(Code::lt, DType::boolean, at, zero), skip, moved);
      }
      builder_.store_at(builder_.add_view(v), builder_.cast(value, node.dtype), at);
    } else {
      builder_.store(builder_.add_view(view_of(b, node.dtype, node.in[1].strides, offset, base.aligned)), value);
    }
    builder_.program.code.back().imm.i = guard;
  }

  // The domain of a contraction is folded?, batch, m, n..., k...; several dimensions of n or k become digits, unless
  // one stride walks all of them.
  void fill_product() {
    const int32_t root = group_.roots[0];
    const Node& node = context_.node(root);
    Product& p = *out_.kernel.product;
    const Operand &a = node.in[0], &b = node.in[1];
    const auto parameters = node.parameters.as<ContractionParameters>();
    const int batch = static_cast<int>(parameters.folded), m = batch + 1;
    p.batch = group_.domain[0], p.m = group_.domain[1], p.n = group_.domain[2];
    p.dtype = promote(a.dtype, b.dtype);
    p.precision = parameters.precision;
    p.a_batch = a.strides[batch], p.b_batch = b.strides[batch], p.a_m = a.strides[m], p.b_m = b.strides[m];
    if (batch) p.folded = node.domain[0], p.b_folded = b.strides[0];
    p.window = parameters.window.unpacked();
    const bool windowed = p.window.pitch > 0;
    for (int d = m + 1; d < node.domain.rank; ++d)
      add_digit(node.reduced >> d & 1 ? p.inner : p.columns, node.domain[d], a.strides[d], b.strides[d], !windowed);
    p.k = p.inner.sizes.numel();
    p.columns.a = {};
    if (one_stride(p.inner.sizes, p.inner.a, p.a_k)) p.inner.a = {};
    const bool one_k = one_stride(p.inner.sizes, p.inner.b, p.b_k);
    if (one_stride(p.columns.sizes, p.columns.b, p.b_n) && one_k && !windowed) p.inner.b = p.columns.b = {};
    const ValueRef from_a = context_.source(root, 0), from_b = context_.source(root, 1);
    p.a_offset = from_a.start >= 0 ? 0 : a.offset;
    p.b_offset = from_b.start >= 0 ? 0 : b.offset;
    p.a_aligned = from_a.aligned, p.b_aligned = from_b.aligned;
    p.a_binding = binding(from_a, false);
    p.b_binding = binding(from_b, false);
    p.epilogue = std::move(builder_.program);
  }

  // Merges neighbouring digits that both operands walk with one stride, where that is allowed.
  static void add_digit(Product::Digits& digits, int64_t size, int64_t a, int64_t b, bool merge) {
    const int last = digits.sizes.rank - 1;
    if (merge && last >= 0 &&
        (size == 1 || digits.sizes[last] == 1 || (digits.a[last] == a * size && digits.b[last] == b * size))) {
      if (size != 1) digits.a[last] = a, digits.b[last] = b;
      digits.sizes[last] *= size;
      return;
    }
    digits.sizes.push(size);
    digits.a.push(a);
    digits.b.push(b);
  }

  // The one stride along all digits, if there is one.
  static bool one_stride(const Dims& sizes, const Dims& strides, int64_t& stride) {
    const int last = sizes.rank - 1;
    for (int d = 0; d < last; ++d)
      if (strides[d] != strides[d + 1] * sizes[d + 1]) return false;
    stride = strides[last];
    return true;
  }

  std::vector<int32_t> nodes() const {
    std::vector<int32_t> nodes;
    nodes.reserve(group_.roots.size() + group_.uses.size());
    nodes.assign(group_.roots.begin(), group_.roots.end());
    for (const Use& u : group_.uses)
      if (u.inlined) nodes.push_back(u.source.node);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  // The ops of the kernel in order, each run of equal ones once.
  std::string name() const {
    std::string s;
    std::string_view last;
    int words = 0;
    for (int32_t n : out_.nodes) {
      const std::string_view op = context_.node(n).op->name;
      if (op == last) continue;
      if (++words > 8) return s + "_etc";
      if (!s.empty()) s += '_';
      s += op;
      last = op;
    }
    return s;
  }

  Context& context_;
  const FusionGroup& group_;
  Dims order_;
  ProgramBuilder builder_;
  std::pmr::vector<Expr> values_;
  std::pmr::map<std::pair<int32_t, DType>, Expr> numbers_;
  std::pmr::map<int32_t, Expr> offsets_;
  std::pmr::vector<bool> writes_;  // whether each binding is written
  Emitted out_;
};

}  // namespace

Emitted emit(Context& context, const FusionGroup& group) { return ProgramEmitter(context, group).run(); }

}  // namespace sg::schedule_detail
