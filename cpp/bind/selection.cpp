// Elements chosen by a mask: functions that wait for their number.
#include "bind/selection.hpp"

#include "bind/bound.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {

Tensor places_of(const Tensor& mask) {
  if (mask.numel() == 0) return places(mask, {}, 0);
  const Tensor running = running_count(mask);
  int64_t count = 0;
  {
    WithoutGil unlocked;
    count = read_item_int(select(running, 0, -1));
  }
  return places(mask, running, count);
}

std::vector<Tensor> coordinates_of(const Tensor& mask) { return coordinates(places_of(mask), mask.shape()); }

namespace {

std::vector<Tensor> nonzero_tuple(const Tensor& x) { return coordinates_of(x.rank() ? x : reshape(x, {1})); }

Tensor argwhere(const Tensor& x) {
  if (x.rank()) return stack(coordinates_of(x), 1);
  return full_int({places_of(x).numel(), 0}, 0, DType::int64, x.device());
}

PyObject* nonzero(const Call& call) {
  Arguments a("nonzero", call);
  const Tensor& x = tensor_of("nonzero", call.self ? call.self : a.need("input"));
  PyObject* as_tuple = a.keyword("as_tuple");
  a.done();
  return given(as_tuple) && to_bool(as_tuple) ? to_python(nonzero_tuple(x)) : wrap(argwhere(x));
}

PyObject* where(const Call& c) {
  Arguments a("where", c);
  const Tensor& condition = tensor_of("where", c.self ? c.self : a.need("condition"));
  PyObject *input = a.take("input"), *other = a.take("other");
  a.done();
  if (!input && !other) return to_python(nonzero_tuple(condition));
  if (!input || !other) fail<TypeError>("where", "one value is given", "give two, or the condition alone");
  Tensor room_x, room_y;
  return wrap(sg::where(condition, operand_of("where", input, room_x, condition.device()),
                        operand_of("where", other, room_y, condition.device())));
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  if (mask.dtype() != DType::boolean)
    fail<TypeError>("masked_select", std::string("a mask of ") + name_of(mask.dtype()), "use bool");
  common_device("masked_select", {&x, &mask});
  const Dims shape = broadcast_shapes("masked_select", x.shape(), mask.shape());
  return take_places(reshape(expand(x, shape), {shape.numel()}), 0, 1, places_of(expand(mask, shape)));
}

#define SG_WAITS " Runs what is pending and waits for how many there are."
const Row rows[] = {
    {"nonzero", nonzero, "*, as_tuple: bool = False", "Any",
     "Where the elements that are not 0 are, in row-major order." SG_WAITS
     "\n\nArgs:\n    as_tuple: one tensor a dimension, which index the input, in place of one row an element.\n\n"
     "Returns:\n    [n, dimensions] of int64, or a tuple of [n].\n\nExample:\n"
     "    >>> sg.tensor([0, 2, 3]).nonzero().tolist()\n    [[1], [2]]"},
    {"argwhere", bound<argwhere>, "", "Tensor",
     "The same as nonzero." SG_WAITS "\n\nExample:\n    >>> sg.argwhere(sg.tensor([0, 2])).tolist()\n    [[1]]"},
    {"masked_select", bound<masked_select>, "mask: Tensor", "Tensor",
     "The elements for which the mask holds, as one dimension; shapes broadcast." SG_WAITS
     "\n\nExample:\n    >>> sg.tensor([1, 2, 3]).masked_select(sg.tensor([True, False, True])).tolist()\n    [1, 3]"},
    {"where", where, "condition: Tensor, input: Tensor | float | None = None, other: Tensor | float | None = None",
     "Any",
     "input where the condition holds, else other; shapes broadcast. The condition alone: where it is not 0, as "
     "nonzero(as_tuple=True)."
     "\n\nExample:\n"
     "    >>> sg.where(sg.tensor([True, False]), 1.0, 2.0).tolist()\n    [1.0, 2.0]",
     Where::function},
};

}  // namespace

void add_selection(PyObject* module) { add_rows(module, rows); }

}  // namespace sg::bind
