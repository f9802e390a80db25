// Functions and methods of composites and losses: names, signatures, docs. The arithmetic is in ops/composite.cpp.
#include <string>

#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
template <>
struct From<Reduction> {  // None: the mean
  static Reduction get(Fetched& f, PyObject* o) {
    const std::string word = given(o) ? From<std::string>::get(f, o) : "mean";
    if (word == "none") return Reduction::none;
    if (word == "sum") return Reduction::sum;
    if (word == "mean") return Reduction::mean;
    fail<ValueError>(f.op, "reduction '" + word + "' is unknown", "use mean, sum or none");
  }
};

namespace {

Tensor cross_entropy(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, int64_t ignore_index,
                     Reduction reduction, double label_smoothing) {
  return sg::cross_entropy(x, target, {weight, ignore_index, reduction, label_smoothing});
}
Tensor nll_loss(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, int64_t ignore_index,
                Reduction reduction) {
  return sg::nll_loss(x, target, {weight, ignore_index, reduction});
}

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
    {"cross_entropy", bound<cross_entropy>,
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
    {"nll_loss", bound<nll_loss>,
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
