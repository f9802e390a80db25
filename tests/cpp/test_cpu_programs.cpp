// The CPU device against a naive evaluation of the same Program, one element after the other.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "device/device.hpp"
#include "math/alu.hpp"

namespace {

using namespace sg;

struct Scalar {
  double f = 0;
  int64_t i = 0;
};

Scalar read(const void* p, DType t, int64_t at) {
  switch (t) {
    case DType::boolean:
      return {0, static_cast<const uint8_t*>(p)[at]};
    case DType::int32:
      return {0, static_cast<const int32_t*>(p)[at]};
    case DType::int64:
      return {0, static_cast<const int64_t*>(p)[at]};
    case DType::float32:
      return {static_cast<const float*>(p)[at], 0};
    case DType::float64:
      return {static_cast<const double*>(p)[at], 0};
  }
  return {};
}

void write(void* p, DType t, int64_t at, Scalar s) {
  switch (t) {
    case DType::boolean:
      static_cast<uint8_t*>(p)[at] = s.i != 0;
      break;
    case DType::int32:
      static_cast<int32_t*>(p)[at] = static_cast<int32_t>(s.i);
      break;
    case DType::int64:
      static_cast<int64_t*>(p)[at] = s.i;
      break;
    case DType::float32:
      static_cast<float*>(p)[at] = static_cast<float>(s.f);
      break;
    case DType::float64:
      static_cast<double*>(p)[at] = s.f;
      break;
  }
}

Scalar rounded(Scalar s, DType t) {
  if (t == DType::float32) s.f = static_cast<float>(s.f);
  if (t == DType::int32) s.i = static_cast<int32_t>(s.i);
  return s;
}

Scalar apply(Code code, DType type, DType to, Scalar a, Scalar b, Scalar c) {
  const bool real = is_float(type);
  const auto pick = [&](double f, int64_t i) { return real ? Scalar{f, 0} : Scalar{0, i}; };
  const auto truth = [](bool t) { return Scalar{0, t}; };
  switch (code) {
    case Code::add:
      return pick(a.f + b.f, a.i + b.i);
    case Code::sub:
      return pick(a.f - b.f, a.i - b.i);
    case Code::mul:
      return pick(a.f * b.f, a.i * b.i);
    case Code::div:
      return {a.f / b.f, 0};
    case Code::neg:
      return pick(-a.f, -a.i);
    case Code::maximum:
      return pick(std::isnan(a.f) || a.f > b.f ? a.f : b.f, std::max(a.i, b.i));
    case Code::exp:
      return {std::exp(a.f), 0};
    case Code::tanh:
      return {std::tanh(a.f), 0};
    case Code::lt:
      return truth(real ? a.f < b.f : a.i < b.i);
    case Code::select:
      return a.i ? b : c;
    case Code::cast:
      if (to == DType::boolean) return truth(real ? a.f != 0 : a.i != 0);
      if (is_float(to)) return {real ? a.f : static_cast<double>(a.i), 0};
      return {0, real ? static_cast<int64_t>(a.f) : a.i};
    default:
      FAIL("no reference for " << name_of(code));
  }
  return {};
}

// Evaluates every element of every row afresh; `memory[binding]` is element 0, changed in place by stores.
void reference(const Program& p, const std::vector<void*>& memory, const std::vector<Number>& numbers) {
  std::vector<std::pair<View, std::pair<int64_t, Scalar>>> stores;
  for (int64_t row = 0; row < p.rows(); ++row) {
    Dims at = Dims::filled(p.domain.rank, 0);
    for (int64_t d = p.outer() - 1, r = row; d >= 0; --d) at[d] = r % p.domain[d], r /= p.domain[d];
    int64_t columns = p.columns();
    if (p.piece_limit) {
      const int64_t size = p.domain[p.outer()];
      columns = columns / size * std::clamp<int64_t>(p.piece_limit - at[p.outer() - 1] * size, 0, size);
    }
    std::vector<std::vector<Scalar>> values(p.code.size());
    for (size_t n = 0; n < p.code.size(); ++n) {
      const Instr& in = p.code[n];
      values[n].resize(std::max<int64_t>(columns, 1));
      if (in.code == Code::reduce) {
        Scalar total = in.fold == Fold::sum ? Scalar{} : Scalar{in.fold == Fold::maximum ? -INFINITY : INFINITY, 0};
        for (int64_t c = 0; c < columns; ++c) {
          const Scalar v = values[in.a][c];
          if (in.fold == Fold::sum)
            total = {total.f + v.f, total.i + v.i};
          else if (in.fold == Fold::maximum)
            total = {v.f > total.f || std::isnan(v.f) ? v.f : total.f, 0};
          else
            total = {v.f < total.f || std::isnan(v.f) ? v.f : total.f, 0};
        }
        std::fill(values[n].begin(), values[n].end(), rounded(total, in.dtype));
        continue;
      }
      // On an empty row only what is computed once a row exists.
      for (int64_t c = 0; c < std::max<int64_t>(columns, in.per_row ? 1 : 0); ++c) {
        for (int64_t d = p.domain.rank - 1, r = c; d >= p.outer(); --d)
          if (p.domain[d]) at[d] = r % p.domain[d], r /= p.domain[d];
        const auto address = [&](const View& v) {
          int64_t e = v.offset;
          for (int d = 0; d < p.domain.rank; ++d) e += at[d] * v.strides[d];
          return e;
        };
        const auto operand = [&](int32_t i) { return i < 0 ? Scalar{} : values[i][c]; };
        Scalar& out = values[n][c];
        if (in.code == Code::load)
          out = read(memory[p.views[in.slot].binding], in.dtype, address(p.views[in.slot]));
        else if (in.code == Code::load_at)
          out = read(memory[p.views[in.slot].binding], in.dtype, operand(in.a).i);
        else if (in.code == Code::index)
          out = {0, address(p.views[in.slot])};
        else if (in.code == Code::number)
          out = {numbers[in.slot].f, is_float(in.dtype) ? 0 : numbers[in.slot].i};
        else if (in.code == Code::constant)
          out = is_float(in.dtype) ? Scalar{in.imm.f, 0} : Scalar{0, in.imm.i};
        else if (in.code == Code::store)
          stores.push_back({p.views[in.slot], {address(p.views[in.slot]), operand(in.a)}});
        else
          out = apply(in.code, in.code == Code::select ? in.dtype : p.code[in.a].dtype, in.dtype, operand(in.a),
                      operand(in.b), operand(in.c));
        out = rounded(out, in.dtype);
      }
    }
  }
  for (auto& [view, what] : stores) write(memory[view.binding], view.dtype, what.first, what.second);
}

struct Tensor {
  DType dtype;
  int64_t count;
};

std::vector<uint8_t> random_bytes(Tensor t, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(t.count) * size_of(t.dtype) + 64);
  for (int64_t i = 0; i < t.count; ++i) {
    const double x = static_cast<double>(random() % 4001) / 1000.0 - 2.0;
    write(bytes.data(), t.dtype, i,
          {x, static_cast<int64_t>(t.dtype == DType::boolean ? random() % 2 : random() % 21) -
                  10 * (t.dtype != DType::boolean)});
  }
  return bytes;
}

// One step: bindings [0, inputs) are leaves, the others outputs. Returns the outputs' bytes.
std::vector<std::vector<uint8_t>> run_kernel(const Kernel& kernel, const std::vector<Tensor>& tensors, int inputs,
                                             const std::vector<std::vector<uint8_t>>& contents,
                                             const std::vector<Number>& numbers = {}) {
  Device& device = cpu_device();
  auto plan = std::make_shared<Plan>();
  Instance instance;
  instance.kernel = kernel;
  std::vector<BufferRef> leaves, outputs;
  for (int i = 0; i < static_cast<int>(tensors.size()); ++i) {
    const int64_t bytes = tensors[i].count * static_cast<int64_t>(size_of(tensors[i].dtype));
    Memory m;
    m.kind = i < inputs ? Memory::Kind::leaf : Memory::Kind::output;
    m.index = i < inputs ? i : i - inputs;
    m.bytes = bytes;
    plan->memories.push_back(m);
    instance.bindings.push_back({i, -1});
    auto& list = i < inputs ? leaves : outputs;
    list.push_back(device.allocate(static_cast<size_t>(bytes)));
    device.upload(list.back(), contents[i].data(), static_cast<size_t>(bytes));
  }
  for (size_t n = 0; n < numbers.size(); ++n) instance.numbers.push_back(static_cast<int32_t>(n));
  plan->leaves = inputs;
  plan->outputs = static_cast<int32_t>(tensors.size()) - inputs;
  plan->numbers = static_cast<int32_t>(numbers.size());
  plan->steps.push_back({"test", {instance}});
  auto prepared = device.prepare(plan);
  device.run(*prepared, {leaves.data(), outputs.data(), nullptr, numbers.data()});
  std::vector<std::vector<uint8_t>> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = tensors[inputs + i];
    results.emplace_back(static_cast<size_t>(t.count) * size_of(t.dtype));
    device.download(results.back().data(), outputs[i], 0, results.back().size());
  }
  return results;
}

void compare(const void* got, const void* want, Tensor t, double tolerance) {
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < t.count; ++i) {
    const Scalar a = read(got, t.dtype, i), b = read(want, t.dtype, i);
    const bool same = a.i == b.i && (a.f == b.f || (std::isnan(a.f) && std::isnan(b.f)) ||
                                     std::abs(a.f - b.f) <= tolerance * (1 + std::abs(b.f)));
    if (!same && wrong++ == 0) first = i;
  }
  INFO("first difference at " << first);
  if (first >= 0) {
    INFO("got " << read(got, t.dtype, first).f << " / " << read(got, t.dtype, first).i << ", wanted "
                << read(want, t.dtype, first).f << " / " << read(want, t.dtype, first).i);
    CHECK(wrong == 0);
    return;
  }
  CHECK(wrong == 0);
}

void check(Program p, const std::vector<Tensor>& tensors, int inputs, const std::vector<Number>& numbers = {},
           double tolerance = 2e-6) {
  annotate(p);
  INFO(p.print());
  std::vector<std::vector<uint8_t>> contents;
  for (size_t i = 0; i < tensors.size(); ++i)
    contents.push_back(random_bytes(tensors[i], static_cast<uint32_t>(i) + 1));
  Kernel kernel;
  kernel.program = p;
  const auto results = run_kernel(kernel, tensors, inputs, contents, numbers);
  std::vector<void*> memory;
  for (auto& c : contents) memory.push_back(c.data());
  reference(p, memory, numbers);
  for (size_t i = 0; i < results.size(); ++i)
    compare(results[i].data(), contents[inputs + i].data(), tensors[inputs + i], tolerance);
}

View view(int32_t binding, Dims strides, DType t = DType::float32, int64_t offset = 0) {
  View v;
  v.binding = binding;
  v.dtype = t;
  v.strides = strides;
  v.offset = offset;
  return v;
}

Number number(double f) {
  Number n;
  n.f = f;
  return n;
}

}  // namespace

TEST_CASE("cpu: pointwise chains of every size", "[cpu]") {
  for (int64_t n : {0, 1, 3, 255, 256, 1000, 1024, 1025, 70000, 300001}) {
    ProgramBuilder b;
    b.program.domain = {n};
    const int32_t x = b.add_view(view(0, {1})), y = b.add_view(view(1, {1})), out = b.add_view(view(2, {1}));
    const Expr vx = b.load(x), vy = b.load(y), k = b.number(DType::float32);
    Expr t = b.alu(Code::mul, DType::float32, vx, vy);
    t = b.alu(Code::add, DType::float32, t, k);
    t = b.alu(Code::sub, DType::float32, b.constant(DType::float32, 1.5), t);
    t = b.alu(Code::mul, DType::float32, b.alu(Code::sub, DType::float32, t, vx),
              b.alu(Code::add, DType::float32, t, vy));
    t = b.alu(Code::tanh, DType::float32, t);
    b.store(out, b.alu(Code::select, DType::float32, b.alu(Code::lt, DType::boolean, vx, vy), t, k));
    check(b.program, {{DType::float32, n}, {DType::float32, n}, {DType::float32, n}}, 2, {number(0.37)});
  }
}

TEST_CASE("cpu: every type, with casts between all of them", "[cpu]") {
  for (int from = 0; from < kDTypeCount; ++from)
    for (int to = 0; to < kDTypeCount; ++to) {
      const auto f = static_cast<DType>(from), t = static_cast<DType>(to);
      if (is_narrow(f) || is_narrow(t)) continue;  // no arithmetic; conversions: tests/test_dtypes.py
      const int64_t n = 777;
      ProgramBuilder b;
      b.program.domain = {n};
      const int32_t x = b.add_view(view(0, {1}, f)), y = b.add_view(view(1, {1}, f)), out = b.add_view(view(2, {1}, t));
      const Code code = f == DType::boolean ? Code::maximum : Code::sub;
      b.store(out, b.cast(b.alu(code, f, b.load(x), b.load(y)), t));
      check(b.program, {{f, n}, {f, n}, {t, n}}, 2);
    }
}

TEST_CASE("cpu: strided, transposed and broadcast views", "[cpu]") {
  const std::vector<std::pair<Dims, std::vector<Dims>>> cases = {
      {{37, 53}, {{1, 37}, {0, 1}, {53, 1}}},      // transposed, row vector
      {{37, 53}, {{106, 2}, {1, 0}, {1, 37}}},     // every second, column vector, transposed output
      {{300, 500}, {{1, 300}, {0, 0}, {500, 1}}},  // scalar
      {{1000, 3}, {{3, 1}, {0, 1}, {3, 1}}},       // short rows
      {{5, 7, 11}, {{77, 1, 7}, {11, 0, 1}, {77, 11, 1}}},
      {{2, 3, 4, 5}, {{1, 2, 6, 24}, {20, 0, 5, 1}, {60, 20, 5, 1}}},
      {{3, 37, 300}, {{11100, 1, 37}, {0, 0, 1}, {11100, 300, 1}}},  // transposed matrices, in tiles
      {{33, 1500}, {{1, 33}, {1, 33}, {1500, 1}}},                   // two operands in tiles
  };
  for (const auto& [domain, strides] : cases) {
    ProgramBuilder b;
    b.program.domain = domain;
    const Expr x = b.load(b.add_view(view(0, strides[0], DType::float32, 2)));
    const Expr y = b.load(b.add_view(view(1, strides[1])));
    const Expr i = b.index(b.add_view(view(-1, contiguous_strides(domain), DType::int64, 5)));
    const Expr s = b.alu(Code::add, DType::float32, b.alu(Code::mul, DType::float32, x, y), b.cast(i, DType::float32));
    b.store(b.add_view(view(2, strides[2])), s);
    b.store(b.add_view(view(3, contiguous_strides(domain), DType::int64)), i);
    const int64_t n = domain.numel();
    check(b.program, {{DType::float32, 2 * n + 2}, {DType::float32, n}, {DType::float32, n}, {DType::int64, n}}, 2);
  }
}

TEST_CASE("cpu: transposed operands of every size of element", "[cpu]") {
  for (DType t : {DType::boolean, DType::int32, DType::float32, DType::int64, DType::float64}) {
    ProgramBuilder b;
    b.program.domain = {50, 300};
    const Expr x = b.load(b.add_view(view(0, {1, 50}, t)));
    b.store(b.add_view(view(1, {300, 1}, t)), x);
    b.store(b.add_view(view(2, {1, 50}, t)), x);
    check(b.program, {{t, 15000}, {t, 15000}, {t, 15000}}, 1);
  }
}

// In a thread of its own, whose scratch memory is as large as this asks for: sanitizers see a step beyond.
TEST_CASE("cpu: a tile of short rows stays in its memory", "[cpu]") {
  std::thread([] {
    for (DType t : {DType::boolean, DType::float64}) {
      ProgramBuilder b;
      b.program.domain = {16, 20};
      const Expr x = b.load(b.add_view(view(0, {1, 16}, t)));
      b.store(b.add_view(view(1, {20, 1}, t)), x);
      check(b.program, {{t, 320}, {t, 320}}, 1);
    }
  }).join();
}

TEST_CASE("cpu: rows, and every second element of them, from computed places", "[cpu]") {
  for (int64_t step : {1, 2})
    for (int64_t width : {3, 300, 2500}) {
      ProgramBuilder b;
      b.program.domain = {53, width};
      const Expr number = b.alu(Code::add, DType::int64, b.load(b.add_view(view(0, {1, 0}, DType::int64))),
                                b.constant_int(DType::int64, 10));  // 0 to 20
      const Expr row = b.alu(Code::mul, DType::int64, number, b.constant_int(DType::int64, step * width));
      const Expr at = b.alu(Code::add, DType::int64, b.index(b.add_view(view(-1, {0, step}, DType::int64))), row);
      View table = view(1, {0, 0});
      table.reach = 21 * step * width;
      const Expr x = b.load_at(b.add_view(table), at);
      b.store(b.add_view(view(2, {width, 1})), b.alu(Code::add, DType::float32, x, x));
      check(b.program, {{DType::int64, 53}, {DType::float32, table.reach}, {DType::float32, 53 * width}}, 2);
    }
}

TEST_CASE("cpu: softmax rows, long and short, both layouts", "[cpu]") {
  for (auto [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {64, 10}, {3, 1000}, {70, 5000}, {2, 200000}, {5000, 3}, {0, 4}, {33, 65}})
    for (bool transposed : {false, true}) {
      ProgramBuilder b;
      b.program.domain = {rows, columns};
      b.program.inner = 1;
      const Dims strides = transposed ? Dims{1, rows} : Dims{columns, 1};
      const Expr x = b.load(b.add_view(view(0, strides)));
      const Expr top = b.reduce(Fold::maximum, x);
      const Expr e = b.alu(Code::exp, DType::float32, b.alu(Code::sub, DType::float32, x, top));
      const Expr sum = b.reduce(Fold::sum, e);
      b.store(b.add_view(view(1, {columns, 1})), b.alu(Code::div, DType::float32, e, sum));
      b.store(b.add_view(view(2, {1, 0})), sum);
      check(b.program, {{DType::float32, rows * columns}, {DType::float32, rows * columns}, {DType::float32, rows}}, 1,
            {}, 1e-5);
    }
}

TEST_CASE("cpu: sums over columns, pieces, several inner dimensions", "[cpu]") {
  for (DType t : {DType::float32, DType::float64, DType::int32, DType::int64}) {
    ProgramBuilder b;  // [1000, 70] -> [70]: blocks run across the rows of the reduction
    b.program.domain = {70, 1000};
    b.program.inner = 1;
    const Expr x = b.load(b.add_view(view(0, {1, 70}, t)));
    b.store(b.add_view(view(1, {1, 0}, t)), b.reduce(Fold::sum, b.alu(Code::mul, t, x, x)));
    check(b.program, {{t, 70000}, {t, 70}}, 1, {}, 1e-5);

    ProgramBuilder c;  // 10 pieces of 110, of 1003 rows, for each of 30 columns
    c.program.domain = {30, 10, 110, 2};
    c.program.inner = 2;
    c.program.piece_limit = 1003;
    const Expr y = c.load(c.add_view(view(0, {1, 110 * 60, 60, 30}, t)));
    c.store(c.add_view(view(1, {10, 1, 0, 0}, t)), c.reduce(Fold::sum, y));
    check(c.program, {{t, 10 * 110 * 60}, {t, 300}}, 1, {}, 1e-5);

    ProgramBuilder d;  // pieces along a contiguous row
    d.program.domain = {3, 8, 1000};
    d.program.inner = 1;
    d.program.piece_limit = 7001;
    const Expr z = d.load(d.add_view(view(0, {7001, 1000, 1}, t)));
    d.store(d.add_view(view(1, {8, 1, 0}, t)), d.reduce(Fold::sum, z));
    check(d.program, {{t, 30000}, {t, 24}}, 1, {}, 1e-5);

    ProgramBuilder e;  // inner dimensions that do not merge
    e.program.domain = {6, 7, 9};
    e.program.inner = 2;
    const Expr w = e.load(e.add_view(view(0, {9, 54, 1}, t)));
    e.store(e.add_view(view(1, {1, 0, 0}, t)), e.reduce(Fold::sum, w));
    check(e.program, {{t, 6 * 63}, {t, 6}}, 1, {}, 1e-5);
  }
}

TEST_CASE("cpu: folds of empty rows, extremes and NaN", "[cpu]") {
  for (auto strides : {Dims{0, 1}, Dims{1, 20}}) {
    ProgramBuilder b;
    b.program.domain = {20, 0};
    b.program.inner = 1;
    const Expr x = b.load(b.add_view(view(0, strides)));
    b.store(b.add_view(view(1, {1, 0})), b.reduce(Fold::sum, x));
    b.store(b.add_view(view(2, {1, 0})), b.reduce(Fold::maximum, x));
    b.store(b.add_view(view(3, {1, 0})), b.reduce(Fold::minimum, x));
    check(b.program, {{DType::float32, 20}, {DType::float32, 20}, {DType::float32, 20}, {DType::float32, 20}}, 1);
  }
  for (auto strides : {Dims{300, 1}, Dims{1, 20}}) {
    ProgramBuilder b;
    b.program.domain = {20, 300};
    b.program.inner = 1;
    const Expr x = b.load(b.add_view(view(0, strides)));
    b.store(b.add_view(view(1, {1, 0})), b.reduce(Fold::maximum, x));
    b.store(b.add_view(view(2, {1, 0})), b.reduce(Fold::minimum, x));
    Kernel kernel;
    kernel.program = b.program;
    std::vector<Tensor> tensors = {{DType::float32, 6000}, {DType::float32, 20}, {DType::float32, 20}};
    std::vector<std::vector<uint8_t>> contents;
    for (Tensor t : tensors) contents.push_back(random_bytes(t, 5));
    write(contents[0].data(), DType::float32, 7 * strides[0] + 123 * strides[1], {NAN, 0});
    const auto results = run_kernel(kernel, tensors, 1, contents);
    for (const auto& r : results)
      for (int64_t i = 0; i < 20; ++i) CHECK(std::isnan(read(r.data(), DType::float32, i).f) == (i == 7));
  }
}

TEST_CASE("cpu: random bits are those of the formula", "[cpu]") {
  const int64_t n = 5000;
  ProgramBuilder b;
  b.program.domain = {n};
  const Expr i = b.index(b.add_view(view(-1, {1}, DType::int64, 7)));
  const Expr bits = b.alu(Code::random_bits, DType::int32, i, b.number(DType::int64), b.constant_int(DType::int64, 42));
  b.store(b.add_view(view(0, {1}, DType::int32)), bits);
  b.store(b.add_view(view(1, {1})), b.alu(Code::unit_float, DType::float32, bits));
  Kernel kernel;
  kernel.program = b.program;
  Number seed;
  seed.i = 123456789012345;
  const std::vector<Tensor> tensors = {{DType::int32, n}, {DType::float32, n}};
  const auto results =
      run_kernel(kernel, tensors, 0, {random_bytes(tensors[0], 1), random_bytes(tensors[1], 1)}, {seed});
  for (int64_t k = 0; k < n; ++k) {
    const int32_t want = alu::random_bits(k + 7, seed.i, 42);
    REQUIRE(read(results[0].data(), DType::int32, k).i == want);
    REQUIRE(read(results[1].data(), DType::float32, k).f == alu::unit_float(want));
  }
}

TEST_CASE("cpu: steps share temporaries, leaves bring offsets, instances their own sizes", "[cpu]") {
  Device& device = cpu_device();
  auto plan = std::make_shared<Plan>();
  plan->memories = {{Memory::Kind::leaf, 0, 400, 0, -1},
                    {Memory::Kind::temp, 0, 40, 64, -1},
                    {Memory::Kind::temp, 0, 20, 128, -1},
                    {Memory::Kind::output, 0, 40, 0, -1}};
  plan->arena_bytes = 192;
  plan->leaves = plan->outputs = plan->numbers = 1;
  plan->leaf_views = 2;
  Step doubled{"mul", {}};  // temp = leaf view * number, over two sizes
  for (int32_t t : {0, 1}) {
    ProgramBuilder b;
    b.program.domain = {t ? 5 : 10};
    const Expr x = b.load(b.add_view(view(0, {1})));
    b.store(b.add_view(view(1, {1})), b.alu(Code::mul, DType::float32, x, b.number(DType::float32)));
    Instance instance;
    instance.kernel.program = b.program;
    instance.bindings = {{0, t}, {1 + t, -1}};
    instance.numbers = {0};
    doubled.instances.push_back(instance);
  }
  ProgramBuilder c;  // out[i] = first[i] + second[i / 2]
  c.program.domain = {5, 2};
  const Expr sum =
      c.alu(Code::add, DType::float32, c.load(c.add_view(view(0, {2, 1}))), c.load(c.add_view(view(1, {1, 0}))));
  c.store(c.add_view(view(2, {2, 1})), sum);
  Instance last;
  last.kernel.program = c.program;
  last.bindings = {{1, -1}, {2, -1}, {3, -1}};
  plan->steps = {doubled, {"add", {last}}};
  auto prepared = device.prepare(plan);
  std::vector<float> x(100), got(10);
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  const BufferRef leaf = device.allocate(400), out = device.allocate(40);
  device.upload(leaf, x.data(), 400);
  for (int64_t shift : {0, 13}) {
    const int64_t offsets[] = {shift, 50 + shift};
    const Number two = number(2);
    device.run(*prepared, {&leaf, &out, offsets, &two});
    device.download(got.data(), out, 0, 40);
    for (int i = 0; i < 10; ++i)
      CHECK(got[i] == 2.0f * static_cast<float>(shift + i) + 2.0f * static_cast<float>(50 + shift + i / 2));
  }
}

TEST_CASE("cpu: an update in place reads the old values", "[cpu]") {
  Device& device = cpu_device();
  const int64_t n = 100000;
  ProgramBuilder b;  // p and m change; p' needs the old p after m' is known
  b.program.domain = {n};
  const int32_t p = b.add_view(view(0, {1})), m = b.add_view(view(1, {1})), po = b.add_view(view(2, {1})),
                mo = b.add_view(view(3, {1}));
  const Expr vp = b.load(p), vm = b.load(m);
  const Expr sum = b.alu(Code::add, DType::float32, vp, vm);
  b.store(po, sum);
  b.store(mo, b.alu(Code::mul, DType::float32, vp, b.constant(DType::float32, 2)));
  auto plan = std::make_shared<Plan>();
  const int64_t bytes = n * 4;
  plan->memories = {{Memory::Kind::leaf, 0, bytes, 0, -1},
                    {Memory::Kind::leaf, 1, bytes, 0, -1},
                    {Memory::Kind::output, 0, bytes, 0, 0},
                    {Memory::Kind::output, 1, bytes, 0, 1}};
  plan->leaves = plan->outputs = 2;
  Instance instance;
  instance.kernel.program = b.program;
  instance.bindings = {{0, -1}, {1, -1}, {2, -1}, {3, -1}};
  plan->steps.push_back({"update", {instance}});
  std::vector<float> x(n, 3.0f), y(n, 4.0f);
  const BufferRef leaves[] = {device.allocate(bytes), device.allocate(bytes)};
  device.upload(leaves[0], x.data(), bytes);
  device.upload(leaves[1], y.data(), bytes);
  auto prepared = device.prepare(plan);
  device.run(*prepared, {leaves, leaves, nullptr, nullptr});
  device.download(x.data(), leaves[0], 0, bytes);
  device.download(y.data(), leaves[1], 0, bytes);
  CHECK(x == std::vector<float>(n, 7.0f));
  CHECK(y == std::vector<float>(n, 6.0f));
}

TEST_CASE("cpu: an index out of range is reported and stops predicated steps", "[cpu]") {
  Device& device = cpu_device();
  ProgramBuilder b;
  b.program.domain = {4};
  const Expr i = b.load(b.add_view(view(0, {1}, DType::int64)));
  const Expr checked = b.alu(Code::check_index, DType::int64, i, b.constant_int(DType::int64, 10));
  b.program.code[checked.id].imm.i = 3;  // the op that reports
  b.store(b.add_view(view(1, {1}, DType::int64)), checked);
  ProgramBuilder c;
  c.program.domain = {4};
  c.program.predicated = true;
  c.store(c.add_view(view(1, {1}, DType::int64)), c.constant_int(DType::int64, 99));
  auto plan = std::make_shared<Plan>();
  plan->memories = {{Memory::Kind::leaf, 0, 32, 0, -1}, {Memory::Kind::output, 0, 32, 0, -1}};
  plan->leaves = plan->outputs = 1;
  plan->op_names = {"one", "two", "three"};
  for (const Program& p : {b.program, c.program}) {
    Instance instance;
    instance.kernel.program = p;
    instance.bindings = {{0, -1}, {1, -1}};
    plan->steps.push_back({"step", {instance}});
  }
  auto prepared = device.prepare(plan);
  const BufferRef leaf = device.allocate(32), out = device.allocate(32);
  for (bool good : {true, false, true}) {
    const int64_t values[4] = {1, 9, good ? 0 : -4, 2};
    int64_t got[4];
    device.upload(leaf, values, 32);
    device.run(*prepared, {&leaf, &out, nullptr, nullptr});
    device.download(got, out, 0, 32);
    const Status s = device.take_status();
    CHECK(s.tag == (good ? 0 : 3));
    if (!good) CHECK((s.index == -4 && s.bound == 10 && s.name == "three"));
    CHECK(got[1] == (good ? 99 : 9));
    CHECK(got[2] == (good ? 99 : 0));
  }
}

TEST_CASE("cpu: products in four layouts, with and without an epilogue", "[cpu]") {
  struct Case {
    int64_t batch, m, n, k;
  };
  for (DType t : {DType::float32, DType::float64, DType::int32, DType::int64})
    for (Case s : {Case{1, 1, 1, 1},
                   {1, 64, 10, 256},
                   {1, 10, 20, 20},
                   {2, 33, 47, 300},
                   {1, 200, 130, 64},
                   {3, 5, 1, 40},
                   {1, 300, 1, 9},
                   {1, 4, 6, 0},
                   {1, 130, 700, 600},
                   {1, 1, 300, 700}})
      for (int layout = 0; layout < 4; ++layout)
        for (bool epilogue : {false, true}) {
          Kernel kernel;
          kernel.kind = Kernel::Kind::product;
          Product& p = kernel.product;
          p.batch = s.batch, p.m = s.m, p.n = s.n, p.k = s.k, p.dtype = t;
          p.a_batch = s.m * s.k, p.b_batch = s.k * s.n;
          p.a_m = layout & 1 ? 1 : s.k, p.a_k = layout & 1 ? s.m : 1;
          p.b_k = layout & 2 ? 1 : s.n, p.b_n = layout & 2 ? s.k : 1;
          ProgramBuilder b;
          b.program.domain = {s.batch, s.m, s.n};
          const Dims dense{s.m * s.n, s.n, 1};
          View accumulator = view(-1, dense, t);
          Expr x = b.load(b.add_view(accumulator));
          if (epilogue) {
            x = b.alu(Code::add, t, x, b.load(b.add_view(view(2, {0, 0, 1}, t))));
            x = b.alu(Code::maximum, t, x, b.constant_int(t, 0));
          }
          b.store(b.add_view(view(3, dense, t)), x);
          p.epilogue = b.program;
          std::vector<Tensor> tensors = {
              {t, s.batch * s.m * s.k}, {t, s.batch * s.k * s.n}, {t, s.n}, {t, s.batch * s.m * s.n}};
          std::vector<std::vector<uint8_t>> in;
          for (size_t i = 0; i < tensors.size(); ++i)
            in.push_back(random_bytes(tensors[i], static_cast<uint32_t>(i) + 9));
          const auto results = run_kernel(kernel, tensors, 3, in);
          for (int64_t q = 0; q < s.batch; ++q)
            for (int64_t i = 0; i < s.m; ++i)
              for (int64_t j = 0; j < s.n; ++j) {
                Scalar sum;
                for (int64_t k = 0; k < s.k; ++k) {
                  const Scalar u = read(in[0].data(), t, q * p.a_batch + i * p.a_m + k * p.a_k);
                  const Scalar v = read(in[1].data(), t, q * p.b_batch + k * p.b_k + j * p.b_n);
                  sum.f += u.f * v.f;
                  sum.i += u.i * v.i;
                }
                if (epilogue) {
                  const Scalar bias = read(in[2].data(), t, j);
                  sum = {std::max(sum.f + bias.f, 0.0), std::max<int64_t>(sum.i + bias.i, 0)};
                }
                write(in[3].data(), t, (q * s.m + i) * s.n + j, sum);
              }
          INFO("batch " << s.batch << " m " << s.m << " n " << s.n << " k " << s.k << " layout " << layout << " "
                        << name_of(t) << " epilogue " << epilogue);
          compare(results[0].data(), in[3].data(), tensors[3], t == DType::float32 ? 1e-4 : 1e-12);
        }
}
