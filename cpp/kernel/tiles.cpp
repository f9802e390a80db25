// Owns the table of tiles. A row says where its figures come from: "measured" is on hardware, "statistics" is what the
// compilers of docs/kernels_by_vendor.md say of registers, spills and shared memory, without hardware.
#include "kernel/tiles.hpp"

#include <climits>

namespace sg {
namespace {

// ---- attention ----------------------------------------------------------------------------------------------------
// One query, measured on an H200: the first takes a seventh of the last one's time, because it waits less often.
constexpr AttentionTile kDecode[] = {{8, 64, 1, 4, 16, 64}, {8, 32, 1, 4, 16, 16}, {8, 8, 1, 1, 2, 8}};
// Measured on an H200: the largest of which a thread's sums stay in registers.
constexpr AttentionTile kForward[] = {
    {64, 64, 8, 4, 4, 16}, {64, 32, 8, 4, 4, 16}, {32, 64, 4, 4, 4, 16}, {16, 16, 2, 2, 2, 16}, {8, 8, 1, 1, 2, 8}};
constexpr AttentionTile kBackward[] = {{128, 64, 8, 4, 4, 16}, {64, 64, 8, 4, 4, 16}, {64, 32, 8, 4, 4, 16},
                                       {32, 128, 8, 4, 2, 16}, {32, 64, 4, 4, 4, 16}, {32, 128, 4, 4, 2, 8},
                                       {16, 16, 2, 2, 2, 16},  {8, 8, 1, 1, 2, 8}};
// Statistics: for threads of 128 registers or fewer.
constexpr AttentionTile kLeanForward[] = {
    {64, 64, 4, 4, 4, 16}, {64, 32, 4, 4, 4, 16}, {32, 64, 2, 4, 4, 16}, {16, 16, 2, 2, 2, 16}, {8, 8, 1, 1, 2, 8}};
constexpr AttentionTile kLeanBackward[] = {
    {32, 64, 2, 4, 4, 16}, {64, 32, 2, 4, 4, 16}, {16, 64, 1, 4, 4, 16}, {16, 16, 2, 2, 2, 16}, {8, 8, 1, 1, 2, 8}};
// Half of that again.
constexpr AttentionTile kLeanestForward[] = {
    {32, 64, 2, 4, 4, 16}, {64, 32, 2, 4, 4, 16}, {16, 64, 1, 4, 4, 16}, {16, 16, 2, 2, 2, 16}, {8, 8, 1, 1, 2, 8}};
constexpr AttentionTile kLeanestBackward[] = {
    {16, 64, 1, 4, 4, 16}, {32, 32, 1, 4, 4, 16}, {8, 128, 1, 4, 4, 16}, {16, 16, 2, 2, 2, 16}, {8, 8, 1, 1, 2, 8}};
// Statistics (DG2): heads from 128 on, and drawing dropout, leave room for smaller steps alone.
constexpr AttentionTile kIntelDecode[] = {{8, 32, 1, 4, 4, 8}, {8, 8, 1, 1, 2, 8}};
constexpr AttentionTile kIntelForward[] = {
    {32, 64, 2, 4, 4, 16}, {64, 32, 2, 4, 4, 16}, {16, 64, 1, 4, 4, 8}, {16, 16, 2, 2, 2, 16}, {8, 8, 1, 1, 2, 8}};
constexpr AttentionTile kIntelBackward[] = {{16, 64, 1, 4, 2, 16}, {32, 32, 1, 4, 4, 16}, {8, 128, 1, 4, 2, 8},
                                            {8, 64, 1, 2, 4, 8},   {16, 16, 2, 2, 2, 16}, {8, 8, 1, 1, 2, 8}};
// The large ones, and one between: the gradients of keys spill seven registers of 256 at 128 sums a thread.
constexpr AttentionTile kAmdBackward[] = {{64, 64, 8, 4, 4, 16}, {64, 32, 8, 4, 4, 16}, {64, 32, 4, 4, 4, 16},
                                          {32, 64, 4, 4, 4, 16}, {32, 128, 4, 4, 2, 8}, {16, 16, 2, 2, 2, 16},
                                          {8, 8, 1, 1, 2, 8}};
// A software driver compiles long straight code slowly.
constexpr AttentionTile kShort[] = {{16, 16, 2, 2, 2, 16}, {8, 8, 1, 1, 2, 8}};

// ---- products -----------------------------------------------------------------------------------------------------
// A thread makes 8 x 8 results where there are enough of them. The large tile was the fastest of thirteen on an H200.
constexpr ProductTile kLarge{128, 128, 8, 8, 8, 1};
constexpr ProductTile kWide{64, 128, 8, 8, 8, 1};  // for few rows
constexpr ProductTile kLow{16, 256, 8, 8, 4, 1};   // for sixteen rows and less, and very many columns
constexpr ProductTile kFlat{4, 256, 16, 4, 4, 4};  // for four rows and less
constexpr ProductTile kMedium{64, 64, 16, 4, 4, 1};
constexpr ProductTile kSmall{32, 32, 32, 4, 4, 4};
constexpr ProductTile kTiny{16, 16, 64, 4, 4, 16};
// Half of those results a thread.
constexpr ProductTile kLeanLarge{128, 64, 16, 8, 4, 1};
constexpr ProductTile kLeanWide{64, 128, 16, 8, 4, 1};
constexpr ProductTile kLeanLow{16, 128, 16, 4, 4, 1};
constexpr ProductTile kLeanFlat{4, 256, 8, 4, 4, 4};

// The first was measured on an H200, and is not for operands that are gathered: that takes more threads.
constexpr MatrixTile kFragments[] = {{128, 128, 64, 128}, {128, 128, 32, 256}, {64, 64, 32, 256}};
constexpr MatrixTile kLeanFragments[] = {{64, 64, 16, 256}, {32, 64, 16, 256}};

constexpr Tiles nvidia(const char* name) {
  return {.name = name,
          .large = kLarge,
          .wide = kWide,
          .low = kLow,
          .flat = kFlat,
          .medium = kMedium,
          .small = kSmall,
          .tiny = kTiny,
          // On 132 processors, each of which runs one large tile at a time.
          .processors = 132,
          .busy = 128,
          .nearly_busy = 96,
          .crowded = 200,
          .shared_bytes = LLONG_MAX,
          .decode = kDecode,
          .forward = kForward,
          .backward = kBackward,
          .forward_sums = 128,
          .backward_sums = 128,
          .rolled = false,
          .fragments = kFragments,
          .most_of_two_sums = 128 * 128,
          .attention_by_fragments = true,
          .row_threads = 1024,
          .sort_items = 16,
          .pointwise_views = INT_MAX};
}

// Statistics (Ampere by Mesa's driver): gradients of keys spill at 128 sums a thread, rows of 1,024 threads as well.
constexpr Tiles nvk() {
  Tiles t = nvidia("nvk");
  t.backward = kAmdBackward;
  t.backward_sums = 120;
  t.row_threads = 512;
  return t;
}

constexpr Tiles with_processors(Tiles t, int64_t processors) {
  t.processors = t.busy = processors;
  t.nearly_busy = processors * 3 / 4;
  t.crowded = processors * 3 / 2;
  return t;
}

constexpr Tiles lean(const char* name, int64_t processors) {
  Tiles t = with_processors(nvidia(name), processors);
  t.large = kLeanLarge;
  t.wide = kLeanWide;
  t.low = kLeanLow;
  t.flat = kLeanFlat;
  t.shared_bytes = 32768;
  t.forward = kLeanForward;
  t.backward = kLeanBackward;
  t.forward_sums = t.backward_sums = 48;
  return t;
}

// Statistics (navi31, gfx1201): registers for the large tiles are there; two workgroups share 64 KiB.
constexpr Tiles amd() {
  Tiles t = with_processors(nvidia("amd"), 96);
  t.flat = kLeanFlat;
  t.shared_bytes = 32768;
  t.backward = kAmdBackward;
  t.forward_sums = t.backward_sums = 120;
  return t;
}

// Statistics (vega20, polaris10): subgroups of 64 threads; 128 registers leave room for two a SIMD, 1,024 threads a
// workgroup would leave 64 each.
constexpr Tiles gcn() {
  Tiles t = lean("gcn", 60);
  t.row_threads = 512;
  return t;
}

// Half of that again, in attention.
constexpr Tiles leanest(const char* name, int64_t processors) {
  Tiles t = lean(name, processors);
  t.forward = kLeanestForward;
  t.backward = kLeanestBackward;
  t.forward_sums = t.backward_sums = 40;
  t.pointwise_views = 24;
  return t;
}

constexpr Tiles with_small_products(Tiles t) {
  t.large = t.medium;
  t.wide = {32, 128, 16, 4, 4, 1};
  t.fragments = kLeanFragments;
  t.most_of_two_sums = 32 * 64;
  t.attention_by_fragments = false;
  return t;
}

// Statistics (DG2): a thread has 128 registers in subgroups of 8.
constexpr Tiles intel() {
  Tiles t = with_small_products(leanest("intel", 32));
  t.decode = kIntelDecode;
  t.forward = kIntelForward;
  t.backward = kIntelBackward;
  t.forward_sums = 24;
  t.backward_sums = 20;
  t.rolled = true;
  t.sort_items = 8;
  return t;
}

// Statistics (M1): from 104 registers on, fewer threads run side by side.
constexpr Tiles apple() {
  Tiles t = leanest("apple", 32);
  t.rolled = true;
  t.sort_items = 8;
  t.row_threads = 512;
  return t;
}

// Statistics (Adreno 740).
constexpr Tiles mobile() {
  Tiles t = with_small_products(leanest("mobile", 12));
  t.row_threads = 512;
  return t;
}

constexpr Tiles software() {
  Tiles t = nvidia("software");
  t.forward = t.backward = kShort;
  return t;
}

constexpr Tiles kTiles[] = {nvidia("nvidia"), nvk(), amd(), gcn(), intel(), apple(), mobile(), software()};

}  // namespace

std::span<const Tiles> all_tiles() { return kTiles; }

const Tiles* find_tiles(std::string_view name) {
  for (const Tiles& t : kTiles)
    if (t.name == name) return &t;
  return nullptr;
}

int64_t ProductTile::shared_bytes(int64_t element_bytes) const {
  const int64_t step = 2 * tile_k * (tile_m / 4 + 1 + tile_n / 4 + 1),
                sums = parts > 1 ? parts * tile_m * tile_n / 4 : 0;
  const int64_t walks = 8 * (tile_m + tile_n + 4 * tile_k);
  return std::max(step, sums) * 4 * element_bytes + walks;
}

}  // namespace sg
