// Bindings of reductions, products and composites.
#include <string>

#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

// ---- reductions --------------------------------------------------------------------------------------------------
using Fold = Tensor (*)(const Tensor&, uint32_t, bool);

template <Fold fold>
PyObject* folded(const char* op, const Call& call) {
  Arguments a(op, call);
  const Tensor& x = tensor_of(op, call.self ? call.self : a.need("input"));
  PyObject* dim = a.take("dim", "axis");
  const bool keepdim = a.flag("keepdim", false, "keepdims");
  a.done();
  return wrap(fold(x, to_axes(op, dim, x), keepdim));
}
constexpr Fold sum_fold = sg::sum, mean_fold = sg::mean;
PyObject* sum(const Call& c) { return folded<sum_fold>("sum", c); }
PyObject* mean(const Call& c) { return folded<mean_fold>("mean", c); }
PyObject* amax(const Call& c) { return folded<sg::amax>("amax", c); }
PyObject* amin(const Call& c) { return folded<sg::amin>("amin", c); }
PyObject* max(const Call& c) { return folded<sg::amax>("max", c); }
PyObject* min(const Call& c) { return folded<sg::amin>("min", c); }

// ---- products and composites ---------------------------------------------------------------------------------------
PyObject* matmul(const Call& c) {
  Arguments a("matmul", c);
  PyObject* self = c.self ? c.self : a.need("input");
  PyObject* other = a.need("other");
  a.done();
  return wrap(sg::matmul(tensor_of("matmul", self), tensor_of("matmul", other)));
}

PyObject* where(const Call& c) {
  Arguments a("where", c);
  const Tensor& condition = tensor_of("where", c.self ? c.self : a.need("condition"));
  PyObject *input = a.need("input"), *other = a.need("other");
  a.done();
  Tensor room_x, room_y;
  return wrap(sg::where(condition, operand_of("where", input, room_x, condition.device()),
                        operand_of("where", other, room_y, condition.device())));
}

PyObject* cross_entropy(const Call& c) {
  Arguments a("cross_entropy", c);
  const Tensor& logits = tensor_of("cross_entropy", c.self ? c.self : a.need("input"));
  const Tensor& target = tensor_of("cross_entropy", a.need("target"));
  PyObject* word = a.take("reduction");
  a.done();
  Reduction reduction = Reduction::mean;
  if (given(word)) {
    const char* text = PyUnicode_Check(word) ? PyUnicode_AsUTF8(word) : "?";
    const std::string_view name = text ? text : "?";
    if (name == "none")
      reduction = Reduction::none;
    else if (name == "sum")
      reduction = Reduction::sum;
    else if (name != "mean")
      fail<ValueError>("cross_entropy", "reduction '" + std::string(name) + "' is unknown", "use mean, sum or none");
  }
  return wrap(sg::cross_entropy(logits, target, reduction));
}

#define SG_FOLD_ARGUMENTS "dim: int | Sequence[int] | None = None, keepdim: bool = False"
#define SG_FOLD_DOC                                                                                           \
  "\n\nArgs:\n    dim: a dimension or several; None folds all. axis= is accepted.\n    keepdim: keep folded " \
  "dimensions as size 1. keepdims= is accepted.\n\nReturns:\n    A tensor without the folded dimensions."
#define SG_EXTREME_DOC                                                                                  \
  SG_FOLD_DOC                                                                                           \
  " Values only: unlike PyTorch's,\n    it has no indices beside them, also when one dim is given.\n\n" \
  "Raises:\n    ValueError: nothing to choose from."
const Row rows[] = {
    {"sum", sum, SG_FOLD_ARGUMENTS, "Tensor",
     "The sum over dimensions; bool and int32 are summed as int64." SG_FOLD_DOC
     "\n\nExample:\n    >>> sg.ones(2, 3).sum(dim=1).tolist()\n    [3.0, 3.0]"},
    {"mean", mean, SG_FOLD_ARGUMENTS, "Tensor",
     "The mean over dimensions; integers as float32." SG_FOLD_DOC
     "\n\nExample:\n    >>> sg.tensor([1.0, 3.0]).mean().item()\n    2.0"},
    {"amax", amax, SG_FOLD_ARGUMENTS, "Tensor",
     "The largest value over dimensions; NaN wins, ties share the gradient." SG_EXTREME_DOC
     "\n\nExample:\n    >>> sg.tensor([1.0, 3.0]).amax().item()\n    3.0"},
    {"amin", amin, SG_FOLD_ARGUMENTS, "Tensor",
     "The smallest value over dimensions; NaN wins, ties share the gradient." SG_EXTREME_DOC
     "\n\nExample:\n    >>> sg.tensor([1.0, 3.0]).amin().item()\n    1.0"},
    {"max", max, SG_FOLD_ARGUMENTS, "Tensor", "The same as amax." SG_EXTREME_DOC},
    {"min", min, SG_FOLD_ARGUMENTS, "Tensor", "The same as amin." SG_EXTREME_DOC},
    {"matmul", matmul, "other: Tensor", "Tensor",
     "The matrix product: [m, k] @ [k, n] -> [m, n], with vectors and one batch dimension as in NumPy.\n\nArgs:\n"
     "    other: the right-hand side.\n\nRaises:\n    ValueError: the inner sizes differ.\n\nExample:\n"
     "    >>> (sg.ones(2, 3) @ sg.ones(3, 2)).tolist()\n    [[3.0, 3.0], [3.0, 3.0]]"},
    {"where", where, "condition: Tensor, input: Tensor | float, other: Tensor | float", "Tensor",
     "input where the condition holds, else other; shapes broadcast.\n\nExample:\n"
     "    >>> sg.where(sg.tensor([True, False]), 1.0, 2.0).tolist()\n    [1.0, 2.0]",
     Where::function},
    {"softmax", bound<sg::softmax>, "dim: int", "Tensor",
     "exp(x) / sum(exp(x)) along a dimension, without overflow.\n\nExample:\n"
     "    >>> sg.zeros(2).softmax(0).tolist()\n    [0.5, 0.5]"},
    {"log_softmax", bound<sg::log_softmax>, "dim: int", "Tensor",
     "The logarithm of softmax, accurate where softmax is tiny.\n\nExample:\n"
     "    >>> y = sg.randn(4, 10).log_softmax(dim=1)"},
    {"cross_entropy", cross_entropy, "input: Tensor, target: Tensor, reduction: str = 'mean'", "Tensor",
     "The negative log-likelihood of classes: logits [n, classes], target [n] of integers.\n\nArgs:\n"
     "    reduction: 'mean', 'sum' or 'none'.\n\nRaises:\n    IndexError: at the next read, when a class is out of "
     "range.\n\nExample:\n    >>> loss = sg.cross_entropy(sg.randn(4, 10), sg.tensor([1, 2, 3, 4]))",
     Where::function},
};

}  // namespace

void add_reductions(PyObject* module) { add_rows(module, rows); }

}  // namespace sg::bind
