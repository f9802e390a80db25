#version 460
// Rows of 2 phases, 8 lanes a row.
#define SG_FUSED_FMA
#define SG_SHUFFLES
#include "common.glsl"

#define Index uint
#define arguments push.block
#define argument(i) Words(arguments).at[i]
#define rows Index(argument(0))
#define columns Index(argument(1))
#define view0_stride1 Index(argument(2))
#define view0 argument(3)  // float32
#define view1 argument(4)  // float32

layout(local_size_x = 256) in;

const uint kThreads = 256, kLanes = 8, kRows = 32, kItems = 4;

shared float lanes_float32[kThreads];
float fold_sum_float32(float value, uint lane, uint place) {
  precise float all = value;
  barrier();  // the fold before may still be read
  lanes_float32[(lane) * kRows + place] = all;
  barrier();
  all = lanes_float32[(0) * kRows + place];
  [[unroll]] for (uint j = 1; j < 8; ++j) all = all + lanes_float32[(j) * kRows + place];
  return all;
}

void main() {
  const uint thread = gl_LocalInvocationID.x;
  const uint place = thread % kRows, lane = thread / kRows;
  for (Index first = Index(gl_WorkGroupID.x) * kRows; first < rows; first += Index(gl_NumWorkGroups.x) * kRows) {
    const bool live = first + place < rows;
    const Index row = live ? first + place : rows - 1;  // a row beyond the last has no columns
    const Index limit = live ? columns : 0;
    const Index base0 = row;

    // Phase 0.
    precise vec4 part1 = vec4(0.0);
    for (Index start = 0; start < limit; start += kItems * kLanes) {
      float in0[kItems];
      [[unroll]] for (uint k = 0; k < kItems; ++k) {
        const Index col = start + (k * kLanes + lane);
        if (col < limit) {
          in0[k] = Float32(view0).at[base0 + col * view0_stride1];
        }
      }
      [[unroll]] for (uint k = 0; k < kItems; ++k) {
        const Index col = start + (k * kLanes + lane);
        if (col < limit) {
          const float v0 = in0[k];
          part1[k % 4] = part1[k % 4] + v0;
        }
      }
    }
    precise float left1 = part1[0] + part1[2];
    precise float right1 = part1[1] + part1[3];
    precise float lane1 = left1 + right1;
    const float v1 = fold_sum_float32(lane1, lane, place);

    // Phase 1.
    if (live && lane == 0) {
      Float32(view1).at[row] = v1;
    }
  }
}
