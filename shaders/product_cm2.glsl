// The matrix product of half types by VK_NV_cooperative_matrix2, sums in float32. Included by generated kernels, which
// define MATRIX (the type of an element), ALIGNMENT (of the operands, in bytes), the argument macros, and either
//   void epilogue(uint batch, uint m, uint n, float sum)
// which stores, or with STORED (the type of the result, of STORED_BYTES; STORED_USE is a use that matrices of it have) and
// RESULT (the address of a batch entry's first element)
//   float epilogue(uint batch, uint m, uint n, float sum)
// whose value goes to a matrix with neighbouring columns; with PLAIN there is none, the sum is stored. With SCALED,
// factors are PLANES halves of float32 operands (product_scaled.glsl). UNROLL steps along k follow each other in the text; with
// REST, whole steps may remain. Drivers need seconds to compile many, and sums do not depend on it, but with PLANES 2.
//
// A workgroup multiplies whole tiles: the driver moves them from memory to the matrix units. Elements beyond an edge are
// zero when they are loaded, and are not stored. The driver writes much code for loads that look for an edge: those of large
// tiles are of kThin elements along k, which compiles more quickly, and the tiles inside are faster for it. One of an
// operand's two strides is 1: that of k or the other one.

layout(local_size_x_id = 3) in;
layout(constant_id = 0) const uint kTileM = 128;
layout(constant_id = 1) const uint kTileN = 128;
layout(constant_id = 2) const uint kTileK = 64;
layout(constant_id = 4) const uint kAAlongK = 1;  // 1: neighbours of a in memory run along k, 0: along m
layout(constant_id = 5) const uint kBAlongK = 0;  // 1: neighbours of b in memory run along k, 0: along n
layout(constant_id = 6) const uint kEven = 0;     // 1: rows of the operands begin at multiples of eight elements
layout(constant_id = 7) const uint kResultEven = 0;  // 1: those of the result do

#include "product_scaled.glsl"

const uint kUnroll = UNROLL;
const uint kThin = kTileM * kTileN <= 64 * 64 ? kTileK : 16;

layout(buffer_reference, std430, buffer_reference_align = ALIGNMENT) buffer Factors { MATRIX at[]; };

#define COLUMNS uint(size_n)
#define GROUPS uint(batches)

#define WHOLE gl_CooperativeMatrixClampModeUndefinedNV
#define CLAMPED gl_CooperativeMatrixClampModeConstantNV

uint stride(Offset elements, uint even) { return even == 1 ? uint(elements) / 8 * 8 : uint(elements); }

#ifdef STORED
layout(buffer_reference, std430, buffer_reference_align = STORED_BYTES) buffer Result { STORED at[]; };
#ifndef PLAIN
float finish(const in uint row, const in uint col, const in float sum, const in uint batch, const in uint m0,
             const in uint n0) {
  const uint m = min(m0 + row, uint(size_m) - 1), n = min(n0 + col, uint(size_n) - 1);
  return epilogue(batch, m, n, unscaled(batch, m, n, sum));
}
#endif
#else
float finish(const in uint row, const in uint col, const in float sum, const in uint batch, const in uint m0,
             const in uint n0) {
  const uint m = m0 + row, n = n0 + col;
  if (m < uint(size_m) && n < uint(size_n)) epilogue(batch, m, n, unscaled(batch, m, n, sum));
  return sum;
}
#endif

// With RUNS, b has run_k elements along k; those that follow are the first ones of run_shift columns further on.
#ifdef RUNS
#define B_K uint(run_k)
#define B_COLUMNS (uint(size_n) + (uint(size_k) / uint(run_k) - 1) * uint(run_shift))
#define BEGIN_RUN uint run_n = n0, at_run = 0;
#define NEXT_RUN                                   \
  {                                                \
    const bool ends = at_run + kTileK == B_K;      \
    run_n += ends ? uint(run_shift) : 0;           \
    at_run = ends ? 0 : at_run + kTileK;           \
  }
// The quotient lets the compiler see whole units of memory.
#define B_AT(at_k, part, depth) run_n, kTileN, at_run / kTileK * kTileK + part, depth
#else
#define B_K uint(size_k)
#define B_COLUMNS uint(size_n)
#define BEGIN_RUN
#define NEXT_RUN
#define B_AT(at_k, part, depth) n0, kTileN, at_k + part, depth
#endif

// `depth` elements along k, `part` elements behind the beginning of a step.
#define LOAD_A(a, factors, at_k, part, depth)                                                                  \
  if (kAAlongK == 1)                                                                                           \
    coopMatLoadTensorNV(a, factors.at, 0, sliceTensorLayoutNV(layout_a, m0, kTileM, at_k + part, depth));      \
  else                                                                                                         \
    coopMatLoadTensorNV(a, factors.at, 0, sliceTensorLayoutNV(layout_a, at_k + part, depth, m0, kTileM), turned);
#define LOAD_B(b, factors, at_k, part, depth)                                                                  \
  if (kBAlongK == 0)                                                                                           \
    coopMatLoadTensorNV(b, factors.at, 0, sliceTensorLayoutNV(layout_b, at_k + part, depth, n0, kTileN));      \
  else                                                                                                         \
    coopMatLoadTensorNV(b, factors.at, 0, sliceTensorLayoutNV(layout_b, B_AT(at_k, part, depth)), turned);
#define SUMS coopmat<float, gl_ScopeWorkgroup, kTileM, kTileN, gl_MatrixUseAccumulator>
#define A_STEP(depth) coopmat<MATRIX, gl_ScopeWorkgroup, kTileM, depth, gl_MatrixUseA>
#define B_STEP(depth) coopmat<MATRIX, gl_ScopeWorkgroup, depth, kTileN, gl_MatrixUseB>
#define STORED_TILE coopmat<STORED, gl_ScopeWorkgroup, kTileM, kTileN, STORED_USE>
#if PLANES == 2
#define MULTIPLY_PART(at_k, part, depth)              \
  {                                                   \
    A_STEP(depth) a, a_rest;                          \
    B_STEP(depth) b, b_rest;                          \
    LOAD_A(a_rest, from_a_rest, at_k, part, depth)    \
    LOAD_B(b, from_b, at_k, part, depth)              \
    LOAD_A(a, from_a, at_k, part, depth)              \
    LOAD_B(b_rest, from_b_rest, at_k, part, depth)    \
    some = coopMatMulAdd(a_rest, b, some);            \
    some = coopMatMulAdd(a, b_rest, some);            \
    some = coopMatMulAdd(a, b, some);                 \
  }
// Units may cut off digits of their sums: those of a few steps are added as float32.
#define BEGIN_SOME SUMS some = SUMS(0.0);
#define END_SOME sums = sums + some;
#else
#define MULTIPLY_PART(at_k, part, depth)   \
  {                                        \
    A_STEP(depth) a;                       \
    B_STEP(depth) b;                       \
    LOAD_A(a, from_a, at_k, part, depth)   \
    LOAD_B(b, from_b, at_k, part, depth)   \
    sums = coopMatMulAdd(a, b, sums);      \
  }
#define BEGIN_SOME
#define END_SOME
#endif

#define STEP(at_k)                   \
  {                                  \
    MULTIPLY_PART(at_k, 0, kTileK)   \
    NEXT_RUN                         \
  }

// Both operands as they lie in memory, slower dimension first.
#define LAYOUTS(mode)                                                                                     \
  tensorLayoutNV<2, mode> layout_a = createTensorLayoutNV(2, mode), layout_b = createTensorLayoutNV(2, mode); \
  layout_a = setTensorLayoutDimensionNV(layout_a, kAAlongK == 1 ? uint(size_m) : uint(size_k),            \
                                        kAAlongK == 1 ? uint(size_k) : uint(size_m));                     \
  layout_b = setTensorLayoutDimensionNV(layout_b, kBAlongK == 1 ? B_COLUMNS : uint(size_k),               \
                                        kBAlongK == 1 ? B_K : uint(size_n));                              \
  layout_a = setTensorLayoutStrideNV(layout_a, stride(kAAlongK == 1 ? a_m : a_k, kEven), 1);              \
  layout_b = setTensorLayoutStrideNV(layout_b, stride(kBAlongK == 1 ? b_n : b_k, kEven), 1);

#define STORE(mode)                                                                             \
  {                                                                                             \
    tensorLayoutNV<2, mode> to = createTensorLayoutNV(2, mode);                                 \
    to = setTensorLayoutDimensionNV(to, uint(size_m), uint(size_n));                            \
    to = setTensorLayoutStrideNV(to, stride(out_m, kResultEven), 1);                            \
    coopMatStoreTensorNV(rounded, Result(RESULT).at, 0,                                         \
                         sliceTensorLayoutNV(to, m0, kTileM, n0, kTileN));                      \
  }

void tile(uint batch, uint m0, uint n0) {
  Factors from_a = Factors(address_add(tensor_a, 2 * batch * a_batch));
  Factors from_b = Factors(address_add(tensor_b, 2 * batch * b_batch));
  tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
#if PLANES == 2
  Factors from_a_rest = Factors(address_add(Address(from_a), 2 * a_plane));
  Factors from_b_rest = Factors(address_add(Address(from_b), 2 * b_plane));
#endif
  SUMS sums = SUMS(0.0);
  uint k = 0;
  BEGIN_RUN
  const bool inside = m0 + kTileM <= uint(size_m) && n0 + kTileN <= uint(size_n);
  if (inside) {
    LAYOUTS(WHOLE)
    for (; k + kUnroll * kTileK <= uint(size_k); k += kUnroll * kTileK) {
      BEGIN_SOME
      [[unroll]] for (uint u = 0; u < kUnroll; ++u) STEP(k + u * kTileK)
      END_SOME
    }
#ifdef REST
    for (; k + kTileK <= uint(size_k); k += kTileK) {
      BEGIN_SOME
      STEP(k)
      END_SOME
    }
#endif
  }
  {
    LAYOUTS(CLAMPED)
    for (; k < uint(size_k); k += kTileK) {
      BEGIN_SOME
      [[dont_unroll]] for (uint part = 0; part < min(kTileK, uint(size_k) - k); part += kThin)
        MULTIPLY_PART(k, part, kThin)
      END_SOME
      NEXT_RUN
    }
  }
#ifdef STORED
#ifndef PLAIN
  coopMatPerElementNV(sums, sums, finish, batch, m0, n0);
#endif
  const STORED_TILE rounded = STORED_TILE(sums);
  if (inside)
    STORE(WHOLE)
  else
    STORE(CLAMPED)
#else
  coopMatPerElementNV(sums, sums, finish, batch, m0, n0);
#endif
}

#include "product_tiles.glsl"
