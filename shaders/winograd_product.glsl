// Products of values, for winograd_correlate.glsl and winograd_weights.glsl. Words: cpp/ops/winograd.cpp.
//
// A workgroup sums 32 x 32 results at all points. A step multiplies 8 factors of each, in shared memory, while those of
// the next step are loaded; a thread holds 8 x 8 sums at one point.
#include "winograd.glsl"

const uint kRow = kTile / 4, kFactors = kStep * kPoints * kRow;  // in units of four
const uint kHalf = kTile / 2;                                     // rows that are finished at once

shared vec4 square[2 * kFactors];

// Where four neighbours lie. Threads that write one column of several k meet in no bank.
uint place(uint k, uint point, uint column) { return (k * kPoints + point) * kRow + (column ^ k); }

void put(uint from, uint k, uint column, const float values[4][4]) {
  [[unroll]] for (uint i = 0; i < 4; ++i)
    [[unroll]] for (uint j = 0; j < 4; ++j)
      square[from + place(k, 4 * i + j, column / 4)][column % 4] = values[i][j];
}

#define IMAGES uint(word(0))
#define CHANNELS uint(word(1))
#define HEIGHT int(word(2))
#define WIDTH int(word(3))
#define BEFORE ivec2(int(word(8)), int(word(9)))
#define BLOCKS uvec2(uint(word(10)), uint(word(11)))
#define RESULT ivec2(int(word(12)), int(word(13)))
#define OUTPUTS uint(word(14))

// A block among all: of which image, and where.
struct Block {
  uint image, y, x;
};
Block block_at(uint number, uvec2 blocks) {
  return Block(number / (blocks.x * blocks.y), number / blocks.y % blocks.x, number % blocks.y);
}

// An image, as far as a thread reads it: nothing in a loop waits for words.
struct Image {
  Address at;
  ivec2 size, before;
  int image, channel, row;  // strides, of 4 bytes
};
Image image() {
  return Image(tensor(0), ivec2(HEIGHT, WIDTH), BEFORE, int(word(4)), int(word(5)), int(word(6)));
}
// Which of the 4 x 4 elements of a block there are, a bit for each.
uint elements(Image x, Block b) {
  const ivec2 first = 2 * ivec2(b.y, b.x) - x.before;
  uint columns = 0, all = 0;
  [[unroll]] for (int j = 0; j < 4; ++j) columns |= first.y + j >= 0 && first.y + j < x.size.y ? 1u << j : 0u;
  [[unroll]] for (int i = 0; i < 4; ++i) all |= first.x + i >= 0 && first.x + i < x.size.x ? columns << (4 * i) : 0u;
  return all;
}
int first_element(Image x, Block b, uint channel) {
  return int(b.image) * x.image + int(channel) * x.channel + (2 * int(b.y) - x.before.x) * x.row + 2 * int(b.x) - x.before.y;
}
void load_block(Image x, int first, uint there, out float d[4][4]) {
  [[unroll]] for (int i = 0; i < 4; ++i) {
    const Address row = address_add(x.at, 4 * SignedOffset(first + i * x.row));
    [[unroll]] for (int j = 0; j < 4; ++j) {
      d[i][j] = 0.0;
      if ((there >> (4 * i + j) & 1) == 1) d[i][j] = Float32(address_add(row, 4 * j)).at[0];
    }
  }
}

const uint kColumns = 4;  // threads side by side at one point, and one above the other
uint thread_row() { return gl_LocalInvocationIndex % kColumns; }
uint thread_column() { return gl_LocalInvocationIndex / kColumns % kColumns; }
uint thread_point() { return gl_LocalInvocationIndex / (kColumns * kColumns); }

// One step: each thread's rows are 4 row .. 4 row + 3 and those kHalf further, columns alike.
void multiply(inout vec4 sums[8][2]) {
  [[unroll]] for (uint k = 0; k < kStep; ++k) {
    vec4 a[2], b[2];
    [[unroll]] for (uint h = 0; h < 2; ++h) {
      a[h] = square[place(k, thread_point(), thread_row() + kColumns * h)];
      b[h] = square[kFactors + place(k, thread_point(), thread_column() + kColumns * h)];
    }
    [[unroll]] for (uint i = 0; i < 8; ++i)
      [[unroll]] for (uint j = 0; j < 2; ++j) sums[i][j] = fma(vec4(a[i / 4][i % 4]), b[j], sums[i][j]);
  }
}

vec4[8][2] no_sums() {
  vec4 sums[8][2];
  [[unroll]] for (uint i = 0; i < 8; ++i) sums[i][0] = sums[i][1] = vec4(0.0);
  return sums;
}

// Half of the rows, by point; then the 16 values of a row and a column.
void share(const vec4 sums[8][2], const uint h) {
  [[unroll]] for (uint i = 0; i < 4; ++i)
    [[unroll]] for (uint j = 0; j < 2; ++j)
      square[(thread_point() * kHalf + 4 * thread_row() + i) * kRow + thread_column() + kColumns * j] = sums[4 * h + i][j];
  barrier();
}
void gather(uint row, uint column, out float values[4][4]) {
  [[unroll]] for (uint i = 0; i < 4; ++i)
    [[unroll]] for (uint j = 0; j < 4; ++j)
      values[i][j] = square[((4 * i + j) * kHalf + row) * kRow + column / 4][column % 4];
}

