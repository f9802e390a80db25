// Owns the facts of instructions and the passes that keep a Program small: phases, pruning, merging dimensions. Knows
// no device.
#include "kernel/program.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"

namespace sg {
namespace {

struct CodeFacts {
  const char* name;
  int arity;
  const char* infix;
  int cost;
};
constexpr CodeFacts kCodes[] = {
    {"load", 0, "", 1},  {"store", 1, "", 1},  {"sum_rows", 1, "", 1}, {"number", 0, "", 1},   {"constant", 0, "", 1},
    {"index", 0, "", 1}, {"reduce", 1, "", 1}, {"load_at", 1, "", 1},  {"store_at", 2, "", 1},
#define ALU(name, arity, infix, kind, cost) {#name, arity, infix, cost},
#define ALU_OWN(name, arity, cost) {#name, arity, "", cost},
#include "math/alu.def"
};

const CodeFacts& facts(Code c) { return kCodes[static_cast<int>(c)]; }

// Whether a view has the same element for the whole row, so that it is read or written once a row.
bool constant_along_row(const Program& p, const View& v) {
  for (int d = p.outer(); d < p.domain.rank; ++d)
    if (v.strides[d] != 0) return false;
  return true;
}

// Dimension d + 1 continues dimension d in every view.
bool mergeable(const Program& p, int d) {
  return std::all_of(p.views.begin(), p.views.end(),
                     [&](const View& v) { return v.strides[d] == v.strides[d + 1] * p.domain[d + 1]; });
}

void erase_dim(Dims& dims, int d) {
  for (int i = d; i + 1 < dims.rank; ++i) dims[i] = dims[i + 1];
  --dims.rank;
}

void erase_dim(Program& p, int d) {
  if (d >= p.outer()) --p.inner;
  erase_dim(p.domain, d);
  for (View& v : p.views) erase_dim(v.strides, d);
}

uint64_t hash_of(const Instr& i) {
  uint64_t h = hash_mix(static_cast<uint64_t>(i.code) | uint64_t(i.dtype) << 8 | uint64_t(i.fold) << 16);
  h = hash_mix(h, static_cast<uint32_t>(i.a) | uint64_t(static_cast<uint32_t>(i.b)) << 32);
  h = hash_mix(h, static_cast<uint32_t>(i.c) | uint64_t(static_cast<uint32_t>(i.slot)) << 32);
  return hash_mix(h, static_cast<uint64_t>(i.imm.i));
}

// One of a few lists in which an instruction is looked for. Cheaper than a hash, of which it would use five bits.
size_t chain_of(const Instr& i) {
  const auto operand = [](int32_t id, uint32_t times) { return static_cast<uint32_t>(id) * times; };
  const auto imm = static_cast<uint32_t>(static_cast<uint64_t>(i.imm.i) >> 48 ^ static_cast<uint64_t>(i.imm.i));
  return static_cast<uint32_t>(i.code) + operand(i.a, 5) + operand(i.b, 11) + operand(i.slot, 7) + imm;
}

std::string imm_text(const Instr& i) { return is_float(i.dtype) ? std::to_string(i.imm.f) : std::to_string(i.imm.i); }

}  // namespace

int arity_of(Code c) { return facts(c).arity; }
const char* name_of(Code c) { return facts(c).name; }
const char* infix_of(Code c) { return facts(c).infix; }
int cost_of(Code c) { return facts(c).cost; }

const char* name_of(Fold f) {
  constexpr const char* names[] = {"sum", "maximum", "minimum", "product"};
  return names[static_cast<int>(f)];
}

bool Instr::operator==(const Instr& o) const {
  return code == o.code && dtype == o.dtype && fold == o.fold && a == o.a && b == o.b && c == o.c && slot == o.slot &&
         imm.i == o.imm.i;
}

int64_t Program::rows() const {
  int64_t n = 1;
  for (int d = 0; d < outer(); ++d) n *= domain[d];
  return n;
}

int64_t Program::columns() const {
  int64_t n = 1;
  for (int d = outer(); d < domain.rank; ++d) n *= domain[d];
  return n;
}

int Program::phases() const {
  int last = 0;
  for (const Instr& i : code) last = std::max<int>(last, i.phase);
  return last + 1;
}

// A value runs once a row if all that it is made of does; a reduce makes one, in the next phase.
void annotate(Program& p) {
  for (Instr& i : p.code) {
    i.phase = 0;
    i.per_row = false;
    if (p.inner == 0) continue;
    i.per_row = true;
    for (int32_t operand : {i.a, i.b, i.c}) {
      if (operand < 0) continue;
      i.phase = std::max(i.phase, p.code[operand].phase);
      i.per_row = i.per_row && p.code[operand].per_row;
    }
    if (i.code == Code::load || i.code == Code::index || i.code == Code::store)
      i.per_row = i.per_row && constant_along_row(p, p.views[i.slot]);
    if (i.code == Code::sum_rows) i.per_row = false;
    if (i.code == Code::reduce) {
      i.per_row = true;
      ++i.phase;
    }
  }
}

// Backwards, stores mark what they need; forwards, what is marked gets its new number.
void prune(Program& p) {
  constexpr int32_t kDead = -1;
  std::vector<int32_t> renumbered(p.code.size(),
                                  kDead);  // first any other number, then its place among those that stay
  for (size_t n = p.code.size(); n-- > 0;) {
    const Instr& i = p.code[n];
    if (is_store(i.code)) renumbered[n] = 0;
    if (renumbered[n] == kDead) continue;
    for (int32_t operand : {i.a, i.b, i.c})
      if (operand >= 0) renumbered[operand] = 0;
  }
  size_t kept = 0;
  for (size_t n = 0; n < p.code.size(); ++n) {
    if (renumbered[n] == kDead) continue;
    Instr i = p.code[n];
    for (int32_t* operand : {&i.a, &i.b, &i.c})
      if (*operand >= 0) *operand = renumbered[*operand];
    renumbered[n] = static_cast<int32_t>(kept);
    p.code[kept++] = i;
  }
  p.code.resize(kept);
}

// Fewer dimensions mean fewer divisions in a kernel, and one text for more shapes. A row keeps a dimension of its own,
// and those that count pieces stay.
void collapse(Program& p) {
  const bool pieces = p.piece_limit > 0;  // the last outer and the first inner dimension then have a meaning
  for (int d = p.domain.rank - 1; d >= 0; --d) {
    const bool last_inner = p.inner == 1 && d >= p.outer();
    const bool piece_dim = pieces && (d == p.outer() || d == p.outer() - 1);
    if (p.domain[d] == 1 && !last_inner && !piece_dim) erase_dim(p, d);
  }
  for (int d = p.domain.rank - 2; d >= 0; --d) {
    const bool across = p.inner > 0 && d == p.outer() - 1;
    const bool piece_dim = pieces && (d == p.outer() || d == p.outer() - 2);
    if (across || piece_dim || !mergeable(p, d)) continue;
    p.domain[d + 1] *= p.domain[d];
    erase_dim(p, d);
  }
}

std::string Program::print() const {
  std::string s = "domain " + domain.str() + (inner ? " inner " + std::to_string(inner) : "") +
                  (piece_limit ? " pieces of " + std::to_string(piece_limit) : "") +
                  (part_rows ? " parts of " + std::to_string(part_rows) + " rows" : "") + "\n";
  for (size_t v = 0; v < views.size(); ++v)
    s += "  view " + std::to_string(v) + ": binding " + std::to_string(views[v].binding) + " " +
         name_of(views[v].dtype) + " strides " + views[v].strides.str() +
         (views[v].offset ? " offset " + std::to_string(views[v].offset) : "") + "\n";
  for (size_t n = 0; n < code.size(); ++n) {
    const Instr& i = code[n];
    s += "  " + (is_store(i.code) ? std::string() : "%" + std::to_string(n) + " = ") + name_of(i.code);
    if (i.code == Code::reduce) s += std::string("_") + name_of(i.fold);
    s += std::string(" ") + name_of(i.dtype);
    if (i.slot >= 0) s += " #" + std::to_string(i.slot);
    if (i.code == Code::constant) s += " " + imm_text(i);
    if (is_store(i.code) && i.imm.i) s += " guard " + std::to_string(i.imm.i);
    for (int32_t operand : {i.a, i.b, i.c})
      if (operand >= 0) s += " %" + std::to_string(operand);
    if (inner) s += std::string("  ; phase ") + std::to_string(i.phase) + (i.per_row ? " row" : "");
    s += "\n";
  }
  return s;
}

namespace {
int largest_number(const Program& p, bool (*counts)(Code)) {
  int64_t largest = 0;
  for (const Instr& i : p.code)
    if (counts(i.code)) largest = std::max(largest, i.imm.i);
  return static_cast<int>(largest);
}
}  // namespace
int Program::checks() const {
  return largest_number(*this, [](Code c) { return c == Code::check_index; });
}
int Program::guards() const { return largest_number(*this, is_store); }

uint64_t Program::structure_hash() const {
  uint64_t h = hash_mix(static_cast<uint64_t>(domain.rank) | uint64_t(inner) << 8 | uint64_t(piece_limit > 0) << 17 |
                        uint64_t(part_rows > 0) << 18 | uint64_t(in_place) << 19);
  for (const View& v : views) {
    h = hash_mix(h, static_cast<uint64_t>(v.binding + 1) | uint64_t(v.dtype) << 32 | uint64_t(v.aligned) << 40);
    for (int64_t s : v.strides) h = hash_mix(h, s == 0 ? 0 : s == 1 ? 1 : 2);
  }
  for (const Instr& i : code) h = hash_mix(h, hash_of(i));
  return h;
}

// ---- ProgramBuilder ---------------------------------------------------------------------------------------------

// Equal instructions are one, but for stores, and for numbers: each is an argument, whatever its value.
Expr ProgramBuilder::emit(Instr i) {
  int32_t& latest = latest_[chain_of(i) % kChains];
  if (!is_store(i.code) && i.code != Code::number)
    for (int32_t id = latest; id >= 0; id = before_[id])
      if (program.code[id] == i) return {this, id, i.dtype};
  program.code.push_back(i);
  before_.push_back(std::exchange(latest, static_cast<int32_t>(program.code.size()) - 1));
  return {this, latest, i.dtype};
}

Expr ProgramBuilder::load(int32_t view) {
  return emit({.code = Code::load, .dtype = program.views[view].dtype, .slot = view});
}

void ProgramBuilder::store(int32_t view, Expr value) {
  emit({.code = Code::store, .dtype = program.views[view].dtype, .a = value.id, .slot = view});
}

void ProgramBuilder::sum_rows(int32_t view, Expr value) {
  emit({.code = Code::sum_rows, .dtype = program.views[view].dtype, .a = value.id, .slot = view});
}

Expr ProgramBuilder::load_at(int32_t view, Expr offset) {
  return emit({.code = Code::load_at, .dtype = program.views[view].dtype, .a = offset.id, .slot = view});
}

void ProgramBuilder::store_at(int32_t view, Expr value, Expr offset) {
  emit({.code = Code::store_at, .dtype = program.views[view].dtype, .a = value.id, .b = offset.id, .slot = view});
}

Expr ProgramBuilder::number(DType t) { return emit({.code = Code::number, .dtype = t, .slot = program.numbers++}); }

Expr ProgramBuilder::constant(DType t, double value) {
  Number n{};
  if (is_float(t))
    n.f = value;
  else
    n.i = static_cast<int64_t>(value);
  return emit({.code = Code::constant, .dtype = t, .imm = n});
}

Expr ProgramBuilder::constant_int(DType t, int64_t value) {
  Number n{};
  n.i = value;
  return is_float(t) ? constant(t, static_cast<double>(value)) : emit({.code = Code::constant, .dtype = t, .imm = n});
}

Expr ProgramBuilder::index(int32_t view) { return emit({.code = Code::index, .dtype = DType::int64, .slot = view}); }

Expr ProgramBuilder::reduce(Fold fold, Expr value) {
  return emit({.code = Code::reduce, .dtype = value.dtype, .fold = fold, .a = value.id});
}

// A cast and its inverse are left out where nothing is lost. From one narrow type to another goes through the wide one.
Expr ProgramBuilder::cast(Expr a, DType t) {
  if (a.dtype == t) return a;
  const Instr& made = program.code[a.id];
  const bool back = made.code == Code::cast && program.code[made.a].dtype == t;
  if (back && (t == DType::boolean || (is_narrow(t) && wide_of(t) == a.dtype))) return {this, made.a, t};
  if (is_narrow(a.dtype)) return cast(alu(Code::cast, wide_of(a.dtype), a), t);
  if (is_narrow(t) && a.dtype != wide_of(t)) a = alu(Code::cast, wide_of(t), a);
  return alu(Code::cast, t, a);
}

Expr ProgramBuilder::alu(Code code, DType result, Expr a, Expr b, Expr c) {
  return emit({.code = code, .dtype = result, .a = a.id, .b = b.id, .c = c.id});
}

int32_t ProgramBuilder::add_view(const View& v) {
  for (size_t i = 0; i < program.views.size(); ++i) {
    const View& w = program.views[i];
    if (w.binding == v.binding && w.dtype == v.dtype && w.strides == v.strides && w.offset == v.offset)
      return static_cast<int32_t>(i);
  }
  program.views.push_back(v);
  return static_cast<int32_t>(program.views.size()) - 1;
}

}  // namespace sg
