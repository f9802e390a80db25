// The matrix product out[b, m, n] = epilogue(sum over k of a[b, m, k] * b[b, k, n]), any strides.
// Included by product.comp and by generated kernels. The including text defines ELEMENT, ELEMENT4, MEMORY, MEMORY4,
// BYTES, LOAD and LOAD4 (what is in memory as ELEMENT), MULTIPLY_ADD, the argument macros, and
//   void epilogue(uint batch, uint m, uint n, ELEMENT4 sum)   // columns n .. n + 3; those from size_n on do not exist
// With A_WALKS or B_WALKS that operand has no one stride along k (see kernel/kernel.hpp), with FOLDED the columns of
// several batch entries are those of one product, and with ONE_COLUMN the epilogue takes one of them at a time.
//
// A workgroup makes a tile of kTileM x kTileN. It walks K in steps of kTileK: while one step is multiplied from shared
// memory, the next travels from global memory to registers. A thread owns kThreadM x kThreadN results as blocks of
// 4 x 4. For small problems kParts threads share the same results, each with its slice of every step; their sums meet
// in shared memory in a fixed order.

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint kTileM = 64;
layout(constant_id = 1) const uint kTileN = 64;
layout(constant_id = 2) const uint kTileK = 16;
layout(constant_id = 3) const uint kThreadM = 4;
layout(constant_id = 4) const uint kThreadN = 4;
layout(constant_id = 5) const uint kParts = 1;
layout(constant_id = 6) const uint kAAlongK = 0;  // 1: four neighbours of a in memory run along k, 0: along m
layout(constant_id = 7) const uint kBAlongK = 0;  // 1: four neighbours of b in memory run along k, 0: along n

const uint kThreads = 256;
const uint kRows = kTileM / kThreadM, kCols = kTileN / kThreadN;  // threads of one part
const uint kStrideA = kTileM / 4 + 1, kStrideB = kTileN / 4 + 1;  // one more than needed: other banks
const uint kBuffer = kTileK * (kStrideA + kStrideB);
const uint kResults = kTileM * kTileN / 4;
const uint kSums = kParts > 1 ? kParts * kResults : 0;
const uint kUnitsA = kTileM * kTileK / 4, kUnitsB = kTileN * kTileK / 4;  // 16-byte loads of a step
const uint kLoadsA = (kUnitsA + kThreads - 1) / kThreads, kLoadsB = (kUnitsB + kThreads - 1) / kThreads;
const uint kSharedLength = 2 * kBuffer > kSums ? 2 * kBuffer : kSums;
// Neighbouring threads of 32 form a block of 8 x 4: they then share most of what they read.
const uint kBlockCols = kCols < 8 ? kCols : 8;
const uint kBlockRows = kRows < 32 / kBlockCols ? kRows : 32 / kBlockCols;

shared ELEMENT4 tiles[kSharedLength];

#ifdef FOLDED
#define COLUMNS (uint(size_n) * uint(folded))
#define GROUPS (uint(batches) / uint(folded))
#else
#define COLUMNS uint(size_n)
#define GROUPS uint(batches)
#endif

// Of operands that walk: where in memory the rows or columns of the tile begin, and how far from there the elements of
// this step of K and of the next lie, in bytes.
#ifdef A_WALKS
shared uint64_t rows_a[kTileM], steps_a[2 * kTileK];
#endif
#ifdef B_WALKS
shared uint64_t rows_b[kTileN], steps_b[2 * kTileK];
#endif
#if defined(A_WALKS) || defined(B_WALKS)
#define WALKS

uint64_t walk(uint number, uint size1, uint size2, uint64_t step0, uint64_t step1, uint64_t step2) {
  const uint rest = number / size2;
  return BYTES * (rest / size1 * step0 + rest % size1 * step1 + number % size2 * step2);
}

void find_rows(uint m0, uint n0) {
#ifdef A_WALKS
  for (uint i = gl_LocalInvocationID.x; i < kTileM; i += kThreads)
    rows_a[i] = BYTES * min(m0 + i, uint(size_m) - 1) * a_m;
#endif
#ifdef B_WALKS
  for (uint i = gl_LocalInvocationID.x; i < kTileN; i += kThreads) {
    uint n = min(n0 + i, COLUMNS - 1);
    uint64_t first = 0;
#ifdef FOLDED
    first = BYTES * (n / uint(size_n)) * b_folded;
    n %= uint(size_n);
#endif
    rows_b[i] = first + walk(n, uint(n_size1), uint(n_size2), b_n0, b_n1, b_n2);
  }
#endif
}

void find_steps(uint k0) {
  if (gl_LocalInvocationID.x >= kTileK) return;
  const uint k = min(k0 + gl_LocalInvocationID.x, uint(size_k) - 1);
  const uint at = (k0 / kTileK & 1) * kTileK + gl_LocalInvocationID.x;
#ifdef A_WALKS
  steps_a[at] = walk(k, uint(k_size1), uint(k_size2), a_k0, a_k1, a_k2);
#endif
#ifdef B_WALKS
  steps_b[at] = walk(k, uint(k_size1), uint(k_size2), b_k0, b_k1, b_k2);
#endif
}

// Element number i of this thread as (place along m or n, place along k).
uvec2 place(uint i, uint tile, bool along_k) {
  const uint e = gl_LocalInvocationID.x + i * kThreads;
  return along_k ? uvec2(e / kTileK, e % kTileK) : uvec2(e % tile, e / tile);
}
#endif

// What is on its way from global memory, and where this thread's loads of step 0 come from.
ELEMENT4 next_a[kLoadsA], next_b[kLoadsB];
uint64_t from_a[kLoadsA], from_b[kLoadsB];
bool whole_a, whole_b;  // no edge inside the tile, and 16-byte loads are aligned

// Load number i of this thread as (place along m or n, place along k).
uvec2 unit(uint i, uint tile, bool along_k) {
  const uint u = gl_LocalInvocationID.x + i * kThreads;
  return along_k ? uvec2(u / (kTileK / 4), u % (kTileK / 4) * 4) : uvec2(u % (tile / 4) * 4, u / (tile / 4));
}

// Four neighbours one by one; zero beyond the edges.
ELEMENT4 four(uint64_t first, uint x, uint size, uint64_t x_step, uint k, uint64_t k_step, bool along_k) {
  ELEMENT4 v = ELEMENT4(0);
  [[unroll]] for (uint l = 0; l < 4; ++l) {
    const uint at_x = along_k ? x : x + l, at_k = along_k ? k + l : k;
    if (at_x < size && at_k < uint(size_k)) v[l] = LOAD(MEMORY(first + BYTES * (at_x * x_step + at_k * k_step)).at[0]);
  }
  return v;
}

void fetch(uint k0, uint64_t first_a, uint64_t first_b, uint m0, uint n0) {
  const bool full = k0 + kTileK <= uint(size_k);
#ifdef A_WALKS
  [[unroll]] for (uint i = 0; i < kLoadsA * 4; ++i) {
    const uvec2 p = place(i, kTileM, kAAlongK == 1);
    ELEMENT v = ELEMENT(0);
    if (p.x < kTileM && p.y < kTileK && k0 + p.y < uint(size_k))
      v = LOAD(MEMORY(first_a + rows_a[p.x] + steps_a[(k0 / kTileK & 1) * kTileK + p.y]).at[0]);
    next_a[i / 4][i % 4] = v;
  }
#else
  if (full && whole_a) {
    const uint64_t forward = BYTES * k0 * a_k;
    [[unroll]] for (uint i = 0; i < kLoadsA; ++i)
      if (kUnitsA % kThreads == 0 || gl_LocalInvocationID.x + i * kThreads < kUnitsA)
        next_a[i] = LOAD4(MEMORY4(from_a[i] + forward).at[0]);
  } else {
    [[unroll]] for (uint i = 0; i < kLoadsA; ++i) {
      const uvec2 p = unit(i, kTileM, kAAlongK == 1);
      if (p.x < kTileM && p.y < kTileK)
        next_a[i] = four(first_a, m0 + p.x, uint(size_m), a_m, k0 + p.y, a_k, kAAlongK == 1);
    }
  }
#endif
#ifdef B_WALKS
  [[unroll]] for (uint i = 0; i < kLoadsB * 4; ++i) {
    const uvec2 p = place(i, kTileN, kBAlongK == 1);
    ELEMENT v = ELEMENT(0);
    if (p.x < kTileN && p.y < kTileK && k0 + p.y < uint(size_k))
      v = LOAD(MEMORY(first_b + rows_b[p.x] + steps_b[(k0 / kTileK & 1) * kTileK + p.y]).at[0]);
    next_b[i / 4][i % 4] = v;
  }
#else
  if (full && whole_b) {
    const uint64_t forward = BYTES * k0 * b_k;
    [[unroll]] for (uint i = 0; i < kLoadsB; ++i)
      if (kUnitsB % kThreads == 0 || gl_LocalInvocationID.x + i * kThreads < kUnitsB)
        next_b[i] = LOAD4(MEMORY4(from_b[i] + forward).at[0]);
  } else {
    [[unroll]] for (uint i = 0; i < kLoadsB; ++i) {
      const uvec2 p = unit(i, kTileN, kBAlongK == 1);
      if (p.x < kTileN && p.y < kTileK)
        next_b[i] = four(first_b, n0 + p.x, uint(size_n), b_n, k0 + p.y, b_k, kBAlongK == 1);
    }
  }
#endif
}

// From registers to shared memory, where both operands lie with four rows or columns side by side for each k.
void put(uint base, uint stride, uvec2 p, ELEMENT4 v, bool along_k) {
  if (along_k) {
    [[unroll]] for (uint l = 0; l < 4; ++l) tiles[base + (p.y + l) * stride + p.x / 4][p.x % 4] = v[l];
  } else {
    tiles[base + p.y * stride + p.x / 4] = v;
  }
}

void keep(uint side) {
  const uint base_a = side * kBuffer, base_b = base_a + kTileK * kStrideA;
#ifdef A_WALKS
  [[unroll]] for (uint i = 0; i < kLoadsA * 4; ++i) {
    const uvec2 p = place(i, kTileM, kAAlongK == 1);
    if (p.x < kTileM && p.y < kTileK) tiles[base_a + p.y * kStrideA + p.x / 4][p.x % 4] = next_a[i / 4][i % 4];
  }
#else
  [[unroll]] for (uint i = 0; i < kLoadsA; ++i) {
    const uvec2 p = unit(i, kTileM, kAAlongK == 1);
    if (kUnitsA % kThreads == 0 || (p.x < kTileM && p.y < kTileK)) put(base_a, kStrideA, p, next_a[i], kAAlongK == 1);
  }
#endif
#ifdef B_WALKS
  [[unroll]] for (uint i = 0; i < kLoadsB * 4; ++i) {
    const uvec2 p = place(i, kTileN, kBAlongK == 1);
    if (p.x < kTileN && p.y < kTileK) tiles[base_b + p.y * kStrideB + p.x / 4][p.x % 4] = next_b[i / 4][i % 4];
  }
#else
  [[unroll]] for (uint i = 0; i < kLoadsB; ++i) {
    const uvec2 p = unit(i, kTileN, kBAlongK == 1);
    if (kUnitsB % kThreads == 0 || (p.x < kTileN && p.y < kTileK)) put(base_b, kStrideB, p, next_b[i], kBAlongK == 1);
  }
#endif
}

bool aligned(uint64_t first, uint64_t step_x, uint64_t step_k, bool along_k) {
  const uint64_t fast = along_k ? step_k : step_x, slow = along_k ? step_x : step_k;
  return fast == 1 && ((first | slow * BYTES) & min(15, 4 * BYTES - 1)) == 0;
}

void finish(uint batch, uint m, uint n, ELEMENT4 sum) {
#ifdef ONE_COLUMN
  [[unroll]] for (uint l = 0; l < 4; ++l)
    if (m < uint(size_m) && n + l < COLUMNS)
      epilogue((n + l) / uint(size_n) * GROUPS + batch, m, (n + l) % uint(size_n), sum[l]);
#elif defined(FOLDED)
  if (m < uint(size_m) && n < COLUMNS) epilogue(n / uint(size_n) * GROUPS + batch, m, n % uint(size_n), sum);
#else
  if (m < uint(size_m) && n < uint(size_n)) epilogue(batch, m, n, sum);
#endif
}

void tile(uint batch, uint m0, uint n0) {
  const uint64_t first_a = tensor_a + BYTES * batch * a_batch, first_b = tensor_b + BYTES * batch * b_batch;
#ifndef A_WALKS
  whole_a = m0 + kTileM <= uint(size_m) && aligned(first_a, a_m, a_k, kAAlongK == 1);
  [[unroll]] for (uint i = 0; i < kLoadsA; ++i) {
    const uvec2 p = unit(i, kTileM, kAAlongK == 1);
    from_a[i] = first_a + BYTES * ((m0 + p.x) * a_m + p.y * a_k);
  }
#endif
#ifndef B_WALKS
  whole_b = n0 + kTileN <= uint(size_n) && aligned(first_b, b_n, b_k, kBAlongK == 1);
  [[unroll]] for (uint i = 0; i < kLoadsB; ++i) {
    const uvec2 p = unit(i, kTileN, kBAlongK == 1);
    from_b[i] = first_b + BYTES * ((n0 + p.x) * b_n + p.y * b_k);
  }
#endif
#ifdef WALKS
  find_rows(m0, n0);
  find_steps(0);
  find_steps(kTileK);
  barrier();
#endif

  const uint thread = gl_LocalInvocationID.x;
  const uint part = thread / (kRows * kCols), own = thread % (kRows * kCols);
  const uint block = own / (kBlockRows * kBlockCols), inside = own % (kBlockRows * kBlockCols);
  const uint row = block / (kCols / kBlockCols) * kBlockRows + inside / kBlockCols;
  const uint col = block % (kCols / kBlockCols) * kBlockCols + inside % kBlockCols;

  ELEMENT4 sum[kThreadM * (kThreadN / 4)];
  [[unroll]] for (uint i = 0; i < kThreadM * (kThreadN / 4); ++i) sum[i] = ELEMENT4(0);
  fetch(0, first_a, first_b, m0, n0);
  keep(0);
  barrier();
  uint side = 0;
  for (uint k0 = 0; k0 < uint(size_k); k0 += kTileK) {
    const bool more = uint(size_k) - k0 > kTileK;
    if (more) fetch(k0 + kTileK, first_a, first_b, m0, n0);
#ifdef WALKS
    find_steps(k0 + 2 * kTileK);
#endif
    const uint base_a = side * kBuffer + part * (kTileK / kParts) * kStrideA + row;
    const uint base_b = side * kBuffer + kTileK * kStrideA + part * (kTileK / kParts) * kStrideB + col;
    [[unroll]] for (uint k = 0; k < kTileK / kParts; ++k) {
      ELEMENT4 a[kThreadM / 4], b[kThreadN / 4];
      [[unroll]] for (uint g = 0; g < kThreadM / 4; ++g) a[g] = tiles[base_a + k * kStrideA + g * kRows];
      [[unroll]] for (uint g = 0; g < kThreadN / 4; ++g) b[g] = tiles[base_b + k * kStrideB + g * kCols];
      [[unroll]] for (uint i = 0; i < kThreadM; ++i)
        [[unroll]] for (uint g = 0; g < kThreadN / 4; ++g)
          sum[i * (kThreadN / 4) + g] = MULTIPLY_ADD(ELEMENT4(a[i / 4][i % 4]), b[g], sum[i * (kThreadN / 4) + g]);
    }
    if (more) keep(side ^ 1);
    barrier();
    side ^= 1;
  }

  [[unroll]] for (uint i = 0; i < kThreadM; ++i) {
    const uint m = (i / 4 * kRows + row) * 4 + i % 4;
    [[unroll]] for (uint g = 0; g < kThreadN / 4; ++g) {
      const uint n4 = g * kCols + col;
      if (kParts == 1)
        finish(batch, m0 + m, n0 + n4 * 4, sum[i * (kThreadN / 4) + g]);
      else
        tiles[part * kResults + m * (kTileN / 4) + n4] = sum[i * (kThreadN / 4) + g];
    }
  }
  if (kParts > 1) {
    barrier();
    for (uint i = thread; i < kResults; i += kThreads) {
      ELEMENT4 all = tiles[i];
      [[unroll]] for (uint p = 1; p < kParts; ++p) all += tiles[p * kResults + i];
      finish(batch, m0 + i / (kTileN / 4), n0 + i % (kTileN / 4) * 4, all);
    }
    barrier();
  }
}

#include "product_tiles.glsl"
