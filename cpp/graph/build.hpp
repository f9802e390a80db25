// Making nodes: the shape and type rules run here, so invalid arguments are reported at the line that gives them.
// Called by ops/ (which knows the rows) and by backward. Every function appends to the device's log and, when an input
// wants a gradient, to the gradient graph.
#pragma once
#include <initializer_list>
#include <span>

#include "graph/grad.hpp"
#include "graph/op.hpp"
#include "graph/tensor.hpp"
#include "kernel/gemm.hpp"
#include "kernel/precision.hpp"

namespace sg {

// out[i...] = op.emit(inputs broadcast to one shape). Inputs may be numbers, but not all of them.
Tensor pointwise(const OpInfo& op, std::initializer_list<Tensor> inputs);
// The same values in another type.
Tensor cast_node(const OpInfo& op, const Tensor& x, DType dtype);
// The same in a half type, computed once as long as x keeps its value and fills its memory: for weights, which many
// products read. In a step that is recorded for replay, every time.
Tensor cast_once(const OpInfo& op, const Tensor& x, DType dtype);
// Values made from positions and numbers alone (arange, full, rand): `index` adds the element's position as input 0,
// `slot` is that of the first number.
Tensor generate(const OpInfo& op, const Dims& shape, DType dtype, DeviceId device, bool index,
                std::initializer_list<Number> numbers, DType number_type, ReplaySlot slot = {});
// Folds the dimensions of `axes` (bit d: dimension d).
Tensor reduce(const OpInfo& op, const Tensor& x, uint32_t axes, bool keepdim);
// a [batch, m, k] @ b [batch, k, n] -> [batch, m, n]; batch sizes equal or 1. `wide`: the result of halves is float32.
Tensor contract(const OpInfo& op, const Tensor& a, const Tensor& b, bool wide = false);
// The same for operands that are seen through any strides, with n and k of several dimensions:
//   out[folded, batch, m, n...] = sum over k... of a[batch, m, k...] * b[folded, batch, n..., k...]
// Strides are over the dimensions folded, batch, m, n..., k..., eight at most; folded may be left out. The result is
// contiguous in that order and has the shape `result`. Records nothing for gradients.
//
// A window: b is an image with zeros around it. Of its strides, those of the last two sizes of n and of k are in the plane
// of top, left, height, width, rows, pitch; each image is in order, its rows `row` apart. On a GPU it is contiguous, and
// of a convolution with few channels a group.
struct Contraction {
  Dims leading;  // folded, batch, m, or batch, m
  Dims n, k;
  Window window = {};
  bool wide = false;  // the result of halves is float32
};
Tensor contract(const OpInfo& op, const Tensor& a, const Dims& a_strides, const Tensor& b, const Dims& b_strides,
                const Contraction& sizes, const Dims& result);
// The same storage seen with other strides. `attributes` are for the gradient.
Tensor view(const OpInfo& op, const Tensor& x, const Dims& shape, const Dims& strides, int64_t offset,
            const Attributes& attributes = {});
// out[i...] = the element of x's storage at x.offset() + i... * strides + offset[i...]: int64 (broadcast), in elements,
// checked by whoever made it. Records nothing for gradients.
Tensor indexed(const OpInfo& op, const Tensor& x, const Dims& shape, const Dims& strides, const Tensor& offset);
// The result of launches of the op's own (OpInfo::expand). Inputs are at most kMaxInputs tensors of one device,
// contiguous ones unless the kernel minds their strides.
Tensor custom_kernel(const OpInfo& op, std::span<const Tensor> inputs, const Dims& shape, DType dtype,
                     const Parameters& parameters, const Attributes& attributes = {});
inline Tensor custom_kernel(const OpInfo& op, std::initializer_list<Tensor> inputs, const Dims& shape, DType dtype,
                            const Parameters& parameters, const Attributes& attributes = {}) {
  return custom_kernel(op, std::span(inputs.begin(), inputs.size()), shape, dtype, parameters, attributes);
}
// The same of one input, without a gradient; a result that is kept for inputs of the same lineage is not computed again.
Tensor custom_kernel_once(const OpInfo& op, const Tensor& x, const Dims& shape, DType dtype,
                          const Parameters& parameters);
// A tensor on part of another's memory: one of several results of a kernel. Records nothing for gradients.
Tensor part_of(const Tensor& whole, DType dtype, const Dims& shape, const Dims& strides, int64_t offset);
// Memory of undefined contents.
Tensor memory(const OpInfo& op, const Dims& shape, DType dtype, DeviceId device);
// Writes `value` (broadcast) through the view `target` into its storage, which is part of gradients: the target, its
// base and its other views have a new history. Error when it is a leaf that wants a gradient, unless under no_grad.
void assign(const OpInfo& op, const Tensor& target, const Tensor& value);
// Writes to the elements at target.offset() + at[i...] of the storage: negative ones are skipped, and of several values
// for one element any may stay. Records nothing for gradients.
void assign_at(const OpInfo& op, const Tensor& target, const Tensor& value, const Tensor& at);
// Runs what is pending if that is one element written on the CPU and little else: loops that write single elements, in
// whatever order, then use the same plan every time.
void run_small(const Tensor& written);
// The result of an op on the target's own value, computed from `before`, a snapshot of the target, takes its place;
// part of gradients. False when another thread has written the target since: the caller then computes it again.
bool replace(const OpInfo& op, const Tensor& target, const Tensor& before, const Tensor& result);

// The type of a result, as PyTorch's: a 0-d tensor changes that of others only when it is of a higher kind (bool, integer,
// float), and so does a number beside tensors.
DType result_type(std::initializer_list<Tensor> inputs);
DType result_type(const std::vector<Tensor>& inputs);
// The type of Python floats and of what integers become where fractions are needed.
DType default_float();
void set_default_float(DType t);
inline DType with_fractions(DType t) { return is_float(t) ? t : default_float(); }

// Of the products of matrices on a GPU, from now on, in every thread.
Precision float32_precision();
void set_float32_precision(Precision p);

// Given by engine/: for results whose size depends on values, and inputs that come from elsewhere.
int64_t read_item_int(const Tensor& x);  // of one element; runs what is pending and waits
Tensor to_device(const Tensor& x, DeviceId device);

// The device that all inputs share; ValueError "different devices" names .to().
DeviceId common_device(const char* op, std::initializer_list<const Tensor*> inputs);

}  // namespace sg
