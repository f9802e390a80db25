// Writes the GLSL of a row kernel from a RowShape; chooses nothing. The special and the general kernel of a row must
// give the same bits: whatever changes the order of a fold in one changes it in the other.
#include "device/gpu/lower/row_text.hpp"

#include <algorithm>

namespace sg::glsl {

using Entry = Arguments::Entry;

namespace {
std::string num(int64_t n) { return std::to_string(n); }
}  // namespace

bool RowText::fresh(int phase, int32_t id) const {
  return !(s_.in_registers && s_.kept.count(id) && s_.first[id] < phase);
}
std::string RowText::loaded(int phase, int32_t id) const {
  const bool again = s_.in_registers && s_.first[id] < phase && fresh(phase, id);
  return "in" + num(id) + (again ? "_" + num(phase) : "");
}
bool RowText::four(int view) const { return s_.width == 4 && !l_.zero(view, p_.domain.rank - 1); }
// How many partial results a lane has. A general kernel always has four: with two items or fewer, the unused ones keep
// the identity of the fold, which changes no bit of the result.
int RowText::partials() const { return s_.general || s_.width == 4 || s_.items >= 4 ? 4 : 1; }
std::string RowText::array_type(DType t) const { return s_.width == 4 ? vector_name(t) : type_name(t); }
std::string RowText::lane_of(const std::string& array, bool vector) const {
  return array + "[k]" + (vector && s_.width == 4 ? "[l]" : "");
}
std::string RowText::fold_name(const Instr& i) const {
  return std::string("fold_") + name_of(i.fold) + "_" + name_of(i.dtype);
}

// The place of a lane's value in shared memory.
std::string RowText::shared_place(const std::string& array, const std::string& lane) const {
  return array + (s_.adjacent ? "[(" + lane + ") * kRows + place]" : "[place * kLanes + " + lane + "]");
}

// Folds the lanes' values through shared memory, in eights and in a fixed order.
void RowText::fold_shared(Writer& w, const Instr& i, const std::string& array) const {
  auto slot = [&](const std::string& lane) { return shared_place(array, lane); };
  auto fold_loop = [&](int64_t count, const std::string& lane) {
    w.line("[[unroll]] for (uint j = 1; j < " + num(count) +
           "; ++j) all = " + combine(i.fold, i.dtype, "all", slot(lane)) + ";");
  };
  w.line("barrier();  // the fold before may still be read");
  w.line(slot("lane") + " = all;").line("barrier();");
  int64_t n = s_.lanes;
  while (n > 8) {
    const int64_t next = std::max<int64_t>(n / 8, 8);
    w.open("if (lane < " + num(next) + ")").line("all = " + slot("lane") + ";");
    fold_loop(n / next, "lane + j * " + num(next));
    w.line(slot("lane") + " = all;").close().line("barrier();");
    n = next;
  }
  w.line("all = " + slot("0") + ";");
  fold_loop(n, "j");
}

// Eight neighbours exchange values through their subgroup. The results of the eights go through shared memory, and each
// eight folds all of them in the same order, whatever the size of a subgroup
// (docs/decisions/017-rows-fold-by-eights.md).
void RowText::fold_shuffled(Writer& w, const Instr& i, const std::string& array) const {
  auto exchange = [&](int64_t lanes) {
    for (int64_t d = 1; d < lanes; d *= 2) {
      w.line("other = subgroupShuffleXor(all, " + num(d) + ");");  // apart: && and || may skip it in some threads
      w.line("all = " + combine(i.fold, i.dtype, "all", "other") + ";");
    }
  };
  w.line(std::string(type_name(i.dtype)) + " other;");
  exchange(std::min<int64_t>(s_.lanes, 8));
  const int64_t eights = s_.lanes / 8;
  if (eights > 1) {
    w.line("const uint first = folds % 2 * (kThreads / 8) + place * " + num(eights) + ";");
    w.line("++folds;  // two folds take turns, so that one barrier each is enough");
    w.line("if (lane % 8 == 0) " + array + "[first + lane / 8] = all;").line("barrier();");
    w.line("all = " + array + "[first + lane % " + num(std::min<int64_t>(eights, 8)) + "];");
    if (eights > 8)
      w.line("[[unroll]] for (uint j = 1; j < " + num(eights / 8) +
             "; ++j) all = " + combine(i.fold, i.dtype, "all", array + "[first + lane % 8 + j * 8]") + ";");
    exchange(std::min<int64_t>(eights, 8));
  }
  if (is_float(i.dtype) && (i.fold == Fold::maximum || i.fold == Fold::minimum))
    w.line("all = subgroupShuffle(all, gl_SubgroupInvocationID & ~" + num(std::min<int64_t>(s_.lanes, 8) - 1) +
           "u);  // of 0 and -0 the same one");
}

// The same order as fold_shared, with the number of lanes as an argument.
void RowText::fold_shared_general(Writer& w, const Instr& i, const std::string& array) const {
  auto slot = [&](const std::string& lane) { return shared_place(array, lane); };
  auto more = [&](const std::string& lane) { return "all = " + combine(i.fold, i.dtype, "all", slot(lane)) + ";"; };
  w.line("barrier();  // the fold before may still be read");
  w.line(slot("lane") + " = all;").line("barrier();");
  w.line("uint n = kLanes;");
  w.open("while (n > 8)");
  w.line("const uint next = max(n / 8, 8u);");
  w.open("if (lane < next)").line("all = " + slot("lane") + ";");
  w.line("for (uint j = 1; j < n / next; ++j) " + more("lane + j * next"));
  w.line(slot("lane") + " = all;").close();
  w.line("barrier();").line("n = next;").close();
  w.line("all = " + slot("0") + ";");
  w.line("for (uint j = 1; j < n; ++j) " + more("j"));
}

// The same order as fold_shuffled, with the number of lanes as an argument.
void RowText::fold_shuffled_general(Writer& w, const Instr& i, const std::string& array) const {
  auto exchange = [&](const std::string& lanes) {
    for (int64_t d = 1; d < 8; d *= 2) {
      w.open("if (" + lanes + " > " + num(d) + ")");
      w.line("other = subgroupShuffleXor(all, " + num(d) + ");");
      w.line("all = " + combine(i.fold, i.dtype, "all", "other") + ";").close();
    }
  };
  w.line(std::string(type_name(i.dtype)) + " other;");
  exchange("kLanes");
  w.open("if (kLanes > 8)").line("const uint eights = kLanes / 8;");
  w.line("const uint first = folds % 2 * (kThreads / 8) + place * eights;");
  w.line("++folds;  // two folds take turns, so that one barrier each is enough");
  w.line("if (lane % 8 == 0) " + array + "[first + lane / 8] = all;").line("barrier();");
  w.line("all = " + array + "[first + lane % min(eights, 8u)];");
  w.line("for (uint j = 1; j < eights / 8; ++j) all = " +
         combine(i.fold, i.dtype, "all", array + "[first + lane % 8 + j * 8]") + ";");
  exchange("eights");
  w.close();
  if (is_float(i.dtype) && (i.fold == Fold::maximum || i.fold == Fold::minimum))
    w.line(
        "all = subgroupShuffle(all, gl_SubgroupInvocationID & ~(min(kLanes, 8u) - 1u));  // of 0 and -0 the same one");
}

// One function for each pair of fold and type.
std::string RowText::folds() {
  Writer w;
  std::set<std::string> arrays, functions;
  if (s_.shuffles) w.line("uint folds = 0;").line();
  for (const Instr& i : p_.code) {
    if (i.code != Code::reduce || !folds_lanes() || !functions.insert(fold_name(i)).second) continue;
    const std::string type = type_name(i.dtype), array = std::string("lanes_") + name_of(i.dtype);
    if (arrays.insert(array).second)
      w.line("shared " + type + " " + array + (s_.shuffles ? "[2 * kThreads / 8];" : "[kThreads];"));
    w.open(type + " " + fold_name(i) + "(" + type + " value, uint lane, uint place)");
    w.line((is_float(i.dtype) ? "precise " : "") + type + " all = value;");
    if (s_.general)
      s_.shuffles ? fold_shuffled_general(w, i, array) : fold_shared_general(w, i, array);
    else
      s_.shuffles ? fold_shuffled(w, i, array) : fold_shared(w, i, array);
    w.line("return all;").close().line();
  }
  return w.text;
}

// Each place of a workgroup takes rows in a grid-stride loop or, to add up over rows, a part of consecutive rows.
void RowText::row_loop() {
  const std::string rows = args_.use(Entry::rows);
  std::string row = "first + place";
  if (p_.part_rows) {
    w_.open("for (Index done = 0; done < part_rows; ++done)");
    row = "part * part_rows + done";
  } else {
    w_.open("for (Index first = Index(gl_WorkGroupID.x) * kRows; first < " + rows +
            "; first += Index(gl_NumWorkGroups.x) * kRows)");
  }
  w_.line("const bool live = " + row + " < " + rows + ";");
  w_.line("const Index row = live ? " + row + " : " + rows + " - 1;  // a row beyond the last has no columns");
}

void RowText::begin_sums() {
  if (!p_.part_rows) return;
  args_.use(Entry::part_rows);
  w_.line("const Index part = Index(gl_WorkGroupID.x) * kRows + place;");
  for (size_t n = 0; n < p_.code.size(); ++n) {
    const Instr& i = p_.code[n];
    if (i.code != Code::sum_rows) continue;
    const std::string name = "sum" + num(static_cast<int64_t>(n));
    w_.line((is_float(i.dtype) ? "precise " : "") + array_type(i.dtype) + " " + name + "[kItems];");
    w_.line("[[unroll]] for (uint k = 0; k < kItems; ++k) " + name + "[k] = " + array_type(i.dtype) + "(0);");
  }
}

// The column of a lane's item k, from the tile's first on.
std::string RowText::step_of_lane() const {
  if (s_.singly) return "(k / 4 * kLanes + lane) * 4 + k % 4";
  return s_.width == 4 ? "(k * kLanes + lane) * 4" : "(k * kLanes + lane)";
}

void RowText::store_sums() {
  if (!p_.part_rows) return;
  const std::string columns = args_.use(Entry::columns);
  w_.line("if (part * part_rows >= " + args_.use(Entry::rows) + ") return;");
  w_.open("[[unroll]] for (uint k = 0; k < kItems; ++k)");
  w_.line("const Index col = " + step_of_lane() + ";");
  w_.open("if (col < " + columns + ")");
  for (size_t n = 0; n < p_.code.size(); ++n)
    if (const Instr& i = p_.code[n]; i.code == Code::sum_rows)
      w_.line(body_.reference(i.slot, s_.width, "part * " + columns + " + col") + " = sum" +
              num(static_cast<int64_t>(n)) + "[k];");
  close_items();
}

void RowText::row_head() {
  w_.line(s_.shuffles ? "const uint thread = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;"
                      : "const uint thread = gl_LocalInvocationID.x;");
  w_.line(s_.adjacent ? "const uint place = thread % kRows, lane = thread / kRows;"
                      : "const uint lane = thread % kLanes, place = thread / kLanes;");
  for (size_t n = 0; n < p_.code.size(); ++n)
    if (const Instr& i = p_.code[n]; i.code == Code::number)
      w_.line(std::string("const ") + type_name(i.dtype) + " v" + num(static_cast<int64_t>(n)) + " = " +
              body_.number(static_cast<int32_t>(n)) + ";");
  begin_sums();
  row_loop();
  coords_.assign(static_cast<size_t>(p_.domain.rank), "");
  if (p_.outer() > 0) coords_ = body_.coordinates("row", 0, p_.outer());
  if (l_.piece_dim >= 0) {
    const int first = p_.outer();
    const std::string size = args_.use(Entry::size, first), limit = args_.use(Entry::pieces);
    w_.line("const Index begin = " + coords_[l_.piece_dim] + " * " + size + ";  // of this piece");
    std::string rest;
    for (int d = first + 1; d < p_.domain.rank; ++d) rest += " * " + args_.use(Entry::size, d);
    w_.line("const Index limit = live && begin < " + limit + " ? min(" + size + ", " + limit + " - begin)" + rest +
            " : 0;");
  } else {
    w_.line("const Index limit = live ? " + args_.use(Entry::columns) + " : 0;");
  }
  for (size_t v = 0; v < p_.views.size(); ++v) {
    const int view = static_cast<int>(v);
    const bool element = std::any_of(p_.code.begin(), p_.code.end(), [&](const Instr& i) {
      return !i.per_row && i.slot == view && (i.code == Code::load || i.code == Code::store);
    });
    if (!element) continue;
    const std::string base = body_.offset(view, coords_, p_.outer());
    if (base == "0") continue;
    w_.line("const Index base" + num(view) + " = " + base + ";");
    based_.insert(view);
  }
}

std::string RowText::place(int view) {
  const std::string along = body_.along(view, coords_, p_.outer(), p_.domain.rank);
  if (!based_.count(view)) return along;
  return along == "0" ? "base" + num(view) : "base" + num(view) + " + " + along;
}

void RowText::row_values(int phase) {
  for (size_t n = 0; n < p_.code.size(); ++n) {
    const Instr& i = p_.code[n];
    const std::string name = std::string("const ") + type_name(i.dtype) + " v" + num(static_cast<int64_t>(n)) + " = ";
    if (!i.per_row || i.phase != phase) continue;
    if (i.code == Code::load)
      w_.line(name + load(i.dtype, 1, body_.reference(i.slot, 1, body_.offset(i.slot, coords_, p_.outer()))) + ";");
    else if (i.code == Code::index)
      w_.line(name + body_.index_value(i.slot, coords_, p_.outer()) + ";");
    else if (i.code == Code::check_index && phase > 0)  // a row without columns folds to a value that is not an index
      w_.line(name + body_.checked_where("live", static_cast<int32_t>(n)) + ";");
    else if (i.code > Code::reduce)
      body_.alu(static_cast<int32_t>(n));
  }
}

void RowText::open_items() {
  w_.open("[[unroll]] for (uint k = 0; k < kItems; ++k)");
  w_.line("const Index col = " + std::string(s_.in_registers ? "" : "start + ") + step_of_lane() + ";");
  w_.open("if (col < limit)");
  const std::vector<std::string> inner = body_.coordinates("col", p_.outer(), p_.domain.rank);
  std::copy(inner.begin() + p_.outer(), inner.end(), coords_.begin() + p_.outer());
}
void RowText::close_items() { w_.close().close(); }

void RowText::tile_loads(int phase) {
  std::vector<int32_t> loads;
  for (int32_t n : s_.needed[phase])
    if (p_.code[n].code == Code::load && !s_.cached.count(n) && fresh(phase, n)) loads.push_back(n);
  for (int32_t n : loads) {
    const Instr& i = p_.code[n];
    w_.line(std::string(four(i.slot) ? vector_name(i.dtype) : type_name(i.dtype)) + " " + loaded(phase, n) +
            "[kItems];");
  }
  if (loads.empty()) return;
  open_items();
  for (int32_t n : loads) w_.line(loaded(phase, n) + "[k] = " + load_here(n) + ";");
  close_items();
}

// A load at the current columns.
std::string RowText::load_here(int32_t n) {
  const Instr& i = p_.code[n];
  const int width = four(i.slot) ? 4 : 1;
  return load(i.dtype, width, body_.reference(i.slot, width, place(i.slot)));
}

void RowText::element_value(int phase, int32_t n) {
  const Instr& i = p_.code[n];
  const std::string name = std::string("const ") + type_name(i.dtype) + " v" + num(n) + " = ";
  if (i.code == Code::load) {
    w_.line(name +
            (s_.cached.count(n) ? loaded(phase, n) + (four(i.slot) ? "[l]" : "")
                                : lane_of(loaded(phase, n), four(i.slot))) +
            ";");
  } else if (!fresh(phase, n)) {
    w_.line(name + lane_of("keep" + num(n), true) + ";");
  } else if (i.code == Code::index) {
    const int last = p_.domain.rank - 1;
    std::string text = body_.index_value(i.slot, coords_, p_.domain.rank);
    if (s_.width == 4 && !l_.zero(i.slot, last))
      text += l_.unit(i.slot, last) ? " + l" : " + l * " + args_.use(Entry::index_stride, i.slot, last);
    w_.line(name + text + ";");
  } else {
    body_.alu(n);
    if (s_.kept.count(n)) w_.line(lane_of("keep" + num(n), true) + " = v" + num(n) + ";");
  }
}

void RowText::accumulate(int32_t n) {
  const Instr& i = p_.code[n];
  const std::string part = "part" + num(n) + (partials() == 1 ? "" : s_.width == 4 ? "[l]" : "[k % 4]");
  w_.line(part + " = " + combine(i.fold, i.dtype, part, body_.value(i.a)) + ";");
}

void RowText::tile_code(int phase) {
  const bool vector = s_.width == 4;
  open_items();
  for (int32_t n : s_.roots[phase])
    if (vector && p_.code[n].code == Code::store)
      w_.line(std::string(vector_name(p_.code[n].dtype)) + " out" + num(n) + ";");
  for (int32_t n : s_.needed[phase])
    if (const Instr& i = p_.code[n]; s_.cached.count(n))
      w_.line(std::string("const ") + (four(i.slot) ? vector_name(i.dtype) : type_name(i.dtype)) + " " +
              loaded(phase, n) + " = " + load_here(n) + ";");
  if (vector) w_.open("[[unroll]] for (uint l = 0; l < 4; ++l)");
  for (int32_t n : s_.needed[phase]) element_value(phase, n);
  for (int32_t n : s_.roots[phase]) {
    if (p_.code[n].code == Code::reduce)
      accumulate(n);
    else if (p_.code[n].code == Code::sum_rows)
      w_.line(lane_of("sum" + num(n), true) + " += " + body_.value(p_.code[n].a) + ";");
    else if (vector)
      w_.line("out" + num(n) + "[l] = " + body_.value(p_.code[n].a) + ";");
  }
  if (vector) w_.close();
  for (int32_t n : s_.roots[phase]) {
    const Instr& i = p_.code[n];
    if (i.code != Code::store) continue;
    const std::string what = vector ? "out" + num(n) : body_.value(i.a);
    const std::string unless = body_.unless_kept(i);
    w_.line(unless + body_.reference(i.slot, s_.width, place(i.slot)) + " = " + stored(i.dtype, s_.width, what) + ";");
  }
  close_items();
}

// Folds the lane's partial results, as (0, 2) and (1, 3), then those of all lanes.
void RowText::fold(int32_t n) {
  const Instr& i = p_.code[n];
  const std::string part = "part" + num(n);
  std::string all = part;
  if (partials() == 4) {
    const std::string left = "left" + num(n), right = "right" + num(n);
    const std::string type = (is_float(i.dtype) ? "precise " : "const ") + std::string(type_name(i.dtype)) + " ";
    w_.line(type + left + " = " + combine(i.fold, i.dtype, part + "[0]", part + "[2]") + ";");
    w_.line(type + right + " = " + combine(i.fold, i.dtype, part + "[1]", part + "[3]") + ";");
    w_.line(type + "lane" + num(n) + " = " + combine(i.fold, i.dtype, left, right) + ";");
    all = "lane" + num(n);
  }
  if (folds_lanes()) all = fold_name(i) + "(" + all + ", lane, place)";
  w_.line(std::string("const ") + type_name(i.dtype) + " v" + num(n) + " = " + all + ";");
}

void RowText::phase(int phase) {
  if (p_.phases() > 1) w_.line().line("// Phase " + num(phase) + ".");
  row_values(phase);
  if (s_.roots[phase].empty()) return;
  for (int32_t n : s_.needed[phase]) {
    const Instr& i = p_.code[n];
    if (s_.kept.count(n) && s_.first[n] == phase && i.code != Code::load)
      w_.line((is_float(i.dtype) ? "precise " : "") + array_type(i.dtype) + " keep" + num(n) + "[kItems];");
  }
  for (int32_t n : s_.roots[phase]) {
    const Instr& i = p_.code[n];
    if (i.code != Code::reduce) continue;
    const std::string type = partials() == 4 ? vector_name(i.dtype) : type_name(i.dtype);
    w_.line((is_float(i.dtype) ? "precise " : "") + type + " part" + num(n) + " = " + type + "(" +
            identity(i.fold, i.dtype) + ");");
  }
  if (!s_.in_registers)
    w_.open("for (Index start = 0; start < limit; start += kItems * kLanes" +
            std::string(s_.width == 4 ? " * 4)" : ")"));
  tile_loads(phase);
  tile_code(phase);
  if (!s_.in_registers) w_.close();
  for (int32_t n : s_.roots[phase])
    if (p_.code[n].code == Code::reduce) fold(n);
}

void RowText::row_stores() {
  const bool any =
      std::any_of(p_.code.begin(), p_.code.end(), [](const Instr& i) { return i.code == Code::store && i.per_row; });
  if (!any) return;
  w_.open("if (live && lane == 0)");
  for (const Instr& i : p_.code) {
    if (i.code != Code::store || !i.per_row) continue;
    const std::string unless = body_.unless_kept(i);
    w_.line(unless + body_.reference(i.slot, 1, body_.offset(i.slot, coords_, p_.outer())) + " = " +
            stored(i.dtype, 1, body_.value(i.a)) + ";");
  }
  w_.close();
}

std::string RowText::head() {
  const std::string threads = num(s_.threads), layout = "layout(local_size_x = " + threads + ") in;\n\n";
  if (s_.general)
    return layout + "const uint kThreads = " + threads + ", kItems = " + num(s_.items) +
           ";\nuint kLanes = uint(row_lanes), kRows = kThreads / kLanes;\n\n";
  return layout + "const uint kThreads = " + threads + ", kLanes = " + num(s_.lanes) + ", kRows = " + num(s_.rows) +
         ", kItems = " + num(s_.items) + ";\n\n";
}

std::string RowText::write() {
  if (s_.general) args_.fixed("row_lanes", false);
  w_.open("void main()");
  body_.begin_main();
  row_head();
  for (int p = 0; p < p_.phases(); ++p) phase(p);
  row_stores();
  w_.close();
  body_.end_main();
  store_sums();
  w_.close();
  return head() + folds() + w_.text;
}

}  // namespace sg::glsl
