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
// Sums that are added at once, each by kLanes threads: as many as fill 12 KiB of shared memory.
const uint kLanes = 8, kPitch = SG_THREADS + kLanes, kMost = 3072 / kPitch, kChunk = kSums < kMost ? kSums : kMost;

shared float parts[kChunk * kPitch], sums_of_lanes[kChunk * kLanes];
shared bool wrong;

struct Piece {
  Address image, gradient, sums;     // of the channel and the first output
  Offset image_step, gradient_step;  // from one image to the next
  SignedOffset begin_of_image;
  uint begin, end;
};
struct Column {
  Address image, gradient;
  SignedOffset begin;  // element at which the image lies
  ivec2 at;            // first result
};
Column column_of(Piece p, uint item) {
  const uint columns = uint(word(6)), bands = uint(word(7));
  const uint image = item / columns / bands;
  return Column(address_add(p.image, BYTES * (image * p.image_step)),
                address_add(p.gradient, BYTES * (image * p.gradient_step)),
                p.begin_of_image + SignedOffset(image * p.image_step),
                ivec2(item / columns % bands * kRows, item % columns));
}

// The sum of one tap by all threads, of what results see and nothing else.
void add_directly(Piece p, uint output_number, ivec2 tap, uint to) {
  const ivec2 size = ivec2(HEIGHT, WIDTH), result = RESULT, before = ivec2(int(word(11)), int(word(12)));
  float sum = 0.0;
  for (uint item = p.begin + gl_LocalInvocationIndex; item < p.end; item += SG_THREADS) {
    const Column c = column_of(p, item);
    [[dont_unroll]] for (int i = c.at.x; i < min(c.at.x + kRows, result.x); ++i) {
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
// The rows that a thread reads. The middle column is loaded first, so that all rows are on their way.
const int kReadRows = (kRows - 1) * kStride.x + (kKernel.x - 1) * kDilation.x + 1,
          kReadColumns = (kKernel.y - 1) * kDilation.y + 1, kMiddle = kKernel.y / 2;

void add_column(Walk x, Column c, uint outputs, inout float sums[kOutputs][kKernel.x][kKernel.y]) {
  const ivec2 result = RESULT;
  float middle[kReadRows];
  [[unroll]] for (int i = 0; i < kReadRows; ++i) middle[i] = ELEMENT(row_of(x, i), kMiddle * kDilation.y);
  float gradient[kOutputs][kRows];
  [[unroll]] for (int q = 0; q < kOutputs; ++q) {
    const SignedOffset plane = SignedOffset(min(q, outputs - 1)) * result.x * result.y;
    [[unroll]] for (int i = 0; i < kRows; ++i) {
      gradient[q][i] = 0.0;
      if (c.at.x + i < result.x)
        gradient[q][i] = ELEMENT(address_add(c.gradient, BYTES * (plane + (c.at.x + i) * result.y + c.at.y)), 0);
    }
  }
  uint columns[kKernel.y];
  [[unroll]] for (int u = 0; u < kKernel.y; ++u) columns[u] = column_mask(x, u * kDilation.y);
  [[unroll]] for (int i = 0; i < kReadRows; ++i) {
    const Address row = row_of(x, i);
    const uint mask = row_mask(x, i);
    float values[kKernel.y];
    [[unroll]] for (int u = 0; u < kKernel.y; ++u) {
      const float value = u == kMiddle ? middle[i] : ELEMENT(row, u * kDilation.y);
      values[u] = seen(value, mask, columns[u]);
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

// The same in the same order, reading nothing that is not seen.
void add_carefully(Walk x, Column c, uint outputs, inout float sums[kOutputs][kKernel.x][kKernel.y]) {
  const ivec2 result = RESULT;
  [[dont_unroll]] for (int i = 0; i < min(kRows, result.x - c.at.x); ++i) {
    float gradient[kOutputs];
    [[unroll]] for (int q = 0; q < kOutputs; ++q)
      gradient[q] = ELEMENT(address_add(c.gradient, BYTES * ((SignedOffset(min(q, outputs - 1)) * result.x + c.at.x + i) *
                                                             result.y + c.at.y)), 0);
    [[unroll]] for (int t = 0; t < kKernel.x; ++t)
      [[unroll]] for (int u = 0; u < kKernel.y; ++u) {
        const ivec2 at = x.first + ivec2(i * kStride.x + t * kDilation.x, u * kDilation.y);
        float value = 0.0;
        if (uint(at.x) < uint(x.size.x) && uint(at.y) < uint(x.size.y))
          value = ELEMENT(address_add(x.image, BYTES * SignedOffset(at.x * x.size.y + at.y)), 0);
        [[unroll]] for (int q = 0; q < kOutputs; ++q) sums[q][t][u] = fma(value, gradient[q], sums[q][t][u]);
      }
  }
}
#endif

#define EACH_SUM                                    \
  [[unroll]] for (int q = 0; q < kOutputs; ++q)     \
    [[unroll]] for (int t = 0; t < kKernel.x; ++t)  \
      [[unroll]] for (int u = 0; u < kKernel.y; ++u)

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
                        SignedOffset((Offset(group) * channels + channel) * image), piece * each, min((piece + 1) * each, uint(word(5))));
  if (thread == 0) wrong = false;
#ifdef WALKS
  float sums[kOutputs][kKernel.x][kKernel.y];
  EACH_SUM sums[q][t][u] = 0.0;
  for (uint item = p.begin + thread; item < p.end; item += SG_THREADS) {
    const Column c = column_of(p, item);
    const Walk x = Walk(c.at * kStride - ivec2(int(word(11)), int(word(12))), ivec2(HEIGHT, WIDTH), c.image);
    if (is_in_memory(x, c.begin, c.begin, kReadRows, kReadColumns, word(14)))
      add_column(x, c, some, sums);
    else
      add_carefully(x, c, some, sums);
  }

  [[unroll]] for (int s0 = 0; s0 < kSums; s0 += int(kChunk)) {
    barrier();
    EACH_SUM {
      const uint s = (q * kKernel.x + t) * kKernel.y + u - s0;
      if (s < kChunk) parts[s * kPitch + thread] = sums[q][t][u];
    }
    barrier();
    const uint count = min(kChunk, kSums - s0);
    for (uint i = thread; i < count * kLanes; i += SG_THREADS) {
      float sum = 0.0;
      for (uint k = i % kLanes; k < SG_THREADS; k += kLanes) sum += parts[i / kLanes * kPitch + k];
      sums_of_lanes[i] = sum;
    }
    barrier();
    for (uint i = thread; i < count; i += SG_THREADS) {
      float sum = 0.0;
      for (uint k = 0; k < kLanes; ++k) sum += sums_of_lanes[i * kLanes + k];
      const uint s = s0 + i;
      if (s >= some * kTaps) break;
      if (!is_finite(sum)) wrong = true;
      Float32(address_add(p.sums, 4 * (Offset(s / kTaps) * channels * kTaps + s % kTaps))).at[0] = sum;
    }
  }
  barrier();
  // A gradient that is not finite, and a zero beside the image.
  if (!wrong) return;
#endif
  [[dont_unroll]] for (uint q = 0; q < some; ++q)
    [[dont_unroll]] for (int t = 0; t < kTaps; ++t)
      add_directly(p, q, ivec2(t / kKernel.y, t % kKernel.y), q * channels * kTaps + t);
}
