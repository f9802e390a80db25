// Functions and methods that choose elements by a mask. The arithmetic is in ops/selection.cpp.
#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

OneOrSeveral where(const Tensor& condition, const std::optional<Tensor>& input, const std::optional<Tensor>& other) {
  if (condition.is_number()) fail<TypeError>("where", "the condition is a number", "give a tensor");
  if (!input && !other) return sg::nonzero(condition, true);
  if (!input || !other) fail<TypeError>("where", "one value is given", "give two, or the condition alone");
  return sg::where(condition, *input, *other);
}

#define SG_WAITS " Runs what is pending and waits for how many there are."
const Callable callables[] = {
    {"nonzero", bound<sg::nonzero>, "*, as_tuple: bool = False", "Any",
     "Where the elements that are not 0 are, in row-major order." SG_WAITS
     "\n\nArgs:\n    as_tuple: one tensor a dimension, which index the input, in place of one row an element.\n\n"
     "Returns:\n    [n, dimensions] of int64, or a tuple of [n].\n\nExample:\n"
     "    >>> sg.tensor([0, 2, 3]).nonzero().tolist()\n    [[1], [2]]"},
    {"argwhere", bound<sg::argwhere>, "", "Tensor",
     "The same as nonzero." SG_WAITS "\n\nExample:\n    >>> sg.argwhere(sg.tensor([0, 2])).tolist()\n    [[1]]"},
    {"masked_select", bound<sg::masked_select>, "mask: Tensor", "Tensor",
     "The elements for which the mask holds, as one dimension; shapes broadcast." SG_WAITS
     "\n\nExample:\n    >>> sg.tensor([1, 2, 3]).masked_select(sg.tensor([True, False, True])).tolist()\n    [1, 3]"},
    {"where", bound<where>,
     "condition: Tensor, input: Tensor | float | None = None, other: Tensor | float | None = None", "Any",
     "input where the condition holds, else other; shapes broadcast. The condition alone: where it is not 0, as "
     "nonzero(as_tuple=True)."
     "\n\nExample:\n"
     "    >>> sg.where(sg.tensor([True, False]), 1.0, 2.0).tolist()\n    [1.0, 2.0]",
     Scope::function},
};

}  // namespace

void add_selection(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
