// For attention_split.glsl: the power of two that brings each matrix of float32 of a head into the range of halves, as its
// exponent. NaN where there is none that keeps the digits of float32: the matrix has an infinity or a NaN, or the largest
// numbers of two rows, or of two columns, are too far apart. Of gradients, half of the rows may be that small: those of
// queries whose gradient is nothing but what rounding left, as that of the first of a causal attention. Included behind
// what attention_common.glsl needs, MATRICES (tensors), and CLUSTER (threads that read a row, a power of two). A workgroup
// measures one matrix.
layout(local_size_x = SG_THREADS) in;
const uint kThreads = SG_THREADS;
uint thread = gl_LocalInvocationIndex;
#include "attention_common.glsl"

const uint kWidest = D > E ? D : E, kRowsAtOnce = kThreads / CLUSTER, kAhead = 4;
const uint kSpread = 16;                 // exponents of two: halves of a number have 23 digits up to there
const int kLowest = -32, kHighest = 60;  // so that a product of two powers is a float32

// Magnitudes, as bits: they order as the numbers do.
shared uint columns[kWidest], most, least;
shared uint exponents[256], large, small;  // how many rows there are of each exponent; of large and of small ones

uvec4 magnitudes(Rows m, uint row, uint unit) {
  if (row >= m.count || 4 * unit >= m.size) return uvec4(0);
  return floatBitsToUint(four_of(m, row, unit)) & 0x7fffffffu;
}

float exponent_of(uint high, uint low) {
  if (high == 0) return 0;
  const int exponent = 14 - (int(high >> 23) - 127);
  const bool near = (high >> 23) - (low >> 23) <= kSpread, fits = kLowest <= exponent && exponent <= kHighest;
  const bool holds = high < 0x7f800000u && near && fits;
  return holds ? float(exponent) : uintBitsToFloat(0x7fc00000u);
}

void main() {
  uint work = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, at = work;
  int i = 0;
  uint each = heads;
  while (i < MATRICES - 1 && work >= uint(word(0)) * each) {
    work -= uint(word(0)) * each;
    ++i;
    each = i == 3 ? heads : heads / serves;
  }
  batch = work / each;
  if (batch >= uint(word(0))) return;
  const Rows m = matrix(i, i, work % each, i == 0 || i == 3 ? queries : keys, i < 2 ? D : E);

  for (uint c = thread; c < kWidest; c += kThreads) columns[c] = 0;
  for (uint x = thread; x < 256; x += kThreads) exponents[x] = 0;
  if (thread == 0) {
    most = large = small = 0;
    least = 0xffffffffu;
  }
  barrier();
  const uint unit = thread % CLUSTER;
  uvec4 column = uvec4(0);
  uint low = 0xffffffffu;
  for (uint row = thread / CLUSTER; row < m.count; row += kAhead * kRowsAtOnce) {
    uvec4 x[kAhead];
    [[unroll]] for (uint a = 0; a < kAhead; ++a) x[a] = magnitudes(m, row + a * kRowsAtOnce, unit);
    [[unroll]] for (uint a = 0; a < kAhead; ++a) {
      column = max(column, x[a]);
      const uint of_row = subgroupClusteredMax(max(max(x[a].x, x[a].y), max(x[a].z, x[a].w)), CLUSTER);
      if (of_row != 0 && unit == 0) {
        if (i == 3)
          atomicAdd(exponents[of_row >> 23], 1);
        else
          low = min(low, of_row);
      }
    }
  }
  [[unroll]] for (uint l = 0; l < 4; ++l)
    if (4 * unit + l < m.size) atomicMax(columns[4 * unit + l], column[l]);
  atomicMin(least, low);
  barrier();
  for (uint c = thread; c < m.size; c += kThreads)
    if (columns[c] != 0) {
      atomicMax(most, columns[c]);
      atomicMin(least, columns[c]);
    }
  barrier();
  for (uint x = thread; x < 256; x += kThreads)
    if (exponents[x] != 0) {
      if (x + kSpread < most >> 23)
        atomicAdd(small, exponents[x]);
      else
        atomicAdd(large, exponents[x]);
    }
  barrier();
  if (thread == 0)
    Float32(tensor(MATRICES)).at[at] = small > large ? uintBitsToFloat(0x7fc00000u) : exponent_of(most, least);
}
