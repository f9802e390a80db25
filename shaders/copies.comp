#version 460
#extension GL_GOOGLE_include_directive : require
// Copies between buffers, many in one launch: a workgroup copies a piece of one of them. Addresses and sizes are
// multiples of 4.
#define SG_WIDE
#include "common.glsl"

#define THREADS 256
#define PIECE 65536u  // kPiece of device/gpu/record/copier.cpp

// How many copies there are; then of each: from where, to where, bytes, its first workgroup.
#define word(i) Words(push.block).at[i]
#define from_of(copy) word(1 + 4 * copy)
#define to_of(copy) word(2 + 4 * copy)
#define bytes_of(copy) offset_of(word(3 + 4 * copy))
#define group_of(copy) uint(word(4 + 4 * copy))

layout(local_size_x = THREADS) in;

void main() {
  const uint group = gl_WorkGroupID.x;
  uint copy = 0, end = uint(word(0));
  while (end - copy > 1) {
    const uint middle = (copy + end) / 2;
    if (group_of(middle) <= group)
      copy = middle;
    else
      end = middle;
  }
  const Offset begin = Offset(group - group_of(copy)) * PIECE;
  const Address from = address_add(from_of(copy), begin), to = address_add(to_of(copy), begin);
  const uint bytes = uint(min(Offset(PIECE), bytes_of(copy) - begin));
  const uint fours = is_aligned(from | to, 16) ? bytes / 16 : 0;
  for (uint i = gl_LocalInvocationIndex; i < fours; i += THREADS)
    Int32x4(address_add(to, Offset(16) * i)).at[0] = Int32x4(address_add(from, Offset(16) * i)).at[0];
  for (uint i = 4 * fours + gl_LocalInvocationIndex; i < bytes / 4; i += THREADS)
    Int32(address_add(to, Offset(4) * i)).at[0] = Int32(address_add(from, Offset(4) * i)).at[0];
}
