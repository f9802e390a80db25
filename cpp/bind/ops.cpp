// Functions and methods of composites and losses: names, signatures, docs. The arithmetic is in ops/composite.cpp.
#include <string>

#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

Reduction reduction_of(const char* op, PyObject* word) {
  if (!given(word)) return Reduction::mean;
  const char* text = PyUnicode_Check(word) ? PyUnicode_AsUTF8(word) : "?";
  const std::string_view name = text ? text : "?";
  if (name == "none") return Reduction::none;
  if (name == "sum") return Reduction::sum;
  if (name != "mean") fail<ValueError>(op, "reduction '" + std::string(name) + "' is unknown", "use mean, sum or none");
  return Reduction::mean;
}

using Loss = Tensor (*)(const Tensor&, const Tensor&, const ClassLoss&);
PyObject* class_loss(const char* op, Loss loss, bool smooths, const Call& c) {
  Arguments a(op, c);
  const Tensor& x = tensor_of(op, c.self ? c.self : a.need("input"));
  const Tensor& target = tensor_of(op, a.need("target"));
  ClassLoss options;
  if (PyObject* weight = a.take("weight"); given(weight)) options.weight = tensor_of(op, weight);
  if (PyObject* ignored = a.take("ignore_index"); given(ignored)) options.ignore_index = to_int(op, ignored);
  options.reduction = reduction_of(op, a.take("reduction"));
  if (smooths) options.label_smoothing = a.real("label_smoothing", 0);
  a.done();
  return wrap(loss(x, target, options));
}

PyObject* cross_entropy(const Call& c) { return class_loss("cross_entropy", sg::cross_entropy, true, c); }
PyObject* nll_loss(const Call& c) { return class_loss("nll_loss", sg::nll_loss, false, c); }

const Callable callables[] = {
    {"masked_fill", bound<sg::masked_fill>, "mask: Tensor, value: Tensor | float", "Tensor",
     "value where the mask holds, else the tensor; shapes broadcast.\n\nExample:\n"
     "    >>> sg.ones(2).masked_fill(sg.tensor([True, False]), 5.0).tolist()\n    [5.0, 1.0]"},
    {"one_hot", bound<sg::one_hot>, "num_classes: int = -1", "Tensor",
     "Classes as rows of zeros with a one: [...] -> [..., num_classes], int64.\n\nArgs:\n    num_classes: -1 counts "
     "them, and runs what is pending.\n\nRaises:\n    IndexError: at the next read, when a class is out of range."
     "\n\nExample:\n    >>> sg.one_hot(sg.tensor([1, 0])).tolist()\n    [[0, 1], [1, 0]]",
     Scope::both},
    {"softmax", bound<sg::softmax>, "dim: int, dtype: DTypeLike | None = None", "Tensor",
     "exp(x) / sum(exp(x)) along a dimension, without overflow.\n\nArgs:\n    dim: the dimension that adds up to 1.\n"
     "    dtype: what the tensor is converted to first.\n\nExample:\n"
     "    >>> sg.zeros(2).softmax(0).tolist()\n    [0.5, 0.5]",
     Scope::both, Autocast::wide},
    {"log_softmax", bound<sg::log_softmax>, "dim: int, dtype: DTypeLike | None = None", "Tensor",
     "The logarithm of softmax, accurate where softmax is tiny.\n\nArgs:\n    dim: the dimension that adds up to 1.\n"
     "    dtype: what the tensor is converted to first.\n\nExample:\n"
     "    >>> y = sg.randn(4, 10).log_softmax(dim=1)",
     Scope::both, Autocast::wide},
    {"cross_entropy", cross_entropy,
     "input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = 'mean', "
     "label_smoothing: float = 0.0",
     "Tensor",
     "The negative log-likelihood of classes: logits [n, classes, ...], target [n, ...] of integers, or probabilities "
     "[n, classes, ...].\n\nArgs:\n    weight: of each class, [classes]; the mean is divided by the weights that it "
     "added up.\n    ignore_index: targets that count nowhere.\n    reduction: 'mean', 'sum' or 'none'.\n    "
     "label_smoothing: share of the target that all classes have alike.\n\nRaises:\n    IndexError: at the next read, "
     "when a class is out of range.\n\nExample:\n"
     "    >>> loss = sg.cross_entropy(sg.randn(4, 10), sg.tensor([1, 2, 3, 4]))",
     Scope::function, Autocast::wide},
    {"nll_loss", nll_loss,
     "input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = 'mean'",
     "Tensor",
     "Minus the log-probability of the target classes: input [n, classes, ...], target [n, ...] of integers.\n\nArgs:\n"
     "    weight: of each class, [classes]; the mean is divided by the weights that it added up.\n"
     "    ignore_index: targets that count nowhere.\n    reduction: 'mean', 'sum' or 'none'.\n\nRaises:\n"
     "    IndexError: at the next read, when a class is out of range.\n\nExample:\n"
     "    >>> sg.nll_loss(sg.tensor([[-1.0, -2.0]]), sg.tensor([1])).item()\n    2.0",
     Scope::function, Autocast::wide},
};

}  // namespace

void add_composites(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
