// Steps `first` to `last` of a layer of LSTM, forward or BACKWARD. A workgroup owns some units of the state for some rows of
// the batch: their products with the state before, then their gates. Where workgroups MEET, they run all steps, and wait
// for each other after each; a weight that is RESIDENT then stays in shared memory. Elsewhere a launch does one step.
//
// Included behind what ops/lstm_gpu.cpp defines: how elements are read and written (MEMORY, MEMORY4, STORED, STORED4, BYTES,
// LOAD, LOAD4, STORE), and the tile. A thread adds up THREAD_ROWS x 4 results, forward the gates of a unit, for its part of
// each chunk of CHUNK elements; LANE_ROWS x LANE_COLS threads cover the tile, SLICES of them share each sum. Those parts
// meet in shared memory in a fixed order. While a chunk is multiplied, the next AHEAD travel from memory to registers; the
// number of chunks is a multiple of that.
layout(local_size_x = SG_THREADS) in;

#include "alu.glsl"

const uint kRows = THREAD_ROWS * LANE_ROWS, kCols = 4 * LANE_COLS, kThreads = SG_THREADS;
#ifdef BACKWARD
const uint kUnits = kCols;
const int kSums = 6, kOfC = 7, kMeeting = 8;
#else
const uint kUnits = LANE_COLS;
const int kH = 4, kC = 5, kGates = 6, kMeeting = 7;
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
uint depth = 4 * hidden;
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

// Column i * LANE_COLS + lane: forward of gate i of a unit, else of unit 4 * lane + i.
vec4 weight_four(Source source, uint first_unit, uint column, uint k) {
#ifdef BACKWARD
  const uint unit = first_unit + column % LANE_COLS * 4 + column / LANE_COLS, row = unit;
#else
  const uint unit = first_unit + column % LANE_COLS, row = column / LANE_COLS * hidden + unit;
#endif
  const Address place = at(source.begin, Offset(row) * depth + k);
  vec4 four = vec4(0);
  if (unit >= hidden || k >= depth) return four;
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
          sums[r] += x.x * vec4(w[0].x, w[1].x, w[2].x, w[3].x);
          sums[r] += x.y * vec4(w[0].y, w[1].y, w[2].y, w[3].y);
          sums[r] += x.z * vec4(w[0].z, w[1].z, w[2].z, w[3].z);
          sums[r] += x.w * vec4(w[0].w, w[1].w, w[2].w, w[3].w);
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

// ---- gates ------------------------------------------------------------------------------------------------------------
// The n-th step for a tile. Then each thread has one row and unit of it.
#ifdef BACKWARD
void do_step(uint n, uint tile, Source weight) {
  const uint across = (hidden + kUnits - 1) / kUnits, first_row = tile / across * kRows, first_unit = tile % across * kUnits;
  const uint t = step_of(n), in_tile = thread / kUnits, row = first_row + in_tile, unit = first_unit + thread % kUnits;
  const bool mine = in_tile < kRows && row < batch && unit < hidden, is_last = n == steps - 1;
  const Offset place = Offset(row) * hidden + unit, here = in_states(t) + place;
  const Offset gates = 4 * (in_states(t) + Offset(row) * hidden) + unit;
  float i = 0, f = 0, u = 0, o = 0, c = 0, c_before = 0, dh = 0, dc = 0;
  if (mine) {
    dh = load(tensor(0), t * x_step + row * x_row + unit);
    dc = is_last ? load(tensor(1), place) : load(tensor(kOfC), place);
    c_before = load(tensor(3), here);
    c = load(tensor(4), here);
    i = load(tensor(5), gates);
    f = load(tensor(5), gates + hidden);
    u = load(tensor(5), gates + 2 * hidden);
    o = load(tensor(5), gates + 3 * hidden);
  }
  if (!is_last) {
    vec4 sums[THREAD_ROWS];
    multiply(source_of(at(tensor(kSums), 4 * in_states(step_of(n + 1)))), weight, first_row, first_unit, sums);
    put_parts(sums);
    if (mine) {
      const uint column = thread % kUnits;
      float total = 0;
      for (uint s = 0; s < SLICES; ++s)
        total += room[(s * kRows + in_tile) * LANE_COLS + column / 4][column % 4];
      dh += total;
    }
  }
  if (!mine) return;
  const float y = alu_tanh(c);
  dc += dh * o * (1 - y * y);
  store(tensor(kOfC), place, dc * f);
  store_shared(tensor(kSums), gates, dc * u * i * (1 - i));
  store_shared(tensor(kSums), gates + hidden, dc * c_before * f * (1 - f));
  store_shared(tensor(kSums), gates + 2 * hidden, dc * i * (1 - u * u));
  store_shared(tensor(kSums), gates + 3 * hidden, dh * y * o * (1 - o));
}
#else
void do_step(uint n, uint tile, Source weight) {
  const uint across = (hidden + kUnits - 1) / kUnits, first_row = tile / across * kRows, first_unit = tile % across * kUnits;
  const uint t = step_of(n), in_tile = thread / kUnits, row = first_row + in_tile, unit = first_unit + thread % kUnits;
  const bool mine = in_tile < kRows && row < batch && unit < hidden;
  const Offset place = Offset(row) * hidden + unit;
  vec4 x = vec4(0);
  float c = 0;
  if (mine) {
    [[unroll]] for (int i = 0; i < 4; ++i) x[i] = load(tensor(0), t * x_step + row * x_row + i * hidden + unit);
    c = n == 0 ? load(tensor(3), place) : load(tensor(kC), keep ? in_states(before(t)) + place : place);
  }
  const Address state = n == 0 ? tensor(2) : at(tensor(kH), in_states(before(t)));
  vec4 sums[THREAD_ROWS];
  multiply(source_of(state), weight, first_row, first_unit, sums);
  put_parts(sums);
  if (!mine) return;
  vec4 total = vec4(0);
  for (uint s = 0; s < SLICES; ++s) total += room[s * kRows * LANE_COLS + thread];
  x += total;
  const float i = alu_sigmoid(x.x), f = alu_sigmoid(x.y), u = alu_tanh(x.z), o = alu_sigmoid(x.w);
  if (n == 0) {
    store_shared(tensor(kH), in_states(before(t)) + place, load(tensor(2), place));
    if (keep) store(tensor(kC), in_states(before(t)) + place, c);
  }
  c = f * c + i * u;
  store(tensor(kC), keep ? in_states(after(t)) + place : place, c);
  store_shared(tensor(kH), in_states(after(t)) + place, o * alu_tanh(c));
  if (!keep) return;
  const Offset gates = 4 * (in_states(t) + Offset(row) * hidden) + unit;
  store(tensor(kGates), gates, i);
  store(tensor(kGates), gates + hidden, f);
  store(tensor(kGates), gates + 2 * hidden, u);
  store(tensor(kGates), gates + 3 * hidden, o);
}
#endif

// ---- workgroups that wait for each other ------------------------------------------------------------------------------
#ifdef MEET
const uint kPolls = 1u << 22;   // seconds
const uint kGivenUp = 1u << 31;  // in `arrived`: nobody waits any longer

// Returns when all have come here for the `times`-th time, and what they wrote before can be read. Workgroups of other rows
// of the batch have a meeting of their own, if each has one tile.
void meet(uint times) {
  memoryBarrierBuffer();
  barrier();
  if (thread == 0) {
    const uint across = (hidden + kUnits - 1) / kUnits, number = groups == tiles ? group / across : 0;
    const uint all = times * (groups == tiles ? across : groups);
    Meeting meeting = Meeting(address_add(tensor(kMeeting), Offset(number) * MEETING_BYTES));
    atomicAdd(meeting.arrived, 1u);
    uint polls = 0;
    while (meeting.arrived < all && polls < kPolls) ++polls;
    if (polls == kPolls) atomicOr(meeting.arrived, kGivenUp);
    check_index((meeting.arrived & kGivenUp) != 0 ? 1 : 0, 1, 1);
  }
  memoryBarrierBuffer();
  barrier();
}
#endif

void main() {
#ifdef BACKWARD
  const Source weight = source_of(tensor(2));
#else
  const Source weight = source_of(tensor(1));
#endif
#ifdef RESIDENT
  keep_weights(weight, group % ((hidden + kUnits - 1) / kUnits) * kUnits);
#endif
  for (uint m = first; m < last; ++m) {
#ifdef BACKWARD
    const uint n = steps - 1 - m;
#else
    const uint n = m;
#endif
    for (uint tile = group; tile < tiles; tile += groups) do_step(n, tile, weight);
#ifdef MEET
    if (m + 1 < last) meet(m + 1 - first);
#endif
  }
#ifdef MEET
  report_index(tensor(kMeeting + 12), 1, tensor(kMeeting + 11));
#endif
}
