// Products of bfloat16 on the CPU, by each kind of instruction that the machine has.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "device/cpu/gemm_bfloat16.hpp"

using namespace sg;

namespace {

struct Case {
  int64_t m, n, k, a_m, a_k, b_k, b_n, c_m, c_n;
  bool add;
};

double value(uint16_t x) { return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(x) << 16)); }

// A few small whole numbers: every sum is exact, in any order.
std::vector<uint16_t> numbers(size_t count, std::mt19937& random) {
  std::vector<uint16_t> all(count);
  for (uint16_t& x : all) {
    const auto number = static_cast<float>(static_cast<int>(random() % 9) - 4);
    x = static_cast<uint16_t>(std::bit_cast<uint32_t>(number) >> 16);
  }
  return all;
}

size_t reach(int64_t m, int64_t a_m, int64_t k, int64_t a_k) {
  return m && k ? static_cast<size_t>((m - 1) * a_m + (k - 1) * a_k + 1) : 1;
}

void check(cpu::GemmBfloat16 gemm, const Case& c, std::mt19937& random) {
  const std::vector<uint16_t> a = numbers(reach(c.m, c.a_m, c.k, c.a_k), random),
                              b = numbers(reach(c.k, c.b_k, c.n, c.b_n), random);
  std::vector<float> out(reach(c.m, c.c_m, c.n, c.c_n) + 64, 7);
  std::vector<std::byte> scratch(static_cast<size_t>(cpu::kBfloat16Scratch), std::byte{0xff});  // NaN
  std::vector<float> expected = out;
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < c.n; ++j) {
      double sum = c.add ? 7 : 0;
      for (int64_t p = 0; p < c.k; ++p)
        sum +=
            value(a[static_cast<size_t>(i * c.a_m + p * c.a_k)]) * value(b[static_cast<size_t>(p * c.b_k + j * c.b_n)]);
      expected[static_cast<size_t>(i * c.c_m + j * c.c_n)] = static_cast<float>(sum);
    }
  gemm(
      {a.data(), b.data(), out.data(), c.m, c.n, c.k, c.a_m, c.a_k, c.b_k, c.b_n, c.c_m, c.c_n, c.add, scratch.data()});
  CAPTURE(c.m, c.n, c.k, c.a_m, c.a_k, c.b_k, c.b_n, c.c_m, c.c_n, c.add);
  CHECK(out == expected);
}

void check_all(cpu::GemmBfloat16 gemm) {
  if (!gemm) SKIP("this processor has no such instructions");
  std::mt19937 random(1);
  const int64_t sizes[] = {1, 2, 15, 16, 17, 31, 32, 33, 65};
  for (int64_t m : sizes)
    for (int64_t n : sizes)
      for (int64_t k : {0, 1, 2, 31, 33, 64, 513}) {
        const bool add = (m + n + k) % 2;
        check(gemm, {m, n, k, k, 1, n, 1, n, 1, add}, random);              // as they are
        check(gemm, {m, n, k, 1, m, 1, k, n, 1, !add}, random);             // both transposed
        check(gemm, {m, n, k, 3 * k, 3, 2 * n, 2, n + 5, 1, add}, random);  // with gaps
        check(gemm, {m, n, k, 0, 1, n, 1, 1, m, add}, random);              // one row, the result transposed
      }
  check(gemm, {400, 40, 1100, 1100, 1, 40, 1, 40, 1, true}, random);  // more rows and more of k than a panel has
}

}  // namespace

TEST_CASE("cpu: bfloat16 products by tiles are exact where sums are", "[cpu]") { check_all(cpu::bfloat16_by_tiles()); }
TEST_CASE("cpu: bfloat16 products by vectors are exact where sums are", "[cpu]") {
  check_all(cpu::bfloat16_by_vectors());
}
