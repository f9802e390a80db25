// Shapes and strides, broadcasting, and the views that ops make of them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "include/spirograd.hpp"

namespace {

using namespace sg;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

Tensor counted(const Dims& shape) { return reshape(arange(0, 1, shape.numel()), shape); }

}  // namespace

TEST_CASE("strides of a row-major tensor", "[shape]") {
  CHECK(contiguous_strides({2, 3, 4}) == Dims{12, 4, 1});
  CHECK(contiguous_strides({}) == Dims{});
  CHECK(is_contiguous({2, 3}, {3, 1}));
  CHECK_FALSE(is_contiguous({2, 3}, {1, 2}));
  CHECK(is_contiguous({1, 3}, {99, 1}));  // a size of 1 has no say
  CHECK(is_contiguous({0, 3}, {7, 7}));   // nor has an empty tensor
  CHECK(Dims{2, 0, 3}.numel() == 0);
  CHECK(Dims{}.numel() == 1);
}

TEST_CASE("shapes broadcast as in NumPy", "[shape]") {
  CHECK(broadcast_shapes("add", {2, 3}, {3}) == Dims{2, 3});
  CHECK(broadcast_shapes("add", {2, 1}, {1, 4}) == Dims{2, 4});
  CHECK(broadcast_shapes("add", {}, {5}) == Dims{5});
  CHECK(broadcast_shapes("add", {1}, {0}) == Dims{0});
  CHECK_THROWS_MATCHES(broadcast_shapes("add", {2, 3}, {4}), ValueError,
                       MessageMatches(ContainsSubstring("add: shapes do not broadcast, [2, 3] and [4] (3 vs 4)")));
  CHECK_THROWS_AS(broadcast_shapes("add", {0}, {2}), ValueError);
  CHECK(broadcast_strides({3}, {1}, {2, 3}) == Dims{0, 1});
  CHECK(broadcast_strides({2, 1}, {1, 1}, {2, 4}) == Dims{1, 0});
}

TEST_CASE("axes count from either end", "[shape]") {
  CHECK(normal_axis("sum", -1, 3) == 2);
  CHECK(normal_axis("sum", 0, 0) == 0);
  CHECK(normal_axis("sum", -1, 0) == 0);
  CHECK_THROWS_AS(normal_axis("sum", 3, 3), IndexError);
  CHECK_THROWS_AS(normal_axis("sum", -4, 3), IndexError);
}

TEST_CASE("a ninth dimension is refused", "[shape]") {
  Dims d = Dims::filled(8, 1);
  CHECK_THROWS_AS(d.push(1), ValueError);
}

TEST_CASE("reshape is a view when strides allow it", "[graph]") {
  const Tensor x = counted({2, 3, 4});
  CHECK(reshape(x, {6, 4})->storage == x->storage);
  CHECK(reshape(x, {-1}).shape() == Dims{24});
  CHECK(reshape(transpose(x, 1, 2), {2, 12})->storage.get() != x->storage.get());
  CHECK(reshape(transpose(x, 1, 2), {2, 4, 3, 1})->storage == x->storage);
  CHECK(values(reshape(transpose(x, 1, 2), {24}))[1] == 4);
  CHECK_THROWS_AS(reshape(x, {5, 5}), ValueError);
  CHECK_THROWS_AS(reshape(x, {-1, -1}), ValueError);
  CHECK_THROWS_AS(reshape(x, {-1, 5}), ValueError);
}

TEST_CASE("slices, permutations and expansions compose", "[graph]") {
  const Tensor x = counted({4, 6});
  const Tensor y = transpose(slice(slice(x, 0, 1, 3, 1), 1, 1, 3, 2), 0, 1);  // rows 1..3, columns 1, 3, 5
  CHECK(y->storage == x->storage);
  CHECK(values(y) == std::vector<float>{7, 13, 19, 9, 15, 21, 11, 17, 23});
  const Tensor z = expand(select(x, 0, -1), {2, 6});
  CHECK(values(z) == std::vector<float>{18, 19, 20, 21, 22, 23, 18, 19, 20, 21, 22, 23});
  CHECK_THROWS_AS(expand(x, {4, 7}), ValueError);
  CHECK_THROWS_AS(permute(x, {0, 0}), ValueError);
  CHECK_THROWS_AS(permute(x, {0}), ValueError);
  CHECK_THROWS_AS(select(x, 0, 4), IndexError);
}

TEST_CASE("empty tensors pass through every kind of op", "[graph]") {
  const Tensor x = full({3, 0, 2}, 1);
  const Tensor y = transpose(x * 2, 0, 2) + 1;  // read across: no size may become a divisor
  CHECK(y.shape() == Dims{2, 0, 3});
  CHECK(values(y).empty());
  CHECK(values(sum(transpose(x * 2, 0, 1), 1u << 0)) == std::vector<float>(6, 0.f));
  CHECK(values(matmul(full({2, 0}, 1), full({0, 3}, 1))) == std::vector<float>(6, 0.f));
  CHECK(values(matmul(full({0, 2}, 1), full({2, 3}, 1))).empty());
  CHECK(values(softmax(full({0, 4}, 1), 1)).empty());
  CHECK_THROWS_AS(amax(x, 1u << 1), ValueError);
}

TEST_CASE("shapes are refused at the line that is wrong", "[graph]") {
  CHECK_THROWS_MATCHES(matmul(counted({2, 3}), counted({4, 5})), ValueError,
                       MessageMatches(ContainsSubstring("matmul: inner sizes differ, [2, 3] @ [4, 5] (3 vs 4)")));
  CHECK_THROWS_AS(matmul(counted({2, 2, 3}), counted({3, 3, 3})), ValueError);
  CHECK_THROWS_AS(matmul(Tensor(2), counted({2, 2})), TypeError);
  CHECK_THROWS_AS(Tensor(2) * Tensor(3), TypeError);
  CHECK_THROWS_AS(full({int64_t{1} << 40, int64_t{1} << 40}, 0), ValueError);
  CHECK_THROWS_AS(full({-1}, 0), ValueError);
  CHECK_THROWS_AS(cross_entropy(counted({2, 3}), counted({2})), TypeError);
}

TEST_CASE("types promote as in PyTorch", "[graph]") {
  const Tensor f = counted({2}), i = arange(0, 1, 2, DType::int32), l = arange(0, 1, 2, DType::int64);
  CHECK((f + i).dtype() == DType::float32);
  CHECK((i + l).dtype() == DType::int64);
  CHECK((i * 2).dtype() == DType::int32);
  CHECK((i * 2.5).dtype() == DType::float32);
  CHECK((i / 2).dtype() == DType::float32);
  CHECK((f < i).dtype() == DType::boolean);
  CHECK(((f < i) + 1).dtype() == DType::int64);
  CHECK(sum(i, {0}).dtype() == DType::int64);
  CHECK(mean(i).dtype() == DType::float32);
  CHECK((cast(f, DType::float64) * f).dtype() == DType::float64);
  CHECK((f * 1e300).dtype() == DType::float32);
}
