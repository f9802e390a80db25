// Functions and methods of reductions, and Python's ways to name dimensions. The arithmetic is
// in ops/reduce.cpp and ops/statistics.cpp.
#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

// var(dim, unbiased, keepdim) and var(unbiased) are older ways to say correction=0 or 1.
constexpr char kVar[] = "var", kStd[] = "std", kVarMean[] = "var_mean", kStdMean[] = "std_mean";
template <const char* op, auto function>
auto spread(const Tensor& x, const std::optional<FlagOrDims>& dim, const std::optional<bool>& unbiased, bool keepdim,
            const std::optional<double>& correction) {
  const bool* first = dim ? std::get_if<bool>(&*dim) : nullptr;
  if ((first || unbiased) && correction)
    fail<TypeError>(op, "both unbiased and correction are given", "give correction alone");
  const bool minus_one = first ? *first : unbiased.value_or(true);
  const Axes axes = dim && !first ? Axes(std::get<Dims>(*dim)) : Axes();
  return function(x, axes, correction.value_or(minus_one ? 1 : 0), keepdim);
}

Tensor norm(const Tensor& x, const std::optional<NumberOrText>& p, const Axes& axes, bool keepdim,
            const std::optional<DType>& dtype) {
  double order = 2;
  if (p) {
    if (const double* number = std::get_if<double>(&*p))
      order = *number;
    else if (const std::string& word = std::get<std::string>(*p); word != "fro")
      fail<ValueError>("norm", "p = '" + word + "' is unknown", "use 'fro' or a number");
  }
  return sg::norm(x, order, axes, keepdim, dtype);
}

// max(), max(dim) and max(other) are three functions of one name.
using IntOrTensor = std::variant<int64_t, Tensor>;
using OneOrPair = std::variant<Tensor, TensorPair>;

}  // namespace
template <>
struct From<IntOrTensor> {
  static IntOrTensor get(Fetched& f, PyObject* o) {
    if (is_tensor(o)) return unwrap(o);
    return to_int(f.op, o);
  }
};
namespace {

constexpr char kMax[] = "max", kMin[] = "min";
template <const char* op, Tensor (*fold)(const Tensor&, const Axes&, bool),
          TensorPair (*along)(const Tensor&, int64_t, bool), Tensor (*of_two)(const Tensor&, const Tensor&)>
OneOrPair extreme(const Tensor& x, const std::optional<IntOrTensor>& dim_or_other, const std::optional<bool>& keepdim,
                  const std::optional<Tensor>& other) {
  const Tensor* second = other ? &*other : dim_or_other ? std::get_if<Tensor>(&*dim_or_other) : nullptr;
  if (!second && dim_or_other) return along(x, std::get<int64_t>(*dim_or_other), keepdim.value_or(false));
  if (!second) return fold(x, {}, keepdim.value_or(false));
  if (keepdim || (other && dim_or_other))
    fail<TypeError>(op, "both a tensor and a dimension are given", "give one of them");
  return of_two(x, *second);
}

template <bool leave_out_nan>
OneOrPair median(const Tensor& x, const std::optional<int64_t>& dim, bool keepdim) {
  if (dim) return sg::median(x, *dim, keepdim, leave_out_nan);
  return sg::median(x, leave_out_nan);
}

// ---- read at once ----------------------------------------------------------------------------------------------------
bool truth(const char* op, const Tensor& x) { return Object(to_number(op, x)).get() == Py_True; }

bool equal(const Tensor& x, const Tensor& other) {
  return x.shape() == other.shape() && truth("equal", sg::all_equal(x, other));
}
bool allclose(const Tensor& x, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return truth("allclose", sg::all_close(x, other, rtol, atol, equal_nan));
}

constexpr Callable callables[] = {
    {"sum", bound<sg::sum>, Autocast::wide},
    {"nansum", bound<sg::nansum>, Autocast::wide},
    {"mean", bound<sg::mean>, Autocast::wide},
    {"nanmean", bound<sg::nanmean>, Autocast::wide},
    {"prod", bound<sg::prod>, Autocast::wide},
    {"amax", bound<sg::amax>},
    {"amin", bound<sg::amin>},
    {"aminmax", bound<sg::aminmax>},
    {"max", bound<extreme<kMax, sg::amax, sg::max, sg::maximum>>},
    {"min", bound<extreme<kMin, sg::amin, sg::min, sg::minimum>>},
    {"argmax", bound<sg::argmax>},
    {"argmin", bound<sg::argmin>},
    {"median", bound<median<false>>},
    {"nanmedian", bound<median<true>>},
    {"any", bound<sg::any>},
    {"all", bound<sg::all>},
    {"count_nonzero", bound<sg::count_nonzero>},
    {"var", bound<spread<kVar, sg::var>>, Autocast::wide},
    {"std", bound<spread<kStd, sg::std_of>>, Autocast::wide},
    {"var_mean", bound<spread<kVarMean, sg::var_mean>>, Autocast::wide},
    {"std_mean", bound<spread<kStdMean, sg::std_mean>>, Autocast::wide},
    {"logsumexp", bound<sg::logsumexp>, Autocast::wide},
    {"norm", bound<norm>, Autocast::wide},
    {"isclose", bound<sg::isclose>},
    {"allclose", bound<allclose>},
    {"equal", bound<equal>},
    {"diff", bound<sg::diff>},
    {"cov", bound<sg::cov>, Autocast::wide},
    {"corrcoef", bound<sg::corrcoef>, Autocast::wide},
};

}  // namespace

void add_reductions(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
