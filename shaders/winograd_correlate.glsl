// A convolution: rows are outputs, columns are blocks, a step is eight channels. Tensor 2 is the kernels, whose values
// tensor 1 has.
#include "winograd_product.glsl"

#define ROW_OF_OUTPUTS uint(word(15))
const uint kUnits = kFactors / SG_THREADS, kRowsApart = SG_THREADS / kRow;  // of values of kernels, for each thread

// A block's results from its elements: transforms spread what is not finite over the block. `first` is of channel 0.
void find_directly(Image x, int first, uint there, uint m, out float y[2][2]) {
  const SignedOffset channel = word(18), row = word(19), column = word(20);
  SignedOffset kernel = word(16) + SignedOffset(m * word(17));
  y[0][0] = y[0][1] = y[1][0] = y[1][1] = 0.0;
  for (uint c = 0; c < CHANNELS; ++c) {
    float d[4][4];
    load_block(x, first + int(c) * x.channel, there, d);
    [[unroll]] for (int p = 0; p < 3; ++p)
      [[unroll]] for (int q = 0; q < 3; ++q) {
        const float w = floats(2, Offset(kernel + p * row + q * column)).at[0];
        [[unroll]] for (int i = 0; i < 2; ++i)
          [[unroll]] for (int j = 0; j < 2; ++j) y[i][j] = fma(d[i + p][j + q], w, y[i][j]);
      }
    kernel += channel;
  }
}

void main() {
  const uint thread = gl_LocalInvocationIndex, lane = thread % kTile, row = thread / kTile;
  const uint channels = CHANNELS, outputs = OUTPUTS, row_of_outputs = ROW_OF_OUTPUTS, tiles = row_of_outputs / kTile;
  const uint m0 = workgroup() % tiles * kTile;
  const uint number = workgroup() / tiles * kTile + lane, blocks = IMAGES * BLOCKS.x * BLOCKS.y;
  const Block b = block_at(number, BLOCKS);
  const Image x = image();
  const uint there = number < blocks ? elements(x, b) : 0;
  const ivec2 result = RESULT;
  const Address to_result = tensor(3);
  int first = first_element(x, b, row);
  Address from = address_add(tensor(1), 4 * Offset(thread / kRow * row_of_outputs + m0 + 4 * (thread % kRow)));

  float d[4][4];
  vec4 weights[kUnits];
#define LOAD(c0)                                                                                  \
  load_block(x, first, (c0) + row < channels ? there : 0, d);                                     \
  [[unroll]] for (uint r = 0; r < kUnits; ++r)                                                    \
    weights[r] = Float32x4(address_add(from, Offset(4 * r * kRowsApart) * row_of_outputs)).at[0];           \
  first += int(kStep) * x.channel;                                                                \
  address_move(from, 4 * kStep * kPoints * row_of_outputs);
  LOAD(0)
  vec4 sums[8][2] = no_sums();
  for (uint c0 = 0; c0 < channels; c0 += kStep) {
    float values[4][4];
    transform_block(d, values);
    put(kFactors, row, lane, values);
    [[unroll]] for (uint r = 0; r < kUnits; ++r) {
      const uint at = r * kRowsApart + thread / kRow;
      square[place(at / kPoints, at % kPoints, thread % kRow)] = weights[r];
    }
    barrier();
    if (c0 + kStep < channels) {
      LOAD(c0 + kStep)
    }
    multiply(sums);
    barrier();
  }

  const ivec2 corner = 2 * ivec2(b.y, b.x);
  [[unroll]] for (uint h = 0; h < 2; ++h) {
    if (h == 1) barrier();
    share(sums, h);
    for (uint r = row; r < kHalf; r += SG_THREADS / kTile) {
      const uint m = m0 + h * kHalf + r;
      if (number >= blocks || m >= outputs) continue;
      float values[4][4], y[2][2];
      gather(r, lane, values);
      find_result(values, y);
      if (!is_finite(y[0][0] + y[0][1] + y[1][0] + y[1][1])) find_directly(x, first_element(x, b, 0), there, m, y);
      const int to = ((int(b.image) * int(outputs) + int(m)) * result.x + corner.x) * result.y + corner.y;
      [[unroll]] for (int i = 0; i < 2; ++i)
        [[unroll]] for (int j = 0; j < 2; ++j)
          if (corner.x + i < result.x && corner.y + j < result.y)
            Float32(address_add(to_result, 4 * SignedOffset(to + i * result.y + j))).at[0] = y[i][j];
    }
  }
}
