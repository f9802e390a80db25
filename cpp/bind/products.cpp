// Functions and methods of products, and dims of tensordot. The arithmetic is in
// ops/matmul.cpp, ops/products.cpp and ops/einsum.cpp.
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "bind/answers.hpp"
#include "bind/bound.hpp"
#include "bind/source.hpp"
#include "graph/build.hpp"
#include "ops/list.hpp"

namespace sg::bind {
// dims=2: the last two of one with the first two of the other; dims=([...], [...]): those named.
using CountOrDims = std::variant<int64_t, std::pair<Dims, Dims>>;
template <>
struct From<CountOrDims> {
  static CountOrDims get(Fetched& f, PyObject* o) {
    if (PyIndex_Check(o)) return to_int(f.op, o);
    Object pair(PySequence_Fast(o, ""));
    if (!pair || PySequence_Fast_GET_SIZE(pair.get()) != 2) {
      PyErr_Clear();
      fail<TypeError>(f.op, "dims is no int and no pair of lists", "write dims=([1], [0])");
    }
    if (pair.get() == o) leave_to_elements(f.op, o);
    return std::pair(to_dims(f.op, PySequence_Fast_GET_ITEM(pair.get(), 0)),
                     to_dims(f.op, PySequence_Fast_GET_ITEM(pair.get(), 1)));
  }
};

namespace {

Tensor tensordot(const Tensor& a, const Tensor& b, const CountOrDims& dims) {
  if (const int64_t* count = std::get_if<int64_t>(&dims)) return sg::tensordot(a, b, *count);
  const auto& [of_a, of_b] = std::get<std::pair<Dims, Dims>>(dims);
  return sg::tensordot(a, b, of_a, of_b);
}

constexpr const char* precisions[] = {"highest", "high", "medium"};  // in the order of Precision

std::string get_precision() { return precisions[static_cast<size_t>(float32_precision())]; }

void set_precision(const std::string& precision) {
  for (size_t i = 0; i < std::size(precisions); ++i)
    if (precision == precisions[i]) return set_float32_precision(static_cast<Precision>(i));
  fail<ValueError>("set_float32_matmul_precision", "'" + precision + "' is unknown", "use highest, high or medium");
}

// ---- inputs of two types -------------------------------------------------------------------------------------------------
bool mixed_types = true;  // PyTorch multiplies none
void allow_mixed_types(bool allow) { mixed_types = allow; }

void on_mixed_types(const char* op, DType a, DType b) {
  const std::string types = std::string(name_of(a)) + " and " + name_of(b);
  if (!mixed_types)
    fail<TypeError>(op, "the inputs should have the same dtype, but got " + types, "convert one with .to()");
  if (is_float(a) && is_float(b) && (a == DType::float64 || b == DType::float64))
    warn_at_line(std::string(op) + ": " + types + " are computed in float64, which is slow; convert the data with " +
                 ".float(), or the net with .double()");
}
void meet_mixed_types(const std::string& op, DType a, DType b) { on_mixed_types(op.c_str(), a, b); }

constexpr Callable callables[] = {
    {"matmul", bound<sg::matmul>, Autocast::narrow},
    {"mm", bound<sg::mm>, Autocast::narrow},
    {"bmm", bound<sg::bmm>, Autocast::narrow},
    {"mv", bound<sg::mv>, Autocast::narrow},
    {"dot", bound<sg::dot>},
    {"vdot", bound<sg::dot>},
    {"inner", bound<sg::inner>},
    {"outer", bound<sg::outer>},
    {"kron", bound<sg::kron>},
    {"addmm", bound<sg::addmm>, Autocast::narrow},
    {"addmm_", in_place<bound<sg::addmm>>},
    {"baddbmm_", in_place<bound<sg::baddbmm>>},
    {"addmv", bound<sg::addmv>, Autocast::narrow},
    {"baddbmm", bound<sg::baddbmm>, Autocast::narrow},
    {"addbmm", bound<sg::addbmm>, Autocast::narrow},
    {"chain_matmul", bound<sg::chain_matmul>, Autocast::narrow},
    {"tensordot", bound<tensordot>},
    {"einsum", bound<sg::einsum>, Autocast::narrow},
    {"set_float32_matmul_precision", bound<set_precision>},
    {"get_float32_matmul_precision", bound<get_precision>},
    {"_allow_mixed_types", bound<allow_mixed_types>},
    {"_meet_mixed_types", bound<meet_mixed_types>},
    {"_attention", bound<sg::attention>},
    {"_attention_after", bound<sg::attention_after>},
    {"_banded", bound<sg::banded>},
    {"_lstm", bound<sg::lstm>},
    {"_lstm_gradient", bound<sg::lstm_gradient>},
    {"_gru", bound<sg::gru>},
    {"_gru_gradient", bound<sg::gru_gradient>},
    {"_rnn", bound<sg::rnn>},
    {"_rnn_gradient", bound<sg::rnn_gradient>},
};

}  // namespace

void add_products(PyObject* module) {
  listen_to_mixed_factors(on_mixed_types);
  add_callables(module, callables);
}

}  // namespace sg::bind
