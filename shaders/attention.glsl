// Attention of one head, block by block; ops/attention.cpp says on what. Included behind what it defines: ROWS and COLS
// (of the weights that a workgroup makes at a time), THREAD_ROWS and THREAD_COLS (those of a thread), D and E (elements
// of a query or key, and of a value), and one of
//   FORWARD  rows are queries, columns keys: the sum of values, with the running maximum and sum of the softmax
//   QUERIES  the same walk again, for the gradient of the queries
//   KEYS     rows are keys, columns queries: the gradients of keys and values
// A workgroup owns ROWS rows and walks all columns that they see. Matrices lie in shared memory in units of four
// elements; a row is an odd number of units long, so that units below each other lie in different banks.

// A software driver compiles long straight code slowly, and its loads do not wait for memory.
#ifdef SG_SOFTWARE
#define LONG_LOOP [[dont_unroll]]
const uint kBatch = 1;
#else
#define LONG_LOOP
const uint kBatch = 8;  // loads of a thread that are under way together
#endif

const uint kTx = COLS / THREAD_COLS, kTy = ROWS / THREAD_ROWS, kThreads = kTx * kTy;
layout(local_size_x = kThreads) in;

const uint kD = (D + 3) / 4, kE = (E + 3) / 4;  // units
const uint kStrideD = kD | 1, kStrideE = kE | 1, kStrideP = (COLS / 4) | 1;
const uint kWidest = kD > kE ? kD : kE;
const uint kUnits = (kWidest + kTx - 1) / kTx;  // of a result's row, for each thread
#ifdef FORWARD
const uint kOwn = 0, kOther = ROWS * kStrideD, kWeights = kOther + COLS * (kStrideD > kStrideE ? kStrideD : kStrideE);
shared float parts[ROWS * kTx];  // of a row's maximum or sum
#else
// own and other: of the first pair (query, key), then of the second (gradient, value)
const uint kOwn = 0, kOwn2 = ROWS * kStrideD, kOther = kOwn2 + ROWS * kStrideE, kOther2 = kOther + COLS * kStrideD;
const uint kWeights = kOther2 + COLS * kStrideE;
#endif
shared vec4 tiles[kWeights + ROWS * kStrideP];

const uint kStridesAt = 8;
const float kLog2E = 1.4426950408889634, kLowest = -1.0e38;

uint heads = uint(word(1)), queries = uint(word(2)), keys = uint(word(3));
bool causal = (word(6) & 1) != 0;
float scale = number_float32(word(7));
uint thread = gl_LocalInvocationIndex, tx = thread % kTx, ty = thread / kTx;
uint head;

uint row_of(uint r) { return r * kTy + ty; }
uint col_of(uint c) { return c * kTx + tx; }

// Matrix `head` of tensor `i`, whose strides are the `place`-th; the step from row to row, in bytes.
uint64_t matrix(int i, int place) {
  const int at = int(kStridesAt) + 3 * place;
  return tensor(i) + 4ul * uint64_t(int64_t(head / heads) * word(at) + int64_t(head % heads) * word(at + 1));
}
int64_t step_of(int place) { return 4l * word(int(kStridesAt) + 3 * place + 2); }

// Rows [first, first + rows) to shared memory, zeros where there are none.
void load(uint to, uint rows, uint size, uint64_t from, int64_t step, uint first, uint count) {
  const uint units = (size + 3) / 4, stride = units | 1, all = rows * units;
  if (size % 4 == 0 && ((from | uint64_t(step)) & 15) == 0) {
    for (uint i0 = thread; i0 < all; i0 += kBatch * kThreads) {
      vec4 x[kBatch];
      [[unroll]] for (uint b = 0; b < kBatch; ++b) {
        const uint i = i0 + b * kThreads, row = first + i / units;
        x[b] = vec4(0);
        if (i < all && row < count) x[b] = Float32x4(from + uint64_t(int64_t(row) * step) + 16ul * (i % units)).at[0];
      }
      [[unroll]] for (uint b = 0; b < kBatch; ++b) {
        const uint i = i0 + b * kThreads;
        if (i < all) tiles[to + i / units * stride + i % units] = x[b];
      }
    }
    return;
  }
  for (uint i = thread; i < all; i += kThreads) {
    const uint row = first + i / units, unit = i % units;
    vec4 x = vec4(0);
    [[unroll]] for (uint l = 0; l < 4; ++l)
      if (row < count && 4 * unit + l < size)
        x[l] = Float32(from + uint64_t(int64_t(row) * step) + 16ul * unit).at[l];
    tiles[to + i / units * stride + unit] = x;
  }
}

// s[row][col] = own[row] . other[col]
void multiply(uint own, uint other, uint units, out float s[THREAD_ROWS * THREAD_COLS]) {
  const uint stride = units | 1;
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * THREAD_COLS; ++i) s[i] = 0;
  LONG_LOOP for (uint u = 0; u < units; ++u) {
    vec4 a[THREAD_ROWS];
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) a[r] = tiles[own + row_of(r) * stride + u];
    [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
      const vec4 b = tiles[other + col_of(c) * stride + u];
      [[unroll]] for (uint l = 0; l < 4; ++l)
        [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
          s[r * THREAD_COLS + c] = fma(a[r][l], b[l], s[r * THREAD_COLS + c]);
    }
  }
}

void put_weights(float s[THREAD_ROWS * THREAD_COLS]) {
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
    [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c)
      tiles[kWeights + row_of(r) * kStrideP + col_of(c) / 4][col_of(c) % 4] = s[r * THREAD_COLS + c];
}

// sum[row] += weights[row][col] * other[col]; a thread has units tx, tx + kTx ... of its rows.
void add_weighted(uint other, uint units, inout vec4 sum[THREAD_ROWS * kUnits]) {
  const uint stride = units | 1;
  LONG_LOOP for (uint k = 0; k < COLS / 4; ++k) {
    vec4 p[THREAD_ROWS];
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) p[r] = tiles[kWeights + row_of(r) * kStrideP + k];
    [[unroll]] for (uint l = 0; l < 4; ++l)
      [[unroll]] for (uint n = 0; n < kUnits; ++n) {
        const vec4 x = tiles[other + (4 * k + l) * stride + min(n * kTx + tx, units - 1)];
        [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
          sum[r * kUnits + n] = fma(vec4(p[r][l]), x, sum[r * kUnits + n]);
      }
  }
}

void store(uint64_t to, int64_t step, uint size, uint first, uint count, vec4 sum[THREAD_ROWS * kUnits]) {
  const bool whole = size % 4 == 0 && ((to | uint64_t(step)) & 15) == 0;
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
    [[unroll]] for (uint n = 0; n < kUnits; ++n) {
      const uint row = first + row_of(r), unit = n * kTx + tx;
      if (row >= count || 4 * unit >= size) continue;
      const uint64_t at = to + uint64_t(int64_t(row) * step) + 16ul * unit;
      if (whole) {
        Float32x4(at).at[0] = sum[r * kUnits + n];
      } else {
        [[unroll]] for (uint l = 0; l < 4; ++l)
          if (4 * unit + l < size) Float32(at).at[l] = sum[r * kUnits + n][l];
      }
    }
}

#ifdef FORWARD
void attend(uint first) {
  const uint64_t k_at = matrix(1, 1), v_at = matrix(2, 2);
  load(kOwn, ROWS, D, matrix(0, 0), step_of(0), first, queries);
  float high[THREAD_ROWS], total[THREAD_ROWS];
  vec4 sum[THREAD_ROWS * kUnits];
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) {
    high[r] = kLowest;
    total[r] = 0;
  }
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) sum[i] = vec4(0);
  const uint end = causal ? min(keys, first + ROWS) : keys;
  for (uint k0 = 0; k0 < end; k0 += COLS) {
    load(kOther, COLS, D, k_at, step_of(1), k0, keys);
    barrier();
    float s[THREAD_ROWS * THREAD_COLS];  // in powers of two
    multiply(kOwn, kOther, kD, s);
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) {
      float most = kLowest;
      [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
        const uint key = k0 + col_of(c);
        const bool seen = key < keys && (!causal || key <= first + row_of(r));
        s[r * THREAD_COLS + c] = seen ? s[r * THREAD_COLS + c] * (scale * kLog2E) : uintBitsToFloat(0xff800000u);
        most = max(most, s[r * THREAD_COLS + c]);
      }
      parts[row_of(r) * kTx + tx] = most;
    }
    barrier();
    load(kOther, COLS, E, v_at, step_of(2), k0, keys);
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) {
      float most = high[r];
      [[unroll]] for (uint i = 0; i < kTx; ++i) most = max(most, parts[row_of(r) * kTx + i]);
      const float factor = exp2(high[r] - most);
      high[r] = most;
      total[r] *= factor;
      [[unroll]] for (uint n = 0; n < kUnits; ++n) sum[r * kUnits + n] *= factor;
      [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
        s[r * THREAD_COLS + c] = exp2(s[r * THREAD_COLS + c] - most);
        total[r] += s[r * THREAD_COLS + c];
      }
    }
    put_weights(s);
    barrier();
    add_weighted(kOther, kE, sum);
    barrier();
  }
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) parts[row_of(r) * kTx + tx] = total[r];
  barrier();
  const uint64_t logs = tensor(4) + 4ul * (uint64_t(head) * queries);
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) {
    float all = 0;
    [[unroll]] for (uint i = 0; i < kTx; ++i) all += parts[row_of(r) * kTx + i];
    [[unroll]] for (uint n = 0; n < kUnits; ++n) sum[r * kUnits + n] /= all;
    const uint row = first + row_of(r);
    if (tx == 0 && row < queries) Float32(logs).at[row] = high[r] / kLog2E + log(all);
  }
  store(matrix(3, 3), step_of(3), E, first, queries, sum);
}
#else

// Of query `row`: the logarithm of its sum, in powers of two, and the product of its result with the gradient.
vec2 of_query(uint row) {
  if (row >= queries) return vec2(0);
  const uint64_t at = 4ul * (uint64_t(head) * queries + row);
  return vec2(Float32(tensor(4) + at).at[0] * kLog2E, Float32(tensor(5) + at).at[0]);
}

#ifdef KEYS
const uint kQueries = THREAD_COLS;
#else
const uint kQueries = THREAD_ROWS;
#endif

// p: the weights, and ds: the gradients of what they are the softmax of, less a factor.
void weigh(uint row0, uint col0, vec2 of[kQueries], out float p[THREAD_ROWS * THREAD_COLS],
           out float ds[THREAD_ROWS * THREAD_COLS]) {
  multiply(kOwn, kOther, kD, p);
  multiply(kOwn2, kOther2, kE, ds);
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
    [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
      const uint i = r * THREAD_COLS + c, row = row0 + row_of(r), col = col0 + col_of(c);
#ifdef KEYS
      const vec2 q = of[c];
      const bool seen = row < keys && col < queries && (!causal || row <= col);
#else
      const vec2 q = of[r];
      const bool seen = row < queries && col < keys && (!causal || col <= row);
#endif
      const float weight = exp2(p[i] * (scale * kLog2E) - q.x), slope = weight * (ds[i] - q.y);
      p[i] = seen ? weight : 0;
      ds[i] = seen ? slope : 0;
    }
}

void attend(uint first) {
#ifdef KEYS
  const int own = 1, own2 = 2, other = 0, other2 = 3;
  const uint rows = keys, cols = queries, end = queries, begin = causal ? first / COLS * COLS : 0;
#else
  const int own = 0, own2 = 3, other = 1, other2 = 2;
  const uint rows = queries, cols = keys, end = causal ? min(keys, first + ROWS) : keys, begin = 0;
#endif
  load(kOwn, ROWS, D, matrix(own, own), step_of(own), first, rows);
  load(kOwn2, ROWS, E, matrix(own2, own2), step_of(own2), first, rows);
  const uint64_t other_at = matrix(other, other), other2_at = matrix(other2, other2);
  vec2 of[kQueries];
#ifndef KEYS
  [[unroll]] for (uint r = 0; r < kQueries; ++r) of[r] = of_query(first + row_of(r));
#endif
  vec4 sum[THREAD_ROWS * kUnits];
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) sum[i] = vec4(0);
#ifdef KEYS
  vec4 sum2[THREAD_ROWS * kUnits];
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) sum2[i] = vec4(0);
#endif
  for (uint col = begin; col < end; col += COLS) {
    load(kOther, COLS, D, other_at, step_of(other), col, cols);
    load(kOther2, COLS, E, other2_at, step_of(other2), col, cols);
#ifdef KEYS
    [[unroll]] for (uint c = 0; c < kQueries; ++c) of[c] = of_query(col + col_of(c));
#endif
    barrier();
    float p[THREAD_ROWS * THREAD_COLS], ds[THREAD_ROWS * THREAD_COLS];
    weigh(first, col, of, p, ds);
#ifdef KEYS
    put_weights(p);
    barrier();
    add_weighted(kOther2, kE, sum2);
    barrier();
#endif
    put_weights(ds);
    barrier();
    add_weighted(kOther, kD, sum);
    barrier();
  }
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) sum[i] *= scale;
#ifdef KEYS
  if ((word(6) & 4) != 0) store(matrix(7, 5), step_of(5), D, first, rows, sum);
  if ((word(6) & 8) != 0) store(matrix(8, 6), step_of(6), E, first, rows, sum2);
#else
  store(matrix(6, 4), step_of(4), D, first, rows, sum);
#endif
}
#endif

// The blocks with most to do come first: the last queries, the first keys.
void main() {
#ifdef KEYS
  const uint blocks = (keys + ROWS - 1) / ROWS;
#else
  const uint blocks = (queries + ROWS - 1) / ROWS;
#endif
  const uint work = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  head = work / blocks;
  if (head >= uint(word(0)) * heads) return;
#ifdef KEYS
  attend(work % blocks * ROWS);
#else
  attend((blocks - 1 - work % blocks) * ROWS);
#endif
}
