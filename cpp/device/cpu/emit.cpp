// Owns registers and cells while a program is compiled, and writes the calls of one instruction at a time. Does not
// choose the order of instructions: compile.cpp does.
#include "device/cpu/emit.hpp"

#include <climits>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace sg::cpu {

namespace {

Number identity_of(Fold fold, DType t) {
  Number n{};
  const bool lowest = fold == Fold::maximum;
  if (fold == Fold::sum) return n;
  if (fold == Fold::product) {
    if (is_float(t))
      n.f = 1;
    else
      n.i = 1;
    return n;
  }
  if (is_float(t))
    n.f = lowest ? -__builtin_inf() : __builtin_inf();
  else if (t == DType::boolean)
    n.i = lowest ? 0 : 1;
  else if (t == DType::int32)
    n.i = lowest ? INT32_MIN : INT32_MAX;
  else
    n.i = lowest ? INT64_MIN : INT64_MAX;
  return n;
}

Fn copy_loop(int size) {
  if (size == 1) return [](void* d, const void* a, const void*, const void*, int64_t n) { std::memmove(d, a, n); };
  if (size == 2) return [](void* d, const void* a, const void*, const void*, int64_t n) { std::memmove(d, a, n * 2); };
  if (size == 4) return [](void* d, const void* a, const void*, const void*, int64_t n) { std::memmove(d, a, n * 4); };
  return [](void* d, const void* a, const void*, const void*, int64_t n) { std::memmove(d, a, n * 8); };
}

}  // namespace

int32_t CallEmitter::new_cell(Number n) {
  e_.cells.push_back(n);
  return kCell + static_cast<int32_t>(e_.cells.size()) - 1;
}
int32_t CallEmitter::new_register(int size, Register::Holds holds) {
  registers.push_back({size, holds});
  return kRegister + static_cast<int32_t>(registers.size()) - 1;
}
// Registers of operands that live for one instruction are used again; those that hold values or tiles are not.
int32_t CallEmitter::temporary(int size) {
  auto& free = free_[size];
  if (free.empty()) return new_register(size);
  const int32_t slot = free.back();
  free.pop_back();
  return slot;
}
void CallEmitter::release(int32_t slot) { free_[registers[slot - kRegister].size].push_back(slot); }

// Fills a register with one value, for loops that take no scalar in that place.
int32_t CallEmitter::as_vector(int32_t slot, DType t, std::vector<Op>& ops, std::vector<int32_t>& used, bool ahead) {
  const int size = static_cast<int>(size_of(t));
  const int32_t r = ahead ? new_register(size, Register::Holds::units) : temporary(size);
  if (!ahead) used.push_back(r);
  Op op;
  op.fn = table_.fill(size_of(t));
  op.d = r;
  op.a = slot;
  ops.push_back(op);
  return r;
}

// Values computed ahead read operands of all units of a tile, side by side; others read the operand of their unit.
OperandSlot CallEmitter::operand(int32_t i, bool ahead, std::vector<Op>& ops) {
  const Value& v = values_[i];
  if (!ahead) return {v.slot, v.scalar};
  if (v.ahead) return {v.slot, false};
  if (!v.in_place) return {v.slot, true};
  const ViewUse& view = view_of(i);
  const int64_t step = view.unit[e_.unit_dims.rank - 1];
  if (step == 0 || step == view.size) return {v.slot, step == 0};
  Op op;
  op.fn = table_.gather(view.size);
  op.what = Op::What::down;
  op.d = new_register(view.size, Register::Holds::units);
  op.a = op.view = v.slot;
  ops.push_back(op);
  return {op.d, false};
}

// The bound of check_index is read as int64.
int32_t CallEmitter::as_int64(int32_t operand, std::vector<Op>& ops) {
  const Value& v = values_[operand];
  if (!v.scalar) fail<LimitError>("check_index", "the bound differs from element to element");
  if (instr(operand).dtype == DType::int64) return v.slot;
  Op op;
  op.fn = table_.alu(Code::cast, instr(operand).dtype, DType::int64, 0);
  op.single = true;
  op.d = new_cell({});
  op.a = v.slot;
  ops.push_back(op);
  return op.d;
}

// Copies a view into a register: lanes at one stride, in runs, or, for a transposed operand, through a tile.
void CallEmitter::load(int32_t i, std::vector<Op>& ops) {
  const ViewUse& view = view_of(i);
  const bool index = instr(i).code == Code::index;
  Op op;
  op.size = static_cast<uint8_t>(size_of(instr(i).dtype));
  op.fn = index ? table_.iota : table_.gather(op.size);
  op.what = view.walk ? Op::What::walk_load : Op::What::strided;
  if (in_tile(i)) {
    op.fn = table_.transpose(op.size);
    op.what = Op::What::transpose;
  }
  op.single = values_[i].scalar && !values_[i].ahead;
  if (values_[i].ahead) op.what = Op::What::down;
  op.d = values_[i].slot;
  op.a = op.view = instr(i).slot;
  ops.push_back(op);
}

// Recognises computed start + position: the elements then lie in a row, as those of an embedding do, and are copied
// instead of gathered one by one.
RowLoad CallEmitter::row_load_of(int32_t i) const {
  if (instr(i).code != Code::load_at || values_[i].scalar) return {};
  const Instr& sum = instr(instr(i).a);
  if (sum.code != Code::add) return {};
  for (const auto& [position, start] : {std::pair{sum.a, sum.b}, std::pair{sum.b, sum.a}})
    if (instr(position).code == Code::index && !view_of(position).walk && values_[start].scalar)
      return {start, position};
  return {};
}

void CallEmitter::load_at(int32_t i, std::vector<Op>& ops) {
  const bool ahead = values_[i].ahead;
  std::vector<int32_t> used;
  Op op;
  op.size = static_cast<uint8_t>(size_of(instr(i).dtype));
  op.single = values_[i].scalar && !ahead;
  op.d = values_[i].slot;
  op.a = instr(i).slot;
  if (const RowLoad load = row_load_of(i); load.start >= 0) {
    op.what = Op::What::run;
    op.view = instr(load.position).slot;
    op.fn = e_.views[op.view].lane_step == 1 ? copy_loop(op.size) : table_.gather(op.size);
    if (e_.views[op.view].lane_step == 1 && op.d < static_cast<int32_t>(e_.views.size()) && e_.views[op.d].streams)
      op.fn = table_.stream(op.size);
    op.b = values_[load.start].slot;
    if (e_.tile > 1) e_.fetches.push_back({op, unit_step(load.start), unit_step(load.position)});
  } else {
    const OperandSlot offset = operand(instr(i).a, ahead, ops);
    op.fn = table_.gather_at(op.size);
    op.b = ahead && offset.scalar ? as_vector(offset.slot, DType::int64, ops, used, ahead) : offset.slot;
  }
  ops.push_back(op);
}

// Bytes from unit to unit of a tile (of an index: how much more it is).
int64_t CallEmitter::unit_step(int32_t i) const {
  if (values_[i].ahead) return size_of(instr(i).dtype);
  const bool view = values_[i].in_place || instr(i).code == Code::index;
  return view ? view_of(i).unit[e_.unit_dims.rank - 1] : 0;
}

void CallEmitter::store_at(int32_t i, std::vector<Op>& ops) {
  const Value &value = values_[instr(i).a], &offset = values_[instr(i).b];
  std::vector<int32_t> used;
  Op op;
  op.fn = table_.scatter_at(static_cast<int>(size_of(instr(i).dtype)));
  op.single = value.scalar && offset.scalar;
  op.d = instr(i).slot;
  op.a = value.scalar && !op.single ? as_vector(value.slot, instr(i).dtype, ops, used) : value.slot;
  op.b = offset.scalar && !op.single ? as_vector(offset.slot, DType::int64, ops, used) : offset.slot;
  ops.push_back(op);
  for (int32_t r : used) release(r);
}

// Takes the loop for the operands that are scalars, if there is one; otherwise fills registers with them.
void CallEmitter::alu(const Node& node, std::vector<Op>& ops) {
  const Instr& in = instr(node.instr);
  if (in.code == Code::load_at) return load_at(node.instr, ops);
  const bool ahead = values_[node.instr].ahead;
  Op op;
  op.single = values_[node.instr].scalar && !ahead;
  op.d = values_[node.instr].slot;
  int32_t operands[3] = {in.a, in.b, in.c};
  bool flipped = false;
  if (node.inner >= 0) {
    flipped = in.b == node.inner;
    operands[2] = flipped ? in.a : in.b;
    operands[0] = instr(node.inner).a;
    operands[1] = instr(node.inner).b;
  }
  int scalars = 0, count = 0;
  int32_t slots[3] = {0, 0, 0};
  for (; count < 3 && operands[count] >= 0; ++count) {
    const OperandSlot from = operand(operands[count], ahead, ops);
    slots[count] = from.slot;
    if (from.scalar) scalars |= 1 << count;
  }
  if (op.single) scalars = 0;
  if (in.code == Code::check_index) {
    slots[1] = as_int64(in.b, ops);
    slots[2] = new_cell({});  // the report word
    e_.checks.push_back({slots[2] - kCell, static_cast<int32_t>(in.imm.i)});
  }
  const DType type = node.inner >= 0 || in.code == Code::select ? in.dtype : instr(in.a).dtype;
  const auto pick = [&](int mask) {
    return node.inner >= 0 ? table_.fused(instr(node.inner).code, in.code, flipped, type, mask)
                           : table_.alu(in.code, type, in.dtype, mask);
  };
  op.fn = pick(scalars);
  std::vector<int32_t> used;
  // Loops of one operand have no scalar form: for a single value they run once. Ahead, they run over units.
  if (ahead && (scalars & kScalarA) && (count == 1 || in.code == Code::check_index))
    slots[0] = as_vector(slots[0], instr(operands[0]).dtype, ops, used, ahead);
  if (!op.fn && scalars) {
    for (int o = 0; o < count; ++o)
      if (scalars >> o & 1) slots[o] = as_vector(slots[o], instr(operands[o]).dtype, ops, used, ahead);
    op.fn = pick(0);
  }
  if (!op.fn) fail<LimitError>("cpu", std::string("no loop for ") + name_of(in.code) + " on " + name_of(type));
  op.a = slots[0];
  op.b = slots[1];
  op.c = slots[2];
  ops.push_back(op);
  for (int32_t r : used) release(r);
}

// Adds to the partial sums in memory, a lane for each column: the part of the rows that a thread has makes one partial
// sum.
void CallEmitter::sum_rows(int32_t i, std::vector<Op>& ops) {
  const Value& value = values_[instr(i).a];
  const DType type = instr(i).dtype;
  Op op;
  op.fn = table_.alu(Code::add, type, type, value.scalar ? kScalarB : 0);
  op.d = op.a = instr(i).slot;
  op.b = value.slot;
  ops.push_back(op);
}

void CallEmitter::store(int32_t i, std::vector<Op>& ops) {
  if (instr(i).code == Code::store_at) return store_at(i, ops);
  if (instr(i).code == Code::sum_rows) return sum_rows(i, ops);
  const ViewUse& view = view_of(i);
  const Value& value = values_[instr(i).a];
  const DType type = instr(instr(i).a).dtype;
  const bool one = !view.walk && view.lane_step == 0;
  const bool contiguous = !view.walk && view.lane_step == view.size;
  Op op;
  op.size = static_cast<uint8_t>(view.size);
  op.d = op.view = instr(i).slot;
  op.a = value.slot;
  std::vector<int32_t> used;
  if (one || (contiguous && value.scalar)) {
    op.fn = table_.fill(view.size);
    op.single = one;
  } else if (contiguous) {
    op.fn = view.streams ? table_.stream(view.size) : copy_loop(view.size);
  } else {
    if (value.scalar) op.a = as_vector(op.a, type, ops, used);
    op.fn = table_.scatter(view.size);
    op.what = view.walk ? Op::What::walk_store : Op::What::strided;
  }
  ops.push_back(op);
  for (int32_t r : used) release(r);
}

bool CallEmitter::can_fold_products(int32_t i) const {
  const Instr &in = instr(i), &product = instr(in.a);
  return !e_.across && in.fold == Fold::sum && product.code == Code::mul && table_.fold_products(product.dtype) &&
         !values_[product.a].scalar && !values_[product.b].scalar;
}

// Along a row, a block is folded to one number. Across rows, lanes are folded side by side, and float sums go through a
// partial sum, so that their error grows more slowly.
void CallEmitter::fold(int32_t i, Phase& out, bool products) {
  const Instr& in = instr(i);
  const Value& value = values_[products ? instr(in.a).a : in.a];
  const DType t = instr(in.a).dtype;
  constexpr Code codes[] = {Code::add, Code::maximum, Code::minimum, Code::mul};
  FoldOp f;
  f.fold = in.fold;
  f.dtype = t;
  f.value = value.slot;
  f.scalar = value.scalar;
  f.along = products ? table_.fold_products(t) : table_.fold(in.fold, t);
  if (products) f.other = values_[instr(in.a).b].slot;
  f.lanewise = table_.alu(codes[static_cast<int>(in.fold)], t, t, value.scalar ? kScalarB : 0);
  f.fill = table_.fill(size_of(t));
  f.identity = e_.across && !e_.folds_rows ? cell_of(t, identity_of(in.fold, t)) : identity_of(in.fold, t);
  if (e_.folds_rows) f.rows = table_.fold_rows(in.fold, t, e_.adds_runs);
  if (e_.across) {
    f.result = new_register(size_of(t));
    if (in.fold == Fold::sum && is_float(t) && !e_.folds_rows) f.partial = new_register(size_of(t));
  } else {
    f.result = new_cell({});
  }
  values_[i].slot = f.result;
  ++e_.cost;
  out.folds.push_back(f);
}

}  // namespace sg::cpu
