// Rows at computed places on the CPU: which are found, what a wrong number does.
#include <memory>
#include <utility>
#include <vector>

#include "test_cpu_reference.hpp"

namespace {

using namespace sg;
using namespace sg::cpu_test;

// Rows of `table` (binding 1) by the numbers in binding 0, `step` apart, to binding 2.
Program rows_of(int64_t rows, int64_t width, DType number, DType t, int64_t limit, int64_t step = 1) {
  ProgramBuilder b;
  b.program.domain = {rows, width};
  const Expr at = b.cast(b.load(b.add_view(view(0, {step, 0}, number))), DType::int64);
  const Expr found =
      b.alu(Code::check_index, DType::int64, b.alu(Code::add, DType::int64, at, b.constant_int(DType::int64, 10)),
            b.constant_int(DType::int64, limit));
  const Expr row = b.alu(Code::mul, DType::int64, found, b.constant_int(DType::int64, width));
  View table = view(1, {0, 0}, t);
  table.reach = limit * width;
  const Expr x = b.load_at(b.add_view(table),
                           b.alu(Code::add, DType::int64, b.index(b.add_view(view(-1, {0, 1}, DType::int64))), row));
  b.store(b.add_view(view(2, {width, 1}, t)), x);
  return b.program;
}

}  // namespace

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

TEST_CASE("cpu: rows by number, of every type, as many as tiles hold and more or less", "[cpu]") {
  for (DType t : {DType::boolean, DType::int32, DType::float64})
    for (int64_t rows : {1, 16, 65, 333})
      for (int64_t width : {1, 15, 16, 31, 257, 1500})
        for (DType number : {DType::int32, DType::int64}) {
          const Program p = rows_of(rows, width, number, t, 21);
          check(p, {{number, rows}, {t, 21 * width}, {t, rows * width}}, 2);
        }
}

TEST_CASE("cpu: rows by one number for all, and by every second number", "[cpu]") {
  for (int64_t step : {0, 2})
    for (DType number : {DType::int32, DType::int64}) {
      const Program p = rows_of(100, 40, number, DType::float32, 21, step);
      check(p, {{number, 200}, {DType::float32, 21 * 40}, {DType::float32, 4000}}, 2);
    }
}

TEST_CASE("cpu: rows of no rows, and rows of nothing", "[cpu]") {
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{0, 40}, {40, 0}}) {
    const Program p = rows_of(rows, width, DType::int64, DType::float32, 21);
    check(p, {{DType::int64, rows}, {DType::float32, 21 * width}, {DType::float32, rows * width}}, 2);
  }
}

TEST_CASE("cpu: a row whose number is read from another table, and a factor a row", "[cpu]") {
  for (int64_t width : {20, 300}) {
    ProgramBuilder b;
    b.program.domain = {3, 70, width};
    const auto number = [&](Expr at, int32_t binding) {
      View table = view(binding, {0, 0, 0}, DType::int64);
      table.reach = 21;
      return b.alu(Code::add, DType::int64, b.load_at(b.add_view(table), at), b.constant_int(DType::int64, 10));
    };
    const Expr first = b.alu(Code::add, DType::int64, b.load(b.add_view(view(0, {140, 2, 0}, DType::int64))),
                             b.constant_int(DType::int64, 10));
    const Expr row = b.alu(Code::mul, DType::int64, number(first, 1), b.constant_int(DType::int64, width));
    const Expr at = b.alu(Code::add, DType::int64, b.index(b.add_view(view(-1, {0, 0, 1}, DType::int64))), row);
    View table = view(2, {0, 0, 0});
    table.reach = 21 * width;
    const Expr factor = b.load(b.add_view(view(3, {70, 1, 0})));
    const Expr x = b.alu(Code::mul, DType::float32, b.load_at(b.add_view(table), at), factor);
    b.store(b.add_view(view(4, {70 * width, width, 1})), x);
    b.store(b.add_view(view(5, {70, 1, 0}, DType::int64)), first);
    check(b.program,
          {{DType::int64, 420},
           {DType::int64, 21},
           {DType::float32, 21 * width},
           {DType::float32, 210},
           {DType::float32, 210 * width},
           {DType::int64, 210}},
          4);
  }
}

TEST_CASE("cpu: a row by a wrong number is row 0, the others are right, and the number is reported", "[cpu]") {
  const int64_t rows = 150, width = 40;
  Program p = rows_of(rows, width, DType::int64, DType::float32, 21);
  for (Instr& i : p.code)
    if (i.code == Code::check_index) i.imm.i = 1;
  std::vector<int64_t> numbers(rows);
  for (int64_t r = 0; r < rows; ++r) numbers[r] = r % 21 - 10;
  std::vector<float> table(21 * width), want(rows * width), got(rows * width);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
  numbers[70] = 11;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c) want[r * width + c] = table[(r == 70 ? 0 : numbers[r] + 10) * width + c];
  auto plan = std::make_shared<Plan>();
  const int64_t sizes[] = {rows * 8, 21 * width * 4, rows * width * 4};
  plan->memories = {{Memory::Kind::leaf, 0, sizes[0], 0, -1},
                    {Memory::Kind::leaf, 1, sizes[1], 0, -1},
                    {Memory::Kind::output, 0, sizes[2], 0, -1}};
  plan->leaves = 2, plan->outputs = 1;
  Instance instance;
  instance.kernel.program = p;
  instance.bindings = {{0, -1}, {1, -1}, {2, -1}};
  instance.checks = {0};
  plan->steps.push_back({"rows", {instance}});
  Device& device = cpu_device();
  const BufferRef leaves[] = {device.allocate(sizes[0]), device.allocate(sizes[1])}, out = device.allocate(sizes[2]);
  device.upload(leaves[0], numbers.data(), sizes[0]);
  device.upload(leaves[1], table.data(), sizes[1]);
  RunArguments arguments{leaves, &out, nullptr, nullptr};
  const uint64_t node = report_word(2, 1);
  arguments.nodes = &node;
  arguments.run = 1;
  Status s;
  arguments.status = &s;
  arguments.own = 1 << 2;
  device.run(*device.prepare(plan), arguments);
  device.download(got.data(), out, 0, sizes[2]);
  REQUIRE(s.reports.size() == 1);
  CHECK((s.reports[0].reporter == 1 && s.reports[0].index == 21 && s.reports[0].bound == 21));
  CHECK(got == want);
}

// Each row of x becomes the row of the table whose number stood at its beginning: the program writes where it reads.
TEST_CASE("cpu: numbers of rows are read before the rows go over them", "[cpu]") {
  const int64_t rows = 130, width = 1500;
  ProgramBuilder b;
  b.program.domain = {rows, width};
  const Expr row = b.alu(Code::mul, DType::int64, b.load(b.add_view(view(0, {width, 0}, DType::int64, 7))),
                         b.constant_int(DType::int64, width));
  View table = view(1, {0, 0}, DType::int64);
  table.reach = 5 * width;
  const Expr at = b.alu(Code::add, DType::int64, b.index(b.add_view(view(-1, {0, 1}, DType::int64))), row);
  b.store(b.add_view(view(2, {width, 1}, DType::int64)), b.load_at(b.add_view(table), at));
  std::vector<int64_t> x(rows * width), t(5 * width), want(rows * width);
  for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<int64_t>(i);
  for (int64_t r = 0; r < rows; ++r) x[r * width + 7] = r * r % 5;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c) want[r * width + c] = t[r * r % 5 * width + c];
  auto plan = std::make_shared<Plan>();
  const int64_t bytes = rows * width * 8, table_bytes = 5 * width * 8;
  plan->memories = {{Memory::Kind::leaf, 0, bytes, 0, -1},
                    {Memory::Kind::leaf, 1, table_bytes, 0, -1},
                    {Memory::Kind::output, 0, bytes, 0, 0}};
  plan->leaves = 2, plan->outputs = 1;
  Instance instance;
  instance.kernel.program = b.program;
  instance.bindings = {{0, -1}, {1, -1}, {2, -1}};
  plan->steps.push_back({"rows", {instance}});
  Device& device = cpu_device();
  const BufferRef leaves[] = {device.allocate(bytes), device.allocate(table_bytes)};
  device.upload(leaves[0], x.data(), bytes);
  device.upload(leaves[1], t.data(), table_bytes);
  device.run(*device.prepare(plan), {leaves, leaves, nullptr, nullptr});
  device.download(x.data(), leaves[0], 0, bytes);
  CHECK(x == want);
}
