// The gradient of a convolution with few channels a group by its weights: all taps of one channel and kOutputs outputs, a
// sum over a piece of the results. A thread walks down kRows rows of a column, of which it reads each once, and goes on
// with another column; its sums are in registers. A workgroup adds those of its threads in order.
#include "grouped.glsl"

#define CHANNELS uint(word(2))
#define HEIGHT int(word(8))
#define WIDTH int(word(9))
#define RESULT ivec2(int(word(10)), int(word(6)))
#define OUTPUTS uint(word(13))

const int kTaps = kKernel.x * kKernel.y, kSums = kOutputs * kTaps;
const uint kLanes = 8, kChunk = SG_THREADS / kLanes, kPitch = SG_THREADS + kLanes;  // sums that are added at once

shared float parts[kChunk * kPitch];
shared bool wrong;

struct Piece {
  Address image, gradient, sums;     // of the channel and the first output
  Offset image_step, gradient_step;  // from one image to the next
  uint begin, end;
};
struct Column {
  Address image, gradient;
  ivec2 at;  // first result
};
Column column_of(Piece p, uint item) {
  const uint columns = uint(word(6)), bands = uint(word(7));
  const uint image = item / columns / bands;
  return Column(address_add(p.image, BYTES * (image * p.image_step)),
                address_add(p.gradient, BYTES * (image * p.gradient_step)),
                ivec2(item / columns % bands * kRows, item % columns));
}

// The sum of one tap by all threads, of what results see and nothing else.
void add_directly(Piece p, uint output_number, ivec2 tap, uint to) {
  const ivec2 size = ivec2(HEIGHT, WIDTH), result = RESULT, before = ivec2(int(word(11)), int(word(12)));
  float sum = 0.0;
  for (uint item = p.begin + gl_LocalInvocationIndex; item < p.end; item += SG_THREADS) {
    const Column c = column_of(p, item);
    for (int i = c.at.x; i < min(c.at.x + kRows, result.x); ++i) {
      const ivec2 at = ivec2(i, c.at.y) * kStride - before + tap * kDilation;
      if (any(lessThan(at, ivec2(0))) || any(greaterThanEqual(at, size))) continue;
      const SignedOffset from = SignedOffset(output_number) * result.x * result.y + i * result.y + c.at.y;
      sum = fma(ELEMENT(address_add(c.image, BYTES * SignedOffset(at.x * size.y + at.y)), 0),
                ELEMENT(address_add(c.gradient, BYTES * from), 0), sum);
    }
  }
  barrier();
  parts[gl_LocalInvocationIndex] = sum;
  barrier();
  if (gl_LocalInvocationIndex != 0) return;
  for (uint i = 1; i < SG_THREADS; ++i) sum += parts[i];
  Float32(address_add(p.sums, 4 * Offset(to))).at[0] = sum;
}

#ifdef WALKS
const int kReadRows = (kRows - 1) * kStride.x + (kKernel.x - 1) * kDilation.x + 1;

void add_column(Column c, uint outputs, inout float sums[kOutputs][kKernel.x][kKernel.y]) {
  const int height = HEIGHT, width = WIDTH;
  const ivec2 result = RESULT, first = c.at * kStride - ivec2(int(word(11)), int(word(12)));
  float gradient[kOutputs][kRows];
  [[unroll]] for (int q = 0; q < kOutputs; ++q) {
    const SignedOffset plane = SignedOffset(min(q, outputs - 1)) * result.x * result.y;
    [[unroll]] for (int i = 0; i < kRows; ++i) {
      gradient[q][i] = 0.0;
      if (c.at.x + i < result.x)
        gradient[q][i] = ELEMENT(address_add(c.gradient, BYTES * (plane + (c.at.x + i) * result.y + c.at.y)), 0);
    }
  }
  [[unroll]] for (int i = 0; i < kReadRows; ++i) {
    if (uint(first.x + i) >= uint(height)) continue;
    const Address row = address_add(c.image, BYTES * SignedOffset((first.x + i) * width + first.y));
    float values[kKernel.y];
    [[unroll]] for (int u = 0; u < kKernel.y; ++u) {
      values[u] = 0.0;
      if (uint(first.y + u * kDilation.y) < uint(width)) values[u] = ELEMENT(row, u * kDilation.y);
    }
    [[unroll]] for (int t = 0; t < kKernel.x; ++t) {
      if (!sees(i, t * kDilation.x, kStride.x)) continue;
      const int from = (i - t * kDilation.x) / kStride.x;
      [[unroll]] for (int u = 0; u < kKernel.y; ++u)
        [[unroll]] for (int q = 0; q < kOutputs; ++q)
          sums[q][t][u] = fma(values[u], gradient[q][from], sums[q][t][u]);
    }
  }
}
#endif

void main() {
  const uint thread = gl_LocalInvocationIndex, channels = CHANNELS, outputs = OUTPUTS, blocks = uint(word(1));
  const uint groups = uint(word(0)), pieces = uint(word(3)), each = uint(word(4));
  const uint channel = workgroup() % channels, block = workgroup() / channels % blocks;
  const uint group = workgroup() / channels / blocks % groups, piece = workgroup() / channels / blocks / groups;
  if (piece >= pieces) return;
  const uint output0 = block * kOutputs, some = min(kOutputs, outputs - output0);
  const Offset image = Offset(HEIGHT) * uint(WIDTH), gradient = Offset(word(10)) * uint(word(6));
  const Offset to = ((Offset(piece) * groups + group) * outputs + output0) * channels + channel;
  const Piece p = Piece(elements(0, (Offset(group) * channels + channel) * image),
                        elements(1, (Offset(group) * outputs + output0) * gradient),
                        address_add(tensor(2), 4 * (to * kTaps)), groups * channels * image, groups * outputs * gradient,
                        piece * each, min((piece + 1) * each, uint(word(5))));
  if (thread == 0) wrong = false;
#ifdef WALKS
  float sums[kOutputs][kKernel.x][kKernel.y];
  [[unroll]] for (int s = 0; s < kSums; ++s) sums[s / kTaps][s / kKernel.y % kKernel.x][s % kKernel.y] = 0.0;
  for (uint item = p.begin + thread; item < p.end; item += SG_THREADS) add_column(column_of(p, item), some, sums);

  [[unroll]] for (int s0 = 0; s0 < kSums; s0 += int(kChunk)) {
    barrier();
    [[unroll]] for (int s = s0; s < min(s0 + int(kChunk), kSums); ++s)
      parts[(s - s0) * kPitch + thread] = sums[s / kTaps][s / kKernel.y % kKernel.x][s % kKernel.y];
    barrier();
    const uint row = thread / kLanes * kPitch, s = s0 + thread / kLanes;
    float sum = 0.0;
    if (s < kSums)
      for (uint i = thread % kLanes; i < SG_THREADS; i += kLanes) sum += parts[row + i];
    barrier();
    if (s < kSums) parts[row + thread % kLanes] = sum;
    barrier();
    if (s < some * kTaps && thread % kLanes == 0) {
      for (uint i = 1; i < kLanes; ++i) sum += parts[row + i];
      if (!is_finite(sum)) wrong = true;
      Float32(address_add(p.sums, 4 * (Offset(s / kTaps) * channels * kTaps + s % kTaps))).at[0] = sum;
    }
  }
  barrier();
  // A gradient that is not finite, and a zero beside the image.
  if (!wrong) return;
#endif
  for (uint q = 0; q < some; ++q)
    for (int t = 0; t < kTaps; ++t)
      add_directly(p, q, ivec2(t / kKernel.y, t % kKernel.y), q * channels * kTaps + t);
}
