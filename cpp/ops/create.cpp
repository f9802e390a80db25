// Tensors made from numbers and positions alone, random ones included. Owns the default generator; reads no tensor.
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "graph/watcher.hpp"
#include "kernel/expr.hpp"
#include "ops/index.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

Expr emit_full(ProgramBuilder& builder, const Node& node, const Expr* in) { return builder.cast(in[0], node.dtype); }

Expr emit_arange(ProgramBuilder& builder, const Node& node, const Expr* in) {
  const Expr position = builder.cast(in[0], in[1].dtype);
  return builder.cast(in[1] + position * in[2], node.dtype);
}

Expr unit(ProgramBuilder& builder, Expr word, Expr seed, Expr offset) {
  const Expr bits = builder.alu(Code::random_bits, DType::int32, word, seed, offset);
  return builder.alu(Code::unit_float, DType::float32, bits);
}

Expr emit_rand(ProgramBuilder& builder, const Node&, const Expr* in) { return unit(builder, in[0], in[1], in[2]); }

Expr emit_randn(ProgramBuilder& builder, const Node&, const Expr* in) {
  return builder.alu(Code::random_normal, DType::float32, in[0], in[1], in[2]);
}

Expr emit_random_bits(ProgramBuilder& builder, const Node&, const Expr* in) {
  return builder.alu(Code::random_wide, DType::int64, in[0], in[1], in[2]);
}

// The stream moves on by whole blocks of four words, however many are used, so where the next draw begins follows from
// sizes alone.
Tensor random(const OpInfo& op, const Dims& shape, DeviceId device, Generator& from, int64_t words_each,
              DType dtype = DType::float32) {
  check_size(op.name, shape);
  const int64_t words = words_each * shape.numel();
  const int64_t blocks = (words + 3) / 4;
  const ReplaySlot slot = watcher ? watcher->draws(from, blocks) : ReplaySlot();
  const int64_t at = from.blocks.fetch_add(blocks);
  return generate(op, shape, dtype, device, true, {Number{.i = from.seed}, Number{.i = at}}, DType::int64, slot);
}

}  // namespace

namespace ops {
const OpInfo Full{
    .name = "full", .doc = "A tensor of one value.", .kind = Kind::pointwise, .arity = 1, .emit = emit_full};
const OpInfo Arange{
    .name = "arange", .doc = "start + step * position.", .kind = Kind::pointwise, .arity = 3, .emit = emit_arange};
const OpInfo Rand{.name = "rand",
                  .doc = "Uniform in [0, 1), from Philox4x32-10: the same bits on every device.",
                  .kind = Kind::pointwise,
                  .arity = 3,
                  .emit = emit_rand};
const OpInfo Randn{.name = "randn",
                   .doc = "Standard normal, from Philox4x32-10 by Box and Muller.",
                   .kind = Kind::pointwise,
                   .arity = 3,
                   .emit = emit_randn};
const OpInfo RandomBits{.name = "random_bits",
                        .doc = "62 random bits as an integer, from Philox4x32-10.",
                        .kind = Kind::pointwise,
                        .arity = 3,
                        .emit = emit_random_bits};
const OpInfo Empty{.name = "empty", .doc = "Memory of undefined contents.", .kind = Kind::memory, .arity = 0};
}  // namespace ops

Tensor full(const Dims& shape, double value, DType dtype, DeviceId device) {
  if (dtype == DType::boolean) return full_int(shape, value != 0, dtype, device);
  if (!is_float(dtype)) return full_int(shape, static_cast<int64_t>(value), dtype, device);
  return generate(ops::Full, shape, dtype, device, false, {Number{.f = value}}, dtype);
}
Tensor full_int(const Dims& shape, int64_t value, DType dtype, DeviceId device) {
  return generate(ops::Full, shape, dtype, device, false, {Number{.i = value}}, dtype);
}
Tensor empty(const Dims& size, std::optional<DType> dtype, DeviceId device) {
  return memory(ops::Empty, size, dtype.value_or(default_float()), device);
}
Tensor zeros(const Dims& size, std::optional<DType> dtype, DeviceId device) {
  return full(size, 0, dtype.value_or(default_float()), device);
}
Tensor ones(const Dims& size, std::optional<DType> dtype, DeviceId device) {
  return full(size, 1, dtype.value_or(default_float()), device);
}
Tensor new_empty(const Tensor& x, const Dims& size, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return empty(size, dtype.value_or(x.dtype()), device.value_or(x.device()));
}
Tensor new_zeros(const Tensor& x, const Dims& size, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return zeros(size, dtype.value_or(x.dtype()), device.value_or(x.device()));
}
Tensor new_ones(const Tensor& x, const Dims& size, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return ones(size, dtype.value_or(x.dtype()), device.value_or(x.device()));
}
Tensor new_full(const Tensor& x, const Dims& size, const Tensor& number, std::optional<DType> dtype,
                std::optional<DeviceId> device) {
  return filled(size, number, dtype.value_or(x.dtype()), device.value_or(x.device()));
}
Tensor empty_like(const Tensor& x, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return new_empty(x, x.shape(), dtype, device);
}
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return new_zeros(x, x.shape(), dtype, device);
}
Tensor ones_like(const Tensor& x, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return new_ones(x, x.shape(), dtype, device);
}
Tensor full_like(const Tensor& x, const Tensor& number, std::optional<DType> dtype, std::optional<DeviceId> device) {
  return new_full(x, x.shape(), number, dtype, device);
}

Tensor arange(double start, double step, int64_t count, DType dtype, DeviceId device) {
  if (!is_float(dtype))
    return arange_int(static_cast<int64_t>(start), static_cast<int64_t>(step), count, dtype, device);
  return generate(ops::Arange, {count}, dtype, device, true, {Number{.f = start}, Number{.f = step}}, dtype);
}
Tensor arange_int(int64_t start, int64_t step, int64_t count, DType dtype, DeviceId device) {
  const std::initializer_list<Number> numbers = {Number{.i = start}, Number{.i = step}};
  return generate(ops::Arange, {count}, dtype, device, true, numbers, DType::int64);
}

Tensor filled(const Dims& shape, const Tensor& number, std::optional<DType> type, DeviceId device) {
  const DType dtype = type.value_or(number.dtype() == DType::float64 ? default_float() : number.dtype());
  if (is_float(number.dtype())) return full(shape, number->number.f, dtype, device);
  if (is_float(dtype)) return full(shape, static_cast<double>(number->number.i), dtype, device);
  return full_int(shape, number->number.i, dtype, device);
}

namespace {

[[noreturn]] void no_range() {
  fail<ValueError>("arange", "step 0 or a bound that is not finite", "use a finite range");
}
[[noreturn]] void leads_away(const std::string& start, const std::string& end, const std::string& step) {
  fail<ValueError>("arange", "the step leads away from the end, " + start + " to " + end + " by " + step,
                   "change its sign");
}
[[noreturn]] void too_many(const std::string& count) { fail<ValueError>("arange", count + " elements", "use fewer"); }

int64_t steps_between(int64_t start, int64_t end, int64_t step) {
  if (step == 0) no_range();
  if (start != end && (start < end) != (step > 0))
    leads_away(std::to_string(start), std::to_string(end), std::to_string(step));
  const auto distance = [](int64_t low, int64_t high) {
    return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  };
  const uint64_t way = step > 0 ? distance(start, end) : distance(end, start);
  const uint64_t each = step > 0 ? distance(0, step) : distance(step, 0);
  const uint64_t count = way / each + (way % each != 0);
  if (count > static_cast<uint64_t>(kMaxElements)) too_many(std::to_string(count));
  return static_cast<int64_t>(count);
}

void check_bounds(const char* op, double start, double end, int64_t steps) {
  if (steps < 0) fail<ValueError>(op, std::to_string(steps) + " steps", "use 0 or more");
  if (!std::isfinite(start) || !std::isfinite(end)) fail<ValueError>(op, "a bound is not finite", "use a finite range");
}

}  // namespace

Tensor arange_int_to(int64_t start, int64_t end, int64_t step, DType dtype, DeviceId device) {
  return arange_int(start, step, steps_between(start, end, step), dtype, device);
}
Tensor arange_to(double start, double end, double step, DType dtype, DeviceId device) {
  if (step == 0 || !std::isfinite(start) || !std::isfinite(end) || !std::isfinite(step)) no_range();
  const double way = (end - start) / step, count = std::ceil(way);
  if (way < 0) leads_away(std::to_string(start), std::to_string(end), std::to_string(step));
  if (!(count <= static_cast<double>(kMaxElements))) too_many(std::to_string(count));
  return arange(start, step, static_cast<int64_t>(count), dtype, device);
}

Tensor arange_to(IntOrReal start, IntOrReal end, IntOrReal step, std::optional<DType> type, DeviceId device) {
  const int64_t *i = std::get_if<int64_t>(&start), *j = std::get_if<int64_t>(&end), *k = std::get_if<int64_t>(&step);
  const bool integers = i && j && k;
  const DType dtype = type.value_or(integers ? DType::int64 : default_float());
  if (integers && !is_float(dtype)) return arange_int_to(*i, *j, *k, dtype, device);
  const auto real = [&](const IntOrReal& v) {
    const double x = std::visit([](auto n) { return static_cast<double>(n); }, v);
    return type == DType::int64 ? std::trunc(x) : x;
  };
  return arange_to(real(start), real(end), real(step), dtype, device);
}

Tensor logspace(double start, double end, int64_t steps, double base, std::optional<DType> type, DeviceId device) {
  check_bounds("logspace", start, end, steps);
  const DType dtype = type.value_or(default_float()), compute = is_float(dtype) ? dtype : DType::float64;
  if (!is_float(dtype)) start = std::trunc(start), end = std::trunc(end);
  return cast(pow(Tensor(base), linspace(start, end, steps, compute, device)), dtype);
}
Tensor linspace(double start, double end, int64_t steps, std::optional<DType> type, DeviceId device) {
  check_bounds("linspace", start, end, steps);
  const DType dtype = type.value_or(default_float()), compute = is_float(dtype) ? dtype : DType::float64;
  if (!is_float(dtype)) start = std::trunc(start), end = std::trunc(end);
  if (steps == 1) return cast(full({1}, start, compute, device), dtype);
  const Tensor i = arange(0, 1, steps, compute, device);
  const auto last = static_cast<double>(steps - 1);
  const double step = (end - start) / last;
  // Counted from the nearer end, so that both ends are exact.
  return cast(where(i < static_cast<double>(steps / 2), start + i * step, end - (last - i) * step), dtype);
}

Tensor eye(int64_t rows, std::optional<int64_t> m, std::optional<DType> dtype, DeviceId device) {
  const int64_t columns = m.value_or(rows);
  if (rows < 0 || columns < 0)
    fail<ValueError>("eye", "negative size [" + std::to_string(rows) + ", " + std::to_string(columns) + "]",
                     "use sizes of 0 or more");
  const Tensor i = arange(0, 1, rows, DType::int64, device), j = arange(0, 1, columns, DType::int64, device);
  return cast(unsqueeze(i, 1) == j, dtype.value_or(default_float()));
}

namespace {
thread_local Generator* of_thread = nullptr;
}
Generator& default_generator() {
  static Generator g;
  return of_thread ? *of_thread : g;
}
Generator* set_generator_of_thread(Generator* own) { return std::exchange(of_thread, own); }
void Generator::restart(int64_t with) {
  if (watcher) watcher->turns(*this, with, 0);
  first_seed = seed = with;
  blocks = 0;
}

Tensor rand(const Dims& shape, DeviceId device, Generator& from) { return random(ops::Rand, shape, device, from, 1); }
Tensor randn(const Dims& shape, DeviceId device, Generator& from) { return random(ops::Randn, shape, device, from, 1); }
Tensor random_bits(const Dims& shape, DeviceId device, Generator& from) {
  return random(ops::RandomBits, shape, device, from, 2, DType::int64);
}

// floor(bits * range / 2^62), by halves of 31 bits: every value is as likely as the others to within 2^-31 of its share
// for ranges up to 2^31.
Tensor randint(int64_t low, int64_t high, const Dims& shape, DType dtype, DeviceId device, Generator& from) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (low >= high || range > uint64_t{1} << 62)
    fail<ValueError>("randint",
                     "the range [" + std::to_string(low) + ", " + std::to_string(high) + ") is empty or too long",
                     "use low < high, at most 2^62 apart");
  const auto shifted = [](const Tensor& x) { return bitwise_right_shift(x, Tensor(31)); };
  const Tensor bits = random_bits(shape, device, from);
  const Tensor upper = shifted(bits), lower = bits - upper * Tensor(int64_t{1} << 31);
  const Tensor r1(static_cast<int64_t>(range >> 31)), r0(static_cast<int64_t>(range & 0x7fffffff));
  Tensor value = upper * r0 + shifted(lower * r0);
  value = range >> 31 ? upper * r1 + shifted(value + lower * r1) : shifted(value);
  return cast(value + Tensor(low), dtype);
}

Tensor randperm(int64_t n, Generator& from, std::optional<DType> dtype, DeviceId device) {
  if (n < 0) fail<ValueError>("randperm", "n is " + std::to_string(n), "use 0 or more");
  return cast(sort_order(random_bits({n}, device, from), false), dtype.value_or(DType::int64));
}

// A race (Efraimidis and Spirakis, 2006): exponential times, each divided by its weight; the shortest win. With
// replacement, a race for each sample.
Tensor multinomial(const Tensor& x, int64_t count, bool replacement, Generator& from) {
  check_real("multinomial", x.dtype());
  if (x.rank() < 1 || x.rank() > 2)
    fail<ValueError>("multinomial", "weights of shape " + x.shape().str(), "give [categories] or [rows, categories]");
  const int last = x.rank() - 1;
  const int64_t categories = x.shape()[last];
  if (count < 1 || categories < 1 || (!replacement && count > categories))
    fail<ValueError>("multinomial",
                     "cannot draw " + std::to_string(count) + " of " + std::to_string(categories) + " categories",
                     "draw fewer, or with replacement=True");
  Tensor weights = cast(x.detach(), wide_of(x.dtype()));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor top = amax(where((weights >= 0) * (weights < infinity), weights, infinity), 1u << last, true);
  weights = weights / check_parameter("multinomial", top, (top > 0) * (top < infinity));  // times stay in range
  const auto times = [&](const Dims& shape, const Tensor& w) {
    return where(w > 0, log(1 - rand(shape, x.device(), from)) / -w, infinity);
  };
  if (!replacement) return cast(slice(sort_order(times(x.shape(), weights), false), last, 0, count, 1), DType::int64);
  Dims shape = x.shape();
  shape[last] = count;
  shape.push(categories);
  return argmin(times(shape, unsqueeze(weights, -2)), -1);
}

void manual_seed(int64_t seed) { default_generator().restart(seed); }

std::pair<int64_t, int64_t> random_state() { return {default_generator().seed, default_generator().blocks}; }
void set_random_state(std::pair<int64_t, int64_t> state) {
  if (watcher) watcher->turns(default_generator(), state.first, state.second);
  default_generator().seed = state.first;
  default_generator().blocks = state.second;
}

}  // namespace sg
