// Functions and methods of products: names, signatures, docs, and dims of tensordot. The arithmetic is in
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

// ---- factors of two types ------------------------------------------------------------------------------------------------
bool mixed_products = true;  // PyTorch has none
void allow_mixed_products(bool allow) { mixed_products = allow; }

// Once a line of the program, as Python does it.
void warn_at_line(const std::string& message) {
  static PyObject* const registry = check(PyDict_New());
  const std::string line = running_line().str();
  const size_t colon = line.rfind(':');
  if (colon == line.npos) return;
  check(PyErr_WarnExplicit(PyExc_UserWarning, message.c_str(), line.substr(0, colon).c_str(),
                           std::stoi(line.substr(colon + 1)), nullptr, registry));
}

void on_mixed_factors(const char* op, DType a, DType b) {
  const std::string types = std::string(name_of(a)) + " and " + name_of(b);
  if (!mixed_products)
    fail<TypeError>(op, "the factors should have the same dtype, but got " + types, "convert one with .to()");
  if (is_float(a) && is_float(b) && (a == DType::float64 || b == DType::float64))
    warn_at_line(std::string(op) + ": " + types + " are multiplied in float64, which is slow; convert the data with " +
                 ".float(), or the net with .double()");
}

#define SG_SCALED ", *, beta: float = 1, alpha: float = 1"
#define SG_SCALED_DOC "; input is not read when beta is 0."
#define SG_EXAMPLE(code, printed) "\n\nExample:\n    >>> " code "\n    " printed
const Callable callables[] = {
    {"matmul", bound<sg::matmul>, "other: Tensor", "Tensor",
     "The matrix product: [..., m, k] @ [..., k, n] -> [..., m, n]; leading dimensions broadcast, vectors as in "
     "NumPy.\n\nArgs:\n    other: the right-hand side.\n\nRaises:\n    ValueError: the inner sizes "
     "differ.\n\nExample:\n"
     "    >>> (sg.ones(2, 3) @ sg.ones(3, 2)).tolist()\n    [[3.0, 3.0], [3.0, 3.0]]",
     Scope::both, Autocast::narrow},
    {"mm", bound<sg::mm>, "mat2: Tensor", "Tensor", "The product of two matrices: [m, k] [k, n] -> [m, n].",
     Scope::both, Autocast::narrow},
    {"bmm", bound<sg::bmm>, "mat2: Tensor", "Tensor", "Products of a batch: [b, m, k] [b, k, n] -> [b, m, n].",
     Scope::both, Autocast::narrow},
    {"mv", bound<sg::mv>, "vec: Tensor", "Tensor", "The product of a matrix and a vector: [m, k] [k] -> [m].",
     Scope::both, Autocast::narrow},
    {"dot", bound<sg::dot>, "tensor: Tensor", "Tensor",
     "The product of two vectors: [k] [k] -> []." SG_EXAMPLE("sg.ones(3).dot(sg.ones(3)).item()", "3.0")},
    {"vdot", bound<sg::dot>, "other: Tensor", "Tensor", "The same as dot."},
    {"inner", bound<sg::inner>, "other: Tensor", "Tensor", "Products over the last dimensions of both."},
    {"outer", bound<sg::outer>, "vec2: Tensor", "Tensor",
     "Each element of one vector by each of the other: [m] [n] -> [m, n]." SG_EXAMPLE(
         "sg.outer(sg.tensor([1, 2]), sg.tensor([3, 4])).tolist()", "[[3, 4], [6, 8]]")},
    {"ger", bound<sg::outer>, "vec2: Tensor", "Tensor", "The same as outer."},
    {"kron", bound<sg::kron>, "other: Tensor", "Tensor",
     "The Kronecker product: each element of one by the whole of the other."},
    {"addmm", bound<sg::addmm>, "mat1: Tensor, mat2: Tensor" SG_SCALED, "Tensor",
     "beta * input + alpha * (mat1 @ mat2)" SG_SCALED_DOC SG_EXAMPLE(
         "sg.addmm(sg.ones(2), sg.ones(2, 3), sg.ones(3, 2)).tolist()", "[[4.0, 4.0], [4.0, 4.0]]"),
     Scope::both, Autocast::narrow},
    {"addmm_", in_place<bound<sg::addmm>>, "mat1: Tensor, mat2: Tensor" SG_SCALED, "Tensor", "addmm." SG_PLACE_DOC,
     Scope::method},
    {"baddbmm_", in_place<bound<sg::baddbmm>>, "batch1: Tensor, batch2: Tensor" SG_SCALED, "Tensor",
     "baddbmm." SG_PLACE_DOC, Scope::method},
    {"addmv", bound<sg::addmv>, "mat: Tensor, vec: Tensor" SG_SCALED, "Tensor",
     "beta * input + alpha * (mat @ vec)" SG_SCALED_DOC, Scope::both, Autocast::narrow},
    {"baddbmm", bound<sg::baddbmm>, "batch1: Tensor, batch2: Tensor" SG_SCALED, "Tensor",
     "beta * input + alpha * bmm(batch1, batch2)" SG_SCALED_DOC, Scope::both, Autocast::narrow},
    {"addbmm", bound<sg::addbmm>, "batch1: Tensor, batch2: Tensor" SG_SCALED, "Tensor",
     "beta * input + alpha * the sum of bmm(batch1, batch2) over the batch" SG_SCALED_DOC, Scope::both,
     Autocast::narrow},
    {"chain_matmul", bound<sg::chain_matmul>, "*matrices: Tensor", "Tensor", "The product of several matrices.",
     Scope::function, Autocast::narrow},
    {"tensordot", bound<tensordot>, "a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] = 2", "Tensor",
     "Products summed over pairs of dimensions.\n\nArgs:\n    dims: how many of the last of a with the first of b, or "
     "two lists of dimensions." SG_EXAMPLE("sg.tensordot(sg.ones(2, 3), sg.ones(3, 4), dims=1).shape", "(2, 4)"),
     Scope::function},
    {"einsum", bound<sg::einsum>, "equation: str, *operands: Tensor", "Tensor",
     "Einstein's sum: labels of dimensions for each operand, and after '->' for the result; '...' stands for leading "
     "dimensions that broadcast, a label twice in one operand for its diagonal.\n\nRaises:\n    ValueError: the "
     "equation does not fit the operands." SG_EXAMPLE("sg.einsum('ij,ij->i', sg.ones(2, 3), sg.ones(2, 3)).tolist()",
                                                      "[3.0, 3.0]"),
     Scope::function, Autocast::narrow},
    {"set_float32_matmul_precision", bound<set_precision>, "precision: str", "None",
     "How exactly a GPU with matrix units multiplies float32 matrices from now on, gradients included. Other devices "
     "and convolutions compute in float32 throughout, and attention with the digits of float32.\n\nArgs:\n    "
     "precision: \"highest\", as at first: "
     "float32 throughout; \"high\": each factor is the sum of two halves, scaled row by row, with errors like those of "
     "float32; \"medium\": each factor is one scaled half, with errors of 2^-11.\n\nRaises:\n    ValueError: another "
     "word."
     "\n\nExample:\n    >>> sg.set_float32_matmul_precision(\"highest\")",
     Scope::function},
    {"get_float32_matmul_precision", bound<get_precision>, "", "str",
     "The precision that set_float32_matmul_precision() set." SG_EXAMPLE("sg.get_float32_matmul_precision()",
                                                                         "'highest'"),
     Scope::function},
    {"_allow_mixed_products", bound<allow_mixed_products>, "allow: bool", "None",
     "Whether the factors of a product may have two element types.", Scope::function},
    {"_attention", bound<sg::attention>,
     "query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool, mask: Tensor | None = None, "
     "dropout: float = 0.0, generator: Generator | None = None",
     "Tensor", "Attention that keeps no weights, for nn.functional.", Scope::function},
    {"_attention_after", bound<sg::attention_after>,
     "query: Tensor, key: Tensor, value: Tensor, start: Tensor, scale: float", "Tensor",
     "Attention of queries that follow a cache, for models.", Scope::function},
    {"_banded", bound<sg::banded>,
     "input: Tensor, dim: int, first: Tensor, weights: Tensor, transpose_first: Tensor, transpose_weights: Tensor",
     "Tensor", "The product of a banded matrix with the vectors along a dimension, for nn.functional.",
     Scope::function},
    {"_lstm", bound<sg::lstm>, "x: Tensor, weight: Tensor, h: Tensor, c: Tensor, reverse: bool, keep: bool",
     "tuple[Tensor, ...]", "All steps of a layer of LSTM, for nn.", Scope::function},
    {"_lstm_gradient", bound<sg::lstm_gradient>,
     "dh: Tensor, dc: Tensor, weight: Tensor, before: Tensor, after: Tensor, gates: Tensor, reverse: bool",
     "tuple[Tensor, ...]", "The gradients of its sums, for nn.", Scope::function},
};

}  // namespace

void add_products(PyObject* module) {
  listen_to_mixed_factors(on_mixed_factors);
  add_callables(module, callables);
}

}  // namespace sg::bind
