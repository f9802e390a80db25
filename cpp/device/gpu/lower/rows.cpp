// Chooses the shape of a row kernel: `lanes` threads share a row, several rows share a workgroup. In each phase every
// lane walks its columns, then the lanes fold their results. Values that a later phase needs stay in registers if a
// lane has 32 columns or fewer; otherwise, or if that is cheap, they are loaded and computed again. A general kernel
// always does so, and has the number of lanes as an argument. row_text.cpp writes the text.
#include <algorithm>
#include <set>

#include "base/round.hpp"
#include "device/gpu/lower/glsl_kernel.hpp"
#include "device/gpu/lower/row_text.hpp"
#include "device/gpu/lower/shaders.hpp"
#include "kernel/fold_order.hpp"

namespace sg::glsl {
namespace {

using Entry = Arguments::Entry;
// 32-bit registers that the threads of a workgroup may spend on values for later phases, and on loads that are in flight:
// a quarter of those of an NVIDIA processor, so that the rest suffices for arithmetic.
constexpr int64_t kRegisters = 16384;

int64_t next_power(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}
int64_t power_below(int64_t n) { return next_power(n + 1) / 2; }

bool is_uniform(const Instr& i) { return i.code == Code::constant || i.code == Code::number; }

// Makes outer dimension `from` the last one; rows may be in any order.
void move_last(Program& p, int from, int& piece_dim) {
  const int last = p.outer() - 1;
  auto rotate = [&](Dims& d) { std::rotate(d.v + from, d.v + from + 1, d.v + last + 1); };
  rotate(p.domain);
  for (View& v : p.views) rotate(v.strides);
  if (piece_dim == last && from != last) --piece_dim;
}

// Whether a tensor has other elements in each row; the few that all rows read come from a cache.
bool differs_by_row(const Program& p, const View& v) {
  return p.outer() == 0 ||
         std::any_of(v.strides.begin(), v.strides.begin() + p.outer(), [](int64_t s) { return s != 0; });
}

// How many element accesses have their neighbours in memory along dimension d.
int adjacent_views(const Program& p, int d) {
  return static_cast<int>(std::ranges::count_if(p.code, [&](const Instr& i) {
    if ((i.code != Code::load && i.code != Code::store) || i.per_row) return false;
    const View& v = p.views[i.slot];
    return v.binding >= 0 && v.strides[d] == 1 && p.domain[d] > 1 && differs_by_row(p, v);
  }));
}

// Puts rows in the order in which neighbouring threads should work on neighbouring rows.
void order_rows(Program& p, int& piece_dim) {
  int best = -1, most = 0;
  for (int d = 0; d < p.outer(); ++d)
    if (const int n = adjacent_views(p, d); d != piece_dim && n > most) best = d, most = n;
  if (best >= 0) move_last(p, best, piece_dim);
}

bool can_load_fours(const Layout& l) {
  const Program& p = l.program();
  if (p.domain[p.domain.rank - 1] % 4 || (p.inner == 1 && p.piece_limit % 4)) return false;
  return std::all_of(p.code.begin(), p.code.end(), [&](const Instr& i) {
    if (i.per_row || (i.code != Code::load && i.code != Code::store) || !l.has_memory(i.slot)) return true;
    return l.in_fours(i.slot) && !(i.code == Code::store && l.zero(i.slot, p.domain.rank - 1));
  });
}

// First 32 threads a row, then as many as keep a thread at 16 values or fewer (up to 512 threads), then at 32. A
// workgroup has at least 256 threads, so short rows share it.
void choose_lanes(RowShape& s, const Program& p, const Features& f) {
  const int64_t most = power_below(std::min(f.tiles->row_threads, f.max_group_threads)),
                columns = std::max<int64_t>(p.columns(), 1);
  if (s.adjacent) {
    s.threads = columns > 64 ? most : std::min<int64_t>(256, most);
    const int64_t neighbours = std::min<int64_t>(32, next_power(p.rows()));
    s.lanes = std::min(next_power(columns), s.threads / neighbours);
  } else {
    const int64_t together = s.singly ? 4 : s.width, steps = divide_up(columns, together);
    auto values = [&] { return divide_up(steps, s.lanes) * together; };
    s.lanes = std::min(next_power(std::min<int64_t>(steps, 32)), most);
    while (values() > 16 && s.lanes < std::min<int64_t>(512, most)) s.lanes *= 2;
    while (values() > 32 && s.lanes < most) s.lanes *= 2;
    s.threads = std::max(std::min<int64_t>(256, most), s.lanes);
  }
  s.rows = s.threads / s.lanes;
}

// Loads of values that all rows share. They come from a cache: in registers, they would leave room for fewer workgroups
// side by side.
std::set<int32_t> cached_loads(const Program& p) {
  std::set<int32_t> found;
  for (size_t n = 0; n < p.code.size(); ++n) {
    const Instr& i = p.code[n];
    if (i.code != Code::load || i.per_row) continue;
    bool same = true;
    for (int d = 0; d < p.outer(); ++d) same = same && (p.views[i.slot].strides[d] == 0 || p.domain[d] == 1);
    if (same) found.insert(static_cast<int32_t>(n));
  }
  return found;
}

// What costs less to compute again than a register costs: a step of arithmetic on values that are loaded anyway.
bool worth_keeping(const Instr& i) {
  switch (i.code) {
    case Code::add:
    case Code::sub:
    case Code::mul:
    case Code::neg:
    case Code::abs:
    case Code::cast:
    case Code::select:
    case Code::lt:
    case Code::le:
    case Code::eq:
    case Code::ne:
      return false;
    default:
      return true;
  }
}

// Walks from a value to the loads behind it. A value that an earlier phase made ends the walk if it is kept.
void need(RowShape& s, const Program& p, int phase, int32_t id) {
  std::vector<int32_t> open = {id};
  while (!open.empty()) {
    const int32_t n = open.back();
    open.pop_back();
    const Instr& i = p.code[n];
    if (i.per_row || is_uniform(i) || !s.needed[phase].insert(n).second) continue;
    const bool made = s.in_registers && s.first[n] >= 0 && s.first[n] < phase && i.code != Code::index;
    if (made && !s.cached.count(n) && (!s.lean || worth_keeping(i))) {
      s.kept.insert(n);
      continue;
    }
    for (int32_t o : {i.a, i.b, i.c})
      if (o >= 0) open.push_back(o);
  }
}

// Finds which element values each phase needs, and which of them it takes over from earlier phases in registers.
void find_needs(RowShape& s, const Program& p) {
  const int phases = p.phases();
  s.cached = cached_loads(p);
  s.needed.assign(phases, {});
  s.roots.assign(phases, {});
  s.first.assign(p.code.size(), -1);
  s.kept.clear();
  for (size_t n = 0; n < p.code.size(); ++n) {
    const Instr& i = p.code[n];
    if (i.code == Code::reduce) s.roots[i.phase - 1].push_back(static_cast<int32_t>(n));
    if (i.code == Code::sum_rows) s.roots[i.phase].push_back(static_cast<int32_t>(n));
    if (i.code == Code::store && !i.per_row)
      s.roots[s.late_stores ? phases - 1 : i.phase].push_back(static_cast<int32_t>(n));
  }
  for (int phase = 0; phase < phases; ++phase) {
    for (int32_t root : s.roots[phase]) need(s, p, phase, p.code[root].a);
    for (int32_t n : s.needed[phase])
      if (s.first[n] < 0) s.first[n] = phase;
  }
}

// By the phase that reads the most.
int64_t tensors_read(const RowShape& s, const Program& p) {
  int64_t most = 0;
  for (const std::set<int32_t>& needed : s.needed)
    most = std::max<int64_t>(most, std::ranges::count_if(needed, [&](int32_t n) {
                               return p.code[n].code == Code::load && !s.cached.count(n);
                             }));
  return most;
}

// Keeps in registers what fits there for all items of a lane, after trying to keep only what is dear; what does not fit is
// loaded again in each phase.
void choose_items(RowShape& s, const Program& p) {
  const int64_t together = s.singly ? 4 : s.width;
  const int64_t items =
      next_power(divide_up(std::max<int64_t>(p.columns(), 1), s.lanes * together)) * together / s.width;
  s.in_registers = items * s.width <= 32;
  auto words_kept = [&] {
    find_needs(s, p);
    int64_t words = 0;
    auto count = [&](const Instr& i) { words += divide_up(static_cast<int64_t>(size_of(i.dtype)), 4); };
    for (int32_t n : s.kept) count(p.code[n]);
    for (const Instr& i : p.code)
      if (i.code == Code::sum_rows) count(i);
    return words * items * s.width;
  };
  const int64_t most = words_kept();
  s.lean = true;
  int64_t words = words_kept();
  if (words > most) {
    s.lean = false;
    words = words_kept();
  }
  const int64_t room = kRegisters / s.threads;
  if (!p.part_rows) s.in_registers = s.in_registers && !s.kept.empty() && words <= room;
  s.items = s.in_registers ? items : std::min<int64_t>(items, 4);
  if (!s.in_registers) find_needs(s, p);
  // With four columns a load, partial results are by column: bits do not depend on the items.
  if (s.in_registers || s.width == 1) return;
  while (s.items > 1 && s.items * s.width * tensors_read(s, p) > room) s.items /= 2;
}

Shaders::Written write_rows(const Layout& l, const RowShape& s, const Features& features) {
  const Program& p = l.program();
  Arguments args;
  const std::string main = RowText(l, args, s).write();
  const std::string lanes = s.general ? "any number of" : std::to_string(s.lanes);
  const std::string kind = "Rows of " + std::to_string(p.phases()) + " phase" + (p.phases() == 1 ? "" : "s") + ", " +
                           lanes + " lane" + (!s.general && s.lanes == 1 ? "" : "s") + " a row";
  std::string source = preamble(kind, l, args, false, features) + main;
  return {sealed({.source = std::move(source), .subgroups = s.shuffles ? Subgroups::full : Subgroups::any}),
          std::move(args)};
}

// Everything of the shape that the text contains. Lanes of a general kernel are an argument, so they are left out.
Form form_of(const Layout& l, const RowShape& s) {
  Form form(Form::Kind::rows);
  form.add(l);
  form.add({s.general, s.adjacent, s.in_registers, s.lean, s.late_stores, s.shuffles, s.width == 4, s.singly});
  for (int64_t n : {s.general ? 0 : s.lanes, s.threads, s.items}) form.add(static_cast<uint64_t>(n));
  return form;
}

// Sums over rows stay in registers, one for each column of a lane, so they have special kernels only.
bool may_be_general(const Program& p) { return p.part_rows == 0; }

// Two sizes of workgroups serve any number of lanes.
void generalise(RowShape& s, const Features& f) {
  const int64_t most = power_below(std::min(f.tiles->row_threads, f.max_group_threads));
  s.general = true;
  s.threads = s.lanes <= 256 ? std::min<int64_t>(256, most) : most;
  s.rows = s.threads / s.lanes;
  s.items = s.width == 4 ? 1 : 4;  // one for each of the four partial results
}

}  // namespace

Lowered lower_rows(const Step& step, const Features& features, Fit fit, Shaders& shaders) {
  Layout l;
  l.instances = {&step.only()};
  l.programs.push_back(step.only().kernel.program);
  Program& p = l.programs[0];
  collapse(p);
  if (p.piece_limit > 0) l.piece_dim = p.outer() - 1;
  RowShape s;
  s.adjacent = order_of(p).neighbours != FoldOrder::Neighbours::along_row;
  if (s.adjacent) order_rows(p, l.piece_dim);
  l.find_width();
  const bool fours = in_fours(p);
  s.width = fours && can_load_fours(l) ? 4 : 1;
  s.singly = fours && s.width == 1;
  s.late_stores = p.in_place;  // an earlier phase may still load what a store overwrites
  choose_lanes(s, p, features);
  if (fit == Fit::general && may_be_general(p)) generalise(s, features);
  s.shuffles = features.shuffles && !s.adjacent && (s.general || s.lanes > 1);
  if (!s.general) choose_items(s, p);

  const Shaders::Written& known = shaders.find(form_of(l, s), [&] {
    if (s.general) find_needs(s, p);
    return write_rows(l, s, features);
  });
  Lowered out;
  out.name = step.name;
  out.shader = known.shader;
  out.arguments = known.arguments.words(l, 0, {{.value = s.lanes}});
  out.general = s.general;
  const int64_t units = p.part_rows ? p.parts() : p.rows();
  out.groups[0] = static_cast<uint32_t>(std::min(divide_up(units, s.rows), features.max_groups));
  return out;
}

}  // namespace sg::glsl
