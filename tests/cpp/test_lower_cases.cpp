// The programs that the tests of the lowering run: every class of kernel, every element type, odd and even sizes.
// What a golden text shows is recorded in statements of its own: compilers evaluate arguments in different orders.
#include <random>

#include "kernel/fold_order.hpp"
#include "test_lower_reference.hpp"

namespace sg::lower_test {
namespace {

using B = ProgramBuilder;
constexpr DType kF = DType::float32;

Number random_number(DType t, std::mt19937& rng) {
  Number n{};
  if (is_float(t))
    n.f = static_cast<float>(std::uniform_real_distribution<double>(-2, 2)(rng));
  else if (t == DType::boolean)
    n.i = static_cast<int64_t>(rng() & 1);
  else
    n.i = static_cast<int64_t>(rng() % 201) - 100;
  return n;
}

struct Maker {
  Case c;
  std::mt19937 rng{17};
  explicit Maker(const std::string& name) {
    c.name = c.step.name = name;
    c.step.instances.emplace_back();
  }
  Instance& in() { return c.step.instances.back(); }
  int memory(DType t, int64_t elements) {
    Bytes b(static_cast<size_t>(elements) * size_of(t));
    for (int64_t i = 0; i < elements; ++i) write(b, t, i, random_number(t, rng));
    c.memories.push_back(b);
    c.dtypes.push_back(t);
    in().bindings.push_back({.memory = static_cast<int32_t>(c.memories.size()) - 1});
    return static_cast<int>(in().bindings.size()) - 1;
  }
  // A view on memory of its own that is just large enough.
  int view(B& b, DType t, const Dims& strides, int64_t offset = 0) {
    int64_t top = offset;
    for (int d = 0; d < strides.rank; ++d)
      top += std::max<int64_t>(0, strides[d]) * std::max<int64_t>(0, b.program.domain[d] - 1);
    return b.add_view({.binding = memory(t, top + 1), .dtype = t, .strides = strides, .offset = offset});
  }
  int dense(B& b, DType t) { return view(b, t, contiguous_strides(b.program.domain)); }
  Expr number(B& b, DType t, Number v) {
    in().numbers.push_back(static_cast<int32_t>(c.numbers.size()));
    c.numbers.push_back(v);
    return b.number(t);
  }
  Case done(B& b, double tolerance = 0) {
    annotate(b.program);
    in().kernel.program = b.program;
    in().guards = {0};
    in().checks = {1};
    c.tolerance = tolerance;
    return c;
  }
};

Number real(double v) {
  Number n;
  n.f = v;
  return n;
}

// A failure may keep all stores so far from being done.
void guard(B& b) {
  for (Instr& i : b.program.code)
    if (is_store(i.code)) i.imm.i = 1;
}

B over(const Dims& domain, int inner = 0) {
  B b;
  b.program.domain = domain;
  b.program.inner = inner;
  return b;
}

// (x * y + 0.5) with a number argument, then a comparison and a select.
Case arithmetic(DType t, const Dims& domain, const Dims& xs, const Dims& ys, const std::string& name,
                int64_t offset = 0) {
  Maker m(name);
  B b = over(domain);
  const Expr x = b.load(m.view(b, t, xs, offset)), y = b.load(m.view(b, t, ys));
  const Expr n = m.number(b, t, is_float(t) ? real(0.75) : put<int64_t>(3));
  const Expr s = b.alu(Code::add, t, b.alu(Code::mul, t, x, y), n);
  const Expr less = b.alu(Code::lt, DType::boolean, s, b.constant(t, -1));
  const Expr high = b.alu(Code::maximum, t, s, y), low = b.alu(Code::neg, t, s);
  b.store(m.dense(b, t), b.alu(Code::select, t, less, low, high));
  b.store(m.dense(b, DType::boolean), less);
  return m.done(b);
}

Case casts(DType from, DType to, int64_t n) {
  Maker m(std::string("cast_") + name_of(from) + "_" + name_of(to));
  B b = over({n});
  b.store(m.dense(b, to), b.cast(b.load(m.dense(b, from)), to));
  return m.done(b);
}

Case functions(DType t) {
  Maker m(std::string("functions_") + name_of(t));
  B b = over({1003});
  Expr x = b.load(m.dense(b, t));
  const Expr y = b.alu(Code::abs, t, x);
  for (Code c : {Code::exp, Code::tanh, Code::sigmoid, Code::sin, Code::cos}) b.store(m.dense(b, t), b.alu(c, t, x));
  for (Code c : {Code::log, Code::sqrt}) b.store(m.dense(b, t), b.alu(c, t, y));
  b.store(m.dense(b, t), b.alu(Code::pow, t, y, x));
  b.store(m.dense(b, t), b.alu(Code::div, t, x, b.alu(Code::minimum, t, y, b.constant(t, 0.7))));
  return m.done(b, t == kF ? 5e-7 : 1e-14);
}

Case random_uniform(int64_t n) {
  Maker m("random");
  B b = over({n, 6});
  const Expr i = b.index(b.add_view({.binding = -1, .dtype = DType::int64, .strides = {6, 1}, .offset = 5}));
  const Expr bits = b.alu(Code::random_bits, DType::int32, i, m.number(b, DType::int64, put<int64_t>(77)),
                          b.constant_int(DType::int64, 1234567890123));
  b.store(m.dense(b, kF), b.alu(Code::unit_float, kF, bits));
  return m.done(b);
}

Case check(int64_t n) {
  Maker m("check_index");
  B b = over({n});
  const Expr i = b.load(m.dense(b, DType::int64)), bound = b.constant_int(DType::int64, 60);
  const Expr ok = b.alu(Code::check_index, DType::int64, i, bound);
  b.program.code[ok.id].imm.i = 1;
  b.store(m.dense(b, DType::int64), ok);
  return m.done(b);
}

Case chain(int ops, int64_t n) {
  Maker m("chain_" + std::to_string(ops));
  B b = over({n});
  Expr x = b.load(m.dense(b, kF));
  for (int i = 0; i < ops; ++i)
    x = i % 3 == 2
            ? b.alu(Code::tanh, kF, x)
            : b.alu(i % 3 ? Code::mul : Code::add, kF, x, m.number(b, kF, real(static_cast<float>(0.9 + i * 1e-4))));
  b.store(m.dense(b, kF), x);
  return m.done(b, 1e-5);
}

// In place, over several tensors: p -= lr * g, m = 0.9 m + g.
Case update(const std::vector<int64_t>& sizes) {
  Maker m("sgd_update");
  m.c.step.instances.clear();
  for (int64_t n : sizes) {
    m.c.step.instances.emplace_back();
    B b = over(n % 10 == 0 ? Dims{n / 10, 10} : Dims{n});
    const int p = m.dense(b, kF), v = m.dense(b, kF);
    const Expr g = b.load(m.dense(b, kF));
    const Expr keep = b.constant(kF, 0.9), old = b.load(v);
    const Expr next = b.alu(Code::add, kF, b.alu(Code::mul, kF, old, keep), g);
    b.store(v, next);
    const Expr rate = m.number(b, kF, real(static_cast<float>(0.125 + static_cast<double>(n) / 1024)));
    const Expr step = b.alu(Code::mul, kF, rate, next);
    b.store(p, b.alu(Code::sub, kF, b.load(p), step));
    guard(b);
    m.done(b);
  }
  return m.c;
}

// Reads rows [r, c] of strides (sr, sc).
struct Rows {
  int64_t r, c, sr, sc;
};

// Neighbours in memory are in other rows.
void fold_across(B& b, bool across = true) {
  if (across) set_order(b.program, {.neighbours = FoldOrder::Neighbours::in_many_rows});
}

Case softmax(DType t, Rows s) {
  Maker m("softmax_" + std::to_string(s.r) + "x" + std::to_string(s.c));
  B b = over({s.r, s.c}, 1);
  const Expr x = b.load(m.view(b, t, {s.sr, s.sc}));
  const Expr e = b.alu(Code::exp, t, b.alu(Code::sub, t, x, b.reduce(Fold::maximum, x)));
  const Expr sum = b.reduce(Fold::sum, e);
  b.store(m.dense(b, t), b.alu(Code::div, t, e, sum));
  b.store(m.view(b, t, {1, 0}), b.alu(Code::log, t, sum));
  fold_across(b, s.sc != 1);
  return m.done(b, 2e-6);
}

Case layer_norm(int64_t r, int64_t c, bool in_place) {
  Maker m("layer_norm_" + std::to_string(c));
  B b = over({r, c}, 1);
  const int v = m.dense(b, kF);
  const Expr x = b.load(v), n = b.constant(kF, static_cast<double>(c));
  const Expr d = b.alu(Code::sub, kF, x, b.alu(Code::div, kF, b.reduce(Fold::sum, x), n));
  const Expr var = b.alu(Code::div, kF, b.reduce(Fold::sum, b.alu(Code::mul, kF, d, d)), n);
  const Expr y = b.alu(Code::div, kF, d, b.alu(Code::sqrt, kF, b.alu(Code::add, kF, var, b.constant(kF, 1e-5))));
  const Expr w = b.load(m.view(b, kF, {0, 1}));
  b.store(in_place ? v : m.dense(b, kF), b.alu(Code::mul, kF, y, w));
  if (in_place) guard(b);
  b.program.in_place = in_place;
  return m.done(b, 1e-5);
}

// The new value is stored over the old one, and divided by its norm.
Case momentum_in_place(int64_t r, int64_t c) {
  Maker m("momentum_in_place_" + std::to_string(c));
  B b = over({r, c}, 1);
  const int v = m.dense(b, kF);
  const Expr next = b.alu(Code::mul, kF, b.load(v), b.constant(kF, 0.5));
  b.store(v, next);
  const Expr norm = b.alu(Code::sqrt, kF, b.reduce(Fold::sum, b.alu(Code::mul, kF, next, next)));
  b.store(m.dense(b, kF), b.alu(Code::div, kF, next, norm));
  b.program.in_place = true;
  return m.done(b, 1e-5);
}

Case reduction(Fold f, DType t, Rows s) {
  Maker m(std::string(name_of(f)) + "_" + name_of(t) + "_" + std::to_string(s.r) + "x" + std::to_string(s.c) +
          (s.sc == 1 ? "" : "t"));
  B b = over({s.r, s.c}, 1);
  Expr x = b.load(m.view(b, t, {s.sr, s.sc}));
  b.store(m.view(b, t, {1, 0}), b.reduce(f, x));
  fold_across(b, s.sc != 1);
  return m.done(b, is_float(t) && f == Fold::sum ? 1e-5 : 0);
}

// Sum over the first and the last of three dimensions, and over an index.
Case reduction3(int64_t a, int64_t n, int64_t c) {
  Maker m("sum_two_dims");
  B b = over({n, a, c}, 2);
  const Expr x = b.load(m.view(b, kF, {c, n * c, 1}));
  const Expr i = b.index(b.add_view({.binding = -1, .dtype = DType::int64, .strides = {c, n * c, 1}, .offset = 1}));
  b.store(m.view(b, kF, {1, 0, 0}), b.reduce(Fold::sum, x));
  b.store(m.view(b, DType::int64, {1, 0, 0}), b.reduce(Fold::sum, i));
  return m.done(b, 1e-5);
}

Case pieces(int64_t rows, int64_t pieces, int64_t size, int64_t limit, bool columns) {
  Maker m(std::string("pieces_") + (columns ? "columns" : "rows"));
  B b = over({rows, pieces, size}, 1);
  const int64_t row = columns ? 1 : limit, step = columns ? rows : 1;
  const int binding = m.memory(kF, rows * limit);
  const Expr x = b.load(b.add_view({.binding = binding, .dtype = kF, .strides = {row, size * step, step}}));
  b.store(m.view(b, kF, {pieces, 1, 0}), b.reduce(Fold::sum, x));
  b.program.piece_limit = limit;
  fold_across(b, columns);
  return m.done(b, 1e-5);
}

struct Sides {
  int64_t batch, m, n, k;
  bool a_transposed, b_transposed;
};

Case product_case(Maker& m, Product p, Program epilogue, double tolerance) {
  annotate(epilogue);
  p.epilogue = std::move(epilogue);
  m.in().kernel.kind = Kernel::Kind::product;
  m.in().kernel.product = std::move(p);
  m.c.tolerance = tolerance;
  return m.c;
}

// Epilogues: 0 stores the sums, 1 adds a bias, takes the larger one of that and 0, and tells where, 2 stores the same
// turned, unless an error was reported, 3 stores the larger one alone.
Case matmul(DType t, Sides s, int epilogue, int64_t pad = 0) {
  Maker m(std::string("matmul_") + name_of(t) + "_" + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
          std::to_string(s.k) + (s.a_transposed ? "_ta" : "") + (s.b_transposed ? "_tb" : "") + "_e" +
          std::to_string(epilogue));
  Product p;
  p.batch = s.batch, p.m = s.m, p.n = s.n, p.k = s.k, p.dtype = t;
  p.a_m = s.a_transposed ? 1 : s.k + pad, p.a_k = s.a_transposed ? s.m + pad : 1, p.a_batch = (s.m + pad) * (s.k + pad);
  p.b_k = s.b_transposed ? 1 : s.n + pad, p.b_n = s.b_transposed ? s.k + pad : 1,
  p.b_batch = s.batch > 2 ? 0 : (s.n + pad) * (s.k + pad);
  p.a_offset = pad, p.b_offset = 2 * pad;
  p.a_binding = m.memory(t, p.a_offset + s.batch * (s.m + pad) * (s.k + pad) + 1);
  p.b_binding = m.memory(t, p.b_offset + s.batch * (s.n + pad) * (s.k + pad) + 1);
  const bool half = t == DType::float16 || t == DType::bfloat16;
  const DType sums = half ? kF : t;
  B b = over({s.batch, s.m, s.n});
  b.add_view({.binding = -1, .dtype = sums, .strides = contiguous_strides(b.program.domain)});
  Expr x = b.load(0);
  if (epilogue) {
    const Expr zero = b.constant(sums, 0), bias = b.load(m.view(b, sums, {0, 0, 1}));
    x = b.alu(Code::maximum, sums, b.alu(Code::add, sums, x, bias), zero);
    if (epilogue < 3) b.store(m.dense(b, DType::boolean), b.alu(Code::lt, DType::boolean, b.constant(sums, 0), x));
  }
  if (half) x = b.alu(Code::cast, t, x);
  b.store(epilogue == 2 ? m.view(b, t, {s.m * s.n, 1, s.m}) : m.dense(b, t), x);
  return product_case(m, p, b.program, half ? (t == DType::float16 ? 1e-3 : 8e-3) : is_float(t) ? 1e-5 : 0);
}

// Three images with two groups of three channels, 7 x 9, and a kernel of 3 x 2.
Case convolution(int64_t width, int64_t outputs) {
  Maker m("convolution_" + std::to_string(width) + "_" + std::to_string(outputs));
  Product p;
  p.batch = 6, p.folded = 3, p.m = outputs, p.n = 5 * width, p.k = 18;
  p.a_batch = outputs * 18, p.a_m = 18, p.a_k = 1;
  p.b_batch = 3 * 7 * 9, p.b_folded = 6 * 7 * 9;
  p.columns = {{5, width}, {}, {9, 1}};
  p.inner = {{3, 3, 2}, {}, {7 * 9, 9, 1}};
  p.a_binding = m.memory(kF, 2 * outputs * 18);
  p.b_binding = m.memory(kF, 3 * 6 * 7 * 9);
  B b = over({6, outputs, p.n});
  b.add_view({.binding = -1, .dtype = kF, .strides = contiguous_strides(b.program.domain)});
  const Expr sum = b.load(0);
  b.store(m.dense(b, kF), b.alu(Code::maximum, kF, sum, b.constant(kF, 0)));
  return product_case(m, p, b.program, 1e-5);
}

// The gradient by the weights of the first: a sum over images and places, in two parts.
Case convolution_weight(int64_t width) {
  Maker m("convolution_weight_" + std::to_string(width));
  Product p;
  p.batch = 2, p.m = 5, p.n = 18, p.k = 2 * 5 * width;
  p.a_batch = 2 * 5 * 5 * width, p.a_m = 5 * width, p.b_batch = 2 * 3 * 7 * 9;
  p.columns = {{3, 3, 2}, {}, {7 * 9, 9, 1}};
  p.inner = {{2, 5, width}, {5 * 5 * width, width, 1}, {3 * 7 * 9, 9, 1}};
  p.a_binding = m.memory(kF, 4 * 5 * 5 * width);
  p.b_binding = m.memory(kF, 4 * 3 * 7 * 9);
  B b = over({2, 5, 18});
  b.add_view({.binding = -1, .dtype = kF, .strides = contiguous_strides(b.program.domain)});
  const Expr sum = b.load(0);
  b.store(m.dense(b, kF), sum);
  return product_case(m, p, b.program, 1e-5);
}

void pointwise_cases(std::vector<Case>& out) {
  for (DType t : {DType::int32, DType::int64, DType::float32, DType::float64}) {
    const std::string n = name_of(t);
    out.push_back(arithmetic(t, {4096}, {1}, {1}, "flat_" + n));
    out.push_back(arithmetic(t, {1027}, {1}, {0}, "tail_" + n));
    out.push_back(arithmetic(t, {3}, {1}, {1}, "three_" + n));
    out.push_back(arithmetic(t, {37, 64}, {64, 1}, {0, 1}, "row_bias_" + n));
    out.push_back(arithmetic(t, {37, 64}, {64, 1}, {1, 0}, "column_bias_" + n));
    out.push_back(arithmetic(t, {37, 61}, {1, 37}, {61, 1}, "transposed_" + n));
    out.push_back(arithmetic(t, {5, 6, 7}, {84, 7, 1}, {0, 3, 0}, "strided_" + n));
    out.push_back(arithmetic(t, {6, 8}, {-8, -1}, {8, 1}, "flipped_" + n, 47));
    out.push_back(arithmetic(t, {6, 8}, {16, 1}, {8, 1}, "sliced_" + n, 4));
    out.push_back(arithmetic(t, {0, 8}, {8, 1}, {8, 1}, "empty_" + n));
    for (DType to : {DType::boolean, DType::int32, DType::int64, DType::float32, DType::float64}) {
      out.push_back(casts(t, to, 130));
      out.push_back(casts(DType::boolean, to, 131));
    }
  }
  out.push_back(functions(kF));
  out.push_back(functions(DType::float64));
  out.push_back(random_uniform(101));
  out.push_back(check(100));
  out.push_back(chain(30, 1000));
  out.push_back(chain(1000, 1000));
  out.push_back(update({1024, 10, 7840, 3, 0, 5}));
  out.push_back(update({200}));
}

void row_cases(std::vector<Case>& out) {
  for (Rows s : {Rows{3, 10, 10, 1}, Rows{64, 128, 128, 1}, Rows{5, 1000, 1000, 1}, Rows{2, 8192, 8192, 1},
                 Rows{2, 8190, 8190, 1}, Rows{1, 70000, 70000, 1}, Rows{40, 20, 1, 40}, Rows{7, 300, 1, 7},
                 Rows{4, 1, 1, 1}, Rows{3, 32, 64, 2}, Rows{600, 5, 5, 1}}) {
    out.push_back(softmax(kF, s));
    for (Fold f : {Fold::sum, Fold::maximum, Fold::minimum}) out.push_back(reduction(f, kF, s));
  }
  out.push_back(softmax(DType::float64, {9, 260, 260, 1}));
  for (DType t : {DType::boolean, DType::int32, DType::int64, DType::float64})
    for (Fold f : {Fold::sum, Fold::maximum, Fold::minimum})
      if (t != DType::boolean || f != Fold::sum)
        for (Rows s : {Rows{9, 260, 260, 1}, Rows{33, 77, 1, 33}, Rows{3, 0, 0, 1}}) out.push_back(reduction(f, t, s));
  for (int64_t c : {8, 100, 1024, 20000}) {
    out.push_back(layer_norm(6, c, false));
    out.push_back(layer_norm(6, c, true));
    out.push_back(momentum_in_place(1, c));
  }
  out.push_back(reduction3(5, 6, 7));
  out.push_back(reduction3(5, 6, 64));
  out.push_back(pieces(3, 4, 1024, 3500, false));
  out.push_back(pieces(40, 4, 64, 250, true));
}

void product_cases(std::vector<Case>& out) {
  for (Sides s :
       {Sides{1, 64, 512, 784, false, false}, Sides{1, 64, 10, 256, false, true}, Sides{1, 784, 512, 64, true, false},
        Sides{2, 33, 17, 5, false, false}, Sides{3, 100, 70, 50, true, true}, Sides{1, 5, 7, 0, false, false},
        Sides{1, 1, 1, 1, false, false}, Sides{1, 0, 4, 4, false, false}, Sides{1, 1, 100, 1000, false, true}})
    for (int e : {0, 1, 2}) out.push_back(matmul(kF, s, e));
  out.push_back(matmul(kF, {1, 1300, 1290, 40, false, false}, 0));
  out.push_back(matmul(kF, {1, 1300, 1292, 40, true, true}, 1));
  out.push_back(matmul(kF, {1, 2048, 1024, 20, false, true}, 0));
  out.push_back(matmul(kF, {1, 65, 66, 67, false, false}, 1, 3));
  out.push_back(matmul(kF, {1, 64, 64, 64, true, true}, 0, 4));
  for (DType t : {DType::int32, DType::int64, DType::float64})
    for (Sides s : {Sides{1, 64, 48, 100, false, false}, Sides{1, 700, 720, 33, true, true},
                    Sides{2, 9, 300, 70, false, true}, Sides{1, 400, 400, 16, false, false}})
      for (int e : {0, 1}) out.push_back(matmul(t, s, e));
  for (DType t : {DType::float16, DType::bfloat16}) {
    for (Sides s :
         {Sides{1, 64, 64, 64, false, false}, Sides{2, 65, 130, 33, true, true}, Sides{3, 17, 40, 16, false, true},
          Sides{1, 129, 256, 72, true, false}, Sides{1, 9, 20, 50, false, false}, Sides{1, 40, 16, 0, false, false}})
      for (int e : {0, 1, 2, 3}) out.push_back(matmul(t, s, e));
    out.push_back(matmul(t, {1, 64, 72, 80, false, false}, 0, 8));
    out.push_back(matmul(t, {1, 64, 72, 80, true, false}, 3, 3));
  }
  out.push_back(convolution(8, 5));
  out.push_back(convolution(7, 40));
  out.push_back(convolution_weight(8));
}

}  // namespace

std::vector<Case> odd_rows() {
  std::vector<Case> out;
  for (Rows s : {Rows{1, 1, 1, 1},         Rows{1, 2, 2, 1},         Rows{2, 3, 3, 1},         Rows{17, 7, 7, 1},
                 Rows{5, 31, 31, 1},       Rows{3, 33, 33, 1},       Rows{2, 63, 63, 1},       Rows{300, 64, 64, 1},
                 Rows{3, 65, 65, 1},       Rows{2, 131, 131, 1},     Rows{2, 257, 257, 1},     Rows{2, 511, 511, 1},
                 Rows{2, 516, 516, 1},     Rows{2, 1021, 1021, 1},   Rows{2, 1028, 1028, 1},   Rows{2, 2052, 2052, 1},
                 Rows{2, 4099, 4099, 1},   Rows{1, 4100, 4100, 1},   Rows{1, 8193, 8193, 1},   Rows{3, 8196, 8196, 1},
                 Rows{1, 16388, 16388, 1}, Rows{1, 16411, 16411, 1}, Rows{1, 40000, 40000, 1}, Rows{40, 3, 1, 40},
                 Rows{33, 7, 1, 33},       Rows{2, 65, 1, 2},        Rows{5, 129, 1, 5},       Rows{3, 1000, 1, 3},
                 Rows{700, 9, 1, 700},     Rows{2, 5000, 1, 2},      Rows{9, 37, 74, 2}}) {
    out.push_back(softmax(kF, s));
    if (out.size() % 3 == 0) out.push_back(reduction(Fold::product, kF, s));
  }
  for (int64_t c : {1, 6, 8, 100, 1024, 5003, 20000})
    for (bool in_place : {false, true}) out.push_back(layer_norm(6, c, in_place));
  for (int64_t limit : {3500, 3501, 4096}) out.push_back(pieces(3, 4, 1024, limit, false));
  for (int64_t limit : {193, 250, 256}) out.push_back(pieces(40, 4, 64, limit, true));
  return out;
}

std::vector<Case> cases() {
  std::vector<Case> out;
  pointwise_cases(out);
  row_cases(out);
  product_cases(out);
  return out;
}

}  // namespace sg::lower_test
