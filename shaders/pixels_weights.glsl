// The gradient of a convolution by its weights: products of shifted rows, in the order of weights. A product also
// multiplies pixels by the zeros between results. So where a sum is not finite, a workgroup adds what results see, and
// nothing else. Words: cpp/ops/pixels.cpp.
layout(local_size_x = SG_THREADS) in;

#define ROWS uint(word(0))  // of taps
#define OUTPUTS uint(word(1))
#define TAPS uint(word(2))  // of a row
#define PADDED uint(word(3))
#define CHANNELS uint(word(4))
#define IMAGES uint(word(5))
#define GRID uvec2(uint(word(6)), uint(word(7)))
#define RESULT uvec2(uint(word(8)), uint(word(9)))
#define STRIDE uvec2(uint(word(10)), uint(word(11)))
#define DILATION uint(word(12))
#define PLANE uint(word(13))
#define PADDED_OUTPUTS uint(word(14))

shared uint count, numbers[SG_THREADS];
shared float parts[SG_THREADS];

struct Weight {
  uint to, channel, row, tap;
};
Weight weight_at(uint number) {
  const uint kernel = number / TAPS / ROWS;
  return Weight(kernel / CHANNELS, kernel % CHANNELS, number / TAPS % ROWS, number % TAPS);
}

float factor(uint t, Offset at) { return FACTOR_VALUE(FACTOR(address_add(tensor(t), 2 * at)).at[0]); }

// What this thread adds of all places.
float part_of(Weight w) {
  const uvec2 grid = GRID, result = RESULT, stride = STRIDE;
  const uint row = w.row * DILATION, padded = PADDED, padded_outputs = PADDED_OUTPUTS;
  const uint first = row % stride.x * PLANE + row / stride.x * grid.y * stride.y;
  const uint places = IMAGES * result.x * result.y;
  float sum = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < places; i += SG_THREADS) {
    const uint frame_row = i / result.y % result.x + i / (result.x * result.y) * grid.x;
    const uint place = frame_row * grid.y + i % result.y;
    const Offset pixel = Offset(first + place * stride.y) * padded + w.tap * padded + w.channel;
    sum = fma(factor(1, Offset(place) * padded_outputs + w.to), factor(2, pixel), sum);
  }
  return sum;
}

void main() {
  const uint thread = gl_LocalInvocationIndex;
  const uint number = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * SG_THREADS + thread;
  if (thread == 0) count = 0;
  barrier();
  if (number < OUTPUTS * CHANNELS * ROWS * TAPS) {
    const Weight w = weight_at(number);
    const Offset from = Offset((w.row * OUTPUTS + w.to) * TAPS + w.tap) * PADDED + w.channel;
    const float sum = SUM_VALUE(SUM(address_add(tensor(0), SUM_BYTES * from)).at[0]);
    SUM(address_add(tensor(3), SUM_BYTES * Offset(number))).at[0] = SUM_BITS(sum);
    if (!is_finite(sum)) numbers[atomicAdd(count, 1)] = number;
  }
  barrier();
  for (uint k = 0; k < count; ++k) {
    parts[thread] = part_of(weight_at(numbers[k]));
    barrier();
    for (uint half_of = SG_THREADS / 2; half_of > 0; half_of /= 2) {
      if (thread < half_of) parts[thread] += parts[thread + half_of];
      barrier();
    }
    if (thread == 0) SUM(address_add(tensor(3), SUM_BYTES * Offset(numbers[k]))).at[0] = SUM_BITS(parts[0]);
  }
}
