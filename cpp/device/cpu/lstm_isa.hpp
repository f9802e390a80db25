// The gates of an LSTM in both directions (kernel/lstm.hpp): all that a step does to an element, while it is in
// registers. Included by blocks_isa.cpp inside the namespace of an instruction set, after the formulas.

// Asks for kLstmColumns elements of a row that comes later: rows lie so far apart that the processor does not foresee
// them.
constexpr int64_t kRowsAhead = 2;
template <class T>
void ask_for(const T* p) {
  for (int64_t i = 0; i < kLstmColumns; i += 64 / int64_t(sizeof(T))) __builtin_prefetch(p + i);
}

template <class T>
void lstm_forward(const LstmPart& p) {
  const int64_t n = p.hidden, step = p.gates ? n : kLstmColumns;  // from gate to gate
  for (int64_t r = 0; r < p.rows; ++r) {
    const T* x = static_cast<const T*>(p.x) + r * p.x_row;
    T* y = static_cast<T*>(p.products) + r * 4 * kLstmColumns;
    T* gates = p.gates ? static_cast<T*>(p.gates) + r * 4 * n : y;
    const T* before = static_cast<const T*>(p.before) + r * n;
    T *c = static_cast<T*>(p.c) + r * n, *h = static_cast<T*>(p.h) + r * n;
    for (int64_t g = 0; g < 4 && r + kRowsAhead < p.rows; ++g) {
      ask_for(x + kRowsAhead * p.x_row + g * n);
      if (p.gates) ask_for(gates + (kRowsAhead * 4 + g) * n);
    }
    SG_LOOP for (int64_t j = 0; j < p.columns; ++j) {
      const T i = formulas::sigmoid(x[j] + y[j]), f = formulas::sigmoid(x[n + j] + y[kLstmColumns + j]);
      const T u = formulas::tanh(x[2 * n + j] + y[2 * kLstmColumns + j]);
      const T o = formulas::sigmoid(x[3 * n + j] + y[3 * kLstmColumns + j]);
      gates[j] = i;
      gates[step + j] = f;
      gates[2 * step + j] = u;
      gates[3 * step + j] = o;
      const T now = f * before[j] + i * u;
      c[j] = now;
      h[j] = o * formulas::tanh(now);
    }
  }
}

template <class T>
void lstm_backward(const LstmPart& p) {
  constexpr T kNothing[kLstmColumns] = {};
  const int64_t n = p.hidden;
  for (int64_t r = 0; r < p.rows; ++r) {
    const T* x = static_cast<const T*>(p.x) + r * p.x_row;
    const T* y = p.products ? static_cast<const T*>(p.products) + r * kLstmColumns : kNothing;
    const T* gates = static_cast<const T*>(p.gates) + r * 4 * n;
    const T *before = static_cast<const T*>(p.before) + r * n, *c = static_cast<const T*>(p.c) + r * n;
    T *dc = static_cast<T*>(p.dc) + r * n, *sums = static_cast<T*>(p.sums) + r * 4 * n;
    for (int64_t g = 0; g < 4 && r + kRowsAhead < p.rows; ++g) {
      ask_for(gates + (kRowsAhead * 4 + g) * n);
      ask_for(sums + (kRowsAhead * 4 + g) * n);
    }
    SG_LOOP for (int64_t j = 0; j < p.columns; ++j) {
      const T i = gates[j], f = gates[n + j], u = gates[2 * n + j], o = gates[3 * n + j];
      const T dh = x[j] + y[j], t = formulas::tanh(c[j]);
      const T d = dh * (o * (1 - t * t)) + dc[j];
      sums[j] = d * (u * i * (1 - i));
      sums[n + j] = d * (before[j] * f * (1 - f));
      sums[2 * n + j] = d * (i * (1 - u * u));
      sums[3 * n + j] = dh * (t * o * (1 - o));
      dc[j] = d * f;
    }
  }
}

void lstm_forward_of(DType type, const LstmPart& p) {
  type == DType::float32 ? lstm_forward<float>(p) : lstm_forward<double>(p);
}
void lstm_backward_of(DType type, const LstmPart& p) {
  type == DType::float32 ? lstm_backward<float>(p) : lstm_backward<double>(p);
}
