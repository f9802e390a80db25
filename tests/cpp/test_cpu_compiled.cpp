// What a plan's kernels share.
#include <catch2/catch_test_macros.hpp>

#include "device/cpu/compiled.hpp"

using namespace sg;

namespace {

Program exponentials(int64_t n, int64_t offset = 0) {
  ProgramBuilder b;
  b.program.domain = {n};
  const Expr x = b.load(b.add_view({.binding = 0, .strides = {1}, .offset = offset}));
  b.store(b.add_view({.binding = 1, .strides = {1}}), b.alu(Code::exp, DType::float32, x));
  annotate(b.program);
  return std::move(b.program);
}

}  // namespace

TEST_CASE("equal programs on memories that overlap in the same way are compiled once", "[cpu]") {
  const std::vector<int32_t> apart = {0, 1}, one = {0, 0};
  cpu::Compiled compiled;
  const auto first = compiled.of(exponentials(8), {&apart, false});
  const int64_t bytes = compiled.bytes();
  CHECK(compiled.of(exponentials(8), {&apart, false}) == first);
  CHECK(compiled.bytes() == bytes);
  CHECK(compiled.of(exponentials(9), {&apart, false}) != first);
  CHECK(compiled.of(exponentials(8, 4), {&apart, false}) != first);
  CHECK(compiled.of(exponentials(8), {&one, false}) != first);
  CHECK(compiled.bytes() > 3 * bytes);
}
