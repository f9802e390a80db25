// The steps of recurrent.glsl for the cell that was included before.

// Adds the parts of an item's sums, in the order of slices.
vec4 total(uint in_tile, uint column) {
  vec4 sum = vec4(0);
  for (uint s = 0; s < SLICES; ++s) {
#ifdef UNIT_EACH
    sum.x += room[(s * kRows + in_tile) * LANE_COLS + column / 4][column % 4];
#else
    sum += room[(s * kRows + in_tile) * LANE_COLS + column];
#endif
  }
  return sum;
}

// The state that the n-th step's products are of; backward: the gradients that the step after it gave.
Address state_of(uint n) {
#ifdef BACKWARD
  return at(tensor(kState), GATES * in_states(step_of(n + 1)));
#else
  return n == 0 ? tensor(2) : at(tensor(kState), in_states(before(step_of(n))));
#endif
}

void do_step(uint n, uint tile, Source weight) {
  const uint across = (hidden + kUnits - 1) / kUnits, first_row = tile / across * kRows, first_unit = tile % across * kUnits;
  const uint in_tile = thread / kUnits, column = thread % kUnits, row = first_row + in_tile, unit = first_unit + column;
  const bool mine = in_tile < kRows && row < batch && unit < hidden;
  const Item it = Item(n, step_of(n), row, unit, Offset(row) * hidden + unit);
  Inputs inputs;
  if (mine) inputs = read(it);
  vec4 products = vec4(0);
#ifdef BACKWARD
  if (n + 1 < steps)
#endif
  {
    vec4 sums[THREAD_ROWS];
    multiply(source_of(state_of(n)), weight, first_row, first_unit, sums);
    put_parts(sums);
    if (mine) products = total(in_tile, column);
  }
  if (mine) finish(it, inputs, products);
}

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
  const Source weight = source_of(tensor(kWeight));
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
