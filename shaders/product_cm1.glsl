// The matrix product of half types by VK_KHR_cooperative_matrix, sums in float32. Included by generated kernels, which
// define MATRIX (the type of an element), the argument macros, and
//   void epilogue(uint batch, uint m, uint n, vec4 sum)   // columns n .. n + 3; those from size_n on do not exist
//
// A workgroup makes a tile of kTileM x kTileN and walks K in steps of kTileK: while one step is multiplied from shared
// memory, the next travels from global memory to registers. Each subgroup owns a block of the tile in fragments of
// kM x kN. Shared memory holds operands as memory does, eight neighbours together, one eight more a row than needed, so
// that rows begin in other banks. One of an operand's two strides is 1: that of k or the other one.

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint kTileM = 128;
layout(constant_id = 1) const uint kTileN = 128;
layout(constant_id = 2) const uint kTileK = 32;
layout(constant_id = 3) const uint kSubgroup = 32;
layout(constant_id = 4) const uint kAAlongK = 1;  // 1: neighbours of a in memory run along k, 0: along m
layout(constant_id = 5) const uint kBAlongK = 0;  // 1: neighbours of b in memory run along k, 0: along n
layout(constant_id = 6) const uint kEven = 0;     // 1: rows begin at multiples of eight elements
layout(constant_id = 7) const uint kM = 16;
layout(constant_id = 8) const uint kN = 16;
layout(constant_id = 9) const uint kK = 16;
layout(constant_id = 10) const uint kRows = 2;  // of subgroups

const uint kThreads = 256, kSubgroups = kThreads / kSubgroup, kCols = kSubgroups / kRows;
const uint kOwnM = kTileM / kRows, kOwnN = kTileN / kCols;  // of a subgroup
const uint kFragmentsM = kOwnM / kM, kFragmentsN = kOwnN / kN;
const uint kFastA = kAAlongK == 1 ? kTileK : kTileM, kFastB = kBAlongK == 1 ? kTileK : kTileN;
const uint kUnitsA = kTileM * kTileK / 8, kUnitsB = kTileN * kTileK / 8;  // loads of 16 bytes
const uint kLoadsA = (kUnitsA + kThreads - 1) / kThreads, kLoadsB = (kUnitsB + kThreads - 1) / kThreads;
const uint kPitchA = kFastA / 8 + 1, kPitchB = kFastB / 8 + 1;
const uint kLengthA = kTileM * kTileK / kFastA * kPitchA, kLengthB = kTileN * kTileK / kFastB * kPitchB;

shared uvec4 tile_a[kLengthA], tile_b[kLengthB];
shared vec4 results[kSubgroups * kM * kN / 4];

#define COLUMNS uint(size_n)
#define GROUPS uint(batches)

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Eight { uvec4 at; };
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer One { uint16_t at; };

// Eight neighbours from memory one by one; zero beyond the edges.
uvec4 eight(uint64_t first, uint slow, uint from, uint slow_size, uint fast_size) {
  uvec4 v = uvec4(0);
  if (slow < slow_size)
    [[unroll]] for (uint l = 0; l < 8; ++l)
      if (from + l < fast_size) v[l / 2] |= uint(One(first + 2 * l).at) << (l % 2 * 16);
  return v;
}

// What is on its way from global memory, and where this thread's loads of step 0 come from.
uvec4 next_a[kLoadsA], next_b[kLoadsB];
uint64_t from_a[kLoadsA], from_b[kLoadsB];
bool whole_a, whole_b;  // no edge inside the tile, and 16-byte loads are aligned

// Load number i of this thread as (slow, fast) place in the tile; past the last load: none.
uvec2 place(uint i, uint fast) {
  const uint unit = gl_LocalInvocationID.x + i * kThreads;
  return uvec2(unit / (fast / 8), unit % (fast / 8) * 8);
}
bool exists(uint i, uint units) { return units % kThreads == 0 || gl_LocalInvocationID.x + i * kThreads < units; }

void begin(uint64_t first_a, uint64_t first_b, uint m0, uint n0) {
  whole_a = kEven == 1 && m0 + kTileM <= uint(size_m);
  whole_b = kEven == 1 && n0 + kTileN <= uint(size_n);
  [[unroll]] for (uint i = 0; i < kLoadsA; ++i) {
    const uvec2 p = place(i, kFastA);
    from_a[i] = first_a + 2 * (kAAlongK == 1 ? (m0 + p.x) * a_m + p.y : p.x * a_k + m0 + p.y);
  }
  [[unroll]] for (uint i = 0; i < kLoadsB; ++i) {
    const uvec2 p = place(i, kFastB);
    from_b[i] = first_b + 2 * (kBAlongK == 1 ? (n0 + p.x) * b_n + p.y : p.x * b_k + n0 + p.y);
  }
}

void fetch(uint m0, uint n0, uint k0) {
  const bool full = k0 + kTileK <= uint(size_k);
  const uint64_t step_a = 2 * (kAAlongK == 1 ? k0 : k0 * a_k), step_b = 2 * (kBAlongK == 1 ? k0 : k0 * b_k);
  [[unroll]] for (uint i = 0; i < kLoadsA; ++i) {
    if (!exists(i, kUnitsA)) continue;
    const uvec2 p = place(i, kFastA);
    if (full && whole_a)
      next_a[i] = Eight(from_a[i] + step_a).at;
    else
      next_a[i] = kAAlongK == 1 ? eight(from_a[i] + step_a, m0 + p.x, k0 + p.y, uint(size_m), uint(size_k))
                                : eight(from_a[i] + step_a, k0 + p.x, m0 + p.y, uint(size_k), uint(size_m));
  }
  [[unroll]] for (uint i = 0; i < kLoadsB; ++i) {
    if (!exists(i, kUnitsB)) continue;
    const uvec2 p = place(i, kFastB);
    if (full && whole_b)
      next_b[i] = Eight(from_b[i] + step_b).at;
    else
      next_b[i] = kBAlongK == 1 ? eight(from_b[i] + step_b, n0 + p.x, k0 + p.y, uint(size_n), uint(size_k))
                                : eight(from_b[i] + step_b, k0 + p.x, n0 + p.y, uint(size_k), uint(size_n));
  }
}

void keep() {
  [[unroll]] for (uint i = 0; i < kLoadsA; ++i) {
    const uvec2 p = place(i, kFastA);
    if (exists(i, kUnitsA)) tile_a[p.x * kPitchA + p.y / 8] = next_a[i];
  }
  [[unroll]] for (uint i = 0; i < kLoadsB; ++i) {
    const uvec2 p = place(i, kFastB);
    if (exists(i, kUnitsB)) tile_b[p.x * kPitchB + p.y / 8] = next_b[i];
  }
}

coopmat<float, gl_ScopeSubgroup, kM, kN, gl_MatrixUseAccumulator> sums[kFragmentsM * kFragmentsN];

void multiply(uint m_own, uint n_own) {
  [[unroll]] for (uint k = 0; k < kTileK; k += kK) {
    coopmat<MATRIX, gl_ScopeSubgroup, kM, kK, gl_MatrixUseA> a[kFragmentsM];
    [[unroll]] for (uint i = 0; i < kFragmentsM; ++i) {
      const uint m = m_own + i * kM;
      if (kAAlongK == 1)
        coopMatLoad(a[i], tile_a, m * kPitchA + k / 8, kPitchA, gl_CooperativeMatrixLayoutRowMajor);
      else
        coopMatLoad(a[i], tile_a, k * kPitchA + m / 8, kPitchA, gl_CooperativeMatrixLayoutColumnMajor);
    }
    [[unroll]] for (uint j = 0; j < kFragmentsN; ++j) {
      coopmat<MATRIX, gl_ScopeSubgroup, kK, kN, gl_MatrixUseB> b;
      const uint n = n_own + j * kN;
      if (kBAlongK == 0)
        coopMatLoad(b, tile_b, k * kPitchB + n / 8, kPitchB, gl_CooperativeMatrixLayoutRowMajor);
      else
        coopMatLoad(b, tile_b, n * kPitchB + k / 8, kPitchB, gl_CooperativeMatrixLayoutColumnMajor);
      [[unroll]] for (uint i = 0; i < kFragmentsM; ++i)
        sums[i * kFragmentsN + j] = coopMatMulAdd(a[i], b, sums[i * kFragmentsN + j]);
    }
  }
}

// A fragment's sums pass through shared memory, so that a thread has four neighbours for the epilogue.
void finish(uint batch, uint m0, uint n0) {
  const uint first = gl_SubgroupID * (kM * kN / 4);
  [[unroll]] for (uint i = 0; i < kFragmentsM; ++i)
    [[unroll]] for (uint j = 0; j < kFragmentsN; ++j) {
      coopMatStore(sums[i * kFragmentsN + j], results, first, kN / 4, gl_CooperativeMatrixLayoutRowMajor);
      subgroupBarrier();
      [[unroll]] for (uint u = 0; u < kM * kN / 4; u += kSubgroup) {
        const uint at = u + gl_SubgroupInvocationID;
        const uint m = m0 + i * kM + at / (kN / 4), n = n0 + j * kN + at % (kN / 4) * 4;
        if (at < kM * kN / 4 && m < uint(size_m) && n < uint(size_n)) epilogue(batch, m, n, results[first + at]);
      }
      subgroupBarrier();
    }
}

void tile(uint batch, uint m0, uint n0) {
  const uint64_t first_a = tensor_a + 2 * batch * a_batch, first_b = tensor_b + 2 * batch * b_batch;
  const uint m_own = gl_SubgroupID / kCols * kOwnM, n_own = gl_SubgroupID % kCols * kOwnN;
  [[unroll]] for (uint i = 0; i < kFragmentsM * kFragmentsN; ++i)
    sums[i] = coopmat<float, gl_ScopeSubgroup, kM, kN, gl_MatrixUseAccumulator>(0.0);
  begin(first_a, first_b, m0, n0);
  fetch(m0, n0, 0);
  for (uint k0 = 0; k0 < uint(size_k); k0 += kTileK) {
    barrier();
    keep();
    barrier();
    if (uint(size_k) - k0 > kTileK) fetch(m0, n0, k0 + kTileK);
    multiply(m_own, n_own);
  }
  finish(batch, m0 + m_own, n0 + n_own);
}

#include "product_tiles.glsl"
