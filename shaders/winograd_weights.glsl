// Partial sums of the gradient by the weights: rows are outputs, columns are channels, a step is eight blocks. Tensor 1 is
// the gradient by the result, in order.
#include "winograd_product.glsl"

void load_result(Address at, ivec2 result, Block b, int plane, bool inside, out float y[2][2]) {
  const ivec2 corner = 2 * ivec2(b.y, b.x);
  [[unroll]] for (int i = 0; i < 2; ++i)
    [[unroll]] for (int j = 0; j < 2; ++j) {
      y[i][j] = 0.0;
      if (inside && corner.x + i < result.x && corner.y + j < result.y)
        y[i][j] = Float32(address_add(at, 4 * SignedOffset(plane + (corner.x + i) * result.y + corner.y + j))).at[0];
    }
}

// The block kStep further on, which are `images`, and `step` rows and columns of blocks.
Block moved(Block b, uint images, uvec2 step, uvec2 blocks) {
  b.x += step.y;
  const bool row_ends = b.x >= blocks.y;
  b.x -= row_ends ? blocks.y : 0;
  b.y += step.x + uint(row_ends);
  const bool image_ends = b.y >= blocks.x;
  b.y -= image_ends ? blocks.x : 0;
  b.image += images + uint(image_ends);
  return b;
}

// The sums of an output and a channel over blocks begin .. end: transforms spread what is not finite over all taps.
void find_directly(Image x, Address gradient, uint begin, uint end, uint m, uint c, out float w[3][3]) {
  const ivec2 result = RESULT;
  [[unroll]] for (uint p = 0; p < 3; ++p) w[p][0] = w[p][1] = w[p][2] = 0.0;
  for (uint number = begin; number < end; ++number) {
    const Block b = block_at(number, BLOCKS);
    const ivec2 room = result - 2 * ivec2(b.y, b.x);  // results that there are
    float d[4][4], y[2][2];
    load_block(x, first_element(x, b, c), elements(x, b), d);
    load_result(gradient, result, b, int(b.image * OUTPUTS + m) * result.x * result.y, true, y);
    [[unroll]] for (int i = 0; i < 2; ++i)
      [[unroll]] for (int j = 0; j < 2; ++j) {
        if (i >= room.x || j >= room.y) continue;
        [[unroll]] for (int p = 0; p < 3; ++p)
          [[unroll]] for (int q = 0; q < 3; ++q) w[p][q] = fma(y[i][j], d[i + p][j + q], w[p][q]);
      }
  }
}

void main() {
  const uint thread = gl_LocalInvocationIndex, lane = thread % kStep, column = thread / kStep;
  const uint channels = CHANNELS, outputs = OUTPUTS;
  const uint rows = (outputs + kTile - 1) / kTile, columns = (channels + kTile - 1) / kTile;
  const uint m0 = workgroup() % rows * kTile, c0 = workgroup() / rows % columns * kTile;
  const uint slice = workgroup() / (rows * columns), begin = slice * uint(word(15));
  const uvec2 blocks = BLOCKS, step = uvec2(kStep / blocks.y % blocks.x, kStep % blocks.y);
  const uint all = IMAGES * blocks.x * blocks.y, end = min(all, begin + uint(word(15)));
  if (begin >= all) return;
  const uint images = kStep / (blocks.x * blocks.y);
  const Image x = image();
  const ivec2 result = RESULT;
  const Address gradient = tensor(1);
  Block b = block_at(begin + lane, blocks);

  float d[4][4], y[2][2];
#define LOAD(inside)                                                                                        \
  load_block(x, first_element(x, b, c0 + column), (inside) && c0 + column < channels ? elements(x, b) : 0, d); \
  load_result(gradient, result, b, (int(b.image) * int(outputs) + int(m0 + column)) * result.x * result.y,  \
              (inside) && m0 + column < outputs, y);                                                        \
  b = moved(b, images, step, blocks);
  LOAD(begin + lane < end)
  vec4 sums[8][2] = no_sums();
  for (uint p0 = begin; p0 < end; p0 += kStep) {
    float of_result[4][4], of_image[4][4];
    transform_result(y, of_result);
    put(0, lane, column, of_result);
    transform_block(d, of_image);
    put(kFactors, lane, column, of_image);
    barrier();
    if (p0 + kStep < end) {
      LOAD(p0 + kStep + lane < end)
    }
    multiply(sums);
    barrier();
  }

  [[unroll]] for (uint h = 0; h < 2; ++h) {
    if (h == 1) barrier();
    share(sums, h);
    for (uint r = thread / kTile; r < kHalf; r += SG_THREADS / kTile) {
      const uint m = m0 + h * kHalf + r, c = c0 + thread % kTile;
      if (m >= outputs || c >= channels) continue;
      float values[4][4], w[3][3];
      gather(r, thread % kTile, values);
      find_kernel(values, w);
      float sum = 0.0;
      [[unroll]] for (uint i = 0; i < 3; ++i) sum += w[i][0] + w[i][1] + w[i][2];
      if (!is_finite(sum)) find_directly(x, gradient, begin, end, m, c, w);
      const Offset to = ((Offset(slice) * outputs + m) * channels + c) * 9;
      [[unroll]] for (uint i = 0; i < 3; ++i)
        [[unroll]] for (uint j = 0; j < 3; ++j) floats(2, to + 3 * i + j).at[0] = w[i][j];
    }
  }
}
