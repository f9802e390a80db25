// The loops of one instruction set: compiled once for each of SG_ISA = baseline, avx2, avx512 with the flags of that
// set. Everything, the formulas of math/alu.hpp included, lives in one namespace for each set: if units shared an
// inline function, the linker might keep its AVX-512 copy for all machines.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "device/cpu/blocks.hpp"

#define SG_ALU_NAMESPACE sg::cpu::SG_ISA::formulas
#include "math/alu.hpp"

namespace sg::cpu::SG_ISA {

#include "device/cpu/gemm_isa.hpp"
#include "device/cpu/images_isa.hpp"
#undef SG_ALWAYS

#if defined(__clang__)
#define SG_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define SG_LOOP _Pragma("GCC ivdep")  // d may be an operand itself: no dependence between iterations
#endif

namespace {

using Bool = uint8_t;  // boolean tensors: bytes of 0 or 1

template <class F, class R, class A>
void unary(void* d, const void* a, const void*, const void*, int64_t n) {
  R* to = static_cast<R*>(d);
  const A* x = static_cast<const A*>(a);
  SG_LOOP for (int64_t i = 0; i < n; ++i) to[i] = F::template of<R>(x[i]);
}

template <class F, class R, class T, int Scalars>
void binary(void* d, const void* a, const void* b, const void*, int64_t n) {
  R* to = static_cast<R*>(d);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  if constexpr (Scalars == kScalarA) {
    const T s = *x;
    SG_LOOP for (int64_t i = 0; i < n; ++i) to[i] = F::of(s, y[i]);
  } else if constexpr (Scalars == kScalarB) {
    const T s = *y;
    SG_LOOP for (int64_t i = 0; i < n; ++i) to[i] = F::of(x[i], s);
  } else {
    SG_LOOP for (int64_t i = 0; i < n; ++i) to[i] = F::of(x[i], y[i]);
  }
}

template <class F, class R, class A, class B, class C, int Scalars>
void ternary(void* d, const void* a, const void* b, const void* c, int64_t n) {
  R* to = static_cast<R*>(d);
  const A* x = static_cast<const A*>(a);
  const B* y = static_cast<const B*>(b);
  const C* z = static_cast<const C*>(c);
  const A sx = n > 0 ? *x : A();
  const B sy = n > 0 ? *y : B();
  const C sz = n > 0 ? *z : C();
  SG_LOOP for (int64_t i = 0; i < n; ++i) to[i] =
      F::of((Scalars & kScalarA) ? sx : x[i], (Scalars & kScalarB) ? sy : y[i], (Scalars & kScalarC) ? sz : z[i]);
}

// Each machine function as a type, for the loops above.
#define ALU(NAME, ...)             \
  struct F_##NAME {                \
    template <class T>             \
    static auto of(T x) {          \
      return formulas::NAME(x);    \
    }                              \
    template <class T>             \
    static auto of(T x, T y) {     \
      return formulas::NAME(x, y); \
    }                              \
  };
#define ALU_OWN(...)
#include "math/alu.def"

struct F_or {
  static Bool of(Bool x, Bool y) { return x | y; }
};
struct F_and {
  static Bool of(Bool x, Bool y) { return x & y; }
};
struct F_select {
  template <class T>
  static T of(Bool c, T x, T y) {
    return c ? x : y;
  }
};
struct F_cast {
  template <class R, class A>
  static R of(A x) {
    return formulas::cast<R>(x);
  }
};
// Between memory's narrow types and the type they are computed in.
struct F_wrap {
  template <class R>
  static R of(int32_t x) {
    return static_cast<R>(x);
  }
};
struct F_half {
  template <class R>
  static R of(float x) {
    return formulas::to_float16(x);
  }
};
struct F_from_half {
  template <class R>
  static R of(uint16_t x) {
    return formulas::from_float16(x);
  }
};
struct F_brain {
  template <class R>
  static R of(float x) {
    return formulas::to_bfloat16(x);
  }
};
struct F_from_brain {
  template <class R>
  static R of(uint16_t x) {
    return formulas::from_bfloat16(x);
  }
};
struct F_truth {  // to boolean
  template <class R, class A>
  static R of(A x) {
    return x != A(0);
  }
};
struct F_unit_float {
  template <class R>
  static R of(int32_t x) {
    return formulas::unit_float(x);
  }
};

#include "device/cpu/exponential_isa.hpp"
#include "device/cpu/random_isa.hpp"

template <class T>
void check_index(void* d, const void* a, const void* b, const void* c, int64_t n) {
  T* to = static_cast<T*>(d);
  const T* x = static_cast<const T*>(a);
  const int64_t bound = *static_cast<const int64_t*>(b);
  uint64_t signs = 0;  // of the indices, and of the distances to the last one
  for (int64_t i = 0; i < n; ++i) {
    const auto index = static_cast<uint64_t>(int64_t{x[i]});
    signs |= index | (static_cast<uint64_t>(bound - 1) - index);
  }
  if (static_cast<int64_t>(signs) >= 0) {
    std::memmove(to, x, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = x[i];
    const bool good = index >= 0 && index < bound;
    if (!good) report_index(index, bound, *static_cast<const uint64_t*>(c));
    to[i] = good ? x[i] : T(0);
  }
}

template <class T>
void fill(void* d, const void* a, const void*, const void*, int64_t n) {
  const T s = *static_cast<const T*>(a);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(d)[i] = s;
}

// Whole cache lines are written without being read first; the rest at both ends is copied as usual.
template <class T>
void stream(void* d, const void* a, const void*, const void*, int64_t n) {
  char* to = static_cast<char*>(d);
  const char* from = static_cast<const char*>(a);
  int64_t bytes = n * int64_t(sizeof(T));
#if defined(__x86_64__)
  const int64_t first = std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(to) & 63);
  std::memcpy(to, from, static_cast<size_t>(first));
  to += first, from += first, bytes -= first;
  for (; bytes >= 64; to += 64, from += 64, bytes -= 64) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
#else
    for (int i = 0; i < 64; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
#endif
  }
#endif
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

// For the short runs of a walk, which are not worth a call of memcpy.
template <class T>
void copy(void* d, const void* a, int64_t n) {
  SG_LOOP for (int64_t i = 0; i < n; ++i) static_cast<T*>(d)[i] = static_cast<const T*>(a)[i];
}

template <class T>
void gather(void* d, const void* a, const void* stride, const void*, int64_t n) {
  const char* from = static_cast<const char*>(a);
  const int64_t step = reinterpret_cast<intptr_t>(stride);
  if (step == sizeof(T)) return copy<T>(d, a, n);
#pragma GCC unroll 8
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(d)[i] = *reinterpret_cast<const T*>(from + i * step);
}

template <class T>
void scatter(void* d, const void* a, const void* stride, const void*, int64_t n) {
  char* to = static_cast<char*>(d);
  const int64_t step = reinterpret_cast<intptr_t>(stride);
  if (step == sizeof(T)) return copy<T>(d, a, n);
#pragma GCC unroll 8
  for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * step) = static_cast<const T*>(a)[i];
}

// Transposes tiles of rows x elements that fit in the first cache, so each line of the source is fetched once.
template <class T>
void transpose(void* d, const void* a, const void* b, const void*, int64_t n) {
  constexpr int kRows = 16, kElements = 8, kAhead = 32;
  const Transposed& t = *static_cast<const Transposed*>(b);
  const char* const from = static_cast<const char*>(a);
  char* const to = static_cast<char*>(d);
  for (int64_t u = 0; u < t.rows; u += kRows) {
    for (int64_t i = 0; i < n; i += kElements) {
      const char* const corner = from + i * t.stride + u * int64_t(sizeof(T));
      for (int e = 0; e < kElements; ++e)
        __builtin_prefetch(corner + (i + kAhead + e < n ? kAhead + e : e) * t.stride, 0, 2);
      const int64_t rows = std::min<int64_t>(kRows, t.rows - u), elements = std::min<int64_t>(kElements, n - i);
      for (int64_t r = 0; r < rows; ++r) {
        T* const row = reinterpret_cast<T*>(to + (u + r) * t.row) + i;
        for (int64_t e = 0; e < elements; ++e) row[e] = reinterpret_cast<const T*>(corner + e * t.stride)[r];
      }
    }
  }
}

template <class T>
void gather_at(void* d, const void* a, const void* b, const void*, int64_t n) {
  const auto* offset = static_cast<const int64_t*>(b);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(d)[i] = static_cast<const T*>(a)[offset[i]];
}

template <class T>
void scatter_at(void* d, const void* a, const void* b, const void*, int64_t n) {
  const auto* offset = static_cast<const int64_t*>(b);
  for (int64_t i = 0; i < n; ++i)
    if (offset[i] >= 0) static_cast<T*>(d)[offset[i]] = static_cast<const T*>(a)[i];
}

void iota(void* d, const void* a, const void* b, const void*, int64_t n) {
  const int64_t start = reinterpret_cast<intptr_t>(a), step = reinterpret_cast<intptr_t>(b);
  for (int64_t i = 0; i < n; ++i) static_cast<int64_t*>(d)[i] = start + i * step;
}

template <class F, class R, class T>
Fn pick2(int scalars) {
  switch (scalars) {
    case 0:
      return binary<F, R, T, 0>;
    case kScalarA:
      return binary<F, R, T, kScalarA>;
    case kScalarB:
      return binary<F, R, T, kScalarB>;
  }
  return nullptr;
}

template <class F, class R, class A, class B, class C>
Fn pick3(int scalars) {
  switch (scalars) {
    case 0:
      return ternary<F, R, A, B, C, 0>;
    case 1:
      return ternary<F, R, A, B, C, 1>;
    case 2:
      return ternary<F, R, A, B, C, 2>;
    case 3:
      return ternary<F, R, A, B, C, 3>;
    case 4:
      return ternary<F, R, A, B, C, 4>;
    case 5:
      return ternary<F, R, A, B, C, 5>;
    case 6:
      return ternary<F, R, A, B, C, 6>;
  }
  return nullptr;
}

template <class T>
constexpr bool has_loop(AluKind kind) {
  if (kind == AluKind::comparison) return true;
  if (std::is_same_v<T, Bool>) return false;
  return kind == AluKind::number || std::is_floating_point_v<T> == (kind != AluKind::integer);
}

// The loop of a machine function that is one formula for every type; nullptr where it has none for T.
template <class F, class T, int arity, AluKind kind>
Fn formula(int scalars) {
  if constexpr (!has_loop<T>(kind))
    return nullptr;
  else if constexpr (arity == 1)
    return unary<F, T, T>;
  else
    return pick2<F, std::conditional_t<kind == AluKind::comparison, Bool, T>, T>(scalars);
}

template <class T>
Fn loop_of(Code code, int scalars) {
  switch (code) {
#define ALU(name, arity, infix, kind, cost) \
  case Code::name:                          \
    return formula<F_##name, T, arity, AluKind::kind>(scalars);
#define ALU_OWN(...)
#include "math/alu.def"
    case Code::select:
      return pick3<F_select, T, Bool, T, T>(scalars);
    default:
      return nullptr;
  }
}

Fn logical(Code code, int scalars) {
  switch (code) {
    case Code::bit_or:
    case Code::add:
    case Code::maximum:
      return pick2<F_or, Bool, Bool>(scalars);
    case Code::mul:
    case Code::minimum:
    case Code::bit_and:
      return pick2<F_and, Bool, Bool>(scalars);
    case Code::bit_xor:
      return loop_of<Bool>(Code::ne, scalars);
    default:
      return loop_of<Bool>(code, scalars);
  }
}

template <class A>
Fn cast_from(DType to) {
  switch (to) {
    case DType::boolean:
      return unary<F_truth, Bool, A>;
    case DType::int32:
      return unary<F_cast, int32_t, A>;
    case DType::int64:
      return unary<F_cast, int64_t, A>;
    case DType::float32:
      return unary<F_cast, float, A>;
    case DType::float64:
      return unary<F_cast, double, A>;
    default:
      return nullptr;
  }
}

Fn narrow(DType to) {
  switch (to) {
    case DType::uint8:
      return unary<F_wrap, uint8_t, int32_t>;
    case DType::int8:
      return unary<F_wrap, int8_t, int32_t>;
    case DType::int16:
      return unary<F_wrap, int16_t, int32_t>;
    case DType::float16:
      return unary<F_half, uint16_t, float>;
    case DType::bfloat16:
      return unary<F_brain, uint16_t, float>;
    default:
      return nullptr;
  }
}

Fn cast(DType from, DType to) {
  if (is_narrow(to)) return narrow(to);
  switch (from) {
    case DType::uint8:
      return unary<F_cast, int32_t, uint8_t>;
    case DType::int8:
      return unary<F_cast, int32_t, int8_t>;
    case DType::int16:
      return unary<F_cast, int32_t, int16_t>;
    case DType::float16:
      return unary<F_from_half, float, uint16_t>;
    case DType::bfloat16:
      return unary<F_from_brain, float, uint16_t>;
    case DType::boolean:
      return cast_from<Bool>(to);
    case DType::int32:
      return cast_from<int32_t>(to);
    case DType::int64:
      return cast_from<int64_t>(to);
    case DType::float32:
      return cast_from<float>(to);
    case DType::float64:
      return cast_from<double>(to);
  }
  return nullptr;
}

template <class F, class R>
Fn random_loop(int scalars) {
  if (scalars == (kScalarB | kScalarC)) return random<F, R>;
  return scalars ? nullptr : ternary<F, R, int64_t, int64_t, int64_t, 0>;
}

Fn alu_loop(Code code, DType type, DType to, int scalars) {
  if (code == Code::cast) return cast(type, to);
  if (code == Code::unit_float) return unary<F_unit_float, float, int32_t>;
  if (code == Code::random_bits) return random_loop<F_random_bits, int32_t>(scalars);
  if (code == Code::random_wide) return random_loop<F_random_wide, int64_t>(scalars);
  if (code == Code::random_normal) return random_loop<F_random_normal, float>(scalars);
  if (code == Code::check_index) return type == DType::int32 ? check_index<int32_t> : check_index<int64_t>;
  switch (type) {
    case DType::boolean:
      return logical(code, scalars);
    case DType::int32:
      return loop_of<int32_t>(code, scalars);
    case DType::int64:
      return loop_of<int64_t>(code, scalars);
    case DType::float32:
      return loop_of<float>(code, scalars);
    case DType::float64:
      return loop_of<double>(code, scalars);
    default:
      return nullptr;
  }
}

// (x inner y) outer z with two roundings; Flipped: z outer (x inner y).
template <class Inner, class Outer, bool Flipped>
struct F_chain {
  template <class T>
  static T of(T x, T y, T z) {
    const T t = Inner::of(x, y);
    return Flipped ? Outer::of(z, t) : Outer::of(t, z);
  }
};

template <class T, class Inner>
Fn fused_after(Code outer, bool flipped, int scalars) {
  switch (outer) {
    case Code::add:
      return pick3<F_chain<Inner, F_add, false>, T, T, T, T>(scalars);
    case Code::mul:
      return pick3<F_chain<Inner, F_mul, false>, T, T, T, T>(scalars);
    case Code::sub:
      return flipped ? pick3<F_chain<Inner, F_sub, true>, T, T, T, T>(scalars)
                     : pick3<F_chain<Inner, F_sub, false>, T, T, T, T>(scalars);
    default:
      return nullptr;
  }
}

template <class T>
Fn fused_of(Code inner, Code outer, bool flipped, int scalars) {
  switch (inner) {
    case Code::add:
      return fused_after<T, F_add>(outer, flipped, scalars);
    case Code::sub:
      return fused_after<T, F_sub>(outer, flipped, scalars);
    case Code::mul:
      return fused_after<T, F_mul>(outer, flipped, scalars);
    default:
      return nullptr;
  }
}

Fn fused_loop(Code inner, Code outer, bool flipped, DType type, int scalars) {
  if (type == DType::float32) return fused_of<float>(inner, outer, flipped, scalars);
  if (type == DType::float64) return fused_of<double>(inner, outer, flipped, scalars);
  return nullptr;
}

// The loop for elements of 1, 2, 4 or 8 bytes.
#define SG_BY_SIZE(loop)                                                                                         \
  Fn loop##_loop(int size) {                                                                                     \
    return size == 1 ? loop<uint8_t> : size == 2 ? loop<uint16_t> : size == 4 ? loop<uint32_t> : loop<uint64_t>; \
  }
SG_BY_SIZE(fill)
SG_BY_SIZE(stream)
SG_BY_SIZE(gather)
SG_BY_SIZE(transpose)
SG_BY_SIZE(scatter)
SG_BY_SIZE(gather_at)
SG_BY_SIZE(scatter_at)
#undef SG_BY_SIZE

#include "device/cpu/folds_isa.hpp"
#include "device/cpu/lstm_isa.hpp"

}  // namespace
}  // namespace sg::cpu::SG_ISA

#define SG_TEXT2(x) #x
#define SG_TEXT(x) SG_TEXT2(x)
#if SG_ISA_avx512
#define SG_TABLE kBlocksAvx512
#elif SG_ISA_avx2
#define SG_TABLE kBlocksAvx2
#else
#define SG_TABLE kBlocksBaseline
#endif

namespace sg::cpu {
extern const BlockTable SG_TABLE;
const BlockTable SG_TABLE = {
    SG_TEXT(SG_ISA),
    SG_ISA::alu_loop,
    SG_ISA::fused_loop,
    SG_ISA::fill_loop,
    SG_ISA::stream_loop,
    SG_ISA::gather_loop,
    SG_ISA::scatter_loop,
    SG_ISA::transpose_loop,
    SG_ISA::gather_at_loop,
    SG_ISA::scatter_at_loop,
    SG_ISA::iota,
    SG_ISA::fold_loop,
    SG_ISA::fold_products_loop,
    SG_ISA::fold_rows_loop,
    SG_ISA::fence,
    SG_ISA::lstm_forward_of,
    SG_ISA::lstm_backward_of,
    SG_ISA::multiply_tile<float>,
    SG_ISA::multiply_tile<double>,
    SG_ISA::dots<float>,
    SG_ISA::dots<double>,
    SG_ISA::kRows,
    2 * SG_ISA::Vector<float>::kLanes,
    SG_ISA::kGemmScratch,
};
}  // namespace sg::cpu
