// The CPU device against a naive evaluation of the same Program, one element after the other.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "device/cpu/blocks.hpp"
#include "device/cpu/cache.hpp"
#include "kernel/fold_order.hpp"
#include "test_cpu_reference.hpp"

namespace {

using namespace sg;
using namespace sg::cpu_test;

constexpr FoldOrder kAcross{.neighbours = FoldOrder::Neighbours::in_many_rows};

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
      if (is_narrow(f) || is_narrow(t)) continue;  // no arithmetic; conversions: tests/ops/test_dtypes.py
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

// Results that are written past the caches begin and end anywhere in a line of them.
TEST_CASE("cpu: results larger than the caches, from any place in memory on", "[cpu]") {
  const int64_t width = 1003, rows = cpu::last_cache_bytes() / 2 / 4 / width + 2, count = rows * width;
  ProgramBuilder b;
  b.program.domain = {rows, width};
  const Expr x = b.load(b.add_view(view(0, {0, 1}))), y = b.load(b.add_view(view(1, {1, 0})));
  b.store(b.add_view(view(2, {width, 1}, DType::float32, 3)), b.alu(Code::mul, DType::float32, x, y));
  Kernel kernel;
  kernel.program = b.program;
  annotate(kernel.program);
  const std::vector<Tensor> tensors = {{DType::float32, width}, {DType::float32, rows}, {DType::float32, count + 8}};
  std::vector<std::vector<uint8_t>> contents;
  for (const Tensor& t : tensors) contents.push_back(random_bytes(t, 5));
  const auto out = run_kernel(kernel, tensors, 2, contents);
  const auto at = [](const std::vector<uint8_t>& bytes, int64_t i) { return read(bytes.data(), DType::float32, i).f; };
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; ++i)
    wrong += at(out[0], i + 3) != static_cast<float>(at(contents[0], i % width) * at(contents[1], i / width));
  CHECK(wrong == 0);
  for (int64_t i : {int64_t(0), int64_t(1), int64_t(2), count + 3, count + 7})
    CHECK(at(out[0], i) == at(contents[2], i));
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
      if (transposed) set_order(b.program, kAcross);
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
    set_order(b.program, kAcross);
    check(b.program, {{t, 70000}, {t, 70}}, 1, {}, 1e-5);

    ProgramBuilder c;  // 10 pieces of 110, of 1003 rows, for each of 30 columns
    c.program.domain = {30, 10, 110, 2};
    c.program.inner = 2;
    c.program.piece_limit = 1003;
    const Expr y = c.load(c.add_view(view(0, {1, 110 * 60, 60, 30}, t)));
    c.store(c.add_view(view(1, {10, 1, 0, 0}, t)), c.reduce(Fold::sum, y));
    set_order(c.program, kAcross);
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

TEST_CASE("cpu: loops of exp and sigmoid have the bits of the formulas, whatever a block's length", "[cpu]") {
  const auto exp = cpu::blocks().alu(Code::exp, DType::float32, DType::float32, 0);
  const auto sigmoid = cpu::blocks().alu(Code::sigmoid, DType::float32, DType::float32, 0);
  const auto same = [](float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || a != a; };
  constexpr uint64_t kStep = 1021, kLengths = 37;
  int64_t wrong = 0;
  uint64_t bits = 0;
  for (uint64_t n = 1; bits < uint64_t{1} << 32; n = n % kLengths + 1) {
    float x[kLengths], e[kLengths], s[kLengths];
    for (uint64_t i = 0; i < n; ++i, bits += kStep) x[i] = std::bit_cast<float>(static_cast<uint32_t>(bits));
    exp(e, x, nullptr, nullptr, static_cast<int64_t>(n));
    sigmoid(s, x, nullptr, nullptr, static_cast<int64_t>(n));
    for (uint64_t i = 0; i < n; ++i) {
      wrong += !same(alu::exp(x[i]), e[i]) || !same(alu::sigmoid(x[i]), s[i]);
      wrong += x[i] != x[i] && (e[i] == e[i] || s[i] == s[i]);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("cpu: many short rows fold as each does alone", "[cpu]") {
  for (DType t : {DType::boolean, DType::int32, DType::int64, DType::float32, DType::float64})
    for (int64_t columns : {15, 31, 32, 63, 64, 65, 257, 1024, 1025})
      for (int64_t rows : {1, 16, 130}) {
        const int64_t step = columns + 3;
        ProgramBuilder b;
        b.program.domain = {rows, columns};
        b.program.inner = 1;
        const Expr x = b.load(b.add_view(view(0, {step, 1}, t, 2))), y = b.load(b.add_view(view(1, {1, 0}, t)));
        const Expr top = b.reduce(Fold::maximum, x), low = b.reduce(Fold::minimum, x);
        const Expr total = t == DType::boolean ? top : b.reduce(Fold::sum, x);
        b.store(b.add_view(view(2, {2, 0}, t)), b.alu(Code::add, t, total, y));
        b.store(b.add_view(view(3, {1, 0}, t)), top);
        b.store(b.add_view(view(4, {1, 0}, t)), low);
        check(b.program, {{t, rows * step + 2}, {t, rows}, {t, 2 * rows}, {t, rows}, {t, rows}}, 2, {}, 1e-5);
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
    if (strides[0] == 1) set_order(b.program, kAcross);
    check(b.program, {{DType::float32, 20}, {DType::float32, 20}, {DType::float32, 20}, {DType::float32, 20}}, 1);
  }
  for (auto strides : {Dims{300, 1}, Dims{1, 20}}) {
    ProgramBuilder b;
    b.program.domain = {20, 300};
    b.program.inner = 1;
    const Expr x = b.load(b.add_view(view(0, strides)));
    b.store(b.add_view(view(1, {1, 0})), b.reduce(Fold::maximum, x));
    b.store(b.add_view(view(2, {1, 0})), b.reduce(Fold::minimum, x));
    if (strides[0] == 1) set_order(b.program, kAcross);
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

namespace {
// x, the largest of many values that a block holds at once, so that it is short.
Expr much_for_nothing(ProgramBuilder& b, Expr x) {
  const Expr one = b.number(x.dtype);
  std::vector<Expr> values;
  for (int i = 0; i < 16; ++i)
    values.push_back(b.alu(Code::sub, x.dtype, x,
                           b.alu(Code::abs, x.dtype, b.alu(Code::sub, x.dtype, one, b.constant(x.dtype, 1 + i)))));
  for (const Expr& value : values) x = b.alu(Code::maximum, x.dtype, x, value);
  return x;
}
}  // namespace

TEST_CASE("cpu: a row is folded to the same bits where it lies and after a computation", "[cpu]") {
  for (DType t : {DType::float32, DType::float64})
    for (auto [rows, width] : std::vector<std::pair<int64_t, int64_t>>{
             {3, 1}, {130, 10}, {130, 48}, {70, 63}, {70, 64}, {3, 1023}, {3, 1025}, {3, 4096}, {3, 4097}, {3, 70001}})
      for (bool nan : {false, true}) {
        std::vector<std::vector<uint8_t>> results;
        for (bool computed : {false, true}) {
          ProgramBuilder b;
          b.program.domain = {rows, width};
          b.program.inner = 1;
          Expr x = b.load(b.add_view(view(0, {width, 1}, t)));
          if (computed) x = much_for_nothing(b, x);
          b.store(b.add_view(view(1, {1, 0}, t)), b.reduce(Fold::sum, x));
          b.store(b.add_view(view(2, {1, 0}, t)), b.reduce(Fold::maximum, x));
          annotate(b.program);
          Kernel kernel;
          kernel.program = b.program;
          const std::vector<Tensor> tensors = {{t, rows * width}, {t, rows}, {t, rows}};
          std::vector<std::vector<uint8_t>> contents;
          for (const Tensor& each : tensors) contents.push_back(random_bytes(each, 7));
          if (nan) write(contents[0].data(), t, 2 * width - 1, {NAN, 0});
          const std::vector<Number> one = {number(1)};
          for (auto& out : run_kernel(kernel, tensors, 1, contents, computed ? one : std::vector<Number>{}))
            results.push_back(out);
        }
        CHECK((nan || results[0] == results[2]));
        CHECK((nan || results[1] == results[3]));
        for (int which : {0, 1})
          for (int64_t r = 0; r < rows; ++r) CHECK(std::isnan(read(results[which].data(), t, r).f) == (nan && r == 1));
      }
}

TEST_CASE("cpu: a sum of products has the bits of products that are summed, though an operand is overwritten",
          "[cpu]") {
  Device& device = cpu_device();
  const int64_t rows = 3;
  for (DType t : {DType::float32, DType::float64})
    for (int64_t width : {1, 63, 64, 1000, 1025, 4097, 70001}) {
      const int64_t size = size_of(t), bytes = rows * width * size;
      std::vector<std::vector<uint8_t>> sums, squares;
      for (bool apart : {false, true}) {  // apart: the products are stored, so a loop of their own makes them
        ProgramBuilder b;
        b.program.domain = {rows, width};
        b.program.inner = 1;
        const auto whole = [&](int binding) { return b.add_view(view(binding, {width, 1}, t)); };
        const auto one = [&](int binding) { return b.add_view(view(binding, {1, 0}, t)); };
        const Expr x = b.load(whole(0)), y = b.load(whole(1));
        const Expr product = b.alu(Code::mul, t, x, y), square = b.alu(Code::mul, t, y, y);
        b.store(whole(2), b.alu(Code::add, t, x, y));  // over x
        b.store(one(3), b.reduce(Fold::sum, product));
        b.store(one(4), b.reduce(Fold::sum, square));
        if (apart) b.store(whole(5), product), b.store(whole(6), square);
        annotate(b.program);
        auto plan = std::make_shared<Plan>();
        plan->memories = {{Memory::Kind::leaf, 0, bytes, 0, -1}, {Memory::Kind::leaf, 1, bytes, 0, -1}};
        const int64_t outputs[] = {bytes, rows * size, rows * size, bytes, bytes};
        for (int i = 0; i < 5; ++i) plan->memories.push_back({Memory::Kind::output, i, outputs[i], 0, i ? -1 : 0});
        plan->leaves = 2, plan->outputs = 5;
        Instance instance;
        instance.kernel.program = b.program;
        for (int32_t i = 0; i < 7; ++i) instance.bindings.push_back({i, -1});
        plan->steps.push_back({"products", {instance}});
        std::vector<BufferRef> leaves, results;
        for (uint32_t i = 0; i < 2; ++i) {
          leaves.push_back(device.allocate(bytes));
          device.upload(leaves[i], random_bytes({t, rows * width}, 7 + i).data(), bytes);
        }
        results.push_back(leaves[0]);
        for (int i = 1; i < 5; ++i) results.push_back(device.allocate(outputs[i]));
        auto prepared = device.prepare(plan);
        device.run(*prepared, {leaves.data(), results.data(), nullptr, nullptr});
        for (auto [list, from] : {std::pair(&sums, 1), std::pair(&squares, 2)}) {
          list->emplace_back(rows * size);
          device.download(list->back().data(), results[from], 0, rows * size);
        }
      }
      CHECK(sums[0] == sums[1]);
      CHECK(squares[0] == squares[1]);
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
  plan->starts = 2;
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

TEST_CASE("cpu: an index out of range is reported and stops the writes that look at it", "[cpu]") {
  Device& device = cpu_device();
  ProgramBuilder b;
  b.program.domain = {4};
  const Expr i = b.load(b.add_view(view(0, {1}, DType::int64)));
  const Expr checked = b.alu(Code::check_index, DType::int64, i, b.constant_int(DType::int64, 10));
  b.program.code[checked.id].imm.i = 1;
  b.store(b.add_view(view(1, {1}, DType::int64)), checked);
  ProgramBuilder c;
  c.program.domain = {4};
  c.store(c.add_view(view(1, {1}, DType::int64)), c.constant_int(DType::int64, 99));
  c.program.code.back().imm.i = 1;
  auto plan = std::make_shared<Plan>();
  plan->memories = {{Memory::Kind::leaf, 0, 32, 0, -1}, {Memory::Kind::output, 0, 32, 0, -1}};
  plan->leaves = plan->outputs = 1;
  for (const Program& p : {b.program, c.program}) {
    Instance instance;
    instance.kernel.program = p;
    instance.bindings = {{0, -1}, {1, -1}};
    instance.checks = {0};
    instance.guards = {1};
    plan->steps.push_back({"step", {instance}});
  }
  auto prepared = device.prepare(plan);
  const BufferRef leaf = device.allocate(32), out = device.allocate(32);
  for (bool good : {true, false, true}) {
    const int64_t values[4] = {1, 9, good ? 0 : -4, 2};
    int64_t got[4];
    device.upload(leaf, values, 32);
    RunArguments arguments{&leaf, &out, nullptr, nullptr};
    const uint64_t nodes[] = {report_word(50, 3), uint64_t{1} << 50};
    arguments.nodes = nodes;
    arguments.run = 9;
    Status s;
    arguments.status = &s;
    arguments.own = uint64_t{1} << 50;
    device.run(*prepared, arguments);
    device.download(got, out, 0, 32);
    CHECK(s.done == 9);
    REQUIRE(s.reports.size() == (good ? 0 : 1));
    for (const Report& r : s.reports) CHECK((r.bit == 50 && r.reporter == 3 && r.index == -4 && r.bound == 10));
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
                   {1, 1, 300, 700},
                   {1, 1, 603, 1500},
                   {2, 300, 1, 1025}})
      for (int layout = 0; layout < 4; ++layout)
        for (bool epilogue : {false, true}) {
          Kernel kernel;
          kernel.kind = Kernel::Kind::product;
          Product& p = *kernel.product;
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
