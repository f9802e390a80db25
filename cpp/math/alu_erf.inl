// Included by alu.hpp inside its namespace: the error function and its complement.

// erf(x) for |x| below 0.65: x times a polynomial in x^2.
template <class T>
SG_ALU_FN T erf_near(T x) {
  const T z = x * x;
  T p;
  if constexpr (sizeof(T) == 4) {
    p = polynomial<T>(z, -3.76126379e-1f, 1.12837583e-1f, -2.68598702e-2f, 5.18175075e-3f, -7.37568655e-4f);
  } else {
    p = polynomial<T>(z, -3.7612638903183754e-1, 1.1283791670955108e-1, -2.686617064511776e-2, 5.2239776250332338e-3,
                      -8.5483269604413924e-4, 1.2055327398796763e-4, -1.4925348634134552e-5, 1.6451989515654098e-6,
                      -1.6159212274216114e-7, 1.2435407948358947e-8);
  }
  // 2 / sqrt(pi) = 1 + 0.128...: the larger product is exact.
  return x + (x * T(0.12837916709551257) + x * z * p);
}
// erfc(a) for a above 0.65: exp(-a^2) / (1 + 2a) times a polynomial in (a - k) / (a + k), which hardly changes. The
// square is kept whole as the sum of two numbers, and the exponential is not rounded before the product.
template <class T>
SG_ALU_FN T erfc_far(T a) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T k = single ? T(2) : T(3), last = single ? T(11) : T(28);  // 0 to the last place beyond
  const T c = a > last ? last : a;
  const T t = div(c - k, c + k);
  T p;
  if constexpr (single) {
    p = polynomial<T>(t, 1.27697837f, -9.2763789e-2f, -1.66029781e-1f, 1.6404891e-1f, -5.42303398e-2f, -7.99602643e-3f,
                      8.77099112e-3f, 1.05024979e-3f, -1.47161528e-3f);
  } else {
    p = polynomial<T>(t, 1.2530080582697296, -1.3562110612458159e-1, -4.7562294353444813e-2, 1.2964515870281973e-1,
                      -1.192736634157293e-1, 6.8308027341597077e-2, -2.3770514906761648e-2, 2.5293918590419263e-3,
                      1.888690183933862e-3, -7.7983268450682866e-4, -1.0515827889159817e-4, 1.2510160901321111e-4,
                      4.9412800881969845e-6, -2.0107601298986425e-5, -7.0355763857176332e-7, 3.4835163788899899e-6,
                      2.9779220795227894e-7, -6.2016573097583087e-7, -6.9150862575518069e-8, 8.8993535778477426e-8,
                      -2.1767952202163222e-9);
  }
  const T square = c * c, h = head(c), rest = c - h;
  const T lost = ((h * h - square) + (rest * h + rest * h)) + rest * rest;
  const T q = div(p, T(1) + (c + c));
  const auto [n, near] = exp_reduce(-square);
  const T r = near - lost;
  return scale(q + q * (r + r * r * exp_tail(r)), n);
}
template <class T>
SG_ALU_FN T erf(T x) {
  const T a = abs(x);
  const T far = T(1) - erfc_far(a);
  const T y = a < T(0.65) ? erf_near(x) : far;
  return is_nan(x) ? x : from_bits<T>(to_bits(y) | (to_bits(x) & Layout<T>::kSign));
}
template <class T>
SG_ALU_FN T erfc(T x) {
  const T a = abs(x);
  const T far = erfc_far(a);
  const T y = a < T(0.65) ? T(1) - erf_near(x) : (x < T(0) ? T(2) - far : far);
  return is_nan(x) ? x : y;
}
