// The cell of a plain recurrent layer: h = tanh(x + p), or relu with RELU. See recurrent.glsl.
#ifndef BACKWARD
const int kWeight = 1, kState = 3, kMeeting = 4;

struct Inputs {
  float x;
};

Inputs read(Item it) { return Inputs(load(tensor(0), in_input(it))); }

void finish(Item it, Inputs of, vec4 p) {
  const float y = of.x + p.x;
#ifdef RELU
  store_state(it, kState, alu_nan(y) || y > 0 ? y : 0.0);
#else
  store_state(it, kState, alu_tanh(y));
#endif
}

#else
const int kWeight = 1, kState = 3, kMeeting = 4;

struct Inputs {
  float dh, h;
};

Inputs read(Item it) { return Inputs(load(tensor(0), in_input(it)), load(tensor(2), in_states(it.t) + it.place)); }

void finish(Item it, Inputs of, vec4 p) {
  const float dh = of.dh + p.x;
#ifdef RELU
  store_shared(tensor(kState), in_gates(it, 1), of.h > 0 ? dh : 0.0);
#else
  store_shared(tensor(kState), in_gates(it, 1), dh * (1 - of.h * of.h));
#endif
}
#endif
