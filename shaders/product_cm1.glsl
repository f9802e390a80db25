// The matrix product of half types by VK_KHR_cooperative_matrix, sums in float32. Included by generated kernels, which
// define MATRIX (the type of an element), the argument macros, and
//   void epilogue(uint batch, uint m, uint n, vec4 sum)   // columns n .. n + 3; those from size_n on do not exist
// With SCALED, factors are PLANES halves of float32 operands (product_scaled.glsl). A_WALKS, B_WALKS, FOLDED and
// ONE_COLUMN are those of product.glsl.
//
// A workgroup makes a tile of kTileM x kTileN and walks K in steps of kTileK: while one step is multiplied from shared
// memory, the next travels from global memory to registers. Each subgroup owns a block of the tile in fragments of
// kM x kN. Shared memory holds operands as memory does, eight neighbours together, one eight more a row than needed, so
// that rows begin in other banks. One of an operand's two strides is 1: that of k or the other one; an operand that
// walks has neither, and is gathered.

layout(local_size_x_id = 12) in;
layout(constant_id = 0) const uint kTileM = 128;
layout(constant_id = 1) const uint kTileN = 128;
layout(constant_id = 2) const uint kTileK = 32;
layout(constant_id = 3) const uint kSubgroup = 32;
layout(constant_id = 4) const uint kAAlongK = 1;  // 1: neighbours of a in memory run along k, 0: along m
layout(constant_id = 5) const uint kBAlongK = 0;  // 1: neighbours of b in memory run along k, 0: along n
layout(constant_id = 6) const uint kAEven = 0;    // 1: rows of a begin at multiples of eight elements
layout(constant_id = 7) const uint kBEven = 0;    // 1: the same for b
layout(constant_id = 8) const uint kM = 16;
layout(constant_id = 9) const uint kN = 16;
layout(constant_id = 10) const uint kK = 16;
layout(constant_id = 11) const uint kRows = 2;  // of subgroups

#include "product_scaled.glsl"

const uint kThreads = gl_WorkGroupSize.x, kSubgroups = kThreads / kSubgroup, kCols = kSubgroups / kRows;
const uint kOwnM = kTileM / kRows, kOwnN = kTileN / kCols;  // of a subgroup
const uint kFragmentsM = kOwnM / kM, kFragmentsN = kOwnN / kN;
const uint kFastA = kAAlongK == 1 ? kTileK : kTileM, kFastB = kBAlongK == 1 ? kTileK : kTileN;
const uint kUnitsA = kTileM * kTileK / 8, kUnitsB = kTileN * kTileK / 8;  // loads of 16 bytes
const uint kLoadsA = (kUnitsA + kThreads - 1) / kThreads, kLoadsB = (kUnitsB + kThreads - 1) / kThreads;
const uint kPitchA = kFastA / 8 + 1, kPitchB = kFastB / 8 + 1;
const uint kLengthA = kTileM * kTileK / kFastA * kPitchA, kLengthB = kTileN * kTileK / kFastB * kPitchB;

shared uvec4 tile_a[PLANES * kLengthA], tile_b[PLANES * kLengthB];
shared vec4 results[kSubgroups * kM * kN / 4];

#define BYTES Offset(2)
#define ELEMENT4 vec4
uint begin_of(uint k0) { return k0; }
#include "product_operands.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Eight { uvec4 at; };
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer One { uint16_t at; };

// Eight neighbours from memory one by one; zero beyond the edges.
uvec4 eight(Address first, uint slow, uint from, uint slow_size, uint fast_size) {
  uvec4 v = uvec4(0);
  if (slow < slow_size)
    [[unroll]] for (uint l = 0; l < 8; ++l)
      if (from + l < fast_size) v[l / 2] |= uint(One(address_add(first, 2 * l)).at) << (l % 2 * 16);
  return v;
}

// What is on its way from global memory.
uvec4 next_a[PLANES * kLoadsA], next_b[PLANES * kLoadsB];

// Load number i of this thread as (slow, fast) place in the tile, whole rows below load number 0, because a row is at most
// a workgroup's loads and both are powers of two; past the last load: none.
uvec2 place(uint i, uint fast) {
  const uint unit = gl_LocalInvocationID.x;
  return uvec2(unit / (fast / 8) + i * (kThreads / (fast / 8)), unit % (fast / 8) * 8);
}
bool exists(uint i, uint units) { return units % kThreads == 0 || gl_LocalInvocationID.x + i * kThreads < units; }

// Of an operand that walks: whether the eight elements of a load are neighbours in memory, whatever k is.
#define FIND_RUNS(runs, rows, loads, units, fast, along_k)                                            \
  [[unroll]] for (uint i = 0; i < loads; ++i) {                                                       \
    runs[i] = !along_k;                                                                               \
    if (along_k || !exists(i, units)) continue;                                                       \
    const uint first = place(i, fast).y;                                                              \
    [[unroll]] for (uint l = 1; l < 8; ++l) runs[i] = runs[i] && rows[first + l] - rows[first] == 2 * l; \
  }

// Beyond the edge along k there are zeros; beyond the other one the last row or column, which no result needs.
#define GATHER(next, runs, first, rows, steps, k0, loads, units, fast, along_k)                            \
  [[unroll]] for (uint i = 0; i < loads; ++i) {                                                            \
    if (!exists(i, units)) continue;                                                                       \
    const uvec2 p = place(i, fast);                                                                        \
    const uint side = along_k ? p.x : p.y, k = along_k ? p.y : p.x, at = (k0 / kTileK & 1) * kTileK + k;   \
    next[i] = uvec4(0);                                                                                    \
    if (runs[i]) {                                                                                         \
      const Address from = address_add(first, Offset(SignedOffset(rows[side] + steps[at])));               \
      if (k0 + k < uint(size_k)) next[i] = is_aligned(from, 16) ? Eight(from).at : eight(from, 0, 0, 1, 8); \
      continue;                                                                                            \
    }                                                                                                      \
    [[unroll]] for (uint l = 0; l < 8; ++l) {                                                              \
      const uint over = along_k ? l : 0;                                                                   \
      if (k0 + k + over < uint(size_k))                                                                    \
        next[i][l / 2] |=                                                                                  \
            uint(One(address_add(first, Offset(SignedOffset(rows[side + l - over] + steps[at + over])))).at)  \
            << (l % 2 * 16);                                                                                 \
    }                                                                                                      \
  }

// Where load 0 of step 0 of an operand that does not walk comes from.
Address unit_at(Address first, uint x0, Offset step_x, Offset step_k, uint fast, bool along_k) {
  const uvec2 p = place(0, fast);
  return address_add(first, 2 * (along_k ? (x0 + p.x) * step_x + p.y : p.x * step_k + x0 + p.y));
}
// One step. Nothing looks for an edge where there is none.
#define FETCH(next, from, whole, x0, size_x, step_x, step_k, k0, plane_step, loads, units, fast, along_k)    \
  [[unroll]] for (uint plane = 0; plane < PLANES; ++plane) {                                                 \
    const Address first = address_add(address_add(from, 2 * (along_k ? k0 : k0 * step_k)),                   \
                                      2 * plane * plane_step);                                               \
    const Offset behind = 2 * (kThreads / (fast / 8)) * (along_k ? step_x : step_k);                       \
    if (whole && k0 + kTileK <= uint(size_k)) {                                                              \
      [[unroll]] for (uint i = 0; i < loads; ++i)                                                            \
        if (exists(i, units)) next[plane * loads + i] = Eight(address_add(first, i * behind)).at;                        \
    } else {                                                                                                 \
      [[unroll]] for (uint i = 0; i < loads; ++i) {                                                          \
        if (!exists(i, units)) continue;                                                                     \
        const uvec2 p = place(i, fast);                                                                      \
        next[plane * loads + i] = along_k ? eight(address_add(first, i * behind), x0 + p.x, k0 + p.y, size_x, uint(size_k)) \
                                          : eight(address_add(first, i * behind), k0 + p.x, x0 + p.y, uint(size_k), size_x); \
      }                                                                                                      \
    }                                                                                                        \
  }

#ifndef SCALED
#define a_plane Offset(0)
#define b_plane Offset(0)
#endif

void keep() {
  [[unroll]] for (uint plane = 0; plane < PLANES; ++plane) {
    [[unroll]] for (uint i = 0; i < kLoadsA; ++i) {
      const uvec2 p = place(i, kFastA);
      if (exists(i, kUnitsA)) tile_a[plane * kLengthA + p.x * kPitchA + p.y / 8] = next_a[plane * kLoadsA + i];
    }
    [[unroll]] for (uint i = 0; i < kLoadsB; ++i) {
      const uvec2 p = place(i, kFastB);
      if (exists(i, kUnitsB)) tile_b[plane * kLengthB + p.x * kPitchB + p.y / 8] = next_b[plane * kLoadsB + i];
    }
  }
}

#define SUMS coopmat<float, gl_ScopeSubgroup, kM, kN, gl_MatrixUseAccumulator>
SUMS sums[kFragmentsM * kFragmentsN];
// Units may cut off digits of their sums: those of two planes are a step's own, and are added as float32.
#if PLANES == 2
SUMS step_sums[kFragmentsM * kFragmentsN];
#else
#define step_sums sums
#endif

#define LOAD_A(x, plane, m, k)                                                                              \
  if (kAAlongK == 1)                                                                                        \
    coopMatLoad(x, tile_a, plane * kLengthA + (m) * kPitchA + (k) / 8, kPitchA,                             \
                gl_CooperativeMatrixLayoutRowMajor);                                                        \
  else                                                                                                      \
    coopMatLoad(x, tile_a, plane * kLengthA + (k) * kPitchA + (m) / 8, kPitchA,                             \
                gl_CooperativeMatrixLayoutColumnMajor);
#define LOAD_B(x, plane, n, k)                                                                              \
  if (kBAlongK == 0)                                                                                        \
    coopMatLoad(x, tile_b, plane * kLengthB + (k) * kPitchB + (n) / 8, kPitchB,                             \
                gl_CooperativeMatrixLayoutRowMajor);                                                        \
  else                                                                                                      \
    coopMatLoad(x, tile_b, plane * kLengthB + (n) * kPitchB + (k) / 8, kPitchB,                             \
                gl_CooperativeMatrixLayoutColumnMajor);
// Of one plane of a with what is in b.
#define MULTIPLY(plane)                              \
  [[unroll]] for (uint i = 0; i < kFragmentsM; ++i)  \
    step_sums[i * kFragmentsN + j] = coopMatMulAdd(a[plane * kFragmentsM + i], b, step_sums[i * kFragmentsN + j]);

void multiply(uint m_own, uint n_own) {
#if PLANES == 2
  [[unroll]] for (uint i = 0; i < kFragmentsM * kFragmentsN; ++i) step_sums[i] = SUMS(0.0);
#endif
  [[unroll]] for (uint k = 0; k < kTileK; k += kK) {
    coopmat<MATRIX, gl_ScopeSubgroup, kM, kK, gl_MatrixUseA> a[PLANES * kFragmentsM];
    [[unroll]] for (uint plane = 0; plane < PLANES; ++plane)
      [[unroll]] for (uint i = 0; i < kFragmentsM; ++i)
        LOAD_A(a[plane * kFragmentsM + i], plane, m_own + i * kM, k)
    [[unroll]] for (uint j = 0; j < kFragmentsN; ++j) {
      coopmat<MATRIX, gl_ScopeSubgroup, kK, kN, gl_MatrixUseB> b;
#if PLANES == 2
      LOAD_B(b, 1, n_own + j * kN, k)
      MULTIPLY(0)
#endif
      LOAD_B(b, 0, n_own + j * kN, k)
#if PLANES == 2
      MULTIPLY(1)
#endif
      MULTIPLY(0)
    }
  }
#if PLANES == 2
  [[unroll]] for (uint i = 0; i < kFragmentsM * kFragmentsN; ++i) sums[i] = sums[i] + step_sums[i];
#endif
}

// A fragment's sums pass through shared memory, so that a thread has four neighbours for the epilogue. A row of fragments is
// always the first one: an epilogue that is written out for each of them takes long to compile.
void finish_all(uint batch, uint m0, uint n0) {
  const uint first = gl_SubgroupID * (kM * kN / 4);
  [[dont_unroll]] for (uint i = 0; i < kFragmentsM; ++i) {
    [[unroll]] for (uint j = 0; j < kFragmentsN; ++j) {
      coopMatStore(sums[j], results, first, kN / 4, gl_CooperativeMatrixLayoutRowMajor);
      subgroupBarrier();
      [[dont_unroll]] for (uint u = 0; u < kM * kN / 4; u += kSubgroup) {
        const uint at = u + gl_SubgroupInvocationID;
        const uint m = m0 + i * kM + at / (kN / 4), n = n0 + j * kN + at % (kN / 4) * 4;
        if (at >= kM * kN / 4 || m >= uint(size_m) || n >= COLUMNS) continue;
        vec4 sum = results[first + at];
        [[unroll]] for (uint l = 0; l < 4; ++l) sum[l] = unscaled(batch, m, min(n + l, uint(size_n) - 1), sum[l]);
        finish(batch, m, n, sum);
      }
      subgroupBarrier();
    }
    [[unroll]] for (uint s = kFragmentsN; s < kFragmentsM * kFragmentsN; ++s) sums[s - kFragmentsN] = sums[s];
  }
}

void tile(uint batch, uint m0, uint n0) {
  const Address first_a = address_add(tensor_a, 2 * batch * a_batch), first_b = address_add(tensor_b, 2 * batch * b_batch);
  const uint m_own = gl_SubgroupID / kCols * kOwnM, n_own = gl_SubgroupID % kCols * kOwnN;
  [[unroll]] for (uint i = 0; i < kFragmentsM * kFragmentsN; ++i) sums[i] = SUMS(0.0);
#ifdef WALKS
  find_rows(m0, n0);
  find_steps(0);
  find_steps(kTileK);
  barrier();
#endif
#ifdef A_WALKS
  bool runs_a[kLoadsA];
  FIND_RUNS(runs_a, rows_a, kLoadsA, kUnitsA, kFastA, (kAAlongK == 1))
#define FETCH_A(k0) GATHER(next_a, runs_a, first_a, rows_a, steps_a, k0, kLoadsA, kUnitsA, kFastA, (kAAlongK == 1))
#else
  const bool whole_a = kAEven == 1 && m0 + kTileM <= uint(size_m);  // no edge, and loads of 16 bytes are aligned
  const Address from_a = unit_at(first_a, m0, a_m, a_k, kFastA, kAAlongK == 1);
#define FETCH_A(k0) \
  FETCH(next_a, from_a, whole_a, m0, uint(size_m), a_m, a_k, k0, a_plane, kLoadsA, kUnitsA, kFastA, (kAAlongK == 1))
#endif
#ifdef B_WALKS
  bool runs_b[kLoadsB];
  FIND_RUNS(runs_b, rows_b, kLoadsB, kUnitsB, kFastB, (kBAlongK == 1))
#define FETCH_B(k0) GATHER(next_b, runs_b, first_b, rows_b, steps_b, k0, kLoadsB, kUnitsB, kFastB, (kBAlongK == 1))
#else
  const bool whole_b = kBEven == 1 && n0 + kTileN <= uint(size_n);
  const Address from_b = unit_at(first_b, n0, b_n, b_k, kFastB, kBAlongK == 1);
#define FETCH_B(k0) \
  FETCH(next_b, from_b, whole_b, n0, uint(size_n), b_n, b_k, k0, b_plane, kLoadsB, kUnitsB, kFastB, (kBAlongK == 1))
#endif
  FETCH_A(0)
  FETCH_B(0)
  for (uint k0 = 0; k0 < uint(size_k); k0 += kTileK) {
    barrier();
    keep();
#ifdef WALKS
    find_steps(k0 + 2 * kTileK);
#endif
    barrier();
    const uint k1 = k0 + kTileK;
    if (uint(size_k) - k0 > kTileK) {
      FETCH_A(k1)
      FETCH_B(k1)
    }
    multiply(m_own, n_own);
  }
  finish_all(batch, m0 + m_own, n0 + n_own);
}

#include "product_tiles.glsl"
