// Functions and methods of composites and losses. The arithmetic is in ops/composite.cpp.
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
// None: there are too few logits for slices, or an option that they do not have.
Object linear_cross_entropy(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                            const Tensor& target, int64_t ignore_index, Reduction reduction, double label_smoothing) {
  const ClassLoss options{{}, ignore_index, reduction, label_smoothing};
  if (!has_slices(x, weight, target, options)) return Object(Py_NewRef(Py_None));
  return Object(wrap(sg::linear_cross_entropy(x, weight, bias, target, options)));
}

constexpr Callable callables[] = {
    {"masked_fill", bound<sg::masked_fill>},
    {"one_hot", bound<sg::one_hot>},
    {"softmax", bound<sg::softmax>, Autocast::wide},
    {"log_softmax", bound<sg::log_softmax>, Autocast::wide},
    {"cross_entropy", bound<cross_entropy>, Autocast::wide},
    {"_linear_cross_entropy", bound<linear_cross_entropy>, Autocast::narrow},
    {"nll_loss", bound<nll_loss>, Autocast::wide},
};

}  // namespace

void add_composites(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
