// Elements chosen by a mask, or repeated: results whose size depends on values, which are read at once.
// Must not know how a value is read: engine/ gives read_item_int.
#include "base/error.hpp"
#include "base/host.hpp"
#include "graph/build.hpp"
#include "ops/index.hpp"
#include "ops/list.hpp"

namespace sg {

int64_t read_now(const Tensor& x) {
  const HostPaused paused;
  return read_item_int(x);
}

Tensor places_of(const Tensor& mask) {
  if (mask.numel() == 0) return places(mask, {}, 0);
  const Tensor running = running_count(mask);
  return places(mask, running, read_now(select(running, 0, -1)));
}

std::vector<Tensor> coordinates_of(const Tensor& mask) { return coordinates(places_of(mask), mask.shape()); }

Tensor argwhere(const Tensor& x) {
  if (x.rank()) return stack(coordinates_of(x), 1);
  return full_int({places_of(x).numel(), 0}, 0, DType::int64, x.device());
}

OneOrSeveral nonzero(const Tensor& x, bool as_tuple) {
  if (!as_tuple) return argwhere(x);
  return coordinates_of(x.rank() ? x : reshape(x, {1}));
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  if (mask.dtype() != DType::boolean)
    fail<TypeError>("masked_select", std::string("a mask of ") + name_of(mask.dtype()), "use bool");
  common_device("masked_select", {&x, &mask});
  const Dims shape = broadcast_shapes("masked_select", x.shape(), mask.shape());
  return take_places(reshape(expand(x, shape), {shape.numel()}), 0, 1, places_of(expand(mask, shape)));
}

namespace {

// Element i counts[i] times, as its number: element i is at the places from ends[i - 1] up to ends[i].
Tensor repeated_places(const char* op, const Tensor& counts) {
  const int64_t size = counts.numel();
  if (size == 0) return empty({0}, DType::int64, counts.device());
  if (read_now(amin(counts)) < 0) fail<ValueError>(op, "negative repeats", "use 0 or more");
  times(op, read_now(amax(counts)), size);
  const Tensor ends = cumsum(counts, 0);
  const Tensor at = arange(0, 1, read_now(select(ends, 0, -1)), DType::int64, counts.device());
  return searchsorted(ends, at, false, true, std::nullopt);
}

}  // namespace

Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim, std::optional<int64_t>) {
  constexpr auto op = "repeat_interleave";
  if (is_float(repeats.dtype()) || (!repeats.is_number() && repeats.dtype() == DType::boolean) ||
      (!repeats.is_number() && repeats.rank() > 1))
    fail<TypeError>(op,
                    std::string("repeats are ") + name_of(repeats.dtype()) +
                        (repeats.is_number() ? "" : " of shape " + repeats.shape().str()),
                    "give a vector of integers");
  if (repeats.is_number()) return repeat_interleave(x, repeats->number.i, dim);
  const Tensor from = dim ? x : reshape(x, {-1});
  const int d = normal_axis(op, dim.value_or(0), from.rank());
  const int64_t size = from.rank() ? from.shape()[d] : 1;
  if (repeats.numel() != 1 && repeats.numel() != size)
    fail<ValueError>(op, std::to_string(repeats.numel()) + " repeats for a dimension of size " + std::to_string(size),
                     "give one for each element");
  const Tensor counts = to_device(cast(repeats.detach(), DType::int64), x.device());
  return index_select(from, d, repeated_places(op, expand(reshape(counts, {repeats.numel()}), {size})));
}

}  // namespace sg
