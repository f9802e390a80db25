// The cell of a GRU: h = n + z * (h - n), n = tanh(x + r * p) with the product p of h. Gates are r, z, n; kept are r, z, n, p.
// With BIAS, the products have one. See recurrent.glsl.
#ifndef BACKWARD
const int kWeight = 1, kState = 4, kMeeting = 6;

struct Inputs {
  vec3 x, bias;
  float h;
};

Inputs read(Item it) {
  Inputs of;
  of.bias = vec3(0);
  [[unroll]] for (int i = 0; i < 3; ++i) {
    of.x[i] = load(tensor(0), in_input(it) + i * hidden);
#ifdef BIAS
    of.bias[i] = load(tensor(3), i * hidden + it.unit);
#endif
  }
  of.h = state_before(it, kState);
  return of;
}

void finish(Item it, Inputs of, vec4 p) {
  const vec3 product = p.xyz + of.bias;
  const float r = alu_sigmoid(of.x.x + product.x), z = alu_sigmoid(of.x.y + product.y);
  precise const float of_n = of.x.z + r * product.z;
  const float n = alu_tanh(of_n);
  precise const float h = n + z * (of.h - n);
  store_state(it, kState, h);
  if (!keep) return;
  const Offset gates = in_gates(it, 4);
  store(tensor(5), gates, r);
  store(tensor(5), gates + hidden, z);
  store(tensor(5), gates + 2 * hidden, n);
  store(tensor(5), gates + 3 * hidden, product.z);
}

#else
const int kWeight = 1, kState = 4, kMeeting = 7;

struct Inputs {
  float dh, h, r, z, n, p;
};

Inputs read(Item it) {
  const Offset gates = in_gates(it, 4);
  Inputs of;
  of.dh = load(tensor(0), in_input(it));
  if (!is_last(it)) of.dh += load(tensor(6), it.place);
  of.h = load(tensor(2), in_states(it.t) + it.place);
  of.r = load(tensor(3), gates);
  of.z = load(tensor(3), gates + hidden);
  of.n = load(tensor(3), gates + 2 * hidden);
  of.p = load(tensor(3), gates + 3 * hidden);
  return of;
}

void finish(Item it, Inputs of, vec4 p) {
  const float dh = of.dh + p.x, dn = dh * (1 - of.z) * (1 - of.n * of.n);
  const float dr = dn * of.p * of.r * (1 - of.r), dz = dh * (of.h - of.n) * of.z * (1 - of.z);
  const Offset sums = in_gates(it, 3);
  store(tensor(6), it.place, dh * of.z);
  store_shared(tensor(kState), sums, dr);
  store_shared(tensor(kState), sums + hidden, dz);
  store_shared(tensor(kState), sums + 2 * hidden, dn * of.r);
  store(tensor(5), sums, dr);
  store(tensor(5), sums + hidden, dz);
  store(tensor(5), sums + 2 * hidden, dn);
}
#endif
