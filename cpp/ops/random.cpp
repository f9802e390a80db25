// Distributions made of the uniform and normal numbers of ops/create.cpp, in place or not.
#include <limits>
#include <numbers>

#include "base/error.hpp"
#include "ops/index.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {

void check_real(const char* op, DType t) {
  if (!is_float(t))
    fail<TypeError>(op, std::string("dtype ") + name_of(t) + " has no such numbers", "use a floating type");
}

namespace {

// One launch: the numbers are computed where they are written.
void fill(const Tensor& x, const Tensor& values) { copy_(x, cast(values, x.dtype())); }

// In [0, 1): in float64 all 53 bits, otherwise the 24 of float32.
Tensor uniform(const Dims& shape, DeviceId device, Generator& from, DType dtype) {
  if (dtype != DType::float64) return rand(shape, device, from);
  return cast(bitwise_right_shift(random_bits(shape, device, from), Tensor(9)), dtype) * 0x1p-53;
}
// Standard normal numbers: those of float64 are made of two uniform ones of its own (Box and Muller, 1958).
Tensor standard_normal(const Dims& shape, DeviceId device, Generator& from, DType dtype) {
  if (dtype != DType::float64) return cast(randn(shape, device, from), dtype);
  const Tensor radius = sqrt(log1p(-uniform(shape, device, from, dtype)) * -2.0);
  return radius * cos(uniform(shape, device, from, dtype) * (2 * std::numbers::pi));
}
Tensor uniform_like(const Tensor& x, Generator& from) { return uniform(x.shape(), x.device(), from, x.dtype()); }

Tensor plain(const Tensor& t) { return t.is_number() ? t : t.detach(); }

// A tensor is checked where it is computed.
Tensor probability(const char* op, const Tensor& p) {
  if (!p.is_number()) return check_parameter(op, p, (p >= 0) * (p <= 1));
  if (!(value_of(p) >= 0 && value_of(p) <= 1))
    fail<ValueError>(op, "p " + std::to_string(value_of(p)) + " is no probability", "use a number in [0, 1]");
  return p;
}

// One more than the largest integer that a type holds exactly, at most 2^62.
int64_t end_of(DType t) {
  switch (t) {
    case DType::boolean:
      return 2;
    case DType::uint8:
      return 1 << 8;
    case DType::int8:
      return 1 << 7;
    case DType::int16:
      return 1 << 15;
    case DType::int32:
      return int64_t{1} << 31;
    case DType::int64:
      return int64_t{1} << 62;
    case DType::float16:
      return (1 << 11) + 1;
    case DType::bfloat16:
      return (1 << 8) + 1;
    case DType::float32:
      return (1 << 24) + 1;
    default:
      return (int64_t{1} << 53) + 1;
  }
}

// The least positive number of a type, or the least that has all its bits.
double least_of(DType t) {
  return t == DType::float16   ? 0x1p-24
         : t == DType::float64 ? std::numeric_limits<double>::min()
                               : double{std::numeric_limits<float>::min()};
}

// ---- parameters that are tensors: a kernel reports those out of range, as an index is reported -----------------------
struct Parameter {
  OpInfo row;
  const char* fault;
};
constexpr Parameter parameter(const char* op, const char* fault) {
  return {check_row(op, "Checks that a parameter is in range."), fault};
}
const Parameter kParameters[] = {
    parameter("bernoulli", "a probability is not in [0, 1]"),
    parameter("bernoulli_", "a probability is not in [0, 1]"),
    parameter("binary_cross_entropy", "an input or a target is not in [0, 1]"),
    parameter("binomial", "a probability is not in [0, 1], or a count is negative"),
    parameter("multinomial", "a weight is negative, infinite or NaN, or all of a row are 0"),
    parameter("normal", "a std is negative or NaN"),
    parameter("poisson", "a rate is negative, infinite or NaN"),
};

}  // namespace

const char* parameter_fault(const std::string& op) {
  for (const Parameter& p : kParameters)
    if (op == p.row.name) return p.fault;
  return nullptr;
}

Tensor check_parameter(const std::string& op, const Tensor& x, const Tensor& good) {
  for (const Parameter& p : kParameters) {
    if (op != p.row.name) continue;
    const Tensor none = pointwise(p.row, {cast(logical_not(good.detach()), DType::int64), Tensor(int64_t{1})});
    return x + cast(none, x.dtype());
  }
  fail<ValueError>(op, "no parameter of it is checked", "add it to kParameters");
}

namespace {
Tensor normal_in_type(const char* op, const Dims& shape, DeviceId device, Generator& from, DType dtype) {
  check_real(op, dtype);
  return standard_normal(shape, device, from, dtype);
}
// Half types keep as many bits as they hold below 1, which rounding would reach.
Tensor uniform_in_type(const char* op, const Dims& shape, DeviceId device, Generator& from, DType dtype) {
  check_real(op, dtype);
  const double steps = dtype == DType::float16 ? 1 << 11 : dtype == DType::bfloat16 ? 1 << 8 : 0;
  const Tensor drawn = uniform(shape, device, from, dtype);
  return cast(steps > 0 ? floor(drawn * steps) * (1 / steps) : drawn, dtype);
}
}  // namespace

Tensor rand(const Dims& size, Generator& from, std::optional<DType> dtype, DeviceId device) {
  return uniform_in_type("rand", size, device, from, dtype.value_or(default_float()));
}
Tensor randn(const Dims& size, Generator& from, std::optional<DType> dtype, DeviceId device) {
  return normal_in_type("randn", size, device, from, dtype.value_or(default_float()));
}
Tensor rand_like(const Tensor& x, Generator& from, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return uniform_in_type("rand_like", x.shape(), device.value_or(x.device()), from, dtype.value_or(x.dtype()));
}
Tensor randn_like(const Tensor& x, Generator& from, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return normal_in_type("randn_like", x.shape(), device.value_or(x.device()), from, dtype.value_or(x.dtype()));
}

Tensor bernoulli(const Tensor& p, Generator& from) {
  check_real("bernoulli", p.dtype());
  const Tensor chance = probability("bernoulli", cast(p.detach(), wide_of(p.dtype())));
  Tensor drawn = cast(uniform_like(p, from) < chance, p.dtype());
  record_gradient(ops::Sign, drawn, {&p});  // a step, as in PyTorch
  return drawn;
}
Tensor bernoulli_like(const Tensor& x, double p, Generator& from) {
  return cast(uniform_like(x, from) < probability("bernoulli", p), x.dtype());
}

Tensor normal(const Tensor& mean, const Tensor& deviation, const Dims& size, DType dtype, DeviceId device,
              Generator& from) {
  if (deviation.is_number() && !(value_of(deviation) >= 0))
    fail<ValueError>("normal", "std " + std::to_string(value_of(deviation)) + " is negative", "use 0 or more");
  Dims shape = size;
  for (const Tensor* t : {&mean, &deviation})
    if (!t->is_number()) shape = broadcast_shapes("normal", shape, t->shape());
  check_real("normal", dtype);
  Tensor scale = plain(deviation);
  if (!scale.is_number()) scale = check_parameter("normal", scale, scale >= 0);
  Tensor drawn = standard_normal(shape, device, from, dtype) * scale + plain(mean);
  record_gradient(ops::FloorDivide, drawn, {&mean, &deviation});  // a step in both, as in PyTorch
  return drawn;
}

void uniform_(const Tensor& x, double low, double high, Generator& from) {
  check_real("uniform_", x.dtype());
  if (!(low <= high))
    fail<ValueError>("uniform_", "from " + std::to_string(low) + " lies above to " + std::to_string(high), "swap them");
  const Tensor drawn = cast(uniform_like(x, from) * (high - low) + low, x.dtype());
  fill(x, where(drawn < high, drawn, low));  // which rounding may have reached
}

void normal_(const Tensor& x, double mean, double deviation, Generator& from) {
  check_real("normal_", x.dtype());
  if (!(deviation >= 0))
    fail<ValueError>("normal_", "std " + std::to_string(deviation) + " is negative", "use 0 or more");
  const DType wide = wide_of(x.dtype());  // rounded once
  fill(x, standard_normal(x.shape(), x.device(), from, wide) * deviation + mean);
}

void exponential_(const Tensor& x, double rate, Generator& from) {
  check_real("exponential_", x.dtype());
  if (!(rate > 0)) fail<ValueError>("exponential_", "lambd " + std::to_string(rate) + " is not above 0", "use a rate");
  // 1 - u is in (0, 1], so that the logarithm is finite. Where u is 0, half a step stands for it: no draw is 0.
  const Tensor u = maximum(uniform_like(x, from), x.dtype() == DType::float64 ? 0x1p-54 : 0x1p-25);
  fill(x, maximum(log1p(-u) / -rate, least_of(x.dtype())));
}

void bernoulli_(const Tensor& x, const Tensor& p, Generator& from) {
  fill(x, uniform_like(x, from) < probability("bernoulli_", plain(p)));
}

void random_(const Tensor& x, int64_t low, std::optional<int64_t> high, Generator& from) {
  fill(x, randint(low, high.value_or(end_of(x.dtype())), x.shape(), DType::int64, x.device(), from));
}

}  // namespace sg
