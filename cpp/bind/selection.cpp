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

constexpr Callable callables[] = {
    {"nonzero", bound<sg::nonzero>},
    {"argwhere", bound<sg::argwhere>},
    {"masked_select", bound<sg::masked_select>},
    {"where", bound<where>},
};

}  // namespace

void add_selection(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
