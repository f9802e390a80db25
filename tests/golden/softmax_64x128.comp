#version 460
// Rows of 3 phases, 32 lanes a row.
#define SG_FUSED_FMA
#define SG_SHUFFLES
#include "common.glsl"
#include "alu.glsl"

#define Index uint
#define arguments push.block
#define argument(i) Words(arguments).at[i]
#define rows Index(argument(0))
#define columns Index(argument(1))
#define view0_stride0 Index(argument(2))
#define view1_stride0 Index(argument(3))
#define view0 argument(4)  // float32
#define view1 argument(5)  // float32
#define view2 argument(6)  // float32

layout(local_size_x = 256) in;

const uint kThreads = 256, kLanes = 32, kRows = 8, kItems = 1;

uint folds = 0;

shared float lanes_float32[2 * kThreads / 8];
float fold_maximum_float32(float value, uint lane, uint place) {
  precise float all = value;
  float other;
  other = subgroupShuffleXor(all, 1);
  all = alu_maximum(all, other);
  other = subgroupShuffleXor(all, 2);
  all = alu_maximum(all, other);
  other = subgroupShuffleXor(all, 4);
  all = alu_maximum(all, other);
  const uint first = folds % 2 * (kThreads / 8) + place * 4;
  ++folds;  // two folds take turns, so that one barrier each is enough
  if (lane % 8 == 0) lanes_float32[first + lane / 8] = all;
  barrier();
  all = lanes_float32[first + lane % 4];
  other = subgroupShuffleXor(all, 1);
  all = alu_maximum(all, other);
  other = subgroupShuffleXor(all, 2);
  all = alu_maximum(all, other);
  all = subgroupShuffle(all, gl_SubgroupInvocationID & ~7u);  // of 0 and -0 the same one
  return all;
}

float fold_sum_float32(float value, uint lane, uint place) {
  precise float all = value;
  float other;
  other = subgroupShuffleXor(all, 1);
  all = all + other;
  other = subgroupShuffleXor(all, 2);
  all = all + other;
  other = subgroupShuffleXor(all, 4);
  all = all + other;
  const uint first = folds % 2 * (kThreads / 8) + place * 4;
  ++folds;  // two folds take turns, so that one barrier each is enough
  if (lane % 8 == 0) lanes_float32[first + lane / 8] = all;
  barrier();
  all = lanes_float32[first + lane % 4];
  other = subgroupShuffleXor(all, 1);
  all = all + other;
  other = subgroupShuffleXor(all, 2);
  all = all + other;
  return all;
}

void main() {
  const uint thread = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
  const uint lane = thread % kLanes, place = thread / kLanes;
  for (Index first = Index(gl_WorkGroupID.x) * kRows; first < rows; first += Index(gl_NumWorkGroups.x) * kRows) {
    const bool live = first + place < rows;
    const Index row = live ? first + place : rows - 1;  // a row beyond the last has no columns
    const Index limit = live ? columns : 0;
    const Index base0 = row * view0_stride0;
    const Index base1 = row * view1_stride0;

    // Phase 0.
    precise vec4 part1 = vec4(uintBitsToFloat(0xff800000u));
    vec4 in0[kItems];
    [[unroll]] for (uint k = 0; k < kItems; ++k) {
      const Index col = (k * kLanes + lane) * 4;
      if (col < limit) {
        in0[k] = Float32x4(view0).at[(base0 + col) / 4];
      }
    }
    [[unroll]] for (uint k = 0; k < kItems; ++k) {
      const Index col = (k * kLanes + lane) * 4;
      if (col < limit) {
        [[unroll]] for (uint l = 0; l < 4; ++l) {
          const float v0 = in0[k][l];
          part1[l] = alu_maximum(part1[l], v0);
        }
      }
    }
    precise float left1 = alu_maximum(part1[0], part1[2]);
    precise float right1 = alu_maximum(part1[1], part1[3]);
    precise float lane1 = alu_maximum(left1, right1);
    const float v1 = fold_maximum_float32(lane1, lane, place);

    // Phase 1.
    precise vec4 keep3[kItems];
    precise vec4 part4 = vec4(0.0);
    [[unroll]] for (uint k = 0; k < kItems; ++k) {
      const Index col = (k * kLanes + lane) * 4;
      if (col < limit) {
        [[unroll]] for (uint l = 0; l < 4; ++l) {
          const float v0 = in0[k][l];
          precise float v2 = v0 - v1;
          precise float v3 = alu_exp(v2);
          keep3[k][l] = v3;
          part4[l] = part4[l] + v3;
        }
      }
    }
    precise float left4 = part4[0] + part4[2];
    precise float right4 = part4[1] + part4[3];
    precise float lane4 = left4 + right4;
    const float v4 = fold_sum_float32(lane4, lane, place);

    // Phase 2.
    precise float v7 = alu_log(v4);
    [[unroll]] for (uint k = 0; k < kItems; ++k) {
      const Index col = (k * kLanes + lane) * 4;
      if (col < limit) {
        vec4 out6;
        [[unroll]] for (uint l = 0; l < 4; ++l) {
          const float v3 = keep3[k][l];
          precise float v5 = alu_div(v3, v4);
          out6[l] = v5;
        }
        Float32x4(view1).at[(base1 + col) / 4] = out6;
      }
    }
    if (live && lane == 0) {
      Float32(view2).at[row] = v7;
    }
  }
}
