// Functions and methods of reductions: names, signatures, docs, and Python's ways to name dimensions. The arithmetic is
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

#define SG_DIM "dim: int | Sequence[int] | None = None"
#define SG_FOLD SG_DIM ", keepdim: bool = False"
#define SG_FOLD_TYPED SG_FOLD ", *, dtype: DTypeLike | None = None"
#define SG_SPREAD_ARGUMENTS                                                                              \
  "dim: int | Sequence[int] | bool | None = None, unbiased: bool | None = None, keepdim: bool = False, " \
  "*, correction: float | None = None"
#define SG_ARGS                                                                                               \
  "\n\nArgs:\n    dim: a dimension or several; None folds all. axis= is accepted.\n    keepdim: keep folded " \
  "dimensions as size 1. keepdims= is accepted.\n"
#define SG_RETURNS "\nReturns:\n    A tensor without the folded dimensions."
#define SG_TYPED_ARGS SG_ARGS "    dtype: the input is converted to it first.\n" SG_RETURNS
#define SG_NONE_LEFT "\n\nRaises:\n    ValueError: nothing to choose from."
#define SG_SPREAD_DOC                                                                                  \
  SG_ARGS                                                                                              \
  "    unbiased: False is correction=0.\n    correction: what is taken off the number of elements; 1 " \
  "unless given. ddof= is accepted.\n" SG_RETURNS
#define SG_EXAMPLE(code, printed) "\n\nExample:\n    >>> " code "\n    " printed
#define SG_EXTREME_DOC                                                                                              \
  "\n\nArgs:\n    dim: a dimension: the result is (values, indices), the first of equals, and the gradient goes "   \
  "there. A tensor: element by element. Without it: of all elements, and equals share the gradient.\n    keepdim: " \
  "keep the dimension as size 1." SG_NONE_LEFT
#define SG_EXTREME "dim: int | Tensor | None = None, keepdim: bool | None = None, *, other: Tensor | None = None"
#define SG_ONE_DIM "dim: int | None = None, keepdim: bool = False"
#define SG_MEDIAN_DOC                                                                                                  \
  "\n\nArgs:\n    dim: a dimension: the result is (values, indices), and the gradient goes there. Without it: of all " \
  "elements, and equals share the gradient.\n    keepdim: keep the dimension as size 1."
#define SG_CLOSE "rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False"

const Callable callables[] = {
    {"sum", bound<sg::sum>, SG_FOLD_TYPED, "Tensor",
     "The sum over dimensions; of bool and integers as int64." SG_TYPED_ARGS SG_EXAMPLE(
         "sg.ones(2, 3).sum(dim=1).tolist()", "[3.0, 3.0]"),
     Scope::both, Autocast::wide},
    {"nansum", bound<sg::nansum>, SG_FOLD_TYPED, "Tensor", "sum, where NaN counts as 0." SG_TYPED_ARGS, Scope::both,
     Autocast::wide},
    {"mean", bound<sg::mean>, SG_FOLD_TYPED, "Tensor",
     "The mean over dimensions; integers as float32." SG_TYPED_ARGS SG_EXAMPLE("sg.tensor([1.0, 3.0]).mean().item()",
                                                                               "2.0"),
     Scope::both, Autocast::wide},
    {"nanmean", bound<sg::nanmean>, SG_FOLD_TYPED, "Tensor", "The mean of what is not NaN." SG_TYPED_ARGS, Scope::both,
     Autocast::wide},
    {"prod", bound<sg::prod>, SG_FOLD_TYPED, "Tensor",
     "The product over dimensions; of bool and integers as int64." SG_TYPED_ARGS SG_EXAMPLE(
         "sg.tensor([2.0, 3.0]).prod().item()", "6.0"),
     Scope::both, Autocast::wide},
    {"amax", bound<sg::amax>, SG_FOLD, "Tensor",
     "The largest value over dimensions; NaN wins, ties share the gradient." SG_ARGS SG_RETURNS SG_NONE_LEFT SG_EXAMPLE(
         "sg.tensor([1.0, 3.0]).amax().item()", "3.0")},
    {"amin", bound<sg::amin>, SG_FOLD, "Tensor",
     "The smallest value over dimensions; NaN wins, ties share the gradient." SG_ARGS SG_RETURNS SG_NONE_LEFT
         SG_EXAMPLE("sg.tensor([1.0, 3.0]).amin().item()", "1.0")},
    {"aminmax", bound<sg::aminmax>, "*, " SG_FOLD, "tuple[Tensor, ...]", "amin and amax." SG_ARGS SG_NONE_LEFT},
    {"max", bound<extreme<kMax, sg::amax, sg::max, sg::maximum>>, SG_EXTREME, "Any",
     "The largest value; NaN wins." SG_EXTREME_DOC SG_EXAMPLE("sg.tensor([1.0, 3.0]).max(0).indices.item()", "1")},
    {"min", bound<extreme<kMin, sg::amin, sg::min, sg::minimum>>, SG_EXTREME, "Any",
     "The smallest value; NaN wins." SG_EXTREME_DOC SG_EXAMPLE("sg.tensor([1.0, 3.0]).min(0).values.item()", "1.0")},
    {"argmax", bound<sg::argmax>, "dim: int | None = None, keepdim: bool = False", "Tensor",
     "Where the first largest value is, int64; NaN wins. Without dim: in the flat tensor." SG_EXAMPLE(
         "sg.tensor([1.0, 3.0]).argmax().item()", "1")},
    {"argmin", bound<sg::argmin>, "dim: int | None = None, keepdim: bool = False", "Tensor",
     "Where the first smallest value is, int64; NaN wins. Without dim: in the flat tensor." SG_EXAMPLE(
         "sg.tensor([1.0, 3.0]).argmin().item()", "0")},
    {"median", bound<median<false>>, SG_ONE_DIM, "Any",
     "The median: the lower of two middle values; NaN wins." SG_MEDIAN_DOC SG_EXAMPLE(
         "sg.tensor([3.0, 1.0, 2.0]).median().item()", "2.0")},
    {"nanmedian", bound<median<true>>, SG_ONE_DIM, "Any", "The median of what is not NaN." SG_MEDIAN_DOC},
    {"any", bound<sg::any>, SG_FOLD, "Tensor",
     "Whether any element is not 0." SG_ARGS SG_EXAMPLE("sg.tensor([0, 2]).any().item()", "True")},
    {"all", bound<sg::all>, SG_FOLD, "Tensor",
     "Whether no element is 0." SG_ARGS SG_EXAMPLE("sg.tensor([0, 2]).all().item()", "False")},
    {"count_nonzero", bound<sg::count_nonzero>, SG_DIM, "Tensor",
     "How many elements are not 0." SG_EXAMPLE("sg.tensor([0, 2, 3]).count_nonzero().item()", "2")},
    {"var", bound<spread<kVar, sg::var>>, SG_SPREAD_ARGUMENTS, "Tensor",
     "The variance, in two passes." SG_SPREAD_DOC SG_EXAMPLE("sg.tensor([1.0, 3.0]).var().item()", "2.0"), Scope::both,
     Autocast::wide},
    {"std", bound<spread<kStd, sg::std_of>>, SG_SPREAD_ARGUMENTS, "Tensor",
     "The square root of the variance." SG_SPREAD_DOC SG_EXAMPLE("sg.tensor([1.0, 3.0]).std(correction=0).item()",
                                                                 "1.0"),
     Scope::both, Autocast::wide},
    {"var_mean", bound<spread<kVarMean, sg::var_mean>>, SG_SPREAD_ARGUMENTS, "tuple[Tensor, ...]",
     "var and mean." SG_SPREAD_DOC, Scope::both, Autocast::wide},
    {"std_mean", bound<spread<kStdMean, sg::std_mean>>, SG_SPREAD_ARGUMENTS, "tuple[Tensor, ...]",
     "std and mean." SG_SPREAD_DOC, Scope::both, Autocast::wide},
    {"logsumexp", bound<sg::logsumexp>, "dim: int | Sequence[int], keepdim: bool = False", "Tensor",
     "log(sum(exp(x))) without overflow." SG_ARGS SG_EXAMPLE("sg.zeros(1).logsumexp(0).item()", "0.0"), Scope::both,
     Autocast::wide},
    {"norm", bound<norm>, "p: float | str | None = 'fro', " SG_FOLD ", dtype: DTypeLike | None = None", "Tensor",
     "The length of vectors: sum(abs(x)**p)**(1/p); p may be infinite, and 0 counts what is not 0." SG_ARGS SG_EXAMPLE(
         "sg.tensor([3.0, 4.0]).norm().item()", "5.0"),
     Scope::both, Autocast::wide},
    {"isclose", bound<sg::isclose>, "other: Tensor, " SG_CLOSE, "Tensor",
     "Whether abs(x - other) <= atol + rtol * abs(other), element by element." SG_EXAMPLE(
         "sg.tensor([1.0]).isclose(sg.tensor([1.0 + 1e-7])).item()", "True")},
    {"allclose", bound<allclose>, "other: Tensor, " SG_CLOSE, "bool",
     "Whether all elements are close; see isclose. Runs what is pending." SG_EXAMPLE("sg.ones(2).allclose(sg.ones(2))",
                                                                                     "True")},
    {"equal", bound<equal>, "other: Tensor", "bool",
     "Whether shape and elements are equal. Runs what is pending." SG_EXAMPLE("sg.ones(2).equal(sg.ones(3))", "False")},
    {"diff", bound<sg::diff>, "n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None",
     "Tensor",
     "Each element less the one before it along a dimension, n times over." SG_EXAMPLE(
         "sg.tensor([1, 4, 9]).diff().tolist()", "[3, 5]")},
    {"cov", bound<sg::cov>, "*, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None",
     "Tensor",
     "Covariances of variables (rows) from observations (columns): [n, m] -> [n, n].\n\nArgs:\n    correction: what is "
     "taken off the number of observations.\n    fweights: how often each observation was made, [m] of integers.\n"
     "    aweights: how much each counts, [m].\n\nRaises:\n    ValueError: the shapes do not fit.",
     Scope::both, Autocast::wide},
    {"corrcoef", bound<sg::corrcoef>, "", "Tensor",
     "Correlations of variables (rows) from observations (columns): [n, m] -> [n, n].", Scope::both, Autocast::wide},
};

}  // namespace

void add_reductions(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
