// Which tiles the hand-written kernels use on a kind of GPU: the table of tiles.cpp. Pure data; choosing among the tiles
// of a row is the business of the lowering and of ops.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/round.hpp"

namespace sg {

// Of shaders/product.glsl: the results of a workgroup, its step along k, the results of a thread, and how many parts of
// the workgroup share the sum over k.
struct ProductTile {
  uint32_t tile_m, tile_n, tile_k, thread_m, thread_n, parts;
  uint32_t threads() const { return tile_m / thread_m * (tile_n / thread_n) * parts; }
  int64_t shared_bytes(int64_t element_bytes) const;
  bool operator==(const ProductTile&) const = default;
};

// ROWS, COLS, THREAD_ROWS, THREAD_COLS, STEP and DEPTH of shaders/attention.glsl.
struct AttentionTile {
  int64_t rows, cols, thread_rows, thread_cols, step, depth;
  int64_t across() const { return cols / thread_cols; }  // threads along a row
  int64_t threads() const { return rows / thread_rows * across(); }
  // How many float32 sums a thread holds: of its scores, and of its units of results.
  int64_t sums(int64_t widest, bool forward) const {
    const int64_t units = divide_up(divide_up(widest, int64_t{4}), across());
    return (forward ? 1 : 2) * thread_rows * (thread_cols + 4 * units);
  }
};

// On matrix units: the results of a workgroup, and its step along k.
struct MatrixTile {
  uint32_t m, n, k, threads;
};

struct Tiles {
  const char* name;  // what SPIROGRAD_TILES calls the row

  // Of products and convolutions; the first three are for float32 and halves alone.
  ProductTile large, wide, low, flat, medium, small, tiny;
  int64_t processors;                  // the large tile keeps five of eight of them at work
  int64_t busy, nearly_busy, crowded;  // workgroups: enough for every processor, for most, for more than one each
  int64_t shared_bytes;                // the most that a workgroup takes, so that others have room beside it

  // Of attention: for a few queries, forward, backward; the first that fits is taken.
  std::span<const AttentionTile> decode, forward, backward;
  int64_t forward_sums, backward_sums;  // that a thread can hold without spilling
  // Its loops are not written out: a compiler may read ahead as far as they are, into more registers than there are.
  bool rolled;

  // Of products by fragments of matrix units (the path cm1), largest first; the most results of a workgroup that keeps two
  // sums of each; and whether attention has registers for fragments.
  std::span<const MatrixTile> fragments;
  int64_t most_of_two_sums;
  bool attention_by_fragments;

  int64_t row_threads;      // the most that share a row: more would leave each too few registers
  int64_t sort_items;       // elements that a thread sorts
  int64_t pointwise_views;  // a kernel that reads and writes more tensors computes one element a thread, not four
};

// The rows; the first is that of devices that no row is for.
std::span<const Tiles> all_tiles();
inline const Tiles* default_tiles() { return &all_tiles()[0]; }
const Tiles* find_tiles(std::string_view name);  // null: there is none of that name

}  // namespace sg
