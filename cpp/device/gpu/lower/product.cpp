// Matrix products: shaders/product.glsl with tile sizes as specialization constants and, unless it is a plain float32
// store, an epilogue function written here from the epilogue's Program.
#include "device/gpu/lower/product.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/round.hpp"
#include "device/gpu/lower/shaders.hpp"
#include "plan/bounds.hpp"

namespace sg::glsl {
namespace {

using Entry = Arguments::Entry;

// Elements along k that are written out, also where a compiler reads ahead too far; steps that are, as a whole.
constexpr uint32_t kUnroll = 4, kRolledUnroll = 2, kShortStep = 8;

int64_t tiles(const ProductTile& v, int64_t m, int64_t n, int64_t batch) {
  return (m + v.tile_m - 1) / v.tile_m * ((n + v.tile_n - 1) / v.tile_n) * batch;
}

// The same tile, or a part of it, for the device's workgroups, with the longest K step that its shared memory holds;
// tile_k 0: none does.
ProductTile fit(ProductTile v, int64_t bytes, const Features& f) {
  while (v.threads() > f.max_group_threads) (v.parts > 1 ? v.parts : v.tile_m > v.tile_n ? v.tile_m : v.tile_n) /= 2;
  while (4 * v.tile_k > v.threads()) v.tile_k /= 2;  // of operands that walk, a thread's elements lie rows apart
  const int64_t most = std::min(f.shared_bytes, f.tiles->shared_bytes);
  while (v.tile_k && v.shared_bytes(bytes) > most) v.tile_k = v.tile_k / 2 >= std::max(v.parts, 4u) ? v.tile_k / 2 : 0;
  return v;
}

ArgWord value(int64_t v) { return {.value = v}; }

// The words that product.glsl reads: their names there, and their values.
// In the order of product.comp.
void product_words(FixedWords& fixed, const Instance& in, const Product& p) {
  fixed.add("tensor_a", operand(in, p.dtype, p.a_binding, p.a_offset));
  fixed.add("tensor_b", operand(in, p.dtype, p.b_binding, p.b_offset));
  const char* const k = p.sliced ? "slice_k" : "size_k";
  const std::pair<const char*, int64_t> words[] = {
      {"batches", p.batch}, {"size_m", p.m}, {"size_n", p.n},        {k, p.k},       {"a_batch", p.a_batch},
      {"a_m", p.a_m},       {"a_k", p.a_k},  {"b_batch", p.b_batch}, {"b_k", p.b_k}, {"b_n", p.b_n}};
  for (const auto& [name, v] : words) fixed.add(name, value(v));
  if (p.sliced) fixed.add("sliced_k", value(p.sliced));
}

// The product of the first planes.
Product of_halves(const Product& p) {
  Product out = p;
  out.dtype = DType::float16;
  out.a_binding = p.a_halves.binding, out.b_binding = p.b_halves.binding;
  out.a_offset = out.b_offset = 0;
  out.a_aligned = out.b_aligned = true;
  out.a_batch = p.a_halves.batch, out.a_m = p.a_halves.step_side, out.a_k = p.a_halves.step_k;
  out.b_batch = p.b_halves.batch, out.b_n = p.b_halves.step_side, out.b_k = p.b_halves.step_k;
  return out;
}

// What product_scaled.glsl reads: the operands as they are, and their exponents.
void scaled_words(FixedWords& fixed, const Instance& in, const Product& p) {
  fixed.add("source_a", operand(in, p.dtype, p.a_binding, p.a_offset));
  fixed.add("source_b", operand(in, p.dtype, p.b_binding, p.b_offset));
  fixed.add("exponents_a", operand(in, DType::float32, p.a_halves.exponents, 0));
  fixed.add("exponents_b", operand(in, DType::float32, p.b_halves.exponents, 0));
  const std::pair<const char*, int64_t> words[] = {{"source_a_batch", p.a_batch},
                                                   {"source_a_m", p.a_m},
                                                   {"source_a_k", p.a_k},
                                                   {"source_b_batch", p.b_batch},
                                                   {"source_b_k", p.b_k},
                                                   {"source_b_n", p.b_n},
                                                   {"exponents_a_batch", p.a_halves.exponents_batch},
                                                   {"exponents_b_batch", p.b_halves.exponents_batch},
                                                   {"a_plane", p.a_halves.plane},
                                                   {"b_plane", p.b_halves.plane}};
  for (const auto& [name, v] : words) fixed.add(name, value(v));
}

// For operands with several strides along k or n: three digits, missing ones of size 1.
void walk_words(FixedWords& fixed, const Product& p) {
  const auto digits = [&](const std::string& name, const Dims& list, int64_t missing, int first) {
    for (int i = first; i < 3; ++i) {
      const int d = list.rank - 3 + i;
      fixed.add(name + std::to_string(i), value(d < 0 ? missing : missing ? std::max(list[d], missing) : list[d]));
    }
  };
  digits("k_size", p.inner.sizes, 1, 1);
  if (p.a_walks()) digits("a_k", p.inner.a, 0, 0);
  if (!p.b_walks()) return;
  digits("b_k", p.inner.b, 0, 0);
  digits("n_size", p.columns.sizes, 1, 1);
  digits("b_n", p.columns.b, 0, 0);
}

void fold_words(FixedWords& fixed, const Product& p) {
  fixed.add("folded", value(p.folded));
  fixed.add("b_folded", value(p.b_folded));
}

Dims one_by_one(const Dims& sizes, int64_t stride) {
  Dims out = contiguous_strides(sizes);
  for (int d = 0; d < out.rank; ++d) out[d] *= stride;
  return out;
}

constexpr int64_t kMostPitch = 1 << 20;  // elements: offsets within a tile of 256 rows take 32 bits
// Whether an operand can be loaded by four neighbours in memory: they lie along k or along the other side, whose sizes and
// the ways between them are multiples of four.
bool in_fours(bool along_k, int64_t k, int64_t step_k, int64_t size, int64_t step, int64_t batch, int64_t offset,
              bool aligned) {
  const int64_t fast = along_k ? step_k : step, slow = along_k ? step : step_k;
  return aligned && fast == 1 && slow >= 0 && slow < kMostPitch &&
         ((along_k ? k : size) | slow | batch | offset) % 4 == 0;
}

// Whether four neighbouring columns of a batch entry can be loaded at once, from any place in the whole of b by offsets of
// 32 bits.
bool folds_in_fours(const Product& p) {
  const int64_t reach = p.folded * std::abs(p.b_folded) + p.k * std::abs(p.b_k);
  return p.dtype == DType::float32 && p.b_n == 1 && p.b_folded >= 0 && p.b_folded % 4 == 0 && reach < INT32_MAX / 4 &&
         in_fours(false, p.k, p.b_k, p.n, p.b_n, p.b_batch, p.b_offset, p.b_aligned);
}

// The columns of batch entries are joined into one product, where that leaves fewer of a tile's unused. Otherwise entries
// with many columns are products of their own.
Product without_needless_folds(const Product& p) {
  constexpr int64_t kMany = 512, kTile = 256;
  Product out = p;
  if (p.folded == 1 || p.b_walks()) return out;
  if (folds_in_fours(p) && 32 * (round_up(p.n, kTile) - p.n) > p.n) return out;
  if (p.n >= kMany && p.folded == p.batch) {
    out.folded = 1;
    out.a_batch = 0;  // one group: all entries share a
    out.b_batch = p.b_folded;
  } else {
    out.inner.b = one_by_one(p.inner.sizes, p.b_k);
    out.columns.b = one_by_one(p.columns.sizes, p.b_n);
  }
  return out;
}

bool runs_along_k(const Dims& sizes, const Dims& strides, int64_t other_size, int64_t other_stride) {
  const auto length = [](int64_t size, int64_t stride) { return size / std::max<int64_t>(1, std::abs(stride)); };
  return length(sizes[sizes.rank - 1], strides[strides.rank - 1]) > length(other_size, other_stride);
}

bool plain_store(const Product& p) {
  const Program& e = p.epilogue;
  return p.dtype == DType::float32 && e.code.size() == 2 && e.code[0].code == Code::load && e.code[0].slot == 0 &&
         e.code[1].code == Code::store && e.code[1].a == 0 && e.views[e.code[1].slot].dtype == DType::float32;
}

bool epilogue_in_fours(const Layout& l) {
  const Program& p = l.program();
  if (p.domain[2] % 4) return false;
  for (size_t v = 0; v < p.views.size(); ++v)
    if (l.has_memory(static_cast<int>(v)) && !l.in_fours(static_cast<int>(v))) return false;
  return std::none_of(p.code.begin(), p.code.end(),
                      [&](const Instr& i) { return i.code == Code::store && l.zero(i.slot, 2); });
}

std::string element_macros(DType t) {
  const std::string name = memory_name(t);
  return std::string("#define ELEMENT ") + type_name(t) + "\n#define ELEMENT4 " + vector_name(t) + "\n#define MEMORY " +
         name + "\n#define MEMORY4 " + name + "x4\n#define BYTES " + offset_text(size_of(t)) + "\n" +
         "#define LOAD(x) " + load(t, 1, "x") + "\n#define LOAD4(x) " + load(t, 4, "x") + "\n" +
         "#define MULTIPLY_ADD(a, b, c) " + (is_float(t) ? "fma(a, b, c)" : "((a) * (b) + (c))") + "\n";
}

std::vector<uint32_t> constants_of(const Product& p, const ProductTile& v, bool rolled) {
  const bool a_along = p.a_walks() ? a_runs_along_k(p) : p.a_k == 1 && (p.a_m != 1 || p.m == 1);
  const bool b_along = p.b_walks() ? b_runs_along_k(p) : p.b_k == 1 && (p.b_n != 1 || p.n == 1);
  const int64_t k = p.k | p.sliced;  // a multiple of four when all slices are
  const bool a_fours = !p.a_walks() && in_fours(a_along, k, p.a_k, p.m, p.a_m, p.a_batch, p.a_offset, p.a_aligned);
  const bool b_fours = !p.b_walks() && in_fours(b_along, k, p.b_k, p.n, p.b_n, p.b_batch, p.b_offset, p.b_aligned);
  const uint32_t unroll = rolled ? kRolledUnroll : v.tile_k <= kShortStep ? v.tile_k : kUnroll;
  return {v.tile_m, v.tile_n, v.tile_k,    v.thread_m, v.thread_n, v.parts,
          a_along,  b_along,  v.threads(), a_fours,    b_fours,    std::min(unroll, v.tile_k / v.parts)};
}

// Whether operands that walk do so within 2 GiB, so that offsets of 32 bits serve.
bool walks_narrowly(const Product& p) {
  const auto way = [](const Dims& sizes, const Dims& strides) {
    int64_t sum = 0;
    for (int d = 0; d < strides.rank; ++d) sum += (sizes[d] - 1) * std::abs(strides[d]);
    return sum;
  };
  const int64_t a = way(p.inner.sizes, p.inner.a) + (p.m - 1) * std::abs(p.a_m);
  const int64_t b =
      way(p.inner.sizes, p.inner.b) + way(p.columns.sizes, p.columns.b) + (p.folded - 1) * std::abs(p.b_folded);
  return std::max(a, b) < INT32_MAX / static_cast<int64_t>(size_of(p.dtype));
}

Shaders::Written write_product(const Product& p, const Layout& l, const FixedWords& fixed,
                               const std::vector<uint32_t>& constants, bool plain, const Walks& walks,
                               const Features& features) {
  Arguments args;
  fixed.declare(args);
  if (plain) return {sealed({.builtin = "product", .constants = constants}), std::move(args)};
  const std::string epilogue = write_epilogue(args, l, walks.one_column ? 1 : 4);
  std::string flags = element_macros(p.dtype) + walks.flags();
  flags += reports(args, l);
  if (p.sliced) flags += "#define SLICED\n";
  const std::string storage = size_of(p.dtype) == 2 ? "#define SG_STORAGE16\n" : "";
  std::string source =
      preamble("Matrix product of " + std::string(name_of(p.dtype)), l, args, false, features, false, storage) + flags +
      "\n" + epilogue + "#include \"product.glsl\"\n";
  return {sealed({.source = std::move(source), .constants = constants}), std::move(args)};
}

Lowered launched(const Step& step, const Layout& l, const FixedWords& fixed, const Shaders::Written& written,
                 int64_t groups, const Features& features) {
  Lowered out;
  out.name = step.name;
  out.shader = written.shader;
  out.arguments = written.arguments.words(l, 0, fixed.words);
  out.groups[0] = static_cast<uint32_t>(std::min(groups, features.max_groups));
  return out;
}

void check(const Step& step, const Product& p) {
  if (p.dtype == DType::boolean)
    fail<LimitError>(step.name, "a product of bool tensors has no GPU kernel", "cast to int32 first");
  if (p.epilogue.domain.rank != 3 || p.epilogue.inner != 0)
    fail<Error>(step.name, "the epilogue of a product runs over [batch, m, n], not " + p.epilogue.domain.str(),
                "report this");
  if (std::max({p.m, p.n * p.folded, p.k}) > INT32_MAX)
    fail<LimitError>(step.name, "a side of the product has more than 2147483647 elements", "cut it in parts");
}

// However its batch is folded, a product reads the same elements.
void check_reach(const Step& step, const Product& planned, const Product& lowered) {
  if (planned.k == 0 || reach_of(planned) == reach_of(lowered)) return;
  fail<Error>(step.name, "the kernel reads other elements than were planned", "please report this bug");
}

}  // namespace

ArgWord operand(const Instance& in, DType dtype, int32_t binding, int64_t offset) {
  const Binding& b = in.bindings[binding];
  const int64_t bytes = static_cast<int64_t>(size_of(dtype));
  return {.kind = ArgWord::Kind::address,
          .dtype = dtype,
          .memory = b.memory,
          .start = b.start,
          .value = offset * bytes,
          .element_bytes = bytes};
}

bool a_runs_along_k(const Product& p) { return runs_along_k(p.inner.sizes, p.inner.a, p.m, p.a_m); }
bool b_runs_along_k(const Product& p) {
  const int last = p.columns.sizes.rank - 1;
  return runs_along_k(p.inner.sizes, p.inner.b, p.columns.sizes[last], p.columns.b[last]);
}

Walks::Walks(const Product& p, const Layout& l)
    : a(p.a_walks()),
      b(p.b_walks()),
      narrow((a || b) && walks_narrowly(p)),
      folded(p.folded > 1),
      one_column(folded && !epilogue_in_fours(l)) {}

std::string Walks::flags() const {
  std::string text;
  if (a) text += "#define A_WALKS\n";
  if (b) text += "#define B_WALKS\n";
  if (any()) text += std::string("#define OFFSET ") + (narrow ? "int" : "SignedOffset") + "\n";
  if (folded) text += "#define FOLDED\n";
  if (one_column) text += "#define ONE_COLUMN\n";
  return text;
}

std::string reports(Arguments& args, const Layout& l) {
  Writer none;
  Body body(none, args, l);
  body.use_status();
  std::string calls;
  for (int k = 1; k <= l.program().checks(); ++k) calls += " " + body.report(k);
  return calls.empty() ? "" : "#define REPORTS" + calls + "\n";
}

std::string write_epilogue(Arguments& args, const Layout& l, int width) {
  const DType sums = l.program().views[0].dtype;
  Writer w;
  Body body(w, args, l);
  if (width == 1) {
    w.open("void epilogue(uint batch, uint m, uint n, " + std::string(type_name(sums)) + " sum)");
    body.pointwise(1, {"batch", "m", "n"}, {{0, "sum"}});
    w.close().line();
    return w.text;
  }
  const bool four = epilogue_in_fours(l);
  w.open(std::string("void epilogue(uint batch, uint m, uint ") + (four ? "n" : "first") + ", " + vector_name(sums) +
         " sum)");
  if (!four) {
    w.open("[[unroll]] for (uint l = 0; l < 4; ++l)");
    w.line("const uint n = first + l;").open("if (n < uint(size_n))");
  }
  body.pointwise(four ? 4 : 1, {"batch", "m", "n"}, {{0, four ? "sum" : "sum[l]"}});
  if (!four) w.close().close();
  w.close().line();
  return w.text;
}

ProductTile choose_product(int64_t m, int64_t n, int64_t k, int64_t batch, DType dtype, const Features& features) {
  // Enough workgroups for every processor of a large GPU come before large tiles; half-empty tiles come last. With
  // about one workgroup a processor nothing hides the loads but a longer K step.
  const Tiles& t = *features.tiles;
  const int64_t bytes = static_cast<int64_t>(size_of(wide_of(dtype))), narrow = std::min(m, n);
  const int64_t blocks = tiles(t.medium, m, n, batch);
  ProductTile wanted = t.medium;
  if (blocks < t.crowded && k > 32) wanted.tile_k = 32;
  const ProductTile large = fit(t.large, bytes, features), medium = fit(wanted, bytes, features);
  const ProductTile small = fit(t.small, bytes, features), tiny = fit(t.tiny, bytes, features);
  if (bytes == 4) {
    // Large tiles are worth it when they keep five processors of eight at work.
    const int64_t count = tiles(large, m, n, batch), rounds = (count + t.processors - 1) / t.processors;
    if (large.tile_k && narrow > 64 && 8 * count >= 5 * rounds * t.processors) return large;
    const ProductTile wide = fit(t.wide, bytes, features), low = fit(t.low, bytes, features),
                      flat = fit(t.flat, bytes, features);
    if (wide.tile_k >= 8 && m > 32 && m <= 64 && tiles(wide, m, n, batch) >= 2 * t.busy) return wide;
    if (low.tile_k == t.low.tile_k && m > 4 && m <= 16 && tiles(low, m, n, batch) >= 4 * t.busy) return low;
    if (flat.tile_k == t.flat.tile_k && m <= 4 && tiles(flat, m, n, batch) >= 4 * t.busy) return flat;
  }
  if (medium.tile_k && narrow > 32 && blocks >= t.nearly_busy) return medium;
  if (small.tile_k && narrow > 16 && (tiles(small, m, n, batch) >= t.busy || !tiny.tile_k)) return small;
  return tiny.tile_k ? tiny : medium;
}

Lowered lower_product(const Step& step, const Features& features, Fit fit, Shaders& shaders) {
  const Instance& in = step.only();
  const Product p = without_needless_folds(*in.kernel.product);
  check(step, p);
  Layout l;
  l.instances = {&in};
  l.programs = {p.epilogue};
  l.find_width();
  if (p.window.pitch) return lower_grouped(step, l, features, shaders);
  if (shaders.checked()) check_reach(step, *in.kernel.product, p);
  const Walks walks(p, l);
  const std::optional<ShiftedRows> shifted = shifted_rows_of(p, features);
  if (const Product factors = p.planes() ? of_halves(p)
                              : shifted  ? as_one_row(p)
                                         : p;
      auto matrix = choose_matrix_product(factors, l, features, fit)) {
    matrix->shifted = shifted.has_value();
    FixedWords fixed;
    product_words(fixed, in, factors);
    if (p.planes()) scaled_words(fixed, in, p);
    if (shifted) fixed.add("run_k", value(shifted->length)), fixed.add("run_shift", value(shifted->shift));
    if (walks.any() && !shifted) walk_words(fixed, p);
    if (p.b_walks() && !shifted) fold_words(fixed, p);
    Form form(Form::Kind::matrix_product);
    form.add(l);
    form.add(static_cast<uint64_t>(factors.dtype));
    matrix->add_to(form);
    walks.add_to(form);
    const auto write = [&] { return write_matrix_product(factors, l, fixed, *matrix, features); };
    Lowered out = launched(step, l, fixed, shaders.find(std::move(form), write), matrix->groups, features);
    out.general = matrix->general;
    return out;
  }
  FixedWords fixed;
  product_words(fixed, in, p);
  const int64_t groups = p.batch / std::max<int64_t>(1, p.folded), columns = p.n * p.folded;
  const ProductTile v = choose_product(p.m, columns, p.k, groups, p.dtype, features);
  const std::vector<uint32_t> constants = constants_of(p, v, features.tiles->rolled);
  const bool plain = plain_store(p) && !walks.any() && !walks.folded && !p.sliced, four = epilogue_in_fours(l);
  if (plain) {
    const View& to = p.epilogue.views[p.epilogue.code[1].slot];
    fixed.add("tensor_out", operand(in, p.dtype, to.binding, to.offset));
    for (int d = 0; d < 3; ++d) fixed.add("out", value(to.strides[d]));
  } else {
    if (walks.any()) walk_words(fixed, p);
    if (walks.folded || walks.b) fold_words(fixed, p);
  }
  Form form(Form::Kind::product);
  form.add(l);
  form.add({plain, four, p.sliced != 0});
  walks.add_to(form);
  form.add(static_cast<uint64_t>(p.dtype));
  for (uint32_t c : constants) form.add(c);
  const auto write = [&] { return write_product(p, l, fixed, constants, plain, walks, features); };
  const Shaders::Written& known = shaders.find(std::move(form), write);

  return launched(step, l, fixed, known, tiles(v, p.m, columns, groups), features);
}

}  // namespace sg::glsl
