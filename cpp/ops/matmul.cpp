// Matrix products: every layout and every broadcast is a choice of strides for one contraction (graph/build.hpp).
#include "base/error.hpp"
#include "base/processor.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

MixedFactors mixed_factors = nullptr;

Tensor swap_last(const Tensor& x) { return transpose(x, 1, 2); }

bool is_transposed(const GradInput& in) { return in.strides[1] == 1 && in.strides[2] != 1; }

// A gradient gets the layout of its input (a layer's weight is transposed), so that the update reads both in order.
void vjp_matmul(Vjp& v) {
  const Tensor g = cast(v.g, v.node.in[0].dtype);  // the product of halves may have been float32
  if (v.needs(0)) {
    const Tensor b = v.in(1);
    v.result[0] = is_transposed(v.node.in[0]) ? swap_last(contract(ops::Matmul, b, swap_last(g), v.wide(0)))
                                              : contract(ops::Matmul, g, swap_last(b), v.wide(0));
  }
  if (v.needs(1)) {
    const Tensor a = v.in(0);
    v.result[1] = is_transposed(v.node.in[1]) ? swap_last(contract(ops::Matmul, swap_last(g), a, v.wide(1)))
                                              : contract(ops::Matmul, swap_last(a), g, v.wide(1));
  }
}

void check(const Tensor& a, const Tensor& b) {
  const Dims &x = a.shape(), &y = b.shape();
  auto pair = [&] { return x.str() + " @ " + y.str(); };
  if (x.rank == 0 || y.rank == 0)
    fail<ValueError>("matmul", "a 0-d tensor has no inner size, " + pair(), "multiply with *");
  const int64_t inner_a = x[x.rank - 1], inner_b = y[y.rank > 1 ? y.rank - 2 : 0];
  if (inner_a != inner_b)
    fail<ValueError>(
        "matmul",
        "inner sizes differ, " + pair() + " (" + std::to_string(inner_a) + " vs " + std::to_string(inner_b) + ")",
        "transpose one side?");
  for (int i = 3; i <= x.rank && i <= y.rank; ++i) {
    const int64_t p = x[x.rank - i], q = y[y.rank - i];
    if (p != q && p != 1 && q != 1)
      fail<ValueError>("matmul",
                       "batch sizes differ, " + pair() + " (" + std::to_string(p) + " vs " + std::to_string(q) + ")",
                       "use equal batches or 1");
  }
  if (a.dtype() == DType::boolean || b.dtype() == DType::boolean)
    fail<TypeError>("matmul", "booleans have no product", "convert to float32 or int32");
}

Dims batch_of(const Dims& shape) {
  Dims batch;
  for (int d = 0; d + 2 < shape.rank; ++d) batch.push(shape[d]);
  return batch;
}

// [..., r, c] as [batch, r, c]; the batch is 1 for a single matrix, else `batch`.
Tensor to_batch(const Tensor& x, const Dims& batch) {
  if (x.rank() == 3 && batch.rank == 1) return x;
  const Dims own = batch_of(x.shape());
  const int64_t r = x.shape()[x.rank() - 2], c = x.shape()[x.rank() - 1];
  if (own.numel() == 1) return reshape(x, {1, r, c});
  Dims whole = batch;
  whole.push(r);
  whole.push(c);
  return reshape(own == batch ? x : expand(x, whole), {batch.numel(), r, c});
}

}  // namespace

void listen_to_mixed_factors(MixedFactors listener) { mixed_factors = listener; }

DType product_type(const char* op, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() && mixed_factors) mixed_factors(op, a.dtype(), b.dtype());
  return promote(a.dtype(), b.dtype());
}

namespace ops {
const OpInfo Matmul{.name = "matmul",
                    .doc = "The matrix product: [m, k] @ [k, n] -> [m, n], batched or not.",
                    .kind = Kind::contraction,
                    .arity = 2,
                    .saves = kSavesA | kSavesB,
                    .vjp = vjp_matmul,
                    .reads = {kReadsOnly | kSavesB, kReadsOnly | kSavesA}};
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.is_number() || b.is_number()) fail<TypeError>("matmul", "a number is no matrix", "multiply with *");
  check(a, b);
  const DType dtype = product_type("matmul", a, b), wide = wide_of(dtype);
  if (a.rank() == 1 && b.rank() == 1) return cast(sum(cast(a, wide) * cast(b, wide)), dtype);  // in pairs: accurate
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0), b), -2);
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  Dims shape = broadcast_shapes("matmul", batch_of(a.shape()), batch_of(b.shape()));
  const Dims batch = shape;
  shape.push(a.shape()[a.rank() - 2]);
  shape.push(b.shape()[b.rank() - 1]);
  // One weight matrix for a whole batch is one tall product.
  if (a.rank() > 2 && b.rank() == 2 && a.contiguous()) {
    const int64_t inner = a.shape()[a.rank() - 1];
    return reshape(matmul(reshape(a, {inner ? a.numel() / inner : batch.numel() * shape[a.rank() - 2], inner}), b),
                   shape);
  }
  const bool reads_bfloat16 = dtype == DType::bfloat16 && multiplies_bfloat16();
  const DType factors = reads_bfloat16 ? dtype : factor_type(dtype, a.device());
  const Tensor out = contract(ops::Matmul, to_batch(cast(a, factors), batch), to_batch(cast(b, factors), batch));
  return reshape(cast(out, dtype), shape);
}

}  // namespace sg
