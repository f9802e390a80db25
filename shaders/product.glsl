// The matrix product out[b, m, n] = epilogue(sum over k of a[b, m, k] * b[b, k, n]), any strides.
// Included by product.comp and by generated kernels. The including text defines ELEMENT, ELEMENT4, MEMORY, MEMORY4,
// BYTES, LOAD and LOAD4 (what is in memory as ELEMENT), MULTIPLY_ADD, the argument macros, and
//   void epilogue(uint batch, uint m, uint n, ELEMENT4 sum)   // columns n .. n + 3; those from size_n on do not exist
// With A_WALKS or B_WALKS that operand has no one stride along k (see kernel/kernel.hpp), with FOLDED the columns of
// several batch entries are those of one product (b then walks, or is read in fours), and with ONE_COLUMN the epilogue takes one of them at a time. With
// SLICED the batch are slices of one sum over k, of which the last may be shorter.
//
// A workgroup makes a tile of kTileM x kTileN. It walks K in steps of kTileK, of which the first takes what does not fill
// one: while one step is multiplied from shared memory, the next travels from global memory to registers, and the factors
// of one k are read from shared memory before those of the last are multiplied. A thread owns kThreadM x kThreadN results
// as blocks of 4 x 4. For small problems kParts threads share the same results, each with its slice of every step; their
// sums meet in shared memory in a fixed order.

layout(local_size_x_id = 8) in;
layout(constant_id = 0) const uint kTileM = 64;
layout(constant_id = 1) const uint kTileN = 64;
layout(constant_id = 2) const uint kTileK = 16;
layout(constant_id = 3) const uint kThreadM = 4;
layout(constant_id = 4) const uint kThreadN = 4;
layout(constant_id = 5) const uint kParts = 1;
layout(constant_id = 6) const uint kAAlongK = 0;  // 1: four neighbours of a in memory run along k, 0: along m
layout(constant_id = 7) const uint kBAlongK = 0;  // 1: four neighbours of b in memory run along k, 0: along n
layout(constant_id = 9) const uint kAFours = 0;   // 1: a is loaded by four neighbours, which no edge divides
layout(constant_id = 10) const uint kBFours = 0;  // 1: the same for b
layout(constant_id = 11) const uint kUnroll = 4;  // steps along k that are written out

const uint kThreads = gl_WorkGroupSize.x;
const uint kRows = kTileM / kThreadM, kCols = kTileN / kThreadN;  // threads of one part
const uint kFoursM = kThreadM / 4, kFoursN = kThreadN / 4, kOwn = kThreadM * kThreadN;  // of a thread
const uint kStrideA = kTileM / 4 + 1, kStrideB = kTileN / 4 + 1;  // one more than needed: other banks
const uint kBuffer = kTileK * (kStrideA + kStrideB);
const uint kResults = kTileM * kTileN / 4;
const uint kSums = kParts > 1 ? kParts * kResults : 0;
const uint kUnitsA = kTileM * kTileK / 4, kUnitsB = kTileN * kTileK / 4;  // groups of four that a step reads
const uint kLoadsA = (kUnitsA + kThreads - 1) / kThreads, kLoadsB = (kUnitsB + kThreads - 1) / kThreads;
const uint kLoads = kLoadsA > kLoadsB ? kLoadsA : kLoadsB;
const uint kSharedLength = 2 * kBuffer > kSums ? 2 * kBuffer : kSums;
// Neighbouring threads of 32 form a block of 8 x 4: they then share most of what they read.
const uint kBlockCols = kCols < 8 ? kCols : 8;
const uint kBlockRows = kRows < 32 / kBlockCols ? kRows : 32 / kBlockCols;

shared ELEMENT4 tiles[kSharedLength];
#ifdef SLICED
uint slice;
#define size_k min(uint(slice_k), uint(sliced_k) - slice * uint(slice_k))  // not kept in a register
#endif

// Where a step that begins at k0 is read: one behind the last reads that again.
uint begin_of(uint k0) { return min(k0, max(uint(size_k), kTileK) - kTileK); }
// A step that is written out as a whole has no branches: the compiler then orders all of it.
const bool kStraight = kUnroll == kTileK;
#include "product_operands.glsl"

// Thread t reads unit t of a step, and every kThreads-th after it: number i lies i times `unit_step` away from number 0,
// as (place along m or n, place along k).
uvec2 first_unit(uint tile, bool along_k) {
  const uint t = gl_LocalInvocationID.x;
  return along_k ? uvec2(t / (kTileK / 4), t % (kTileK / 4) * 4) : uvec2(t % (tile / 4) * 4, t / (tile / 4));
}
uvec2 unit_step(uint tile, bool along_k) {
  return along_k ? uvec2(kThreads / (kTileK / 4), 0) : uvec2(0, kThreads / (tile / 4));
}

// An operand that does not walk: strides in bytes, and how much of it lies behind the beginning of the tile. Beyond its
// edges it is read at the edge: no result needs that.
struct Operand {
  Address first;
  Offset step_x, step_k;
  uint size;
};

// What is on its way from global memory, and how far behind the beginning of a step it lies, in bytes.
ELEMENT4 next_a[kLoads], next_b[kLoads];
uint from_a[kLoads], from_b[kLoads];

void find_fours(Operand o, uint loads, uint tile, bool along_k, out uint from[kLoads]) {
  [[unroll]] for (uint i = 0; i < loads; ++i) {
    const uvec2 p = first_unit(tile, along_k) + i * unit_step(tile, along_k);
    const uint x = min(p.x, o.size - (along_k ? 1 : 4)), k = min(p.y, uint(size_k) - (along_k ? 4 : 1));
    from[i] = along_k ? x * uint(o.step_x) + k * uint(BYTES) : k * uint(o.step_k) + x * uint(BYTES);
  }
}

#if defined(FOLDED) && !defined(B_WALKS)
// Columns of several batch entries: four neighbours are of one. b then begins at its first column.
void find_folded(uint n0, out uint from[kLoads]) {
  [[unroll]] for (uint i = 0; i < kLoadsB; ++i) {
    const uvec2 p = first_unit(kTileN, false) + i * unit_step(kTileN, false);
    const uint n = n0 + min(p.x, COLUMNS - n0 - 4), k = min(p.y, uint(size_k) - 1);
    from[i] = uint(BYTES) * (n / uint(size_n) * uint(b_folded) + n % uint(size_n) + k * uint(b_k));
  }
}
#endif

void fetch(Operand o, uint k0, uint loads, uint tile, bool along_k, bool fours, uint from[kLoads],
           out ELEMENT4 next[kLoads]) {
  const Address first = address_add(o.first, begin_of(k0) * (along_k && fours ? BYTES : o.step_k));
  [[unroll]] for (uint i = 0; i < loads; ++i) {
    if (fours) {
      next[i] = LOAD4(MEMORY4(address_add(first, from[i])).at[0]);
    } else {
      const uvec2 p = first_unit(tile, along_k) + i * unit_step(tile, along_k);
      const uint x = min(p.x, o.size - 1), k = min(p.y, uint(size_k) - 1);
      const uint last = along_k ? uint(size_k) - 1 - k : o.size - 1 - x;
      [[unroll]] for (uint l = 0; l < 4; ++l)
        next[i][l] = LOAD(MEMORY(address_add(address_add(address_add(first, x * o.step_x), k * o.step_k),
                                             min(l, last) * (along_k ? o.step_k : o.step_x))).at[0]);
    }
  }
}

// The first step has zeros beyond its `size` elements along k.
void clear(uint size, uint loads, uint tile, bool along_k, inout ELEMENT4 next[kLoads]) {
  [[unroll]] for (uint i = 0; i < loads; ++i) {
    const uint k = first_unit(tile, along_k).y + i * unit_step(tile, along_k).y;
    [[unroll]] for (uint l = 0; l < 4; ++l)
      if (k + (along_k ? l : 0) >= size) next[i][l] = ELEMENT(0);
  }
}

// From registers to shared memory, where both operands lie with four rows or columns side by side for each k.
void keep(uint base, uint stride, uint loads, uint tile, bool along_k, ELEMENT4 next[kLoads]) {
  const uvec2 p = first_unit(tile, along_k), step = unit_step(tile, along_k);
  const uint units = tile * kTileK / 4, at = base + p.y * stride + p.x / 4, forward = step.y * stride + step.x / 4;
  [[unroll]] for (uint i = 0; i < loads; ++i) {
    if (units % kThreads != 0 && gl_LocalInvocationID.x + i * kThreads >= units) continue;
    if (along_k) {
      [[unroll]] for (uint l = 0; l < 4; ++l) tiles[at + i * forward + l * stride][p.x % 4] = next[i][l];
    } else {
      tiles[at + i * forward] = next[i];
    }
  }
}

#ifdef WALKS
// Element number i of this thread, as (place along m or n, place along k) behind number 0.
uvec2 first_element(uint tile, bool along_k) {
  const uint t = gl_LocalInvocationID.x;
  return along_k ? uvec2(t / kTileK, t % kTileK) : uvec2(t % tile, t / tile);
}
uvec2 element_step(uint i, uint tile, bool along_k) {
  if (along_k) return uvec2(i * (kThreads / kTileK), 0);
  const uint turns = tile > kThreads ? tile / kThreads : 1;  // until all rows or columns were visited
  return uvec2(i % turns * kThreads, tile > kThreads ? i / turns : i * (kThreads / tile));
}

#define FIND_ELEMENTS(from, rows, loads, tile, along_k)                                                          \
  [[unroll]] for (uint i = 0; i < 4 * loads; ++i)                                                                \
    from[i] = rows[min(first_element(tile, along_k).x + element_step(i, tile, along_k).x, tile - 1)];

#define FETCH_ELEMENTS(next, loads, first, from, steps, k0, tile, along_k)                                       \
  [[unroll]] for (uint i = 0; i < 4 * loads; ++i) {                                                              \
    const uint k = min(first_element(tile, along_k).y + element_step(i, tile, along_k).y, kTileK - 1);           \
    next[i / 4][i % 4] =                                                                                         \
        LOAD(MEMORY(address_add(first, Offset(SignedOffset(from[i] + steps[table_of(k0) + k])))).at[0]);          \
  }

void clear_elements(uint size, uint loads, uint tile, bool along_k, inout ELEMENT4 next[kLoads]) {
  [[unroll]] for (uint i = 0; i < 4 * loads; ++i)
    if (first_element(tile, along_k).y + element_step(i, tile, along_k).y >= size) next[i / 4][i % 4] = ELEMENT(0);
}

void keep_elements(uint base, uint stride, uint loads, uint tile, bool along_k, ELEMENT4 next[kLoads]) {
  const uvec2 p = first_element(tile, along_k);
  const uint at = base + p.y * stride + p.x / 4;
  [[unroll]] for (uint i = 0; i < 4 * loads; ++i) {
    const uvec2 step = element_step(i, tile, along_k);
    if (tile * kTileK % (4 * kThreads) != 0 && (p.x + step.x >= tile || p.y + step.y >= kTileK)) continue;
    tiles[at + step.y * stride + step.x / 4][p.x % 4] = next[i / 4][i % 4];
  }
}
#endif

// The factors of k, for a thread whose first ones lie there.
void read(uint at_a, uint at_b, uint k, out ELEMENT4 a[kFoursM], out ELEMENT4 b[kFoursN]) {
  [[unroll]] for (uint g = 0; g < kFoursM; ++g) a[g] = tiles[at_a + k * kStrideA + g * kRows];
  [[unroll]] for (uint g = 0; g < kFoursN; ++g) b[g] = tiles[at_b + k * kStrideB + g * kCols];
}

// Arrays whose sizes are specialization constants cannot be assigned as a whole.
void take(ELEMENT4 a1[kFoursM], ELEMENT4 b1[kFoursN], out ELEMENT4 a[kFoursM], out ELEMENT4 b[kFoursN]) {
  [[unroll]] for (uint g = 0; g < kFoursM; ++g) a[g] = a1[g];
  [[unroll]] for (uint g = 0; g < kFoursN; ++g) b[g] = b1[g];
}

// Two rows at once, there and back: neighbouring multiplications share a factor, so fewer registers are read.
void multiply(ELEMENT4 a[kFoursM], ELEMENT4 b[kFoursN], inout ELEMENT sum[kOwn]) {
  [[unroll]] for (uint i = 0; i < kThreadM; i += 2)
    [[unroll]] for (uint c = 0; c < kThreadN; ++c)
      [[unroll]] for (uint r = 0; r < 2; ++r) {
        const uint m = i + (c % 2 == 0 ? r : 1 - r), n = i % 4 == 0 ? c : kThreadN - 1 - c;
        sum[m * kThreadN + n] = MULTIPLY_ADD(a[m / 4][m % 4], b[n / 4][n % 4], sum[m * kThreadN + n]);
      }
}

void tile(uint batch, uint m0, uint n0) {
#ifdef SLICED
  slice = batch;
#endif
  const uint first_size = uint(size_k) > 0 ? (uint(size_k) - 1) % kTileK + 1 : 0;
  const Address first_a = address_add(tensor_a, BYTES * batch * a_batch);
  const Address first_b = address_add(tensor_b, BYTES * batch * b_batch);
#ifdef WALKS
  find_rows(m0, n0);
  find_steps(0);
  find_steps(first_size);
  barrier();
#endif
#ifdef A_WALKS
  OFFSET elements_a[4 * kLoadsA];
  FIND_ELEMENTS(elements_a, rows_a, kLoadsA, kTileM, kAAlongK == 1)
#define FETCH_A(k0) FETCH_ELEMENTS(next_a, kLoadsA, first_a, elements_a, steps_a, k0, kTileM, kAAlongK == 1)
#define CLEAR_A(size) clear_elements(size, kLoadsA, kTileM, kAAlongK == 1, next_a);
#define KEEP_A(base) keep_elements(base, kStrideA, kLoadsA, kTileM, kAAlongK == 1, next_a);
#else
  const Operand a = {address_add(first_a, BYTES * m0 * a_m), BYTES * a_m, BYTES * a_k, uint(size_m) - m0};
  if (kAFours == 1) find_fours(a, kLoadsA, kTileM, kAAlongK == 1, from_a);
#define FETCH_A(k0) fetch(a, k0, kLoadsA, kTileM, kAAlongK == 1, kAFours == 1, from_a, next_a);
#define CLEAR_A(size) clear(size, kLoadsA, kTileM, kAAlongK == 1, next_a);
#define KEEP_A(base) keep(base, kStrideA, kLoadsA, kTileM, kAAlongK == 1, next_a);
#endif
#ifdef B_WALKS
  OFFSET elements_b[4 * kLoadsB];
  FIND_ELEMENTS(elements_b, rows_b, kLoadsB, kTileN, kBAlongK == 1)
#define FETCH_B(k0) FETCH_ELEMENTS(next_b, kLoadsB, first_b, elements_b, steps_b, k0, kTileN, kBAlongK == 1)
#define CLEAR_B(size) clear_elements(size, kLoadsB, kTileN, kBAlongK == 1, next_b);
#define KEEP_B(base) keep_elements(base + kTileK * kStrideA, kStrideB, kLoadsB, kTileN, kBAlongK == 1, next_b);
#else
#ifdef FOLDED
  const Operand b = {first_b, BYTES, BYTES * b_k, COLUMNS};
  find_folded(n0, from_b);
#else
  const Operand b = {address_add(first_b, BYTES * n0 * b_n), BYTES * b_n, BYTES * b_k, COLUMNS - n0};
  if (kBFours == 1) find_fours(b, kLoadsB, kTileN, kBAlongK == 1, from_b);
#endif
#define FETCH_B(k0) fetch(b, k0, kLoadsB, kTileN, kBAlongK == 1, kBFours == 1, from_b, next_b);
#define CLEAR_B(size) clear(size, kLoadsB, kTileN, kBAlongK == 1, next_b);
#define KEEP_B(base) keep(base + kTileK * kStrideA, kStrideB, kLoadsB, kTileN, kBAlongK == 1, next_b);
#endif

  const uint thread = gl_LocalInvocationID.x;
  const uint part = thread / (kRows * kCols), own = thread % (kRows * kCols);
  const uint block = own / (kBlockRows * kBlockCols), inside = own % (kBlockRows * kBlockCols);
  // Of eight threads that read shared memory together, four see other columns and two other rows.
  const bool pairs = kBlockRows > 1;
  const uint row = block / (kCols / kBlockCols) * kBlockRows +
                   (pairs ? inside / (2 * kBlockCols) * 2 + inside % 2 : inside / kBlockCols);
  const uint col = block % (kCols / kBlockCols) * kBlockCols + (pairs ? inside / 2 : inside) % kBlockCols;

  ELEMENT sum[kOwn];
  [[unroll]] for (uint i = 0; i < kOwn; ++i) sum[i] = ELEMENT(0);
  if (uint(size_k) > 0) {
    FETCH_A(0)
    FETCH_B(0)
    CLEAR_A(first_size)
    CLEAR_B(first_size)
    KEEP_A(0)
    KEEP_B(0)
  }
  barrier();
  const uint first_at_a = part * (kTileK / kParts) * kStrideA + row;
  const uint first_at_b = kTileK * kStrideA + part * (kTileK / kParts) * kStrideB + col;
  uint side = 0, at_a = first_at_a, at_b = first_at_b;
  ELEMENT4 a_now[kFoursM], b_now[kFoursN], a_next[kFoursM], b_next[kFoursN];
  read(at_a, at_b, 0, a_now, b_now);
  // What lies before k1 is in shared memory, and is multiplied.
  for (uint k1 = first_size, k0 = 0; k0 < uint(size_k); k0 = k1, k1 += kTileK) {
    const bool more = kStraight || k1 < uint(size_k);
    if (more) {
      FETCH_A(k1)
      FETCH_B(k1)
    }
#ifdef WALKS
    find_steps(k1 + kTileK);
#endif
    [[dont_unroll]] for (uint left = kTileK / kParts; left > kUnroll; left -= kUnroll) {
      [[unroll]] for (uint k = 0; k < kUnroll; ++k) {
        read(at_a, at_b, k + 1, a_next, b_next);
        multiply(a_now, b_now, sum);
        take(a_next, b_next, a_now, b_now);
      }
      at_a += kUnroll * kStrideA;
      at_b += kUnroll * kStrideB;
    }
    side ^= 1;
    [[unroll]] for (uint k = 0; k < kUnroll; ++k) {
      if (k + 1 < kUnroll) {
        read(at_a, at_b, k + 1, a_next, b_next);
      } else {
        if (more) {
          KEEP_A(side * kBuffer)
          KEEP_B(side * kBuffer)
        }
        barrier();
        at_a = first_at_a + side * kBuffer;
        at_b = first_at_b + side * kBuffer;
        read(at_a, at_b, 0, a_next, b_next);
      }
      multiply(a_now, b_now, sum);
      take(a_next, b_next, a_now, b_now);
    }
  }

  // Results of row i, which begin at sum[s].
#define FINISH_ROW(i, s)                                                                        \
  {                                                                                             \
    const uint m = (i / 4 * kRows + row) * 4 + i % 4;                                           \
    [[unroll]] for (uint g = 0; g < kFoursN; ++g) {                                             \
      const uint n4 = g * kCols + col, at = s + 4 * g;                                          \
      const ELEMENT4 four = ELEMENT4(sum[at], sum[at + 1], sum[at + 2], sum[at + 3]);           \
      if (kParts == 1)                                                                          \
        finish(batch, m0 + m, n0 + n4 * 4, four);                                               \
      else                                                                                      \
        tiles[part * kResults + m * (kTileN / 4) + n4] = four;                                  \
    }                                                                                           \
  }
#ifdef WALKS
  // Results move up a row each time: a long epilogue for each row takes long to compile. Products of plain matrices would be
  // slower with it.
  [[dont_unroll]] for (uint i = 0; i < kThreadM; ++i) {
    FINISH_ROW(i, 0)
    [[unroll]] for (uint s = kThreadN; s < kOwn; ++s) sum[s - kThreadN] = sum[s];
  }
#else
  [[unroll]] for (uint i = 0; i < kThreadM; ++i) FINISH_ROW(i, i * kThreadN)
#endif
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
