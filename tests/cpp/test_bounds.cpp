// The look at a plan before it runs: what lies in its memory passes, one element further is an error.
#include <catch2/catch_test_macros.hpp>

#include "base/error.hpp"
#include "plan/bounds.hpp"

using namespace sg;

namespace {

// A plan of one kernel over two memories of so many float32 elements: leaf 0 is read, output 0 is written.
Plan plan_of(Kernel kernel, int64_t read, int64_t written) {
  Plan plan;
  plan.memories = {{.kind = Memory::Kind::leaf, .bytes = 4 * read},
                   {.kind = Memory::Kind::output, .bytes = 4 * written}};
  plan.leaves = plan.outputs = plan.starts = 1;
  Instance instance;
  instance.kernel = std::move(kernel);
  instance.bindings = {{0, 0}, {1, -1}};
  plan.steps.push_back({"kernel", {std::move(instance)}});
  return plan;
}

Plan plan_of(ProgramBuilder& b, int64_t read, int64_t written) {
  annotate(b.program);
  return plan_of(Kernel{.kind = Kernel::Kind::program, .program = b.program}, read, written);
}

View view(int32_t binding, const Dims& strides, int64_t offset = 0) {
  return {.binding = binding, .dtype = DType::float32, .strides = strides, .offset = offset};
}

bool fits(const Plan& plan, int64_t offset = 0) {
  try {
    check_bounds(plan, &offset);
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Loads with the first view, stores what was loaded with the second.
ProgramBuilder copying(const Dims& domain, const View& from, const View& to) {
  ProgramBuilder b;
  b.program.domain = domain;
  b.store(b.add_view(to), b.load(b.add_view(from)));
  return b;
}

}  // namespace

TEST_CASE("bounds: a view reaches from its first to its last corner", "[bounds]") {
  ProgramBuilder b = copying({3, 4}, view(0, {-4, 2}, 8), view(1, {4, 1}));
  CHECK(fits(plan_of(b, 15, 12)));
  CHECK_FALSE(fits(plan_of(b, 14, 12)));  // element 8 + 3 * 2
  CHECK_FALSE(fits(plan_of(b, 15, 11)));
  CHECK(fits(plan_of(b, 16, 12), 1));
  CHECK_FALSE(fits(plan_of(b, 16, 12), 2));
  CHECK_FALSE(fits(plan_of(b, 16, 12), -1));  // element 8 - 2 * 4 - 1
  try {
    const int64_t offset = 0;
    check_bounds(plan_of(b, 14, 12), &offset);
  } catch (const Error& e) {
    CHECK(std::string(e.what()).starts_with("run: kernel kernel reaches elements 0 to 14 of m0, which has 14; please"));
  }
}

TEST_CASE("bounds: nothing is touched where nothing is", "[bounds]") {
  ProgramBuilder none = copying({0, 4}, view(0, {4, 1}, 100), view(1, {4, 1}, 100));
  CHECK(fits(plan_of(none, 1, 1)));
  ProgramBuilder rows;  // sums of empty rows are stored
  rows.program.domain = {5, 0};
  rows.program.inner = 1;
  rows.store(rows.add_view(view(1, {1, 0})), rows.reduce(Fold::sum, rows.load(rows.add_view(view(0, {9, 1})))));
  CHECK(fits(plan_of(rows, 1, 5)));
  CHECK_FALSE(fits(plan_of(rows, 1, 4)));
}

TEST_CASE("bounds: the last piece of a row is shorter", "[bounds]") {
  ProgramBuilder b;
  b.program.domain = {4, 3};  // 4 pieces of 3 cover a row of 10
  b.program.inner = 1;
  b.program.piece_limit = 10;
  b.store(b.add_view(view(1, {1, 0})), b.reduce(Fold::sum, b.load(b.add_view(view(0, {3, 1})))));
  CHECK(fits(plan_of(b, 10, 4)));
  CHECK_FALSE(fits(plan_of(b, 9, 4)));
  CHECK_FALSE(fits(plan_of(b, 10, 3)));
}

TEST_CASE("bounds: sums over rows have a row of sums for each part", "[bounds]") {
  ProgramBuilder b;
  b.program.domain = {10, 6};
  b.program.inner = 1;
  b.program.part_rows = 4;  // 3 parts
  b.sum_rows(b.add_view(view(1, {0, 1})), b.load(b.add_view(view(0, {6, 1}))));
  CHECK(fits(plan_of(b, 60, 18)));
  CHECK_FALSE(fits(plan_of(b, 60, 17)));
  CHECK_FALSE(fits(plan_of(b, 59, 18)));
}

TEST_CASE("bounds: operands of products", "[bounds]") {
  Kernel k{.kind = Kernel::Kind::product};
  Product& p = *k.product;
  p.m = 2, p.n = 3, p.k = 4;
  p.a_m = 4, p.a_k = 1, p.b_k = 3, p.b_n = 1;
  p.a_binding = 0, p.b_binding = 0;
  ProgramBuilder b = copying({1, 2, 3}, view(-1, {6, 3, 1}), view(1, {6, 3, 1}));
  p.epilogue = b.program;
  CHECK(fits(plan_of(k, 12, 6)));
  CHECK_FALSE(fits(plan_of(k, 11, 6)));
  CHECK_FALSE(fits(plan_of(k, 12, 5)));
  p.inner = {.sizes = {2, 2}, .a = {1, 9}, .b = {3, 3}};
  p.columns = {.sizes = {3}, .a = {}, .b = {1}};
  CHECK(fits(plan_of(k, 15, 6)));  // element 1 * 4 + 1 + 9
  CHECK_FALSE(fits(plan_of(k, 14, 6)));
}
