// Some steps of a recurrent layer in one direction, forward or BACKWARD: what its cells share. A workgroup owns some units of
// the state for some rows of the batch: it computes products with the state before, then what the cell makes of them. Where
// workgroups MEET, a launch does all steps, and they wait for each other after each; a weight that is RESIDENT then stays in
// shared memory. Elsewhere a launch does one step.
//
// Included behind what ops/recurrent_gpu.cpp defines: how elements are read and written (MEMORY, MEMORY4, STORED, STORED4,
// BYTES, LOAD, LOAD4, STORE), the cell's GATES, and the tile. A thread adds up THREAD_ROWS x 4 results for its part of each
// chunk of CHUNK elements; LANE_ROWS x LANE_COLS threads cover the tile, SLICES of them share each sum. Those parts meet in
// shared memory in a fixed order. While a chunk is multiplied, the next AHEAD travel from memory to registers; the number
// of chunks is a multiple of that. Then comes a cell, which says where its tensors are, what it reads, and what it
// makes of that and the products (Inputs, read, finish), and recurrent_steps.glsl.
layout(local_size_x = SG_THREADS) in;

#include "alu.glsl"

const uint kRows = THREAD_ROWS * LANE_ROWS, kCols = 4 * LANE_COLS, kThreads = SG_THREADS;
#if defined(BACKWARD) || GATES == 1
#define UNIT_EACH  // the four results in a row are those of four units, else those of a unit's gates
const uint kUnits = kCols;
#else
const uint kUnits = LANE_COLS;
#endif
const uint kFours = CHUNK / 4, kPart = kFours / SLICES;  // of a chunk, and of a slice of it
const uint kSteps = (kRows * kFours + kThreads - 1) / kThreads, kWeightSteps = (kCols * kFours + kThreads - 1) / kThreads;
const uint kStateRoom = kRows * kFours, kSumsRoom = SLICES * kRows * LANE_COLS;

// What other workgroups write.
layout(buffer_reference, scalar, buffer_reference_align = BYTES) coherent buffer Shared { STORED at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer Shared4 { STORED4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent volatile buffer Meeting { uint arrived; };

uint steps = uint(word(0)), batch = uint(word(1)), hidden = uint(word(2)), first = uint(word(7)), last = uint(word(8));
uint tiles = uint(word(9));
bool reverse = word(3) != 0, keep = word(4) != 0;
Offset x_step = Offset(word(5)), x_row = Offset(word(6));
#ifdef BACKWARD
uint depth = GATES * hidden;
#else
uint depth = hidden;
#endif
uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y;
uint thread = gl_LocalInvocationIndex;
uint lane_col = thread % LANE_COLS, lane_row = thread / LANE_COLS % LANE_ROWS, slice = thread / (LANE_COLS * LANE_ROWS);

shared vec4 room[kStateRoom > kSumsRoom ? kStateRoom : kSumsRoom];  // a chunk of the state, then parts of sums
shared vec4 weights[WEIGHT_FOURS * kCols];

Address at(Address begin, Offset element) { return address_add(begin, element * BYTES); }
float load(Address begin, Offset element) { return LOAD(MEMORY(at(begin, element)).at[0]); }
void store(Address begin, Offset element, float value) { MEMORY(at(begin, element)).at[0] = STORE(value); }
void store_shared(Address begin, Offset element, float value) { Shared(at(begin, element)).at[0] = STORE(value); }

uint step_of(uint n) { return reverse ? steps - 1 - n : n; }  // the n-th in the order of the forward pass
uint before(uint t) { return reverse ? t + 1 : t; }           // where the states around it are
uint after(uint t) { return reverse ? t : t + 1; }
Offset in_states(uint slot) { return Offset(slot) * batch * hidden; }

// ---- products ---------------------------------------------------------------------------------------------------------
struct Source {
  Address begin;
  bool in_fours;  // rows may be read four elements at a time
};
Source source_of(Address begin) { return Source(begin, depth % 4 == 0 && is_aligned(begin, 4 * BYTES)); }

vec4 state_four(Source source, uint row, uint k) {
  const Address place = at(source.begin, Offset(row) * depth + k);
  vec4 four = vec4(0);
  if (row >= batch || k >= depth) return four;
  if (source.in_fours) return LOAD4(Shared4(place).at[0]);
  for (int i = 0; i < 4; ++i)
    if (k + i < depth) four[i] = LOAD(Shared(place).at[i]);
  return four;
}

// Column i * LANE_COLS + lane is result i of that lane.
vec4 weight_four(Source source, uint first_unit, uint column, uint k) {
#ifdef UNIT_EACH
  const uint unit = first_unit + column % LANE_COLS * 4 + column / LANE_COLS, row = unit;
  const bool is_none = unit >= hidden;
#else
  const uint gate = column / LANE_COLS, unit = first_unit + column % LANE_COLS, row = gate * hidden + unit;
  const bool is_none = unit >= hidden || gate >= GATES;
#endif
  const Address place = at(source.begin, Offset(row) * depth + k);
  vec4 four = vec4(0);
  if (is_none || k >= depth) return four;
  if (source.in_fours) return LOAD4(MEMORY4(place).at[0]);
  for (int i = 0; i < 4; ++i)
    if (k + i < depth) four[i] = LOAD(MEMORY(place).at[i]);
  return four;
}

// Neighbouring rows are in other banks.
uint in_room(uint row, uint four) { return row * kFours + (four ^ (row & 7u)); }

void keep_weights(Source weight, uint first_unit) {
  for (uint i = thread; i < WEIGHT_FOURS * kCols; i += kThreads)
    weights[i % WEIGHT_FOURS * kCols + i / WEIGHT_FOURS] =
        weight_four(weight, first_unit, i / WEIGHT_FOURS, i % WEIGHT_FOURS * 4);
}

// Chunks on their way from memory.
struct Ahead {
  vec4 state[kSteps];
#ifndef RESIDENT
  vec4 weight[kWeightSteps];
#endif
};

void fetch(Source state, Source weight, uint first_row, uint first_unit, uint begin, out Ahead ahead) {
  [[unroll]] for (uint n = 0; n < kSteps; ++n) {
    const uint i = n * kThreads + thread;
    ahead.state[n] = i < kStateRoom ? state_four(state, first_row + i / kFours, begin + i % kFours * 4) : vec4(0);
  }
#ifndef RESIDENT
  [[unroll]] for (uint n = 0; n < kWeightSteps; ++n) {
    const uint i = n * kThreads + thread;
    ahead.weight[n] = i < kCols * kFours ? weight_four(weight, first_unit, i / kFours, begin + i % kFours * 4) : vec4(0);
  }
#endif
}

void put(Ahead ahead) {
  barrier();
  [[unroll]] for (uint n = 0; n < kSteps; ++n) {
    const uint i = n * kThreads + thread;
    if (i < kStateRoom) room[in_room(i / kFours, i % kFours)] = ahead.state[n];
  }
#ifndef RESIDENT
  [[unroll]] for (uint n = 0; n < kWeightSteps; ++n) {
    const uint i = n * kThreads + thread;
    if (i < kCols * kFours) weights[i % kFours * kCols + i / kFours] = ahead.weight[n];
  }
#endif
  barrier();
}

#ifdef SG_FUSED_FMA
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

// This thread's part of the products of the state with the weight.
void multiply(Source state, Source weight, uint first_row, uint first_unit, out vec4 sums[THREAD_ROWS]) {
  Ahead ahead[AHEAD];
  [[unroll]] for (int a = 0; a < AHEAD; ++a) fetch(state, weight, first_row, first_unit, a * CHUNK, ahead[a]);
  [[unroll]] for (int r = 0; r < THREAD_ROWS; ++r) sums[r] = vec4(0);
  for (uint begin = 0; begin < depth; begin += AHEAD * CHUNK) {
    [[unroll]] for (int a = 0; a < AHEAD; ++a) {
      put(ahead[a]);
      fetch(state, weight, first_row, first_unit, begin + (AHEAD + a) * CHUNK, ahead[a]);
#ifdef RESIDENT
      const uint kept = (begin + a * CHUNK) / 4;
#else
      const uint kept = 0;
#endif
      for (uint p = 0; p < kPart; ++p) {
        const uint four = slice * kPart + p;
        vec4 w[4];
        [[unroll]] for (int i = 0; i < 4; ++i) w[i] = weights[(kept + four) * kCols + i * LANE_COLS + lane_col];
        [[unroll]] for (int r = 0; r < THREAD_ROWS; ++r) {
          const vec4 x = room[in_room(r * LANE_ROWS + lane_row, four)];
          sums[r] = MULTIPLY_ADD(vec4(x.x), vec4(w[0].x, w[1].x, w[2].x, w[3].x), sums[r]);
          sums[r] = MULTIPLY_ADD(vec4(x.y), vec4(w[0].y, w[1].y, w[2].y, w[3].y), sums[r]);
          sums[r] = MULTIPLY_ADD(vec4(x.z), vec4(w[0].z, w[1].z, w[2].z, w[3].z), sums[r]);
          sums[r] = MULTIPLY_ADD(vec4(x.w), vec4(w[0].w, w[1].w, w[2].w, w[3].w), sums[r]);
        }
      }
    }
  }
}

// The parts of all threads, in `room`.
void put_parts(vec4 sums[THREAD_ROWS]) {
  barrier();
  [[unroll]] for (int r = 0; r < THREAD_ROWS; ++r)
    room[(slice * kRows + r * LANE_ROWS + lane_row) * LANE_COLS + lane_col] = sums[r];
  barrier();
}

// What a thread computes in a step: the n-th, at place t, of one row and unit, whose place in a state is also given.
struct Item {
  uint n, t, row, unit;
  Offset place;
};
Offset in_input(Item it) { return it.t * x_step + it.row * x_row + it.unit; }
// Of the first of `count` values that are kept for each unit; the others lie `hidden` apart.
Offset in_gates(Item it, uint count) { return (in_states(it.t) + Offset(it.row) * hidden) * count + it.unit; }
bool is_last(Item it) { return it.n == steps - 1; }
#ifndef BACKWARD
// The element of the state before a step: the first one is tensor 2. Those around all steps are in tensor `states`.
float state_before(Item it, int states) {
  return it.n == 0 ? load(tensor(2), it.place)
                   : LOAD(Shared(at(tensor(states), in_states(before(it.t)) + it.place)).at[0]);
}
void store_state(Item it, int states, float h) {
  if (it.n == 0) store_shared(tensor(states), in_states(before(it.t)) + it.place, load(tensor(2), it.place));
  store_shared(tensor(states), in_states(after(it.t)) + it.place, h);
}
#endif
