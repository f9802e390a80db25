// The gates of an LSTM in both directions (kernel/lstm.hpp). Included by blocks_isa.cpp inside the namespace of an
// instruction set, after its loops.

// Asks for kLstmColumns elements of a row that comes later: rows lie so far apart that the processor does not foresee
// them.
constexpr int64_t kRowsAhead = 2;
template <class T>
void ask_for(const T* p) {
  for (int64_t i = 0; i < kLstmColumns; i += 64 / int64_t(sizeof(T))) __builtin_prefetch(p + i);
}

template <class T>
void lstm_forward(const LstmPart& p) {
  const int64_t n = p.hidden, w = kLstmColumns;
  for (int64_t r = 0; r < p.rows; ++r) {
    const T* x = static_cast<const T*>(p.x) + r * p.x_row;
    T* y = static_cast<T*>(p.products) + r * 4 * w;
    T* gates = p.gates ? static_cast<T*>(p.gates) + r * 4 * n : nullptr;
    const T* before = static_cast<const T*>(p.before) + r * n;
    T *c = static_cast<T*>(p.c) + r * n, *h = static_cast<T*>(p.h) + r * n;
    for (int64_t g = 0; g < 4 && r + kRowsAhead < p.rows; ++g) {
      ask_for(x + kRowsAhead * p.x_row + g * n);
      if (gates) ask_for(gates + (kRowsAhead * 4 + g) * n);
    }
    for (int64_t g = 0; g < 4; ++g) SG_LOOP for (int64_t j = 0; j < p.columns; ++j) y[g * w + j] += x[g * n + j];
    unary<F_sigmoid, T, T>(y, y, nullptr, nullptr, 2 * w);
    unary<F_tanh, T, T>(y + 2 * w, y + 2 * w, nullptr, nullptr, w);
    unary<F_sigmoid, T, T>(y + 3 * w, y + 3 * w, nullptr, nullptr, w);
    SG_LOOP for (int64_t j = 0; j < p.columns; ++j) {
      const T i = y[j], f = y[w + j], u = y[2 * w + j], o = y[3 * w + j];
      const T now = f * before[j] + i * u;
      c[j] = now;
      h[j] = o * formulas::tanh(now);
    }
    for (int64_t g = 0; gates && g < 4; ++g) copy<T>(gates + g * n, y + g * w, p.columns);
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
