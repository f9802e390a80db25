// The cell of an LSTM: c = f * c + i * u, h = o * tanh(c). Gates are i, f, u, o. See recurrent.glsl.
#ifndef BACKWARD
const int kWeight = 1, kState = 4, kMeeting = 7;

struct Inputs {
  vec4 x;
  float c;
};

Inputs read(Item it) {
  Inputs of;
  [[unroll]] for (int i = 0; i < 4; ++i) of.x[i] = load(tensor(0), in_input(it) + i * hidden);
  const Offset before_c = (keep ? in_states(before(it.t)) : Offset(0)) + it.place;
  of.c = it.n == 0 ? load(tensor(3), it.place) : load(tensor(5), before_c);
  return of;
}

void finish(Item it, Inputs of, vec4 p) {
  const vec4 y = of.x + p;
  const float i = alu_sigmoid(y.x), f = alu_sigmoid(y.y), u = alu_tanh(y.z), o = alu_sigmoid(y.w);
  precise const float c = f * of.c + i * u;
  if (it.n == 0 && keep) store(tensor(5), in_states(before(it.t)) + it.place, of.c);
  store(tensor(5), (keep ? in_states(after(it.t)) : Offset(0)) + it.place, c);
  store_state(it, kState, o * alu_tanh(c));
  if (!keep) return;
  const Offset gates = in_gates(it, 4);
  store(tensor(6), gates, i);
  store(tensor(6), gates + hidden, f);
  store(tensor(6), gates + 2 * hidden, u);
  store(tensor(6), gates + 3 * hidden, o);
}

#else
const int kWeight = 2, kState = 6, kMeeting = 8;

struct Inputs {
  float dh, dc, c_before, c, i, f, u, o;
};

Inputs read(Item it) {
  const Offset here = in_states(it.t) + it.place, gates = in_gates(it, 4);
  Inputs of;
  of.dh = load(tensor(0), in_input(it));
  of.dc = is_last(it) ? load(tensor(1), it.place) : load(tensor(7), it.place);
  of.c_before = load(tensor(3), here);
  of.c = load(tensor(4), here);
  of.i = load(tensor(5), gates);
  of.f = load(tensor(5), gates + hidden);
  of.u = load(tensor(5), gates + 2 * hidden);
  of.o = load(tensor(5), gates + 3 * hidden);
  return of;
}

void finish(Item it, Inputs of, vec4 p) {
  const float dh = of.dh + p.x, y = alu_tanh(of.c);
  precise const float dc = of.dc + dh * of.o * (1 - y * y);
  const Offset sums = in_gates(it, 4);
  store(tensor(7), it.place, dc * of.f);
  store_shared(tensor(kState), sums, dc * of.u * of.i * (1 - of.i));
  store_shared(tensor(kState), sums + hidden, dc * of.c_before * of.f * (1 - of.f));
  store_shared(tensor(kState), sums + 2 * hidden, dc * of.i * (1 - of.u * of.u));
  store_shared(tensor(kState), sums + 3 * hidden, dh * y * of.o * (1 - of.o));
}
#endif
