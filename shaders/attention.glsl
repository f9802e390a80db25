// Attention of one head, block by block; ops/attention.cpp says on what. Included behind what it defines: ROWS and COLS
// (of the weights that a workgroup makes at a time), THREAD_ROWS and THREAD_COLS (those of a thread), D and E (elements
// of a query or key, and of a value), and one of
//   FORWARD  rows are queries, columns keys: the sum of values, with the running maximum and sum of the softmax; keys may
//            come before the first query, and serve several heads
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

const uint kD = (D + 3) / 4, kE = (E + 3) / 4, kP = COLS / 4;  // units of a row
const uint kWidest = kD > kE ? kD : kE;
const uint kUnits = (kWidest + kTx - 1) / kTx;  // of a result's row, for each thread
const uint kLoads = (COLS * kWidest + kThreads - 1) / kThreads;

// Units below each other lie in different banks: rows are an odd number of units apart, or units change places.
#define ROOM(units) ((units) % 8 == 0 ? (units) : (units) | 1)
uint place(uint row, uint unit, uint units) { return row * ROOM(units) + (units % 8 == 0 ? unit ^ (row & 7) : unit); }

#ifdef FORWARD
const uint kOwn = 0, kOther = ROWS * ROOM(kD);
shared float parts[ROWS * kTx];  // of a row's maximum or sum
#else
const uint kOwn = 0, kOwn2 = ROWS * ROOM(kD), kOther = kOwn2 + ROWS * ROOM(kE);
#endif
const uint kWeights = kOther + COLS * ROOM(kWidest);
shared vec4 tiles[kWeights + ROWS * ROOM(kP)];

const uint kStridesAt = 8;
const float kLog2E = 1.4426950408889634, kLowest = -1.0e38;

uint heads = uint(word(1)), queries = uint(word(2)), keys = uint(word(3));
bool causal = (word(6) & 1) != 0, starts = (word(6) & 16) != 0;
float scale = number_float32(word(7));
uint thread = gl_LocalInvocationIndex, tx = thread % kTx, ty = thread / kTx;
uint head;

uint row_of(uint r) { return r * kTy + ty; }
uint col_of(uint c) { return c * kTx + tx; }

// Rows of a matrix in global memory: where they begin, the step in bytes, how many there are, elements of each.
struct Rows {
  uint64_t from;
  int64_t step;
  uint count, size;
};

// Matrix `head` of tensor `i`, whose strides are the `strides`-th; one serves that many heads.
Rows matrix(int i, int strides, uint count, uint size, uint serves) {
  const int at = int(kStridesAt) + 3 * strides;
  const int64_t batch = int64_t(head / heads), own = int64_t(head % heads / serves);
  return Rows(tensor(i) + 4ul * uint64_t(batch * word(at) + own * word(at + 1)), 4l * word(at + 2), count, size);
}
Rows matrix(int i, int strides, uint count, uint size) { return matrix(i, strides, count, size, 1); }

bool whole(uint64_t from, int64_t step, uint size) { return size % 4 == 0 && ((from | uint64_t(step)) & 15) == 0; }

// Zeros where there is none.
vec4 unit_of(Rows m, uint row, uint unit) {
  vec4 x = vec4(0);
  const uint64_t at = m.from + uint64_t(int64_t(row) * m.step) + 16ul * unit;
  if (whole(m.from, m.step, m.size)) {
    if (row < m.count) x = Float32x4(at).at[0];
  } else {
    [[unroll]] for (uint l = 0; l < 4; ++l)
      if (row < m.count && 4 * unit + l < m.size) x[l] = Float32(at).at[l];
  }
  return x;
}

// Own rows [first, first + ROWS) to shared memory.
void load(uint to, Rows m, uint first) {
  const uint units = (m.size + 3) / 4, all = ROWS * units;
  for (uint i0 = thread; i0 < all; i0 += kBatch * kThreads) {
    vec4 x[kBatch];
    [[unroll]] for (uint b = 0; b < kBatch; ++b) {
      const uint i = min(i0 + b * kThreads, all - 1);
      x[b] = unit_of(m, first + i / units, i % units);
    }
    [[unroll]] for (uint b = 0; b < kBatch; ++b) {
      const uint i = i0 + b * kThreads;
      if (i < all) tiles[to + place(i / units, i % units, units)] = x[b];
    }
  }
}

// COLS rows of the other side travel to registers while the block before them is worked on.
vec4 next[kLoads];

void fetch(Rows m, uint first) {
  const uint units = (m.size + 3) / 4;
  [[unroll]] for (uint b = 0; b < kLoads; ++b) {
    const uint i = thread + b * kThreads;
    next[b] = i < COLS * units ? unit_of(m, first + i / units, i % units) : vec4(0);
  }
}

void keep(uint units) {
  [[unroll]] for (uint b = 0; b < kLoads; ++b) {
    const uint i = thread + b * kThreads;
    if (i < COLS * units) tiles[kOther + place(i / units, i % units, units)] = next[b];
  }
}

// s[row][col] = own[row] . other[col]
void multiply(uint own, uint units, out float s[THREAD_ROWS * THREAD_COLS]) {
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * THREAD_COLS; ++i) s[i] = 0;
  LONG_LOOP for (uint u = 0; u < units; ++u) {
    vec4 a[THREAD_ROWS];
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) a[r] = tiles[own + place(row_of(r), u, units)];
    [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
      const vec4 b = tiles[kOther + place(col_of(c), u, units)];
      [[unroll]] for (uint l = 0; l < 4; ++l)
        [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
          s[r * THREAD_COLS + c] = fma(a[r][l], b[l], s[r * THREAD_COLS + c]);
    }
  }
}

void put_weights(float s[THREAD_ROWS * THREAD_COLS]) {
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
    [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c)
      tiles[kWeights + place(row_of(r), col_of(c) / 4, kP)][col_of(c) % 4] = s[r * THREAD_COLS + c];
}

// sum[row] += weights[row][col] * other[col]; a thread has units tx, tx + kTx ... of its rows.
void add_weighted(uint units, inout vec4 sum[THREAD_ROWS * kUnits]) {
  LONG_LOOP for (uint k = 0; k < kP; ++k) {
    vec4 p[THREAD_ROWS];
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) p[r] = tiles[kWeights + place(row_of(r), k, kP)];
    [[unroll]] for (uint l = 0; l < 4; ++l)
      [[unroll]] for (uint n = 0; n < kUnits; ++n) {
        const vec4 x = tiles[kOther + place(4 * k + l, min(n * kTx + tx, units - 1), units)];
        [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
          sum[r * kUnits + n] = fma(vec4(p[r][l]), x, sum[r * kUnits + n]);
      }
  }
}

void store(Rows m, uint first, vec4 sum[THREAD_ROWS * kUnits]) {
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
    [[unroll]] for (uint n = 0; n < kUnits; ++n) {
      const uint row = first + row_of(r), unit = n * kTx + tx;
      if (row >= m.count || 4 * unit >= m.size) continue;
      const uint64_t at = m.from + uint64_t(int64_t(row) * m.step) + 16ul * unit;
      if (whole(m.from, m.step, m.size)) {
        Float32x4(at).at[0] = sum[r * kUnits + n];
      } else {
        [[unroll]] for (uint l = 0; l < 4; ++l)
          if (4 * unit + l < m.size) Float32(at).at[l] = sum[r * kUnits + n][l];
      }
    }
}

#ifdef FORWARD
void attend(uint first) {
  const uint group = 1 + uint(word(6)) / 256;
  const uint before = starts ? uint(max(0, Int32(tensor(5)).at[head / heads])) : 0;  // keys in front of the first query's own
  const Rows key = matrix(1, 1, keys, D, group), value = matrix(2, 2, keys, E, group);
  load(kOwn, matrix(0, 0, queries, D), first);
  float high[THREAD_ROWS], total[THREAD_ROWS];
  vec4 sum[THREAD_ROWS * kUnits];
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) {
    high[r] = kLowest;
    total[r] = 0;
  }
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) sum[i] = vec4(0);
  const uint end = causal ? min(keys, before + first + ROWS) : keys;
  fetch(key, 0);
  for (uint k0 = 0; k0 < end; k0 += COLS) {
    keep(kD);
    barrier();
    fetch(value, k0);
    float s[THREAD_ROWS * THREAD_COLS];  // in powers of two
    multiply(kOwn, kD, s);
    [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r) {
      float most = kLowest;
      [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
        const uint col = k0 + col_of(c);
        const bool seen = col < keys && (!causal || col <= before + first + row_of(r));
        s[r * THREAD_COLS + c] = seen ? s[r * THREAD_COLS + c] * (scale * kLog2E) : uintBitsToFloat(0xff800000u);
        most = max(most, s[r * THREAD_COLS + c]);
      }
      parts[row_of(r) * kTx + tx] = most;
    }
    barrier();
    keep(kE);
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
    fetch(key, k0 + COLS);
    add_weighted(kE, sum);
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
  store(matrix(3, 3, queries, E), first, sum);
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

// Products of queries and keys to weights, and products of gradients and values to the gradients of what the weights
// are the softmax of, less a factor.
void weigh(uint row0, uint col0, vec2 of[kQueries], inout float p[THREAD_ROWS * THREAD_COLS]) {
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
      p[i] = seen ? exp2(p[i] * (scale * kLog2E) - q.x) : 0;
    }
}

void slope(vec2 of[kQueries], float p[THREAD_ROWS * THREAD_COLS], inout float ds[THREAD_ROWS * THREAD_COLS]) {
  [[unroll]] for (uint r = 0; r < THREAD_ROWS; ++r)
    [[unroll]] for (uint c = 0; c < THREAD_COLS; ++c) {
      const uint i = r * THREAD_COLS + c;
#ifdef KEYS
      ds[i] = p[i] == 0 ? 0 : p[i] * (ds[i] - of[c].y);
#else
      ds[i] = p[i] == 0 ? 0 : p[i] * (ds[i] - of[r].y);
#endif
    }
}

#ifdef KEYS
void attend(uint first) {
  const Rows query = matrix(0, 0, queries, D), gradient = matrix(3, 3, queries, E);
  load(kOwn, matrix(1, 1, keys, D), first);
  load(kOwn2, matrix(2, 2, keys, E), first);
  vec4 to_key[THREAD_ROWS * kUnits], to_value[THREAD_ROWS * kUnits];
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) to_key[i] = to_value[i] = vec4(0);
  const uint begin = causal ? first / COLS * COLS : 0;
  fetch(query, begin);
  for (uint col = begin; col < queries; col += COLS) {
    keep(kD);
    barrier();
    fetch(gradient, col);
    vec2 of[kQueries];
    [[unroll]] for (uint c = 0; c < kQueries; ++c) of[c] = of_query(col + col_of(c));
    float p[THREAD_ROWS * THREAD_COLS], ds[THREAD_ROWS * THREAD_COLS];
    multiply(kOwn, kD, p);
    weigh(first, col, of, p);
    put_weights(p);
    barrier();
    keep(kE);
    barrier();
    fetch(query, col);
    multiply(kOwn2, kE, ds);
    add_weighted(kE, to_value);
    slope(of, p, ds);
    barrier();
    keep(kD);
    put_weights(ds);
    barrier();
    fetch(query, col + COLS);
    add_weighted(kD, to_key);
    barrier();
  }
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) to_key[i] *= scale;
  if ((word(6) & 4) != 0) store(matrix(7, 5, keys, D), first, to_key);
  if ((word(6) & 8) != 0) store(matrix(8, 6, keys, E), first, to_value);
}
#else
void attend(uint first) {
  const Rows key = matrix(1, 1, keys, D), value = matrix(2, 2, keys, E);
  load(kOwn, matrix(0, 0, queries, D), first);
  load(kOwn2, matrix(3, 3, queries, E), first);
  vec2 of[kQueries];
  [[unroll]] for (uint r = 0; r < kQueries; ++r) of[r] = of_query(first + row_of(r));
  vec4 sum[THREAD_ROWS * kUnits];
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) sum[i] = vec4(0);
  const uint end = causal ? min(keys, first + ROWS) : keys;
  fetch(value, 0);
  for (uint col = 0; col < end; col += COLS) {
    keep(kE);
    barrier();
    fetch(key, col);
    float p[THREAD_ROWS * THREAD_COLS], ds[THREAD_ROWS * THREAD_COLS];
    multiply(kOwn2, kE, ds);
    barrier();
    keep(kD);
    barrier();
    fetch(value, col + COLS);
    multiply(kOwn, kD, p);
    weigh(first, col, of, p);
    slope(of, p, ds);
    put_weights(ds);
    barrier();
    add_weighted(kD, sum);
    barrier();
  }
  [[unroll]] for (uint i = 0; i < THREAD_ROWS * kUnits; ++i) sum[i] *= scale;
  store(matrix(6, 4, queries, D), first, sum);
}
#endif
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
