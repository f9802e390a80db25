// Decides which values are scalars, which are read where they lie, and which are kept from one phase to a later one.
// Knows no loops and no registers.
#include "device/cpu/values.hpp"

#include <algorithm>

namespace sg::cpu {
namespace {

constexpr int64_t kKeepBytes = 256 << 10;  // of rows kept for later phases: a quarter of a second cache

bool is_store(const Instr& i) { return sg::is_store(i.code); }
bool is_reduce(const Instr& i) { return i.code == Code::reduce; }

bool varies_along_row(const Program& p, const View& v) {
  if (p.inner == 0) return true;
  for (int d = p.outer(); d < p.domain.rank; ++d)
    if (v.strides[d] != 0 && p.domain[d] != 1) return true;
  return false;
}

Value classify(const Program& p, const Executable& e, const Instr& in, const std::vector<Value>& of) {
  Value v;
  v.scalar = true;
  for (int32_t o : {in.a, in.b, in.c}) {
    if (o < 0) continue;
    v.level = std::max(v.level, of[o].level);
    v.phase = std::max(v.phase, of[o].phase + is_reduce(p.code[o]));
    v.scalar = v.scalar && of[o].scalar;
  }
  if (in.code == Code::load || in.code == Code::index) {
    const ViewUse& view = e.views[in.slot];
    v.level = varies_along_row(p, p.views[in.slot]) ? Level::element : Level::row;
    v.scalar = !view.walk && view.lane_step == 0;
    v.in_place = in.code == Code::load && !view.walk && (v.scalar || view.lane_step == view.size);
    if (e.folds_rows && v.level == Level::element) v.in_place = true;
    if (v.in_place) v.slot = in.slot;
  } else if (in.code == Code::load_at) {
    v.level = std::max(v.level, Level::row);  // views begin somewhere once a row is entered
  } else if (is_store(in)) {
    if (in.code == Code::sum_rows || varies_along_row(p, p.views[in.slot])) v.level = Level::element;
    v.level = std::max(v.level, Level::row);
  } else if (is_reduce(in)) {
    v.level = Level::row;
    v.scalar = !e.across;
  }
  return v;
}

// Whether a store or a fold uses a load directly although the program overwrites that memory: the stores of a block
// come one after the other, and folds after all of them.
bool overwritten(const Program& p, const Executable& e, const CompileOptions& options, int32_t load) {
  const auto uses = [&](const Instr& i) { return (is_store(i) || is_reduce(i)) && (i.a == load || i.b == load); };
  const auto stores = [&](const Instr& i) { return is_store(i) && may_alias(e, options, i.slot, p.code[load].slot); };
  return std::any_of(p.code.begin(), p.code.end(), uses) && std::any_of(p.code.begin(), p.code.end(), stores);
}

// The values that `phase` needs if none is kept from earlier phases.
std::vector<bool> closure(const Program& p, const std::vector<Value>& of, int phase) {
  std::vector<bool> in(p.code.size());
  for (size_t i = p.code.size(); i-- > 0;) {
    const Instr& instr = p.code[i];
    const bool root = of[i].phase == phase && (is_reduce(instr) || (is_store(instr) && of[i].level == Level::element));
    if (root) in[i] = true;
    if (!in[i]) continue;
    for (int32_t o : {instr.a, instr.b, instr.c})
      if (o >= 0 && !is_reduce(p.code[o]) && of[o].level == Level::element) in[o] = true;
  }
  return in;
}

// A value is kept if a later phase uses it for something new. All such values are kept or none, as memory allows.
void choose_kept(const Program& p, Executable& e, Values& values) {
  std::vector<Value>& of = values.of;
  for (int phase = 0; phase < values.phases; ++phase)
    for (size_t i = 0; i < of.size(); ++i)
      if (values.closures[phase][i] && of[i].first < 0) of[i].first = phase;
  std::vector<bool> wanted(of.size());
  int64_t bytes = 0;
  for (size_t u = 0; u < of.size(); ++u) {
    for (int32_t o : {p.code[u].a, p.code[u].b, p.code[u].c}) {
      if (o < 0 || wanted[o] || of[o].first < 0 || of[u].first <= of[o].first) continue;
      if (of[o].in_place || of[o].scalar || is_reduce(p.code[o])) continue;
      wanted[o] = true;
      bytes += static_cast<int64_t>(size_of(p.code[o].dtype));
    }
  }
  if (bytes == 0) return;
  if (e.across) {
    const int64_t rows = kKeepBytes / std::max<int64_t>(1, bytes * e.columns) / 64 * 64;
    if (rows == 0) return;
    e.block = std::min(e.block, rows);
  } else if (bytes * (e.lanes + e.block) > kKeepBytes) {
    return;
  }
  for (size_t i = 0; i < of.size(); ++i) of[i].kept = wanted[i];
}

}  // namespace

bool may_alias(const Executable& e, const CompileOptions& options, int32_t view_a, int32_t view_b) {
  const int32_t a = e.views[view_a].binding, b = e.views[view_b].binding;
  if (a < 0 || b < 0) return false;
  return !options.memory_of || (*options.memory_of)[a] == (*options.memory_of)[b];
}

Values analyse(const Program& p, const CompileOptions& options, Executable& e) {
  Values values;
  for (const Instr& in : p.code) {
    values.of.push_back(classify(p, e, in, values.of));
    values.phases = std::max(values.phases, values.of.back().phase + 1);
  }
  for (size_t i = 0; i < p.code.size(); ++i) {
    Value& v = values.of[i];
    // A phase before the last may still load memory that is overwritten.
    if (p.in_place && is_store(p.code[i])) v.phase = values.phases - 1;
    if (v.in_place && !e.folds_rows && overwritten(p, e, options, static_cast<int32_t>(i)))
      v.in_place = false, v.slot = -1;
  }
  for (int phase = 0; phase < values.phases; ++phase) values.closures.push_back(closure(p, values.of, phase));
  if (values.phases > 1) choose_kept(p, e, values);
  return values;
}

}  // namespace sg::cpu
