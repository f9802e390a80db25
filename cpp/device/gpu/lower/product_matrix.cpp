// Products of half types, and of float32 as scaled halves, on matrix units: shaders/product_cm2.glsl or product_cm1.glsl,
// whichever the device has; operands that walk need the second. Whatever they cannot take (strides other than 1 in both
// directions, sides shorter than a fragment) stays with shaders/product.glsl.
#include <algorithm>

#include "base/round.hpp"
#include "device/gpu/lower/glsl_kernel.hpp"
#include "device/gpu/lower/product.hpp"
#include "kernel/matrix_tiles.hpp"

namespace sg::glsl {
namespace {

using Entry = Arguments::Entry;
using Path = MatrixUnits::Path;

constexpr int64_t kLeastSide = 16;  // of a product that is worth padding to a tile

int64_t tiles(const MatrixTile& t, const Product& p) {
  return divide_up(p.m, int64_t{t.m}) * divide_up(p.n * p.folded, int64_t{t.n}) * (p.batch / p.folded);
}

// Which way neighbours in memory run.
struct Neighbours {
  bool any = false, along_k = false;
  bool even = false;  // rows and batches begin at multiples of eight elements
};
Neighbours neighbours_of(int64_t along_k, int64_t other, int64_t batch, int64_t offset, bool aligned) {
  Neighbours r;
  r.along_k = along_k == 1;
  const int64_t pitch = r.along_k ? other : along_k;
  r.any = (r.along_k || other == 1) && pitch >= 0 && pitch <= INT32_MAX;
  r.even = aligned && pitch % 8 == 0 && batch % 8 == 0 && offset % 8 == 0;
  return r;
}

// The one store of an epilogue whose result is a matrix with neighbouring columns; null: it does more, or another thing.
const Instr* only_store(const Layout& l, DType half) {
  const Program& e = l.program();
  const Instr* found = nullptr;
  for (const Instr& i : e.code) {
    if (!is_store(i.code)) continue;
    if (found || i.code != Code::store) return nullptr;
    found = &i;
  }
  if (!found || uses_code(e, Code::check_index)) return nullptr;
  const View& to = e.views[found->slot];
  const bool matrix = to.strides[2] == 1 && to.strides[1] >= e.domain[2] && to.strides[0] >= 0 && to.offset >= 0 &&
                      to.strides[1] <= INT32_MAX;
  return matrix && (to.dtype == half || to.dtype == DType::float32) ? found : nullptr;
}

// Whether rows of a stored result begin at multiples of eight elements.
bool stores_evenly(const Layout& l, DType half) {
  const Instr* store = only_store(l, half);
  if (!store) return false;
  const View& to = l.program().views[store->slot];
  return to.aligned && to.strides[1] % 8 == 0 && to.strides[0] % 8 == 0 && to.offset % 8 == 0;
}

// Nothing between the sum and its store but the rounding that the store does anyway. Drivers may cut off the digits that
// bfloat16 does not have, where float16 is rounded: such sums are rounded before they are stored.
bool is_plain(const Program& e, const Instr& store) {
  if (e.views[store.slot].dtype == DType::bfloat16) return false;
  if (e.code[store.a].code == Code::load && e.code[store.a].slot == 0) return true;
  const Instr& cast = e.code[store.a];
  return cast.code == Code::cast && cast.dtype == e.views[store.slot].dtype && e.code[cast.a].code == Code::load &&
         e.code[cast.a].slot == 0;
}

// No unit adds up in bfloat16, so no matrix of sums is of it: those that are stored are left factors.
const char* stored_use(DType t) { return t == DType::bfloat16 ? "gl_MatrixUseA" : "gl_MatrixUseAccumulator"; }

const char* matrix_type(DType t) {
  return t == DType::float16 ? "float16_t" : t == DType::bfloat16 ? "bfloat16_t" : "float";
}

std::string value_function(Arguments& args, const Layout& l, const Instr& store) {
  Writer w;
  Body body(w, args, l);
  w.open("float epilogue(uint batch, uint m, uint n, float sum)").line("float result;");
  body.pointwise(1, {"batch", "m", "n"}, {{0, "sum"}, {store.slot, "result"}});
  w.line("return result;").close().line();
  return w.text;
}

std::string defined(const std::string& name, const std::string& value) {
  return "#define " + name + " " + value + "\n";
}

// The part of the text that product_cm2.glsl includes: how results are stored.
std::string workgroup_epilogue(Arguments& args, const Layout& l, DType half, int planes) {
  const Instr* store = only_store(l, half);
  if (!store) return write_epilogue(args, l, 1);
  const View& to = l.program().views[store->slot];
  const auto stride = [&](int d) { return args.use(Entry::stride, store->slot, d); };
  const std::string bytes = std::to_string(size_of(to.dtype));
  std::string text = defined("STORED", matrix_type(to.dtype)) + defined("STORED_USE", stored_use(to.dtype)) +
                     defined("STORED_BYTES", bytes) + defined("out_m", stride(1)) +
                     defined("RESULT", address_add(args.use(Entry::tensor, store->slot),
                                                   offset_text(size_of(to.dtype)) + " * batch * " + stride(0)));
  if (!planes && is_plain(l.program(), *store)) return text + "#define PLAIN\n";
  return text + value_function(args, l, *store);
}

// Steps in a row let the driver load ahead; a loop that begins and ends for a few that remain costs more than that. The sums
// of two planes are added after each row of them, so that one is always the same.
void unroll(MatrixProduct& out, const Product& p, Fit fit) {
  constexpr int64_t kMany = 32;  // steps, of which few remain
  const int64_t steps = p.k / kWorkgroupStep;
  if (p.planes() == 2) {
    out.unroll = 4;
    out.rest = true;
    return;
  }
  uint32_t most = 8;
  while (most > 1 && steps % most) most /= 2;
  const bool rest = most == 1 && steps >= kMany;
  if (rest) most = 8;
  out.general = fit == Fit::general && most > 1;
  if (out.general) return;
  out.unroll = most;
  out.rest = rest;
}

}  // namespace

std::optional<ShiftedRows> shifted_rows_of(const Product& p, const Features& features) {
  if (!p.b_walks() || p.a_walks() || p.folded != 1 || p.a_k != 1) return std::nullopt;
  if (p.columns.sizes.rank != 1 || p.inner.sizes.rank != 2 || p.inner.b[1] != 1) return std::nullopt;
  if (features.units(p.dtype).path != Path::cm2) return std::nullopt;
  const int64_t length = p.inner.sizes[1], step = p.inner.b[0], column = p.columns.b[0];
  if (length % kWorkgroupStep || column <= 0 || step < 0 || step % column) return std::nullopt;
  return ShiftedRows{length, step / column};
}

Product as_one_row(const Product& p) {
  Product out = p;
  out.b_k = 1, out.b_n = p.columns.b[0];
  out.inner.b = out.columns.b = {};
  return out;
}

void MatrixProduct::add_to(Form& form) const {
  form.add({path == Path::cm2, even, stored, shifted, planes > 0, planes > 1, rest});
  form.add(static_cast<uint64_t>(unroll));
  for (uint32_t c : constants) form.add(c);
}

std::optional<MatrixProduct> choose_matrix_product(const Product& p, const Layout& l, const Features& features,
                                                   Fit fit) {
  if (p.dtype != DType::float16 && p.dtype != DType::bfloat16) return std::nullopt;
  const bool walks = p.a_walks() || p.b_walks();
  const MatrixUnits units = walks ? features.fragments(p.dtype) : features.units(p.dtype);
  if (units.path == Path::none || (p.folded > 1 && !p.b_walks())) return std::nullopt;
  if (std::min({p.m, p.n * p.folded, p.k}) < kLeastSide || l.wide) return std::nullopt;
  const Neighbours a = p.a_walks() ? Neighbours{.any = true, .along_k = a_runs_along_k(p)}
                                   : neighbours_of(p.a_k, p.a_m, p.a_batch, p.a_offset, p.a_aligned);
  const Neighbours b = p.b_walks() ? Neighbours{.any = true, .along_k = b_runs_along_k(p)}
                                   : neighbours_of(p.b_k, p.b_n, p.b_batch, p.b_offset, p.b_aligned);
  if (!a.any || !b.any) return std::nullopt;
  const bool even = a.even && b.even;
  const bool workgroups = units.path == Path::cm2;
  const MatrixTile* tile = choose_matrix_tile({.units = units,
                                               .m = p.m,
                                               .n = p.n * p.folded,
                                               .k = p.k,
                                               .batch = p.batch / p.folded,
                                               .planes = p.planes(),
                                               .a_along_k = a.along_k,
                                               .b_along_k = b.along_k,
                                               .walks = walks},
                                              features);
  if (!tile) return std::nullopt;
  MatrixProduct out{units.path,     {tile->m, tile->n, tile->k},       p.planes(),
                    even,           only_store(l, p.dtype) != nullptr, false,
                    tiles(*tile, p)};
  const std::vector<uint32_t> more =
      workgroups ? std::vector<uint32_t>{tile->threads, a.along_k, b.along_k, even, stores_evenly(l, p.dtype)}
                 : std::vector<uint32_t>{features.subgroup,
                                         a.along_k,
                                         b.along_k,
                                         a.even,
                                         b.even,
                                         units.m,
                                         units.n,
                                         units.k,
                                         rows_of_subgroups(tile->threads / features.subgroup),
                                         tile->threads};
  out.constants.insert(out.constants.end(), more.begin(), more.end());
  if (workgroups) unroll(out, p, fit);
  return out;
}

Shaders::Written write_matrix_product(const Product& p, const Layout& l, const FixedWords& fixed,
                                      const MatrixProduct& matrix, const Features& features) {
  const bool workgroups = matrix.path == Path::cm2;
  const Walks walks(p, l);
  Arguments args;
  fixed.declare(args);
  std::string text = defined("MATRIX", matrix_type(p.dtype));
  if (workgroups)
    text += defined("ALIGNMENT", matrix.even ? "16" : "2") + workgroup_epilogue(args, l, p.dtype, matrix.planes);
  else
    text += walks.flags() + write_epilogue(args, l, walks.one_column ? 1 : 4);
  if (matrix.shifted) text += "#define RUNS\n";
  if (workgroups) text += defined("UNROLL", std::to_string(matrix.unroll));
  if (matrix.rest) text += "#define REST\n";
  if (matrix.planes) text += "#define SCALED\n#define PLANES " + std::to_string(matrix.planes) + "\n";
  text += reports(args, l);
  const std::string path = workgroups ? "cm2" : "cm1";
  const std::string defines = "#define SG_STORAGE16\n#define SG_MATRIX_" + path + "\n" +
                              (p.dtype == DType::bfloat16 ? "#define SG_BFLOAT16\n" : "");
  std::string source = preamble("Matrix product of " + std::string(name_of(p.dtype)) + " on matrix units", l, args,
                                false, features, false, defines) +
                       text + "\n#include \"product_" + path + ".glsl\"\n";
  return {sealed({.source = std::move(source),
                  .constants = matrix.constants,
                  .subgroups = workgroups ? Subgroups::any : Subgroups::counted}),
          std::move(args)};
}

}  // namespace sg::glsl
