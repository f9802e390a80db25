// Owns the launches of sorting, choosing and searching, with the algorithms for the CPU. Knows no tensors: only keys,
// memories and sizes.
#include "ops/order.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/round.hpp"
#include "ops/launch.hpp"

namespace sg {
namespace {

// ---- CPU --------------------------------------------------------------------------------------------------------------
template <class T>
using KeyBits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// Twin of `ordered` in shaders/sort.glsl.
template <class T>
KeyBits<T> ordered(T x, KeyBits<T> flip, KeyBits<T> invert) {
  constexpr KeyBits<T> sign = KeyBits<T>(1) << (8 * sizeof(T) - 1);
  const auto bits = std::bit_cast<KeyBits<T>>(x);
  if constexpr (std::is_integral_v<T>) return (bits ^ flip) ^ invert;
  const KeyBits<T> number = bits ^ ((KeyBits<T>(0) - (bits >> (8 * sizeof(T) - 1))) | sign);
  return (x != x ? ~KeyBits<T>(0) : x == 0 ? sign : number) ^ invert;
}

struct CpuKeys {
  int64_t rows, n;
  uint64_t flip, invert;
  explicit CpuKeys(const int64_t* w)
      : rows(w[0]), n(w[1]), flip(static_cast<uint64_t>(w[2])), invert(w[3] ? ~0ull : 0) {}
  template <class T>
  KeyBits<T> key(T x) const {
    return ordered<T>(x, static_cast<KeyBits<T>>(flip), static_cast<KeyBits<T>>(invert));
  }
};

// One word to sort: 32 bits of the key above, the element's place below.
using Placed = uint64_t;
constexpr int kPlace = 32;  // bits
int32_t place_of(Placed e) { return static_cast<int32_t>(e & 0xffffffffu); }

// Calls `sort` for each run of two or more words that agree from bit `begin` on.
template <class Do>
void each_run(Placed* all, int64_t n, int begin, const Do& sort) {
  for (int64_t i = 1; i < n; ++i) {
    if ((all[i] ^ all[i - 1]) >> begin) continue;  // most
    const int64_t first = i - 1;
    while (i + 1 < n && (all[i + 1] ^ all[i]) >> begin == 0) ++i;
    sort(all + first, i + 1 - first);
  }
}

// The first bit above those in which elements differ.
int end_of(const Placed* all, int64_t n) {
  Placed differing = 0;
  for (int64_t i = 1; i < n; ++i) differing |= all[i] ^ all[0];
  return std::max(kPlace, static_cast<int>(std::bit_width(differing)));
}

// A radix sort, lowest digit first, over the highest bits below `end`: as many as tell most elements apart. Runs that
// are equal there are then sorted by the bits below. `ties` gets the runs that may hold elements of equal keys.
template <class Ties>
void radix_sort(Placed* all, Placed* room, int64_t n, int end, void (*look)(), const Ties& ties) {
  constexpr int64_t kFew = 512, kMany = 1 << 16;
  constexpr int kBits = 11, kMostDigits = 3;
  if (n < kFew) {
    std::sort(all, all + n);
    return ties(all, n);
  }
  const int most = n < kMany ? 2 : kMostDigits;
  const int digits = std::min(most, (end - kPlace + kBits - 1) / kBits), begin = std::max(kPlace, end - kBits * digits);
  Placed *from = all, *to = room;
  for (int shift = begin; shift < begin + kBits * digits; shift += kBits) {
    const auto digit = [shift](Placed e) { return e >> shift & ((1u << kBits) - 1); };
    look();
    uint32_t at[1 << kBits] = {};
    for (int64_t i = 0; i < n; ++i) ++at[digit(from[i])];
    std::exclusive_scan(std::begin(at), std::end(at), std::begin(at), 0u);
    for (int64_t i = 0; i < n; ++i) to[at[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  if (from != all) std::copy(from, from + n, all);
  if (begin == kPlace) return ties(all, n);
  each_run(all, n, begin, [&](Placed* run, int64_t length) {
    radix_sort(run, room, length, length < kFew ? begin : end_of(run, length), look, ties);
  });
}

struct PlacesOf {
  const Placed* all;
  int64_t operator()(int64_t i) const { return place_of(all[i]); }
};

// Sorts the n places that element(i) names by their keys: first by the 32 highest bits that differ, then, where these
// are equal, by the bits below.
template <class Element, class Key>
void sort_by_key(Placed* all, Placed* room, int64_t n, const Element& element, const Key& key, void (*look)()) {
  using Bits = decltype(key(0));
  const Bits first = key(element(0));
  Bits differing = 0;
  for (int64_t i = 1; i < n; ++i) differing |= key(element(i)) ^ first;
  const int shift = std::max(0, static_cast<int>(std::bit_width(differing)) - 32);
  const int end = kPlace + static_cast<int>(std::bit_width(static_cast<Bits>(differing >> shift)));
  for (int64_t i = 0; i < n; ++i) {
    const auto place = static_cast<uint32_t>(element(i));
    all[i] = Placed{static_cast<uint32_t>(key(place) >> shift)} << kPlace | place;
  }
  const auto by_what_is_below = [&](Placed* run, int64_t length) {
    sort_by_key(run, room, length, PlacesOf{run}, key, look);
  };
  radix_sort(all, room, n, end, look, [&](Placed* run, int64_t length) {
    if (shift > 0) each_run(run, length, kPlace, by_what_is_below);
  });
}

template <class T>
void order_on_cpu(const CpuArgs& args) {
  const CpuKeys k(args.words);
  args.parallel(k.rows, std::max<int64_t>(1, 4096 / k.n), [&](int64_t first, int64_t last) {
    auto* all = static_cast<Placed*>(args.scratch(2 * k.n * static_cast<int64_t>(sizeof(Placed))));
    for (int64_t r = first; r < last; ++r) {
      const T* x = args.as<const T>(0) + r * k.n;
      int32_t* order = args.as<int32_t>(1) + r * k.n;
      const auto itself = [](int64_t i) { return i; };
      sort_by_key(all, all + k.n, k.n, itself, [&](int64_t place) { return k.key(x[place]); }, args.look);
      std::transform(all, all + k.n, order, place_of);
    }
  });
}

template <class T>
struct Keyed {
  KeyBits<T> key;
  int32_t place;
  bool operator<(const Keyed& other) const { return key != other.key ? key < other.key : place < other.place; }
};

constexpr auto kMostBytes = static_cast<int64_t>(sizeof(Keyed<int64_t>));

// How many candidates are collected before the worse half is dropped.
int64_t most_of(int64_t k) { return 2 * k + 64; }

template <class T>
void select_on_cpu(const CpuArgs& args) {
  const CpuKeys keys(args.words);
  const int64_t k = args.words[4];
  constexpr int64_t kTogether = 16;  // elements that are passed over at once
  args.parallel(keys.rows, 1, [&](int64_t first, int64_t last) {
    auto* best = static_cast<Keyed<T>*>(args.scratch(most_of(k) * static_cast<int64_t>(sizeof(Keyed<T>))));
    for (int64_t r = first; r < last; ++r) {
      const T* x = args.as<const T>(0) + r * keys.n;
      int32_t* places = args.as<int32_t>(1) + r * k;
      // Only elements that come before the k-th so far.
      int64_t count = 0;
      KeyBits<T> bound = ~KeyBits<T>(0);
      const auto halve = [&] {
        std::nth_element(best, best + (k - 1), best + count);
        bound = best[k - 1].key;
        count = k;
      };
      for (int64_t begin = 0; begin < keys.n; begin += kTogether) {
        const int64_t end = std::min(begin + kTogether, keys.n);
        if (end - begin == kTogether) {
          int some = 0;
          for (int64_t i = begin; i < begin + kTogether; ++i) some |= keys.key(x[i]) <= bound ? 1 : 0;
          if (!some) continue;
        }
        for (int64_t i = begin; i < end; ++i) {
          const KeyBits<T> key = keys.key(x[i]);
          if (key > bound) continue;
          best[count++] = {key, static_cast<int32_t>(i)};
          if (count == most_of(k)) halve();
        }
      }
      halve();
      for (int64_t i = 0; i < k; ++i) places[i] = best[i].place;
      std::sort(places, places + k);
    }
  });
}

template <class T>
void search_on_cpu(const CpuArgs& args) {
  const int64_t n = args.words[0], each = args.words[1], count = args.words[2];
  const auto flip = static_cast<KeyBits<T>>(args.words[3]);
  const bool own_row = args.words[4] != 0, right = args.words[5] != 0;
  args.parallel(count, 4096, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const T* row = args.as<const T>(0) + (own_row ? i / each * n : 0);
      const KeyBits<T> value = ordered<T>(args.as<const T>(1)[i], flip, 0);
      const T* at = std::partition_point(row, row + n, [&](T x) {
        const KeyBits<T> key = ordered<T>(x, flip, 0);
        return right ? key <= value : key < value;
      });
      args.as<int32_t>(2)[i] = static_cast<int32_t>(at - row);
    }
  });
}

// ---- GPU --------------------------------------------------------------------------------------------------------------
constexpr int64_t kThreads = 256;  // of a workgroup
constexpr int64_t kChunk = 16384;  // elements a workgroup looks at (shaders/select.glsl)
constexpr int64_t kFewTiles = 64;  // up to here a thread sums the counts of a digit
constexpr int64_t kRun = 16;       // rows that a thread adds (shaders/fold_runs.glsl)

// Elements that a thread sorts in shared memory (shaders/sort_split.glsl): those of its tiles, or as many as fit. Words
// there, of 33 for 32: the elements, eight counters a thread, and what the scan and the scatter keep.
int64_t most_items(const Features& gpu) {
  const auto bytes = [](int64_t items) { return 4 * (kThreads * (items + 8) * 33 / 32 + 3 * kThreads + 32); };
  int64_t items = gpu.tiles->sort_items;
  while (items > 1 && bytes(items) > gpu.shared_bytes) items /= 2;
  return items;
}
// Whether shaders/sort_ballots.glsl can be used. Words of shared memory: the elements, counts of digits for each subgroup,
// and what the scan and the scatter keep.
bool votes(const Features& gpu, int64_t items) {
  return gpu.ballots && 4 * (kThreads * (items + kThreads / gpu.subgroup + 3) + 32) <= gpu.shared_bytes;
}
// A workgroup for each `groups`, of the threads that these kernels count on.
void launch_groups(CustomKernel& custom, int64_t groups) {
  custom.threads = kThreads;
  set_groups(custom, groups);
}

int64_t flip_of(const Keys& k) {
  return (k.dtype == DType::int32 && k.end == 32) || (k.dtype == DType::int64 && k.end == 64) ? 0x80000000ll : 0;
}
int64_t invert_of(const Keys& k) { return k.descending ? 0xffffffffll : 0; }

std::string source(const Keys& k, const char* file, std::initializer_list<const char*> words = {}) {
  std::string s = k.dtype == DType::int32     ? "#define KEY_INT32\n"
                  : k.dtype == DType::int64   ? "#define KEY_INT64\n"
                  : k.dtype == DType::float32 ? "#define KEY_FLOAT32\n"
                                              : "#define KEY_FLOAT64\n";
  for (const char* w : words)
    if (*w) s += std::string("#define ") + w + "\n";
  return s + "#include \"" + file + "\"\n";
}

void order_short_rows(Expansion& e, const Keys& k, int32_t x, int32_t order, bool with_keys) {
  const int64_t rows_each = std::clamp<int64_t>(1024 / k.n, 1, k.rows);
  const auto items = std::bit_ceil(static_cast<uint64_t>(divide_up(rows_each * k.n, kThreads)));
  CustomKernel& custom = e.launch("sort");
  custom.tensors = {{x, k.dtype}, {order, DType::int32, true}};
  if (with_keys) custom.tensors.push_back({order, DType::int32, true, k.n});
  custom.words = {k.n, k.rows, rows_each, k.begin, k.end, flip_of(k), invert_of(k)};
  const std::string define = "ITEMS " + std::to_string(items);
  custom.source = source(k, "sort_rows.glsl", {define.c_str(), with_keys ? "WITH_KEYS" : ""});
  custom.cost = 64.0 * static_cast<double>(k.rows * k.n);
  launch_groups(custom, divide_up(k.rows, rows_each));
}

void order_long_rows(Expansion& e, const Keys& k, int64_t items, int32_t x, int32_t order, bool with_keys) {
  struct Pass {
    int word, shift, bits;
  };
  std::vector<Pass> passes;
  for (int bit = k.begin; bit < k.end;) {
    const int bits = std::min({8, k.end - bit, 32 - bit % 32});
    passes.push_back({bit / 32, bit % 32, bits});
    bit += bits;
  }
  const std::string define = "ITEMS " + std::to_string(items);
  const bool ballots = votes(*e.gpu, items);
  const int64_t tiles = divide_up(k.n, kThreads * items), total = k.rows * k.n,
                count = static_cast<int64_t>(passes.size());
  const int32_t counts = e.temporary(k.rows * 256 * tiles * 4), sums = e.temporary(k.rows * 256 * 4);
  const int32_t keys[2] = {e.temporary(total * 4), e.temporary(count > 1 ? total * 4 : 4)};
  const int32_t spare = e.temporary(count > 1 ? total * 4 : 4);
  for (int64_t p = 0; p < count; ++p) {
    const Pass& pass = passes[static_cast<size_t>(p)];
    const bool first = p == 0, last = p + 1 == count;
    const bool fresh = first || pass.word != passes[static_cast<size_t>(p - 1)].word;
    const bool more = !last && pass.word == passes[static_cast<size_t>(p + 1)].word;
    const int32_t key = keys[p % 2];
    const int32_t to = (count - 1 - p) % 2 ? spare : order, from = (count - 1 - p) % 2 ? order : spare;

    CustomKernel& tally = e.launch("sort_count");
    tally.tensors = {{key, DType::int32, fresh}, {counts, DType::int32, true}};
    tally.words = {k.n, tiles, pass.shift, k.rows, flip_of(k), invert_of(k), pass.word};
    if (fresh) tally.tensors.push_back({x, k.dtype});
    if (fresh && !first) tally.tensors.push_back({from, DType::int32});
    tally.source = source(k, "sort_count.glsl", {define.c_str(), fresh ? "FRESH" : "", first ? "" : "PLACED"});
    launch_groups(tally, k.rows * tiles);

    CustomKernel& scan = e.launch("sort_scan");
    const bool few = tiles <= kFewTiles;
    scan.tensors = {{counts, DType::int32, true}, {sums, DType::int32, true}};
    scan.words = {tiles, k.rows};
    scan.source = source(k, "sort_scan.glsl", {few ? "FEW" : ""});
    launch_groups(scan, few ? k.rows : k.rows * 256);

    const bool keys_out = more || (last && with_keys);
    CustomKernel& scatter = e.launch("sort_scatter");
    scatter.tensors = {{key, DType::int32}, {counts, DType::int32}, {sums, DType::int32}, {to, DType::int32, true}};
    if (!first || keys_out) scatter.tensors.push_back({first ? counts : from, DType::int32});
    if (keys_out && last) scatter.tensors.push_back({order, DType::int32, true, k.n});
    if (keys_out && !last) scatter.tensors.push_back({keys[(p + 1) % 2], DType::int32, true});
    scatter.words = {k.n, tiles, pass.shift, k.rows, pass.bits};
    scatter.ballots = ballots;
    scatter.source = source(k, ballots ? "sort_ballots.glsl" : "sort_scatter.glsl",
                            {define.c_str(), first ? "" : "PLACED", keys_out ? "KEYS_OUT" : ""});
    for (CustomKernel* custom : {&tally, &scan, &scatter}) custom->cost = 16.0 * static_cast<double>(total);
    launch_groups(scatter, k.rows * tiles);
  }
}

}  // namespace

void order_launches(Expansion& e, const Keys& k, bool gpu, int32_t x, int32_t order, bool with_keys) {
  if (gpu) {
    const int64_t items = most_items(*e.gpu);
    return k.n <= kThreads * items ? order_short_rows(e, k, x, order, with_keys)
                                   : order_long_rows(e, k, items, x, order, with_keys);
  }
  CustomKernel& custom = e.launch("sort");
  custom.tensors = {{x, k.dtype}, {order, DType::int32, true}};
  custom.words = {k.rows, k.n, flip_of(k) << (k.dtype == DType::int64 ? 32 : 0), k.descending};
  custom.cpu = k.dtype == DType::float32   ? order_on_cpu<float>
               : k.dtype == DType::float64 ? order_on_cpu<double>
               : k.dtype == DType::int32   ? order_on_cpu<int32_t>
                                           : order_on_cpu<int64_t>;
  custom.scratch = 2 * k.n * static_cast<int64_t>(sizeof(Placed));
}

void select_launches(Expansion& e, const Keys& keys, bool gpu, int64_t k, int32_t x, int32_t places) {
  if (!gpu) {
    CustomKernel& custom = e.launch("topk");
    custom.tensors = {{x, keys.dtype}, {places, DType::int32, true}};
    custom.words = {keys.rows, keys.n, flip_of(keys) << (keys.dtype == DType::int64 ? 32 : 0), keys.descending, k};
    custom.cpu = keys.dtype == DType::float32   ? select_on_cpu<float>
                 : keys.dtype == DType::float64 ? select_on_cpu<double>
                 : keys.dtype == DType::int32   ? select_on_cpu<int32_t>
                                                : select_on_cpu<int64_t>;
    custom.scratch = most_of(k) * kMostBytes;
    return;
  }
  const int64_t chunks = divide_up(keys.n, kChunk);
  const int32_t state = e.temporary(keys.rows * 264 * 4), counts = e.temporary(keys.rows * chunks * 8);
  const auto launch = [&](const char* name, const char* step, int64_t word, int64_t shift,
                          int64_t groups) -> CustomKernel& {
    CustomKernel& custom = e.launch(name);
    custom.words = {keys.n, chunks, k, keys.rows, flip_of(keys), invert_of(keys), word, shift};
    custom.source = source(keys, "select.glsl", {step});
    custom.cost = 2.0 * static_cast<double>(groups) * kChunk;
    launch_groups(custom, groups);
    return custom;
  };
  // Bits above the highest digit are the same in all keys.
  const int top = (keys.end + 7) / 8 * 8;
  const uint64_t fixed = keys.descending && top < 64 ? ~0ull << top : 0;
  launch("topk_start", "START", static_cast<int64_t>(fixed & 0xffffffffu), static_cast<int64_t>(fixed >> 32), keys.rows)
      .tensors = {{state, DType::int32, true}};
  for (int bit = top - 8; bit >= 0; bit -= 8) {
    launch("topk_count", "COUNT", bit / 32, bit % 32, keys.rows * chunks).tensors = {{state, DType::int32, true},
                                                                                     {x, keys.dtype}};
    launch("topk_pick", "PICK", bit / 32, bit % 32, keys.rows).tensors = {{state, DType::int32, true}};
  }
  launch("topk_divide", "DIVIDE", 0, 0, keys.rows * chunks).tensors = {
      {state, DType::int32}, {x, keys.dtype}, {counts, DType::int32, true}};
  launch("topk", "COLLECT", 0, 0, keys.rows * chunks).tensors = {
      {state, DType::int32}, {x, keys.dtype}, {counts, DType::int32}, {places, DType::int32, true}};
}

void search_launches(Expansion& e, const Keys& k, bool gpu, int64_t each, bool own_row, bool right, int32_t x,
                     int32_t values, int32_t places) {
  CustomKernel& custom = e.launch("searchsorted");
  custom.tensors = {{x, k.dtype}, {values, k.dtype}, {places, DType::int32, true}};
  const int64_t count = k.rows * each;
  custom.words = {k.n, each, count, flip_of(k), own_row, right};
  custom.cost = 32.0 * static_cast<double>(count);
  if (gpu) {
    custom.source = source(k, "search.glsl", {right ? "RIGHT" : ""});
    return launch_groups(custom, divide_up(count, kThreads));
  }
  if (k.dtype == DType::int64) custom.words[3] <<= 32;
  custom.cpu = k.dtype == DType::float32   ? search_on_cpu<float>
               : k.dtype == DType::float64 ? search_on_cpu<double>
               : k.dtype == DType::int32   ? search_on_cpu<int32_t>
                                           : search_on_cpu<int64_t>;
}

void fold_rows_launches(Expansion& e, const std::string& name, Fold fold, DType dtype, int64_t count, int64_t m,
                        int64_t width, int32_t order, int32_t values, int32_t out) {
  const auto bytes = static_cast<int64_t>(size_of(dtype));
  constexpr const char* kFolds[] = {"SUM", "MAXIMUM", "MINIMUM", "PRODUCT"};
  const std::string element =
      std::string("#define ") + kFolds[static_cast<int>(fold)] + "\n#define BYTES Offset(" + std::to_string(bytes) +
      ")\n" +
      (dtype == DType::float32   ? "#define ELEMENT float\n#define MEMORY Float32\n"
                                   "#define HIGHEST uintBitsToFloat(0x7f800000u)\n#define LOWEST -HIGHEST\n"
       : dtype == DType::float64 ? "#define ELEMENT double\n#define MEMORY Float64\n"
                                   "#define HIGHEST packDouble2x32(uvec2(0u, 0x7ff00000u))\n#define LOWEST -HIGHEST\n"
       : dtype == DType::int32   ? "#define ELEMENT int\n#define MEMORY Int32\n"
                                   "#define HIGHEST 0x7fffffff\n#define LOWEST (-HIGHEST - 1)\n"
                                 : "#define ELEMENT int64\n#define MEMORY Int64\n"
                                   "#define HIGHEST 0x7fffffffffffffffl\n#define LOWEST (-HIGHEST - 1l)\n");
  CustomKernel& clear = e.launch(name + "_clear");
  clear.tensors = {{out, dtype, true}};
  clear.words = {count * width};
  clear.source = element + "#define CLEAR\n#include \"fold_runs.glsl\"\n";
  launch_groups(clear, divide_up(count * width, kThreads * kRun));
  // A run that continues from the piece of the thread before is left for another round: a sum for each piece.
  int32_t run_rows = order, run_values = values;
  for (int64_t left = m;; left = divide_up(left, kRun)) {
    const bool first = left == m, last = left <= kRun;
    const int64_t pieces = divide_up(left, kRun);
    const int32_t rest_rows = last ? -1 : e.temporary(pieces * 4);
    const int32_t rest_values = last ? -1 : e.temporary(pieces * width * bytes);
    CustomKernel& custom = e.launch(name);
    custom.tensors = {{run_rows, DType::int32, false, first ? m : 0}, {run_values, dtype}, {out, dtype, true}};
    if (first) custom.tensors.push_back({order, DType::int32});
    if (!first && !last) custom.tensors.push_back({run_rows, DType::int32});
    if (!last)
      custom.tensors.insert(custom.tensors.end(), {{rest_rows, DType::int32, true}, {rest_values, dtype, true}});
    custom.words = {left, width, pieces};
    custom.source =
        element + (first ? "#define FIRST\n" : "") + (last ? "#define LAST\n" : "") + "#include \"fold_runs.glsl\"\n";
    custom.cost = static_cast<double>(left * width);
    launch_groups(custom, divide_up(pieces * width, kThreads));
    if (last) break;
    run_rows = rest_rows;
    run_values = rest_values;
  }
}

}  // namespace sg
