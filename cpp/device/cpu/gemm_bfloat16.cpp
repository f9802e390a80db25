// Products of bfloat16 by instructions for them: tiles of AMX, or vectors of AVX512-BF16. Both multiply neighbours along
// k in pairs and add up float32, in the order of k; tiles take numbers below the smallest normal one as zero.
#include "device/cpu/gemm_bfloat16.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "base/round.hpp"
#include "os/processor.hpp"

namespace sg::cpu {

#if defined(__x86_64__)
namespace {

// Every function says what it needs: this file is compiled for any processor.
#define SG_VECTORS __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define SG_TILES __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")))

constexpr int64_t kSide = kBfloat16Side, kSlab = 512;  // a panel of 32 KiB for each operand
constexpr int64_t kMostRows = 384;
constexpr int kLanes = 16;     // pairs, and float32, of a vector
constexpr int64_t kStep = 32;  // of k, by a tile
using Element = uint16_t;

struct Scratch {
  Element a[kMostRows * kSlab];  // [row][k]
  Element b[kSlab * kSide];      // [k / 2][column][2]
  float edge[kSide * kSide];
};
static_assert(sizeof(Scratch) + 64 <= kBfloat16Scratch);

// ---- packing: both operands in pairs along k, zeros up to a whole panel
SG_VECTORS inline __m256i load_first(const Element* from, int64_t n) {
  return _mm256_maskz_loadu_epi16(static_cast<__mmask16>(n >= kLanes ? 0xffff : (1 << std::max<int64_t>(n, 0)) - 1),
                                  from);
}
SG_VECTORS inline __m512i paired(__m256i even, __m256i odd) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(even), _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
}

// 16 x 16 pairs.
SG_VECTORS inline void transpose(__m512i (&r)[kLanes]) {
  __m512i t[kLanes];
  for (int i = 0; i < kLanes; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < kLanes; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

// Sixteen neighbours, of which `count` exist, at 16 pairs along k, of which elements up to k exist: out[i] is pair i of
// all, or with `transposed` all pairs of neighbour i. Steps between neighbours and along k are those of memory.
SG_VECTORS inline void load_square(const Element* from, int64_t step, int64_t step_k, int64_t count, int64_t k,
                                   bool transposed, __m512i (&out)[kLanes]) {
  const bool along_k = step_k == 1;
  if (along_k) {
    for (int i = 0; i < kLanes; ++i) {
      const auto mask = static_cast<__mmask32>(k >= kStep ? 0xffffffffu : (1u << k) - 1);
      out[i] = i < count ? _mm512_maskz_loadu_epi16(mask, from + i * step) : _mm512_setzero_si512();
    }
  } else {
    for (int p = 0; p < kLanes; ++p) {
      const Element *even = from + 2 * p * step_k, *odd = even + step_k;
      out[p] = paired(load_first(even, 2 * p < k ? count : 0), load_first(odd, 2 * p + 1 < k ? count : 0));
    }
  }
  if (along_k != transposed) transpose(out);
}

// Any steps, one element after the other.
void gather_square(const Element* from, int64_t step, int64_t step_k, int64_t count, int64_t k,
                   Element (&to)[kLanes][kStep]) {
  std::memset(to, 0, sizeof to);
  for (int64_t i = 0; i < std::min<int64_t>(count, kLanes); ++i)
    for (int64_t p = 0; p < std::min(k, kStep); ++p) to[i][p] = from[i * step + p * step_k];
}

SG_VECTORS void square(const Element* from, int64_t step, int64_t step_k, int64_t count, int64_t k, bool transposed,
                       __m512i (&out)[kLanes]) {
  if (step_k == 1 || step == 1) return load_square(from, step, step_k, count, k, transposed, out);
  alignas(64) Element square[kLanes][kStep];
  gather_square(from, step, step_k, count, k, square);
  load_square(square[0], kStep, 1, kLanes, kStep, transposed, out);
}

SG_VECTORS void pack_rows(const Element* a, int64_t a_m, int64_t a_k, int64_t rows, int64_t k, int64_t whole,
                          Element* to) {
  __m512i out[kLanes];
  for (int64_t r = 0; r < round_up(rows, kSide); r += kLanes)
    for (int64_t p = 0; p < whole; p += kStep) {
      square(a + r * a_m + p * a_k, a_m, a_k, rows - r, k - p, true, out);
      for (int i = 0; i < kLanes; ++i) _mm512_storeu_si512(to + (r + i) * whole + p, out[i]);
    }
}

SG_VECTORS void pack_columns(const Element* b, int64_t b_k, int64_t b_n, int64_t columns, int64_t k, int64_t whole,
                             Element* to) {
  __m512i out[kLanes];
  for (int64_t p = 0; p < whole; p += kStep)
    for (int64_t j = 0; j < kSide; j += kLanes) {
      square(b + p * b_k + j * b_n, b_n, b_k, columns - j, k - p, false, out);
      for (int i = 0; i < kLanes; ++i) _mm512_storeu_si512(to + (p / 2 + i) * 2 * kSide + 2 * j, out[i]);
    }
}

// ---- c[32][32] = (from ? c : 0) + a * b
SG_TILES void tiles(const Element* a, const Element* b, int64_t k, float* c, int64_t c_m, bool from) {
  const auto step = static_cast<int>(c_m * 4), rows = static_cast<int>(k * 2);
  constexpr int kPairs = 2 * kSide * 2;  // bytes from a pair of rows of b to the next
  float *right = c + 16, *below = c + 16 * c_m, *corner = below + 16;
  if (from) {
    _tile_loadd(0, c, step);
    _tile_loadd(1, right, step);
    _tile_loadd(2, below, step);
    _tile_loadd(3, corner, step);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t p = 0; p < k; p += kStep) {
    _tile_loadd(4, a + p, rows);
    _tile_loadd(6, b + p * kSide, kPairs);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + p * kSide + 32, kPairs);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + 16 * k + p, rows);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, step);
  _tile_stored(1, right, step);
  _tile_stored(2, below, step);
  _tile_stored(3, corner, step);
}

SG_VECTORS void vectors(const Element* a, const Element* b, int64_t k, float* c, int64_t c_m, bool from) {
  constexpr int kRows = 8;
  for (int r = 0; r < kSide; r += kRows) {
    __m512 sum[kRows][2];
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < 2; ++v)
        sum[i][v] = from ? _mm512_loadu_ps(c + (r + i) * c_m + v * kLanes) : _mm512_setzero_ps();
    for (int64_t p = 0; p < k; p += 2) {
      const auto b0 = (__m512bh)_mm512_loadu_si512(b + p * kSide),
                 b1 = (__m512bh)_mm512_loadu_si512(b + p * kSide + 2 * kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        int pair;
        std::memcpy(&pair, a + (r + i) * k + p, sizeof pair);
        const auto x = (__m512bh)_mm512_set1_epi32(pair);
        sum[i][0] = _mm512_dpbf16_ps(sum[i][0], x, b0);
        sum[i][1] = _mm512_dpbf16_ps(sum[i][1], x, b1);
      }
    }
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < 2; ++v) _mm512_storeu_ps(c + (r + i) * c_m + v * kLanes, sum[i][v]);
  }
}

// ---- the product
using Kernel = void (*)(const Element* a, const Element* b, int64_t k, float* c, int64_t c_m, bool from);

void multiply_slab(const GemmTile& t, const Element* a, const Element* b, float* c, int64_t m, int64_t k, bool from,
                   Scratch& s, Kernel kernel) {
  const int64_t whole = round_up(k, kStep);
  pack_rows(a, t.a_m, t.a_k, m, k, whole, s.a);
  for (int64_t j = 0; j < t.n; j += kSide) {
    const int64_t columns = std::min(kSide, t.n - j);
    pack_columns(b + j * t.b_n, t.b_k, t.b_n, columns, k, whole, s.b);
    for (int64_t i = 0; i < m; i += kSide) {
      const int64_t rows = std::min(kSide, m - i);
      float* to = c + i * t.c_m + j * t.c_n;
      const Element* from_a = s.a + i * whole;
      if (rows == kSide && columns == kSide && t.c_n == 1) {
        kernel(from_a, s.b, whole, to, t.c_m, from);
        continue;
      }
      if (from)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t n = 0; n < columns; ++n) s.edge[r * kSide + n] = to[r * t.c_m + n * t.c_n];
      kernel(from_a, s.b, whole, s.edge, kSide, from);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t n = 0; n < columns; ++n) to[r * t.c_m + n * t.c_n] = s.edge[r * kSide + n];
    }
  }
}

void multiply(const GemmTile& t, Kernel kernel) {
  auto& s = *reinterpret_cast<Scratch*>(round_up(reinterpret_cast<intptr_t>(t.scratch), 64));
  const auto* b = static_cast<const Element*>(t.b);
  for (int64_t i = 0; i < t.m; i += kMostRows) {
    const int64_t m = std::min(kMostRows, t.m - i);
    const auto* a = static_cast<const Element*>(t.a) + i * t.a_m;
    auto* c = static_cast<float*>(t.c) + i * t.c_m;
    if (t.k == 0 && !t.add)
      for (int64_t r = 0; r < m; ++r)
        for (int64_t n = 0; n < t.n; ++n) c[r * t.c_m + n * t.c_n] = 0;
    for (int64_t p = 0; p < t.k; p += kSlab)
      multiply_slab(t, a + p * t.a_k, b + p * t.b_k, c, m, std::min(kSlab, t.k - p), t.add || p > 0, s, kernel);
  }
}

void by_vectors(const GemmTile& t) { multiply(t, vectors); }

// The tiles are of the calling thread, and other code of the process may use them.
SG_TILES void by_tiles(const GemmTile& t) {
  struct alignas(64) {
    uint8_t palette = 1, start = 0, unused[14] = {};
    uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shape;
  _tile_loadconfig(&shape);
  multiply(t, tiles);
  _tile_release();
}

}  // namespace

GemmBfloat16 bfloat16_by_tiles() { return os::vector_instructions().tiles && os::may_use_tiles() ? by_tiles : nullptr; }
GemmBfloat16 bfloat16_by_vectors() { return os::vector_instructions().bfloat16 ? by_vectors : nullptr; }
#else
GemmBfloat16 bfloat16_by_tiles() { return nullptr; }
GemmBfloat16 bfloat16_by_vectors() { return nullptr; }
#endif

GemmBfloat16 gemm_bfloat16() {
  static const GemmBfloat16 best = bfloat16_by_tiles() ? bfloat16_by_tiles() : bfloat16_by_vectors();
  return best;
}

}  // namespace sg::cpu
