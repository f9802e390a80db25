// What Python has of distributions and of folds without NaN, from C++.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "include/spirograd.hpp"

namespace {

using namespace sg;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("folds leave out what is no number", "[ops]") {
  const Tensor x = tensor({1, kNaN, 3, kNaN, 5, kNaN}, {3, 2});
  CHECK(item(nansum(x)) == 9);
  CHECK(item(nanmean(x)) == 3);
  CHECK(values(nansum(x, Dims{0})) == std::vector<float>{9, 0});
  CHECK(std::isnan(values(nanmean(x, Dims{-2}))[1]));
  CHECK(std::isnan(item(sum(x))));
}

TEST_CASE("the dimensions of a fold are bits, a list, or all", "[ops]") {
  const Tensor x = reshape(arange(0, 1, 6), {2, 3});
  CHECK(values(sum(x, 2u)) == std::vector<float>{3, 12});
  CHECK(values(sum(x, Dims{-1})) == std::vector<float>{3, 12});
  CHECK(sum(x, Dims{0, 1}, true).shape() == Dims{1, 1});
  CHECK(item(sum(x)) == 15);
  CHECK(sum(x, Axes(), false, DType::int32).dtype() == DType::int32);
  CHECK_THROWS_AS(sum(x, Dims{2}), IndexError);
  CHECK_THROWS_AS(sum(x, Dims{0, -2}), ValueError);
}

TEST_CASE("normal numbers have their mean and deviation, and one seed makes the same again", "[random]") {
  manual_seed(3);
  const std::vector<float> first = values(normal(Tensor(2.0), Tensor(0.5), {1000}));
  manual_seed(3);
  CHECK(values(normal(Tensor(2.0), Tensor(0.5), {1000})) == first);
  const Tensor x = tensor(first, {1000});
  CHECK(std::abs(item(mean(x)) - 2) < 0.1);
  CHECK(std::abs(item(std_of(x, {}, 1)) - 0.5) < 0.1);
  CHECK(normal(tensor({0, 1}, {2, 1}), tensor({1, 1, 1}, {3}), {}).shape() == Dims{2, 3});
  CHECK_THROWS_AS(normal(Tensor(0.0), Tensor(-1.0), {2}), ValueError);
}

TEST_CASE("tensors are filled with distributions", "[random]") {
  const Tensor x = empty({100});
  uniform_(x, 2, 3);
  CHECK(item(amin(x)) >= 2);
  CHECK(item(amax(x)) <= 3);
  bernoulli_(x, Tensor(1.0));
  CHECK(item(sum(x)) == 100);
  exponential_(x);
  CHECK(item(amin(x)) >= 0);
  random_(x, 0, 4);
  CHECK(item(amax(x)) <= 3);
  CHECK_THROWS_AS(normal_(empty({2}, DType::int32)), TypeError);
}

TEST_CASE("ranges, triangles and products under their Python names", "[ops]") {
  CHECK(values(arange_to(0, 1, 0.25)) == std::vector<float>{0, 0.25, 0.5, 0.75});
  CHECK(values(logspace(0, 3, 4, 2)) == std::vector<float>{1, 2, 4, 8});
  CHECK(values(eye(2)) == std::vector<float>{1, 0, 0, 1});
  CHECK(values(zeros({2})) == std::vector<float>{0, 0});
  CHECK(new_ones(zeros({2}, DType::int64), {3}).dtype() == DType::int64);
  CHECK(randperm(4).dtype() == DType::int64);
  CHECK(values(tril_indices(2, 2)) == std::vector<float>{0, 1, 1, 0, 0, 1});
  CHECK(triu_indices(0, 3).shape() == Dims{2, 0});
  CHECK(tensordot(tensor({1, 2}, {1, 2}), tensor({3, 4}, {2, 1}), 1).shape() == Dims{1, 1});
  CHECK(item(cast(all_equal(tensor({1}, {1}), tensor({1, 1}, {2})), DType::float32)) == 0);
}
