// The rows of all ops, and their functions. Rows (OpInfo) are for the graph; functions are what people call.
// Shapes in brackets; `dim` counts from the end when negative. Every function raises ValueError, TypeError or
// IndexError at the call; values are computed later.
#pragma once
#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/build.hpp"
#include "math/names.hpp"

namespace sg {

// All rows, in the order of the docs.
const std::vector<const OpInfo*>& all_ops();
const std::vector<const OpInfo*>& elementwise_ops();  // those of math/ with one or two inputs

// ---- pointwise (math/pointwise.hpp), with NumPy broadcasting ------------------------------------------------------
Tensor apply(const OpInfo& unary, const Tensor& a);
Tensor apply(const OpInfo& binary, const Tensor& a, const Tensor& b);
Tensor apply(const OpInfo& ternary, const Tensor& a, const Tensor& b, const Tensor& c);
Tensor neg(const Tensor& a);
Tensor abs(const Tensor& a);
Tensor square(const Tensor& a);
Tensor sqrt(const Tensor& a);
Tensor exp(const Tensor& a);
Tensor log(const Tensor& a);
Tensor tanh(const Tensor& a);
Tensor sigmoid(const Tensor& a);
Tensor relu(const Tensor& a);
Tensor gelu_slope(const Tensor& a);
Tensor sin(const Tensor& a);
Tensor cos(const Tensor& a);
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, const Tensor& b);  // b = 2, 1, 0.5, -0.5, -1 are other ops
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
#define SG_FUNCTION(Op, name) Tensor name(const Tensor& a);
SG_NAMED_UNARY(SG_FUNCTION)
#undef SG_FUNCTION
#define SG_FUNCTION(Op, name) Tensor name(const Tensor& a, const Tensor& b);
SG_NAMED_BINARY(SG_FUNCTION)
#undef SG_FUNCTION
#define SG_FUNCTION(Op, name) Tensor name(const Tensor& a, const Tensor& b, const Tensor& c);
SG_POINTWISE_TERNARY(SG_FUNCTION)
#undef SG_FUNCTION
Tensor cast(const Tensor& x, DType dtype);
Tensor cast_once(const Tensor& x, DType dtype);  // to a half type; see graph/build.hpp
Tensor operator-(const Tensor& a);
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);

double value_of(const Tensor& number);               // of a number in place of a tensor
Tensor converted(const Tensor& value, DType dtype);  // cast, also of a number, which stays one

// ---- arithmetic of several pointwise ops (ops/arithmetic.cpp) --------------------------------------------------------
Tensor add_scaled(const Tensor& a, const Tensor& b, const Tensor& alpha);  // a + alpha * b
Tensor sub_scaled(const Tensor& a, const Tensor& b, const Tensor& alpha);
Tensor div_rounded(const Tensor& a, const Tensor& b, const std::optional<std::string>& rounding_mode);
Tensor round_decimals(const Tensor& a, int64_t decimals);
Tensor clamp_between(const Tensor& a, const std::optional<Tensor>& min, const std::optional<Tensor>& max);
Tensor addcmul(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& value);  // a + value * b * c
Tensor addcdiv(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& value);  // a + value * b / c
Tensor nan_to_num(const Tensor& a, const std::optional<Tensor>& nan, const std::optional<Tensor>& posinf,
                  const std::optional<Tensor>& neginf);        // default: the largest and lowest finite numbers
Tensor positive(const Tensor& a);                              // a itself
Tensor gelu(const Tensor& a, const std::string& approximate);  // "none", "tanh"

// ---- creation -----------------------------------------------------------------------------------------------------
Tensor full(const Dims& shape, double value, DType dtype = DType::float32, DeviceId device = {});
Tensor full_int(const Dims& shape, int64_t value, DType dtype, DeviceId device = {});
// Without a type, that of default_float(); without a device, the CPU. Contents of empty() are undefined.
Tensor empty(const Dims& size, std::optional<DType> dtype = {}, DeviceId device = {});
Tensor zeros(const Dims& size, std::optional<DType> dtype = {}, DeviceId device = {});
Tensor ones(const Dims& size, std::optional<DType> dtype = {}, DeviceId device = {});
// Without a type or a device, those of x.
Tensor new_empty(const Tensor& x, const Dims& size, std::optional<DType> dtype = {},
                 std::optional<DeviceId> device = {});
Tensor new_zeros(const Tensor& x, const Dims& size, std::optional<DType> dtype = {},
                 std::optional<DeviceId> device = {});
Tensor new_ones(const Tensor& x, const Dims& size, std::optional<DType> dtype = {},
                std::optional<DeviceId> device = {});
Tensor new_full(const Tensor& x, const Dims& size, const Tensor& number, std::optional<DType> dtype = {},
                std::optional<DeviceId> device = {});
Tensor empty_like(const Tensor& x, std::optional<DType> dtype = {}, std::optional<DeviceId> device = {});
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = {}, std::optional<DeviceId> device = {});
Tensor ones_like(const Tensor& x, std::optional<DType> dtype = {}, std::optional<DeviceId> device = {});
Tensor full_like(const Tensor& x, const Tensor& number, std::optional<DType> dtype = {},
                 std::optional<DeviceId> device = {});
Tensor arange(double start, double step, int64_t count, DType dtype = DType::float32, DeviceId device = {});
Tensor arange_int(int64_t start, int64_t step, int64_t count, DType dtype, DeviceId device = {});
// Of a number, exactly if it is an int64; without a type, that of the number, and of a float default_float().
Tensor filled(const Dims& shape, const Tensor& number, std::optional<DType> dtype = {}, DeviceId device = {});
// start, start + step, ... up to but without end.
Tensor arange_to(double start, double end, double step, DType dtype = DType::float32, DeviceId device = {});
Tensor arange_int_to(int64_t start, int64_t end, int64_t step, DType dtype, DeviceId device = {});
// Without a type, int64 if all three are integers, else default_float().
using IntOrReal = std::variant<int64_t, double>;
Tensor arange_to(IntOrReal start, IntOrReal end, IntOrReal step, std::optional<DType> dtype, DeviceId device);
// Of each element its place along a dimension: int64, of size 1 elsewhere, so that it broadcasts against `shape`.
Tensor positions(const Dims& shape, int dim, DeviceId device);
// From start to end, both included; integers are truncated.
Tensor linspace(double start, double end, int64_t steps, std::optional<DType> dtype = {}, DeviceId device = {});
// base to the power of linspace.
Tensor logspace(double start, double end, int64_t steps, double base = 10, std::optional<DType> dtype = {},
                DeviceId device = {});
// Ones on the diagonal, [n, m]; without m, [n, n].
Tensor eye(int64_t n, std::optional<int64_t> m = {}, std::optional<DType> dtype = {}, DeviceId device = {});
// Rows and columns of a triangle: [2, n].
Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset = 0, std::optional<DType> dtype = {},
                    DeviceId device = {});  // int64 unless given
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset = 0, std::optional<DType> dtype = {},
                    DeviceId device = {});

// Seed and position in the stream of random words, four to a block. Threads: any.
struct Generator {
  std::atomic<int64_t> seed{0}, blocks{0};
  std::atomic<int64_t> first_seed{0};  // what it was last started with; the stream may have gone elsewhere since
  DeviceId device;                     // what it was asked for; the words do not depend on it
  void restart(int64_t with);
};
Generator& default_generator();  // the thread's own, or that of the process
// Gives the calling thread a generator of its own (nullptr: none), which must stay alive; returns the one before.
Generator* set_generator_of_thread(Generator* own);
Tensor rand(const Dims& shape, DeviceId device = {}, Generator& from = default_generator());   // [0, 1), float32
Tensor randn(const Dims& shape, DeviceId device = {}, Generator& from = default_generator());  // normal, float32
// The same in another floating type: without one, default_float(), or that of x.
Tensor rand(const Dims& size, Generator& from, std::optional<DType> dtype, DeviceId device = {});
Tensor randn(const Dims& size, Generator& from, std::optional<DType> dtype, DeviceId device = {});
Tensor rand_like(const Tensor& x, Generator& from = default_generator(), std::optional<DType> dtype = {},
                 std::optional<DeviceId> device = {});
Tensor randn_like(const Tensor& x, Generator& from = default_generator(), std::optional<DType> dtype = {},
                  std::optional<DeviceId> device = {});
Tensor random_bits(const Dims& shape, DeviceId device = {}, Generator& from = default_generator());  // 62 in an int64
// Integers from low up to but without high, at most 2^62 of them.
Tensor randint(int64_t low, int64_t high, const Dims& shape, DType dtype = DType::int64, DeviceId device = {},
               Generator& from = default_generator());
Tensor randperm(int64_t n, Generator& from = default_generator(), std::optional<DType> dtype = {},
                DeviceId device = {});  // int64 unless given
// Weights [categories] or [rows, categories] -> numbers of categories, `count` in each row.
Tensor multinomial(const Tensor& weights, int64_t count, bool replacement, Generator& from = default_generator());
// Parameters of random numbers that are tensors are checked on the device: x, where all of `good` holds; else the next
// read raises ValueError with the fault of that op. parameter_fault() is nullptr for other ops.
Tensor check_parameter(const std::string& op, const Tensor& x, const Tensor& good);
const char* parameter_fault(const std::string& op);
// 1 with probability p, else 0: in the type of p; or in the shape and type of another tensor.
Tensor bernoulli(const Tensor& p, Generator& from = default_generator());
Tensor bernoulli_like(const Tensor& x, double p, Generator& from = default_generator());
// Of a mean and a deviation, numbers or tensors, which broadcast with the shape.
Tensor normal(const Tensor& mean, const Tensor& deviation, const Dims& shape, DType dtype = DType::float32,
              DeviceId device = {}, Generator& from = default_generator());
// In place.
void uniform_(const Tensor& x, double low = 0, double high = 1, Generator& from = default_generator());
void normal_(const Tensor& x, double mean = 0, double deviation = 1, Generator& from = default_generator());
void exponential_(const Tensor& x, double rate = 1, Generator& from = default_generator());
void bernoulli_(const Tensor& x, const Tensor& p, Generator& from = default_generator());  // p: also a number
// Integers from low up to but without high; without high, up to the largest that the type holds exactly.
void random_(const Tensor& x, int64_t low = 0, std::optional<int64_t> high = {}, Generator& from = default_generator());
void check_real(const char* op, DType dtype);  // TypeError: not a type of random numbers
void manual_seed(int64_t seed);
std::pair<int64_t, int64_t> random_state();  // seed, and blocks drawn since
void set_random_state(std::pair<int64_t, int64_t> state);

// ---- reductions -----------------------------------------------------------------------------------------------------
uint32_t all_axes(const Tensor& x);
// The dimensions to fold: as bits, as a list that may count from the end, or all; an empty list is all.
class Axes {
 public:
  Axes() = default;
  template <std::same_as<uint32_t> Bits>  // not of 1, which reads as dimension 1
  Axes(Bits bits) : bits_(bits) {}
  Axes(std::initializer_list<int64_t> dims) : dims_(dims) {}
  Axes(const Dims& dims) : dims_(dims) {}
  Axes(const std::optional<Dims>& dims) : dims_(dims.value_or(Dims())) {}
  uint32_t of(const char* op, const Tensor& x) const;  // as bits

 private:
  std::optional<uint32_t> bits_;
  Dims dims_;
};
// `dtype`: what x is converted to first, and the type of the result. Integers become int64, in a mean float32.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor nansum(const Tensor& x, const Axes& axes = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor nanmean(const Tensor& x, const Axes& axes = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor amax(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // ties share the gradient evenly
Tensor amin(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
std::vector<Tensor> aminmax(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor count_nonzero(const Tensor& x, const Axes& axes = {});
// Of each row: the squared distances from the mean, over their number less `correction`.
Tensor var(const Tensor& x, const Axes& axes, double correction, bool keepdim = false);
Tensor std_of(const Tensor& x, const Axes& axes, double correction, bool keepdim = false);  // gradient 0 where it is 0
std::vector<Tensor> var_mean(const Tensor& x, const Axes& axes, double correction, bool keepdim = false);
std::vector<Tensor> std_mean(const Tensor& x, const Axes& axes, double correction, bool keepdim = false);
Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdim = false);
Tensor norm(const Tensor& x, double p = 2, const Axes& axes = {}, bool keepdim = false,
            std::optional<DType> dtype = {});
// Where the first extreme is, int64; NaN wins. Without dim: among all elements in row-major order.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
// Values and indices along a dimension; the gradient goes to the chosen element.
using TensorPair = std::pair<Tensor, Tensor>;
TensorPair max(const Tensor& x, int64_t dim, bool keepdim = false);
TensorPair min(const Tensor& x, int64_t dim, bool keepdim = false);
// The lower of two middle values.
TensorPair median(const Tensor& x, int64_t dim, bool keepdim, bool leave_out_nan);
Tensor median(const Tensor& x, bool leave_out_nan);

// ---- products -----------------------------------------------------------------------------------------------------
// Told of the types of a product's factors where these differ, before they are promoted; may throw.
using MixedFactors = void (*)(const char* op, DType a, DType b);
void listen_to_mixed_factors(MixedFactors listener);
Tensor matmul(const Tensor& a, const Tensor& b);  // [..., m, k] [..., k, n] with broadcasting, 1-d too
Tensor mm(const Tensor& input, const Tensor& mat2);
Tensor bmm(const Tensor& input, const Tensor& mat2);
Tensor mv(const Tensor& input, const Tensor& vec);
Tensor dot(const Tensor& input, const Tensor& tensor);
Tensor inner(const Tensor& input, const Tensor& other);
Tensor outer(const Tensor& input, const Tensor& vec2);
Tensor kron(const Tensor& input, const Tensor& other);
// beta * input + alpha * product; beta and alpha are numbers, input is not read when beta is 0.
Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Tensor& beta, const Tensor& alpha);
Tensor addmv(const Tensor& input, const Tensor& mat, const Tensor& vec, const Tensor& beta, const Tensor& alpha);
Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Tensor& beta,
               const Tensor& alpha);
Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Tensor& beta, const Tensor& alpha);
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b);
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t dims);  // the last of a with the first of b
Tensor chain_matmul(const std::vector<Tensor>& matrices);
// softmax(scale * query @ key^T) @ value without the matrix in between: [..., t, d] [..., s, d] [..., s, e] ->
// [..., t, e]; leading dimensions broadcast, and a head of keys and values may serve several heads of queries. `causal`:
// query i sees keys 0 .. i. The mask broadcasts to [..., t, s]: bool, true where a key takes part, or numbers that are
// added. `dropout`: the probability that a weight becomes 0.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, double scale, bool causal,
                 const std::optional<Tensor>& mask = {}, double dropout = 0, Generator& from = default_generator());
// Causal, and start[b] keys of sequence b come before its first query; heads may share keys. It has no gradient.
Tensor attention_after(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& start, double scale);
// All steps of a layer of LSTM, float32 or on a CPU float64, from the products of the inputs, x [steps, batch, 4 * hidden] with gates i, f, u,
// o. h and c before the first step and after each: [steps + 1, batch, hidden], the first at the end with `reverse`; and
// the gates. Without `keep`, only the last c and no gates. No gradient is recorded.
std::vector<Tensor> lstm(const Tensor& x, const Tensor& weight, const Tensor& h, const Tensor& c, bool reverse,
                         bool keep);
// From the gradients of h of all steps and of the last c: those of the sums of all steps, and of the first c.
std::vector<Tensor> lstm_gradient(const Tensor& dh, const Tensor& dc, const Tensor& weight, const Tensor& before,
                                  const Tensor& after, const Tensor& gates, bool reverse);
// The same of a GRU on a GPU, with gates r, z, n, and of a layer of tanh or relu. `bias` is that of the products of h. The
// GRU keeps r, z, n and the product in n; its gradients are those of the products of h and of the inputs, and a part of the
// first h's: what does not pass through a product.
std::vector<Tensor> gru(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Tensor& h,
                        bool reverse, bool keep);
std::vector<Tensor> gru_gradient(const Tensor& dh, const Tensor& weight, const Tensor& before, const Tensor& gates,
                                 bool reverse);
Tensor rnn(const Tensor& x, const Tensor& weight, const Tensor& h, bool relu, bool reverse);
Tensor rnn_gradient(const Tensor& dh, const Tensor& weight, const Tensor& after, bool relu, bool reverse);
// A banded matrix times the vectors along a dimension: row i has weights [rows, taps] for elements first[i], first[i] + 1
// ... of them (int32; all are inside). An element with weight 0 is not read. The transpose is for the gradient.
Tensor banded(const Tensor& x, int64_t dim, const Tensor& first, const Tensor& weights, const Tensor& transpose_first,
              const Tensor& transpose_weights);
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);

// ---- convolutions (ops/convolution.cpp) -------------------------------------------------------------------------------
// input [n, channels, ...] or without n, weight [outputs, channels / groups, ...] (of transposed ones the other way
// round), bias [outputs]. Options have one number, or one a dimension.
using TextOrDims = std::variant<std::string, Dims>;  // "same", "valid", or widths
#define SG_CONVOLUTION(name)                                                                                    \
  Tensor name(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Dims& stride, \
              const TextOrDims& padding, const Dims& dilation, int64_t groups);
SG_CONVOLUTION(conv1d)
SG_CONVOLUTION(conv2d)
SG_CONVOLUTION(conv3d)
#undef SG_CONVOLUTION
#define SG_TRANSPOSED(name)                                                                                     \
  Tensor name(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Dims& stride, \
              const Dims& padding, const Dims& output_padding, int64_t groups, const Dims& dilation);
SG_TRANSPOSED(conv_transpose1d)
SG_TRANSPOSED(conv_transpose2d)
#undef SG_TRANSPOSED

// ---- pooling (ops/pooling.cpp): input [n, channels, ...] or without n; a stride of {} is the kernel's size -------------
// Values, and their int64 places in the image as if it were flat. Of equal ones the first; NaN wins.
TensorPair max_pool1d_with_indices(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride,
                                   const Dims& padding, const Dims& dilation, bool ceil_mode);
TensorPair max_pool2d_with_indices(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride,
                                   const Dims& padding, const Dims& dilation, bool ceil_mode);
Tensor max_pool1d(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                  const Dims& dilation, bool ceil_mode);
Tensor max_pool2d(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                  const Dims& dilation, bool ceil_mode);
Tensor avg_pool1d(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                  bool ceil_mode, bool count_include_pad);
Tensor avg_pool2d(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override);

// ---- views --------------------------------------------------------------------------------------------------------
Tensor reshape(const Tensor& x, Dims shape);  // one size may be -1; copies when no strides fit
Tensor permute(const Tensor& x, const Dims& order);
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
Tensor moveaxis(const Tensor& x, const Dims& source, const Dims& destination);
Tensor expand(const Tensor& x, const Dims& shape);
Tensor slice(const Tensor& x, int dim, int64_t start, int64_t count, int64_t step);  // 0 <= start, step >= 1
Tensor select(const Tensor& x, int64_t dim, int64_t index);
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor unsqueeze(const Tensor& x, int64_t dim);
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor squeeze(const Tensor& x, const std::optional<Dims>& dims);
Tensor view(const Tensor& x, const Dims& shape);  // reshape, but never a copy
Tensor view_as(const Tensor& x, const Tensor& other);
Tensor reshape_as(const Tensor& x, const Tensor& other);
Tensor expand_as(const Tensor& x, const Tensor& other);
Tensor ravel(const Tensor& x);
Tensor t(const Tensor& x);  // a matrix transposed
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor unflatten(const Tensor& x, int64_t dim, const Dims& sizes);
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
Tensor unfold(const Tensor& x, int64_t dimension, int64_t size, int64_t step);
Tensor as_strided(const Tensor& x, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset = {});
Tensor contiguous(const Tensor& x);
Tensor clone(const Tensor& x);                      // always a copy
Tensor copied(const Tensor& out, const Tensor& x);  // out; a copy of it if it is on the memory of x
Tensor stored(const Tensor& x);  // x, for loops: what each step reads of the one before is not computed again
void copy_(const Tensor& target, const Tensor& value);  // writes through the view
// Writes what an op made of `before`, a snapshot of the target, which then is the op that made the target; false, and
// nothing is done, when another thread has written the target since.
bool replace_(const Tensor& target, const Tensor& before, const Tensor& result);
// x becomes what `make` makes of it as it is.
template <class Make>
void rewrite_(const Tensor& x, Make make) {
  for (;;) {
    const Tensor before = snapshot(x);
    if (replace_(x, before, make(before))) return;
  }
}

// ---- reading and writing at computed places (ops/index.cpp) -------------------------------------------------------------
// An index out of range is found on the device: the next read raises IndexError, updates of that step are not done.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim);  // negative ones wrap
Tensor take(const Tensor& x, const Tensor& index);                                        // x as if it were flat
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
Tensor embedding(const Tensor& index, const Tensor& weight);                              // weight[index]
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);  // of several, any stays
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
// reduce: sum, prod, mean, amax or amin.
Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                      const std::string& reduce, bool include_self);
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, const Tensor& alpha);
Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value);
// indices[d] indexes dimension d, where it is there; negative ones wrap. NumPy's rules for the result's shape.
Tensor index(const Tensor& x, const std::vector<Tensor>& indices);
Tensor index_put(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values, bool accumulate);
// In x's memory.
void index_put_(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values);
void scatter_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
void index_copy_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
void index_fill_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value);

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);
// The row-major numbers of the elements of a mask that are not 0, in order: `running` is running_count(mask) and `count`
// its last element, which the caller reads.
Tensor running_count(const Tensor& mask);
Tensor places(const Tensor& mask, const Tensor& running, int64_t count);
std::vector<Tensor> coordinates(const Tensor& places, const Dims& shape);  // one a dimension
// These read how many elements there are: they run what is pending and wait (ops/selection.cpp).
using OneOrSeveral = std::variant<Tensor, std::vector<Tensor>>;
Tensor places_of(const Tensor& mask);                    // row-major numbers of the elements that are not 0
std::vector<Tensor> coordinates_of(const Tensor& mask);  // the same, one tensor a dimension
Tensor argwhere(const Tensor& x);                        // the same, one row an element: [n, dimensions]
OneOrSeveral nonzero(const Tensor& x, bool as_tuple = false);
Tensor masked_select(const Tensor& x, const Tensor& mask);
// Dimensions dim .. dim + dims - 1 as one, and of it what is at these places.
Tensor take_places(const Tensor& x, int dim, int dims, const Tensor& places);

// ---- scans (ops/scan.cpp) ---------------------------------------------------------------------------------------------
Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});  // integers become int64
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
Tensor logcumsumexp(const Tensor& x, int64_t dim);
TensorPair cummax(const Tensor& x, int64_t dim);  // values and indices; NaN wins, of equal ones the last
TensorPair cummin(const Tensor& x, int64_t dim);

// ---- joining, taking apart, rearranging ---------------------------------------------------------------------------
using IntOrInts = std::variant<int64_t, std::vector<int64_t>>;
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim = 0);
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim = 0);
Tensor hstack(const std::vector<Tensor>& tensors);
Tensor vstack(const std::vector<Tensor>& tensors);
Tensor dstack(const std::vector<Tensor>& tensors);
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);
std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, const IntOrInts& split_size_or_sections, int64_t dim = 0);
std::vector<Tensor> split_with_sizes(const Tensor& x, const std::vector<int64_t>& split_sizes, int64_t dim = 0);
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& x, const IntOrInts& indices_or_sections, int64_t dim = 0);
std::vector<Tensor> hsplit(const Tensor& x, const IntOrInts& indices_or_sections);
std::vector<Tensor> vsplit(const Tensor& x, const IntOrInts& indices_or_sections);
Tensor repeat(const Tensor& x, const Dims& repeats);
Tensor tile(const Tensor& x, const Dims& dims);
Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim = {});
// `repeats`: a number, or one for each element, which are read; output_size is not needed.
Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size);
Tensor flip(const Tensor& x, const Dims& dims);  // a copy
Tensor fliplr(const Tensor& x);
Tensor flipud(const Tensor& x);
Tensor roll(const Tensor& x, const Dims& shifts, const std::optional<Dims>& dims = {});
Tensor rot90(const Tensor& x, int64_t k, const Dims& dims);
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors);
std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, const std::string& indexing);
Tensor cartesian_prod(const std::vector<Tensor>& tensors);
Tensor block_diag(const std::vector<Tensor>& tensors);
// x written into a tensor of the shape `into` filled with one value, at these strides and offset of its elements.
Tensor embed(const Tensor& x, const Dims& into, const Dims& strides, int64_t offset, double fill);
Tensor pad(const Tensor& x, const std::vector<int64_t>& pad, const std::string& mode, std::optional<double> value);
Tensor diag(const Tensor& x, int64_t diagonal = 0);
Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);

// ---- sorting (ops/sort.cpp): NaN is the largest, equal elements keep their order ---------------------------------------
// Values and int64 indices; gradients go to the elements that were chosen.
TensorPair sort(const Tensor& x, int64_t dim, bool descending, bool stable);
Tensor argsort(const Tensor& x, int64_t dim, bool descending, bool stable);
Tensor msort(const Tensor& x);
TensorPair topk(const Tensor& x, int64_t k, int64_t dim, bool largest, bool sorted);
TensorPair kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim);  // the k-th smallest, from 1
// q: a number, a 0-d tensor or [m], whose dimension comes first; between two elements as `interpolation` says.
Tensor quantile(const Tensor& x, const Tensor& q, const std::optional<int64_t>& dim, bool keepdim,
                const std::string& interpolation);
Tensor nanquantile(const Tensor& x, const Tensor& q, const std::optional<int64_t>& dim, bool keepdim,
                   const std::string& interpolation);

// ---- places in sorted rows (ops/search.cpp) ------------------------------------------------------------------------------
// sorted [n], or [..., n] for values [..., m]; `sorter`: the places of its elements in order, when it is not.
Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool out_int32, bool right,
                    const std::optional<std::string>& side, const std::optional<Tensor>& sorter = std::nullopt);
Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32, bool right);
Tensor isin(const Tensor& elements, const Tensor& test, bool assume_unique, bool invert);
// The distinct elements in order, or the first of each run of equal ones; then, where asked for, which of them each
// element is, and how often each occurs. They read how many there are. `sorted` and `dim` are PyTorch's: always, never.
OneOrSeveral unique(const Tensor& x, bool sorted = true, bool return_inverse = false, bool return_counts = false,
                    std::optional<int64_t> dim = {});
OneOrSeveral unique_consecutive(const Tensor& x, bool return_inverse = false, bool return_counts = false,
                                std::optional<int64_t> dim = {});
// How often each of 0, 1, ... occurs, or the sums of weights; reads the largest number.
Tensor bincount(const Tensor& x, const std::optional<Tensor>& weights = {}, int64_t minlength = 0);

// ---- composites ---------------------------------------------------------------------------------------------------
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);
Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan);
Tensor all_equal(const Tensor& a, const Tensor& b);  // 0-d; shapes that differ are not equal
Tensor all_close(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan);
Tensor diff(const Tensor& x, int64_t n, int64_t dim, const std::optional<Tensor>& prepend,
            const std::optional<Tensor>& append);
// int64; IndexError at the next read beyond the classes. A negative number: the largest class is read.
Tensor one_hot(const Tensor& classes, int64_t num_classes = -1);
// Covariances of rows; fweights: how often each column was seen, aweights: how much it counts.
Tensor cov(const Tensor& x, int64_t correction, const std::optional<Tensor>& fweights = std::nullopt,
           const std::optional<Tensor>& aweights = std::nullopt);
Tensor corrcoef(const Tensor& x);
enum class Reduction { none, mean, sum };
struct ClassLoss {
  std::optional<Tensor> weight;  // [classes]; a weighted mean is divided by the weights that it added up
  int64_t ignore_index = -100;   // targets that count nowhere
  Reduction reduction = Reduction::mean;
  double label_smoothing = 0;  // share of the target that all classes have alike
};
// [n, classes, ...] and int64 classes [n, ...]; or [classes] and a 0-d class. IndexError at the next read when a class is
// out of range. cross_entropy takes probabilities of the shape of the logits as well.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const ClassLoss& options = {});
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const ClassLoss& options = {});
// cross_entropy(x @ weight.T + bias, target) in slices of rows, where there are enough logits; not rounded to a half type.
bool has_slices(const Tensor& x, const Tensor& weight, const Tensor& target, const ClassLoss& options);
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                            const Tensor& target, const ClassLoss& options);

// ---- optimisers: one update of all tensors, in place ----------------------------------------------------------------
// How a step changes one parameter. The function gives the parameter's new value and puts the new state in place of the
// old; states may be undefined where an option is off. Numbers are of the schedule and the step: numbers, or 0-d tensors.
// Which numbers are undefined, and nothing else about them, may decide which ops the function makes.
struct UpdateRule {
  using Step = Tensor(const Tensor& p, const Tensor& g, Tensor* state, const Tensor* numbers);
  OpInfo op;
  int states, numbers;
  Step* step;
  int shrink = -1;        // the number that is left out where it is 1
  bool op_by_op = false;  // the function reads numbers: its ops are recorded
};
const UpdateRule& update_rule(const std::string& name);  // ValueError when there is none
struct UpdateOptions {
  bool maximize = false;
  Tensor weight_decay;  // L2 penalty; undefined: none
  Tensor found_inf;     // 0-d, not 0: everything stays as it is, decided on the device; undefined: no question
};
// Parameters without a gradient stay.
using States = std::vector<std::vector<Tensor>>;  // of each parameter
void update(const UpdateRule& rule, const std::vector<Tensor>& parameters, const States& states,
            const std::vector<Tensor>& numbers, const UpdateOptions& options);

// For programs without Python. States are empty at first; filled here.
struct SgdOptions {
  double lr = 1e-3, momentum = 0, weight_decay = 0;
};
struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
void sgd_step(const std::vector<Tensor>& parameters, States& states, const SgdOptions& options);
// `step` counts from 1.
void adam_step(const std::vector<Tensor>& parameters, States& states, int64_t step, const AdamOptions& options);

}  // namespace sg
