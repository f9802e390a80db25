// What product.glsl and product_cm1.glsl share: columns of several batch entries, and operands that walk (see
// kernel/kernel.hpp). Included behind the sizes of the tile, BYTES (of an element), ELEMENT4 (four sums), kThreads, and
//   uint begin_of(uint k0)   // where a step along k begins to read

#ifdef FOLDED
#define COLUMNS (uint(size_n) * uint(folded))
#define GROUPS (uint(batches) / uint(folded))
#else
#define COLUMNS uint(size_n)
#define GROUPS uint(batches)
#endif

#if defined(A_WALKS) || defined(B_WALKS)
#define WALKS
// Of operands that walk: how far from their beginning the rows or columns of the tile lie, and how far from there the
// elements of this step of K and of the next, in bytes.
shared OFFSET rows_a[kTileM], steps_a[2 * kTileK], rows_b[kTileN], steps_b[2 * kTileK];

OFFSET walk(uint number, uint size1, uint size2, Offset step0, Offset step1, Offset step2) {
  const uint rest = number / size2;
  return OFFSET(BYTES) * (OFFSET(rest / size1) * OFFSET(step0) + OFFSET(rest % size1) * OFFSET(step1) +
                          OFFSET(number % size2) * OFFSET(step2));
}

void find_rows(uint m0, uint n0) {
#ifdef A_WALKS
  for (uint i = gl_LocalInvocationID.x; i < kTileM; i += kThreads)
    rows_a[i] = OFFSET(BYTES * min(m0 + i, uint(size_m) - 1) * a_m);
#endif
#ifdef B_WALKS
  for (uint i = gl_LocalInvocationID.x; i < kTileN; i += kThreads) {
    uint n = min(n0 + i, COLUMNS - 1);
    OFFSET first = OFFSET(0);
#ifdef FOLDED
    first = OFFSET(BYTES * (n / uint(size_n)) * b_folded);
    n %= uint(size_n);
#endif
    rows_b[i] = first + walk(n, uint(n_size1), uint(n_size2), b_n0, b_n1, b_n2);
  }
#endif
}

// Steps alternate between two tables. The first may be shorter than kTileK.
uint table_of(uint k0) { return (k0 + kTileK - 1) / kTileK % 2 * kTileK; }
void find_steps(uint k0) {
  if (gl_LocalInvocationID.x >= kTileK) return;
  const uint k = min(begin_of(k0) + gl_LocalInvocationID.x, uint(size_k) - 1);
  const uint at = table_of(k0) + gl_LocalInvocationID.x;
#ifdef A_WALKS
  steps_a[at] = walk(k, uint(k_size1), uint(k_size2), a_k0, a_k1, a_k2);
#endif
#ifdef B_WALKS
  steps_b[at] = walk(k, uint(k_size1), uint(k_size2), b_k0, b_k1, b_k2);
#endif
}
#endif

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
