// A convolution with few channels a group, or its gradient by the image: `outputs` of a group come from `channels` of the
// tensor that is read. A thread has kRows rows and kColumns neighbouring columns of kOutputs of them. It walks down the rows
// of a channel, of which it reads each once; the weights are in registers. Neighbouring threads have neighbouring columns.
//
// A result lies kStep further than the one before it, a tap kDilation. What is read lies kUp apart, and nothing is between:
// the step of a convolution is its stride, and its gradient walks the kernel from the end over a result that is kUp apart.
//
// With EPILOGUE results go to epilogue(uint batch, uint m, uint n, float sum), as those of product.glsl.
#include "grouped.glsl"

#define HEIGHT int(word(7))
#define WIDTH int(word(8))

struct Block {
  Address image, weights;  // of the first channel of a group, and of the first output
  uint batch, output0;     // group among those of all images, first output
  ivec2 first, size;       // result of this thread, and how many rows and columns there are
  Address result;          // of the first output, without EPILOGUE
};

void put(Block b, uint output_number, int row, int column, float value) {
  const uint n = uint(row * b.size.y + column);
#if !defined(EPILOGUE)
  const Offset to = Offset(output_number) * uint(b.size.x * b.size.y) + n;
  MEMORY(address_add(b.result, BYTES * to)).at[0] = BITS(value);
#elif defined(GROUPS_ARE_ROWS)  // one channel and one output a group
  epilogue(b.batch / uint(word(4)), b.batch % uint(word(4)), n, value);
#else
  epilogue(b.batch, b.output0 + output_number, n, value);
#endif
}

// A tap among the weights of a channel.
int tap(int row, int column) {
  const int number = row * kKernel.y + column;
  return kReversed ? kKernel.x * kKernel.y - 1 - number : number;
}

// One result alone: what taps see outside of the image is not read, not even as zero.
float directly(Block b, uint output_number, ivec2 at) {
  const ivec2 size = ivec2(HEIGHT, WIDTH), first = at * kStep - ivec2(int(word(15)), int(word(16)));
  float sum = 0.0;
  [[dont_unroll]] for (uint c = 0; c < uint(word(6)); ++c) {
    const Address x = address_add(b.image, BYTES * (Offset(c) * uint(size.x) * uint(size.y)));
    const Address w = address_add(b.weights, BYTES * (Offset(output_number) * uint(word(18)) + Offset(c) * uint(word(19))));
    [[dont_unroll]] for (int t = 0; t < kKernel.x; ++t) {
      const int row = first.x + t * kDilation.x;
      if (row < 0 || row % kUp.x != 0 || row / kUp.x >= size.x) continue;
      [[dont_unroll]] for (int u = 0; u < kKernel.y; ++u) {
        const int column = first.y + u * kDilation.y;
        if (column < 0 || column % kUp.y != 0 || column / kUp.y >= size.y) continue;
        const float value = ELEMENT(address_add(x, BYTES * SignedOffset(row / kUp.x * size.y + column / kUp.y)), 0);
        sum = fma(value, ELEMENT(address_add(w, BYTES * tap(t, u)), 0), sum);
      }
    }
  }
  return sum;
}

#ifdef WALKS
// The rows, and columns, that a thread reads. Its middle column is loaded first, so that all rows are on their way.
const int kReadRows = ((kRows - 1) * kStep.x + (kKernel.x - 1) * kDilation.x) / kUp.x + 1;
const int kReadColumns = ((kColumns - 1) * kStep.y + (kKernel.y - 1) * kDilation.y) / kUp.y + 1;
const int kMiddle = kReadColumns / 2;

void add_channel(Walk x, const uint columns[kReadColumns], Address w, uint outputs,
                 inout float sums[kOutputs][kRows][kColumns]) {
  float middle[kReadRows];
  [[unroll]] for (int i = 0; i < kReadRows; ++i) middle[i] = ELEMENT(row_of(x, i), kMiddle);
  float weights[kOutputs][kKernel.x][kKernel.y];
  [[unroll]] for (int q = 0; q < kOutputs; ++q) {
    const Address of_output = address_add(w, BYTES * (Offset(min(q, outputs - 1)) * uint(word(18))));
    [[unroll]] for (int t = 0; t < kKernel.x; ++t)
      [[unroll]] for (int u = 0; u < kKernel.y; ++u) weights[q][t][u] = ELEMENT(of_output, tap(t, u));
  }
  [[unroll]] for (int i = 0; i < kReadRows; ++i) {
    const Address row = row_of(x, i);
    const uint mask = row_mask(x, i);
    float values[kReadColumns];
    [[unroll]] for (int j = 0; j < kReadColumns; ++j) {
      const float value = j == kMiddle ? middle[i] : ELEMENT(row, j);
      values[j] = seen(value, mask, columns[j]);
    }
    [[unroll]] for (int t = 0; t < kKernel.x; ++t) {
      if (!sees(i * kUp.x, t * kDilation.x, kStep.x)) continue;
      const int to = (i * kUp.x - t * kDilation.x) / kStep.x;
      [[unroll]] for (int u = 0; u < kKernel.y; ++u)
        [[unroll]] for (int b = 0; b < kColumns; ++b) {
          const int column = b * kStep.y + u * kDilation.y;
          if (column % kUp.y != 0) continue;
          [[unroll]] for (int q = 0; q < kOutputs; ++q)
            sums[q][to][b] = fma(values[column / kUp.y], weights[q][t][u], sums[q][to][b]);
        }
    }
  }
}

bool is_finite(const float sums[kOutputs][kRows][kColumns]) {
  uint wrong = 0;
  [[unroll]] for (int q = 0; q < kOutputs; ++q)
    [[unroll]] for (int j = 0; j < kColumns; ++j)
      [[unroll]] for (int i = 0; i < kRows; ++i) wrong |= is_finite(sums[q][i][j]) ? 0 : 1;
  return wrong == 0;
}
void store(Block b, uint outputs, const float sums[kOutputs][kRows][kColumns]) {
  [[unroll]] for (int q = 0; q < kOutputs; ++q)
    [[unroll]] for (int j = 0; j < kColumns; ++j) {
      const uint rows = q < outputs && uint(b.first.y + j) < uint(b.size.y) ? uint(b.size.x) : 0;
      [[unroll]] for (int i = 0; i < kRows; ++i)
        if (uint(b.first.x + i) < rows) put(b, q, b.first.x + i, b.first.y + j, sums[q][i][j]);
    }
}
#endif

void correlate(uint id) {
  const uint columns = uint(word(1)), bands = uint(word(2)), blocks = uint(word(3)), groups = uint(word(4));
  const uint outputs = uint(word(5)), channels = uint(word(6));
  const uint column = id % columns, band = id / columns % bands, number = id / columns / bands;
  const uint block = number % blocks, group = number / blocks % groups;
  const uint of_image = number / blocks / groups * groups + group, output0 = block * kOutputs;
  const Offset plane = Offset(HEIGHT) * uint(WIDTH);
  const ivec2 size = ivec2(int(word(9)), int(word(10)));
  Block b;
  b.image = elements(0, Offset(of_image) * channels * plane);
  b.weights = elements(1, Offset(group) * uint(word(17)) + Offset(output0) * uint(word(18)));
  b.batch = of_image, b.output0 = output0, b.size = size;
  b.first = ivec2(band * kRows - uint(word(13)), column * kColumns - uint(word(14)));
#ifndef EPILOGUE
  b.result = elements(2, (Offset(of_image) * outputs + output0) * uint(size.x * size.y));
#endif
#ifdef WALKS
  const ivec2 first = ivec2(int(word(11)), int(word(12))) +
                      ivec2(int(band) * (kRows * kStep.x / kUp.x), int(column) * (kColumns * kStep.y / kUp.y));
  Walk walk = Walk(first, ivec2(HEIGHT, WIDTH), b.image);
  const SignedOffset begin = SignedOffset(Offset(of_image) * channels * plane);
  if (is_in_memory(walk, begin, begin + SignedOffset((channels - 1) * plane), kReadRows, kReadColumns, word(20))) {
    float sums[kOutputs][kRows][kColumns];
    [[unroll]] for (int q = 0; q < kOutputs; ++q)
      [[unroll]] for (int i = 0; i < kRows; ++i)
        [[unroll]] for (int j = 0; j < kColumns; ++j) sums[q][i][j] = 0.0;
    uint seen_columns[kReadColumns];
    [[unroll]] for (int j = 0; j < kReadColumns; ++j) seen_columns[j] = column_mask(walk, j);
    Address weights = b.weights;
    for (uint c = 0; c < channels; ++c) {
      add_channel(walk, seen_columns, weights, outputs - output0, sums);
      address_move(walk.image, BYTES * plane);
      address_move(weights, BYTES * uint(word(19)));
    }
    if (is_finite(sums)) {
      store(b, outputs - output0, sums);
      return;
    }
  }
#endif
  // Also where zeros around the image met infinite weights.
  const ivec2 top = max(b.first, ivec2(0)), end = min(b.first + ivec2(kRows, kColumns), size);
  [[dont_unroll]] for (uint q = 0; q < min(kOutputs, outputs - output0); ++q)
    [[dont_unroll]] for (int i = top.x; i < end.x; ++i)
      [[dont_unroll]] for (int j = top.y; j < end.y; ++j)
        put(b, q, i, j, directly(b, q, ivec2(i, j)));
}

void main() {
  const uint id = workgroup() * SG_THREADS + gl_LocalInvocationIndex;
  if (id < uint(word(0))) correlate(id);
#ifdef REPORTS
  REPORTS
#endif
}
