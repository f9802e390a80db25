// Which kernel of attention a GPU runs, and with which tiles: a function of sizes and of the device's facts alone.
#include <climits>
#include <cstring>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/round.hpp"
#include "ops/attention.hpp"
#include "ops/launch.hpp"

namespace sg::attention_op {
namespace {

// Twin of ROOM in attention.glsl: the space for a row of that many units of 16 bytes.
constexpr int64_t room(int64_t units) { return units % 8 == 0 ? units : units | 1; }

int64_t shared_bytes(const AttentionTile& t, const Problem& p, bool forward, bool dropout) {
  const int64_t widest = divide_up(std::max(p.d, p.e), 4);
  const int64_t staged = std::max((t.rows + t.cols) * room(t.step), t.depth * room(widest));
  const int64_t words = std::max(t.rows, t.cols) * std::max<int64_t>(1, std::max(t.rows, t.cols) / 32);
  return 16 * (staged + t.rows * room(t.cols / 4)) + (forward ? 4 * t.rows * (t.cols / t.thread_cols) : 0) +
         (dropout ? 4 * words : 0);
}

constexpr int64_t kFew = 8;  // queries: for fewer, all that counts is how soon the keys are through

// The first tile that the device holds, unless it would be half empty, leave threads without results or processors of a
// large GPU without work.
AttentionTile choose(std::span<const AttentionTile> tiles, const Problem& p, int64_t rows, int64_t matrices,
                     bool forward, bool dropout, const Features& f) {
  constexpr int64_t kNarrow = 32;
  const int64_t widest = std::max(p.d, p.e);
  const auto unfit = [&](const AttentionTile& t) {
    if (t.rows >= 2 * rows && !(forward && rows < kFew)) return true;
    const int64_t most = forward ? f.tiles->forward_sums : f.tiles->backward_sums;
    if (4 * t.across() > std::max(widest, kNarrow) || t.sums(widest, forward) > most) return true;
    return t.rows > 32 && matrices * divide_up(rows, t.rows) < f.tiles->busy;
  };
  for (const AttentionTile& t : tiles) {
    if (&t != &tiles.back() && unfit(t)) continue;
    if (t.threads() <= f.max_group_threads && shared_bytes(t, p, forward, dropout) <= f.shared_bytes) return t;
  }
  fail<LimitError>("attention", std::to_string(f.shared_bytes) + " bytes of shared memory are too few",
                   "use the CPU device");
}

std::string defined(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}
std::string defined(const char* name, const std::string& value) {
  return std::string("#define ") + name + " " + value + "\n";
}

// How shaders/attention.glsl reads and writes elements, four of them, and one.
std::string element_text(DType dtype) {
  const bool half = size_of(dtype) == 2;
  const std::string name = name_of(dtype), memory = char(name[0] - 'a' + 'A') + name.substr(1);
  const auto of = [&](const char* with) { return half ? std::string(with) + name : std::string(); };
  const auto in = [&](const char* behind) { return half ? name + behind : std::string(); };
  return defined("MEMORY", memory) + defined("MEMORY4", memory + "x4") + defined("LOAD(x)", in("_value") + "(x)") +
         defined("LOAD4(x)", of("unpack_") + "(x)") +
         defined("STORE(x)", half ? "uint16_t(" + name + "_bits(x))" : "(x)") +
         defined("STORE4(x)", of("pack_") + "(x)");
}

std::string tile_text(const AttentionTile& t) {
  std::string text;
  for (const auto& [name, value] : {std::pair<const char*, int64_t>{"ROWS", t.rows},
                                    {"COLS", t.cols},
                                    {"THREAD_ROWS", t.thread_rows},
                                    {"THREAD_COLS", t.thread_cols},
                                    {"STEP", t.step},
                                    {"DEPTH", t.depth}})
    text += defined(name, value);
  return text;
}

// ROWS, COLS and THREADS of shaders/attention_cm2.glsl, for narrow and wide heads, and of attention_cm1.glsl; largest first.
using Path = MatrixUnits::Path;
struct WeightsTile {
  int64_t rows, cols, threads;
};
constexpr int64_t kNarrowHead = 64, kWidestSplit = 128;
constexpr WeightsTile kNarrowTiles[] = {{64, 32, 128}}, kWideTiles[] = {{128, 32, 256}, {64, 32, 128}};
constexpr WeightsTile kFragmentTiles[] = {{64, 32, 128}, {32, 32, 64}, {32, 16, 32}, {16, 16, 32}, {16, 16, 16}};

std::span<const WeightsTile> tiles_of(Path path, bool split, const Problem& p, const char* phase) {
  if (path == Path::cm1) return kFragmentTiles;
  const bool wide = std::max(p.d, p.e) > kNarrowHead && (split || std::strcmp(phase, "KEYS"));
  return wide ? std::span<const WeightsTile>(kWideTiles) : kNarrowTiles;
}

int64_t padded(int64_t size, const MatrixUnits& u) {
  const int64_t to = std::max({u.n, u.k, 8u});
  return round_up(size, to);
}

// What attention_cm2.glsl and attention_cm1.glsl share, in bytes. `planes` is 2 where numbers are split.
int64_t shared_bytes(Path path, int64_t planes, const WeightsTile& t, const Problem& p, const MatrixUnits& u,
                     int64_t subgroup, const char* phase, bool dropout) {
  const bool forward = !std::strcmp(phase, "FORWARD"), keys = !std::strcmp(phase, "KEYS");
  const int64_t d = padded(p.d, u) / 8 + 1, e = padded(p.e, u) / 8 + 1, weights = t.cols / 8 + 1;
  const int64_t words = dropout ? std::max(t.rows, t.cols) * 2 : 0;
  if (path == Path::cm2)
    return 16 * std::max(planes * t.cols * (d + e), t.rows * std::max(d, e)) +
           4 * (words + (forward ? 0 : 2 * (keys ? t.cols : t.rows)));
  const int64_t subgroups = t.threads / subgroup, fragment = u.m * u.n / 4;
  const int64_t eights = t.rows * (d + (forward ? 0 : e) + (keys ? 2 : 1) * weights) + t.cols * (d + e);
  const int64_t fours = forward ? std::max(t.rows * (t.cols / 4 + 1), subgroups * fragment) : subgroups * 2 * fragment;
  const int64_t numbers = forward ? t.rows * (3 + t.cols / 8) : 2 * (keys ? t.cols : t.rows);
  return 16 * (eights + fours) + 4 * (numbers + words);
}

// The matrix units that take the sizes, and the largest tile that the device holds.
struct MatrixChoice {
  Path path = Path::none;
  DType factors{};
  MatrixUnits fragment;
  WeightsTile tile{};
};
MatrixChoice choose_matrix(DType dtype, const Problem& p, const char* phase, bool dropout, const Features& f) {
  const bool split = dtype == DType::float32;
  const DType factors = split ? DType::float16 : dtype;
  const Path path = size_of(factors) == 2 ? f.units(factors).path : Path::none;
  constexpr int64_t kLeast = 16;  // queries and keys that are worth padding to a tile
  if (path == Path::none || p.d % 8 || p.e % 8 || p.queries < kLeast || p.keys < kLeast) return {};
  if (path == Path::cm1 && !f.tiles->attention_by_fragments) return {};
  if (split && (path != Path::cm2 || std::max(p.d, p.e) > kWidestSplit)) return {};
  const MatrixUnits u = f.fragments(factors);
  const int64_t subgroup = f.subgroup;
  if (!subgroup || u.path == Path::none || u.n % 8 || u.k % 8 || (path == Path::cm2 && u.n != u.k)) return {};
  for (const WeightsTile& t : tiles_of(path, split, p, phase)) {
    if (t.threads % subgroup || t.rows % (t.threads / subgroup * u.m) || t.cols % u.n || t.cols % u.k) continue;
    if (t.threads <= f.max_group_threads &&
        shared_bytes(path, split ? 2 : 1, t, p, u, subgroup, phase, dropout) <= f.shared_bytes)
      return {path, factors, u, t};
  }
  return {};
}

std::string matrix_text(const MatrixChoice& c, const Problem& p, const Features& f) {
  const std::string name = name_of(c.factors);
  return defined("ROWS", c.tile.rows) + defined("COLS", c.tile.cols) + defined("THREADS", c.tile.threads) +
         defined("SUBGROUP", f.subgroup) + defined("M", c.fragment.m) + defined("N", c.fragment.n) +
         defined("K", c.fragment.k) + defined("PADDED_D", padded(p.d, c.fragment)) +
         defined("PADDED_E", padded(p.e, c.fragment)) + defined("MATRIX", name + "_t") +
         defined("PACK4", "pack_" + name) +
         (c.path == Path::cm2 ? "#include \"attention_cm2.glsl\"\n" : "#include \"attention_cm1.glsl\"\n");
}

}  // namespace

constexpr int64_t kTurns = 8;  // tiles of a workgroup where most have nothing to do

void launch_on_gpu(const Node& node, const Problem& p, CustomKernel& custom, const char* phase,
                   const Features& features, int64_t part, Heads which) {
  const AttentionParameters a = parameters_of(node);
  const bool forward = !std::strcmp(phase, "FORWARD"), keys = !std::strcmp(phase, "KEYS");
  const int64_t rows = keys ? p.keys : p.queries, matrices = p.batch * (keys ? p.sources() : p.heads);
  std::string text =
      defined("BYTES", static_cast<int64_t>(size_of(node.dtype))) + defined("D", p.d) + defined("E", p.e);
  int64_t at = forward ? kForwardTensors : kBackwardTensors;
  if (a.has(kStarts)) text += defined("STARTS_AT", at++);
  if (a.has(kMasked) && custom.words[kMask]) text += "#define MASK_IS_BOOL\n";
  if (a.has(kMasked)) text += defined("MASK_AT", at++);
  if (a.has(kDropout)) text += defined("DROPOUT_AT", at++);
  if (which != Heads::all)
    text += defined("POWERS_AT", at++) + defined("MATRICES", forward ? 3 : 4) + defined("SPLIT", which == Heads::split);
  if (which == Heads::others) text += defined("TURNS", kTurns);
  text += std::string("#define ") + phase + "\n";
  if (part) text += defined("PART_KEYS", part);
  const bool units = !part && (which == Heads::split || size_of(node.dtype) == 2);
  const MatrixChoice matrix = units ? choose_matrix(node.dtype, p, phase, a.has(kDropout), features) : MatrixChoice{};
  int64_t tile_rows = matrix.tile.rows;
  if (matrix.path == Path::none) {
    const Tiles& all = *features.tiles;
    const AttentionTile t = choose(!forward           ? all.backward
                                   : p.queries < kFew ? all.decode
                                                      : all.forward,
                                   p, rows, matrices, forward, a.has(kDropout), features);
    if (all.rolled) text += "#define ROLLED\n";
    text += tile_text(t) + element_text(node.dtype) + "#include \"attention.glsl\"\n";
    tile_rows = t.rows;
  } else {
    if (keys && (custom.words[kFlags] & kWantsKey)) text += "#define TO_KEY\n";
    if (keys && (custom.words[kFlags] & kWantsValue)) text += "#define TO_VALUE\n";
    text += matrix_text(matrix, p, features);
  }
  custom.source = text;
  custom.matrix = matrix.path;
  const int64_t parts = part ? divide_up(p.keys, part) : 1;
  const int64_t blocks = divide_up(rows, tile_rows);
  set_groups(custom, matrices * (which == Heads::others ? divide_up(blocks, kTurns) : blocks) * parts);
}

bool splits_on_gpu(const Node& node, const Problem& p, const Features& features) {
  constexpr double kLeastWork = 1 << 27;  // multiplications of a product of all queries and keys
  const AttentionParameters a = parameters_of(node);
  const double work = static_cast<double>(p.pairs(a.has(kCausal))) * static_cast<double>(p.d + p.e) / 2;
  if (node.dtype != DType::float32 || work < kLeastWork) return false;
  for (const char* phase : {"FORWARD", "QUERIES", "KEYS"})
    if (choose_matrix(node.dtype, p, phase, a.has(kDropout), features).path == Path::none) return false;
  return true;
}

bool keys_apart(const Problem& p) { return std::max(p.d, p.e) > kNarrowHead; }

int64_t powers_of(const Problem& p, bool gradient) {
  return p.batch * ((gradient ? 2 : 1) * p.heads + 2 * p.sources());
}

void powers_on_gpu(const Problem& p, bool gradient, const Features& features, CustomKernel& custom) {
  const auto cluster = std::bit_ceil(static_cast<uint64_t>(divide_up(std::max(p.d, p.e), 4)));
  custom.source = defined("BYTES", 4) + defined("D", p.d) + defined("E", p.e) + defined("MATRICES", gradient ? 4 : 3) +
                  defined("CLUSTER", static_cast<int64_t>(cluster)) + "#include \"attention_powers.glsl\"\n";
  custom.matrix = Path::cm2;
  custom.threads = std::min<int64_t>(512, features.max_group_threads);
  custom.cost =
      static_cast<double>((p.logs() * (gradient ? p.d + p.e : p.d)) + p.batch * p.sources() * p.keys * (p.d + p.e));
  set_groups(custom, powers_of(p, gradient));
}

int64_t part_of_keys(const Problem& p) {
  constexpr int64_t kShort = 256, kGroups = 2048;  // keys, and workgroups that are enough
  if (p.queries >= kFew || p.keys <= kShort) return 0;
  if (p.logs() * p.e > INT_MAX) return 0;  // attention_join.glsl counts results in 32 bits
  const int64_t each = p.keys * p.batch * p.heads / kGroups;
  return std::max(kShort, round_up(each, 32));
}

void join_on_gpu(DType dtype, const Problem& p, int64_t part, const Dims& out_strides, const Features& features,
                 CustomKernel& custom) {
  custom.words = {p.heads,        p.queries,      p.e,           divide_up(p.keys, part), p.logs() * p.e,
                  out_strides[0], out_strides[1], out_strides[2]};
  custom.cost = static_cast<double>(p.logs() * p.e);
  custom.source = defined("BYTES", static_cast<int64_t>(size_of(dtype))) + element_text(dtype) +
                  "#include \"attention_join.glsl\"\n";
  set_threads(custom, p.logs() * p.e, features);
}

}  // namespace sg::attention_op
